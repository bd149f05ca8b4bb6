"""Colour ops whose steps are only known at run time."""

import torch
from torch import Tensor

from ..functional import colour
from ..opaque import load, rowwise, store
from .rows import Out, Rows, keep_rows


def _jitter_row(image: Tensor, params: Tensor, numbers: list[float], out: Out = None) -> Tensor:
    factors = params[:4].unbind() if params.requires_grad else numbers[:4]
    order = [round(step) for step in numbers[4:]]
    if out is not None:
        colour.jitter(image.unbind(0), factors, order, out.unbind(0))
        return out
    return torch.stack(tuple(colour.jitter(image.unbind(0), factors, order)))


def _is_neutral(image: Tensor, params: Tensor, numbers: Rows) -> list[bool]:
    return [row[:4] == [1, 1, 1, 0] for row in numbers]


_jitter = rowwise("colour_jitter", "", _jitter_row, _is_neutral, unit=True)


def colour_jitter(
    image: Tensor,  # (B, C, H, W)
    factors: Tensor,  # (B, 4), brightness, contrast, saturation, and hue in turns
    order: Tensor,  # (n,), which step comes when
) -> Tensor:  # (B, C, H, W)
    """Adjust brightness, contrast, saturation and hue in an order that is only known at run time."""
    if image.is_cpu:
        order = order.to(factors.dtype).expand(factors.shape[0], -1)
        return _jitter(image, torch.cat([factors, order], 1))
    neutral = (factors == factors.new_tensor([1.0, 1.0, 1.0, 0.0])).all(1)
    output = colour.jitter_any_order(load(image, unit=True), factors, order)
    return keep_rows(neutral, image, store(output, image.dtype, unit=True))
