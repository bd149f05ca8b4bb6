"""Maps of whole pixels onto whole pixels: flips, turns, shifts, crops and pads of each row."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ...common.opaque import by_rows
from .. import built
from ..rowop import Out, RowOp, Rows, empty_bytes_like
from . import c as in_c
from . import maths
from . import matrices as geometry

IDENTITY = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]


def is_identity(image: Tensor, matrices: Tensor, m: list[Rows], h: int, w: int, *_: Any) -> list[bool]:
    """Whether each of the matrices leaves its row as it is."""
    return [image.shape[-2:] == (h, w) and row[:3] == IDENTITY for row in m]


def given_size(image: Tensor, params: Tensor, h: int, w: int, *_: Any) -> tuple[int, int]:
    """The size that the static arguments say."""
    return h, w


def _permute_row(
    image: Tensor, matrix: Tensor, m: Rows, h: int, w: int, border: str, fill: list[float], out: Out = None
) -> Tensor:
    return permuted(image, _back(m), h, w, border, fill, out)


def permuted(image: Tensor, back: Sequence[float], h: int, w: int, border: str, fill: list[float], out: Out) -> Tensor:
    """Permute a row, or several alike, by the first two rows of the matrix that leads back."""
    plan = _permutation(*back, *image.shape[-2:], h, w)
    image = image.mT if plan.transposed else image
    if border != "constant" and not plan.whole:
        index_y, index_x = (
            maths.fold_index(torch.arange(n, device=image.device) * step + offset, size, border)
            for n, (step, offset), size in zip((h, w), plan.steps, image.shape[-2:], strict=True)
        )
        return image.index_select(-2, index_y).index_select(-1, index_x)
    part = image[..., plan.source[0], plan.source[1]]
    upside_down = plan.flips == [-2] and plan.whole and image.dtype != torch.uint8
    if upside_down and out is not None and out.is_contiguous() and part.is_contiguous():  # written once
        lines = torch.arange(h - 1, -1, -1, device=image.device)
        torch.index_select(part.view(-1, h, w), 1, lines, out=out.view(-1, h, w))
        return out
    if plan.whole and out is not None and (plan.transposed or plan.flips) and _rearranged(part, plan.flips, out):
        return out
    part = part.flip(plan.flips) if plan.flips else part
    if plan.whole:
        return part
    level = maths.per_channel(fill, image)
    output = level.expand(*image.shape[:-2], h, w).clone() if out is None else out.copy_(level.expand_as(out))
    output[..., plan.target[0], plan.target[1]] = part
    return output


def _rearranged(part: Tensor, flips: list[int], out: Tensor) -> bool:
    """Turn a row, or several, round along axes where there is a kernel for it."""
    parts, outs = (part[None], out[None]) if part.ndim == 3 else (part, out)
    return in_c.rearrange(parts, flips, [True] * len(parts), outs)


def _at_once(image: Tensor, matrix: Tensor, m: list[Rows], h: int, w: int, *_: Any) -> tuple[Tensor, list[bool]] | None:
    """Do what is cheaper for many rows than for each: flips of bytes, and windows."""
    if image.shape[-2:] == (h, w):
        return _flip_all(image, m) if image.dtype == torch.uint8 else None
    return _cut_all(image, m, h, w)


def _flip_all(image: Tensor, m: list[Rows]) -> tuple[Tensor, list[bool]] | None:
    """Flip bytes row by row where there is a kernel for it that is faster than PyTorch's, as it is not along lines.

    Else flip all as most rows do that are flipped, unless those are few: calls cost more than such pixels.
    """
    h, w = image.shape[-2:]
    along_x, along_y = ([1.0, 0.0, 0.0], [-1.0, 0.0, w - 1.0]), ([0.0, 1.0, 0.0], [0.0, -1.0, h - 1.0])
    flips = {(-1,): [along_x[1], along_y[0]], (-2,): [along_x[0], along_y[1]], (-2, -1): [along_x[1], along_y[1]]}
    found = {axes: [row[:2] == lines for row in m] for axes, lines in flips.items()}
    axes = max(found, key=lambda axes: sum(found[axes]))
    along_lines = axes == (-1,) and 2 * sum(found[axes]) >= len(m) and image.is_contiguous()
    if built.library is not None and not along_lines:
        output = empty_bytes_like(image, image.shape)
        found = {axes: rows for axes, rows in found.items() if in_c.rearrange(image, axes, rows, output)}
        return output, [any(ways) for ways in zip([False] * len(m), *found.values(), strict=True)]
    return (image.flip(axes), found[axes]) if 4 * sum(found[axes]) >= len(m) else None


def _cut_all(image: Tensor, m: list[Rows], h: int, w: int) -> tuple[Tensor, list[bool]] | None:
    """Copy a window of each row, where all are inside the image: to plan each would take as long as its pixels."""
    starts = [(-round(row[1][2]), -round(row[0][2])) for row in m]
    inside = all(0 <= y <= image.shape[-2] - h and 0 <= x <= image.shape[-1] - w for y, x in starts)
    if not inside or any(row[0][:2] != [1, 0] or row[1][:2] != [0, 1] for row in m):
        return None
    output = empty_bytes_like(image, (*image.shape[:2], h, w))
    for source, out, (y, x) in zip(image.unbind(), output.unbind(), starts, strict=True):
        out.copy_(source[:, y : y + h, x : x + w])
    return output, [True] * len(m)


class Permutation(NamedTuple):
    """How a row is permuted, axis y before axis x.

    Attributes:
        transposed: whether its axes change places first.
        steps: step and offset from output to input.
        source, target: the parts of input and output that correspond.
        flips: the axes along which the part is turned round.
        whole: whether the part fills the output.
    """

    transposed: bool
    steps: tuple[tuple[int, int], tuple[int, int]]
    source: tuple[slice, slice]
    target: tuple[slice, slice]
    flips: list[int]
    whole: bool


def _back(m: Rows) -> list[float]:
    """Invert a permutation; as its axes keep their length, the inverse of its linear part is the transpose."""
    (a, b, x), (c, d, y), _ = m
    return [a, c, -(a * x + c * y), b, d, -(b * x + d * y)]


@functools.lru_cache(maxsize=4096)
def _permutation(
    a: float, b: float, c: float, d: float, e: float, f: float, height: int, width: int, h: int, w: int
) -> Permutation:
    """Read a permutation off the first two rows of its matrix."""
    transposed = round(b) != 0
    if transposed:
        a, c, e, f, height, width = d, f, b, c, width, height
    steps = (round(e), round(f)), (round(a), round(c))
    overlaps = [overlap(*step, size, n) for step, size, n in zip(steps, (height, width), (h, w), strict=True)]
    (target_y, source_y), (target_x, source_x) = overlaps
    whole = (target_y, target_x) == (slice(0, h), slice(0, w))
    flips = [axis for axis, (step, _) in zip((-2, -1), steps, strict=True) if step < 0]
    return Permutation(transposed, steps, (source_y, source_x), (target_y, target_x), flips, whole)


def overlap(step: int, offset: int, size: int, n: int) -> tuple[slice, slice]:
    """The part of n output positions whose input, step * position + offset, exists, and that part of the input."""
    start, stop = (-offset, size - offset) if step > 0 else (offset - size + 1, offset + 1)
    start = min(max(start, 0), n)
    stop = max(min(stop, n), start)
    first = offset + start if step > 0 else offset - stop + 1
    return slice(start, stop), slice(first, first + stop - start)


_permute = RowOp(
    "permute",
    "SymInt h, SymInt w, str border, float[] fill",
    _permute_row,
    is_identity,
    given_size,
    raw=True,
    runs=True,
    keeps_format=True,
    whole=_at_once,
).op


def permute(
    image: Tensor,  # (B, C, H, W), any dtype
    matrix: Tensor,  # (B, 3, 3), input pixel -> output pixel: integers, each axis onto an axis with step 1 or -1
    size: tuple[int, int],
    border: str,
    fill: list[float],
) -> Tensor:  # (B, C, *size)
    """Flip, turn, shift, crop or pad each row by whole pixels; values stay exact."""
    if by_rows(image):
        return _permute(image, matrix, *size, border, fill)
    return maths.sample_nearest(image, maths.positions(geometry.invert(matrix), *size, False), border, fill)
