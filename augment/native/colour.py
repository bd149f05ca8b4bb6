"""Colour ops whose steps are only known at run time."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..functional import channels, colour, levels
from ..opaque import by_rows, constant, load, rowwise, store
from .rows import Out, Rows, keep_rows, widened

NEUTRAL = list(colour.NEUTRAL)


def _jitter_row(image: Tensor, params: Tensor, numbers: list[float], kind: str, wide: bool, out: Out = None) -> Tensor:
    channels, still = len(image), numbers[:4] == NEUTRAL
    order = [] if still else [round(step) for step in numbers[4 : len(numbers) - 2 * channels]]
    if params.requires_grad or out is None:
        factors = params[:4].unbind() if params.requires_grad else numbers[:4]
        planes = image if still else torch.stack(tuple(colour.jitter(image.unbind(0), factors, order, kind=kind)))
        scale, shift = params[len(params) - 2 * channels :].view(2, channels, 1, 1)
        return torch.addcmul(shift, planes, scale)
    planes = out.copy_(image) if still else colour.jitter(image.unbind(0), numbers[:4], order, out.unbind(0), kind)
    after = numbers[-2 * channels :]
    for plane, scale, shift in zip(planes, after[:channels], after[channels:], strict=True):
        if (scale, shift) != (1, 0):
            plane.mul_(scale).add_(shift)
    return out


def _plain(channels: int) -> list[float]:
    """Give the factors and summands of channels that stay as they are."""
    return [1.0] * channels + [0.0] * channels


def _is_neutral(image: Tensor, params: Tensor, numbers: Rows, *_: object) -> list[bool]:
    plain = _plain(image.shape[1])
    return [row[:4] == NEUTRAL and row[-len(plain) :] == plain for row in numbers]


def _jitter_bytes(image: Tensor, params: Tensor, numbers: list[float], kind: str, wide: bool, out: Tensor) -> None:
    after = numbers[-2 * len(image) :]
    work = levels.jitter(image, numbers[:4], [round(step) for step in numbers[4 : -len(after)]], kind)
    if not wide:
        out.copy_(work.round_().short())
        return
    for plane, target, scale, shift in zip(work, out, after[: len(out)], after[len(out) :], strict=True):
        torch.mul(plane, scale / 255, out=target)
        if shift:
            target.add_(shift)


_jitter = rowwise(
    "colour_jitter",
    "str kind, bool wide",
    _jitter_row,
    _is_neutral,
    unit=True,
    dtype=widened,
    on_bytes=_jitter_bytes,
)


def colour_jitter(
    image: Tensor,  # (B, C, H, W)
    factors: Tensor,  # (B, 4), brightness, contrast, saturation, and hue in turns
    order: Tensor,  # (n,), which step comes when
    kind: str = "jitter",  # what the steps are, of ``colour.STEPS``
    after: tuple[Tensor, Tensor] | None = None,  # (B, C) each
) -> Tensor:  # (B, C, H, W)
    """Adjust brightness, contrast, saturation and hue in an order that is only known at run time.

    ``after`` multiplies and adds a number a channel then, and bytes come out as floats, which are not rounded.
    """
    if by_rows(image):
        rows, channels = image.shape[:2]
        given = [factors, order.to(factors.dtype).expand(rows, -1)]
        scale_shift = [factors.new_ones(rows, channels), factors.new_zeros(rows, channels)] if after is None else after
        return _jitter(image, torch.cat([*given, *scale_shift], 1), kind, after is not None)
    neutral = (factors == constant(NEUTRAL, factors.dtype, factors.device)).all(1)
    work = load(image, unit=True)
    output = colour.jitter_any_order(work, factors, order, kind)
    if after is not None:
        scale, shift = (x.unsqueeze(2).unsqueeze(3) for x in after)
        return torch.where(neutral.view(-1, 1, 1, 1), work, output) * scale + shift
    return keep_rows(neutral, image, store(output, image.dtype, unit=True))


def _distort_row(image: Tensor, params: Tensor, numbers: list[float], wide: bool, out: Out = None) -> Tensor:
    planes, source = image.unbind(0), [round(c) for c in numbers[5:]]
    order = colour.CONTRAST_BEFORE if numbers[4] else colour.CONTRAST_AFTER
    if params.requires_grad or out is None:
        planes = colour.jitter(planes, params[:4].unbind() if params.requires_grad else numbers[:4], order)
        return torch.stack([planes[c] for c in source])
    targets = sorted(zip(source, out.unbind(0), strict=True), key=lambda pair: pair[0])
    colour.jitter(planes, numbers[:4], order, [plane for _, plane in targets])
    return out


def _is_undistorted(image: Tensor, params: Tensor, numbers: Rows, wide: bool) -> list[bool]:
    return [row[:4] == NEUTRAL and row[5:] == sorted(row[5:]) for row in numbers]


def _distort_bytes(image: Tensor, params: Tensor, numbers: list[float], wide: bool, out: Tensor) -> None:
    order = colour.CONTRAST_BEFORE if numbers[4] else colour.CONTRAST_AFTER
    distorted = levels.jitter(image, numbers[:4], order, "jitter")
    distorted = distorted.div_(255) if wide else distorted.round_().short()
    for plane, c in zip(out, numbers[5:], strict=True):
        plane.copy_(distorted[round(c)])


_distort = rowwise(
    "photometric_distort",
    "bool wide",
    _distort_row,
    _is_undistorted,
    unit=True,
    dtype=widened,
    on_bytes=_distort_bytes,
)


def photometric_distort(
    image: Tensor,  # (B, C, H, W)
    factors: Tensor,  # (B, 4), brightness, contrast, saturation, and hue in turns
    contrast_before: Tensor,  # (B,), whether the contrast comes before saturation and hue
    source: Tensor,  # (B, C), which channel comes where
    wide: bool = False,
) -> Tensor:  # (B, C, H, W)
    """Adjust the four in one of two orders, and permute the channels; ``wide`` gives floats for bytes, not rounded."""
    if by_rows(image):
        columns = [factors, contrast_before.unsqueeze(1).to(factors.dtype), source.to(factors.dtype)]
        return _distort(image, torch.cat(columns, 1), wide)
    both = (colour.CONTRAST_BEFORE, colour.CONTRAST_AFTER)
    orders = [constant(order, torch.int64, image.device) for order in both]
    order = torch.where(contrast_before.unsqueeze(1) != 0, orders[0], orders[1])
    work = load(image, unit=True)
    jittered, image = colour.jitter_any_order(work, factors, order), work if wide else image
    neutral = (factors == constant(NEUTRAL, factors.dtype, factors.device)).all(1).view(-1, 1, 1, 1)
    jittered = torch.where(neutral, image, store(jittered, image.dtype, unit=True))
    return channels.take(jittered, source)


# -------------------------------------------------------------------------------------------------- bytes on the CPU


def _levelwise(
    name: str, config: str, write: Callable[..., None], unchanged: Callable[..., list[bool]]
) -> Callable[..., Tensor]:
    """Register a row op on bytes from a function that writes: ``(image, value, *config, out)``."""

    def row(image: Tensor, params: Tensor, value: float, *config: Any, out: Out = None) -> Tensor:
        output = torch.empty_like(image) if out is None else out
        write(image, value, *config, output)
        return output

    return rowwise(name, config, row, unchanged, raw=True)


_gray = _levelwise(
    "gray_levels",
    "float[] weights",
    lambda image, _, weights, out: levels.gray(image, weights, out),
    lambda image, gate, numbers, weights: [not g for g in numbers],
)
_saturation = _levelwise(
    "saturation_levels",
    "",
    levels.scale_saturation,
    lambda image, factor, numbers: [f == 1 or image.shape[1] == 1 for f in numbers],
)
_hue = _levelwise(
    "hue_levels",
    "",
    levels.rotate_hue,
    lambda image, turns, numbers: [turn == 0 or image.shape[1] == 1 for turn in numbers],
)


def gray_levels(
    image: Tensor,  # (B, C, H, W), uint8
    gate: Tensor,  # (B,) bool, the rows to blend
    weights: list[float],  # one a channel
) -> Tensor:  # (B, C, H, W), uint8
    """Blend the channels of bytes into one, and repeat it."""
    return _gray(image, gate.to(torch.float32), weights)


def saturation_levels(
    image: Tensor,  # (B, C, H, W), uint8, C 1 or 3
    factor: Tensor,  # (B,)
) -> Tensor:  # (B, C, H, W), uint8
    """Multiply the saturation of bytes."""
    return _saturation(image, factor.detach())


def hue_levels(
    image: Tensor,  # (B, C, H, W), uint8, C 1 or 3
    turns: Tensor,  # (B,)
) -> Tensor:  # (B, C, H, W), uint8
    """Turn the hue of bytes."""
    return _hue(image, turns.detach())
