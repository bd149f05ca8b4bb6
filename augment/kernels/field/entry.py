"""Displacement fields: images and points moved by them, and their smoothing."""

from typing import Any

import torch
from torch import Tensor

from ...common.dtypes import load, rounded
from ...common.opaque import by_rows, define, differentiate
from ..rowop import Out, RowOp, keep_rows, read_nothing
from ..warp import maths as resample
from . import c as in_c
from . import maths


def _displace_row(
    image: Tensor, field: Tensor, _: None, mode: int, padding: int, fill: list[float], out: Out = None
) -> Tensor:
    return resample.displacement(image.clone()[None], field[None], mode, padding, fill)[0]


def _displace_bytes(
    image: Tensor, field: Tensor, _: None, mode: int, padding: int, fill: list[float], out: Tensor
) -> None:
    if mode != resample.MODES["bilinear"] or not in_c.displace(image, field, padding, fill, out):
        out.copy_(rounded(_displace_row(load(image), field, None, mode, padding, fill)))


def _is_still(image: Tensor, field: Tensor, *_: Any) -> list[bool]:
    return [field.shape[-2:] == image.shape[-2:] and not any(f.aminmax()) for f in field]


_FIELD = "int mode, int padding, float[] fill"
_displace = RowOp(
    "displace",
    _FIELD,
    _displace_row,
    _is_still,
    lambda image, field, *_: field.shape[-2:],
    read=read_nothing,
    on_bytes=_displace_bytes,
).op
_displace_nearest = RowOp(
    "displace_nearest",
    _FIELD,
    _displace_row,
    _is_still,
    lambda image, field, *_: field.shape[-2:],
    raw=True,
    read=read_nothing,
).op


def displace(
    image: Tensor,  # (B, C, H, W), any dtype
    field: Tensor,  # (B, 2, h, w), x and y in pixels: output pixel p takes the input at p + field[p]
    mode: str,
    padding: str,
    fill: list[float],
) -> Tensor:  # (B, C, h, w)
    """Warp an image by a displacement of every output pixel; ``nearest`` keeps values of any dtype exact."""
    config = (*resample.codes(mode, padding), fill)
    nearest = mode == "nearest"
    if by_rows(image):
        return (_displace_nearest if nearest else _displace)(image, field, *config)
    output = resample.displacement(image if nearest else load(image), field, *config)
    return keep_rows((field == 0).flatten(1).all(1), image, output)


def _smooth(noise: Tensor, along_y: Tensor, along_x: Tensor, gate: Tensor) -> Tensor:
    if not by_rows(noise):
        return along_y @ noise @ along_x.T
    output = torch.zeros_like(noise, memory_format=torch.contiguous_format)
    for i in gate.nonzero().flatten().tolist():
        torch.matmul(along_y, noise[i] @ along_x.T, out=output[i])
    return output


smooth_field = define(
    "smooth_field",
    "(Tensor noise, Tensor along_y, Tensor along_x, Tensor gate) -> Tensor",
    _smooth,
    lambda noise, along_y, along_x, gate: noise.new_empty(noise.shape),
)


def _follow(field: Tensor, points: Tensor, iterations: int) -> Tensor:
    return maths.follow(lambda at: resample.sample_field(field, at), points, iterations)


_follow_op = define(
    "follow_field",
    "(Tensor field, Tensor points, int iterations) -> Tensor",
    _follow,
    lambda field, points, iterations: torch.empty_like(points),
)
differentiate(_follow_op, lambda ctx, gradient: (None, gradient, None))


def follow_field(
    field: Tensor,  # (B, 2, h, w), in pixels: output pixel q takes the input at q + field[q]
    points: Tensor,  # (B, N, 2), in the input
    iterations: int = 30,
) -> Tensor:  # (B, N, 2), in the output
    """Find where the field moves points of the input; the gradient is that of a constant shift."""
    return _follow_op(field, points, iterations)
