"""Deformations by a formula of a few numbers a row, and by moved grid lines."""

import functools
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ...common.opaque import define, differentiate
from ..kernel import Kernel, Out
from ..warp import axes
from ..warp import maths as resample
from . import c as in_c
from . import maths
from .entry import nearest_row


def _grid(image: Tensor, like: Tensor) -> tuple[Tensor, Tensor]:
    return resample.pixel_grid(image.shape[-2], image.shape[-1], like)


def _by_formula(image: Tensor, params: Tensor, name: str, mode: int, padding: int, fill: list[float]) -> Tensor:
    field = maths.FORMULAS[name](params, *_grid(image, params))
    return resample.displacement(image, field, mode, padding, fill)


class Numbers(NamedTuple):
    """The numbers (K,) of a row's formula, and for thin plates that have their points in common, their bends."""

    params: Tensor
    bends: Tensor | None


def _read_numbers(image: Tensor, params: Tensor, name: str, *config: Any) -> list[Numbers]:
    params = params.detach()
    bends, moving = None, params[params[:, 0] != 0]
    if name == "thin_plate" and len({_points(row) for row in moving.tolist()}) == 1:
        bends = maths.plate_bends(moving[0], *_grid(image, params))
    return [Numbers(row, bends) for row in params]


def _points(row: list[float]) -> tuple[float, ...]:
    return (*row[1:3], *row[maths.PLATE :: 4], *row[maths.PLATE + 1 :: 4])


def _field_of(image: Tensor, numbers: Numbers, name: str) -> Tensor:  # (1, 2, H, W)
    pixels = _grid(image, numbers.params)
    if numbers.bends is None:
        return maths.FORMULAS[name](numbers.params[None], *pixels)
    return maths.plate_of_bends(numbers.params, numbers.bends, *pixels)


def _formula_row(
    image: Tensor, numbers: Numbers, name: str, mode: int, padding: int, fill: list[float], out: Out
) -> Tensor:
    return resample.displacement(image.clone()[None], _field_of(image, numbers, name), mode, padding, fill)[0]


def _nearest_formula_row(
    image: Tensor, numbers: Numbers, name: str, padding: int, fill: list[float], out: Out
) -> Tensor:
    return nearest_row(image, _field_of(image, numbers, name)[0], padding, fill, out)


def _bends(image: Tensor, params: Tensor, *config: Any) -> Tensor:
    return params[:, 0] != 0


_formula = Kernel(
    "displace_by(Tensor image, Tensor params, str name, int mode, int padding, float[] fill)",
    maths=_by_formula,
    row=_formula_row,
    read=_read_numbers,
    opens=_bends,
)
_formula_nearest = Kernel(
    "displace_by_nearest(Tensor image, Tensor params, str name, int padding, float[] fill)",
    maths=lambda image, params, name, *config: _by_formula(image, params, name, resample.MODES["nearest"], *config),
    row=_nearest_formula_row,
    read=_read_numbers,
    opens=_bends,
    values="own",
    row_learns=True,
)


def displace_by(
    image: Tensor,  # (B, C, H, W), any dtype
    params: Tensor,  # (B, K), the numbers of the formula; a row whose first is 0 stays as it is
    name: str,
    mode: str,
    padding: str,
    fill: list[float],
) -> Tensor:  # (B, C, H, W)
    """Warp an image by the displacement that a formula gives; ``nearest`` keeps values of any dtype exact."""
    number, border = resample.codes(mode, padding)
    if mode == "nearest":
        return _formula_nearest(image, params, name, border, fill)
    return _formula(image, params, name, number, border, fill)


def _follow(params: Tensor, points: Tensor, name: str, iterations: int, stops: bool = False) -> Tensor:
    return maths.follow(lambda at: maths.displacement_at(name, params, at), points, iterations, stops)


_follow_op = define(
    "follow_formula",
    "(Tensor params, Tensor points, str name, int iterations) -> Tensor",
    _follow,
    lambda params, points, name, iterations: torch.empty_like(points),
    on_cpu=functools.partial(_follow, stops=True),
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


def _by_lines(image: Tensor, lines: Tensor, mode: int, padding: int, fill: list[float]) -> Tensor:
    return resample.displacement(image, maths.lines_field(lines, *image.shape[-2:]), mode, padding, fill)


def _read_taps(image: Tensor, lines: Tensor, mode: int, padding: int, fill: list[float]) -> list[Any]:
    (height, width), lines = image.shape[-2:], lines.detach()
    if mode != resample.MODES["bilinear"]:
        return list(lines)
    x, y = maths.between_all(lines.to(torch.promote_types(image.dtype, torch.float32)), height, width)
    return list(zip(axes.taps(x, width, padding), axes.taps(y, height, padding), strict=True))


def _lines_row(image: Tensor, read: Any, mode: int, padding: int, fill: list[float], out: Out) -> Tensor:
    """Move the lines of a row by its taps, or where pixels are not blended linearly by its lines."""
    if isinstance(read, tuple):
        return axes.separable(image, read[0], read[1], padding, fill, out)
    return _by_lines(image.clone()[None], read[None], mode, padding, fill)[0]


def _nearest_lines_row(image: Tensor, lines: Tensor, padding: int, fill: list[float], out: Out) -> Tensor:
    return nearest_row(image, maths.lines_field(lines[None], *image.shape[-2:])[0], padding, fill, out)


def _shifted(image: Tensor, lines: Tensor, *config: Any) -> Tensor:
    return (lines[:, :, 0] != lines[:, :, 1]).flatten(1).any(1)


_lines = Kernel(
    "displace_lines(Tensor image, Tensor lines, int mode, int padding, float[] fill)",
    maths=_by_lines,
    row=_lines_row,
    read=_read_taps,
    opens=_shifted,
    backends=[in_c.displace_lines],
)
_lines_nearest = Kernel(
    "displace_lines_nearest(Tensor image, Tensor lines, int padding, float[] fill)",
    maths=lambda image, lines, *config: _by_lines(image, lines, resample.MODES["nearest"], *config),
    row=_nearest_lines_row,
    opens=_shifted,
    values="own",
    row_learns=True,
)


def displace_lines(
    image: Tensor,  # (B, C, H, W), any dtype
    lines: Tensor,  # (B, 2, 2, n), for x and y: where the lines are in the output, and where they were in the input
    mode: str,
    padding: str,
    fill: list[float],
) -> Tensor:  # (B, C, H, W)
    """Move the lines of a grid, and linearly what is between them."""
    number, border = resample.codes(mode, padding)
    if mode == "nearest":
        return _lines_nearest(image, lines, border, fill)
    return _lines(image, lines, number, border, fill)
