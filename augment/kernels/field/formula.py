"""Deformations by a formula of a few numbers a row, and by moved grid lines."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from ...common.dtypes import load, rounded
from ...common.opaque import by_rows, define, differentiate
from .. import built
from ..rowop import Out, RowOp, keep_rows
from ..warp import axes
from ..warp import maths as resample
from . import c as in_c
from . import maths


class Numbers(NamedTuple):
    """The numbers of a row's formula, and for thin plates that have their points in common, their bends."""

    params: list[float]
    bends: Tensor | None


def _read_numbers(image: Tensor, params: Tensor, name: str, *_: Any) -> list[Numbers]:
    numbers = params.tolist()
    bends, moving = None, [i for i, row in enumerate(numbers) if row[0] != 0]
    if name == "thin_plate" and len({_points(numbers[i]) for i in moving}) == 1:
        row = params[moving[0]].detach()
        bends = maths.plate_bends(row, *resample.pixel_grid(image.shape[-2], image.shape[-1], row))
    return [Numbers(row, bends) for row in numbers]


def _points(row: list[float]) -> tuple[float, ...]:
    return (*row[1:3], *row[maths.PLATE :: 4], *row[maths.PLATE + 1 :: 4])


def _formula_row(
    image: Tensor,
    params: Tensor,
    numbers: Numbers,
    name: str,
    mode: int,
    padding: int,
    fill: list[float],
    out: Out = None,
) -> Tensor:
    pixels = resample.pixel_grid(image.shape[-2], image.shape[-1], params)
    if numbers.bends is None or params.requires_grad:
        field = maths.FORMULAS[name](params[None], *pixels)
    else:
        field = maths.plate_of_bends(params, numbers.bends, *pixels)
    return resample.displacement(image.clone()[None], field, mode, padding, fill)[0]


def _is_still(image: Tensor, params: Tensor, numbers: list[Numbers], *_: Any) -> list[bool]:
    return [row.params[0] == 0 for row in numbers]


_SAMPLING = "int mode, int padding, float[] fill"
_formula = RowOp("displace_by", f"str name, {_SAMPLING}", _formula_row, _is_still, read=_read_numbers).op
_formula_nearest = RowOp(
    "displace_by_nearest", f"str name, {_SAMPLING}", _formula_row, _is_still, raw=True, read=_read_numbers
).op


def displace_by(
    image: Tensor,  # (B, C, H, W), any dtype
    params: Tensor,  # (B, K), the numbers of the formula; a row whose first is 0 stays as it is
    name: str,
    mode: str,
    padding: str,
    fill: list[float],
) -> Tensor:  # (B, C, H, W)
    """Warp an image by the displacement that a formula gives; ``nearest`` keeps values of any dtype exact."""
    config = (*resample.codes(mode, padding), fill)
    nearest = mode == "nearest"
    if by_rows(image):
        return (_formula_nearest if nearest else _formula)(image, params, name, *config)
    field = maths.FORMULAS[name](params, *resample.pixel_grid(image.shape[-2], image.shape[-1], params))
    output = resample.displacement(image if nearest else load(image), field, *config)
    return keep_rows(params[:, 0] == 0, image, output)


def _follow(params: Tensor, points: Tensor, name: str, iterations: int) -> Tensor:
    return maths.follow(lambda at: maths.displacement_at(name, params, at), points, iterations)


_follow_op = define(
    "follow_formula",
    "(Tensor params, Tensor points, str name, int iterations) -> Tensor",
    _follow,
    lambda params, points, name, iterations: torch.empty_like(points),
)
differentiate(_follow_op, lambda ctx, gradient: (None, gradient, None, None))


def follow_formula(
    params: Tensor,  # (B, K)
    points: Tensor,  # (B, N, 2), in the input
    name: str,
    iterations: int = 30,
) -> Tensor:  # (B, N, 2), in the output
    """Find where a formula moves points of the input; the gradient is that of a constant shift."""
    return _follow_op(params, points, name, iterations)


# -------------------------------------------------------------------------------------------------------------- lines


def _positions(lines: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Give where columns (B, w) and rows (B, h) of the output are taken."""
    x, y = resample.pixel_grid(height, width, lines)
    return tuple(  # type: ignore[return-value]
        maths.between_lines(lines[:, axis, 0], lines[:, axis, 1], at.flatten()) for axis, at in ((0, x), (1, y))
    )


def lines_field(lines: Tensor, height: int, width: int) -> Tensor:
    """The displacement (B, 2, h, w)."""
    x, y = resample.pixel_grid(height, width, lines)
    at_x, at_y = _positions(lines, height, width)
    columns, rows = at_x.unsqueeze(1) - x, at_y.unsqueeze(2) - y
    return torch.stack([columns.expand(-1, height, width), rows.expand(-1, height, width)], 1)


def _read_taps(image: Tensor, lines: Tensor, mode: int, padding: int, fill: list[float]) -> list[Any]:
    if mode != resample.MODES["bilinear"] or (image.dtype == torch.uint8 and built.ready()):
        return [None] * len(lines)
    height, width = image.shape[-2:]
    x, y = _positions(lines.detach().to(torch.promote_types(image.dtype, torch.float32)), height, width)
    return list(zip(axes.taps(x, width, padding), axes.taps(y, height, padding), strict=True))


def _lines_row(
    image: Tensor,
    lines: Tensor,
    taps: tuple[axes.Taps, axes.Taps] | None,
    mode: int,
    padding: int,
    fill: list[float],
    out: Out = None,
) -> Tensor:
    if taps is not None and not lines.requires_grad:
        return axes.separable(image, *taps, padding, fill, out)
    field = lines_field(lines[None], image.shape[-2], image.shape[-1])
    return resample.displacement(image.clone()[None], field, mode, padding, fill)[0]


def _lines_bytes(
    image: Tensor, lines: Tensor, taps: Any, mode: int, padding: int, fill: list[float], out: Tensor
) -> None:
    if built.ready() and mode == resample.MODES["bilinear"]:
        field = lines_field(lines[None].float(), *image.shape[-2:])[0]
        if in_c.displace(image, field, padding, fill, out):
            return
    out.copy_(rounded(_lines_row(load(image), lines, taps, mode, padding, fill)))


def _are_still(image: Tensor, lines: Tensor, *_: Any) -> list[bool]:
    return _still(lines).tolist()


def _still(lines: Tensor) -> Tensor:
    return (lines[:, :, 0] == lines[:, :, 1]).flatten(1).all(1)


_lines = RowOp("displace_lines", _SAMPLING, _lines_row, _are_still, read=_read_taps, on_bytes=_lines_bytes).op
_lines_nearest = RowOp("displace_lines_nearest", _SAMPLING, _lines_row, _are_still, raw=True, read=_read_taps).op


def displace_lines(
    image: Tensor,  # (B, C, H, W), any dtype
    lines: Tensor,  # (B, 2, 2, n), for x and y: where the lines are in the output, and where they were in the input
    mode: str,
    padding: str,
    fill: list[float],
) -> Tensor:  # (B, C, H, W)
    """Move the lines of a grid, and linearly what is between them."""
    config = (*resample.codes(mode, padding), fill)
    nearest = mode == "nearest"
    if by_rows(image):
        return (_lines_nearest if nearest else _lines)(image, lines, *config)
    field = lines_field(lines, image.shape[-2], image.shape[-1])
    output = resample.displacement(image if nearest else load(image), field, *config)
    return keep_rows(_still(lines), image, output)
