"""Dropouts: what is expected, as in ``common.py`` and ``test_parity.py``."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.references.common import Array, Reference


def filled(op: Any, image: Array, row: int, params: Mapping[str, Array]) -> Array:
    """Give what the pixels of a row (C, H, W) are filled with."""
    if op.fill is None:
        return params["noise"][row].astype(float)
    return np.broadcast_to(np.reshape(op.fill, (-1, 1, 1)), image.shape[1:])


def coarse_dropout(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    output = image.copy()
    for i in range(len(image)):
        fill = filled(op, image, i, params)
        for x, y, w, h in zip(
            *(params[name][i].astype(int) for name in ("xs", "ys", "widths", "heights")), strict=True
        ):
            output[i, :, y : y + h, x : x + w] = fill[:, y : y + h, x : x + w]
    return output


def grid_dropout(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    output, (height, width) = image.copy(), image.shape[-2:]
    for i in range(len(image)):
        fill = filled(op, image, i, params)
        unit, hole, x, y = (int(params[name][i]) for name in ("unit", "hole", "offset_x", "offset_y"))
        for top in range(-y, height, unit):
            for left in range(-x, width, unit):
                part = slice(max(top, 0), max(top + hole, 0)), slice(max(left, 0), max(left + hole, 0))
                output[i][(slice(None), *part)] = fill[(slice(None), *part)]
    return output


REFERENCES: Mapping[str, Reference] = {
    "RandomCoarseDropout": coarse_dropout,
    "RandomGridDropout": grid_dropout,
}
