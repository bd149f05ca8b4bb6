"""Flips and quarter turns: what is expected, as in ``common.py`` and ``test_parity.py``."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import augment as K
from tests.references.common import Array, Reference


def horizontal_flip(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    return image[..., ::-1]


def vertical_flip(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    return image[..., ::-1, :]


def rotation90(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    """Turn a square frame; of another, turn the canvas of zeros that has room for both."""
    height, width = image.shape[-2:]
    side = max(height, width)
    top, left = (side - height) // 2, (side - width) // 2  # even differences only
    square = np.pad(image, [(0, 0), (0, 0), (top, top), (left, left)])
    turned = np.stack([np.rot90(row, int(k), (1, 2)) for row, k in zip(square, params["times"], strict=True)])
    return turned[..., top : top + height, left : left + width]


def d4(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    rows = []
    for row, symmetry in zip(image, params["symmetry"], strict=True):
        if symmetry & 4 and row.shape[1] == row.shape[2]:
            row = row.swapaxes(1, 2)
        row = row[:, :, ::-1] if symmetry & 1 else row
        rows.append(row[:, ::-1] if symmetry & 2 else row)
    return np.stack(rows)


def transpose(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    return image.swapaxes(2, 3)


def turns_are_whole_numbers(kornia: Any) -> None:
    for library, share in ((K, 1 / 3), (kornia, 1 / 2)):
        drawn = library.RandomRotation90((-1, 1), p=1.0).forward_parameters((30000, 1, 4, 4))["times"].round()
        assert abs((drawn == 0).float().mean().item() - share) < 0.015


REFERENCES: Mapping[str, Reference] = {
    "RandomD4": d4,
    "RandomHorizontalFlip": horizontal_flip,
    "RandomRotation90": rotation90,
    "RandomTranspose": transpose,
    "RandomVerticalFlip": vertical_flip,
}
MORE: Mapping[str, list[dict[str, Any]]] = {
    "RandomRotation90": [{"times": (-3, 3)}, {"times": (2, 2), "resample": "nearest"}],
}
INTENDED: Mapping[str, tuple[Callable[[Any], None], str]] = {
    "RandomRotation90 times": (
        turns_are_whole_numbers,
        "every number of turns is as likely as the others; kornia rounds a draw, and the ends get half a share",
    ),
}
