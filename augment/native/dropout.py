"""Filled rectangles, anywhere and in a grid."""

from typing import Any

import torch
from torch import Tensor

from ..functional import dropout, resample
from ..opaque import rowwise
from .rows import Out

Rectangles = list[list[float]]


def _fill_row(image: Tensor, params: Tensor, rectangles: Rectangles, fill: list[float], out: Out = None) -> Tensor:
    level = resample.per_channel(fill, image)
    if out is None:
        return torch.where(dropout.in_rectangles(params[None], image.shape[-2], image.shape[-1])[0], level, image)
    out.copy_(image)
    for x, y, width, height in rectangles:
        left, top, right, bottom = (max(round(v), 0) for v in (x, y, x + width, y + height))
        if right > left and bottom > top:
            out[:, top:bottom, left:right] = level
    return out


def _is_empty(image: Tensor, params: Tensor, rectangles: list[Rectangles], *_: Any) -> list[bool]:
    return [not any(width > 0 and height > 0 for _, _, width, height in row) for row in rectangles]


_fill = rowwise("fill_rectangles", "float[] fill", _fill_row, _is_empty, raw=True)


def fill_rectangles(
    image: Tensor,  # (B, C, H, W), any dtype
    rectangles: Tensor,  # (B, N, 4): first pixel x and y, width and height, whole numbers
    fill: list[float],
) -> Tensor:  # (B, C, H, W)
    """Fill rectangles with one value, or one a channel."""
    if image.is_cpu:
        return _fill(image, rectangles, fill)
    dropped = dropout.in_rectangles(rectangles, image.shape[-2], image.shape[-1])
    return torch.where(dropped, resample.per_channel(fill, image), image)


def _grid_row(image: Tensor, grid: Tensor, numbers: Any, fill: list[float], out: Out = None) -> Tensor:
    dropped = dropout.in_grid(grid[None], image.shape[-2], image.shape[-1])[0]
    return torch.where(dropped, resample.per_channel(fill, image), image, out=out)


_grid = rowwise(
    "fill_grid",
    "float[] fill",
    _grid_row,
    lambda image, grid, numbers, fill: [x[1] == 0 or y[1] == 0 for x, y in numbers],
    raw=True,
)


def fill_grid(
    image: Tensor,  # (B, C, H, W), any dtype
    grid: Tensor,  # (B, 2, 3), for x and y: unit, hole and offset in pixels
    fill: list[float],
) -> Tensor:  # (B, C, H, W)
    """Fill the holes of a grid with one value, or one a channel; a hole of 0 leaves the row alone."""
    if image.is_cpu:
        return _grid(image, grid, fill)
    dropped = dropout.in_grid(grid, image.shape[-2], image.shape[-1])
    return torch.where(dropped, resample.per_channel(fill, image), image)
