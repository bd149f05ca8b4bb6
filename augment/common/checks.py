"""Checks of values that are only known at run time."""

import torch
from torch import Tensor


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
