"""Crops and resizes: what is expected, as in ``common.py`` and ``test_parity.py``."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.references.common import PAD, Array, Reference, places, resize, sample


def crop(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    h, w = op.size
    constant = op.flags["padding_mode"] == "constant"
    options = {"constant_values": op.flags["fill"][0]} if constant else {}
    rows = []
    for row, src, sides in zip(image, params["src"].astype(int), params["padding_size"], strict=True):
        left, right, top, bottom = sides
        padded = np.pad(row, [(0, 0), (top, bottom), (left, right)], mode=PAD[op.flags["padding_mode"]], **options)
        x, y = src[0]
        rows.append(padded[:, y : y + h, x : x + w])
    return np.stack(rows)


def center_crop(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    (height, width), (h, w) = image.shape[-2:], op.size
    top, left = (height - h) // 2, (width - w) // 2
    return image[..., top : top + h, left : left + w]


def resized_crop(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    h, w = op.size
    rows = []
    for row, src in zip(image, params["src"].astype(float), strict=True):
        (x1, y1), (x2, y2) = src[0], src[2]
        x = places(x1, x2 - x1 + 1, w, op.flags["align_corners"])
        y = places(y1, y2 - y1 + 1, h, op.flags["align_corners"])
        rows.append(sample(row, *np.meshgrid(x, y), "nearest"))
    return np.stack(rows)


REFERENCES: Mapping[str, Reference] = {
    "CenterCrop": center_crop,
    "RandomCrop": crop,
    "RandomResizedCrop": resized_crop,
    "Resize": resize,
}
MORE: Mapping[str, list[dict[str, Any]]] = {
    "CenterCrop": [{"size": 9}, {"size": (13, 14), "cropping_mode": "resample"}],
    "RandomCrop": [
        {"size": (40, 48), "pad_if_needed": True, "fill": 0.3},
        {"size": (10, 12), "padding": (1, 2, 3, 4), "padding_mode": "replicate"},
        {"size": (30, 30), "padding": (3, 2), "padding_mode": "circular"},
        {"size": (10, 12), "cropping_mode": "resample"},
    ],
    "RandomResizedCrop": [
        {"size": (50, 60), "align_corners": True},
        {"size": (12, 14), "resample": "nearest"},
        {"size": (12, 14), "resample": "bicubic", "align_corners": True},
        {"size": (12, 14), "cropping_mode": "resample", "align_corners": True},
    ],
    "Resize": [
        {"size": 20},
        {"size": 20, "side": "long"},
        {"size": 50, "side": "vert"},
        {"size": 20, "side": "horz"},
        {"size": (50, 20), "resample": "nearest"},
        {"size": (50, 60), "resample": "bicubic"},
    ],
}
