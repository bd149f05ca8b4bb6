"""Colours of pixels, and copies of whole channels."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ...common.constants import constant
from ..kernel import Kernel, Out, same_dtype
from . import c as in_c
from . import maths, program


def _wide(image: Tensor, numbers: Tensor, codes: Sequence[int]) -> torch.dtype:
    return torch.float32 if codes[0] & program.WIDE and image.dtype == torch.uint8 else same_dtype(image)


recolour = Kernel(
    "recolour(Tensor image, Tensor numbers, int[] program)",
    maths=program.run,
    opens=program.open_rows,
    backends=[in_c.recolour],
    values="unit",
    dtype=_wide,
)
"""Run a program of ``program`` on each row, with numbers (B, n) of its own."""


def _permuted(shares: Sequence[Sequence[float]]) -> list[int] | None:
    """Where each channel comes from, where shares only move them."""
    if len(shares) != 3 or len(shares[0]) != 4:
        return None
    found = [row.index(1) if sorted(row) == [0, 0, 0, 1] else 3 for row in shares]
    return found if sorted(found) == [0, 1, 2] else None


def _jitter(image: Tensor, factors: Tensor, order: Tensor, shares: Tensor, kind: str) -> Tensor:
    output = maths.jitter_any_order(image, factors, order, kind)
    neutral = (factors == constant(maths.NEUTRAL, factors.dtype, factors.device)).all(1)
    still = image.detach() + (output - output.detach()) if factors.requires_grad else image  # neutral ones may learn
    output = torch.where(neutral.view(-1, 1, 1, 1), still, output)
    return maths.blend(output, shares) if shares.shape[2] else output


def _jitter_row(image: Tensor, factors: Tensor, order: Tensor, shares: Tensor, kind: str, out: Out) -> Tensor:
    numbers, steps, lines = factors.tolist(), [int(step) for step in order.tolist()], shares.tolist()
    target = torch.empty_like(image) if out is None else out
    still, source = numbers == list(maths.NEUTRAL), _permuted(lines)
    if source is not None and not still:
        maths.jitter(image.unbind(0), numbers, steps, [target[source.index(c)] for c in range(3)], kind)
        return target
    if not still:
        work = torch.empty_like(image) if shares.shape[1] > 2 else target
        maths.jitter(image.unbind(0), numbers, steps, work.unbind(0), kind)
        image = work
    if lines[0]:
        maths.blend_row(image, lines, target)
    return target


def _adjusts(image: Tensor, factors: Tensor, order: Tensor, shares: Tensor, kind: str) -> Tensor:
    changes = (factors != constant(maths.NEUTRAL, factors.dtype, factors.device)).any(1)
    plain = torch.eye(*shares.shape[1:], dtype=shares.dtype, device=shares.device)
    return changes | (shares != plain).flatten(1).any(1)


colour_jitter = Kernel(
    "colour_jitter(Tensor image, Tensor factors, Tensor order, Tensor shares, str kind)",
    maths=_jitter,
    row=_jitter_row,
    opens=_adjusts,
    values="unit",
)
"""Adjust brightness, contrast, saturation and hue by factors (B, 4) in an order (B, n) that is known at run time.

``kind`` is one of ``maths.STEPS``; ``shares`` (B, C, C + 1) say how the channels are blended then, or (B, C, 0)."""

take_channels = Kernel(
    "take_channels(Tensor image, Tensor source)",
    maths=maths.take,
    row=lambda image, source, out: torch.stack([image[c] for c in source.tolist()], out=out),
    opens=lambda image, source: (source != torch.arange(source.shape[1], device=source.device)).any(1),
    values="own",
)
"""Give each channel what the channel holds that ``source`` (B, C) names for it."""


def _fill_row(image: Tensor, lost: Tensor, value: float, out: Out) -> Tensor:
    target = torch.empty_like(image) if out is None else out
    for plane, source, gone in zip(target, image, lost.tolist(), strict=True):
        if gone:
            plane.fill_(value)
        else:
            plane.copy_(source)
    return target


fill_channels = Kernel(
    "fill_channels(Tensor image, Tensor lost, float value)",
    maths=maths.fill,
    row=_fill_row,
    opens=lambda image, lost, value: lost.any(1),
    values="own",
)
"""Fill the channels that are ``lost`` (B, C) bool with a value in the image's own range."""
