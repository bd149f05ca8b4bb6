"""Tone and histograms: what is expected, as in ``common.py`` and ``test_parity.py``."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageOps
from skimage import exposure
from torch.testing import assert_close

import augment as K
from tests.references.common import Array, Reference, per_row


def equalize(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    levels = np.rint(image * 255).astype(np.uint8)
    output = image.copy()
    for plane, level in zip(output.reshape(-1, *image.shape[-2:]), levels.reshape(-1, *image.shape[-2:]), strict=True):
        if (level.size - (level == level.max()).sum()) // 255:  # else there is no step, and nothing to flatten
            plane[:] = np.asarray(ImageOps.equalize(Image.fromarray(level))) / 255
    return output


def solarize(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    lifted = (image + per_row(params["additions"])).clip(0, 1)
    return np.where(lifted < per_row(params["thresholds"]), lifted, 1 - lifted)


def gamma(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    rows = zip(image, params["gamma_factor"].astype(float), params["gain_factor"].astype(float), strict=True)
    return np.stack([exposure.adjust_gamma(row, g, gain).clip(0, 1) for row, g, gain in rows])


def posterize(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    levels, output = np.rint(image * 255).astype(np.uint8), image.copy()
    for row, level, bits in zip(output, levels, params["bits_factor"].astype(int), strict=True):
        if bits < 8:
            planes = [ImageOps.posterize(Image.fromarray(plane), int(bits)) for plane in level]
            row[:] = np.stack([np.asarray(plane) for plane in planes]) / 255
    return output


def invert(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    return np.reshape(op.flags["max_val"], (-1, 1, 1)) - image


def autocontrast(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    return np.stack([[exposure.rescale_intensity(p, out_range=(0.0, 1.0)) for p in row] for row in image])


def clahe(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    levels = np.rint(image * 255).astype(int)
    limits = params["clip_limit_factor"].astype(float)
    rows = zip(levels, limits, strict=True)
    return np.stack([[clahe_plane(plane, limit, op.flags["grid_size"]) for plane in row] for row, limit in rows])


def clahe_plane(level: Array, limit: float, grid: tuple[int, int]) -> Array:
    """Equalise one plane: a table for each tile, and each pixel between the tables of the four tiles around."""
    size = level.shape
    extent = [-(-n // count) for n, count in zip(size, grid, strict=True)]
    behind = [(0, e * count - n) for n, e, count in zip(size, extent, grid, strict=True)]
    padded = np.pad(level, behind, mode="reflect")
    tables = np.empty((*grid, 256))
    for j in range(grid[0]):
        for i in range(grid[1]):
            tile = padded[j * extent[0] : (j + 1) * extent[0], i * extent[1] : (i + 1) * extent[1]]
            tables[j, i] = clahe_table(tile.ravel(), limit)
    output = np.empty(size)
    for y in range(size[0]):
        for x in range(size[1]):
            (j, v), (i, u) = (between((p + 0.5) / e - 0.5, n) for p, e, n in zip((y, x), extent, grid, strict=True))
            four = tables[np.ix_(j, i, [level[y, x]])][..., 0]
            output[y, x] = (four * np.outer([1 - v, v], [1 - u, u])).sum() / 255
    return output


def between(place: float, n: int) -> tuple[list[int], float]:
    """Give the two tiles of n that a place lies between, and how far from the first."""
    first = int(np.floor(place))
    return [max(first, 0), min(first + 1, n - 1)], place - first


def clahe_table(tile: Array, limit: float) -> Array:
    histogram = np.bincount(tile, minlength=256)
    if limit > 0:
        most = max(int(limit * tile.size / 256), 1)
        excess = np.maximum(histogram - most, 0).sum()
        histogram = np.minimum(histogram, most) + excess // 256
        rest = excess % 256
        if rest:
            histogram[:: max(256 // rest, 1)][:rest] += 1
    # the table is rounded in single precision, as OpenCV's
    return np.rint(np.cumsum(histogram).astype(np.float32) * np.float32(255 / tile.size)).clip(0, 255)


TIGHT = 5e-5


def levels_are_the_nearest(kornia: Any) -> None:
    below = (torch.arange(256).view(1, 1, 16, 16) - 0.25).clamp(min=0) / 255
    expected = torch.arange(256).view(1, 1, 16, 16) & 0b11100000
    assert_close(K.RandomPosterize((3.0, 3.0), p=1.0)(below) * 255, expected.float())
    assert (kornia.RandomPosterize((3.0, 3.0), p=1.0)(below) * 255 - expected).min() < -31


def tiles_count_the_nearest_level(kornia: Any) -> None:
    below = (torch.arange(1, 65).repeat(4).view(1, 1, 16, 16) * 3 - 0.25) / 255
    ours, theirs = (lib.RandomClahe(grid_size=(2, 2), p=1.0) for lib in (K, kornia))
    assert_close(ours(below), ours((below * 255).round() / 255), atol=1e-6, rtol=0)
    exact = (below * 255).round().to(torch.uint8)
    assert_close(ours(below) * 255, ours(exact).float(), atol=0.501, rtol=0)
    assert_close(theirs(below), ours((below * 255).floor() / 255), atol=TIGHT, rtol=0)


def one_value_has_no_contrast(kornia: Any) -> None:
    image = torch.full((1, 3, 4, 5), 0.4)
    image[:, 0] = torch.linspace(0.2, 0.201, 20).view(4, 5)
    ours, theirs = (lib.RandomAutoContrast(p=1.0)(image) for lib in (K, kornia))
    assert torch.equal(ours[:, 1:], image[:, 1:]) and theirs[:, 1:].eq(0).all()
    assert ours[:, 0].amax() == 1 and theirs[:, 0].amax() < 0.9991


REFERENCES: Mapping[str, Reference] = {
    "RandomAutoContrast": autocontrast,
    "RandomClahe": clahe,
    "RandomEqualize": equalize,
    "RandomGamma": gamma,
    "RandomInvert": invert,
    "RandomPosterize": posterize,
    "RandomSolarize": solarize,
}
MORE: Mapping[str, list[dict[str, Any]]] = {
    "RandomAutoContrast": [{"clip_output": False}],
    "RandomClahe": [
        {"clip_limit": (0.0, 0.0)},
        {"clip_limit": (1.0, 5.0), "grid_size": (3, 7)},
        {"grid_size": (1, 1)},
    ],
    "RandomGamma": [{"gamma": (0.0, 4.0), "gain": (0.0, 2.0)}, {}],
    "RandomInvert": [{"max_val": 2.0}],
    "RandomPosterize": [{"bits": (1, 8)}, {"bits": 2.0}],
    "RandomSolarize": [{"thresholds": (0.0, 1.0), "additions": (-0.5, 0.5)}, {"thresholds": 0.3, "additions": 0.0}],
}
INTENDED: Mapping[str, tuple[Callable[[Any], None], str]] = {
    "RandomAutoContrast": (
        one_value_has_no_contrast,
        "a channel of one value stays, as in the PIL, and the highest value becomes 1; kornia blackens the one and "
        "adds 1e-6 to the range of the other",
    ),
    "RandomClahe": (tiles_count_the_nearest_level, "the nearest of 256 levels; kornia truncates to the one below"),
    "RandomPosterize": (levels_are_the_nearest, "the nearest of 256 levels; kornia truncates to the one below"),
}
