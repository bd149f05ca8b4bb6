"""Programs: sequences of changes to the colours of pixels, as numbers that a kernel walks through.

A program is ``[wide, count, *parts]``: whether bytes come out as floats, and of each part its kind, a size and a flag.
The numbers of a row begin with whether it changes at all, then follow those of the parts, on the scale of [0, 1]:

- TABLE: what comes out for each byte, in ``size`` tables, one for all channels or one for each. It may come first.
- LINE: whether the row is open, ``size`` factors, and ``size`` numbers that are added. The flag cuts before and after.
- BLEND: what each channel gets of all of them, and what is added.
- JITTER and JIGGLE: whether the row is open, four factors, and the order of ``size`` steps, of ``maths.STEPS``.
- STRETCH: whether the row is open. The flag cuts a channel of one value.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..histogram import maths as histogram
from . import maths

TABLE, LINE, BLEND, JITTER, JIGGLE, STRETCH = range(6)  # as in csrc/colour/recolour.h
KINDS = {JITTER: "jitter", JIGGLE: "jiggle"}


class Part(NamedTuple):
    """A part of a program with its numbers (B, n)."""

    kind: int
    size: int
    flag: bool
    numbers: Tensor


def written(parts: Sequence[Part], opens: Tensor, wide: bool) -> tuple[Tensor, list[int]]:
    """The numbers (B, n) and the program of some parts; ``opens`` (B, 1) says which rows change."""
    codes = [code for part in parts for code in (part.kind, part.size, int(part.flag))]
    return torch.cat([opens, *(part.numbers for part in parts)], 1), [int(wide), len(parts), *codes]


def read(numbers: Tensor, program: Sequence[int], channels: int) -> Iterator[Part]:
    """The parts of a program."""
    place = 1
    for i in range(program[1]):
        kind, size, flag = program[2 + 3 * i : 5 + 3 * i]
        counts = {TABLE: 256 * size, LINE: 1 + 2 * size, BLEND: channels * (channels + 1), STRETCH: 1}
        n = counts.get(kind, 5 + size)
        yield Part(kind, size, bool(flag), numbers[:, place : place + n])
        place += n


def run(image: Tensor, numbers: Tensor, program: Sequence[int]) -> Tensor:  # (B, C, H, W), floating
    """An image behind a program."""
    for part in read(numbers, program, image.shape[1]):
        changed = _changed(image, part)
        if part.kind in (TABLE, BLEND):
            image = changed
        else:
            image = torch.where(part.numbers[:, :1, None, None] != 0, changed, image)
    return image


def _changed(image: Tensor, part: Part) -> Tensor:
    kind, size, flag, numbers = part
    if kind == TABLE:
        tables = numbers.view(-1, size, 256).expand(-1, image.shape[1], -1)
        return tables.gather(2, (image * 255).round().long().flatten(2)).view(image.shape)
    if kind == LINE:
        scale, shift = numbers[:, 1:].view(-1, 2, size, 1, 1).unbind(1)
        return maths.line(image, scale, shift, flag)
    if kind == BLEND:
        return maths.blend(image, numbers.view(-1, image.shape[1], image.shape[1] + 1))
    if kind == STRETCH:
        return histogram.stretch(image, flag)
    return maths.jitter_any_order(image, numbers[:, 1:5], numbers[:, 5:], KINDS[kind])
