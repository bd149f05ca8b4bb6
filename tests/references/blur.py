"""Blurs: what is expected, as in ``common.py`` and ``test_parity.py``."""

from collections.abc import Mapping
from typing import Any

import cv2
import numpy as np
from scipy import ndimage, signal

from tests.references.common import PAD, Array, Reference, gaussian, sample

BORDER = {"constant": cv2.BORDER_CONSTANT, "reflect": cv2.BORDER_REFLECT_101, "replicate": cv2.BORDER_REPLICATE}


def blur(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    height, width = op.flags["kernel_size"]
    border = BORDER[op.flags["border_type"]]
    output = image.astype(float)
    for row, sigma in zip(output, params["sigma"].astype(float), strict=True):
        taps_y, taps_x = gaussian(height, sigma), gaussian(width, sigma)
        for plane in row:
            plane[:] = cv2.sepFilter2D(plane, -1, taps_x, taps_y, borderType=border)
    return output


def box(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    height, width = op.flags["kernel_size"]
    anchor = (width - 1) // 2, (height - 1) // 2
    options = {"anchor": anchor, "borderType": BORDER[op.flags["border_type"]]}
    return np.stack([[cv2.blur(plane, (width, height), **options) for plane in row] for row in image])


def median(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    return ndimage.median_filter(image, size=(1, 1, *op.flags["kernel_size"]), mode="mirror")


def correlate(row: Array, kernel: Array, border: str) -> Array:
    """Correlate each plane of a row (C, H, W) with one kernel of odd size."""
    margin = [(0, 0), *((n // 2, n // 2) for n in kernel.shape)]
    padded = np.pad(row, margin, mode=PAD[border])
    return np.stack([signal.correlate2d(plane, kernel, mode="valid") for plane in padded])


def line(size: int, angle: float, direction: float, mode: str) -> Array:
    """Draw a weighted line into the middle row of a kernel, and turn it counter-clockwise."""
    kernel = np.zeros((size, size))
    kernel[size // 2] = np.linspace((1 + direction) / 2, (1 - direction) / 2, size)
    y, x = np.mgrid[:size, :size] - size // 2
    c, s = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
    # a pixel takes what was there before the turn: with y down, back is clockwise
    u, v = c * x - s * y + size // 2, s * x + c * y + size // 2
    order = {"nearest": 0, "bilinear": 1}[mode]
    if order == 0:
        u, v = np.round(u, 6), np.round(v, 6)  # what is meant to be a half is one
        u, v = np.round(u), np.round(v)
    turned = ndimage.map_coordinates(kernel, [v, u], order=order, mode="grid-constant", prefilter=False)
    return turned / turned.sum()


def motion(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    drawn = zip(*(params[name] for name in ("ksize_factor", "angle_factor", "direction_factor")), strict=True)
    lines = [line(int(size), float(a), float(d), op.flags["resample"]) for size, a, d in drawn]
    return np.stack([correlate(row, k, op.flags["border_type"]) for row, k in zip(image, lines, strict=True)])


def disk(radius: int, sigma: float) -> Array:
    """Give the soft disk of ImageNet-C, with room for all of it."""
    soft = gaussian(3 if radius <= 8 else 5, sigma)
    reach = radius + len(soft) // 2
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    inside = (x**2 + y**2 <= radius**2).astype(float)
    return signal.convolve2d(inside / inside.sum(), np.outer(soft, soft), mode="same")


def defocus(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    drawn = zip(params["radius"].astype(int), params["alias_blur"].astype(float), strict=True)
    return np.stack(
        [correlate(row, disk(*values), op.flags["border_type"]) for row, values in zip(image, drawn, strict=True)]
    )


def zoom(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    height, width = image.shape[-2:]
    y, x = np.mgrid[:height, :width] - np.reshape([(height - 1) / 2, (width - 1) / 2], (2, 1, 1))
    rows = []
    for row, most in zip(image, params["max_factor"].astype(float), strict=True):
        factors = np.linspace(1, most, op.flags["steps"])
        shown = [sample(row, x / f + (width - 1) / 2, y / f + (height - 1) / 2, "nearest") for f in factors]
        rows.append(np.mean(shown, 0))
    return np.stack(rows)


REFERENCES: Mapping[str, Reference] = {
    "RandomBoxBlur": box,
    "RandomDefocus": defocus,
    "RandomGaussianBlur": blur,
    "RandomMedianBlur": median,
    "RandomMotionBlur": motion,
    "RandomZoomBlur": zoom,
}
MORE: Mapping[str, list[dict[str, Any]]] = {
    "RandomBoxBlur": [
        {"kernel_size": (5, 3)},
        {"kernel_size": (4, 7), "border_type": "constant"},
        {"kernel_size": (2, 2), "border_type": "circular", "normalized": False},
        {"kernel_size": (9, 6), "border_type": "replicate"},
    ],
    "RandomGaussianBlur": [
        {"kernel_size": (3, 7), "sigma": (0.5, 3.0), "border_type": border}
        for border in ("constant", "reflect", "replicate", "circular")
    ],
    "RandomMedianBlur": [{"kernel_size": (5, 5)}, {"kernel_size": (3, 7)}, {"kernel_size": (7, 1)}],
    "RandomMotionBlur": [
        {"kernel_size": 7, "angle": 180.0, "direction": (0.5, 1.0), "border_type": "reflect"},
        {"kernel_size": (3, 9), "angle": (30.0, 30.0), "direction": 0.0, "border_type": "replicate"},
        {"kernel_size": 9, "angle": 360.0, "direction": 1.0, "resample": "bilinear", "border_type": "circular"},
        {"kernel_size": 5, "angle": 90.0, "direction": 1.0, "resample": "bicubic"},
    ],
}
