"""JPEG and downscaling: what is expected, as in ``common.py`` and ``test_parity.py``."""

from collections.abc import Callable, Mapping
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from PIL import Image
from scipy import fft
from torch.testing import assert_close

import augment as K
from tests.references.common import Array, Reference, gaussian, places, sample


def overlap(n: int, m: int) -> Array:
    """Give what m pixels cover of n on the same length, as shares of each of the m."""
    edges = np.clip(np.arange(m + 1)[:, None] * n / m - np.arange(n), 0, 1)
    return np.diff(edges, axis=0) * m / n


def resized(row: Array, size: tuple[int, int], mode: str) -> Array:
    (height, width), (h, w) = row.shape[-2:], size
    if mode == "area":
        return overlap(height, h) @ row @ overlap(width, w).T
    if mode == "bilinear":
        return sample(row, *np.meshgrid(places(0, width, w, False), places(0, height, h, False)), "nearest")
    y, x = ([(2 * i + 1) * n // (2 * m) for i in range(m)] for n, m in ((height, h), (width, w)))
    return row[:, y][:, :, x]


def downscale(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    rows = []
    for row, scale in zip(image, params["scale"].astype(float), strict=True):
        small = tuple(max(1, round(scale * n)) for n in image.shape[-2:])
        rows.append(resized(resized(row, small, op.flags["downscale"]), image.shape[-2:], op.flags["upscale"]))
    return np.stack(rows)


def standard_tables() -> list[Array]:
    """Give the tables of the JPEG standard as libjpeg writes them for a quality of 50, luma and chroma."""
    import io

    file = io.BytesIO()
    Image.new("RGB", (16, 16)).save(file, "JPEG", quality=50)
    tables = Image.open(file).quantization  # type: ignore[attr-defined]
    return [np.array(tables[i], float).reshape(8, 8) for i in (0, 1)]


def soft_floor(x: Array) -> Array:
    return np.floor(x) + (x - np.floor(x) - 0.5) ** 3


def jpeg_tables(quality: float) -> list[Array]:
    """Scale the tables as libjpeg does, each rounding down and each cut made soft."""
    scale = soft_floor(np.array(5000 / quality if quality < 50 else 200 - 2 * quality))
    tables = []
    for table in standard_tables():
        steps = (table * scale + 50) / 100
        steps = np.where(steps > 255, 255 + 0.02 * (1 - np.exp(np.minimum(255 - steps, 0))), steps)
        steps = np.where(steps < 1, 1 - 0.02 * (1 - np.exp(np.minimum(steps - 1, 0))), steps)
        tables.append(soft_floor(steps))
    return tables


def coded(plane: Array, table: Array) -> Array:
    """Quantise the cosine transform of every block, with soft rounding."""
    output = plane.copy()
    for y in range(0, plane.shape[0], 8):
        for x in range(0, plane.shape[1], 8):
            q = fft.dctn(plane[y : y + 8, x : x + 8], norm="ortho") / table
            q = np.round(q) + (q - np.round(q)) ** 3
            output[y : y + 8, x : x + 8] = fft.idctn(q * table, norm="ortho")
    return output


def halved(plane: Array) -> Array:
    """Blur with three taps of a Gaussian of half a pixel, and take the mean of every two by two."""
    taps = gaussian(3, 0.5)
    blurred = cv2.sepFilter2D(plane, -1, taps, taps, borderType=cv2.BORDER_REFLECT_101)
    return overlap(plane.shape[0], plane.shape[0] // 2) @ blurred @ overlap(plane.shape[1], plane.shape[1] // 2).T


def jpeg(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    height, width = image.shape[-2:]
    to_luma = np.array([0.299, 0.587, 0.114])
    forward = np.stack([to_luma, 0.564 * (np.eye(3)[2] - to_luma), 0.713 * (np.eye(3)[0] - to_luma)])
    grown = [(0, 0), (0, -height % 16), (0, -width % 16)]
    rows = []
    for row, quality in zip(image, params["jpeg_quality"].astype(float), strict=True):
        tables = jpeg_tables(quality)
        padded = np.pad(row.clip(0, 1), grown, mode="edge") * 255
        y, cb, cr = np.tensordot(forward, padded, 1) - np.reshape([128, 0.5, 0.5], (3, 1, 1))
        y = coded(y, tables[0])
        cb, cr = (resized(coded(halved(c), tables[1])[None], y.shape, "bilinear")[0] for c in (cb, cr))
        back = np.tensordot(np.linalg.inv(forward), np.stack([y + 128, cb + 0.5, cr + 0.5]), 1) / 255
        rows.append(back[:, :height, :width].clip(0, 1))
    return np.stack(rows)


def any_channels_are_coded(kornia: Any) -> None:
    grey = torch.rand(1, 1, 16, 24)
    op = K.RandomJPEG((20.0, 20.0), p=1.0)
    expected = coded(grey[0, 0].double().numpy() * 255 - 128, jpeg_tables(20.0)[0]) + 128
    assert_close(op(grey)[0, 0], torch.from_numpy(expected / 255).clamp(0, 1).float(), atol=1e-5, rtol=0)
    with pytest.raises(Exception, match="3"):
        kornia.RandomJPEG(p=1.0)(grey)


REFERENCES: Mapping[str, Reference] = {
    "RandomDownscale": downscale,
    "RandomJPEG": jpeg,
}
MORE: Mapping[str, list[dict[str, Any]]] = {
    "RandomJPEG": [{"jpeg_quality": (1.0, 10.0)}, {"jpeg_quality": 10.0}, {"jpeg_quality": (90.0, 100.0)}],
}
INTENDED: Mapping[str, tuple[Callable[[Any], None], str]] = {
    "RandomJPEG channels": (any_channels_are_coded, "any number of channels is coded; kornia takes RGB alone"),
}
