"""Colour of bytes: whole numbers for as long as they are exact, as passes over bytes are the cheapest."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..opaque import rounded
from .tone import LEVELS, linear_levels


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
    """Do what ``colour.scale_saturation`` does.

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
    """Do what ``colour.rotate_hue`` does.

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
