"""Colour ops whose steps are only known at run time."""

import torch
from torch import Tensor

from ..functional import channels, colour
from ..opaque import constant, load, rowwise, store
from .rows import Out, Rows, keep_rows

NEUTRAL = list(colour.NEUTRAL)


def _jitter_row(image: Tensor, params: Tensor, numbers: list[float], kind: str, out: Out = None) -> Tensor:
    planes, order = image.unbind(0), [round(step) for step in numbers[4:]]
    if params.requires_grad or out is None:
        factors = params[:4].unbind() if params.requires_grad else numbers[:4]
        return torch.stack(tuple(colour.jitter(planes, factors, order, kind=kind)))
    colour.jitter(planes, numbers[:4], order, out.unbind(0), kind)
    return out


def _is_neutral(image: Tensor, params: Tensor, numbers: Rows, kind: str) -> list[bool]:
    return [row[:4] == NEUTRAL for row in numbers]


_jitter = rowwise("colour_jitter", "str kind", _jitter_row, _is_neutral, unit=True)


def colour_jitter(
    image: Tensor,  # (B, C, H, W)
    factors: Tensor,  # (B, 4), brightness, contrast, saturation, and hue in turns
    order: Tensor,  # (n,), which step comes when
    kind: str = "jitter",  # what the steps are, of ``colour.STEPS``
) -> Tensor:  # (B, C, H, W)
    """Adjust brightness, contrast, saturation and hue in an order that is only known at run time."""
    if image.is_cpu:
        order = order.to(factors.dtype).expand(factors.shape[0], -1)
        return _jitter(image, torch.cat([factors, order], 1), kind)
    neutral = (factors == constant(NEUTRAL, factors.dtype, factors.device)).all(1)
    output = colour.jitter_any_order(load(image, unit=True), factors, order, kind)
    return keep_rows(neutral, image, store(output, image.dtype, unit=True))


def _distort_row(image: Tensor, params: Tensor, numbers: list[float], out: Out = None) -> Tensor:
    planes, source = image.unbind(0), [round(c) for c in numbers[5:]]
    order = colour.CONTRAST_BEFORE if numbers[4] else colour.CONTRAST_AFTER
    if params.requires_grad or out is None:
        planes = colour.jitter(planes, params[:4].unbind() if params.requires_grad else numbers[:4], order)
        return torch.stack([planes[c] for c in source])
    targets = sorted(zip(source, out.unbind(0), strict=True), key=lambda pair: pair[0])
    colour.jitter(planes, numbers[:4], order, [plane for _, plane in targets])
    return out


def _is_undistorted(image: Tensor, params: Tensor, numbers: Rows) -> list[bool]:
    return [row[:4] == NEUTRAL and row[5:] == sorted(row[5:]) for row in numbers]


_distort = rowwise("photometric_distort", "", _distort_row, _is_undistorted, unit=True)


def photometric_distort(
    image: Tensor,  # (B, C, H, W)
    factors: Tensor,  # (B, 4), brightness, contrast, saturation, and hue in turns
    contrast_before: Tensor,  # (B,), whether the contrast comes before saturation and hue
    source: Tensor,  # (B, C), which channel comes where
) -> Tensor:  # (B, C, H, W)
    """Adjust the four in one of two orders, and permute the channels."""
    if image.is_cpu:
        columns = [factors, contrast_before.unsqueeze(1).to(factors.dtype), source.to(factors.dtype)]
        return _distort(image, torch.cat(columns, 1))
    both = (colour.CONTRAST_BEFORE, colour.CONTRAST_AFTER)
    orders = [constant(order, torch.int64, image.device) for order in both]
    order = torch.where(contrast_before.unsqueeze(1) != 0, orders[0], orders[1])
    jittered = colour.jitter_any_order(load(image, unit=True), factors, order)
    neutral = (factors == constant(NEUTRAL, factors.dtype, factors.device)).all(1).view(-1, 1, 1, 1)
    jittered = torch.where(neutral, image, store(jittered, image.dtype, unit=True))
    return channels.take(jittered, source)
