"""Rain."""

from typing import NamedTuple

import torch
from torch import Tensor

from ..kernel import Kernel
from . import maths


def _drop_value(image: Tensor) -> float:
    return maths.RAIN if image.is_floating_point() else round(maths.RAIN * 255)


def _rain(image: Tensor, count: Tensor, heights: Tensor, widths: Tensor, start: Tensor, longest: int) -> Tensor:
    h, w = image.shape[-2:]
    heights, widths = heights.long().unsqueeze(1), widths.long().unsqueeze(1)
    starts, steps = maths.drop_starts(start, heights, widths, h, w), maths.drop_steps(heights, widths, longest, w)
    pixels = starts.unsqueeze(2) + steps.unsqueeze(1)
    drawn = torch.arange(start.shape[1], device=start.device) < count.unsqueeze(1)
    pixels = torch.where(drawn.unsqueeze(2), pixels, h * w)  # a place behind the image
    wet = torch.zeros((len(image), h * w + 1), dtype=torch.bool, device=image.device)
    wet = wet.scatter(1, pixels.flatten(1), True)[:, : h * w].view(-1, 1, h, w)
    return torch.where(wet, _drop_value(image), image)


class Drops(NamedTuple):
    """What a row's parameters say.

    Attributes:
        starts: the first pixels of its drops.
        steps: how far from them their other pixels lie.
    """

    starts: Tensor
    steps: Tensor


def _read_drops(
    image: Tensor, count: Tensor, heights: Tensor, widths: Tensor, start: Tensor, longest: int
) -> list[Drops]:
    h, w = image.shape[-2:]
    heights, widths = heights.long().unsqueeze(1), widths.long().unsqueeze(1)
    lengths = torch.maximum(heights, widths.abs()).flatten().tolist()
    starts = maths.drop_starts(start, heights, widths, h, w)
    steps = maths.drop_steps(heights, widths, max(lengths), w)
    rows = zip(count.tolist(), lengths, starts, steps, strict=True)
    return [Drops(first[: max(int(number), 0)], step[:length]) for number, length, first, step in rows]


def _rain_row(image: Tensor, drops: Drops, longest: int, out: Tensor) -> Tensor:
    pixels = (drops.starts.unsqueeze(1) + drops.steps).flatten()
    out.copy_(image).view(len(image), -1).index_fill_(1, pixels, _drop_value(image))
    return out


rain = Kernel(
    "rain(Tensor image, Tensor count, Tensor heights, Tensor widths, Tensor start, int longest)",
    maths=_rain,
    row=_rain_row,
    read=_read_drops,
    values="own",
)
"""Draw drops of rain, straight lines of one value, which have no gradient: a count (B,), at most D, heights (B,) of 1
to H pixels and widths (B,) of -W to W, at most ``longest``, and starts (B, D, 2), y and x as fractions of where a drop
fits."""
