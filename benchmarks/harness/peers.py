"""torchvision's and albumentations' side of the recipes: one line an op, its units converted where they are passed on.

A line takes the arguments of a recipe and gives the transform. `did` says in words what it does with pixels;
`shown`, where the random transform cannot be pinned by its arguments, calls the library's own kernel with our drawn
parameters of one image, so that outputs can be compared.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Arguments = Mapping[str, Any]
SYMMETRIES = ("e", "h", "v", "r180", "t", "r270", "r90", "hvt")
"""albumentations' names of the square's symmetries, in the order of our numbers."""


@dataclass(frozen=True)
class Peer:
    """A library's transform for a recipe."""

    build: Callable[[Arguments], Callable[..., Any]]
    did: str = "exact"
    shown: Callable[[Arguments, Mapping[str, Any]], Callable[..., Any]] | None = None
    comparable: bool = True
    """Whether outputs can be compared at all: noise drawn by another generator cannot."""


def pair(value: Any) -> tuple[float, float]:
    """Give the bounds of an angle or a hue: a number means both signs."""
    return (value[0], value[1]) if isinstance(value, tuple) else (-value, value)


def factors(value: Any) -> tuple[float, float]:
    """Give the bounds of a factor: a number means that much around 1."""
    return (value[0], value[1]) if isinstance(value, tuple) else (1 - value, 1 + value)


def corner(row: Arguments) -> tuple[int, int]:
    """Give the top and the left of a drawn crop."""
    left, top = row["src"][0].tolist()
    return round(top), round(left)


def erased(row: Arguments) -> tuple[int, int, int, int]:
    """Give top, left, height and width of a drawn rectangle."""
    return tuple(round(row[key].item()) for key in ("ys", "xs", "heights", "widths"))  # type: ignore[return-value]


def cut(image: Any, corner: tuple[int, ...], size: tuple[int, int]) -> Any:
    """Copy a window."""
    return image[corner[0] : corner[0] + size[0], corner[1] : corner[1] + size[1]].copy()


def hole(image: Any, top: int, left: int, height: int, width: int) -> Any:
    """Copy an image with a black rectangle."""
    image = image.copy()
    image[top : top + height, left : left + width] = 0
    return image


def edges(row: Arguments) -> Any:
    """Give left, top, right and bottom of each drawn rectangle, as an (N, 4) array."""
    left, top, width, height = (row[key].reshape(-1).numpy().astype(int) for key in ("xs", "ys", "widths", "heights"))
    return np.stack([left, top, left + width, top + height], -1)


def torchvision(side: int) -> dict[str, Peer]:
    """Give torchvision v2's transforms of images of `side` by label."""
    import torch
    from torchvision.transforms import InterpolationMode, v2
    from torchvision.transforms.v2 import functional as F

    bilinear = InterpolationMode.BILINEAR

    def at(a: Arguments, transform: torch.nn.Module) -> torch.nn.Module:
        return transform if a.get("p", 1.0) == 1.0 else v2.RandomApply([transform], a["p"])

    def jitter(a: Arguments) -> torch.nn.Module:
        names = ("brightness", "contrast", "saturation", "hue")
        if "order" in a:
            return v2.Compose([v2.ColorJitter(**{names[i]: a[names[i]]}) for i in a["order"]])
        return v2.ColorJitter(**{name: a[name] for name in names})

    def denormalize(a: Arguments) -> torch.nn.Module:
        return v2.Normalize((-a["mean"] / a["std"]).tolist(), (1 / a["std"]).tolist())

    def perspective(a: Arguments, row: Arguments) -> Callable[..., Any]:
        start, end = (row[key].tolist() for key in ("start_points", "end_points"))
        return lambda image: F.perspective(image, start, end, bilinear)

    def solarize(a: Arguments) -> Callable[..., Any]:
        threshold, often = a["thresholds"][0], a["p"]
        ways = [v2.RandomSolarize(t, often) for t in (threshold, math.ceil(threshold * 255))]
        return lambda image: ways[image.dtype == torch.uint8](image)

    return {
        "CenterCrop": Peer(lambda a: v2.CenterCrop(a["size"]), "a view, nothing is copied"),
        "ColorJitter": Peer(jitter, "random order"),
        "ColorJitter[order]": Peer(jitter, "fixed order"),
        "Denormalize": Peer(denormalize),
        "LongestMaxSize": Peer(lambda a: v2.Resize(None, max_size=a["max_size"], antialias=False), "bilinear"),
        "Normalize": Peer(lambda a: v2.Normalize(a["mean"].tolist(), a["std"].tolist())),
        "RandomAffine": Peer(
            lambda a: at(a, v2.RandomAffine(a["degrees"], a["translate"], a["scale"], a["shear"], bilinear)), "bilinear"
        ),
        "RandomAutoContrast": Peer(lambda a: v2.RandomAutocontrast(a["p"])),
        # kornia's brightness adds the factor less one; v2 multiplies: the same work in another formula
        "RandomBrightness": Peer(lambda a: at(a, v2.ColorJitter(brightness=a["brightness"])), "multiplies"),
        "RandomChannelShuffle": Peer(
            lambda a: at(a, v2.RandomChannelPermutation()),
            shown=lambda a, row: lambda image: F.permute_channels(image, row["channels"].tolist()),
        ),
        "RandomCrop": Peer(
            lambda a: v2.RandomCrop(a["size"]),
            "a view, nothing is copied",
            shown=lambda a, row: lambda image: F.crop(image, *corner(row), *a["size"]),
        ),
        # alpha: half pixels in v2, half sides here; a field of noise cannot be pinned
        "RandomElasticTransform": Peer(
            lambda a: at(a, v2.ElasticTransform(float(side), a["sigma"][0])), "bilinear", comparable=False
        ),
        "RandomEqualize": Peer(lambda a: v2.RandomEqualize(a["p"])),
        "RandomErasing": Peer(
            lambda a: v2.RandomErasing(a["p"], (0.02, 0.33), (0.3, 3.3)),
            shown=lambda a, row: lambda image: F.erase(image, *erased(row), torch.zeros(1, 1, 1, dtype=image.dtype)),
        ),
        "RandomGaussianBlur": Peer(lambda a: at(a, v2.GaussianBlur(a["kernel_size"], a["sigma"])), "reflect"),
        "RandomGaussianNoise": Peer(lambda a: at(a, v2.GaussianNoise(0.0, a["std"])), "clipped", comparable=False),
        "RandomGrayscale": Peer(lambda a: v2.RandomGrayscale(a["p"])),
        "RandomHorizontalFlip": Peer(lambda a: v2.RandomHorizontalFlip(a["p"])),
        "RandomJPEG": Peer(lambda a: at(a, v2.JPEG(tuple(round(q) for q in a["jpeg_quality"]))), "libjpeg"),
        "RandomHue": Peer(lambda a: at(a, v2.ColorJitter(hue=a["hue"]))),
        "RandomInvert": Peer(lambda a: v2.RandomInvert(a["p"])),
        "RandomPerspective": Peer(
            lambda a: v2.RandomPerspective(a["distortion_scale"], a["p"], bilinear), "bilinear", perspective
        ),
        "RandomPhotometricDistort": Peer(lambda a: v2.RandomPhotometricDistort(), comparable=False),
        "RandomPosterize": Peer(lambda a: v2.RandomPosterize(round(sum(a["bits"]) / 2), a["p"]), "4 bits"),
        "RandomResizedCrop": Peer(
            lambda a: v2.RandomResizedCrop(a["size"], **given(a, "scale", "ratio"), antialias=True),
            "bilinear, antialias",
        ),
        "RandomSaturation": Peer(lambda a: at(a, v2.ColorJitter(saturation=a["saturation"])), "blends with grey"),
        # an angle turns counter-clockwise in both
        "RandomRotation": Peer(lambda a: at(a, v2.RandomRotation(a["degrees"], bilinear)), "bilinear"),
        "RandomSharpness": Peer(lambda a: v2.RandomAdjustSharpness(a["sharpness"][1], a["p"]), "one factor"),
        "RandomShear": Peer(
            lambda a: at(a, v2.RandomAffine((0.0, 0.0), shear=a["shear"], interpolation=bilinear)), "bilinear"
        ),
        # whole pixels there, drawn on both sides
        "RandomTranslate": Peer(
            lambda a: at(a, v2.RandomAffine((0.0, 0.0), (a["translate_x"][1], a["translate_y"][1]))),
            "whole pixels",
            comparable=False,
        ),
        "RandomSolarize": Peer(solarize),
        "RandomVerticalFlip": Peer(lambda a: v2.RandomVerticalFlip(a["p"])),
        "PadTo": Peer(lambda a: v2.Pad((0, 0, a["size"][1] - side, a["size"][0] - side))),
        "RandomZoomOut": Peer(
            lambda a: v2.Compose(
                [v2.RandomZoomOut(0, a["side_range"], a["p"]), v2.Resize((side, side), antialias=False)]
            ),
            "bilinear, on a larger canvas",
        ),
        "SmallestMaxSize": Peer(lambda a: v2.Resize(a["max_size"], antialias=False), "bilinear"),
        "Resize": Peer(lambda a: v2.Resize(a["size"], antialias=False), "bilinear"),
        "Resize[antialias]": Peer(lambda a: v2.Resize(a["size"], antialias=True), "bilinear, antialias"),
    }


def given(a: Arguments, *names: str) -> dict[str, Any]:
    """Give those of some arguments that a recipe has."""
    return {name: a[name] for name in names if name in a}


def albumentations(side: int, white: float) -> dict[str, Peer]:
    """Give albumentations' transforms of images of `side`, whose brightest value is `white`, by label."""
    import albumentations as A
    import cv2

    def p(a: Arguments) -> dict[str, float]:
        return {"p": a.get("p", 1.0)}

    def jitter(a: Arguments) -> Any:
        ranges = {name: factors(a[name]) for name in ("brightness", "contrast", "saturation")}
        ranges["hue"] = pair(a["hue"])
        if "order" not in a:
            return A.ColorJitter(**ranges, p=1.0)
        still = {"brightness": (1, 1), "contrast": (1, 1), "saturation": (1, 1), "hue": (0, 0)}
        names = tuple(still)
        return A.Compose([A.ColorJitter(**{**still, names[i]: ranges[names[i]]}, p=1.0) for i in a["order"]])

    def affine(a: Arguments) -> Any:
        shift = {axis: pair(part) for axis, part in zip("xy", a["translate"] or (0.0, 0.0), strict=True)}
        shear = {"x": pair(a["shear"]), "y": (0.0, 0.0)}
        low, high = pair(a["degrees"])  # clockwise here, counter-clockwise there; and there the shear comes first
        return A.Affine(a["scale"], shift, rotate=(-high, -low), shear=shear, keep_ratio=True, **p(a))

    def snow(a: Arguments) -> Any:
        # their point 0 is a lightness of 1/3, and 1 is 5/6
        point = [2 * c - 2 / 3 for c in a["snow_coefficient"]]
        return A.RandomSnow(a["brightness"][0], point, "bleach", **p(a))

    def applied(transform: Any, **drawn: Any) -> Callable[..., Any]:
        return lambda image: transform.apply(image, **drawn)

    def crop(a: Arguments, row: Arguments) -> Callable[..., Any]:
        (top, left), (height, width) = corner(row), a["size"]
        return applied(A.RandomCrop(height, width), crop_coords=(left, top, left + width, top + height))

    def illumination(mode: str) -> Peer:
        # the light multiplies there, and is added here
        return Peer(lambda a: A.Illumination(mode, (0.01, 0.2), **p(a)), "multiplies", comparable=False)

    return {
        "CenterCrop": Peer(lambda a: A.CenterCrop(*a["size"])),
        "ColorJitter": Peer(jitter, "random order"),
        "ColorJitter[order]": Peer(jitter, "fixed order"),
        "LetterBox": Peer(
            lambda a: A.Compose(
                [
                    A.LongestMaxSize(max_size_hw=a["size"]),
                    A.PadIfNeeded(*a["size"], fill=114 / 255 * white if white == 1 else 114),
                ]
            ),
            "bilinear",
        ),
        "LongestMaxSize": Peer(lambda a: A.LongestMaxSize(a["max_size"]), "bilinear"),
        "Normalize": Peer(lambda a: A.Normalize(a["mean"].tolist(), a["std"].tolist(), white)),
        "RandomAffine": Peer(affine, "bilinear"),
        "RandomBoxBlur": Peer(lambda a: A.Blur(a["kernel_size"], **p(a)), "reflect"),
        "RandomBrightness": Peer(
            lambda a: A.RandomBrightnessContrast([x - 1 for x in a["brightness"]], (0.0, 0.0), **p(a)), "adds"
        ),
        "RandomCoarseDropout": Peer(
            lambda a: A.CoarseDropout(a["num_holes_range"], a["hole_height_range"], a["hole_width_range"], **p(a)),
            shown=lambda a, row: applied(A.CoarseDropout(), holes=edges(row), seed=0),
        ),
        "RandomAutoContrast": Peer(lambda a: A.AutoContrast(method="pil", **p(a))),
        "RandomChannelDropout": Peer(
            lambda a: A.ChannelDropout(**p(a)),
            shown=lambda a, row: applied(A.ChannelDropout(), channels_to_drop=row["channel_idx"].tolist()),
        ),
        "RandomChannelShuffle": Peer(
            lambda a: A.ChannelShuffle(**p(a)),
            shown=lambda a, row: applied(A.ChannelShuffle(), channels_shuffled=row["channels"].tolist()),
        ),
        "RandomClahe": Peer(lambda a: A.CLAHE(a["clip_limit"], **p(a)), "on the lightness alone", comparable=False),
        "RandomContrast": Peer(
            lambda a: A.RandomBrightnessContrast((0.0, 0.0), [x - 1 for x in a["contrast"]], **p(a)), "multiplies"
        ),
        "RandomCrop": Peer(lambda a: A.RandomCrop(*a["size"]), shown=crop),
        "RandomDefocus": Peer(lambda a: A.Defocus(a["radius"], a["alias_blur"], **p(a)), "reflect"),
        "RandomDownscale": Peer(lambda a: A.Downscale(a["scale_range"], **p(a)), "nearest"),
        "RandomDownscale[area]": Peer(
            lambda a: A.Downscale(a["scale_range"], {"downscale": cv2.INTER_AREA, "upscale": cv2.INTER_LINEAR}, **p(a)),
            "area, bilinear",
        ),
        "RandomD4": Peer(
            lambda a: A.D4(**p(a)), shown=lambda a, row: applied(A.D4(), group_element=SYMMETRIES[int(row["symmetry"])])
        ),
        # alpha: pixels there, half sides here; a field of noise cannot be pinned
        "RandomElasticTransform": Peer(
            lambda a: A.ElasticTransform(side / 2, a["sigma"][0], noise_distribution="uniform", **p(a)),
            "bilinear",
            comparable=False,
        ),
        "RandomEqualize": Peer(lambda a: A.Equalize("pil", **p(a))),
        "RandomErasing": Peer(
            lambda a: A.Erasing((0.02, 0.33), (0.3, 3.3), fill=0, **p(a)),
            shown=lambda a, row: applied(A.Erasing(), holes=edges(row), seed=0),
        ),
        "RandomFog": Peer(lambda a: A.RandomFog(**p(a)), "discs of haze", comparable=False),
        "RandomGamma": Peer(lambda a: A.RandomGamma([100 * x for x in a["gamma"]], **p(a))),
        "RandomGaussianBlur": Peer(lambda a: A.GaussianBlur(a["kernel_size"], a["sigma"], **p(a)), "reflect"),
        "RandomGaussianIllumination": illumination("gaussian"),
        "RandomGaussianNoise": Peer(lambda a: A.GaussNoise((a["std"], a["std"]), **p(a)), "clipped", comparable=False),
        "RandomGrayscale": Peer(lambda a: A.ToGray(**p(a))),
        # its cells end a pixel early, so that even cells are not the identity
        "RandomGridDistortion": Peer(
            lambda a: A.GridDistortion(a["num_steps"], pair(a["distort_limit"]), **p(a)), "bilinear", comparable=False
        ),
        "RandomGridDropout": Peer(
            lambda a: A.GridDropout(a["ratio"], unit_size_range=a["unit_size_range"], **p(a)), comparable=False
        ),
        "RandomHorizontalFlip": Peer(lambda a: A.HorizontalFlip(**p(a))),
        "RandomJPEG": Peer(
            lambda a: A.ImageCompression("jpeg", tuple(round(q) for q in a["jpeg_quality"]), **p(a)), "libjpeg"
        ),
        "RandomMedianBlur": Peer(lambda a: A.MedianBlur(a["kernel_size"], **p(a)), "replicate"),
        "RandomMotionBlur": Peer(
            lambda a: A.MotionBlur(
                (a["kernel_size"],) * 2, False, pair(a["angle"]), direction_range=pair(a["direction"]), **p(a)
            ),
            "reflect",
        ),
        "RandomLinearCornerIllumination": illumination("corner"),
        "RandomLinearIllumination": illumination("linear"),
        "RandomISONoise": Peer(lambda a: A.ISONoise(a["color_shift"], a["intensity"], **p(a)), comparable=False),
        "RandomHue": Peer(lambda a: A.ColorJitter((1, 1), (1, 1), (1, 1), a["hue"], **p(a))),
        "RandomInvert": Peer(lambda a: A.InvertImg(**p(a))),
        # the corners move by |N(0, s)| of a side there, by U(0, d / 2) here: s gives the same mean
        "RandomPerspective": Peer(
            lambda a: A.Perspective((a["distortion_scale"] / 4 / 0.798,) * 2, **p(a)),
            "bilinear, corners by a normal law",
            comparable=False,
        ),
        # a map for all channels there, one for each here; contrast turns about the mean there, about middle grey here
        "RandomPlasmaBrightness": Peer(
            lambda a: A.PlasmaBrightnessContrast(a["intensity"], (0.0, 0.0), **p(a)), "one map", comparable=False
        ),
        "RandomPlasmaContrast": Peer(
            lambda a: A.PlasmaBrightnessContrast((0.0, 0.0), (0.0, 1.0), **p(a)), "one map", comparable=False
        ),
        "RandomPlasmaShadow": Peer(lambda a: A.PlasmaShadow((0.0, 1.0), **p(a)), "a soft shadow", comparable=False),
        "RandomRain": Peer(lambda a: A.RandomRain(**p(a)), "blurred lines", comparable=False),
        "RandomResizedCrop": Peer(lambda a: A.RandomResizedCrop(a["size"], **given(a, "scale", "ratio")), "bilinear"),
        # an angle turns counter-clockwise in both
        "RandomRotation": Peer(lambda a: A.Rotate(pair(a["degrees"]), **p(a)), "bilinear"),
        # a Laplacian there, a blend with a smoothed copy here
        "RandomSharpness": Peer(lambda a: A.Sharpen((0.2, 0.5), **p(a)), "Laplacian", comparable=False),
        "RandomSnow": Peer(snow, "bleach"),
        "RandomSaltAndPepperNoise": Peer(
            lambda a: A.SaltAndPepper(a["amount"], a["salt_vs_pepper"], **p(a)), comparable=False
        ),
        # a scale is one over the photons there, which are counted in linear light
        "RandomShotNoise": Peer(
            lambda a: A.ShotNoise((1 / a["scale"][1], 1 / a["scale"][0]), **p(a)), "linear light", comparable=False
        ),
        # sixteen points there, five here
        "RandomThinPlateSpline": Peer(
            lambda a: A.ThinPlateSpline((a["scale"], a["scale"]), **p(a)), "bilinear, 16 points", comparable=False
        ),
        # any temperature between the tables' rows there, a row of the table here
        "RandomPlanckianJitter": Peer(
            lambda a: A.PlanckianJitter(**p(a)),
            shown=lambda a, row: applied(A.PlanckianJitter(), temperature=3000 + 500 * a["select_from"][0]),
        ),
        "RandomPosterize": Peer(lambda a: A.Posterize(tuple(a["bits"]), **p(a))),
        "RandomRGBShift": Peer(
            lambda a: A.RGBShift(*([x * white for x in pair(a[f"{c}_shift_limit"])] for c in "rgb"), **p(a))
        ),
        "RandomSolarize": Peer(lambda a: A.Solarize(a["thresholds"], **p(a))),
        "RandomVerticalFlip": Peer(lambda a: A.VerticalFlip(**p(a))),
        # zooms a fixed step apart there, a fixed number of them here: as many on average
        "RandomZoomBlur": Peer(
            lambda a: A.ZoomBlur(a["max_factor"], ((sum(a["max_factor"]) / 2 - 1) / (a["steps"] - 1),) * 2, **p(a)),
            "bilinear, zooms a fixed step apart",
        ),
        "RandomRotation90": Peer(
            lambda a: A.RandomRotate90(**p(a)),
            shown=lambda a, row: applied(A.RandomRotate90(), factor=int(row["times"])),
        ),
        # kornia's saturation is that of HSV; here and in v2 an image is blended with its grey
        "RandomSaturation": Peer(
            lambda a: A.ColorJitter((1, 1), (1, 1), a["saturation"], (0, 0), **p(a)), "blends with grey"
        ),
        "RandomShear": Peer(lambda a: A.Affine(shear={"x": a["shear"][:2], "y": a["shear"][2:]}, **p(a)), "bilinear"),
        "RandomTranslate": Peer(
            lambda a: A.Affine(translate_percent={"x": a["translate_x"], "y": a["translate_y"]}, **p(a)), "bilinear"
        ),
        "RandomTranspose": Peer(lambda a: A.Transpose(**p(a))),
        "PadTo": Peer(lambda a: A.PadIfNeeded(*a["size"], position="top_left")),
        "SmallestMaxSize": Peer(lambda a: A.SmallestMaxSize(a["max_size"]), "bilinear"),
        "Resize": Peer(lambda a: A.Resize(*a["size"]), "bilinear"),
    }
