"""Tables of bytes."""

import struct
from collections.abc import Sequence

import torch
from torch import Tensor

from .. import built


def look_up(
    image: Tensor,  # (C, H, W), uint8
    tables: bytes,  # 256 for all channels, or for each
    out: Tensor,  # (C, H, W), uint8, where to write
) -> bool:
    """Give every byte its entry in the table of its channel."""
    if not (built.fits(image, out) and built.dense_alike(image, out)):
        return False
    built.library.look_up(built.address(image), built.address(out), tables)
    return True


def linear_levels(
    image: Tensor,  # (C, H, W), uint8, C up to 4 where channels differ
    lines: Sequence[Sequence[float]],  # scale and shift, in levels, of each channel
    out: Tensor,  # (C, H, W), uint8, where to write
) -> bool:
    """Multiply the bytes of every channel and add to them; where nothing is multiplied, what is added is whole."""
    alike = all(line == lines[0] for line in lines)
    if not (built.fits(image, out) and built.dense_alike(image, out) and (alike or len(lines) <= 4)):
        return False
    used = lines[:1] if alike else lines
    numbers = [n for scale, shift in used for n in (scale, round(shift) if scale == 1 else shift)]
    built.library.linear_levels(built.address(image), built.address(out), struct.pack(f"{len(numbers)}f", *numbers))
    return True


def look_up_floats(
    image: Tensor,  # (C, H, W), uint8
    tables: Tensor,  # (C, 256), float32, contiguous
    out: Tensor,  # (C, H, W), float32, where to write
) -> bool:
    """Give every byte its entry in the table of its channel."""
    floats = tables.dtype == out.dtype == torch.float32 and tables.is_contiguous()
    if not (built.fits(image) and built.flat(image) and built.flat(out) and floats):
        return False
    built.library.look_up_floats(built.address(image), built.address(out), tables.data_ptr())
    return True
