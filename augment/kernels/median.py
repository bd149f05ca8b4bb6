"""The median of a window of bytes."""

import functools
import struct

import torch
from torch import Tensor

from ..functional.median import cut, median_steps
from . import core

KINDS = {torch.minimum: 0, torch.maximum: 1, cut: 2}  # as in csrc/median.h
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
    fits = core.fits(image, out) and height // 2 < image.shape[1] and width // 2 < image.shape[2]
    if not fits or max(height, width) > MOST or height == width == 1:
        return False
    comparisons, slots = network(height, width)
    return core.built.median(core.place(image), core.place(out), comparisons, height, slots, width)
