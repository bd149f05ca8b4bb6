"""Homographies and permutations."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..functional import axes, geometry, resample
from ..kernels import core
from ..kernels import geometry as kernels
from ..opaque import by_rows, empty_bytes_like, load, rowwise
from .rows import Out, Rows, keep_rows

IDENTITY = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]


def identity_rows(matrix: Tensor) -> Tensor:
    """Say which of the matrices (B, 3, 3) are the identity."""
    return (matrix == torch.eye(3, dtype=matrix.dtype, device=matrix.device)).all(2).all(1)


class Line(NamedTuple):
    """What a row's matrix says: its numbers, and where it is only scaled and shifted, what a linear blend takes.

    Where it is only shifted that is the place of the first pixel. Where it is affine, the columns and the rows add to
    what is sampled what ``along`` says. The image is filtered first as ``levels``, along x and y, say. A window of
    bytes that becomes the whole output is ``window``, and ``whole`` says that pixels only change places.
    """

    matrix: Rows
    taps: tuple[axes.Taps, axes.Taps] | None = None
    place: tuple[float, float] | None = None
    along: tuple[Tensor, Tensor] | None = None
    levels: tuple[int, int] = (0, 0)
    window: axes.Window | None = None
    whole: bool = False


def _read_lines(
    image: Tensor,
    matrices: Tensor,
    h: int,
    w: int,
    mode: int,
    padding: int,
    fill: list[float],
    projective: bool,
    filtered: bool,
) -> list[Line]:
    lines = [Line(m) for m in matrices.tolist()]
    if filtered:
        lines = [line._replace(whole=_is_permutation(line.matrix, h, w)) for line in lines]
        levels = resample.levels(geometry.shrinkage(matrices[:, :3].detach(), h, w)).int().tolist()
        lines = [line._replace(levels=(x, y)) for line, (x, y) in zip(lines, levels, strict=True)]
    dtype = torch.promote_types(image.dtype, torch.float32)
    if not projective:
        x, y = resample.along_axes(matrices[:, -3:-1].detach().to(dtype), h, w)
        lines = [line._replace(along=along) for line, *along in zip(lines, x, y, strict=True)]
    aligned = [_is_aligned(line.matrix) and not line.whole for line in lines]
    if mode != resample.MODES["bilinear"] or not any(aligned):
        return lines
    shifts = [fits and m[0][0] == m[1][1] == 1 for fits, (m, *_) in zip(aligned, lines, strict=True)]
    if shifts == aligned:
        places = [(m[0][2], m[1][2]) if fits else None for fits, (m, *_) in zip(aligned, lines, strict=True)]
        return [line._replace(place=place) for line, place in zip(lines, places, strict=True)]
    entries, (height, width) = matrices.detach().to(dtype), image.shape[-2:]
    if filtered and image.dtype == torch.uint8:
        ways = axes.windows(entries[:, :2], height, width, h, w, padding)
        fitting = [fits and not any(line.levels) for fits, line in zip(aligned, lines, strict=True)]
        lines = [
            line._replace(window=way if fits else None) for line, fits, way in zip(lines, fitting, ways, strict=True)
        ]
        aligned = [fits and line.window is None for fits, line in zip(aligned, lines, strict=True)]
    if not any(aligned) or core.fits(image[0]):
        return lines
    x = axes.axis_taps(entries[:, 0, 0], entries[:, 0, 2], width, w, padding)
    y = axes.axis_taps(entries[:, 1, 1], entries[:, 1, 2], height, h, padding)
    taps = [pair if fits else None for fits, *pair in zip(aligned, x, y, strict=True)]
    return [line._replace(taps=pair) for line, pair in zip(lines, taps, strict=True)]


def _warp_row(
    image: Tensor,
    matrices: Tensor,
    line: Line,
    h: int,
    w: int,
    mode: int,
    padding: int,
    fill: list[float],
    projective: bool,
    filtered: bool,
    out: Out = None,
) -> Tensor:
    if line.whole and not matrices.requires_grad:
        return _permuted(image, [*line.matrix[0], *line.matrix[1]], h, w, resample.BORDERS[padding], fill, out)
    if line.window is not None and out is not None:
        return axes.resize_window(image, line.window, out)
    if (
        out is not None
        and mode == resample.MODES["bilinear"]
        and _warp_bytes(image, line, padding, fill, projective, out)
    ):
        return out
    out = out if out is None or out.dtype == torch.promote_types(image.dtype, torch.float32) else None
    converted = not image.dtype.is_floating_point
    image = load(image)
    for axis, level in zip((-1, -2), line.levels, strict=True):
        image = resample.smoothed(image[None], axis, level)[0]
    if line.place is not None and not matrices.requires_grad:
        return axes.shifted(image, *line.place, h, w, padding, fill, out)
    if line.taps is not None and not matrices.requires_grad:
        return axes.separable(image, *line.taps, padding, fill, out)
    # sampling jumps about, which is slow in memory that was not read in order before; a row that was converted has been
    read = image if converted else image.clone()
    if line.along is not None and not matrices.requires_grad:
        return resample.sample_grid(read[None], torch.add(*line.along)[None], mode, padding, fill)[0]
    return resample.homography(read[None], matrices[None, -3:], h, w, mode, padding, fill, projective)[0]


def _warp_bytes(image: Tensor, line: Line, padding: int, fill: list[float], projective: bool, out: Tensor) -> bool:
    """Warp a row linearly where there is a kernel for it."""
    if not core.fits(image, out):
        return False
    m, (height, width) = line.matrix, image.shape[1:]
    if any(line.levels) or not _is_aligned(m):
        return kernels.warp(image, m[:3], projective, line.levels, padding, fill, out)
    return kernels.resample_axes(image, (m[1][1], m[1][2], 0, height), (m[0][0], m[0][2], 0, width), padding, fill, out)


def _nearest_row(
    image: Tensor,
    matrix: Tensor,
    m: Rows,
    h: int,
    w: int,
    padding: int,
    fill: list[float],
    projective: bool,
    out: Out = None,
) -> Tensor:
    border, matrix = resample.BORDERS[padding], matrix.detach()
    if _is_permutation(m, h, w):
        return _permuted(image, [*m[0], *m[1]], h, w, border, fill, out)
    if _is_aligned(m):
        return resample.sample_axes(image, *resample.along_axes(matrix[:2], h, w), border, fill)
    position = resample.positions(matrix[None], h, w, projective)[0]
    return resample.sample_row(image, position, border, fill)


def _is_aligned(m: Rows) -> bool:
    """Say whether a matrix only scales and shifts each axis."""
    return m[0][1] == m[1][0] == m[2][0] == m[2][1] == 0


def _is_permutation(m: Rows, h: int, w: int) -> bool:
    """Say whether a matrix takes all h x w pixels to whole pixels, each axis to one of them, forwards or backwards."""
    (a, b, _), (c, d, _) = (map(round, row) for row in m[:2])
    reach = (w, h, 1)  # what an entry is multiplied by at most
    whole = all(abs(x - round(x)) * n < axes.APART for row in m[:2] for x, n in zip(row, reach, strict=True))
    return whole and m[2][:2] == [0, 0] and {(abs(a), abs(b)), (abs(c), abs(d))} == {(1, 0), (0, 1)}


def _is_identity(image: Tensor, matrices: Tensor, m: list[Rows], h: int, w: int, *_: Any) -> list[bool]:
    return [image.shape[-2:] == (h, w) and row[:3] == IDENTITY for row in m]


def _is_identity_line(image: Tensor, matrices: Tensor, lines: list[Line], h: int, w: int, *_: Any) -> list[bool]:
    return _is_identity(image, matrices, [line.matrix for line in lines], h, w)


def _given_size(image: Tensor, params: Tensor, h: int, w: int, *_: Any) -> tuple[int, int]:
    return h, w


_warp = rowwise(
    "warp_homography",
    "SymInt h, SymInt w, int mode, int padding, float[] fill, bool projective, bool filtered",
    _warp_row,
    _is_identity_line,
    _given_size,
    raw=True,
    read=_read_lines,
)
_warp_nearest = rowwise(
    "warp_homography_nearest",
    "SymInt h, SymInt w, int padding, float[] fill, bool projective",
    _nearest_row,
    _is_identity,
    _given_size,
    raw=True,
)


def warp_homography(
    image: Tensor,  # (B, C, H, W), any dtype
    matrix: Tensor,  # (B, 3, 3), output pixel -> input pixel
    size: tuple[int, int],
    mode: str,
    padding: str,
    fill: list[float],
    projective: bool,
    filtered: bool = False,
) -> Tensor:  # (B, C, *size)
    """Warp an image by a homography for each row; ``nearest`` keeps values of any dtype exact.

    ``filtered`` filters it before, where a pixel of the output spans several of the input.
    """
    config = (*size, *resample.codes(mode, padding), fill, projective)
    if mode == "nearest":
        if by_rows(image):
            return _warp_nearest(image, matrix, *size, *config[3:])
        return keep_rows(identity_rows(matrix), image, resample.homography(image, matrix, *config))
    scaled = resample.normalised(matrix, image.shape[-2], image.shape[-1])
    if by_rows(image):
        return _warp(image, torch.cat([matrix, scaled], 1), *config, filtered)
    work = load(image)
    if filtered:
        along_x, along_y = resample.levels(geometry.shrinkage(matrix, *size)).unbind(1)
        work = resample.smoothed_rows(resample.smoothed_rows(work, -1, along_x), -2, along_y)
    return keep_rows(identity_rows(matrix), image, resample.homography(work, scaled, *config))


# -------------------------------------------------------------------------------------------------------- permutation


def _permute_row(
    image: Tensor, matrix: Tensor, m: Rows, h: int, w: int, border: str, fill: list[float], out: Out = None
) -> Tensor:
    return _permuted(image, _back(m), h, w, border, fill, out)


def _permuted(image: Tensor, back: Sequence[float], h: int, w: int, border: str, fill: list[float], out: Out) -> Tensor:
    """Permute a row, or several alike, by the first two rows of the matrix that leads back."""
    plan = _permutation(*back, *image.shape[-2:], h, w)
    image = image.mT if plan.transposed else image
    if border != "constant" and not plan.whole:
        index_y, index_x = (
            resample.fold_index(torch.arange(n, device=image.device) * step + offset, size, border)
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
    level = resample.per_channel(fill, image)
    output = level.expand(*image.shape[:-2], h, w).clone() if out is None else out.copy_(level.expand_as(out))
    output[..., plan.target[0], plan.target[1]] = part
    return output


def _rearranged(part: Tensor, flips: list[int], out: Tensor) -> bool:
    """Turn a row, or several, round along axes where there is a kernel for it."""
    parts, outs = (part[None], out[None]) if part.ndim == 3 else (part, out)
    return kernels.rearrange(parts, flips, [True] * len(parts), outs)


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
    if core.built is not None and not along_lines:
        output = empty_bytes_like(image, image.shape)
        found = {axes: rows for axes, rows in found.items() if kernels.rearrange(image, axes, rows, output)}
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
    """Give the part of n output positions whose input, step * position + offset, exists, and that part of the input."""
    start, stop = (-offset, size - offset) if step > 0 else (offset - size + 1, offset + 1)
    start = min(max(start, 0), n)
    stop = max(min(stop, n), start)
    first = offset + start if step > 0 else offset - stop + 1
    return slice(start, stop), slice(first, first + stop - start)


_permute = rowwise(
    "permute",
    "SymInt h, SymInt w, str border, float[] fill",
    _permute_row,
    _is_identity,
    _given_size,
    raw=True,
    runs=True,
    keeps_format=True,
    whole=_at_once,
)


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
    return resample.sample_nearest(image, resample.positions(geometry.invert(matrix), *size, False), border, fill)
