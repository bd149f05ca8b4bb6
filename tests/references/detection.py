"""Crops for detection: what is expected, as in ``common.py`` and ``test_parity.py``."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.references.common import Array, Reference, places, sample


def iou_crop(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    """Without boxes the first window of an allowed aspect is taken, and for an overlap of 1 the frame."""
    height, width = image.shape[-2:]
    h, w = op.size or (height, width)
    rows = []
    for row, windows, overlaps in zip(image, params["candidates"].astype(float), params["overlaps"], strict=True):
        windows = [window for window in windows if window[2] > window[0]]
        x1, y1, x2, y2 = windows[0] if windows and overlaps[0] < 1 else (0, 0, width, height)
        grid = np.meshgrid(places(x1, x2 - x1, w, False), places(y1, y2 - y1, h, False))
        rows.append(sample(row, *grid, "nearest"))
    return np.stack(rows)


REFERENCES: Mapping[str, Reference] = {
    "RandomIoUCrop": iou_crop,
}
