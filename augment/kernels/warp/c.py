"""Geometry of bytes."""

import struct
from collections.abc import Sequence

import torch
from torch import Tensor

from .. import built

IDENTITY = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
MOST_LEVELS = 4
MOST_PIXELS = 2**28  # whose places 32 bits count
EDGE = 1  # as ``kernels.warp.maths.PADDINGS`` numbers it
Axis = tuple[float, float, int, int]  # factor, offset, start, size: see csrc/image.h


def resample_axes(
    image: Tensor,  # (C, H, W), uint8
    y: Axis,
    x: Axis,
    padding: int,  # a number of ``kernels.warp.maths.PADDINGS``
    fill: Sequence[float],  # one value or one a channel
    out: Tensor,  # (C, h, w), uint8, where to write
) -> bool:
    """Resample a window of an image linearly along both axes; what is beside the window is padding."""
    if not built.fits(image, out):
        return False
    level = _levels(fill, len(image))
    if level is None or not (image.numel() and out.numel()):
        return False
    return built.library.resample_axes(built.address(image), built.address(out), y, x, padding, level)


def resize(
    image: Tensor,  # (C, H, W), uint8
    rows: slice,
    columns: slice,
    flips: Sequence[int],  # the axes along which the output is turned round
    corners: bool,  # whether the centres of the corner pixels of window and output meet, or their edges
    out: Tensor,  # (C, h, w), uint8, where to write
) -> bool:
    """Resize a window of an image linearly; what is beside the window is not looked at."""
    y = _stretched(rows, out.shape[1], corners, 1 in flips)
    return resample_axes(image, y, _stretched(columns, out.shape[2], corners, 2 in flips), EDGE, (), out)


def _stretched(window: slice, n: int, corners: bool, turned: bool) -> Axis:
    size = window.stop - window.start
    factor = (size - 1) / max(n - 1, 1) if corners else size / n
    offset = 0.0 if corners else (factor - 1) / 2
    if turned:
        factor, offset = -factor, offset + factor * (n - 1)
    return factor, offset, window.start, size


def warp(
    image: Tensor,  # (C, H, W), uint8
    matrix: Sequence[Sequence[float]],  # output pixel -> input pixel; its last row is (0, 0, 1) unless projective
    projective: bool,
    levels: tuple[int, int],  # how it is filtered before along x and y: see ``kernels.warp.maths.smoothed``
    padding: int,  # a number of ``kernels.warp.maths.PADDINGS``
    fill: Sequence[float],  # one value or one a channel
    out: Tensor,  # (C, h, w), uint8, where to write
) -> bool:
    """Warp an image linearly by a homography."""
    return max(levels) <= MOST_LEVELS and warp_or_displace(image, matrix, projective, None, levels, padding, fill, out)


def warp_or_displace(
    image: Tensor,
    matrix: Sequence[Sequence[float]],
    projective: bool,
    field: Tensor | None,
    levels: tuple[int, int],
    padding: int,
    fill: Sequence[float],
    out: Tensor,
) -> bool:
    """Warp by a homography, or by the displacements of a field where there is one."""
    if not built.fits(image, out) or not (image.numel() and out.numel()):
        return False
    level, (height, width) = _levels(fill, len(image)), image.shape[1:]
    if level is None or (height + 3) * (width + 3) > MOST_PIXELS:
        return False
    place = built.address(out if field is None else field)
    return built.library.warp(
        built.address(image), built.address(out), matrix, projective, place, field is not None, levels, padding, level
    )


def rearrange(
    image: Tensor,  # (B, C, H, W), uint8, whose axes may be exchanged
    flips: Sequence[int],  # of the axes -2 and -1
    rows: Sequence[bool],  # those that are copied
    out: Tensor,  # (B, C, H, W), uint8, where to write
) -> bool:
    """Copy images turned round along axes."""
    if built.library is None or image.dtype != torch.uint8 or image.device.type != "cpu" or not out.numel():
        return False
    (step, *strides), (out_step, *out_strides) = image.stride(), out.stride()
    places = (image.data_ptr(), image.shape[1:], strides), (out.data_ptr(), out.shape[1:], out_strides)
    return built.library.rearrange(*places, step, out_step, -2 in flips, -1 in flips, bytes(rows))


def _levels(fill: Sequence[float], channels: int) -> bytes | None:
    """Give a fill as a float for each channel, where it is between levels of bytes."""
    if not all(0 <= level <= 255 for level in fill):
        return None
    levels = list(fill) or [0.0]
    return struct.pack(f"{channels}f", *(levels * channels if len(levels) == 1 else levels))
