"""Which boxes and keypoints are still in the image: they are watched on their way through the ops.

A point that leaves an image is lost, though a later op may bring its place back, and so is what is cut off a box. What
is lost becomes NaN, which stays NaN wherever it is moved. Of boxes, (..., 2 N, 4) are watched: the whole ones, then
what is seen of them.
"""

import torch
from torch import Tensor

from .boxes import area, clipped

Size = tuple[int, int]
ROUNDING = 1e-5  # of the share of an area, and of a side


def cut_points(points: Tensor, size: Size) -> Tensor:
    """The points (..., 2) of which those outside an image are NaN."""
    x, y = points.unbind(-1)
    inside = (x >= -0.5) & (x <= size[1] - 0.5) & (y >= -0.5) & (y <= size[0] - 0.5)
    return torch.where(inside.unsqueeze(-1), points, torch.nan)


def cut_boxes(watched: Tensor, size: Size, by_center: bool) -> Tensor:
    """Boxes of which what lies outside an image is cut off; ``by_center``, all of a box whose centre is not inside."""
    height, width = size
    whole, seen = watched.chunk(2, -2)
    seen = clipped(seen, size)
    left = area(seen) > 0
    if by_center:
        x, y = ((whole[..., i] + whole[..., i + 2]) / 2 for i in (0, 1))
        # a centre on the edge is cut away, as in torchvision, and the way here may have rounded it to either side
        rest_x, rest_y = ROUNDING * width, ROUNDING * height
        left = left & (x > rest_x) & (x < width - rest_x) & (y > rest_y) & (y < height - rest_y)
    return torch.cat([whole, torch.where(left.unsqueeze(-1), seen, torch.nan)], -2)


def seen_boxes(watched: Tensor, least: float) -> Tensor:
    """Which boxes are still there, by the least share of their area that has to be seen, (..., N) bool."""
    whole, seen = watched.chunk(2, -2)
    return area(seen) > (least - ROUNDING) * area(whole)
