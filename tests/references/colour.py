"""Colours: what is expected, as in ``common.py`` and ``test_parity.py``."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch

import augment as K
from tests.references.common import Array, Reference, in_hsv, luma, per_row


def brightness(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    output = image + per_row(params["brightness_factor"]) - 1
    return output.clip(0, 1) if op.flags["clip_output"] else output


def grayscale(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    return np.broadcast_to(luma(image), image.shape)


def channels(values: list[float]) -> Array:
    return np.reshape(values, (-1, 1, 1))


def normalize(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    return (image - channels(op.flags["mean"])) / channels(op.flags["std"])


def denormalize(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    return image * channels(op.flags["std"]) + channels(op.flags["mean"])


def contrast(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    output = image * per_row(params["contrast_factor"])
    return output.clip(0, 1) if op.flags["clip_output"] else output


def saturation(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    return in_hsv(image, saturation=per_row(params["saturation_factor"]))


def hue(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    return in_hsv(image, turns=per_row(params["hue_factor"]))


def gray_has_no_colour(kornia: Any) -> None:
    image = torch.rand(2, 1, 4, 5)
    for name in ("RandomHue", "RandomSaturation"):
        assert torch.equal(getattr(K, name)((0.4, 0.5), p=1.0)(image), image)
        with pytest.raises(ValueError):
            getattr(kornia, name)((0.4, 0.5), p=1.0)(image)


REFERENCES: Mapping[str, Reference] = {
    "Denormalize": denormalize,
    "Normalize": normalize,
    "RandomBrightness": brightness,
    "RandomContrast": contrast,
    "RandomGrayscale": grayscale,
    "RandomHue": hue,
    "RandomSaturation": saturation,
}
MORE: Mapping[str, list[dict[str, Any]]] = {
    "RandomBrightness": [{"brightness": (0.5, 1.5), "clip_output": False}],
    "RandomContrast": [{"contrast": 0.7, "clip_output": False}, {"contrast": (2.0, 3.0)}],
    "RandomGrayscale": [{"rgb_weights": torch.tensor([0.2, 0.3, 0.5])}],
    "RandomHue": [{"hue": (-0.5, 0.5)}],
    "RandomSaturation": [{"saturation": (0.0, 4.0)}, {"saturation": 0.2}],
}
INTENDED: Mapping[str, tuple[Callable[[Any], None], str]] = {
    "gray": (gray_has_no_colour, "one channel has no hue and no saturation; kornia refuses it"),
}
