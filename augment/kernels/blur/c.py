"""Filters of bytes, in C."""

import functools
import struct

import torch
from torch import Tensor

from ...common.vocabulary import BORDERS
from ..built import backend, run
from . import maths
from .median import cut, median_steps

Open = Tensor | None
MOST_DISK = 256  # pixels of a radius


def _reaches(image: Tensor, height: int, width: int, border: str) -> bool:
    """Whether a border of an image goes on as far as windows reach that are so high and wide."""
    size = image.shape[2:]
    needed = [n + (border == "reflect") if border in ("reflect", "circular") else 1 for n in (height // 2, width // 2)]
    return size[0] >= needed[0] and size[1] >= needed[1]


def _window(height: int, width: int, border: str) -> bytes:
    return struct.pack("3i", height, width, BORDERS.index(border))


def _separable(image: Tensor, out: Tensor, open: Open, taps_y: Tensor, taps_x: Tensor, border: str) -> None:
    window = _window(taps_y.shape[1], taps_x.shape[1], border)
    run("separable_filter", image, out, open, torch.cat([taps_y, taps_x], 1).float(), window)


def _square(image: Tensor, out: Tensor, open: Open, taps: Tensor, border: str) -> None:
    run("square_filter", image, out, open, taps.float(), _window(taps.shape[1], taps.shape[2], border))


def _box(image: Tensor, out: Tensor, open: Open, gate: Tensor, ky: int, kx: int, border: str) -> None:
    run("box_blur", image, out, open, None, _window(ky, kx, border))


def _sharpen(image: Tensor, out: Tensor, open: Open, factor: Tensor) -> None:
    run("sharpen", image, out, open, factor.float())


def _disk(image: Tensor, out: Tensor, open: Open, radius: Tensor, sigma: Tensor, most: int, border: str) -> None:
    taps = [maths.gaussian_weights(sigma.float(), maths.alias_size(r)) for r in (0, MOST_DISK)]
    params = torch.cat([radius.float().unsqueeze(1), *taps], 1)
    run("disk_blur", image, out, open, params, struct.pack("i", BORDERS.index(border)))


def _takes_disk(image: Tensor, radius: Tensor, sigma: Tensor, most: int, border: str) -> bool:
    widest = int(radius.amax())
    reach = 2 * (widest + maths.alias_size(widest) // 2)
    return widest < MOST_DISK and _reaches(image, reach, reach, border)


def _zoom(image: Tensor, out: Tensor, open: Open, factor: Tensor, steps: int) -> None:
    run("zoom_blur", image, out, open, factor.float(), struct.pack("i", steps))


KINDS = {torch.minimum: 0, torch.maximum: 1, cut: 2}  # as in csrc/blur/median.h
MOST_MEDIAN = 15  # lines or columns of a window


@functools.lru_cache
def network(height: int, width: int) -> bytes:
    """The comparisons of a median, each result in memory whose last one is dead: see csrc/blur/median.h."""
    steps = median_steps(height, width)
    slot, free, count = {i: i for i in range(height)}, [], height
    written = []
    for number, (compare, parts, less, dead) in steps:
        if free:
            slot[number] = free.pop()
        else:
            slot[number], count = count, count + 1
        seen = [*parts, *parts[:1]][:3]
        images, columns = [slot[image] for image, _ in seen], [column for _, column in seen]
        written.append(struct.pack("9i", KINDS[compare], slot[number], width - 1 - less, *images, *columns))
        free += [slot[image] for image in dead if image >= height]
    return struct.pack("4i", height, count - height, width, len(written)) + b"".join(written)


def _median(image: Tensor, out: Tensor, open: Open, gate: Tensor, ky: int, kx: int) -> None:
    run("median_blur", image, out, open, None, network(ky, kx))


def _takes_median(image: Tensor, gate: Tensor, ky: int, kx: int) -> bool:
    return 1 < max(ky, kx) <= MOST_MEDIAN and _reaches(image, ky, kx, "reflect")


separable_filter = backend(
    _separable, lambda image, taps_y, taps_x, border: _reaches(image, taps_y.shape[1], taps_x.shape[1], border)
)
filter2d = backend(_square, lambda image, taps, border: _reaches(image, taps.shape[1], taps.shape[2], border))
box_blur = backend(_box, lambda image, gate, *window: window[0] * window[1] <= 2**16 and _reaches(image, *window))
sharpen = backend(_sharpen)
disk_blur = backend(_disk, _takes_disk)
zoom_blur = backend(_zoom, lambda image, factor, steps: 2 <= steps < 2**12)
median_blur = backend(_median, _takes_median)
