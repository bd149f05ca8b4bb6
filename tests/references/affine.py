"""Turns, shears, shifts and perspectives: what is expected, as in ``common.py`` and ``test_parity.py``."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.references.common import OUTSIDE, Array, Reference, sample


def shift(x: float, y: float) -> Array:
    return np.array([[1, 0, x], [0, 1, y], [0, 0, 1.0]])


def stretch(x: float, y: float) -> Array:
    return np.diag([x, y, 1.0])


def clockwise(degrees: float) -> Array:
    """Turn clockwise as one sees the image: with y down, x turns towards y."""
    c, s = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def about(x: float, y: float, linear: Array) -> Array:
    return shift(x, y) @ linear @ shift(-x, -y)


def warp(op: Any, image: Array, matrices: list[Array]) -> Array:
    """Take every output pixel from where the inverse matrix leads."""
    height, width = image.shape[-2:]
    y, x = np.mgrid[:height, :width].astype(float)
    fill = (op.flags.get("fill") or [0.0])[0]
    outside = OUTSIDE[op.flags.get("padding_mode", "zeros")]
    order = {"nearest": 0, "bilinear": 1}[op.flags["resample"]]
    rows = []
    for row, matrix in zip(image, matrices, strict=True):
        u, v, w = np.tensordot(np.linalg.inv(matrix), np.stack([x, y, np.ones_like(x)]), 1)
        rows.append(sample(row, u / w, v / w, outside, fill, order))
    return np.stack(rows)


def rotation(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    height, width = image.shape[-2:]
    center = (width - 1) / 2, (height - 1) / 2
    return warp(op, image, [about(*center, clockwise(-float(d))) for d in params["degrees"]])


def affine(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    names = ("translations", "center", "scale", "angle", "shear_x", "shear_y")
    matrices = []
    for translation, center, scale, angle, sx, sy in zip(*(params[n].astype(float) for n in names), strict=True):
        shear_x, shear_y = np.eye(3), np.eye(3)
        shear_x[0, 1], shear_y[1, 0] = -np.tan(np.deg2rad(sx)), -np.tan(np.deg2rad(sy))
        linear = clockwise(angle) @ stretch(*scale) @ shear_y @ shear_x
        matrices.append(shift(*translation) @ about(*center, linear))
    return warp(op, image, matrices)


def perspective(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    points = (params[name].astype(float) for name in ("start_points", "end_points"))
    return warp(op, image, [four_points(a, b) for a, b in zip(*points, strict=True)])


def four_points(start: Array, end: Array) -> Array:
    """Solve for the homography through four pairs of points; OpenCV's own solution is single precision."""
    rows = [[x, y, 1, 0, 0, 0, -u * x, -u * y] for (x, y), (u, _) in zip(start, end, strict=True)]
    rows += [[0, 0, 0, x, y, 1, -v * x, -v * y] for (x, y), (_, v) in zip(start, end, strict=True)]
    return np.append(np.linalg.solve(rows, end.T.flatten()), 1).reshape(3, 3)


def shear(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    matrices = []
    for center, sx, sy in zip(*(params[n].astype(float) for n in ("center", "shear_x", "shear_y")), strict=True):
        along_x, along_y = np.eye(3), np.eye(3)
        along_x[0, 1], along_y[1, 0] = -np.tan(np.deg2rad(sx)), -np.tan(np.deg2rad(sy))
        matrices.append(about(*center, along_y @ along_x))
    return warp(op, image, matrices)


def translate(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    shifts = zip(params["translate_x"].astype(float), params["translate_y"].astype(float), strict=True)
    return warp(op, image, [shift(x, y) for x, y in shifts])


REFERENCES: Mapping[str, Reference] = {
    "RandomAffine": affine,
    "RandomPerspective": perspective,
    "RandomRotation": rotation,
    "RandomShear": shear,
    "RandomTranslate": translate,
}
MORE: Mapping[str, list[dict[str, Any]]] = {
    "RandomAffine": [
        {"degrees": 0.0, "translate": (0.2, 0.1)},
        {"degrees": 0.0, "scale": (0.5, 1.5, 0.7, 1.2)},
        {"degrees": (10.0, 20.0), "shear": (-10.0, 10.0, 5.0, 20.0)},
        {"degrees": 30.0, "padding_mode": "border"},
        {"degrees": 30.0, "padding_mode": "reflection", "align_corners": False},
        {"degrees": 30.0, "resample": "bicubic"},
    ],
    "RandomPerspective": [
        {"sampling_method": "area_preserving"},
        {"distortion_scale": 0.2, "resample": "nearest"},
        {"resample": "bicubic"},
    ],
    "RandomRotation": [
        {"degrees": (20.0, 40.0), "resample": "nearest"},
        {"degrees": (-90.0, -30.0), "resample": "bicubic"},
    ],
    "RandomShear": [
        {"shear": 20.0},
        {"shear": (10.0, 30.0), "padding_mode": "border"},
        {"shear": (-10.0, 10.0, -20.0, -10.0), "padding_mode": "reflection", "align_corners": False},
        {"shear": 15.0, "resample": "bicubic"},
        {"shear": 15.0, "resample": "nearest"},
    ],
    "RandomTranslate": [
        {"translate_x": (0.1, 0.3)},
        {"translate_y": (-0.3, 0.3), "padding_mode": "border"},
        {"translate_x": (-0.2, 0.2), "padding_mode": "reflection", "align_corners": False},
        {"translate_x": (-0.2, 0.2), "translate_y": (0.0, 0.2), "resample": "bicubic"},
    ],
}
