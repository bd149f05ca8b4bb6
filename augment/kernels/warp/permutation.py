"""Maps of whole pixels onto whole pixels: flips, turns, shifts, crops and pads of each row."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..kernel import Kernel, Out
from . import c as in_c
from . import maths
from . import matrices as geometry


def moves(image: Tensor, matrix: Tensor, *config: Any) -> Tensor:
    """The rows whose matrix is not the identity."""
    return (matrix != maths.IDENTITY.on(matrix.device)).flatten(1).any(1)


def given_size(image: Tensor, params: Tensor, h: int, w: int, *config: Any) -> tuple[int, int]:
    """The size that the static arguments say."""
    return h, w


def permuted(image: Tensor, back: Sequence[float], h: int, w: int, border: str, fill: list[float]) -> Tensor:
    """Permute a row (C, H, W) by the first two rows of the matrix from output to input."""
    a, b, x, c, d, y = map(round, back)
    if b:
        image, a, x, d, y = image.mT, c, y, b, x
    found = [overlap(*at) for at in ((d, y, image.shape[-2], h), (a, x, image.shape[-1], w))]
    (rows, source_rows), (columns, source_columns) = found
    whole = (rows, columns) == (slice(0, h), slice(0, w))
    if border != "constant" and not whole:
        for axis, step, offset, n in ((-2, d, y, h), (-1, a, x, w)):
            index = torch.arange(n, device=image.device) * step + offset
            image = image.index_select(axis, maths.fold_index(index, image.shape[axis], border))
        return image
    part = image[..., source_rows, source_columns].flip([axis for axis, step in ((-2, d), (-1, a)) if step < 0])
    if whole:
        return part
    output = maths.per_channel(fill, image).expand(*image.shape[:-2], h, w).clone()
    output[..., rows, columns] = part
    return output


def overlap(step: int, offset: int, size: int, n: int) -> tuple[slice, slice]:
    """The part of n output positions whose input, step * position + offset, exists, and that part of the input."""
    start, stop = (-offset, size - offset) if step > 0 else (offset - size + 1, offset + 1)
    start = min(max(start, 0), n)
    stop = max(min(stop, n), start)
    first = offset + start if step > 0 else offset - stop + 1
    return slice(start, stop), slice(first, first + stop - start)


def _permute(image: Tensor, matrix: Tensor, h: int, w: int, border: str, fill: list[float]) -> Tensor:
    return maths.sample_nearest(image, maths.positions(geometry.invert(matrix), h, w, False), border, fill)


def _permute_row(image: Tensor, matrix: Tensor, h: int, w: int, border: str, fill: list[float], out: Out) -> Tensor:
    (a, b, x), (c, d, y), _ = matrix.tolist()  # axes keep their length: the inverse of the linear part is the transpose
    return permuted(image, [a, c, -(a * x + c * y), b, d, -(b * x + d * y)], h, w, border, fill)


_kernel = Kernel(
    "permute(Tensor image, Tensor matrix, SymInt h, SymInt w, str border, float[] fill)",
    maths=_permute,
    row=_permute_row,
    opens=moves,
    backends=[in_c.permute],
    values="own",
    size=given_size,
    row_learns=True,
)


def permute(
    image: Tensor,  # (B, C, H, W), any dtype
    matrix: Tensor,  # (B, 3, 3), input pixel -> output pixel: integers, each axis onto an axis with step 1 or -1
    size: tuple[int, int],
    border: str,
    fill: list[float],
) -> Tensor:  # (B, C, *size)
    """Flip, turn, shift, crop or pad each row by whole pixels; values stay exact."""
    return _kernel(image, matrix, *size, border, fill)
