"""Colour of bytes: whole numbers for as long as they are exact, as passes over bytes are the cheapest."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ...common.dtypes import rounded
from ..tone.maths import LEVELS, linear_levels
from . import maths


def gray(
    image: Tensor,  # (C, H, W), uint8
    weights: Sequence[float],  # one a channel
    out: Tensor,  # where to write
) -> None:
    """Blend channels into one, and repeat it."""
    planes = image.float().unbind(0)
    total = planes[0].mul_(weights[0])
    for plane, weight in zip(planes[1:], weights[1:], strict=True):
        total.add_(plane, alpha=weight)
    out.copy_(rounded(total))


def scale_saturation(
    image: Tensor,  # (3, H, W), uint8
    factor: float,
    out: Tensor,  # where to write
) -> None:
    """Do what ``maths.scale_saturation`` does.

    A factor up to 1 is within the reach of every pixel, so that only its product is rounded.
    """
    value = image.amax(0)
    below = value - image
    if factor <= 1:
        linear_levels(below, factor, 0, below)
        torch.sub(value, below, out=out)
        return
    furthest, chroma = value.float(), torch.sub(value, image.amin(0)).float()
    reach = furthest.div(chroma.add_(torch.finfo(chroma.dtype).tiny ** 0.5)).clamp_(max=factor)
    work = below.float().mul_(reach)
    out.copy_(torch.sub(furthest, work, out=work).round_().short())


def rotate_hue(
    image: Tensor,  # (3, H, W), uint8
    turns: float,
    out: Tensor,  # where to write
) -> None:
    """Do what ``maths.rotate_hue`` does.

    Of what it adds up only ``reach`` is no whole number, and it is never added twice, so that to round it is to round
    the result. A relu of a difference is a maximum and a difference here, as bytes have no sign.
    """
    low = image.amin(0)
    above = torch.sub(image, low)
    chroma = above.amax(0)
    thirds = round(turns * 3)
    part = turns * 6 - 2 * thirds
    step = 1 if part >= 0 else -1
    reach = torch.empty_like(chroma)
    linear_levels(chroma, abs(part), 0, reach)
    rest = chroma - reach
    falls = torch.maximum(above, rest).sub_(rest)
    rises = torch.sub(reach, torch.minimum(above, reach))
    for i, target in enumerate(out):
        c = i - thirds
        fall, gained = falls[(c + step) % 3], torch.minimum(above[(c - step) % 3], rises[(c + step) % 3])
        kept = torch.maximum(above[c % 3], fall).sub_(fall)
        torch.add(torch.minimum(kept, chroma - gained).add_(gained), low, out=target)


def jitter(
    image: Tensor,  # (C, H, W), uint8, C 1 or 3
    factors: Sequence[float],  # in the order of ``maths.NEUTRAL``
    order: Sequence[int],
    kind: str,
) -> Tensor:  # (C, H, W), floating, 0..255
    """Do what ``maths.jitter`` does, on levels: what stays within them is not cut."""
    work = image.float()
    for step in order:
        factor = factors[step]
        if factor != maths.NEUTRAL[step]:
            STEPS[kind][step](work, factor)
    return work


def _cut(work: Tensor) -> None:
    work.clamp_(0, LEVELS - 1)


def _scale(work: Tensor, factor: float) -> None:
    work.mul_(factor)
    if factor > 1:
        work.clamp_(max=LEVELS - 1)


def _add(work: Tensor, factor: float) -> None:
    work.add_((factor - 1) * (LEVELS - 1))
    _cut(work)


def _blend_mean(work: Tensor, factor: float) -> None:
    offset = maths.luma(work.mean((-2, -1)).unbind(0)).mul_(1 - factor)
    torch.add(offset, work, alpha=factor, out=work)
    if factor > 1:
        _cut(work)


def _blend_luma(work: Tensor, factor: float) -> None:
    if len(work) == 1:
        return
    offset = maths.luma(work.unbind(0)).mul_(1 - factor)
    torch.add(offset, work, alpha=factor, out=work)
    if factor > 1:
        _cut(work)


def _scale_saturation(work: Tensor, factor: float) -> None:
    maths.scale_saturation(work.unbind(0), factor, outs=work.unbind(0))


def _rotate_hue(work: Tensor, turns: float) -> None:
    if len(work) == 1:
        return
    low = torch.minimum(torch.minimum(work[0], work[1]), work[2])
    work.sub_(low)
    chroma = torch.maximum(torch.maximum(work[0], work[1]), work[2])
    thirds = round(turns * 3)
    part = turns * 6 - 2 * thirds
    step = 1 if part >= 0 else -1
    reach = chroma * abs(part)
    move = _moved_little if 2 * abs(part) <= 1 else _moved_far
    turned = []
    for i in range(3):
        channel, following, before = (work[(i - thirds + k) % 3] for k in (0, step, -step))
        turned.append(move(channel, following, before, chroma, reach, chroma - reach))
    for plane, target in zip(turned, work.unbind(0), strict=True):
        torch.add(plane, low, out=target)


def _moved_little(
    channel: Tensor, following: Tensor, before: Tensor, chroma: Tensor, reach: Tensor, rest: Tensor
) -> Tensor:
    """Let a channel fall or rise by up to half a sextant, in which it does not do both."""
    moved = torch.clamp(following, reach, rest).sub_(following)
    return torch.minimum(moved, before, out=moved).add_(channel).relu_().minimum(chroma)


def _moved_far(
    channel: Tensor, following: Tensor, before: Tensor, chroma: Tensor, reach: Tensor, rest: Tensor
) -> Tensor:
    kept = (channel - (following - rest).relu_()).relu_()
    return kept.add_(torch.minimum(before, (reach - following).relu_())).minimum(chroma)


STEPS = {
    "jitter": (_scale, _blend_mean, _blend_luma, _rotate_hue),
    "jiggle": (_add, _scale, _scale_saturation, _rotate_hue),
}
