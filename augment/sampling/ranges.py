"""The ranges that turn uniforms into named parameters."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ..common.checks import check

Bounds = float | Tensor | Sequence[float]


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
        """The lowest and the highest value."""
        if not isinstance(self.bounds, Tensor):
            return self.bounds[0], self.bounds[1]
        bounds = self.bounds.to(device).flatten()[self.part]
        if self.center is None:
            return bounds[0], bounds[1]
        return (self.center - bounds[0]).clamp(min=self.domain[0]), self.center + bounds[0]

    def scalars(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """The lowest and the highest value as tensors without dimensions."""
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
    """The numbers of a scalar, a sequence or a tensor of any shape."""
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
    """(low, high) of whole numbers that are drawn with both ends; with ``single``, one number is the upper one."""
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
