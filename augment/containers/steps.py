"""A child of a container in a call: what it is given, drawn, copied and led back by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..common.types import Flags, Params
from ..kinds.augmentation import Augmentation
from ..kinds.geometric import Geometric
from ..kinds.mix import Mix
from ..kinds.recorded import Recorded
from ..sampling.copies import copied, copied_params
from ..sampling.items import ParamItem
from ..sampling.params import of_call, origin
from ..targets import moving as mv
from ..targets import samples as values
from ..targets import target as tg
from ..targets.target import Target


@dataclass(frozen=True)
class Call:
    """How the parameters of a call are used.

    Args:
        handed_in: they were not drawn in this call, and are checked.
        gated: gates may be closed where no op closes them.
        options: the ``extra_args`` of the containers around, by data key.
        where: the path to the container, for messages.
        still: modules that are no ops have to keep the shape of images.
        frames: how many rows, one after the other, are a clip that moves as one.
    """

    handed_in: bool
    gated: bool
    options: Mapping[str, Flags]
    where: str
    frames: int = 1
    still: bool = False


@dataclass(frozen=True)
class Step:
    """A child in one round, with its parameters and the path to it, for messages."""

    child: nn.Module
    item: ParamItem
    where: str


class Turn(NamedTuple):
    """One op of a run in a call, with all that its kernel asks for."""

    op: Any
    params: Params
    flags: Flags
    gate: Tensor | None


def shape_for(step: Step, targets: Sequence[Target]) -> tuple[Sequence[int], torch.device]:
    """Give the shape (B, C, H, W) and the device of the images that an op is given, if need be by its params."""
    op = step.child
    assert isinstance(op, Augmentation)
    return values.shape_of(targets, lambda: origin(op, step.item.data, step.where))


def turn_of(step: Step, targets: Sequence[Target], shape: Sequence[int], device: torch.device, call: Call) -> Turn:
    """Make ready an op for images of a shape (B, C, H, W): its params checked if they were handed in, and its flags."""
    op, data = step.child, step.item.data
    assert isinstance(op, Augmentation)
    flags = mv.flags_for(op, call.options)
    if call.handed_in:
        data = op.checked_params(data, shape, device, step.where)
        tg.check_batch(targets, shape[0], None)
    op.check_shape(shape, flags)
    return Turn(op, data, flags, op.gate(data) if call.handed_in or call.gated or not op.always_open else None)


def given(step: Step, options: Mapping[str, Flags]) -> Turn:
    """Give an op as it was in an earlier call."""
    op = step.child
    assert isinstance(op, Augmentation)
    params, _ = of_call(op, step.item.data, step.where)
    return Turn(op, params, mv.flags_for(op, options), op.gate(params))


class Node(Recorded, nn.Sequential):
    """A container as the one around it sees it."""

    extra_args: dict[str, Flags]
    forward_parameters: Any
    copied: Any
    invert_targets: Any


def is_other(child: nn.Module) -> bool:
    """Say whether a child is a module that is no op."""
    return not isinstance(child, (Augmentation, Node))


def draw_child(
    child: nn.Module,
    shape: Sequence[int],
    generator: torch.Generator | None,
    device: torch.device | str | None,
    after: Sequence[Tensor],
    rows: Tensor | None,
) -> Any:
    """Draw the parameters of a child; of a module that has none, the rows that were chosen."""
    if isinstance(child, (Augmentation, Node)):
        return child.forward_parameters(shape, generator, device, after, rows)
    return None if rows is None else {"batch_prob": rows.float()}


def copied_child(child: nn.Module, data: Any, copies: int, block: int, rows: Tensor | None) -> Any:
    """Give the parameters of a child for copies of its rows; see ``copied_params``."""
    if isinstance(child, Node):
        return child.copied(data, copies, block, rows)
    if isinstance(child, Augmentation):
        return copied_params(child, data, copies, block, rows)
    if data is None:
        return None if rows is None else {"batch_prob": rows.float()}
    open = copied(data["batch_prob"], copies, block)
    return {"batch_prob": open if rows is None else open * rows}


def invert_child(step: Step, targets: list[Target], options: Mapping[str, Flags]) -> list[Target]:
    """Lead all targets back through one child."""
    child, data = step.child, step.item.data
    if isinstance(child, Node):
        return child.invert_targets(targets, data, {**options, **child.extra_args}, step.where)
    if isinstance(child, Mix) and not child.never_open:
        child.inverse()
    return mv.invert(child, targets, data, options, step.where) if isinstance(child, Geometric) else targets
