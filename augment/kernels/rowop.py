"""What kernels that go row by row share: their registration as opaque ops, and the rows that stay."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from ..common.dtypes import load, rounded, store
from ..common.opaque import define, differentiate, recording

Rows = list[list[float]]
Out = Tensor | None


def keep_rows(keep: Tensor, image: Tensor, output: Tensor, unit: bool = False) -> Tensor:
    """Give the image's own dtype to the output of a whole batch, and put the unchanged rows back."""
    output = store(output, image.dtype, unit)
    return torch.where(keep.view(-1, 1, 1, 1), image, output) if output.shape == image.shape else output


def widened(image: Tensor, params: Tensor, *config: object) -> torch.dtype:
    """The dtype that comes out where the last of the static arguments says whether bytes become floats."""
    return torch.float32 if config[-1] and image.dtype == torch.uint8 else image.dtype


def read_nothing(image: Tensor, params: Tensor, *_: object) -> list[None]:
    """Leave the params of the rows where they are."""
    return [None] * len(params)


def same_size(image: Tensor, params: Tensor, *config: object) -> Sequence[int]:
    """The image's own size."""
    return image.shape[-2:]


def same_dtype(image: Tensor, params: Tensor, *config: object) -> torch.dtype:
    """The image's own dtype."""
    return image.dtype


def read_numbers(image: Tensor, params: Tensor, *config: object) -> list[Any]:
    """The params of the rows, as nested lists of numbers."""
    return params.tolist()


def nothing_whole(image: Tensor, params: Tensor, values: list[Any], *config: object) -> None:
    """No output that is begun for all rows at once."""
    return None


class RowOp:
    """``augment::name(image, params, *config)``, made of a function of one row and registered with its backward.

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

    Attributes:
        op: what was registered, ``torch.ops.augment.name``.
    """

    def __init__(
        self,
        name: str,
        config: str,
        row: Callable[..., Tensor],
        unchanged: Callable[..., list[bool]],
        size: Callable[..., Sequence[int]] = same_size,
        raw: bool = False,
        unit: bool = False,
        read: Callable[..., list[Any]] = read_numbers,
        runs: bool = False,
        keeps_format: bool = False,
        on_bytes: Callable[..., object] | None = None,
        whole: Callable[..., tuple[Tensor, list[bool]] | None] = nothing_whole,
        dtype: Callable[..., torch.dtype] = same_dtype,
    ) -> None:
        self.name, self.row, self.unchanged, self.read = name, row, unchanged, read
        self.size, self.dtype, self.keeps_format = size, dtype, keeps_format
        self.raw, self.unit, self.runs, self.on_bytes, self.whole = raw, unit, runs, on_bytes, whole
        self.op, self.vjp = self.register(f", {config}" if config else "")

    def register(self, fields: str) -> tuple[Any, Any]:
        """Register the op and its backward, which is an op as well."""
        op = define(self.name, f"(Tensor image, Tensor params{fields}) -> Tensor", self.forward, self.output_like)
        signature = f"(Tensor gradient, Tensor image, Tensor params, bool learns{fields}) -> (Tensor, Tensor)"
        vjp = define(f"{self.name}_backward", signature, self.backward, self.gradients_like)
        differentiate(op, self.pull_back, self.remember)
        differentiate(vjp, self.refuse)
        return op, vjp

    def output_like(self, image: Tensor, params: Tensor, *config: Any) -> Tensor:
        """Memory for the output."""
        shape = (*image.shape[:2], *self.size(image, params, *config))
        if self.keeps_format:
            return empty_bytes_like(image, shape)
        return image.new_empty(shape, dtype=self.dtype(image, params, *config))

    def forward(self, image: Tensor, params: Tensor, *config: Any) -> Tensor:
        """The output, row by row."""
        values = self.read(image, params, *config)
        same = self.unchanged(image, params, values, *config)
        output, done = self.begin(image, params, values, config)
        images, outputs, given = image.unbind(), output.unbind(), params.unbind()
        runs, on_bytes = self.runs, self.on_bytes if image.dtype == torch.uint8 else None
        for start, stop in _runs(same, values if runs else None):
            if done is not None and done[start]:
                continue
            several = runs or (same[start] and stop - start > 1)
            source, out = (image[start:stop], output[start:stop]) if several else (images[start], outputs[start])
            if same[start]:
                out.copy_(source if out.dtype == source.dtype else load(source, self.unit))
            elif on_bytes is not None:
                on_bytes(source, given[start], values[start], *config, out=out)
            else:
                self.write(source, given[start], values[start], config, out)
        return output

    def begin(
        self, image: Tensor, params: Tensor, values: list[Any], config: tuple[Any, ...]
    ) -> tuple[Tensor, list[bool] | None]:
        """Memory for the output, and which rows of it are right already."""
        if self.whole is not nothing_whole and (image.is_contiguous() or (self.keeps_format and holds_pixels(image))):
            begun = self.whole(image, params, values, *config)
            if begun is not None:
                return begun
        return self.output_like(image, params, *config), None

    def write(self, source: Tensor, params: Tensor, values: Any, config: tuple[Any, ...], out: Tensor) -> None:
        """Write what becomes of one row, or of several alike, into its place."""
        work = source if self.raw else load(source, self.unit)
        into = out if self.raw or out.dtype == work.dtype else None
        result = self.row(work, params, values, *config, out=into)
        if result is not out:
            floats = result.is_floating_point() and not out.is_floating_point()
            out.copy_(rounded(result, self.unit) if floats else result)

    def gradients_like(
        self, gradient: Tensor, image: Tensor, params: Tensor, learns: bool, *config: Any
    ) -> tuple[Tensor, Tensor]:
        """Memory for the gradients of image and params."""
        return image.new_empty(image.shape), params.new_empty(params.shape)

    def backward(
        self, gradient: Tensor, image: Tensor, params: Tensor, learns: bool, *config: Any
    ) -> tuple[Tensor, Tensor]:
        """The gradients of image and params, row by row."""
        grad_image, grad_params = image.new_zeros(image.shape), params.new_zeros(params.shape)
        values, floats = self.read(image, params, *config), image.is_floating_point()  # bytes have no gradient
        for i, same in enumerate(self.unchanged(image, params, values, *config)):
            if same and floats:
                grad_image[i] = gradient[i]
            if learns or not same:
                leaf, leaf_p = image[i].detach().requires_grad_(floats), params[i].detach().requires_grad_(learns)
                with torch.enable_grad(), recording():
                    output = self.row(leaf if self.raw else load(leaf, self.unit), leaf_p, values[i], *config)
                    if output.requires_grad:
                        output.backward(gradient[i].to(output.dtype))
                if leaf.grad is not None and not same:
                    grad_image[i] = leaf.grad
                if leaf_p.grad is not None:
                    grad_params[i] = leaf_p.grad
        return grad_image, grad_params

    def remember(self, ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep what the backward needs."""
        image, params, *ctx.config = inputs
        ctx.save_for_backward(image, params)

    def pull_back(self, ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of all arguments."""
        grad_image, grad_params = self.vjp(gradient, *ctx.saved_tensors, ctx.needs_input_grad[1], *ctx.config)
        return grad_image, grad_params, *(None for _ in ctx.config)

    def refuse(self, ctx: Any, *gradients: Tensor) -> Any:
        """Nothing: a backward has none of its own."""
        raise RuntimeError(f"augment::{self.name} can be differentiated once, not twice")


def _runs(same: list[bool], values: list[Any] | None) -> Iterator[tuple[int, int]]:
    """The neighbouring rows that are done at once, from the first to behind the last.

    They are those that do not change, and those of equal values where there are any.
    """
    keys = [None if copied else (i if values is None else values[i]) for i, copied in enumerate(same)]
    start = 0
    for _, run in itertools.groupby(keys):
        stop = start + len(list(run))
        yield start, stop
        start = stop


def holds_pixels(image: Tensor) -> bool:
    """Whether an image (B, C, H, W) is of bytes and the channels of a pixel lie side by side."""
    last = image.is_contiguous(memory_format=torch.channels_last) and not image.is_contiguous()
    return last and image.dtype == torch.uint8


def empty_bytes_like(image: Tensor, shape: Sequence[int]) -> Tensor:
    """Give memory of a shape (B, C, h, w), where bytes that are channels last stay so."""
    form = torch.channels_last if holds_pixels(image) else torch.contiguous_format
    return torch.empty(shape, dtype=image.dtype, device=image.device, memory_format=form)
