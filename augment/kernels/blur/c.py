"""Filters of bytes."""

import functools
import struct
from collections.abc import Sequence

import torch
from torch import Tensor

from ...common.vocabulary import BORDERS
from .. import built
from .median import cut, median_steps

MOST_TAPS, MOST_SOFT = 256, 8  # as in csrc/image.h and csrc/blur/disk.h


def _filter(
    image: Tensor,
    taps: Sequence[tuple[float, int, int]],  # each with its place in the window
    along: Sequence[float],
    reach: tuple[int, int],
    border: str,
    out: Tensor,
) -> bool:
    if max(len(taps), len(along)) > MOST_TAPS or not _fits(image, out, reach, border):
        return False
    numbers = struct.pack(f"{len(taps)}f", *(tap for tap, _, _ in taps))
    places = struct.pack(f"{2 * len(taps)}i", *(n for _, y, x in taps for n in (y, x)))
    row = struct.pack(f"{len(along)}f", *along)
    where = built.address(image), built.address(out)
    return built.library.filter(*where, numbers, places, row, *reach, BORDERS.index(border))


def _fits(image: Tensor, out: Tensor, reach: tuple[int, int], border: str) -> bool:
    """Whether an image is one of bytes, and large enough for its border."""
    least = [n + (border == "reflect") if border in ("reflect", "circular") else 1 for n in reach]
    return built.fits(image, out) and image.shape[1] >= least[0] and image.shape[2] >= least[1]


def separable_filter(
    image: Tensor,  # (C, H, W), uint8
    taps_y: Sequence[float],
    taps_x: Sequence[float],
    border: str,
    out: Tensor,  # (C, H, W), uint8, where to write
) -> bool:
    """Correlate with one kernel along y, then with another along x, and round once."""
    taps = [(tap, y, 0) for y, tap in enumerate(taps_y)]
    return _filter(image, taps, taps_x, (len(taps_y) // 2, len(taps_x) // 2), border, out)


def filter2d(
    image: Tensor,  # (C, H, W), uint8
    taps: Sequence[Sequence[float]],  # (K, K), K odd
    border: str,
    out: Tensor,  # (C, H, W), uint8, where to write
) -> bool:
    """Correlate with a square kernel; taps that are zero cost nothing."""
    found = [(tap, y, x) for y, row in enumerate(taps) for x, tap in enumerate(row) if tap]
    return _filter(image, found, (), (len(taps) // 2, len(taps) // 2), border, out)


def box_blur(
    image: Tensor,  # (C, H, W), uint8
    height: int,
    width: int,
    border: str,
    out: Tensor,  # (C, H, W), uint8, where to write
) -> bool:
    """Average over a window; one of an even size reaches a pixel further right and down than left and up."""
    if height * width > 2**16 or not _fits(image, out, (height // 2, width // 2), border):
        return False
    return built.library.box(built.address(image), built.address(out), height, width, BORDERS.index(border))


def sharpen(
    image: Tensor,  # (C, H, W), uint8
    factor: float,  # 0 smooth, 1 as it is, above 1 sharper
    out: Tensor,  # (C, H, W), uint8, where to write
) -> bool:
    """Move from an image's smoothed copy through the image; pixels at the edges stay."""
    if not built.fits(image, out) or image.numel() == 0 or abs(factor) > 1000:  # what moves further than floats round
        return False
    return built.library.sharpen(built.address(image), built.address(out), (1 - factor) / 13)


def disk_blur(
    image: Tensor,  # (C, H, W), uint8
    radius: int,
    taps: Sequence[float],  # of the Gaussian that softens the disk, an odd number
    border: str,
    out: Tensor,  # (C, H, W), uint8, where to write
) -> bool:
    """Average over a disk with soft edges, and round once."""
    reach = radius + len(taps) // 2
    if len(taps) > MOST_SOFT or radius >= MOST_TAPS or not _fits(image, out, (reach, reach), border):
        return False
    row = struct.pack(f"{len(taps)}f", *taps)
    return built.library.disk_blur(built.address(image), built.address(out), radius, row, BORDERS.index(border))


def zoom_blur(
    image: Tensor,  # (C, H, W), uint8
    factor: float,  # the largest zoom
    steps: int,
    out: Tensor,  # (C, H, W), uint8, where to write
) -> bool:
    """Average over zooms about the centre of an image, evenly spaced from none to the largest, and round once."""
    if not built.fits(image, out) or image.numel() == 0 or not 1 <= factor < 2**16 or not 2 <= steps < 2**12:
        return False
    return built.library.zoom_blur(built.address(image), built.address(out), factor, steps)


KINDS = {torch.minimum: 0, torch.maximum: 1, cut: 2}  # as in csrc/blur/median.h
MOST = 15  # lines or columns of a window


@functools.lru_cache
def network(height: int, width: int) -> tuple[bytes, int]:
    """Write the comparisons down, each result in memory whose last one is dead, and count how much there is."""
    steps = median_steps(height, width)
    slot, free, count = {i: i for i in range(height)}, [], height
    written = []
    for number, (compare, parts, less, dead) in steps:
        if free:
            slot[number] = free.pop()
        else:
            slot[number], count = count, count + 1
        seen = [*parts, *parts[:1]][:3]
        ahead = width - 1 - less
        images, columns = [slot[image] for image, _ in seen], [column for _, column in seen]
        written.append(struct.pack("9i", KINDS[compare], slot[number], ahead, *images, *columns))
        free += [slot[image] for image in dead if image >= height]
    return b"".join(written), count - height


def median_blur(
    image: Tensor,  # (C, H, W), uint8
    height: int,
    width: int,
    out: Tensor,  # (C, H, W), uint8, where to write
) -> bool:
    """Take the median of a window of odd size, the image mirrored about the centres of its edge pixels."""
    fits = built.fits(image, out) and height // 2 < image.shape[1] and width // 2 < image.shape[2]
    if not fits or max(height, width) > MOST or height == width == 1:
        return False
    comparisons, slots = network(height, width)
    return built.library.median(built.address(image), built.address(out), comparisons, height, slots, width)
