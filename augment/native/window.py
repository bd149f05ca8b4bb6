"""Windows at places that are known before the call."""

from typing import Any

import torch
from torch import Tensor

from ..functional import resample
from ..opaque import LIBRARY, by_rows, define, empty_bytes_like
from .geometry import overlap


def _place(image: Tensor, top: int, left: int, h: int, w: int, fill: list[float]) -> Tensor:
    rows, source_rows = overlap(1, top, image.shape[-2], h)
    columns, source_columns = overlap(1, left, image.shape[-1], w)
    output = empty_bytes_like(image, (*image.shape[:2], h, w))
    output[..., rows, columns] = image[..., source_rows, source_columns]
    if (rows, columns) != (slice(0, h), slice(0, w)):
        level = resample.per_channel(fill, image)
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


torch.library.register_autograd("augment::place", _place_backward, setup_context=_remember_place, lib=LIBRARY)


def place(
    image: Tensor,  # (B, C, H, W), any dtype
    corner: tuple[int, int],
    size: tuple[int, int],
    fill: list[float],
) -> Tensor:  # (B, C, *size)
    """Cut the window whose top left pixel is at ``corner`` (y, x); beside the image it holds ``fill``."""
    return (_place_op if by_rows(image) else _place)(image, *corner, *size, fill)
