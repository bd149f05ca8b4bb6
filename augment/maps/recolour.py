"""Recolourings: what an intensity op does to the colours of pixels.

An op says one of them. From it come floats, bytes and the graph of a GPU, and what follows another is one with it.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

import torch
from torch import Tensor

from .. import kernels
from ..common.constants import Kept
from ..common.dtypes import load, store
from ..kernels.colour import program
from ..kernels.colour.program import Part

RAMP = Kept(torch.arange(256.0) / 255)


class Recolour:
    """A change to the colours of an image (B, C, H, W), on the scale of [0, 1], in the rows of a gate.

    Attributes:
        gate: the rows (B,) bool that change; None for all.
        wide: whether bytes come out as float32.
        by_value: whether a value comes out by itself and its channel alone, by ``values``; else by ``planes``.
        straight: whether it is a line.
        placed: whether what comes out depends on where it is.
        drawn: whether it is an adjustment in an order that is known at run time only, which may be ``blended``.
        table: what it gives for the 256 levels of bytes, (B, 256); None where ``values`` says it.
    """

    gate: Tensor | None = None
    wide: bool = False
    by_value: ClassVar[bool] = False
    straight: ClassVar[bool] = False
    placed: bool = False
    drawn: bool = False
    table: Callable[[], Tensor] | None = None

    def gated(self, gate: Tensor | None) -> "Recolour":
        """The same in the rows of a gate (B,) bool alone."""
        self.gate = gate
        return self

    @property
    def parts(self) -> "list[Recolour]":
        """What follows each other in it."""
        return [self]

    def then(self, following: "Recolour") -> "Recolour":
        """Both as one: floats from the first to the last, rounded once."""
        return Recolours([*self.parts, *following.parts])

    def image(self, image: Tensor) -> Tensor:
        """An image (B, C, H, W), floating or bytes, recoloured; rows of a closed gate bit for bit."""
        parts = self.parts
        wide = any(part.wide for part in parts)
        dtype = torch.float32 if wide and image.dtype == torch.uint8 else image.dtype
        if kernels.recolour.serves(image):
            return _by_program(image, parts, dtype)
        output = _floats(load(image, unit=True), parts, dtype)
        return output.clone() if output is image else output

    def values(self, values: Tensor, channels: slice) -> Tensor:
        """Floating values (B, c, H, W) of some channels."""
        raise NotImplementedError(f"{type(self).__name__}: values is not written")

    def planes(self, planes: Sequence[Tensor]) -> Sequence[Tensor]:
        """The channels (B, H, W), floating, of an image."""
        raise NotImplementedError(f"{type(self).__name__}: planes is not written")

    def whole(self, image: Tensor) -> Tensor | None:
        """A floating image by a kernel of its own, gate included; None where there is none."""
        return None

    def blended(self, image: Tensor, shares: Tensor | None) -> Tensor:
        """A floating image, whose channels are blended then as ``shares`` (B, C, C + 1) say."""
        raise NotImplementedError(f"{type(self).__name__}: blended is not written")

    def part(self, image: Tensor) -> Part | None:
        """It as a part of a program for an image of bytes; None where it is none."""
        return None

    def shares(self, image: Tensor) -> Tensor | None:
        """What each channel gets of all of them and what is added, (1 or B, C, C + 1), where it does no more."""
        return None


class Recolours(Recolour):
    """Recolourings that follow each other."""

    def __init__(self, parts: "list[Recolour]") -> None:
        self.all = parts

    def gated(self, gate: Tensor | None) -> Recolour:
        for part in self.all:
            part.gated(gate)
        return self

    @property
    def parts(self) -> list[Recolour]:
        return self.all


# -------------------------------------------------------------------------------------------------------------- images


def _by_program(image: Tensor, parts: list[Recolour], dtype: torch.dtype) -> Tensor:
    """Bytes behind recolourings: by a program as far as there is one, and the rest in floats."""
    gates = [part.gate for part in parts if part.gate is not None]
    opens = None if len(gates) < len(parts) else gates[0] if len(gates) == 1 else torch.stack(gates).any(0)
    found = _table(image, parts)
    rest = parts[_leading(parts) :] if found else parts
    while rest and (code := rest[0].part(image)) is not None:
        found, rest = [*found, code], rest[1:]
    if not rest:
        return kernels.recolour(image, *program.written(found, opens, dtype != image.dtype))
    work = load(image, unit=True)
    if found:
        work = kernels.recolour(image, *program.written(found, opens, True))
    return _floats(work, rest, dtype)


def _leading(parts: Sequence[Recolour]) -> int:
    """How many parts at the beginning see a value alone, wherever it is."""
    tabled = [part.by_value and not part.placed for part in parts]
    return (*tabled, False).index(False)


def _table(image: Tensor, parts: Sequence[Recolour]) -> list[Part]:
    """Parts that begin and see a value alone as a table of bytes, where they are not all lines."""
    leading = parts[: _leading(parts)]
    if all(part.straight for part in leading):
        return []
    alike = not any(part.straight for part in leading)
    ramp = RAMP.on(image.device)
    only = leading[0].table if len(leading) == 1 else None
    if only is not None:
        table = _chosen(leading[0].gate, only(), ramp.view(1, -1))
        return [Part(program.TABLE, 1, 0, table.float())]
    values = ramp.view(1, 1, 16, 16).repeat(len(image), 1 if alike else image.shape[1], 1, 1)
    tables = _by_values(values, leading).flatten(1)
    return [Part(program.TABLE, values.shape[1], 0, tables.float())]


def _floats(image: Tensor, parts: Sequence[Recolour], dtype: torch.dtype) -> Tensor:
    """A floating image behind recolourings, in the dtype that it is to have.

    Channels are stored one by one: a pass over a stack would be one more when compiled, and miss the cache when not.
    """
    output = image
    if dtype.is_floating_point and all(part.by_value for part in parts):
        output = _by_values(image, parts)
    elif len(parts) == 1 and (whole := parts[0].whole(image)) is not None:
        output = whole
    else:
        output = _by_planes(image, list(parts), dtype)
    return store(output, dtype, unit=True)


def _by_planes(image: Tensor, rest: list[Recolour], dtype: torch.dtype) -> Tensor:
    planes: list[Tensor] = []
    while rest:
        part = rest.pop(0)
        if part.drawn:
            image, planes = torch.stack(planes, 1) if planes else image, []
            image = part.blended(image, _following_shares(image, rest))
            continue
        planes = planes or list(image.unbind(1))
        changed = _planes(part, planes)
        planes = [_chosen(part.gate, *pair) for pair in zip(changed, planes, strict=True)]
    return torch.stack([store(plane, dtype, unit=True) for plane in planes], 1) if planes else image


def _following_shares(image: Tensor, rest: list[Recolour]) -> Tensor | None:
    """How channels are blended by the parts that come next and do no more, which are taken away from the rest."""
    total = None
    while rest and (shares := rest[0].shares(image)) is not None:
        last = torch.eye(image.shape[1] + 1, dtype=shares.dtype, device=image.device)
        square = torch.cat([shares.expand(len(image), -1, -1), last[-1:].expand(len(image), 1, -1)], 1)
        total = square if total is None else (square.unsqueeze(-1) * total.unsqueeze(-3)).sum(-2)
        rest.pop(0)
    return None if total is None else total[:, :-1]


def _by_values(values: Tensor, parts: Sequence[Recolour]) -> Tensor:
    for part in parts:
        values = _chosen(part.gate, part.values(values, slice(None)), values)
    return values


def _planes(part: Recolour, planes: list[Tensor]) -> Sequence[Tensor]:
    if not part.by_value:
        return part.planes(planes)
    return [part.values(plane.unsqueeze(1), slice(c, c + 1)).squeeze(1) for c, plane in enumerate(planes)]


def _chosen(gate: Tensor | None, changed: Tensor, before: Tensor) -> Tensor:
    return changed if gate is None else torch.where(gate.view(-1, *[1] * (changed.ndim - 1)), changed, before)
