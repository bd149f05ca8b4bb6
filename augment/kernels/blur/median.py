"""The median of a window, by comparing whole images that are shifted against each other."""

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

STRIP = 2**20  # bytes of an image that are worked on at a time, so that what is compared stays in the cache


class Place(NamedTuple):
    """An image of a network, seen from some column on."""

    image: int
    column: int


class Step(NamedTuple):
    """A comparison: its result has the ``lost`` last columns less, and images in ``dead`` are not needed any more."""

    compare: Callable[..., Tensor]
    parts: tuple[Place, ...]
    lost: int
    dead: tuple[int, ...]


def cut(value: Tensor, low: Tensor, high: Tensor, out: Tensor | None = None) -> Tensor:
    """Cut to a range in one pass, or in two that have a gradient where the range is a single value."""
    if value.requires_grad:
        return torch.minimum(torch.maximum(value, low), high)
    return torch.clamp(value, low, high, out=out)


class Network:
    """Comparisons of images, numbered in the order in which they come to be; the first are the inputs."""

    def __init__(self, inputs: int) -> None:
        self.steps: list[Step | None] = [None] * inputs

    def lost(self, place: Place) -> int:
        """Give how many columns less there are from a place on."""
        step = self.steps[place.image]
        return place.column + (0 if step is None else step.lost)

    def compare(self, how: Callable[..., Tensor], *parts: Place) -> Place:
        """Add a comparison."""
        self.steps.append(Step(how, parts, max(map(self.lost, parts)), ()))
        return Place(len(self.steps) - 1, 0)

    def both(self, one: Place, other: Place) -> list[Place]:
        """Sort two values."""
        return [self.compare(torch.minimum, one, other), self.compare(torch.maximum, one, other)]

    def merge(self, a: Sequence[Place], b: Sequence[Place]) -> list[Place]:
        """Merge two sorted sequences (K. E. Batcher, "Sorting networks and their applications", AFIPS 1968)."""
        if not a or not b:
            return [*a, *b]
        if len(a) == len(b) == 1:
            return self.both(a[0], b[0])
        evens, odds = self.merge(a[::2], b[::2]), self.merge(a[1::2], b[1::2])
        merged, pairs = [evens[0]], min(len(odds), len(evens) - 1)
        for one, other in zip(odds[:pairs], evens[1 : pairs + 1], strict=True):
            merged += self.both(one, other)
        return merged + (odds[-1:] if len(odds) == len(evens) else evens[len(odds) + 1 :])

    def sort(self, values: Sequence[Place]) -> list[Place]:
        """Sort by merging halves."""
        middle = len(values) // 2
        return self.merge(self.sort(values[:middle]), self.sort(values[middle:])) if middle else list(values)

    def windows(self, column: Sequence[Place], n: int) -> tuple[list[Place], list[Place]]:
        """The values of every n neighbouring columns as two sorted parts, from those of half as many columns."""
        if n == 1:
            return list(column), []
        half = self.merge(*self.windows(column, n // 2))
        pair = half, [Place(image, at + n // 2) for image, at in half]
        return (self.merge(*pair), [Place(image, at + n - 1) for image, at in column]) if n % 2 else pair

    def select(self, a: Sequence[Place], b: Sequence[Place], rank: int) -> Place:
        """The value of a rank from 0 among two sorted sequences.

        If i of the rank + 1 smallest values are in one, the rest is in the other, and the largest of both is at least
        the value that is looked for; it is the least of these over all i.
        """
        found = []
        for i in range(max(0, rank + 1 - len(b)), min(len(a), rank + 1) + 1):
            j = rank + 1 - i
            found.append(self.compare(torch.maximum, a[i - 1], b[j - 1]) if i and j else a[i - 1] if i else b[j - 1])
        return functools.reduce(lambda least, other: self.compare(torch.minimum, least, other), found)

    def middle(self, a: Place, b: Place, c: Place) -> Place:
        """The median of three values: one of them, cut to the range of the others."""
        return self.compare(cut, c, *self.both(a, b))

    def middle_of_nine(self, rows: Sequence[Place]) -> Place:
        """The median of three columns of three: that of the largest low, the median middle and the least high."""
        low, high = self.both(rows[0], rows[1])
        column = (
            self.compare(torch.minimum, low, rows[2]),
            self.compare(cut, rows[2], low, high),
            self.compare(torch.maximum, high, rows[2]),
        )
        lows, middles, highs = ([Place(image, at + x) for x in range(3)] for image, at in column)
        low = self.compare(torch.maximum, self.compare(torch.maximum, lows[0], lows[1]), lows[2])
        high = self.compare(torch.minimum, self.compare(torch.minimum, highs[0], highs[1]), highs[2])
        return self.middle(low, self.middle(*middles), high)

    def needed(self, result: Place) -> list[tuple[int, Step]]:
        """The steps that a result needs, with what each of them needs last."""
        alive, kept = {result.image}, []
        for number in range(result.image, -1, -1):
            step = self.steps[number]
            if step is not None and number in alive:
                parts = {place.image for place in step.parts}
                kept.append((number, step._replace(dead=tuple(parts - alive))))
                alive |= parts
        return kept[::-1]


@functools.lru_cache
def median_steps(height: int, width: int) -> list[tuple[int, Step]]:
    """The comparisons that lead from the rows of a window to its median: sorted columns, then merged ones."""
    network = Network(height)
    rows = [Place(y, 0) for y in range(height)]
    if height == width == 3:
        return network.needed(network.middle_of_nine(rows))
    return network.needed(network.select(*network.windows(network.sort(rows), width), height * width // 2))


def median_blur(
    image: Tensor,  # (..., C, H, W), any dtype
    height: int,
    width: int,
    out: Tensor | None = None,  # where to write
) -> Tensor:  # (..., C, H, W)
    """Take the median of a window of odd size, the image mirrored about the centres of its edge pixels."""
    h = image.shape[-2]
    steps = median_steps(height, width)
    if not steps:
        return image
    padded = F.pad(image, [width // 2] * 2 + [height // 2] * 2, mode="reflect")
    if out is None:
        return run(steps, [padded[..., y : y + h, :] for y in range(height)])
    strip = max(1, STRIP * h // (image.numel() * image.element_size()))
    for top in range(0, h, strip):
        n = min(strip, h - top)
        if image.dtype == torch.uint8:
            run_flat(steps, padded[..., top : top + n + height - 1, :], out[..., top : top + n, :])
        else:
            run(steps, [padded[..., top + y : top + y + n, :] for y in range(height)], out[..., top : top + n, :])
    return out


def run_flat(steps: list[tuple[int, Step]], padded: Tensor, out: Tensor) -> None:
    """Make the comparisons over the ends of lines, too: bytes of a single line are too few for a loop of their own."""
    line, height = padded.shape[-1], padded.shape[-2] - out.shape[-2] + 1
    flat = padded.flatten()
    n = len(flat) - (height - 1) * line
    found = run(steps, [flat[y * line : y * line + n] for y in range(height)])
    plane = padded.shape[-2] * line
    out.copy_(found.as_strided(out.shape, (plane, line, 1)))


def run(steps: list[tuple[int, Step]], inputs: list[Tensor], out: Tensor | None = None) -> Tensor:
    """Make the comparisons, the last of them into ``out``."""
    images, lost = dict(enumerate(inputs)), dict.fromkeys(range(len(inputs)), 0)
    width, result, last = inputs[0].shape[-1], inputs[0], steps[-1][0]
    for number, (compare, parts, less, dead) in steps:
        n = width - less
        seen = [images[i] if lost[i] == less else images[i].narrow(-1, column, n) for i, column in parts]
        result = compare(*seen, out=out if number == last else None)
        images[number], lost[number] = result, less
        for image in dead:
            del images[image]
    return result
