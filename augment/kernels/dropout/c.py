"""Rectangles and grids that are filled in bytes, in C."""

import struct

import torch
from torch import Tensor

from ..built import backend, run
from ..warp.maths import per_channel
from . import maths

Open = Tensor | None


def _fill(image: Tensor, out: Tensor, open: Open, marks: maths.Marks, levels: Tensor) -> None:
    """Fill where columns (B, [N], 1, W) and lines (B, [N], H, 1) meet, by levels (B or 1, C or 1)."""
    rows, channels, height, width = image.shape
    columns, lines = marks[0].reshape(rows, -1, width), marks[1].reshape(rows, -1, height)
    sets = torch.cat([columns, lines], 2).flatten(1).view(torch.uint8)
    params = torch.cat([levels.to(torch.uint8).expand(rows, channels), sets], 1)
    run("fill_meetings", image, out, open, params, struct.pack("i", columns.shape[1]))


def _rectangles(image: Tensor, out: Tensor, open: Open, rectangles: Tensor, fill: list[float]) -> None:
    marks = maths.of_rectangles(rectangles, *image.shape[2:])
    _fill(image, out, open, marks, per_channel(fill, image).view(1, -1))


def _grid(image: Tensor, out: Tensor, open: Open, grid: Tensor, fill: list[float]) -> None:
    _fill(image, out, open, maths.of_grid(grid, *image.shape[2:]), per_channel(fill, image).view(1, -1))


def _erase(image: Tensor, out: Tensor, open: Open, windows: Tensor, levels: Tensor) -> None:
    _fill(image, out, open, maths.of_windows(windows, *image.shape[2:]), levels.unsqueeze(1))


fill_rectangles, fill_grid, erase = backend(_rectangles), backend(_grid), backend(_erase)
