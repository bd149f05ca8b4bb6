"""Which boxes and keypoints are still in the image: they are watched on their way through the ops.

A point that leaves an image is lost, though a later op may bring its place back, and so is what is cut off a box. What
is lost becomes NaN, which stays NaN wherever it is moved.
"""

import torch
from torch import Tensor

from .boxes import area

Size = tuple[int, int]
ROUNDING = 1e-5  # of the share of an area, and of a side


def start(key: str, value: Tensor) -> Tensor:
    """Give what to watch of boxes (B, N, 4) or keypoints (B, N, 2): of boxes the whole ones, then what is seen."""
    return value if key == "keypoints" else torch.cat([value, value], -2)


def cut(key: str, value: Tensor, size: Size, by_center: bool = False) -> Tensor:
    """Lose what lies outside an image; ``by_center``, all of a box whose centre is not inside."""
    height, width = size
    if key == "keypoints":
        x, y = value.unbind(-1)
        inside = (x >= -0.5) & (x <= width - 0.5) & (y >= -0.5) & (y <= height - 0.5)
        return torch.where(inside.unsqueeze(-1), value, torch.nan)
    whole, seen = value.chunk(2, -2)
    x, y = seen[..., 0::2].clamp(0, width), seen[..., 1::2].clamp(0, height)
    seen = torch.stack([x, y], -1).flatten(-2)
    left = area(seen) > 0
    if by_center:
        x, y = ((whole[..., i] + whole[..., i + 2]) / 2 for i in (0, 1))
        # a centre on the edge is cut away, as in torchvision, and the way here may have rounded it to either side
        rest_x, rest_y = ROUNDING * width, ROUNDING * height
        left = left & (x > rest_x) & (x < width - rest_x) & (y > rest_y) & (y < height - rest_y)
    return torch.cat([whole, torch.where(left.unsqueeze(-1), seen, torch.nan)], -2)


def verdict(key: str, value: Tensor, least: float) -> Tensor:
    """Say which keypoints, or boxes by the share of their area that is seen, are still there: (B, N) bool."""
    if key == "keypoints":
        return value.isfinite().all(-1)
    whole, seen = value.chunk(2, -2)
    return area(seen) > (least - ROUNDING) * area(whole)
