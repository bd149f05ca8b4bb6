"""Filled rectangles: some, one with a level of its own a row, and those of a grid."""

from typing import Any

import torch
from torch import Tensor

from ...common.opaque import by_rows
from ..rowop import Out, RowOp
from ..warp import maths as resample
from . import maths

Rectangles = list[list[float]]


def _fill_row(image: Tensor, params: Tensor, rectangles: Rectangles, fill: list[float], out: Out = None) -> Tensor:
    if out is None:
        dropped = maths.in_rectangles(params[None], image.shape[-2], image.shape[-1])[0]
        return torch.where(dropped, resample.per_channel(fill, image), image)
    out.copy_(image)
    level = None if len(set(fill)) == 1 else resample.per_channel(fill, image)
    for x, y, width, height in rectangles:
        left, top, right, bottom = (max(round(v), 0) for v in (x, y, x + width, y + height))
        if right > left and bottom > top:
            window = out[:, top:bottom, left:right]
            window.fill_(fill[0]) if level is None else window.copy_(level)
    return out


def _is_empty(image: Tensor, params: Tensor, rectangles: list[Rectangles], *_: Any) -> list[bool]:
    return [not any(width > 0 and height > 0 for _, _, width, height in row) for row in rectangles]


_fill = RowOp("fill_rectangles", "float[] fill", _fill_row, _is_empty, raw=True, keeps_format=True).op


def fill_rectangles(
    image: Tensor,  # (B, C, H, W), any dtype
    rectangles: Tensor,  # (B, N, 4): first pixel x and y, width and height, whole numbers
    fill: list[float],
) -> Tensor:  # (B, C, H, W)
    """Fill rectangles with one value, or one a channel."""
    if by_rows(image):
        return _fill(image, rectangles, fill)
    dropped = maths.in_rectangles(rectangles, image.shape[-2], image.shape[-1])
    return torch.where(dropped, resample.per_channel(fill, image), image)


def _erase_row(image: Tensor, window: Tensor, numbers: list[float], out: Out = None) -> Tensor:
    height, width = image.shape[-2:]
    if out is None:
        return torch.where(maths.in_window(window[None, :4], height, width)[0], window[4], image)
    left, top, right, bottom = (max(round(v), 0) for v in numbers[:4])
    out.copy_(image)[:, top:bottom, left:right].fill_(numbers[4])
    return out


_erase = RowOp(
    "erase",
    "",
    _erase_row,
    lambda image, windows, numbers: [x1 <= x0 or y1 <= y0 for x0, y0, x1, y1, _ in numbers],
    raw=True,
    keeps_format=True,
).op


def erase(
    image: Tensor,  # (B, C, H, W), any dtype
    windows: Tensor,  # (B, 4): left, top, right and bottom, whole numbers, the last two not inside
    levels: Tensor,  # (B,), in the image's own range
) -> Tensor:  # (B, C, H, W)
    """Fill one rectangle of each row with a level of its own."""
    if by_rows(image) and image.dtype == torch.uint8:  # a choice among bytes is not vectorised, one among floats is
        return _erase(image, torch.cat([windows, levels.unsqueeze(1)], 1))
    inside = maths.in_window(windows, image.shape[-2], image.shape[-1])
    return torch.where(inside, levels.to(image.dtype).view(-1, 1, 1, 1), image)


def _grid_row(image: Tensor, grid: Tensor, numbers: Any, fill: list[float], out: Out = None) -> Tensor:
    dropped = maths.in_grid(grid[None], image.shape[-2], image.shape[-1])[0]
    if out is None or image.dtype != torch.uint8:
        return torch.where(dropped, resample.per_channel(fill, image), image, out=out)
    keeps = (~dropped).view(torch.uint8).neg_()  # all bits or none: a choice among bytes is not vectorised
    torch.bitwise_and(image, keeps, out=out)
    return out.add_((255 - keeps).bitwise_and(resample.per_channel(fill, image))) if any(fill) else out


_grid = RowOp(
    "fill_grid",
    "float[] fill",
    _grid_row,
    lambda image, grid, numbers, fill: [x[1] == 0 or y[1] == 0 for x, y in numbers],
    raw=True,
    keeps_format=True,
).op


def fill_grid(
    image: Tensor,  # (B, C, H, W), any dtype
    grid: Tensor,  # (B, 2, 3), for x and y: unit, hole and offset in pixels
    fill: list[float],
) -> Tensor:  # (B, C, H, W)
    """Fill the holes of a grid with one value, or one a channel; a hole of 0 leaves the row alone."""
    if by_rows(image):
        return _grid(image, grid, fill)
    dropped = maths.in_grid(grid, image.shape[-2], image.shape[-1])
    return torch.where(dropped, resample.per_channel(fill, image), image)
