"""Displacement fields: images and points moved by them, and their smoothing."""

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ...common.opaque import define, differentiate
from ..kernel import Kernel, Out
from ..warp import maths as resample
from . import c as in_c
from . import maths


def _displace_row(image: Tensor, field: Tensor, mode: int, padding: int, fill: list[float], out: Out) -> Tensor:
    return resample.displacement(image.clone()[None], field[None], mode, padding, fill)[0]


def nearest_row(image: Tensor, field: Tensor, padding: int, fill: list[float], out: Out) -> Tensor:
    """Displace a row by a field (2, h, w) by the nearest pixel."""
    x, y = resample.pixel_grid(field.shape[-2], field.shape[-1], field)
    position = torch.stack([field[0] + x[0], field[1] + y[0]]).detach()
    return resample.sample_row(image, position, resample.BORDERS[padding], fill, out)


def _moved(image: Tensor, field: Tensor, *config: Any) -> Tensor:
    return field.flatten(1).any(1)


def _field_size(image: Tensor, field: Tensor, *config: Any) -> Sequence[int]:
    return field.shape[-2:]


_linear = Kernel(
    "displace(Tensor image, Tensor field, int mode, int padding, float[] fill)",
    maths=resample.displacement,
    row=_displace_row,
    opens=_moved,
    backends=[in_c.displace],
    size=_field_size,
)
_nearest = Kernel(
    "displace_nearest(Tensor image, Tensor field, int padding, float[] fill)",
    maths=lambda image, field, *config: resample.displacement(image, field, resample.MODES["nearest"], *config),
    row=nearest_row,
    opens=_moved,
    values="own",
    size=_field_size,
    row_learns=True,
)


def displace(
    image: Tensor,  # (B, C, H, W), any dtype
    field: Tensor,  # (B, 2, h, w), x and y in pixels: output pixel p takes the input at p + field[p]
    mode: str,
    padding: str,
    fill: list[float],
) -> Tensor:  # (B, C, h, w)
    """Warp an image by a displacement of every output pixel; ``nearest`` keeps values of any dtype exact."""
    number, border = resample.codes(mode, padding)
    return _nearest(image, field, border, fill) if mode == "nearest" else _linear(image, field, number, border, fill)


def _smooth(noise: Tensor, along_y: Tensor, along_x: Tensor, gate: Tensor) -> Tensor:
    return along_y @ noise @ along_x.T


def _smooth_rows(noise: Tensor, along_y: Tensor, along_x: Tensor, gate: Tensor) -> Tensor:
    output = torch.zeros_like(noise, memory_format=torch.contiguous_format)
    for i in gate.nonzero().flatten().tolist():
        torch.matmul(along_y, noise[i] @ along_x.T, out=output[i])
    return output


smooth_field = define(
    "smooth_field",
    "(Tensor noise, Tensor along_y, Tensor along_x, Tensor gate) -> Tensor",
    _smooth,
    lambda noise, along_y, along_x, gate: noise.new_empty(noise.shape),
    on_cpu=_smooth_rows,
)


def _follow(field: Tensor, points: Tensor, iterations: int, stops: bool = False) -> Tensor:
    return maths.follow(lambda at: resample.sample_field(field, at), points, iterations, stops)


_follow_op = define(
    "follow_field",
    "(Tensor field, Tensor points, int iterations) -> Tensor",
    _follow,
    lambda field, points, iterations: torch.empty_like(points),
    on_cpu=functools.partial(_follow, stops=True),
)
differentiate(_follow_op, lambda ctx, gradient: (None, gradient, None))


def follow_field(
    field: Tensor,  # (B, 2, h, w), in pixels: output pixel q takes the input at q + field[q]
    points: Tensor,  # (B, N, 2), in the input
    iterations: int = 30,
) -> Tensor:  # (B, N, 2), in the output
    """Find where the field moves points of the input; the gradient is that of a constant shift."""
    return _follow_op(field, points, iterations)
