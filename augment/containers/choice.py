"""Choices: containers that run some of their ops, chosen for every row of a batch."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from ..common.arguments import probability
from .selection import Selection, how_many, weights_for
from .sequential import AugmentationSequential


class Choice(AugmentationSequential):
    """Base class of the choices.

    The ops of a choice keep their own ``p``: one that was chosen changes a row with that probability. What was not
    chosen for a row has a closed gate there, so that the row goes through bit for bit. Where ops change the size, at
    most one may be chosen, and all have to give the same size; a row without any is then what a closed gate of the
    first makes of it.

    Args:
        *ops: ops, containers, or other modules, which see the images alone; at least one.
        **options: those of ``AugmentationSequential`` but ``random_apply``.
    """

    def __init__(self, *ops: nn.Module, **options: Any) -> None:
        name = type(self).__name__
        foreign = [key for key in options if key.startswith("random_apply")]
        if foreign:
            raise TypeError(f"{name}: expected no {foreign[0]}, for it chooses by itself")
        if not ops:
            raise ValueError(f"{name}: ops: expected at least one, got none")
        super().__init__(*ops, **options)

    def choose(self, selection: Selection) -> None:
        """Run what a selection draws."""
        self.selection = selection
        self.plan(self.extra_args)

    def extra_repr(self) -> str:
        chosen = self.selection
        if chosen is None:
            return ""
        own = f"n={chosen.n}, weights={chosen.weights}, replace={chosen.replace}, p={chosen.p}"
        return "\n".join(filter(None, (own, super().extra_repr())))


class OneOf(Choice):
    """Apply one of the ops to every row.

    Args:
        *ops: ops, containers, or other modules.
        p: probability that a row gets any; a tensor can be set anew without a recompile.
        weights: of the ops, not negative; None for equal ones.
        **options: those of ``AugmentationSequential``, such as ``data_keys`` and ``same_on_batch``.

    Example:
        >>> augment = OneOf(RandomHorizontalFlip(p=1.0), RandomInvert(p=1.0), weights=(0.9, 0.1))
        >>> image = augment(torch.rand(2, 3, 8, 8))
    """

    def __init__(
        self, *ops: nn.Module, p: float | Tensor = 1.0, weights: Sequence[float] | None = None, **options: Any
    ) -> None:
        super().__init__(*ops, **options)
        checked = weights_for(weights, len(ops), "weights")
        self.choose(Selection(len(ops), (1, 1), checked, p=probability(p, "p")))


class SomeOf(Choice):
    """Apply some of the ops to every row, in the order of the ops.

    Args:
        *ops: ops, containers, or other modules.
        n: how many are chosen for a row: a number, or a pair (least, most), each number equally likely.
        p: probability that a row gets any; a tensor can be set anew without a recompile.
        weights: of the ops, not negative; None for equal ones. Ops are drawn one after the other, each with the share
            that its weight has among those that are left.
        replace: whether an op can be drawn again; then they run in the order in which they were drawn, each time with
            parameters of its own.
        **options: those of ``AugmentationSequential``, such as ``data_keys`` and ``same_on_batch``.
    """

    def __init__(
        self,
        *ops: nn.Module,
        n: int | Sequence[int] = 1,
        p: float | Tensor = 1.0,
        weights: Sequence[float] | None = None,
        replace: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(*ops, **options)
        checked = weights_for(weights, len(ops), "weights")
        most = sum(map(bool, checked)) if checked else len(ops)
        limits = how_many(n, most, "n", None if replace else most)
        self.choose(Selection(len(ops), limits, checked, replace, p=probability(p, "p")))


class RandomOrder(Choice):
    """Apply all of the ops to every row, in an order drawn for it.

    Args:
        *ops: ops, containers, or other modules.
        p: probability that a row gets any; a tensor can be set anew without a recompile.
        **options: those of ``AugmentationSequential``, such as ``data_keys`` and ``same_on_batch``.
    """

    def __init__(self, *ops: nn.Module, p: float | Tensor = 1.0, **options: Any) -> None:
        super().__init__(*ops, **options)
        self.choose(Selection(len(ops), (len(ops), len(ops)), shuffled=True, p=probability(p, "p")))


class RandomApply(Choice):
    """Apply all of the ops, one after the other, to some of the rows.

    Args:
        ops: a list of ops, containers, or other modules; or one of them.
        p: probability that a row gets them; a tensor can be set anew without a recompile.
        **options: those of ``AugmentationSequential``, such as ``data_keys`` and ``same_on_batch``.
    """

    def __init__(self, ops: Sequence[nn.Module] | nn.Module, p: float | Tensor = 0.5, **options: Any) -> None:
        several = isinstance(ops, (Sequence, nn.ModuleList))
        super().__init__(AugmentationSequential(*ops) if several else ops, **options)
        self.choose(Selection(1, (1, 1), p=probability(p, "p")))
