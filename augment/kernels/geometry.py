"""Geometry of bytes."""

from collections.abc import Sequence

from torch import Tensor

from . import core

EDGE = 1  # as ``functional.resample.PADDINGS`` numbers it
Axis = tuple[float, float, int, int]  # factor, offset, start, size: see csrc/image.h


def resample_axes(
    image: Tensor,  # (C, H, W), uint8
    y: Axis,
    x: Axis,
    padding: int,  # a number of ``functional.resample.PADDINGS``
    fill: Sequence[float],  # one value or one a channel
    out: Tensor,  # (C, h, w), uint8, where to write
) -> bool:
    """Resample a window of an image linearly along both axes; what is beside the window is padding."""
    if not core.fits(image, out):
        return False
    level = _levels(fill, len(image))
    if level is None or not (image.numel() and out.numel()):
        return False
    return core.built.resample_axes(core.place(image), core.place(out), y, x, padding, level)


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


def _levels(fill: Sequence[float], channels: int) -> bytes | None:
    """Give a fill as the nearest byte for each channel, as whole pixels get it."""
    levels = [round(value) for value in fill] or [0]
    if not all(0 <= level <= 255 for level in levels):
        return None
    return bytes(levels * channels if len(levels) == 1 else levels)
