"""Rain."""

from typing import NamedTuple

import torch
from torch import Tensor

from ...common.opaque import by_rows
from ..rowop import Out, RowOp
from . import maths


def _drop_value(image: Tensor) -> float:
    return maths.RAIN if image.is_floating_point() else round(maths.RAIN * 255)


class Drops(NamedTuple):
    """What a row's parameters say.

    Attributes:
        number: how many drops there are.
        starts: their first pixels.
        steps: how far from them their other pixels lie.
    """

    number: int
    starts: Tensor
    steps: Tensor


def _read_drops(image: Tensor, params: Tensor) -> list[Drops]:
    h, w = image.shape[-2:]
    counts, heights, widths = params[:, :3].long().unsqueeze(2).unbind(1)
    fractions = params[:, 3:].reshape(len(params), params.shape[1] // 2 - 1, 2)
    lengths = torch.maximum(heights, widths.abs()).flatten().tolist()
    starts = maths.drop_starts(fractions, heights, widths, h, w)
    steps = maths.drop_steps(heights, widths, max(lengths, default=1), w)
    rows = zip(counts.flatten().tolist(), lengths, starts, steps, strict=True)
    return [Drops(count, start[:count], step[:length]) for count, length, start, step in rows]


def _rain_row(image: Tensor, params: Tensor, drops: Drops, out: Out = None) -> Tensor:
    pixels = (drops.starts.unsqueeze(1) + drops.steps).flatten()
    if out is None:
        return image.flatten(1).index_fill(1, pixels, _drop_value(image)).view(image.shape)
    out.copy_(image).view(len(image), -1).index_fill_(1, pixels, _drop_value(image))
    return out


_rain = RowOp(
    "rain",
    "",
    _rain_row,
    lambda image, params, rows: [drops.number < 1 for drops in rows],
    raw=True,
    read=_read_drops,
).op


def rain(
    image: Tensor,  # (B, C, H, W), floating or uint8
    count: Tensor,  # (B,), drops to draw, at most D
    heights: Tensor,  # (B,), pixels, 1 to H
    widths: Tensor,  # (B,), pixels, -W to W
    start: Tensor,  # (B, D, 2), y and x as fractions of the places where a drop fits
    longest: int,
) -> Tensor:  # (B, C, H, W)
    """Draw drops of rain: straight lines of one value, which have no gradient."""
    if by_rows(image):
        sizes = torch.stack([count, heights, widths], 1).to(start.dtype)
        return _rain(image, torch.cat([sizes, start.flatten(1)], 1))
    h, w = image.shape[-2:]
    heights, widths = heights.unsqueeze(1), widths.unsqueeze(1)
    starts, steps = maths.drop_starts(start, heights, widths, h, w), maths.drop_steps(heights, widths, longest, w)
    pixels = starts.unsqueeze(2) + steps.unsqueeze(1)
    drawn = torch.arange(start.shape[1], device=start.device) < count.unsqueeze(1)
    pixels = torch.where(drawn.unsqueeze(2), pixels, h * w)  # a place behind the image
    wet = torch.zeros((len(image), h * w + 1), dtype=torch.bool, device=image.device)
    wet = wet.scatter(1, pixels.flatten(1), True)[:, : h * w].view(-1, 1, h, w)
    return torch.where(wet, _drop_value(image), image)
