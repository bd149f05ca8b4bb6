"""What is timed: every op of the registry, with the arguments of a training recipe.

An op without a line here is timed with the registry's arguments. kornia takes the same name and the same arguments;
the lines of the other libraries are in `peers.py`. Names in brackets are further recipes of an op.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
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


def table(side: int) -> dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Give the arguments for images of `side` x `side`, and what fixes their draws, by label."""
    crop, taps = side * 7 // 8, min(63, side // 2 - 1 | 1)
    jitter = {"brightness": 0.2, "contrast": 0.2, "saturation": 0.2, "hue": 0.1, "p": 1.0}
    factors = {"brightness": (1.1, 1.1), "contrast": (0.9, 0.9), "saturation": (1.2, 1.2), "hue": (0.05, 0.05)}
    still = {"degrees": (20.0, 20.0), "translate": None, "scale": (1.1, 1.1), "shear": (0.0, 0.0)}
    turn = {"degrees": 30.0, "translate": (0.1, 0.1), "scale": (0.8, 1.2), "shear": 10.0, "p": 0.5}
    channels = {"mean": torch.tensor(MEAN), "std": torch.tensor(STD)}
    resized = {"size": (crop, crop), "align_corners": False}
    return {
        "CenterCrop": ({"size": (crop, crop)}, {}),
        "ColorJiggle": (jitter, {**factors, "order": (0, 1, 2, 3)}),
        "ColorJitter": (jitter, {**factors, "order": (0, 1, 2, 3)}),
        "ColorJitter[order]": ({**jitter, "order": (0, 1, 2, 3)}, factors),
        "Denormalize": (channels, {}),
        "Normalize": (channels, {}),
        "RandomAffine": (turn, still),
        "RandomBrightness": ({"brightness": (0.8, 1.2), "p": 0.5}, {"brightness": (1.1, 1.1)}),
        "RandomAutoContrast": ({"p": 0.5}, {}),
        "RandomChannelDropout": ({"p": 0.5}, {}),
        "RandomChannelShuffle": ({"p": 0.5}, {}),
        "RandomClahe": ({"clip_limit": (1.0, 4.0), "p": 0.5}, {"clip_limit": (4.0, 4.0)}),
        "RandomContrast": ({"contrast": (0.8, 1.2), "p": 0.5}, {"contrast": (1.1, 1.1)}),
        "RandomCrop": ({"size": (crop, crop)}, {}),
        # the taps reach three sigma, so that what others do beyond them is nothing
        "RandomElasticTransform": ({"kernel_size": (taps, taps), "sigma": (taps / 6.3,) * 2, "p": 0.5}, {}),
        "RandomEqualize": ({"p": 0.5}, {}),
        "RandomErasing": ({"p": 0.5}, {}),
        "RandomGamma": ({"gamma": (0.7, 1.5), "p": 0.5}, {"gamma": (1.3, 1.3)}),
        "RandomGaussianBlur": ({"kernel_size": (5, 5), "sigma": (0.1, 2.0), "p": 0.5}, {"sigma": (1.5, 1.5)}),
        "RandomGaussianNoise": ({"std": 0.1, "p": 0.5}, {}),
        "RandomGrayscale": ({"p": 0.5}, {}),
        "RandomHorizontalFlip": ({"p": 0.5}, {}),
        "RandomHue": ({"hue": (-0.1, 0.1), "p": 0.5}, {"hue": (0.05, 0.05)}),
        "RandomInvert": ({"p": 0.5}, {}),
        "RandomPerspective": ({"distortion_scale": 0.5, "p": 0.5}, {}),
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
        "RandomSaturation": ({"saturation": (0.8, 1.2), "p": 0.5}, {"saturation": (1.2, 1.2)}),
        "RandomSolarize": ({"thresholds": (0.5, 0.5), "additions": (0.0, 0.0), "p": 0.5}, {}),
        "RandomVerticalFlip": ({"p": 0.5}, {}),
        "Resize": (resized, {}),
        "Resize[antialias]": ({**resized, "antialias": True}, {}),
    }


def recipes(side: int) -> list[Recipe]:
    """Give every op of the registry, in the order of its names, with its further recipes behind it."""
    known = table(side)
    for name in augment.testing.ops():
        known.setdefault(name, (augment.testing.ARGUMENTS.get(name, {}), {}))
    return [Recipe(label, *known[label]) for label in sorted(known)]
