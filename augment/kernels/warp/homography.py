"""Homographies of each row."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from ...common.dtypes import load
from ...common.opaque import by_rows
from .. import built
from ..rowop import Out, RowOp, Rows, keep_rows
from . import axes, maths
from . import c as in_c
from . import matrices as geometry
from .permutation import given_size, is_identity, permuted


def identity_rows(matrix: Tensor) -> Tensor:
    """Which of the matrices (B, 3, 3) are the identity."""
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
        levels = maths.levels(geometry.shrinkage(matrices[:, :3].detach(), h, w)).int().tolist()
        lines = [line._replace(levels=(x, y)) for line, (x, y) in zip(lines, levels, strict=True)]
    dtype = torch.promote_types(image.dtype, torch.float32)
    if not projective:
        x, y = maths.along_axes(matrices[:, -3:-1].detach().to(dtype), h, w)
        lines = [line._replace(along=along) for line, *along in zip(lines, x, y, strict=True)]
    aligned = [_is_aligned(line.matrix) and not line.whole for line in lines]
    if mode != maths.MODES["bilinear"] or not any(aligned):
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
    if not any(aligned) or built.fits(image[0]):
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
        return permuted(image, [*line.matrix[0], *line.matrix[1]], h, w, maths.BORDERS[padding], fill, out)
    if line.window is not None and out is not None:
        return _resize_window(image, line.window, out)
    if out is not None and mode == maths.MODES["bilinear"] and _warp_bytes(image, line, padding, fill, projective, out):
        return out
    out = out if out is None or out.dtype == torch.promote_types(image.dtype, torch.float32) else None
    converted = not image.dtype.is_floating_point
    image = load(image)
    for axis, level in zip((-1, -2), line.levels, strict=True):
        image = maths.smoothed(image[None], axis, level)[0]
    if line.place is not None and not matrices.requires_grad:
        return axes.shifted(image, *line.place, h, w, padding, fill, out)
    if line.taps is not None and not matrices.requires_grad:
        return axes.separable(image, *line.taps, padding, fill, out)
    # sampling jumps about, which is slow in memory that was not read in order before; a row that was converted has been
    read = image if converted else image.clone()
    if line.along is not None and not matrices.requires_grad:
        return maths.sample_grid(read[None], torch.add(*line.along)[None], mode, padding, fill)[0]
    return maths.homography(read[None], matrices[None, -3:], h, w, mode, padding, fill, projective)[0]


def _resize_window(
    image: Tensor,  # (C, H, W), uint8
    window: axes.Window,
    out: Tensor,  # (C, h, w), uint8, where to write
) -> Tensor:
    """Resize a window of bytes linearly; without a kernel for it one axis after the other, each rounded."""
    if in_c.resize(image, window.rows, window.columns, window.flips, window.corners, out):
        return out
    part = image[None, :, window.rows, window.columns]
    target = torch.empty_like(out) if window.flips else out
    size, corners = list(out.shape[1:]), window.corners
    torch.ops.aten.upsample_bilinear2d.out(part, size, corners, None, None, out=target[None])
    return out.copy_(target.flip(window.flips)) if window.flips else out


def _warp_bytes(image: Tensor, line: Line, padding: int, fill: list[float], projective: bool, out: Tensor) -> bool:
    """Warp a row linearly where there is a kernel for it."""
    if not built.fits(image, out):
        return False
    m, (height, width) = line.matrix, image.shape[1:]
    if any(line.levels) or not _is_aligned(m):
        return in_c.warp(image, m[:3], projective, line.levels, padding, fill, out)
    return in_c.resample_axes(image, (m[1][1], m[1][2], 0, height), (m[0][0], m[0][2], 0, width), padding, fill, out)


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
    border, matrix = maths.BORDERS[padding], matrix.detach()
    if _is_permutation(m, h, w):
        return permuted(image, [*m[0], *m[1]], h, w, border, fill, out)
    if _is_aligned(m):
        return maths.sample_axes(image, *maths.along_axes(matrix[:2], h, w), border, fill)
    position = maths.positions(matrix[None], h, w, projective)[0]
    return maths.sample_row(image, position, border, fill)


def _is_aligned(m: Rows) -> bool:
    """Whether a matrix only scales and shifts each axis."""
    return m[0][1] == m[1][0] == m[2][0] == m[2][1] == 0


def _is_permutation(m: Rows, h: int, w: int) -> bool:
    """Whether a matrix takes all h x w pixels to whole pixels, each axis to one of them, forwards or backwards."""
    (a, b, _), (c, d, _) = (map(round, row) for row in m[:2])
    reach = (w, h, 1)  # what an entry is multiplied by at most
    whole = all(abs(x - round(x)) * n < axes.APART for row in m[:2] for x, n in zip(row, reach, strict=True))
    return whole and m[2][:2] == [0, 0] and {(abs(a), abs(b)), (abs(c), abs(d))} == {(1, 0), (0, 1)}


def _is_identity_line(image: Tensor, matrices: Tensor, lines: list[Line], h: int, w: int, *_: Any) -> list[bool]:
    return is_identity(image, matrices, [line.matrix for line in lines], h, w)


_warp = RowOp(
    "warp_homography",
    "SymInt h, SymInt w, int mode, int padding, float[] fill, bool projective, bool filtered",
    _warp_row,
    _is_identity_line,
    given_size,
    raw=True,
    read=_read_lines,
).op
_warp_nearest = RowOp(
    "warp_homography_nearest",
    "SymInt h, SymInt w, int padding, float[] fill, bool projective",
    _nearest_row,
    is_identity,
    given_size,
    raw=True,
).op


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
    config = (*size, *maths.codes(mode, padding), fill, projective)
    if mode == "nearest":
        if by_rows(image):
            return _warp_nearest(image, matrix, *size, *config[3:])
        return keep_rows(identity_rows(matrix), image, maths.homography(image, matrix, *config))
    scaled = maths.normalised(matrix, image.shape[-2], image.shape[-1])
    if by_rows(image):
        return _warp(image, torch.cat([matrix, scaled], 1), *config, filtered)
    work = load(image)
    if filtered:
        along_x, along_y = maths.levels(geometry.shrinkage(matrix, *size)).unbind(1)
        work = maths.smoothed_rows(maths.smoothed_rows(work, -1, along_x), -2, along_y)
    return keep_rows(identity_rows(matrix), image, maths.homography(work, scaled, *config))
