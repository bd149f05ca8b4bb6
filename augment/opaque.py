"""Opaque ops: the compiler sees one node with a shape rule, and the native kernels inside run as they do eager."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
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


def rowwise(
    name: str,
    config: str,
    row: Callable[..., Tensor],
    unchanged: Callable[..., list[bool]],
    size: Callable[..., Sequence[int]] = lambda image, params, *config: image.shape[-2:],
    raw: bool = False,
    unit: bool = False,
    read: Callable[..., list[Any]] = lambda image, params, *config: params.tolist(),
    runs: bool = False,
    keeps_format: bool = False,
    on_bytes: Callable[..., object] | None = None,
    whole: Callable[..., tuple[Tensor, list[bool]] | None] = lambda image, params, values, *config: None,
    dtype: Callable[..., torch.dtype] = lambda image, params, *config: image.dtype,
) -> Any:
    """Register ``augment::name(image, params, *config)`` from a function of one row, with its backward.

    The rows of a batch are done one by one, so that a row's intermediates stay in the cache, each row takes the
    cheapest way that its own parameters allow, and a row that does not change is copied bit for bit.

    Args:
        name: name of the op.
        config: schema of the static arguments, such as ``"int mode, float[] fill"``.
        row: ``(image (C, H, W), params[i], values[i], *config, out=None) -> (C, h, w)``, made of differentiable torch
            functions. Its image is in the working dtype: float64 for float64, else float32. Where there is an ``out``,
            nothing is differentiated, and the row may write into it and give it back.
        unchanged: ``(image, params, values, *config)`` to a bool for each row, whether it comes out as it went in.
        size: ``(image, params, *config) -> (h, w)``, the output's size.
        raw: hand the row over in its own dtype.
        unit: bring a uint8 row to [0, 1] and back; otherwise it is worked on as 0..255.
        read: ``(image, params, *config)`` to the values of each row, by default the params as nested lists of numbers.
        runs: hand neighbouring rows of equal values over together, (n, C, H, W) and the params of the first.
        keeps_format: give bytes that are channels last back as such; ``row`` writes into an ``out`` that is no block.
        on_bytes: ``(image, params[i], values[i], *config, out=out)``, which takes a uint8 row in place of ``row``.
        whole: ``(image, params, values, *config)`` to an output, in the format of the image, in which some rows are
            right already, and which; None where the rows have no work in common.
        dtype: ``(image, params, *config)`` to the output's dtype, by default the image's. Bytes that come out as floats
            do so as the row has them.
    """

    def output_like(image: Tensor, params: Tensor, *config: Any) -> Tensor:
        shape = (*image.shape[:2], *size(image, params, *config))
        if keeps_format:
            return empty_bytes_like(image, shape)
        return image.new_empty(shape, dtype=dtype(image, params, *config))

    def forward(image: Tensor, params: Tensor, *config: Any) -> Tensor:
        values = read(image, params, *config)
        same = unchanged(image, params, values, *config)
        dense = image.is_contiguous() or (keeps_format and holds_pixels(image))
        begun = whole(image, params, values, *config) if dense else None
        output, done = (output_like(image, params, *config), [False] * len(same)) if begun is None else begun
        images, outputs, given = image.unbind(), output.unbind(), params.unbind()
        for start, stop in _runs(same, values if runs else None):
            if done[start]:
                continue
            several = runs or (same[start] and stop - start > 1)
            source, out = (image[start:stop], output[start:stop]) if several else (images[start], outputs[start])
            if same[start]:
                out.copy_(source if out.dtype == source.dtype else load(source, unit))
                continue
            if on_bytes is not None and image.dtype == torch.uint8:
                on_bytes(source, given[start], values[start], *config, out=out)
                continue
            work = source if raw else load(source, unit)
            into = out if raw or out.dtype == work.dtype else None
            result = row(work, given[start], values[start], *config, out=into)
            if result is not out:
                floats = result.is_floating_point() and not out.is_floating_point()
                out.copy_(rounded(result, unit) if floats else result)
        return output

    def backward_fake(
        gradient: Tensor, image: Tensor, params: Tensor, learns: bool, *config: Any
    ) -> tuple[Tensor, Tensor]:
        return image.new_empty(image.shape), params.new_empty(params.shape)

    def backward(gradient: Tensor, image: Tensor, params: Tensor, learns: bool, *config: Any) -> tuple[Tensor, Tensor]:
        grad_image, grad_params = image.new_zeros(image.shape), params.new_zeros(params.shape)
        values, floats = read(image, params, *config), image.is_floating_point()  # bytes have no gradient
        for i, same in enumerate(unchanged(image, params, values, *config)):
            if same and floats:
                grad_image[i] = gradient[i]
            if learns or not same:
                leaf, leaf_p = image[i].detach().requires_grad_(floats), params[i].detach().requires_grad_(learns)
                with torch.enable_grad(), recording():
                    output = row(leaf if raw else load(leaf, unit), leaf_p, values[i], *config)
                    if output.requires_grad:
                        output.backward(gradient[i].to(output.dtype))
                if leaf.grad is not None and not same:
                    grad_image[i] = leaf.grad
                if leaf_p.grad is not None:
                    grad_params[i] = leaf_p.grad
        return grad_image, grad_params

    fields = f", {config}" if config else ""
    op = define(name, f"(Tensor image, Tensor params{fields}) -> Tensor", forward, output_like)
    vjp = define(
        f"{name}_backward",
        f"(Tensor gradient, Tensor image, Tensor params, bool learns{fields}) -> (Tensor, Tensor)",
        backward,
        backward_fake,
    )

    def twice(ctx: Any, *gradients: Tensor) -> Any:
        raise RuntimeError(f"augment::{name} can be differentiated once, not twice")

    torch.library.register_autograd(f"augment::{name}_backward", twice, lib=LIBRARY)

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        image, params, *ctx.config = inputs
        ctx.save_for_backward(image, params)

    def autograd(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        grad_image, grad_params = vjp(gradient, *ctx.saved_tensors, ctx.needs_input_grad[1], *ctx.config)
        return grad_image, grad_params, *(None for _ in ctx.config)

    torch.library.register_autograd(f"augment::{name}", autograd, setup_context=setup_context, lib=LIBRARY)
    return op


def _runs(same: list[bool], values: list[Any] | None) -> Iterator[tuple[int, int]]:
    """Give the neighbouring rows that are done at once, from the first to behind the last.

    They are those that do not change, and those of equal values where there are any.
    """
    keys = [None if copied else (i if values is None else values[i]) for i, copied in enumerate(same)]
    start = 0
    for _, run in itertools.groupby(keys):
        stop = start + len(list(run))
        yield start, stop
        start = stop


def holds_pixels(image: Tensor) -> bool:
    """Say whether an image (B, C, H, W) is of bytes and the channels of a pixel lie side by side."""
    last = image.is_contiguous(memory_format=torch.channels_last) and not image.is_contiguous()
    return last and image.dtype == torch.uint8


def empty_bytes_like(image: Tensor, shape: Sequence[int]) -> Tensor:
    """Give memory of a shape (B, C, h, w), where bytes that are channels last stay so."""
    form = torch.channels_last if holds_pixels(image) else torch.contiguous_format
    return torch.empty(shape, dtype=image.dtype, device=image.device, memory_format=form)


KEPT: dict[tuple[Any, ...], Tensor] = {}


def _kept(values: list[float], dtype: torch.dtype, device: torch.device) -> Tensor:
    key = (*values, dtype, device)
    if key not in KEPT:
        KEPT[key] = torch.tensor(values, dtype=dtype, device=device)
    return KEPT[key].clone()


_constant = define(
    "constant",
    "(float[] values, ScalarType dtype, Device device) -> Tensor",
    _kept,
    lambda values, dtype, device: torch.empty(len(values), dtype=dtype, device=device),
)


def constant(values: Sequence[float], dtype: torch.dtype, device: torch.device) -> Tensor:  # (n,)
    """Give fixed numbers as a tensor. A GPU keeps them, for to send them there would wait until it is idle."""
    if device.type == "cpu":
        return torch.tensor(values, dtype=dtype)
    return _constant(values, dtype, device)


class Kept:
    """Fixed numbers that a call reads on any device."""

    def __init__(self, numbers: Tensor) -> None:
        self.numbers, self.values = numbers, numbers.flatten().tolist()

    def __len__(self) -> int:
        return len(self.numbers)

    def on(self, device: torch.device) -> Tensor:
        """Give them on a device."""
        if device.type == "cpu":
            return self.numbers
        return constant(self.values, self.numbers.dtype, device).view(self.numbers.shape)


def recording() -> Any:
    """Let autograd record also where compiled code has taken it out of the dispatch."""
    return torch._C._SetExcludeDispatchKeyGuard(torch._C.DispatchKey.AutogradFunctionality, False)


def full_precision(device: torch.device) -> AbstractContextManager[Any]:
    """Let arithmetic keep its dtype under autocast, which takes time to turn off where it is off."""
    on = torch.is_autocast_enabled(device.type)
    return torch.autocast(device.type, enabled=False) if on else nullcontext()


def load(image: Tensor, unit: bool = False) -> Tensor:
    """Give an image in the dtype that arithmetic is done in; ``unit`` brings uint8 from 0..255 to [0, 1]."""
    if image.dtype == torch.float64:
        return image
    return image.float().div_(255) if unit and image.dtype == torch.uint8 else image.float()


def store(image: Tensor, dtype: torch.dtype, unit: bool = False) -> Tensor:
    """Give a computed image in its own dtype again: one rounding and one saturation for uint8."""
    if dtype.is_floating_point or image.dtype == dtype:
        return image.to(dtype)
    levels = (image * 255).round() if unit else image.round()  # not in place, which a traced draw may refuse
    return levels.clamp(0, 255).to(dtype)


def rounded(image: Tensor, unit: bool = False) -> Tensor:
    """Give the levels of a computed image, which is written over, as int16: floats to bytes is not vectorised."""
    return (image.mul_(255) if unit else image).round_().clamp_(0, 255).short()
