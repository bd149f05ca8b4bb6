"""Resampling axis by axis, a row at a time: a homography that only scales and shifts needs no gathering by pixel."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from .maths import BORDERS, PADDINGS, fold_index, per_channel


class Taps(NamedTuple):
    """Where output positions along an axis fall.

    Attributes:
        before, after: indices (n,) of the pixels around each, counted in ``part``.
        share: the share (n, 1) of the pixel after.
        part: the part of the axis that is needed.
        missing: how many zeros have to come before and after that part.
        into: the positions that fall on the axis, of which the indices and the shares are.
        length: how many positions there are.
    """

    before: Tensor
    after: Tensor
    share: Tensor
    part: slice
    missing: tuple[int, int]
    into: slice
    length: int


def axis_taps(
    factor: Tensor,  # (B,)
    offset: Tensor,  # (B,)
    size: int,
    n: int,
    padding: int,
) -> list[Taps]:
    """For each row where n output positions fall on an axis of ``size`` pixels.

    A position t of the output takes ``factor * t + offset``.
    """
    grid = torch.arange(n, dtype=factor.dtype, device=factor.device)
    return taps(torch.addcmul(offset.unsqueeze(1), factor.unsqueeze(1), grid), size, padding)


def taps(
    position: Tensor,  # (B, n), in pixels
    size: int,
    padding: int,
) -> list[Taps]:
    """For each row where positions fall on an axis of ``size`` pixels; a zero padding reaches one pixel out."""
    if padding == PADDINGS["reflection"]:
        position = (position + 0.5).remainder(2 * size)
        position = torch.minimum(position, 2 * size - position) - 0.5
    low, high = (0, size - 1) if padding else (-1, size)
    on_axis = (position > low) & (position < high) if not padding else torch.ones_like(position, dtype=torch.bool)
    starts, counts = on_axis.int().argmax(1).tolist(), on_axis.sum(1).tolist()
    position = position.clamp_(low, high)
    floor = position.floor()
    index = floor.long()
    first, last = index.amin(1), (index.amax(1) + 1).clamp_(max=high)
    before = index - first.unsqueeze(1)
    after = torch.minimum(before + 1, (last - first).unsqueeze(1))
    share = (position - floor).unsqueeze(2)
    taps = []
    for b, a, s, f, t, start, count in zip(
        before, after, share, first.tolist(), last.tolist(), starts, counts, strict=True
    ):
        part, missing = slice(max(f, 0), min(t, size - 1) + 1), (max(-f, 0), max(t - (size - 1), 0))
        into = slice(start, start + count)
        taps.append(Taps(b[into], a[into], s[into], part, missing, into, position.shape[1]))
    return taps


def separable(
    image: Tensor,  # (C, H, W), floating
    x: Taps,
    y: Taps,
    padding: int,
    fill: Sequence[float],
    out: Tensor | None = None,  # where to write
) -> Tensor:  # (C, h, w)
    """Resample linearly along x, then along y.

    Each pass blends whole rows of memory, for which the pass along x turns the image. Positions beside the image are
    left out of it.
    """
    whole = (y.into, x.into) == (slice(0, y.length), slice(0, x.length))
    level = per_channel(fill, image) if any(fill) and not padding else None
    image = image[:, y.part, x.part]
    image = image if level is None else image - level
    if any(x.missing + y.missing):
        image = F.pad(image, [*x.missing, *y.missing])
    image = odd_lines(image.shape, image).copy_(image) if image.shape[2] % LINE == 0 else image.clone()
    for taps, into in ((x, None), (y, out if whole else None)):
        image = image.transpose(1, 2).contiguous()
        if taps is x and image.shape[2] % LINE == 0:
            into = odd_lines((len(image), len(x.before), image.shape[2]), image)
        image = torch.lerp(image.index_select(1, taps.before), image.index_select(1, taps.after), taps.share, out=into)
    if whole:
        return image if level is None else torch.add(image, level, out=out)
    output = image.new_empty((len(image), y.length, x.length)) if out is None else out
    output.zero_() if level is None else output.copy_(level.expand_as(output))
    output[:, y.into, x.into] = image if level is None else image + level
    return output


LINE = 64  # pixels; lines of a multiple of it share places of the cache


def odd_lines(shape: Sequence[int], like: Tensor) -> Tensor:  # (C, H, W)
    """Give memory for an image to be turned: lines a power of two apart would meet in one place of the cache."""
    return like.new_empty((*shape[:2], shape[2] + 1))[..., : shape[2]]


APART = 1e-3  # pixels that an edge may lie beside a whole number for rounding


def shifted(
    image: Tensor,  # (C, H, W), floating
    x: float,
    y: float,
    h: int,
    w: int,
    padding: int,
    fill: Sequence[float],
    out: Tensor | None = None,  # where to write
) -> Tensor:  # (C, h, w)
    """Resample linearly by a shift: the output's pixel (0, 0) lies at (x, y) of the image.

    All pixels lie between their neighbours alike, so that slices are blended and nothing is gathered.
    """
    level = per_channel(fill, image) if any(fill) and not padding else None
    for axis, start, n in ((1, y, h), (2, x, w)):
        first = math.floor(start)
        share = start - first
        image = stretch(image, axis, first, n + (share > 0), BORDERS[padding], level)
        if share:
            into = out if axis == 2 else None
            image = torch.lerp(image.narrow(axis, 0, n), image.narrow(axis, 1, n), share, out=into)
    return image


def stretch(image: Tensor, axis: int, first: int, n: int, border: str, level: Tensor | None) -> Tensor:
    """Take n positions of an axis from ``first`` on, some of which may lie outside."""
    size = image.shape[axis]
    if first >= 0 and first + n <= size:
        return image.narrow(axis, first, n)
    if border != "constant":
        index = torch.arange(first, first + n, device=image.device)
        return image.index_select(axis, fold_index(index, size, border))
    low, high = min(max(first, 0), size), min(max(first + n, 0), size)
    before = low - first if high > low else 0
    level = image.new_zeros(()) if level is None else level
    blank = [list(image.shape), list(image.shape)]
    blank[0][axis], blank[1][axis] = before, n - before - (high - low)
    return torch.cat([level.expand(blank[0]), image.narrow(axis, low, high - low), level.expand(blank[1])], axis)


def blend(image: Tensor, taps: Taps, out: Tensor | None = None) -> Tensor:
    """Blend neighbouring lines (C, H, W) of an image."""
    return torch.lerp(image.index_select(1, taps.before), image.index_select(1, taps.after), taps.share, out=out)
