"""The median of a window, by comparing whole images that are shifted against each other."""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor


class Plane:
    """An image that is computed when it is first asked for, so that only the comparisons that matter are made."""

    def __init__(self, compute: Callable[[], Tensor]) -> None:
        self.compute: Callable[[], Tensor] | None = compute
        self.image: Tensor | None = None

    def __call__(self) -> Tensor:
        """Give the image."""
        if self.image is None:
            assert self.compute is not None
            self.image, self.compute = self.compute(), None
        return self.image


Planes = Sequence[Plane]


def lower(a: Plane, b: Plane) -> Plane:
    """Take the smaller of two values in every place."""
    return Plane(lambda: torch.minimum(a(), b()))


def upper(a: Plane, b: Plane) -> Plane:
    """Take the larger of two values in every place."""
    return Plane(lambda: torch.maximum(a(), b()))


def merge(a: Planes, b: Planes) -> list[Plane]:
    """Merge two sorted sequences (K. E. Batcher, "Sorting networks and their applications", AFIPS 1968)."""
    if not a or not b:
        return [*a, *b]
    if len(a) == len(b) == 1:
        return [lower(a[0], b[0]), upper(a[0], b[0])]
    evens, odds = merge(a[::2], b[::2]), merge(a[1::2], b[1::2])
    merged = [evens[0]]
    for one, other in zip(odds, evens[1:], strict=False):
        merged += [lower(one, other), upper(one, other)]
    return merged + (odds[len(evens) - 1 :] if len(odds) == len(evens) else evens[len(odds) + 1 :])


def ordered(planes: Planes) -> list[Plane]:
    """Sort by merging halves."""
    if len(planes) < 2:
        return list(planes)
    middle = len(planes) // 2
    return merge(ordered(planes[:middle]), ordered(planes[middle:]))


def shifted(planes: Planes, by: int) -> list[Plane]:
    """Look ``by`` columns further right."""
    return [Plane(lambda plane=plane: plane()[..., by:]) for plane in planes]


def cropped(planes: Planes, width: int) -> list[Plane]:
    """Keep the first columns."""
    return [Plane(lambda plane=plane: plane()[..., :width]) for plane in planes]


def windows(column: Planes, n: int, width: int) -> tuple[list[Plane], list[Plane]]:
    """Give the sorted values of every n neighbouring columns as two sorted parts that are still to be merged.

    Args:
        column: the sorted values of every column.
        n: how many columns make a window.
        width: how many columns there are.
    """
    if n == 1:
        return list(column), []
    half = merge(*windows(column, n // 2, width))
    room = width - n + 1
    pair = cropped(half, room), cropped(shifted(half, n // 2), room)
    return (merge(*pair), cropped(shifted(column, n - 1), room)) if n % 2 else pair


def select(a: Planes, b: Planes, rank: int) -> Plane:
    """Give the value of a rank (from 0) among two sorted sequences: the least of the largest of i and rank + 1 - i."""
    found = []
    for i in range(max(0, rank + 1 - len(b)), min(len(a), rank + 1) + 1):
        j = rank + 1 - i
        found.append(upper(a[i - 1], b[j - 1]) if i and j else a[i - 1] if i else b[j - 1])
    least = found[0]
    for other in found[1:]:
        least = lower(least, other)
    return least


def median_blur(
    image: Tensor,  # (..., C, H, W), any dtype
    height: int,
    width: int,
) -> Tensor:  # (..., C, H, W)
    """Take the median of a window of odd size, the image mirrored about the centres of its edge pixels."""
    h, w = image.shape[-2:]
    padded = F.pad(image, [width // 2] * 2 + [height // 2] * 2, mode="reflect")
    rows = [Plane(lambda y=y: padded[..., y : y + h, :]) for y in range(height)]
    parts = windows(ordered(rows), width, w + width - 1)
    return select(*parts, height * width // 2)()
