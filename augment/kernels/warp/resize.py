"""Resizing of the whole frame, the same for every row, and its transpose, which is the backward of it."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ...common.dtypes import load, store
from ...common.opaque import by_rows, define, differentiate
from ..rowop import empty_bytes_like
from . import c as in_c
from . import maths
from .permutation import overlap


def _resize(image: Tensor, h: int, w: int, corners: bool) -> Tensor:
    planes = image.flatten(0, 1).unsqueeze(1)  # the kernel for a few channels turns them inwards and back
    return F.interpolate(planes, (h, w), mode="bilinear", align_corners=corners).view(*image.shape[:2], h, w)


_op = define(
    "resize",
    "(Tensor image, SymInt h, SymInt w, bool corners) -> Tensor",
    _resize,
    lambda image, h, w, corners: image.new_empty((*image.shape[:2], h, w)),
)


def _resize_levels(image: Tensor, h: int, w: int, corners: bool) -> Tensor:
    output = image.new_empty((*image.shape[:2], h, w))
    for row, out in zip(image, output, strict=True):
        if in_c.resize(row, slice(0, row.shape[1]), slice(0, row.shape[2]), [], corners, out):
            continue
        out.copy_(_resize(row.float()[None], h, w, corners)[0].round_().short())  # a blend needs no cut
    return output


resize_levels = define(  # of bytes, rounded once
    "resize_levels",
    "(Tensor image, SymInt h, SymInt w, bool corners) -> Tensor",
    _resize_levels,
    lambda image, h, w, corners: image.new_empty((*image.shape[:2], h, w)),
)


def _spread(gradient: Tensor, height: int, width: int, corners: bool) -> Tensor:
    planes = gradient.flatten(0, 1).unsqueeze(1)
    shape = (len(planes), 1, height, width)
    spread = torch.ops.aten.upsample_bilinear2d_backward(planes, gradient.shape[-2:], shape, corners)
    return spread.view(*gradient.shape[:2], height, width)


_spread_op = define(
    "spread",
    "(Tensor gradient, SymInt height, SymInt width, bool corners) -> Tensor",
    _spread,
    lambda gradient, height, width, corners: gradient.new_empty((*gradient.shape[:2], height, width)),
)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.size, ctx.corners = inputs[0].shape[-2:], inputs[3]


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    return _spread_op(gradient, *ctx.size, ctx.corners), None, None, None


differentiate(_op, _backward, _remember)


def _spread_backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    return _op(gradient, *ctx.size, ctx.corners), None, None, None


differentiate(_spread_op, _spread_backward, _remember)


def resize(
    image: Tensor,  # (B, C, H, W), floating or uint8
    size: tuple[int, int],
    align_corners: bool,
) -> Tensor:  # (B, C, *size)
    """Resize linearly; ``align_corners`` brings the centres of the corner pixels together, not their edges."""
    if by_rows(image):
        return (resize_levels if image.dtype == torch.uint8 else _op)(image, *size, align_corners)
    resized = F.interpolate(load(image), size, mode="bilinear", align_corners=align_corners)
    return store(resized, image.dtype)


def _place(image: Tensor, top: int, left: int, h: int, w: int, fill: list[float]) -> Tensor:
    rows, source_rows = overlap(1, top, image.shape[-2], h)
    columns, source_columns = overlap(1, left, image.shape[-1], w)
    output = empty_bytes_like(image, (*image.shape[:2], h, w))
    output[..., rows, columns] = image[..., source_rows, source_columns]
    if (rows, columns) != (slice(0, h), slice(0, w)):
        level = maths.per_channel(fill, image)
        output[..., : rows.start, :] = level
        output[..., rows.stop :, :] = level
        output[..., rows, : columns.start] = level
        output[..., rows, columns.stop :] = level
    return output


_place_op = define(
    "place",
    "(Tensor image, SymInt top, SymInt left, SymInt h, SymInt w, float[] fill) -> Tensor",
    _place,
    lambda image, top, left, h, w, fill: empty_bytes_like(image, (*image.shape[:2], h, w)),
)


def _remember_place(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    image, ctx.top, ctx.left, *_ = inputs
    ctx.size = image.shape[-2:]


def _place_backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    return _place_op(gradient, -ctx.top, -ctx.left, *ctx.size, [0.0]), None, None, None, None, None


differentiate(_place_op, _place_backward, _remember_place)


def cut_window(
    image: Tensor,  # (B, C, H, W), any dtype
    corner: tuple[int, int],
    size: tuple[int, int],
    fill: list[float],
) -> Tensor:  # (B, C, *size)
    """Cut the window whose top left pixel is at ``corner`` (y, x); beside the image it holds ``fill``."""
    return (_place_op if by_rows(image) else _place)(image, *corner, *size, fill)
