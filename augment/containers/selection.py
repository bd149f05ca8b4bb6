"""Which children of a container run for each row of a batch, and in which order."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..sampling.ranges import numbers, whole_numbers

SMALLEST = 1e-30  # a weight beside the largest, so that no quotient overflows


def weights_for(weights: Any, count: int, name: str) -> list[float] | None:
    """Check the weights of a choice out of ``count`` ops; None for equal ones."""
    if weights is None:
        return None
    values = numbers(weights, name)
    if len(values) != count:
        raise ValueError(f"{name}: expected {count} numbers, one for each op; got {weights!r}")
    if not all(math.isfinite(v) and v >= 0 for v in values) or not any(values):
        raise ValueError(f"{name}: expected finite numbers >= 0, not all of them 0; got {weights!r}")
    largest = max(values)
    return [max(v / largest, SMALLEST) if v else 0.0 for v in values]


def how_many(n: Any, count: int, name: str, most: int | None = None) -> tuple[int, int]:
    """(least, most) of a whole number, a pair of them, one of them to go up to ``count``, or a range."""
    if isinstance(n, int) and not isinstance(n, bool):
        low = high = n
    elif isinstance(n, range) and n.step == 1 and len(n):
        low, high = n[0], n[-1]
    elif isinstance(n, Sequence) and 1 <= len(n) <= 2 and all(type(v) is int for v in n):
        low, high = n[0], n[-1] if len(n) == 2 else count
    else:
        raise TypeError(f"{name}: expected a whole number or a pair (least, most) of them, got {n!r}")
    if not 0 <= low <= high or (most is not None and high > most):
        limit = "" if most is None else f" <= {most}, as many as can be chosen"
        raise ValueError(f"{name}: expected 0 <= least <= most{limit}; got {n!r}")
    return low, high


class Selection:
    """A random choice of children for every row.

    Args:
        count: number of children.
        n: (least, most) children to choose; each number is equally likely.
        weights: of the children, not negative; None for equal ones. A child is drawn with the share that its weight has
            among those that can still be drawn.
        replace: whether a child can be drawn again.
        shuffled: whether what was drawn runs in the order in which it was; else in the children's order.
        p: probability that a row gets anything.

    Attributes:
        rounds: how many times the children are gone through.
        columns: how many uniforms a row needs, besides that for ``p``.
    """

    def __init__(
        self,
        count: int,
        n: tuple[int, int],
        weights: list[float] | None = None,
        replace: bool = False,
        shuffled: bool = False,
        p: float | Tensor = 1.0,
    ) -> None:
        self.count, self.n, self.weights, self.replace, self.shuffled, self.p = count, n, weights, replace, shuffled, p
        self.rounds = n[1] if shuffled or replace else 1
        self.columns = (n[0] < n[1]) + (n[1] if replace else count)

    @property
    def single(self) -> bool:
        """Whether no row gets more than one child."""
        return self.rounds == 1 and self.n[1] <= 1

    def __call__(self, u: Tensor) -> Tensor:  # (B, columns) to (B, rounds, count) bool
        """Turn uniforms into which child runs in which round."""
        columns = iter(u.unbind(1))
        low, high = self.n
        total = whole_numbers(next(columns), low, high).view(-1, 1, 1) if low < high else high
        rest = list(columns)
        rounds = torch.arange(self.rounds, device=u.device).view(-1, 1)
        if self.replace:
            runs = (torch.stack([self._pick(v) for v in rest], 1) if rest else u.new_zeros(len(u), 0)).unsqueeze(-1)
            return (runs == torch.arange(self.count, device=u.device)) & (rounds < total)
        place = self._places(rest).unsqueeze(1)
        return (place < total) & (place == rounds) if self.shuffled else place < total

    def _pick(self, u: Tensor) -> Tensor:
        """Draw one child (B,) by a uniform."""
        sums = list(itertools.accumulate(self.weights or [1.0] * self.count))
        return torch.stack([u >= edge / sums[-1] for edge in sums]).sum(0).clamp(max=self.count - 1)

    def _places(self, columns: list[Tensor]) -> Tensor:
        """Draw the place (B, count) of each child in a random order: that of its arrival, by the rate of its weight.

        Independent exponential times come in the order of a draw without replacement (P. Efraimidis, P. Spirakis,
        "Weighted random sampling with a reservoir", 2006).
        """
        if self.weights is not None:
            columns = [
                -torch.log1p(-u) / w if w else torch.full_like(u, torch.inf)
                for u, w in zip(columns, self.weights, strict=True)
            ]
        times = torch.stack(columns, 1)
        one, other = times.unsqueeze(2), times.unsqueeze(1)
        index = torch.arange(self.count, device=times.device)
        return ((other < one) | ((other == one) & (index < index.unsqueeze(1)))).sum(-1)
