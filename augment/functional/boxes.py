"""Boxes as (B, N, 4), x1, y1, x2, y2 on edges."""

import torch
from torch import Tensor


def area(boxes: Tensor) -> Tensor:
    """Give the area of boxes (..., 4); negative where one is turned inside out."""
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def overlaps(
    boxes: Tensor,  # (B, N, 4)
    windows: Tensor,  # (B, T, 4)
) -> Tensor:  # (B, T, N)
    """Give the intersection of each window with each box over their union."""
    box, window = boxes.unsqueeze(1), windows.unsqueeze(2)
    width = torch.minimum(box[..., 2], window[..., 2]) - torch.maximum(box[..., 0], window[..., 0])
    height = torch.minimum(box[..., 3], window[..., 3]) - torch.maximum(box[..., 1], window[..., 1])
    common = width.clamp(min=0) * height.clamp(min=0)
    return common / (area(box) + area(window) - common)


def hold_centers(
    boxes: Tensor,  # (B, N, 4)
    windows: Tensor,  # (B, T, 4)
) -> Tensor:  # (B, T, N)
    """Say which windows hold the centre of which box."""
    x, y = ((boxes[..., i] + boxes[..., i + 2]).unsqueeze(1) / 2 for i in (0, 1))
    left, top, right, bottom = windows.unsqueeze(2).unbind(-1)
    return (left < x) & (x < right) & (top < y) & (y < bottom)


def first_valid(
    boxes: Tensor | None,  # (B, N, 4); None for no say
    windows: Tensor,  # (B, T, 4), candidates; those without an area are none
    least: Tensor,  # (B, K), overlaps in the order in which they are tried; from 1 on, all of the image is asked for
) -> tuple[Tensor, Tensor]:  # (B,), index of the window; (B,) bool, whether one was found before all was asked for
    """Choose the first window that holds the centre of a box with enough overlap, for the first overlap that any has.

    A box without an area has no say.
    """
    fits = area(windows) > 0
    if boxes is None:
        enough = fits.unsqueeze(1).expand(-1, least.shape[1], -1)
    else:
        counts = hold_centers(boxes, windows) & (area(boxes) > 0).unsqueeze(1) & fits.unsqueeze(2)
        none = torch.full_like(windows[..., :1], -1.0)  # also where there is no box at all
        best = torch.cat([torch.where(counts, overlaps(boxes, windows), -1.0), none], 2).amax(2)
        enough = (best.unsqueeze(1) >= least.unsqueeze(2)) & (best >= 0).unsqueeze(1)
    whole = (least >= 1).unsqueeze(2)
    stops = torch.cat([enough & ~whole, whole], 2).flatten(1)
    first = stops.int().argmax(1)
    index = first.remainder(windows.shape[1] + 1)
    found = stops.any(1) & (index < windows.shape[1])
    return index.clamp(max=windows.shape[1] - 1), found
