"""What kernels that go row by row share: their registration as opaque ops, and the rows that stay."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from ..common.dtypes import load, rounded, store
from ..common.opaque import LIBRARY, define, recording

Rows = list[list[float]]
Out = Tensor | None


def keep_rows(keep: Tensor, image: Tensor, output: Tensor, unit: bool = False) -> Tensor:
    """Give the image's own dtype to the output of a whole batch, and put the unchanged rows back."""
    output = store(output, image.dtype, unit)
    return torch.where(keep.view(-1, 1, 1, 1), image, output) if output.shape == image.shape else output


def widened(image: Tensor, params: Tensor, *config: object) -> torch.dtype:
    """Give the dtype that comes out where the last of the static arguments says whether bytes become floats."""
    return torch.float32 if config[-1] and image.dtype == torch.uint8 else image.dtype


def read_nothing(image: Tensor, params: Tensor, *_: object) -> list[None]:
    """Leave the params of the rows where they are."""
    return [None] * len(params)


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
