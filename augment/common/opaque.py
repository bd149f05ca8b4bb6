"""Opaque ops: the compiler sees one node with a shape rule, and the native kernels inside run as they do eager."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

LIBRARY = torch.library.Library("augment", "DEF")
ROW_DEVICES = ("cpu",)  # where opaque ops do a batch row by row; elsewhere the graph holds what does it as a whole


def by_rows(tensor: Tensor) -> bool:
    """Say whether a batch is done row by row on a tensor's device, where the host can read a value without a wait."""
    return tensor.device.type in ROW_DEVICES


def define(
    name: str,
    signature: str,
    fn: Callable[..., Any],
    fake: Callable[..., Any],
    tags: Sequence[torch.Tag] = (),
) -> Any:
    """Register ``augment::name`` from its implementation and the function that gives its output's metadata."""
    LIBRARY.define(name + signature, tags=(*tags, torch.Tag.pt2_compliant_tag))
    LIBRARY.impl(name, fn, "CompositeExplicitAutograd")
    torch.library.register_fake(f"augment::{name}", fake, lib=LIBRARY)
    return getattr(torch.ops.augment, name).default


def recording() -> Any:
    """Let autograd record also where compiled code has taken it out of the dispatch."""
    return torch._C._SetExcludeDispatchKeyGuard(torch._C.DispatchKey.AutogradFunctionality, False)
