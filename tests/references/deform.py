"""Deformations: what is expected, as in ``common.py`` and ``test_parity.py``."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from scipy import ndimage

import augment as K
from tests.references.common import OUTSIDE, Array, Reference, gaussian, sample


def elastic(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    height, width = image.shape[-2:]
    y, x = np.mgrid[:height, :width].astype(float)
    lost = 1 if op.flags["align_corners"] else 0
    rows = []
    for row, noise in zip(image, params["noise"].astype(float), strict=True):
        for axis in (0, 1):
            taps = gaussian(op.flags["kernel_size"][axis], op.flags["sigma"][axis])
            noise = ndimage.correlate1d(noise, taps, axis=axis + 1, mode="constant")
        dx = op.flags["alpha"][0] * noise[0] * (width - lost) / 2
        dy = op.flags["alpha"][1] * noise[1] * (height - lost) / 2
        fill = (op.flags.get("fill") or [0.0])[0]
        rows.append(sample(row, x + dx, y + dy, OUTSIDE[op.flags["padding_mode"]], fill))
    return np.stack(rows)


def axis(n: int, align_corners: bool) -> tuple[Array, float]:
    """Give the places of pixels in halves of the image's size, and what such a half is in pixels."""
    half = (n - 1 if align_corners else n) / 2
    return (np.arange(n) - (n - 1) / 2) / half, half


def taken(op: Any, row: Array, x: Array, y: Array) -> Array:
    """Take every output pixel of a row (C, H, W) from x and y."""
    if op.flags["resample"] == "nearest":
        x, y = (np.floor(v + 0.5).astype(int) for v in (x, y))
        height, width = row.shape[1:]
        inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
        return row[:, y.clip(0, height - 1), x.clip(0, width - 1)] * inside
    return sample(row, x, y, OUTSIDE[op.flags["padding_mode"]])


def radial(distance: Array) -> Array:
    """Give r^2 log r."""
    return distance**2 * np.log(np.where(distance > 0, distance, 1))


def thin_plate(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    """Solve for the map from the targets to the sources and evaluate it at every pixel."""
    height, width = image.shape[-2:]
    (x, half_x), (y, half_y) = (axis(n, op.flags["align_corners"]) for n in (width, height))
    pixels = np.stack(np.meshgrid(x, y), -1).reshape(-1, 2)
    rows = []
    for row, src, dst in zip(image, params["src"].astype(float), params["dst"].astype(float), strict=True):
        kernel = [[radial(np.hypot(*(a - b))) for b in src] for a in dst]
        flat = np.column_stack([np.ones(5), dst])
        system = np.block([[np.array(kernel), flat], [flat.T, np.zeros((3, 3))]])
        weights = np.linalg.solve(system, np.vstack([src, np.zeros((3, 2))]))
        bends = [radial(np.hypot(*(pixels - point).T)) for point in src]
        places = np.column_stack([*bends, np.ones(len(pixels)), pixels]) @ weights
        at = places.reshape(height, width, 2) * [half_x, half_y] + [(width - 1) / 2, (height - 1) / 2]
        rows.append(taken(op, row, at[..., 0], at[..., 1]))
    return np.stack(rows)


def fisheye(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    (x, half_x), (y, half_y) = (axis(n, True) for n in image.shape[:-3:-1])
    x, y = np.meshgrid(x, y)
    rows = []
    names = ("center_x", "center_y", "gamma")
    for row, cx, cy, gamma in zip(image, *(params[name].astype(float)[:, 0] for name in names), strict=True):
        push = 1 + np.hypot(x - cx, y - cy) ** gamma
        rows.append(taken(op, row, (x * push + 1) * half_x, (y * push + 1) * half_y))
    return np.stack(rows)


def grid_distortion(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    height, width = image.shape[-2:]
    rows = []
    for row, steps_x, steps_y in zip(image, params["steps_x"], params["steps_y"], strict=True):
        places = []
        for steps, n in ((steps_x.astype(float), width), (steps_y.astype(float), height)):
            lines = np.concatenate([[0], np.cumsum(steps)])
            lines = lines / (lines[-1] if op.flags["normalized"] else len(steps)) * n
            # pixel centres lie half a pixel inside the edges
            places.append(np.interp(np.arange(n) + 0.5, np.linspace(0, n, len(lines)), lines) - 0.5)
        rows.append(taken(op, row, *np.meshgrid(*places)))
    return np.stack(rows)


CENTRE = torch.tensor([0.2, 0.4])


def a_still_plate_is_still(kornia: Any) -> None:
    image = torch.rand(2, 3, 6, 8)
    for flag in (True, False):
        assert torch.equal(K.RandomThinPlateSpline(0.0, align_corners=flag, p=1.0)(image), image)


REFERENCES: Mapping[str, Reference] = {
    "RandomElasticTransform": elastic,
    "RandomFisheye": fisheye,
    "RandomGridDistortion": grid_distortion,
    "RandomThinPlateSpline": thin_plate,
}
MORE: Mapping[str, list[dict[str, Any]]] = {
    "RandomElasticTransform": [
        {},
        {"kernel_size": (11, 7), "sigma": (4.0, 2.0), "alpha": (1.5, 0.5)},
        {"kernel_size": (7, 7), "sigma": (2.0, 2.0), "padding_mode": "reflection", "align_corners": False},
        {"kernel_size": (7, 7), "sigma": (2.0, 2.0), "padding_mode": "border", "resample": "nearest"},
    ],
    "RandomFisheye": [
        {"center_x": -CENTRE.flip(0), "center_y": CENTRE, "gamma": torch.tensor([0.5, 0.5])},
        {"center_x": CENTRE, "center_y": CENTRE * 0, "gamma": torch.tensor([2.0, 3.0])},
    ],
    "RandomThinPlateSpline": [
        {"scale": 0.35},
        {"scale": 0.3, "padding_mode": "border"},
        {"padding_mode": "reflection", "align_corners": False},
        {"scale": 0.0},
    ],
}
INTENDED: Mapping[str, tuple[Callable[[Any], None], str]] = {
    "RandomThinPlateSpline identity": (a_still_plate_is_still, "exact; kornia leaves the rounding of its solution"),
}
