"""Frames: what is expected, as in ``common.py`` and ``test_parity.py``."""

from collections.abc import Callable, Mapping
from typing import Any

import cv2
import numpy as np
import torch

import augment as K
from tests.references.common import PAD, Array, Reference, places, resize, sample


def pad_to(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    lack = [wanted - old for wanted, old in zip(op.size, image.shape[-2:], strict=True)]
    right, bottom = max(lack[1], 0), max(lack[0], 0)
    mode = PAD[op.flags["padding_mode"]]
    options = {"constant_values": op.flags["fill"][0]} if mode == "constant" else {}
    padded = np.pad(image, [(0, 0), (0, 0), (0, bottom), (0, right)], mode=mode, **options)
    return padded[..., : op.size[0], : op.size[1]] if op.crop_if_exceeds else padded


class Sized:
    """An op as ``resize`` asks for it."""

    def __init__(self, op: Any, size: tuple[int, int]) -> None:
        self.flags, self.size = op.flags, size


def max_size(longest: bool) -> Reference:
    def reference(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
        height, width = image.shape[-2:]
        side, aspect = op.max_size, width / height
        tall = (height >= width) == longest
        size = (side, int(side * aspect)) if tall else (int(side / aspect), side)
        return resize(Sized(op, size), image, params)

    return reference


def letter_box(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    """Follow Ultralytics: fit, round, and halve what is left."""
    (height, width), (h, w) = image.shape[-2:], op.size
    ratio = min(h / height, w / width)
    ratio = ratio if op.scale_up else min(ratio, 1.0)
    inner_h, inner_w = round(height * ratio), round(width * ratio)
    spare_y, spare_x = (h - inner_h) / 2, (w - inner_w) / 2
    top, left = round(spare_y - 0.1), round(spare_x - 0.1)
    output = np.full((*image.shape[:2], h, w), op.flags["fill"][0])
    part = output[..., top : top + inner_h, left : left + inner_w]
    part[:] = [
        [cv2.resize(plane, (inner_w, inner_h), interpolation=cv2.INTER_LINEAR) for plane in row] for row in image
    ]
    return output


def zoom_out(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    """Put the image on the canvas of SSD, and take the canvas at the pixels of the output."""
    height, width = image.shape[-2:]
    rows = []
    for row, side, left, top in zip(image, *(params[n].astype(float) for n in ("side", "left", "top")), strict=True):
        x = places(-left * side, side * width, width, False)
        y = places(-top * side, side * height, height, False)
        rows.append(sample(row, *np.meshgrid(x, y), "grid-constant", op.flags["fill"][0]))
    return np.stack(rows)


def pad_to_leads_back_to_the_size_of_its_input(kornia: Any) -> None:
    image = torch.rand(1, 1, 6, 8)
    ours, theirs = K.PadTo((4, 12), pad_value=0.5), kornia.PadTo((4, 12), pad_value=0.5)
    back = ours.inverse(ours(image))
    assert torch.equal(back[..., :4, :], image[..., :4, :]) and back[..., 4:, :].eq(0.5).all()
    assert theirs.inverse(theirs(image)).shape == (1, 1, 4, 8)


REFERENCES: Mapping[str, Reference] = {
    "LetterBox": letter_box,
    "LongestMaxSize": max_size(True),
    "PadTo": pad_to,
    "RandomZoomOut": zoom_out,
    "SmallestMaxSize": max_size(False),
}
MORE: Mapping[str, list[dict[str, Any]]] = {
    "LongestMaxSize": [
        {"max_size": 60},
        {"max_size": 20, "resample": "nearest"},
        {"max_size": 20, "resample": "bicubic"},
    ],
    "PadTo": [
        {"size": (40, 48), "pad_value": 0.3},
        {"size": (20, 50)},
        {"size": (20, 50), "crop_if_exceeds": False},
        {"size": (40, 50), "pad_mode": "reflect"},
        {"size": (40, 50), "pad_mode": "replicate"},
        {"size": (40, 50), "pad_mode": "circular"},
    ],
    "SmallestMaxSize": [{"max_size": 60}, {"max_size": 20, "resample": "nearest"}],
}
INTENDED: Mapping[str, tuple[Callable[[Any], None], str]] = {
    "PadTo inverse": (
        pad_to_leads_back_to_the_size_of_its_input,
        "the size of the input comes back, and what was cut is filled; kornia gives the cut image back",
    ),
}
