"""What a container does with a child of any kind: an op, a container, or a module that is neither."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .. import targets as tg
from ..base import Augmentation, Flags
from ..copies import copied, copied_params
from ..kinds import Geometric
from ..mix import Mix
from ..recorded import Recorded
from ..targets import Target
from .call import Step


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
    return tg.invert(child, targets, data, options, step.where) if isinstance(child, Geometric) else targets
