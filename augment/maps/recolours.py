"""The recolourings that there are: lines and curves, blends of channels, steps of a jitter, stretches."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from .. import kernels
from ..common.constants import constant
from ..kernels.colour import maths as colour
from ..kernels.colour import program
from ..kernels.colour.program import Part
from ..kernels.histogram import maths as histogram
from ..kernels.warp.maths import per_channel
from .recolour import Recolour

Numbers = Tensor | Sequence[float] | float


class Line(Recolour):
    """Multiply the values by ``scale`` and add ``shift``; ``cut`` cuts to [0, 1] before and after.

    Args:
        scale, shift: (B,) or (B, C), or numbers that are the same for all rows: one, or one a channel. None: nothing.
        cut: whether values are cut.
        wide: whether bytes come out as float32, not rounded.
    """

    by_value, straight = True, True

    def __init__(
        self, scale: Numbers | None = None, shift: Numbers | None = None, cut: bool = False, wide: bool = False
    ) -> None:
        self.scale, self.shift, self.cut, self.wide = scale, shift, cut, wide

    def values(self, values: Tensor, channels: slice) -> Tensor:
        scale, shift = (_broadcast(x, values, channels) for x in (self.scale, self.shift))
        if not isinstance(self.scale, Tensor) and self.scale == -1 and shift is not None and not self.cut:
            return shift - values
        return colour.line(values, scale, shift, self.cut)

    def part(self, image: Tensor) -> Part | None:
        given = (self.scale, 1.0), (self.shift, 0.0)
        if any(isinstance(numbers, Tensor) for numbers, _ in given):
            columns = [_columns(numbers, neutral, image) for numbers, neutral in given]
            size = max(x.shape[1] for x in columns)
            columns = [x.expand(len(image), size) for x in columns]
            return _part(program.LINE, size, program.CUT * self.cut, columns, self.gate)
        rows = [_listed(numbers, neutral) for numbers, neutral in given]
        size = max(map(len, rows))
        columns = [_constant_rows([x for row in rows for x in row * (size // len(row))], image)]
        return _part(program.LINE, size, program.CUT * self.cut, columns, self.gate)

    def shares(self, image: Tensor) -> Tensor | None:
        if self.cut:
            return None
        scale, shift = (_columns(x, n, image).to(_working(image)) for x, n in ((self.scale, 1.0), (self.shift, 0.0)))
        count = image.shape[1]
        diagonal = torch.eye(count, dtype=scale.dtype, device=image.device) * scale.expand(-1, count).unsqueeze(1)
        rows = max(len(scale), len(shift))
        added = shift.expand(rows, count).unsqueeze(2)
        return _gated_shares(self.gate, torch.cat([diagonal.expand(rows, -1, -1), added], 2))


class Curve(Recolour):
    """Give each value what a function gives for it.

    Args:
        function: floating values (B, c, H, W) of some or all channels to the same; it reads each by itself, and may use
            tensors that broadcast as (B, 1, 1, 1).
        maps: (B, 1 or C, H, W), what else the function gets for each value.
        table: the same for the 256 levels of bytes, (B, 256); by default from ``function``.
    """

    by_value = True

    def __init__(
        self, function: Callable[..., Tensor], *maps: Tensor, table: Callable[[], Tensor] | None = None
    ) -> None:
        self.function, self.maps, self.table, self.placed = function, maps, table, len(maps) > 0

    def values(self, values: Tensor, channels: slice) -> Tensor:
        maps = [m if m.shape[1] == 1 else m[:, channels] for m in self.maps]
        return self.function(values, *(m.to(values.dtype) for m in maps))


class Pixels(Recolour):
    """Give each pixel what a function gives for it.

    Args:
        function: floating channels (B, H, W) to as many; it may use tensors that broadcast as (B, 1, 1).
    """

    def __init__(self, function: Callable[[Sequence[Tensor]], Sequence[Tensor]]) -> None:
        self.function = function

    def planes(self, planes: Sequence[Tensor]) -> Sequence[Tensor]:
        return self.function(planes)


class Blend(Recolour):
    """Blend the channels into one by ``weights``, one a channel, and repeat it."""

    def __init__(self, weights: Sequence[float]) -> None:
        self.weights = list(weights)

    def planes(self, planes: Sequence[Tensor]) -> Sequence[Tensor]:
        return [colour.gray(planes, self.weights)] * len(planes)

    def shares(self, image: Tensor) -> Tensor | None:
        row = constant([*self.weights, 0.0], _working(image), image.device)
        return _gated_shares(self.gate, row.expand(1, image.shape[1], -1))

    def part(self, image: Tensor) -> Part | None:
        columns = _constant_rows([*self.weights, 0.0] * image.shape[1], image)
        return _part(program.BLEND, 0, 0, [columns], None if self.gate is None else self.gate)


class Channels(Recolour):
    """Give each channel what another holds, or a constant.

    Args:
        source: (B, C), which channel comes where.
        lost: (B, C) bool, the channels that hold ``value`` then; None for none.
        value: on the scale of [0, 1].
    """

    def __init__(self, source: Tensor | None = None, lost: Tensor | None = None, value: float = 0.0) -> None:
        self.source, self.lost, self.value = source, lost, value

    def planes(self, planes: Sequence[Tensor]) -> Sequence[Tensor]:
        if self.source is not None:
            source, given = self.source.view(-1, len(planes), 1, 1), planes
            planes = []
            for place in range(len(given)):
                plane = given[0]
                for channel in range(1, len(given)):
                    plane = torch.where(source[:, place] == channel, given[channel], plane)
                planes.append(plane)
        if self.lost is not None:
            lost = self.lost.unsqueeze(2).unsqueeze(3).unbind(1)
            planes = [torch.where(gone, self.value, plane) for gone, plane in zip(lost, planes, strict=True)]
        return planes

    def whole(self, image: Tensor) -> Tensor | None:
        source, lost = self.source, self.lost
        if source is not None:
            own = torch.arange(image.shape[1], device=image.device)
            source = source if self.gate is None else torch.where(self.gate.unsqueeze(1), source, own)
            image = kernels.take_channels(image, source)
        if lost is not None:
            image = kernels.fill_channels(
                image, lost if self.gate is None else lost & self.gate.unsqueeze(1), self.value
            )
        return image

    def shares(self, image: Tensor) -> Tensor | None:
        channels, dtype = torch.arange(image.shape[1], device=image.device), _working(image)
        source = channels.expand(len(image), -1) if self.source is None else self.source
        factors = (source.unsqueeze(2) == channels).to(dtype)
        added = torch.zeros_like(factors[:, :, :1])
        if self.lost is not None:
            factors = factors.masked_fill(self.lost.unsqueeze(2), 0)
            added = added.masked_fill(self.lost.unsqueeze(2), self.value)
        return _gated_shares(self.gate, torch.cat([factors, added], 2))

    def part(self, image: Tensor) -> Part | None:
        shares = self.shares(image)
        return None if shares is None else _part(program.BLEND, 0, 0, [shares.flatten(1)], None)


class Steps(Recolour):
    """Adjust brightness, contrast, saturation and hue in some order, cut to [0, 1] at each step.

    Args:
        factors: of the four, (B,) each, or numbers: (1, 1, 1, 0) change nothing.
        order: which of them comes when, each at most once; (B, n) where it is known at run time only.
        kind: ``"jitter"`` or ``"jiggle"``: see ``ColorJitter`` and ``ColorJiggle``.
    """

    def __init__(self, factors: Sequence[Tensor | float], order: Sequence[int] | Tensor, kind: str = "jitter") -> None:
        self.factors, self.order, self.kind = factors, order, kind
        self.drawn = isinstance(order, Tensor)

    def planes(self, planes: Sequence[Tensor]) -> Sequence[Tensor]:
        if isinstance(self.order, Tensor):
            return self.blended(torch.stack(list(planes), 1), None).unbind(1)
        factors = [f.view(-1, 1, 1) if isinstance(f, Tensor) else f for f in self.factors]
        return colour.jitter(planes, factors, self.order, kind=self.kind)

    def whole(self, image: Tensor) -> Tensor | None:
        return self.blended(image, None) if self.drawn else None

    def blended(self, image: Tensor, shares: Tensor | None) -> Tensor:
        factors = _closed(self.gate, self.stacked(image), colour.NEUTRAL)
        shares = image.new_empty((*image.shape[:2], 0)) if shares is None else shares
        return kernels.colour_jitter(image, factors, self.order, shares, self.kind)

    def stacked(self, image: Tensor) -> Tensor:
        """The factors (B, 4)."""
        given = next(f for f in self.factors if isinstance(f, Tensor))
        factors = [f if isinstance(f, Tensor) else given.new_full((len(image),), f) for f in self.factors]
        return torch.stack(factors, 1)

    def part(self, image: Tensor) -> Part | None:
        factors = self.stacked(image)
        order = self.order
        if not isinstance(order, Tensor):
            order = constant(order, factors.dtype, image.device).expand(len(image), -1)
        kind = program.JITTER if self.kind == "jitter" else program.JIGGLE
        return _part(kind, order.shape[1], 0, [factors, order.to(factors.dtype)], self.gate)


class Stretch(Recolour):
    """Move the lowest value of each channel to 0 and the highest to 1; ``cut`` cuts a channel of one value."""

    def __init__(self, cut: bool = True) -> None:
        self.cut = cut

    def planes(self, planes: Sequence[Tensor]) -> Sequence[Tensor]:
        return [histogram.stretch(plane, self.cut) for plane in planes]

    def part(self, image: Tensor) -> Part | None:
        columns = [] if self.gate is not None else [torch.empty((len(image), 0), device=image.device)]
        return _part(program.STRETCH, 0, program.CUT * self.cut, columns, self.gate)


# ------------------------------------------------------------------------------------------------------------- numbers


def _working(image: Tensor) -> torch.dtype:
    return torch.float64 if image.dtype == torch.float64 else torch.float32


def _broadcast(numbers: Numbers | None, values: Tensor, channels: slice) -> Tensor | float | None:
    """Numbers as they broadcast over some channels of an image."""
    if numbers is None or isinstance(numbers, (int, float)):
        return numbers
    if isinstance(numbers, Tensor):
        columns = numbers if numbers.ndim > 1 else numbers.unsqueeze(1)
        return (columns if columns.shape[1] == 1 else columns[:, channels]).to(values.dtype)[:, :, None, None]
    return per_channel(numbers if len(numbers) == 1 else numbers[channels], values)


def _columns(numbers: Numbers | None, neutral: float, image: Tensor) -> Tensor:
    """Numbers as (1 or B, 1 or C)."""
    if isinstance(numbers, Tensor):
        return numbers if numbers.ndim > 1 else numbers.unsqueeze(1)
    return constant(_listed(numbers, neutral), _working(image), image.device).unsqueeze(0)


def _listed(numbers: Any, neutral: float) -> list[float]:
    """Numbers that are the same for all rows as a list."""
    return [neutral] if numbers is None else [numbers] if isinstance(numbers, (int, float)) else list(numbers)


def _constant_rows(values: Sequence[float], image: Tensor) -> Tensor:
    """The same numbers for each row (B, n)."""
    return constant(values, torch.float32, image.device).expand(len(image), -1)


def _part(kind: int, size: int, flag: int, columns: Sequence[Tensor], gate: Tensor | None) -> Part:
    """A part of a program that changes the rows of a gate (B,) bool."""
    if gate is not None:
        columns, flag = [gate.unsqueeze(1).to(torch.float32), *columns], flag | program.GATED
    return Part(kind, size, flag, columns[0] if len(columns) == 1 else torch.cat(list(columns), 1))


def _closed(gate: Tensor | None, numbers: Tensor, neutral: Sequence[float]) -> Tensor:
    """Numbers (B, n), neutral ones where a gate is closed."""
    if gate is None:
        return numbers
    return torch.where(gate.unsqueeze(1), numbers, constant(neutral, numbers.dtype, numbers.device))


def _gated_shares(gate: Tensor | None, shares: Tensor) -> Tensor:
    """Shares (1 or B, C, C + 1), where a gate is closed those of each channel alone."""
    if gate is None:
        return shares
    plain = torch.eye(shares.shape[1], shares.shape[2], dtype=shares.dtype, device=shares.device)
    return torch.where(gate.view(-1, 1, 1), shares, plain)
