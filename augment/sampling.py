"""The one random draw, opaque to the compiler, and the ranges that turn uniforms into named parameters."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

import torch
from torch import Tensor

from .opaque import define

Bounds = float | Tensor | Sequence[float]


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

    @classmethod
    def renewed(cls, own: "Stream | None", generator: torch.Generator) -> "Stream":
        """Give an owner's stream with another generator, under the number it had, so that nothing is compiled anew."""
        if own is None:
            return cls(generator)
        own.replace(generator)
        return own

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


def _uniform(shape: Sequence[int], device: torch.device, stream: int, after: Sequence[Tensor]) -> Tensor:
    return torch.rand(shape, device=device, generator=_generator(stream, device))


def _normal_noise(
    gate: Tensor, shape: Sequence[int], mean: float, std: float, stream: int, after: Sequence[Tensor]
) -> Tensor:
    return _noise(gate, shape, lambda row, generator: row.normal_(mean, std, generator=generator), stream)


def _uniform_noise(
    gate: Tensor, shape: Sequence[int], low: float, high: float, stream: int, after: Sequence[Tensor]
) -> Tensor:
    return _noise(gate, shape, lambda row, generator: row.uniform_(low, high, generator=generator), stream)


def _noise(gate: Tensor, shape: Sequence[int], fill: Callable[..., Tensor], stream: int) -> Tensor:
    """Fill the open rows, one by one where the host can see which they are."""
    generator = _generator(stream, gate.device)
    noise = torch.zeros((len(gate), *shape), device=gate.device)
    for row in [noise[i] for i in gate.nonzero().flatten().tolist()] if gate.is_cpu else [noise]:
        fill(row, generator)
    return noise


def _noise_fake(gate: Tensor, shape: Sequence[int], *_: Any) -> Tensor:
    return torch.empty((gate.shape[0], *shape), device=gate.device)


_RANDOM = (torch.Tag.nondeterministic_seeded,)
uniform = define(
    "uniform",
    "(SymInt[] shape, Device device, int stream, Tensor[] after) -> Tensor",
    _uniform,
    lambda shape, device, stream, after: torch.empty(shape, device=device),
    tags=_RANDOM,
)
normal_noise = define(
    "normal_noise",
    "(Tensor gate, SymInt[] shape, float mean, float std, int stream, Tensor[] after) -> Tensor",
    _normal_noise,
    _noise_fake,
    tags=_RANDOM,
)
uniform_noise = define(
    "uniform_noise",
    "(Tensor gate, SymInt[] shape, float low, float high, int stream, Tensor[] after) -> Tensor",
    _uniform_noise,
    _noise_fake,
    tags=_RANDOM,
)


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
        return self._rows(normal_noise, shape, mean, std)

    def uniform(self, shape: Sequence[int], low: float, high: float) -> Tensor:
        """Draw float32 uniform noise (B, *shape) in [low, high); rows that stay closed may be zeros."""
        return self._rows(uniform_noise, shape, low, high)

    def _rows(self, draw: Any, shape: Sequence[int], *bounds: float) -> Tensor:
        gate = torch.ones_like(self.gate[:1]) if self.same else self.gate
        self.drawn.append(draw(gate, shape, *bounds, self.stream, self.drawn))
        return self.drawn[-1].expand(self.shape[0], *shape)


class Range:
    """A closed range of one parameter, drawn uniformly.

    Args:
        bounds: (low, high), or one number for ``center`` -+ that number, cut at the domain's lower end. Tensors and
            parameters stay what they are, so that gradients reach them.
        name: what the user calls it, for messages.
        center: middle of the range that one number spans; None where a pair is required.
        domain: (lowest, highest) allowed value.
        part: which of the numbers make this range; None for all.
    """

    def __init__(
        self,
        bounds: Bounds,
        name: str,
        center: float | None = 0.0,
        domain: tuple[float, float] = (-math.inf, math.inf),
        part: slice | None = None,
    ) -> None:
        self.name, self.domain, self.part = name, domain, slice(None) if part is None else part
        values = numbers(bounds, name)[self.part]
        single = len(values) == 1
        if (single and center is None) or not 1 <= len(values) <= 2:
            raise ValueError(f"{name}: expected a pair (low, high), got {bounds!r}")
        if not all(map(math.isfinite, values)):
            raise ValueError(f"{name}: expected finite numbers, got {bounds!r}")
        self.center = center if single else None
        if single and center is not None:
            if values[0] < 0:
                raise ValueError(f"{name}: expected a single number >= 0, got {bounds!r}")
            values = [max(center - values[0], domain[0]), center + values[0]]
        if not domain[0] <= values[0] <= values[1] <= domain[1]:
            raise ValueError(f"{name}: expected low <= high within {list(domain)}, got {bounds!r}")
        self.bounds: Tensor | list[float] = bounds if isinstance(bounds, Tensor) else values

    @property
    def learns(self) -> bool:
        """Whether the bounds are a tensor, whose values may change."""
        return isinstance(self.bounds, Tensor)

    def limits(self, device: torch.device) -> tuple[Tensor, Tensor] | tuple[float, float]:
        """Give the lowest and the highest value."""
        if not isinstance(self.bounds, Tensor):
            return self.bounds[0], self.bounds[1]
        bounds = self.bounds.to(device).flatten()[self.part]
        if self.center is None:
            return bounds[0], bounds[1]
        return (self.center - bounds[0]).clamp(min=self.domain[0]), self.center + bounds[0]

    def scalars(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Give the lowest and the highest value as tensors without dimensions."""
        low, high = self.limits(device)
        if isinstance(low, Tensor) and isinstance(high, Tensor):
            return low, high
        return torch.full((), float(low), device=device), torch.full((), float(high), device=device)

    def __call__(self, u: Tensor) -> Tensor:
        """Map uniforms of any shape into the range."""
        low, high = self.limits(u.device)
        return u * (high - low) + low

    def check(self, value: Tensor, gate: Tensor, name: str) -> None:
        """Require values (B, ...) of the open rows to lie in the domain."""
        low, high = self.domain
        check((value >= low) & (value <= high), gate, f"{name}: expected values in [{low}, {high}]")

    def __repr__(self) -> str:
        low, high = (float(v) for v in self.limits(torch.device("cpu")))
        return f"({low:g}, {high:g})"


def numbers(bounds: Bounds, name: str) -> list[float]:
    """Give the numbers of a scalar, a sequence or a tensor of any shape."""
    if isinstance(bounds, Tensor):
        if bounds.dtype == torch.bool or bounds.is_complex() or bounds.is_meta:
            raise TypeError(f"{name}: expected real numbers, got {bounds!r}")
        return [float(b) for b in bounds.detach().flatten().tolist()]
    try:
        values = [bounds] if isinstance(bounds, (int, float)) else list(bounds)
        if isinstance(bounds, (str, bytes, Mapping)) or any(isinstance(v, (bool, str, bytes)) for v in values):
            raise TypeError
        return [float(v) for v in values]
    except OverflowError:
        raise ValueError(f"{name}: expected finite numbers, got {bounds!r}") from None
    except (TypeError, ValueError):
        raise TypeError(f"{name}: expected a number, a pair of numbers or a tensor, got {bounds!r}") from None


def whole_pair(value: Any, name: str, low: float, single: bool = False) -> tuple[int, int]:
    """Give (low, high) of whole numbers that are drawn with both ends; with ``single``, one number is the upper one."""
    values = numbers(value, name)
    values = [float(low), *values] if single and len(values) == 1 else values
    given = [value] if isinstance(value, (int, float)) else value
    whole = all(map(float.is_integer, values)) and not any(isinstance(v, float) for v in given)
    if len(values) != 2 or not whole or not low <= values[0] <= values[1] < 2**24:
        raise ValueError(f"{name}: expected whole numbers (low, high) from {low} on and < 2**24, got {value!r}")
    return int(values[0]), int(values[1])


def whole_numbers(u: Tensor, low: float, high: float) -> Tensor:
    """Map uniforms to whole numbers, each equally likely, both bounds among them."""
    return low + (u * (high - low + 1)).floor().clamp(max=high - low)


class Switch:
    """Whether values that are only known at run time are checked; ``checks(False)`` turns them off."""

    on = True


def checks(on: bool) -> None:
    """Turn the checks of sampled and handed-in parameter values on or off, for calls and traces from now on."""
    Switch.on = on


def check(condition: Tensor, gate: Tensor | None, message: str) -> None:
    """Require a condition (B, ...) of every row whose gate is open, or of all, without a wait for the device."""
    if Switch.on:
        held = condition if gate is None else condition | ~gate.view(-1, *(1 for _ in condition.shape[1:]))
        torch.ops.aten._assert_async.msg(held.all(), message)
