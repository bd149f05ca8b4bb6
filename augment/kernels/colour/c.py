"""Colour of bytes."""

import struct
from collections.abc import Sequence

import torch
from torch import Tensor

from .. import built

SCALE, BLEND_MEAN, BLEND_LUMA, ROTATE_HUE, ADD, SCALE_SATURATION = range(6)  # as in csrc/image.h
STEPS = {"jitter": (SCALE, BLEND_MEAN, BLEND_LUMA, ROTATE_HUE), "jiggle": (ADD, SCALE, SCALE_SATURATION, ROTATE_HUE)}


def adjust_colour(
    image: Tensor,  # (C, H, W), uint8, C 1 or 3
    steps: Sequence[tuple[int, float]],  # what to do, and by which factor
    shares: Sequence[Sequence[float]],  # how channels are blended then, C of C + 1 numbers or of 2; none: not at all
    out: Tensor,  # (C, H, W), uint8 or float32, where to write
) -> bool:
    """Adjust the colour of an image, on levels; floats come out as levels, too, and not rounded."""
    if not (built.fits(image) and out.dtype in (torch.uint8, torch.float32) and len(image) in (1, 3)):
        return False
    width = len(shares[0]) if shares else 0
    given = struct.pack(f"{2 * len(steps)}f", *(number for step in steps for number in step))
    blends = struct.pack(f"{width * len(shares)}f", *(number for row in shares for number in row))
    built.library.adjust_colour(
        built.address(image), built.address(out), out.dtype == torch.float32, given, blends, width
    )
    return True
