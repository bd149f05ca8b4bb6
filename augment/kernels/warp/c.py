"""Geometry of bytes."""

from collections.abc import Sequence

import torch
from torch import Tensor

from .. import built

MOST_LEVELS = 4
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
    level = built.levels(fill, len(image))
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
    if max(levels) > MOST_LEVELS or not built.can_warp(image, out):
        return False
    level, where = built.levels(fill, len(image)), built.address(out)
    if level is None:
        return False
    return built.library.warp(built.address(image), where, matrix, projective, where, False, levels, padding, level)


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
