"""Opaque ops: the compiler sees one node with a shape rule, and the native kernels inside run as they do eager."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

LIBRARY = torch.library.Library("augment", "DEF")
MAKER: Any = getattr(torch._library, "autograd", None)  # of what ``torch.library.register_autograd`` registers
MAKES = hasattr(MAKER, "make_autograd_impl") and hasattr(MAKER, "Info")


def define(
    name: str,
    signature: str,
    fn: Callable[..., Any],
    fake: Callable[..., Any],
    tags: Sequence[torch.Tag] = (),
    on_cpu: Callable[..., Any] | None = None,
) -> Any:
    """Register ``augment::name`` by its function, maybe one for the CPU, and what gives its output's metadata."""
    LIBRARY.define(name + signature, tags=(*tags, torch.Tag.pt2_compliant_tag))
    LIBRARY.impl(name, fn, "CompositeExplicitAutograd")
    if on_cpu is not None:
        LIBRARY.impl(name, on_cpu, "CPU")
    torch.library.register_fake(f"augment::{name}", fake, lib=LIBRARY)
    return getattr(torch.ops.augment, name).default


def differentiate(
    op: Any,
    backward: Callable[..., Any],
    setup_context: Callable[..., None] | None = None,
) -> None:
    """Give an op its backward, as ``torch.library.register_autograd`` does.

    That compiles a class for each op, which took a third of the time of ``import augment``: here it does so when the op
    is first called. Where PyTorch has it in another place, it is done at once.
    """
    if not MAKES:
        torch.library.register_autograd(op._schema.name, backward, setup_context=setup_context, lib=LIBRARY)
        return
    kernel = functools.cache(lambda: MAKER.make_autograd_impl(op, MAKER.Info(backward, setup_context)))
    LIBRARY.impl(op, lambda keyset, *args: kernel()(keyset, *args), "Autograd", with_keyset=True)


def recording() -> Any:
    """Let autograd record also where compiled code has taken it out of the dispatch."""
    return torch._C._SetExcludeDispatchKeyGuard(torch._C.DispatchKey.AutogradFunctionality, False)
