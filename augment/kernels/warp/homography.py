"""Homographies of each row."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..kernel import Kernel, Out
from . import axes, maths
from . import c as in_c
from .permutation import given_size, moves, permuted

Rows = list[list[float]]


def identity_rows(matrix: Tensor) -> Tensor:
    """Which of the matrices (B, 3, 3) are the identity."""
    return (matrix == maths.IDENTITY.on(matrix.device)).flatten(1).all(1)


def _warp(
    image: Tensor,
    matrix: Tensor,
    h: int,
    w: int,
    mode: int,
    padding: int,
    fill: list[float],
    projective: bool,
    filtered: bool,
) -> Tensor:
    scaled = maths.normalised(matrix, image.shape[-2], image.shape[-1])
    if filtered:
        along_x, along_y = maths.levels_of(matrix, h, w).unbind(1)
        image = maths.smoothed_rows(maths.smoothed_rows(image, -1, along_x), -2, along_y)
    return maths.homography(image, scaled, h, w, mode, padding, fill, projective)


class Line(NamedTuple):
    """What a row's matrix says: its numbers, and those from the output to [-1, 1] over the input's edges.

    ``whole`` says that pixels only change places, and ``aligned`` that axes are only scaled and shifted, for which
    there are ``taps`` for x and y unless all such rows are only shifted. Where it is affine, the columns and the rows
    add to what is sampled what ``along`` says. The image is filtered first as ``levels``, along x and y, say.
    """

    matrix: Rows
    scaled: Tensor
    levels: tuple[int, int]
    whole: bool
    aligned: bool
    taps: tuple[axes.Taps, axes.Taps] | None
    along: tuple[Tensor, Tensor] | None


def _read(
    image: Tensor,
    matrix: Tensor,
    h: int,
    w: int,
    mode: int,
    padding: int,
    fill: list[float],
    projective: bool,
    filtered: bool,
) -> list[Line]:
    (height, width), matrix = image.shape[-2:], matrix.detach()
    numbers, scaled = matrix.tolist(), maths.normalised(matrix, height, width)
    none: list[Any] = [None] * len(numbers)
    levels = maths.levels_of(matrix, h, w).int().tolist() if filtered else [(0, 0)] * len(numbers)
    whole = [filtered and _is_permutation(m, h, w) for m in numbers]
    linear = mode == maths.MODES["bilinear"]
    aligned = [linear and _is_aligned(m) and not moved for m, moved in zip(numbers, whole, strict=True)]
    shifted = [fits and m[0][0] == m[1][1] == 1 for fits, m in zip(aligned, numbers, strict=True)]
    taps, along, dtype = none, none, torch.promote_types(image.dtype, torch.float32)
    if shifted != aligned:
        (a, _, x), (_, d, y), _ = (row.unbind(1) for row in matrix.to(dtype).unbind(1))
        taps = list(zip(axes.axis_taps(a, x, width, w, padding), axes.axis_taps(d, y, height, h, padding), strict=True))
    if not projective and not all(aligned):
        along = list(zip(*maths.along_axes(scaled[:, :2].to(dtype), h, w), strict=True))
    taps = [pair if fits else None for pair, fits in zip(taps, aligned, strict=True)]
    return [Line(*line) for line in zip(numbers, scaled, levels, whole, aligned, taps, along, strict=True)]


def _warp_row(
    image: Tensor,
    line: Line,
    h: int,
    w: int,
    mode: int,
    padding: int,
    fill: list[float],
    projective: bool,
    filtered: bool,
    out: Out,
) -> Tensor:
    if line.whole:
        return permuted(image, [*line.matrix[0], *line.matrix[1]], h, w, maths.BORDERS[padding], fill)
    for axis, level in zip((-1, -2), line.levels, strict=True):
        image = maths.smoothed(image[None], axis, level)[0]
    if line.taps is not None:
        return axes.separable(image, *line.taps, padding, fill, out)
    if line.aligned:
        return axes.shifted(image, line.matrix[0][2], line.matrix[1][2], h, w, padding, fill, out)
    read = image.clone()[None]  # sampling jumps about, which is slow in memory that was not read in order before
    if line.along is not None:
        return maths.sample_grid(read, torch.add(*line.along)[None], mode, padding, fill)[0]
    return maths.homography(read, line.scaled[None], h, w, mode, padding, fill, projective)[0]


def _nearest_row(
    image: Tensor, matrix: Tensor, h: int, w: int, padding: int, fill: list[float], projective: bool, out: Out
) -> Tensor:
    border, m, matrix = maths.BORDERS[padding], matrix.tolist(), matrix.detach()
    if _is_permutation(m, h, w):
        return permuted(image, [*m[0], *m[1]], h, w, border, fill)
    if _is_aligned(m):
        return maths.sample_axes(image, *maths.along_axes(matrix[:2], h, w), border, fill)
    return maths.sample_row(image, maths.positions(matrix[None], h, w, projective)[0], border, fill, out)


def _is_aligned(m: Rows) -> bool:
    """Whether a matrix only scales and shifts each axis."""
    return m[0][1] == m[1][0] == m[2][0] == m[2][1] == 0


def _is_permutation(m: Rows, h: int, w: int) -> bool:
    """Whether a matrix takes all h x w pixels to whole pixels, each axis to one of them, forwards or backwards."""
    (a, b, _), (c, d, _) = (map(round, row) for row in m[:2])
    reach = (w, h, 1)  # what an entry is multiplied by at most
    whole = all(abs(x - round(x)) * n < axes.APART for row in m[:2] for x, n in zip(row, reach, strict=True))
    return whole and m[2][:2] == [0, 0] and {(abs(a), abs(b)), (abs(c), abs(d))} == {(1, 0), (0, 1)}


_linear = Kernel(
    "warp_homography(Tensor image, Tensor matrix, SymInt h, SymInt w, int mode, int padding, float[] fill, "
    "bool projective, bool filtered)",
    maths=_warp,
    row=_warp_row,
    read=_read,
    opens=moves,
    backends=[in_c.warp],
    size=given_size,
)
_nearest = Kernel(
    "warp_homography_nearest(Tensor image, Tensor matrix, SymInt h, SymInt w, int padding, float[] fill, "
    "bool projective)",
    maths=lambda image, matrix, h, w, *config: maths.homography(image, matrix, h, w, maths.MODES["nearest"], *config),
    row=_nearest_row,
    opens=moves,
    values="own",
    size=given_size,
    row_learns=True,
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
    number, border = maths.codes(mode, padding)
    if mode == "nearest":
        return _nearest(image, matrix, *size, border, fill, projective)
    return _linear(image, matrix, *size, number, border, fill, projective, filtered)
