"""The one random draw of a call, opaque to the compiler."""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any
from weakref import WeakValueDictionary

import torch
from torch import Tensor

from ..common.opaque import define


class Stream:
    """A ``torch.Generator`` under a number, which is all that a compiled graph sees of it.

    A copied or unpickled stream goes on from the state that the generator had.
    """

    table: "WeakValueDictionary[int, Stream]" = WeakValueDictionary()
    numbers = itertools.count(1)

    def __init__(self, generator: torch.Generator) -> None:
        self.replace(generator)
        self.number = next(self.numbers)
        self.table[self.number] = self

    def replace(self, generator: torch.Generator) -> None:
        """Go on with another generator under the same number."""
        if not isinstance(generator, torch.Generator):
            raise TypeError(f"generator: expected a torch.Generator, got {generator!r}")
        self.generator = generator

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_stream, (str(self.generator.device), self.generator.get_state())


def _restore_stream(device: str, state: Tensor) -> Stream:
    generator = torch.Generator(device)
    generator.set_state(state.clone())
    return Stream(generator)


def _generator(stream: int, device: torch.device) -> torch.Generator | None:
    if stream == 0:
        return None
    generator = Stream.table[stream].generator
    if generator.device.type != device.type:
        raise ValueError(f"generator: expected one on {device.type}, as the image is; got one on {generator.device}")
    return generator


def _noise(
    gate: Tensor, shape: Sequence[int], normal: bool, a: float, b: float, stream: int, after: Sequence[Tensor]
) -> Tensor:
    """Fill the open rows, one by one where the host can see which they are."""
    generator = _generator(stream, gate.device)
    noise = torch.zeros((len(gate), *shape), device=gate.device)
    for row in [noise[i] for i in gate.nonzero().flatten().tolist()] if gate.is_cpu else [noise]:
        row.normal_(a, b, generator=generator) if normal else row.uniform_(a, b, generator=generator)
    return noise


_RANDOM = (torch.Tag.nondeterministic_seeded,)
uniform = define(
    "uniform",
    "(SymInt[] shape, Device device, int stream, Tensor[] after) -> Tensor",
    lambda shape, device, stream, after: torch.rand(shape, device=device, generator=_generator(stream, device)),
    lambda shape, device, stream, after: torch.empty(shape, device=device),
    tags=_RANDOM,
)
noise = define(
    "noise",
    "(Tensor gate, SymInt[] shape, bool normal, float a, float b, int stream, Tensor[] after) -> Tensor",
    _noise,
    lambda gate, shape, *_: torch.empty((gate.shape[0], *shape), device=gate.device),
    tags=_RANDOM,
)


def as_device(device: torch.device | str | None) -> torch.device:
    """A device by what names it; None for the default one."""
    if isinstance(device, torch.device):
        return device
    return torch.get_default_device() if device is None else torch.device(device)


class Drawing:
    """Base class of what draws, from a generator of its own or from the default one."""

    _stream: Stream | None = None
    _own_stream: Stream | None = None

    @property
    def generator(self) -> torch.Generator | None:
        """Where all in it draws from, eager and compiled; None for the default generator of the image's device."""
        return None if self._stream is None else self._stream.generator

    @generator.setter
    def generator(self, generator: torch.Generator | None) -> None:
        if generator is not None and self._own_stream is not None:
            self._own_stream.replace(generator)  # under the number it had, so that nothing is compiled anew
        elif generator is not None:
            self._own_stream = Stream(generator)
        for module in self._drawing():
            module._stream = None if generator is None else self._own_stream

    def _drawing(self) -> "Iterable[Drawing]":
        """All that draws with it."""
        return [self]


class Draw:
    """What a sampler draws from: one packed block of uniforms for a call, and noise of image size.

    Args:
        shape: shape of the image batch, (B, C, *S).
        device: where to draw.
        columns: how many uniforms a row needs.
        stream: the generator to draw from; None is the default one of the device.
        same: draw one row and share it.
        after: tensors that were drawn before. To depend on them keeps the compiler from putting this draw first, which
            would give the two each other's numbers.
        p: probability that a row is open.
        p_batch: probability that a batch is looked at at all.

    Attributes:
        u: uniforms in [0, 1), (B, columns), besides those that decided on the gate.
        gate: the rows that will be applied, (B,) bool.
    """

    def __init__(
        self,
        shape: Sequence[int],
        device: torch.device,
        columns: int,
        stream: Stream | None,
        same: bool,
        after: Sequence[Tensor],
        p: float | Tensor = 1.0,
        p_batch: float = 1.0,
    ) -> None:
        by_row, by_batch = isinstance(p, Tensor) or 0 < p < 1, 0 < p_batch < 1
        first = 1 if by_row else 0  # a sum of bools is no number to the compiler of torch 2.9
        gates = first + (1 if by_batch else 0)
        columns += gates
        self.shape = shape
        self.device = device
        self.source = stream  # keeps the number valid
        self.stream = 0 if stream is None else stream.number
        self.same = same
        self.drawn = list(after)
        rows = min(1, shape[0]) if same else shape[0]
        if columns:
            self.drawn.append(uniform([rows, columns], device, self.stream, self.drawn))
            self.u = self.drawn[-1].expand(shape[0], columns) if same else self.drawn[-1]
        else:
            self.u = torch.empty(shape[0], 0, device=device)
        if by_row:
            gate = self.u[:, 0] < (p.to(device) if isinstance(p, Tensor) else p)
        else:
            gate = torch.full((shape[0],), bool(p) and bool(p_batch), device=device)
        if by_batch:
            gate = gate & (self.u[:1, first] < p_batch)
        elif by_row and p_batch == 0:
            gate = torch.zeros_like(gate)
        self.gate, self.u = gate, self.u[:, gates:] if gates else self.u

    def normal(self, shape: Sequence[int], mean: float, std: float) -> Tensor:
        """Draw float32 normal noise (B, *shape); rows that stay closed may be zeros."""
        return self._rows(shape, True, mean, std)

    def uniform(self, shape: Sequence[int], low: float, high: float) -> Tensor:
        """Draw float32 uniform noise (B, *shape) in [low, high); rows that stay closed may be zeros."""
        return self._rows(shape, False, low, high)

    def _rows(self, shape: Sequence[int], normal: bool, a: float, b: float) -> Tensor:
        gate = torch.ones_like(self.gate[:1]) if self.same else self.gate
        self.drawn.append(noise(gate, shape, normal, a, b, self.stream, self.drawn))
        return self.drawn[-1].expand(self.shape[0], *shape)
