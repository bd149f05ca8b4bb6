"""Which pixels are dropped, and how much of labels lies on them."""

import torch
from torch import Tensor

from ..warp.maths import pixel_grid

Marks = tuple[Tensor, Tensor]  # of columns (..., 1, W) and of lines (..., H, 1), bool


def of_windows(
    windows: Tensor,  # (..., 4): left, top, right and bottom, the last two not inside
    height: int,
    width: int,
) -> Marks:
    """The columns and the lines that rectangles hold."""
    (x,), (y,) = pixel_grid(height, width, windows)
    left, top, right, bottom = windows[..., None, None].unbind(-3)
    return (x >= left) & (x < right), (y >= top) & (y < bottom)


def of_rectangles(rectangles: Tensor, height: int, width: int) -> Marks:
    """The same of rectangles (..., 4) as first pixel x and y, width and height."""
    first = rectangles[..., :2]
    return of_windows(torch.cat([first, first + rectangles[..., 2:]], -1), height, width)


def of_grid(
    grid: Tensor,  # (..., 2, 3), for x and y: unit, hole and offset in pixels; a hole of 0 drops none
    height: int,
    width: int,
) -> Marks:
    """The columns and the lines of the holes of a grid, one in the first corner of every unit."""
    inside = []
    for (place,), axis in zip(pixel_grid(height, width, grid), grid.unbind(-2), strict=True):
        unit, hole, offset = axis[..., None, None].unbind(-3)
        inside.append((place + offset).remainder(unit) < hole)
    return inside[0], inside[1]


def in_rectangles(
    rectangles: Tensor,  # (B, N, 4): first pixel x and y, width and height; of width 0 where there is none
    height: int,
    width: int,
) -> Tensor:  # (B, 1, H, W) bool
    """Which pixels lie in any of the rectangles."""
    dropped = torch.zeros(len(rectangles), height, width, dtype=torch.bool, device=rectangles.device)
    for columns, lines in zip(*(marks.unbind(1) for marks in of_rectangles(rectangles, height, width)), strict=True):
        dropped = dropped | (columns & lines)
    return dropped.unsqueeze(1)


def in_window(
    windows: Tensor,  # (B, 4): left, top, right and bottom, the last two not inside
    height: int,
    width: int,
) -> Tensor:  # (B, 1, H, W) bool
    """Which pixels lie in a rectangle."""
    columns, lines = of_windows(windows, height, width)
    return (columns & lines).unsqueeze(1)


def in_grid(grid: Tensor, height: int, width: int) -> Tensor:  # (B, 2, 3) to (B, 1, H, W) bool
    """Which pixels lie in the holes of a grid."""
    columns, lines = of_grid(grid, height, width)
    return (columns & lines).unsqueeze(1)


def covered_boxes(
    dropped: Tensor,  # (B, 1, H, W) bool
    boxes: Tensor,  # (B, N, 4), x1, y1, x2, y2 on edges
) -> Tensor:  # (B, N)
    """The share of each box that was dropped, of its part inside the image; 0 where nothing of it is inside."""
    height, width = dropped.shape[-2:]
    sums = torch.nn.functional.pad(dropped[:, 0].float().cumsum(1).cumsum(2), (1, 0, 1, 0))
    x1, y1, x2, y2 = boxes.float().unbind(2)
    x1, x2, y1, y2 = x1.clamp(0, width), x2.clamp(0, width), y1.clamp(0, height), y2.clamp(0, height)
    area = (x2 - x1) * (y2 - y1)
    covered = _read(sums, x2, y2) - _read(sums, x1, y2) - _read(sums, x2, y1) + _read(sums, x1, y1)
    return torch.where(area > 0, covered / area.clamp(min=1e-6), 0.0).clamp(0, 1)


def _read(sums: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Read a table (B, H + 1, W + 1) of sums at corners, in between linearly, which is exact inside a pixel."""
    height, width = sums.shape[-2:]
    left, top = x.floor().clamp(max=width - 2), y.floor().clamp(max=height - 2)
    share_x, share_y = x - left, y - top
    first = (top * width + left).long()
    near, right, below, far = (sums.flatten(1).gather(1, first + step) for step in (0, 1, width, width + 1))
    return torch.lerp(torch.lerp(near, right, share_x), torch.lerp(below, far, share_x), share_y)


def covered_points(
    dropped: Tensor,  # (B, 1, H, W) bool
    points: Tensor,  # (B, N, 2), in pixel centres
) -> Tensor:  # (B, N) bool
    """Which points lie on a dropped pixel; points outside the image do not."""
    height, width = dropped.shape[-2:]
    x, y = (points + 0.5).floor().unbind(2)
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    x, y = (torch.where(inside, v, 0).long() for v in (x, y))  # what was lost before is NaN, and nowhere
    return dropped.flatten(1).gather(1, y * width + x) & inside
