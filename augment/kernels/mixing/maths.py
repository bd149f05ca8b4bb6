"""Who is mixed with whom and how much, and what is still seen of labels."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

POINTS = 513  # of the table of quantiles


def sizes(values: Sequence[int], device: torch.device) -> Tensor:  # (n,) int64
    """Give sizes, which the compiler may not know, as a tensor, without a copy to a device."""
    return torch.stack([torch.full((), value, dtype=torch.int64, device=device) for value in values])


def next_of(u: Tensor) -> Tensor:  # (..., B) uniforms to (..., B) int64
    """Put rows in a random circle and give each the next: every other row is as likely, and none gets itself."""
    order = u.argsort(-1)
    return order.roll(-1, -1).gather(-1, order.argsort(-1))


def mate_of(u: Tensor) -> Tensor:  # (..., B) uniforms to (..., B) int64
    """Put rows in random pairs and give each the other; of an odd number one gets itself."""
    order = u.argsort(-1)
    return order.flip(-1).gather(-1, order.argsort(-1))


def beta_table(a: float) -> Tensor:  # (POINTS,) float32
    """Tabulate the lower half of the quantiles of Beta(a, a), over ``_smooth`` of the uniforms.

    The distribution is summed by a series of positive terms (DLMF 8.17.8 with a = b).
    """
    x = 0.5 * (1 - torch.linspace(0, 1, 8 * POINTS, dtype=torch.float64).square())
    term = total = torch.ones_like(x)
    for n in range(100_000):
        term = term * x * ((2 * a + n) / (a + 1 + n))
        total = total + term
        if term[0] < 1e-16 * total[0]:
            break
    constant = math.log(2 / a) + math.lgamma(2 * a) - 2 * math.lgamma(a)
    twice = a * (x * (1 - x)).log() + constant + total.log()  # the logarithm of two times the distribution
    place = _smooth((twice - twice[0]).exp(), a)
    place[-1] = 1
    wanted = torch.linspace(0, 1, POINTS, dtype=torch.float64)
    right = torch.searchsorted(place, wanted).clamp(1, len(place) - 1)
    share = (wanted - place[right - 1]) / (place[right] - place[right - 1]).clamp(min=1e-300)
    return torch.lerp(x[right - 1], x[right], share.clamp(0, 1)).float()


def _smooth(twice: Tensor, a: float) -> Tensor:
    """Stretch two times the distribution, in 0..1, to a scale in 0..1 on which the quantiles have no steep end."""
    return (-torch.expm1(twice.log() / a)).clamp(min=0).sqrt()


def beta_quantile(u: Tensor, a: float, table: Tensor) -> Tensor:
    """Map uniforms to Beta(a, a) by its table; Beta(1, 1) is uniform."""
    if a == 1:
        return u
    table = table.to(u)
    place = _smooth((2 * torch.minimum(u, 1 - u)).clamp(0, 1), a) * (POINTS - 1)
    left = place.floor().clamp(max=POINTS - 2)
    index = left.long()
    lower = torch.lerp(table[index], table[index + 1], place - left)
    return torch.where(u < 0.5, lower, 1 - lower)


def meet(
    boxes: Tensor,  # (..., 4), x1, y1, x2, y2
    window: Tensor,  # (..., 4)
) -> Tensor:  # (..., 4)
    """What boxes have in common with windows; inside out where that is nothing."""
    first = torch.maximum(boxes[..., :2], window[..., :2])
    return torch.cat([first, torch.minimum(boxes[..., 2:], window[..., 2:])], -1)


def without(
    boxes: Tensor,  # (..., 4), x1, y1, x2, y2
    window: Tensor,  # (..., 4)
) -> Tensor:  # (..., 4)
    """The smallest boxes around what is left of boxes when a window hides some of them; zeros where nothing is."""
    x1, y1, x2, y2 = boxes.unbind(-1)
    left, top, right, bottom = window.unbind(-1)
    there = (right > left) & (bottom > top)
    across, down = there & (left <= x1) & (right >= x2), there & (top <= y1) & (bottom >= y2)
    gone = across & down
    across, down = across & ~down, down & ~across
    rest = [
        torch.where(down & (left <= x1), torch.maximum(x1, right), x1),
        torch.where(across & (top <= y1), torch.maximum(y1, bottom), y1),
        torch.where(down & (right >= x2), torch.minimum(x2, left), x2),
        torch.where(across & (bottom >= y2), torch.minimum(y2, top), y2),
    ]
    return torch.where(gone.unsqueeze(-1), 0, torch.stack(rest, -1))


def has_area(boxes: Tensor) -> Tensor:  # (..., 4) to (...) bool
    """Which boxes have an area."""
    return (boxes[..., 2] > boxes[..., 0]) & (boxes[..., 3] > boxes[..., 1])


def holds(window: Tensor, points: Tensor) -> Tensor:
    """Whether points (..., 2), in pixel centres, lie on the pixels of windows (..., 4)."""
    place = points + 0.5
    return ((place >= window[..., :2]) & (place < window[..., 2:])).all(-1)


def shares_of(
    windows: Tensor,  # (B, T, 4), whole pixels in the frame, each over those before it
    size: tuple[int, int],
) -> Tensor:  # (B, T)
    """The share of the frame on which each window is seen."""
    height, width = size
    x, y = torch.arange(width, device=windows.device), torch.arange(height, device=windows.device)
    left, top, right, bottom = windows.unsqueeze(-1).unbind(2)
    inside = ((x >= left) & (x < right)).unsqueeze(2) & ((y >= top) & (y < bottom)).unsqueeze(3)
    seen, free = [], None
    for window in reversed(inside.unbind(1)):
        seen.append(window if free is None else window & free)
        free = ~window if free is None else free & ~window
    return torch.stack([s.sum((1, 2)) for s in reversed(seen)], 1) / (height * width)


def enclosing(
    pixels: Tensor,  # (B, H, W) bool
    boxes: Tensor,  # (B, N, 4), x1, y1, x2, y2
) -> tuple[Tensor, Tensor]:  # (B, N, 4); (B, N) int64
    """The smallest box around the marked pixels that a box touches, cut to the box, and how many they are."""
    height, width = pixels.shape[-2:]
    limits = sizes([width, height, width, height], boxes.device)
    edges = torch.cat([boxes[..., :2].floor(), boxes[..., 2:].ceil()], -1).nan_to_num(0).clamp(min=0)
    edges = torch.minimum(edges, limits).long()
    rows, columns = (_counts(pixels, edges[..., i::2], 2 - i) for i in (0, 1))
    bounds = [_ends(rows, edges[..., 1::2]), _ends(columns, edges[..., 0::2])]
    around = torch.stack([bounds[1][0], bounds[0][0], bounds[1][1], bounds[0][1]], -1).to(boxes.dtype)
    inside = torch.arange(height, device=boxes.device)
    inside = (inside >= edges[..., 1:2]) & (inside < edges[..., 3:])
    return meet(boxes, around), (rows * inside).sum(-1)


def _counts(pixels: Tensor, ends: Tensor, dim: int) -> Tensor:
    """Count pixels (B, H, W) along a dimension between ends (B, N, 2), for each place of the other: (B, N, L)."""
    sums = torch.nn.functional.pad(pixels.int().cumsum(dim, dtype=torch.int32), (1, 0) if dim == 2 else (0, 0, 1, 0))
    sums = sums.movedim(dim, 1)
    first, last = (sums.gather(1, end.unsqueeze(-1).expand(-1, -1, sums.shape[2])) for end in ends.unbind(-1))
    return last - first


def _ends(counts: Tensor, ends: Tensor) -> tuple[Tensor, Tensor]:
    """The first place between ends (B, N, 2) with a count, and the one behind the last."""
    place = torch.arange(counts.shape[-1], device=counts.device)
    marked = (counts > 0) & (place >= ends[..., :1]) & (place < ends[..., 1:])
    first = torch.where(marked, place, counts.shape[-1]).amin(-1)
    return first, torch.where(marked, place + 1, 0).amax(-1)


def bounds_of(masks: Tensor) -> tuple[Tensor, Tensor]:  # (B, N, H, W) bool to (B, N, 4) and (B, N) bool
    """The smallest box around every mask, and whether there is one."""
    sides: list[Sequence[Tensor]] = []
    for dim in (-2, -1):
        marked = masks.any(dim)
        place = torch.arange(marked.shape[-1], device=masks.device)
        first = torch.where(marked, place, marked.shape[-1]).amin(-1)
        sides.append((first, torch.where(marked, place + 1, 0).amax(-1)))
    boxes = torch.stack([sides[0][0], sides[1][0], sides[0][1], sides[1][1]], -1).float()
    return boxes, masks.flatten(2).any(-1)
