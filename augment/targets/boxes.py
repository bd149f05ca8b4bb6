"""Boxes as (B, N, 4), x1, y1, x2, y2 on edges."""

import torch
from torch import Tensor


def area(boxes: Tensor) -> Tensor:
    """The area of boxes (..., 4); negative where one is turned inside out."""
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def clipped(value: Tensor, size: tuple[int, int], inner: int = 0) -> Tensor:
    """Positions (..., x and y by turns) that are cut to an image, or to its pixel centres with ``inner`` 1."""
    x, y = value[..., 0::2], value[..., 1::2]
    x, y = x.clamp(0, size[1] - inner), y.clamp(0, size[0] - inner)
    return torch.stack([x, y], -1).flatten(-2)


def from_centres(boxes: Tensor) -> Tensor:
    """Give x1, y1, x2, y2 of boxes (..., 4) of a centre, a width and a height."""
    centre, half = boxes[..., :2], boxes[..., 2:] / 2
    return torch.cat([centre - half, centre + half], -1)


def to_centres(boxes: Tensor) -> Tensor:
    """The centre, the width and the height of boxes (..., 4)."""
    first, last = boxes[..., :2], boxes[..., 2:]
    return torch.cat([(first + last) / 2, last - first], -1)


def corners(boxes: Tensor, centred: bool) -> Tensor:  # (..., 5) to (..., 4, 2)
    """The corners, clockwise, of x, y, width, height and an angle in degrees, counter-clockwise on the screen.

    x, y are the first corner, or the centre where they are ``centred``.
    """
    place, sides, angle = boxes[..., :2], boxes[..., 2:4], torch.deg2rad(boxes[..., 4])
    across = torch.stack([angle.cos(), -angle.sin()], -1) * sides[..., :1]
    down = torch.stack([angle.sin(), angle.cos()], -1) * sides[..., 1:]
    first = place - (across + down) / 2 if centred else place
    return torch.stack([first, first + across, first + across + down, first + down], -2)


def clockwise(corners: Tensor) -> Tensor:  # (..., 4, 2)
    """Give corners clockwise again where a mirror turned their order round, the second first."""
    (ax, ay), (bx, by) = ((corners[..., i, :] - corners[..., 0, :]).unbind(-1) for i in (1, 3))
    turned = (ax * by < ay * bx)[..., None, None]
    return torch.where(turned, torch.stack([corners[..., i, :] for i in (1, 0, 3, 2)], -2), corners)


def rotated(corners: Tensor, centred: bool) -> Tensor:  # (..., 4, 2) to (..., 5)
    """The rectangles along the first side of quadrilaterals that enclose them, in the form of ``corners``."""
    corners = clockwise(corners)
    first, side = corners[..., :1, :], corners[..., 1, :] - corners[..., 0, :]
    angle = torch.atan2(-side[..., 1], side[..., 0])
    axes = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()], -1).unflatten(-1, (2, 2))
    reach = (corners - first) @ axes.mT  # along the first side and across
    low, high = reach.amin(-2), reach.amax(-2)
    at = (low + high) / 2 if centred else low
    place = first.squeeze(-2) + (at.unsqueeze(-2) @ axes).squeeze(-2)
    return torch.cat([place, high - low, torch.rad2deg(angle).unsqueeze(-1)], -1)


def overlaps(boxes: Tensor, windows: Tensor) -> Tensor:  # (B, N, 4) and (B, T, 4) to (B, T, N)
    """The intersection of each window with each box over their union."""
    box, window = boxes.unsqueeze(1), windows.unsqueeze(2)
    width = torch.minimum(box[..., 2], window[..., 2]) - torch.maximum(box[..., 0], window[..., 0])
    height = torch.minimum(box[..., 3], window[..., 3]) - torch.maximum(box[..., 1], window[..., 1])
    common = width.clamp(min=0) * height.clamp(min=0)
    return common / (area(box) + area(window) - common)


def hold_centers(boxes: Tensor, windows: Tensor) -> Tensor:  # (B, N, 4) and (B, T, 4) to (B, T, N)
    """Which windows hold the centre of which box."""
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
