"""Channels: what is expected, as in ``common.py`` and ``test_parity.py``."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.references.common import Array, Reference


def shuffle(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    return np.take_along_axis(image, params["channels"][:, :, None, None], 1)


def dropout(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    output = image.copy()
    for row, lost in zip(output, params["channel_idx"], strict=True):
        row[lost] = op.fill_value
    return output


def shift(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    shifts = np.stack([params[name] for name in ("r_shift", "g_shift", "b_shift")], 1).astype(float)
    return (image + shifts[:, :, None, None]).clip(0, 1)


def planckian(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    ratios = op.pl.numpy().astype(float)[params["idx"]]
    return (image * ratios[:, :, None, None]).clip(0, 1)


REFERENCES: Mapping[str, Reference] = {
    "RandomChannelDropout": dropout,
    "RandomChannelShuffle": shuffle,
    "RandomPlanckianJitter": planckian,
    "RandomRGBShift": shift,
}
MORE: Mapping[str, list[dict[str, Any]]] = {
    "RandomChannelDropout": [{"num_drop_channels": 2, "fill_value": 1.0}, {"num_drop_channels": 3}],
    "RandomPlanckianJitter": [{"select_from": 3}, {"mode": "CIED"}],
    "RandomRGBShift": [{"r_shift_limit": (0.1, 0.9), "g_shift_limit": 0.0, "b_shift_limit": (-2.0, 2.0)}],
}
