"""What every container inside another has to know of a call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from .. import targets as tg
from ..base import Augmentation, Flags, Params
from ..replay import of_call, origin
from ..targets import Target
from . import values
from .params import ParamItem


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
    flags = tg.flags_for(op, call.options)
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
    return Turn(op, params, tg.flags_for(op, options), op.gate(params))
