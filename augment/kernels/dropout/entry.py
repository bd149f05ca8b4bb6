"""Filled rectangles: some, one with a level of its own a row, and those of a grid."""

import torch
from torch import Tensor

from ..kernel import Kernel, Out
from ..warp.maths import per_channel
from . import c as in_c
from . import maths


def _fill(image: Tensor, rectangles: Tensor, fill: list[float]) -> Tensor:
    return torch.where(maths.in_rectangles(rectangles, *image.shape[-2:]), per_channel(fill, image), image)


def _fill_row(image: Tensor, rectangles: list[list[float]], fill: list[float], out: Tensor) -> Tensor:
    out.copy_(image)
    level = None if len(set(fill)) == 1 else per_channel(fill, image)
    for x, y, width, height in rectangles:
        left, top, right, bottom = (max(round(v), 0) for v in (x, y, x + width, y + height))
        if right > left and bottom > top:
            window = out[:, top:bottom, left:right]
            window.fill_(fill[0]) if level is None else window.copy_(level)
    return out


fill_rectangles = Kernel(
    "fill_rectangles(Tensor image, Tensor rectangles, float[] fill)",
    maths=_fill,
    row=_fill_row,
    read=lambda image, rectangles, fill: rectangles.tolist(),
    backends=[in_c.fill_rectangles],
    values="own",
)
"""Fill rectangles (B, N, 4), first pixel x and y, width and height in whole numbers, by one value, or one a channel."""

erase = Kernel(
    "erase(Tensor image, Tensor windows, Tensor levels)",
    maths=lambda image, windows, levels: torch.where(
        maths.in_window(windows, *image.shape[-2:]), levels.to(image.dtype).view(-1, 1, 1, 1), image
    ),
    backends=[in_c.erase],
    values="own",
)
"""Fill one rectangle of each row (B, 4), left, top, right and bottom in whole numbers, the last two not inside, by a
level (B,) of its own, in the image's own range."""


def _grid(image: Tensor, grid: Tensor, fill: list[float], out: Out = None) -> Tensor:
    return torch.where(maths.in_grid(grid, *image.shape[-2:]), per_channel(fill, image), image, out=out)


fill_grid = Kernel(
    "fill_grid(Tensor image, Tensor grid, float[] fill)",
    maths=_grid,
    row=lambda image, grid, fill, out: _grid(image[None], grid[None], fill, out[None])[0],
    opens=lambda image, grid, fill: (grid[:, :, 1] != 0).all(1),
    backends=[in_c.fill_grid],
    values="own",
)
"""Fill the holes of a grid (B, 2, 3), for x and y a unit, a hole and an offset in pixels, by one value, or one a
channel; a hole of 0 leaves the row alone."""
