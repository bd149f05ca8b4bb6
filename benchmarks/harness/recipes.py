"""What is timed: every op of the registry, with the arguments of a training recipe.

An op without a line here is timed with the registry's arguments. kornia takes the same name and the same arguments;
the lines of the other libraries are in `peers.py`. Names in brackets are further recipes of an op.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch

import augment.testing

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class Recipe:
    """One op with arguments that mean the same to every library."""

    label: str
    arguments: Mapping[str, Any]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Arguments that leave nothing to chance, laid over `arguments` where outputs are compared."""

    @property
    def op(self) -> str:
        """The name of the class."""
        return self.label.partition("[")[0]

    @property
    def certain(self) -> dict[str, Any]:
        """The arguments with nothing left to chance."""
        sure = {"p": 1.0} if "p" in self.arguments else {}
        return {**self.arguments, **sure, **self.fixed}


def always(recipe: Recipe) -> Recipe:
    """Give the recipe of a batch of one image, which is always changed: a median would be that of either outcome."""
    return replace(recipe, arguments={**recipe.arguments, **({"p": 1.0} if "p" in recipe.arguments else {})})


def span(low: float, high: float) -> torch.Tensor:
    """Give a range as the tensor that kornia asks for."""
    return torch.tensor([low, high])


def table(side: int) -> dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Give the arguments for images of `side` x `side`, and what fixes their draws, by label."""
    crop, taps = side * 7 // 8, min(63, side // 2 - 1 | 1)
    jitter = {"brightness": 0.2, "contrast": 0.2, "saturation": 0.2, "hue": 0.1, "p": 1.0}
    factors = {"brightness": (1.1, 1.1), "contrast": (0.9, 0.9), "saturation": (1.2, 1.2), "hue": (0.05, 0.05)}
    still = {"degrees": (20.0, 20.0), "translate": None, "scale": (1.1, 1.1), "shear": (0.0, 0.0)}
    turn = {"degrees": 30.0, "translate": (0.1, 0.1), "scale": (0.8, 1.2), "shear": 10.0, "p": 0.5}
    # kornia's drops fit into images of 32 pixels and more
    drops = {} if side > 20 else {"number_of_drops": (10, 20), "drop_height": (2, 6)}
    channels = {"mean": torch.tensor(MEAN), "std": torch.tensor(STD)}
    resized = {"size": (crop, crop), "align_corners": False}
    return {
        "CenterCrop": ({"size": (crop, crop)}, {}),
        "ColorJiggle": (jitter, {**factors, "order": (0, 1, 2, 3)}),
        "ColorJitter": (jitter, {**factors, "order": (0, 1, 2, 3)}),
        "ColorJitter[order]": ({**jitter, "order": (0, 1, 2, 3)}, factors),
        "Denormalize": (channels, {}),
        "LetterBox": ({"size": (side, crop)}, {}),
        "LongestMaxSize": ({"max_size": crop, "align_corners": False}, {}),
        "Normalize": (channels, {}),
        "PadTo": ({"size": (side * 9 // 8, side * 9 // 8)}, {}),
        "RandomAffine": (turn, still),
        "RandomBoxBlur": ({"kernel_size": (3, 3), "p": 0.5}, {}),
        "RandomBrightness": ({"brightness": (0.8, 1.2), "p": 0.5}, {"brightness": (1.1, 1.1)}),
        "RandomCoarseDropout": (
            {"num_holes_range": (1, 8), "hole_height_range": (0.1, 0.2), "hole_width_range": (0.1, 0.2), "p": 0.5},
            {},
        ),
        "RandomAutoContrast": ({"p": 0.5}, {}),
        "RandomChannelDropout": ({"p": 0.5}, {}),
        "RandomChannelShuffle": ({"p": 0.5}, {}),
        "RandomClahe": ({"clip_limit": (1.0, 4.0), "p": 0.5}, {"clip_limit": (4.0, 4.0)}),
        "RandomContrast": ({"contrast": (0.8, 1.2), "p": 0.5}, {"contrast": (1.1, 1.1)}),
        "RandomCrop": ({"size": (crop, crop)}, {}),
        "RandomDefocus": (
            {"radius": (3, 10), "alias_blur": (0.1, 0.5), "p": 0.5},
            {"radius": (4, 4), "alias_blur": (0.4, 0.4)},
        ),
        "RandomDownscale": ({"scale_range": (0.25, 0.5), "p": 0.5}, {"scale_range": (0.5, 0.5)}),
        "RandomDownscale[area]": (
            {"scale_range": (0.25, 0.5), "downscale": "area", "upscale": "bilinear", "p": 0.5},
            {"scale_range": (0.5, 0.5)},
        ),
        "RandomD4": ({"p": 1.0}, {}),
        # the taps reach three sigma, so that what others do beyond them is nothing
        "RandomElasticTransform": ({"kernel_size": (taps, taps), "sigma": (taps / 6.3,) * 2, "p": 0.5}, {}),
        "RandomEqualize": ({"p": 0.5}, {}),
        "RandomErasing": ({"p": 0.5}, {}),
        "RandomFog": ({"p": 0.5}, {}),
        "RandomFisheye": (
            {"center_x": span(-0.3, 0.3), "center_y": span(-0.3, 0.3), "gamma": span(0.9, 1.5), "p": 0.5},
            {"center_x": span(0.1, 0.1), "center_y": span(-0.2, -0.2), "gamma": span(1.2, 1.2)},
        ),
        "RandomGamma": ({"gamma": (0.7, 1.5), "p": 0.5}, {"gamma": (1.3, 1.3)}),
        "RandomGaussianBlur": ({"kernel_size": (5, 5), "sigma": (0.1, 2.0), "p": 0.5}, {"sigma": (1.5, 1.5)}),
        "RandomGaussianIllumination": ({"p": 0.5}, {}),
        "RandomGaussianNoise": ({"std": 0.1, "p": 0.5}, {}),
        "RandomGrayscale": ({"p": 0.5}, {}),
        "RandomGridDistortion": ({"num_steps": 5, "distort_limit": 0.3, "p": 0.5}, {}),
        "RandomGridDropout": ({"ratio": 0.5, "unit_size_range": (side // 8, side // 4), "p": 0.5}, {}),
        "RandomHorizontalFlip": ({"p": 0.5}, {}),
        "RandomJPEG": ({"jpeg_quality": (50.0, 90.0), "p": 0.5}, {"jpeg_quality": (75.0, 75.0)}),
        "RandomMedianBlur": ({"kernel_size": (3, 3), "p": 0.5}, {}),
        "RandomMotionBlur": (
            {"kernel_size": 5, "angle": (0.0, 180.0), "direction": 0.5, "border_type": "reflect", "p": 0.5},
            {"angle": (0.0, 0.0), "direction": (0.0, 0.0)},
        ),
        "RandomLinearCornerIllumination": ({"p": 0.5}, {}),
        "RandomLinearIllumination": ({"p": 0.5}, {}),
        "RandomIoUCrop": ({"p": 1.0}, {"sampler_options": (1.0,)}),
        "RandomISONoise": ({"color_shift": (0.01, 0.05), "intensity": (0.1, 0.5), "p": 0.5}, {}),
        "RandomPerspective": ({"distortion_scale": 0.5, "p": 0.5}, {}),
        "RandomPlasmaBrightness": ({"intensity": (0.0, 0.5), "p": 0.5}, {}),
        "RandomPlasmaContrast": ({"p": 0.5}, {}),
        "RandomPlasmaShadow": ({"p": 0.5}, {}),
        "RandomRain": ({**drops, "p": 0.5}, {}),
        "RandomHue": ({"hue": (-0.1, 0.1), "p": 0.5}, {"hue": (0.05, 0.05)}),
        "RandomInvert": ({"p": 0.5}, {}),
        "RandomPhotometricDistort": ({"p": 1.0}, {}),
        "RandomPlanckianJitter": ({"p": 0.5}, {"select_from": [5]}),
        "RandomPosterize": ({"bits": (3, 6), "p": 0.5}, {"bits": (4, 4)}),
        "RandomRGBShift": (
            {"r_shift_limit": 0.1, "g_shift_limit": 0.1, "b_shift_limit": 0.1, "p": 0.5},
            {"r_shift_limit": (0.1, 0.1), "g_shift_limit": (-0.05, -0.05), "b_shift_limit": (0.0, 0.0)},
        ),
        "RandomResizedCrop": (
            {"size": (crop, crop), "align_corners": False},
            {"scale": (1.0, 1.0), "ratio": (1.0, 1.0)},
        ),
        "RandomRotation": ({"degrees": 30.0, "p": 0.5}, {"degrees": (20.0, 20.0)}),
        "RandomSharpness": ({"sharpness": (0.5, 2.0), "p": 0.5}, {"sharpness": (1.5, 1.5)}),
        "RandomSnow": (
            {"snow_coefficient": (0.4, 0.6), "brightness": (2.0, 2.0), "p": 0.5},
            {"snow_coefficient": (0.5, 0.5)},
        ),
        "RandomSaltAndPepperNoise": ({"amount": (0.01, 0.06), "salt_vs_pepper": (0.4, 0.6), "p": 0.5}, {}),
        "RandomShotNoise": ({"scale": (12.0, 60.0), "p": 0.5}, {"scale": (30.0, 30.0)}),
        "RandomThinPlateSpline": ({"scale": 0.2, "p": 0.5}, {}),
        "RandomSaturation": ({"saturation": (0.8, 1.2), "p": 0.5}, {"saturation": (1.2, 1.2)}),
        "RandomSolarize": ({"thresholds": (0.5, 0.5), "additions": (0.0, 0.0), "p": 0.5}, {}),
        "RandomVerticalFlip": ({"p": 0.5}, {}),
        "RandomZoomBlur": ({"max_factor": (1.0, 1.31), "steps": 11, "p": 0.5}, {"max_factor": (1.2, 1.2)}),
        "RandomRotation90": ({"times": (0, 3), "p": 0.5}, {"times": (1, 1)}),
        "RandomShear": ({"shear": (-10.0, 10.0, -10.0, 10.0), "p": 0.5}, {"shear": (10.0, 10.0, 0.0, 0.0)}),
        "RandomTranslate": (
            {"translate_x": (-0.1, 0.1), "translate_y": (-0.1, 0.1), "p": 0.5},
            {"translate_x": (1 / 8, 1 / 8), "translate_y": (-1 / 16, -1 / 16)},
        ),
        "RandomTranspose": ({"p": 0.5}, {}),
        "RandomZoomOut": ({"side_range": (1.0, 4.0), "p": 0.5}, {"side_range": (1.0, 1.0)}),
        "Resize": (resized, {}),
        "SmallestMaxSize": ({"max_size": crop, "align_corners": False}, {}),
        "Resize[antialias]": ({**resized, "antialias": True}, {}),
    }


def recipes(side: int) -> list[Recipe]:
    """Give every op of the registry, in the order of its names, with its further recipes behind it."""
    known = table(side)
    for name in augment.testing.ops():
        known.setdefault(name, (augment.testing.ARGUMENTS.get(name, {}), {}))
    return [Recipe(label, *known[label]) for label in sorted(known)]
