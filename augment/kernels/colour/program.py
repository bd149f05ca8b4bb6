"""Programs: sequences of changes to the colours of pixels, as numbers that a kernel walks through.

A program is ``[form, count, *parts]``: a form, how many parts there are, and of each its kind, a size and a flag. The
form is the sum of WIDE, if bytes come out as floats, and GATED, if the numbers of a row begin with whether it changes.
Then follow those of the parts, on the scale of [0, 1]. They begin with whether the part changes the row, if its flag
holds GATED:

- TABLE: what comes out for each byte, in ``size`` tables, one for all channels or one for each. It may come first.
- LINE: ``size`` factors, and as many numbers that are added. CUT in the flag cuts before and after.
- BLEND: what each channel gets of all of them, and what is added.
- JITTER and JIGGLE: four factors, and the order of ``size`` steps, of ``maths.STEPS``.
- STRETCH: nothing. CUT in the flag cuts a channel of one value.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..histogram import maths as histogram
from . import maths

TABLE, LINE, BLEND, JITTER, JIGGLE, STRETCH = range(6)  # as in csrc/colour/recolour.h
WIDE, CUT, GATED = 1, 1, 2
KINDS = {JITTER: "jitter", JIGGLE: "jiggle"}


class Part(NamedTuple):
    """A part of a program with its numbers (B, n)."""

    kind: int
    size: int
    flag: int
    numbers: Tensor


def written(parts: Sequence[Part], opens: Tensor | None, wide: bool) -> tuple[Tensor, list[int]]:
    """The numbers (B, n) and the program of some parts; ``opens`` (B,) bool says which rows change, None for all."""
    numbers = [part.numbers for part in parts]
    if opens is not None:
        numbers.insert(0, opens.unsqueeze(1).to(numbers[0].dtype))
    codes = [code for part in parts for code in part[:3]]
    form = WIDE * wide + GATED * (opens is not None)
    return numbers[0] if len(numbers) == 1 else torch.cat(numbers, 1), [form, len(parts), *codes]


def open_rows(image: Tensor, numbers: Tensor, program: Sequence[int]) -> Tensor | None:
    """The rows (B,) bool that change; None for all."""
    return numbers[:, 0] != 0 if program[0] & GATED else None


def read(numbers: Tensor, program: Sequence[int], channels: int) -> Iterator[tuple[Part, Tensor | None]]:
    """The parts of a program, and which rows (B,) bool each of them changes, None for all."""
    place = 1 if program[0] & GATED else 0
    for i in range(program[1]):
        kind, size, flag = program[2 + 3 * i : 5 + 3 * i]
        counts = {TABLE: 256 * size, LINE: 2 * size, BLEND: channels * (channels + 1), STRETCH: 0}
        open = numbers[:, place] != 0 if flag & GATED else None
        place += open is not None
        n = counts.get(kind, 4 + size)
        yield Part(kind, size, flag, numbers[:, place : place + n]), open
        place += n


def run(image: Tensor, numbers: Tensor, program: Sequence[int]) -> Tensor:  # (B, C, H, W), floating
    """An image behind a program."""
    for part, open in read(numbers, program, image.shape[1]):
        changed = _changed(image, part)
        image = changed if open is None else torch.where(open.view(-1, 1, 1, 1), changed, image)
    return image


def _changed(image: Tensor, part: Part) -> Tensor:
    kind, size, flag, numbers = part
    if kind == TABLE:
        tables = numbers.reshape(-1, size, 256).expand(-1, image.shape[1], -1)
        return tables.gather(2, (image * 255).round().long().flatten(2)).view(image.shape)
    if kind == LINE:
        scale, shift = numbers.reshape(-1, 2, size, 1, 1).unbind(1)
        return maths.line(image, scale, shift, bool(flag & CUT))
    if kind == BLEND:
        return maths.blend(image, numbers.reshape(-1, image.shape[1], image.shape[1] + 1))
    if kind == STRETCH:
        return histogram.stretch(image, bool(flag & CUT))
    return maths.jitter_any_order(image, numbers[:, :4], numbers[:, 4:], KINDS[kind])
