"""One entry for every kernel: what a batch is computed by, and all that kernels have in common."""

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..common.dtypes import load, rounded, store
from ..common.opaque import define, differentiate, recording

Out = Tensor | None


class Backend(NamedTuple):
    """One way to compute a kernel.

    Attributes:
        run: ``(image, out, open, *args)``, which writes the rows of ``out`` that are ``open`` (B,) bool, or all
            where it is None, and copies the others.
        takes: ``(image, *args)`` to whether it can, asked once a batch.
        device: the type of device that it is for.
        dtypes: the dtypes of images that it is for; empty for any.
    """

    run: Callable[..., None]
    takes: Callable[..., bool] = lambda image, *args: True
    device: str = "cpu"
    dtypes: Sequence[torch.dtype] = ()

    def serves(self, image: Tensor) -> bool:
        """Whether it is for images on this device and of this dtype."""
        return image.device.type == self.device and (not self.dtypes or image.dtype in self.dtypes)


def same_size(image: Tensor, *args: object) -> Sequence[int]:
    """The image's own size."""
    return image.shape[-2:]


def same_dtype(image: Tensor, *args: object) -> torch.dtype:
    """The image's own dtype."""
    return image.dtype


class Kernel:
    """What is computed of a batch of images, by whatever is there to do so.

    Where a backend is for the device, it is an opaque op ``augment::name``, which asks the backends in their order and
    falls back on the maths. Elsewhere the maths are part of the graph. The backward is that of the maths.

    Args:
        schema: its name and arguments, as ``torch.library`` has them: ``"sharpen(Tensor image, Tensor factor)"``. The
            image (B, C, H, W) comes first, then tensors with a row for each image, then what is the same for all rows.
        maths: ``(image, *args) -> output``, made of differentiable torch functions, for any device and dtype.
        opens: ``(image, *args)`` to the rows (B,) bool that change; others are copied bit for bit. None for all, which
            it may give back, too.
        backends: the ways to compute it.
        row: ``(image (C, H, W), *args, out) -> (C, h, w)``, a row by itself, for the CPU: its intermediates stay in the
            cache, and it may take a way that its own parameters allow. It may write into ``out``, if there is one, and
            give it back. Where there is a ``read``, it gets one of its values in place of the tensors.
        read: ``(image, *args)`` to a value for each row.
        values: what the maths and ``row`` take: the image as it is (``"own"``), or floating, its bytes as 0..255
            (``"levels"``) or brought to [0, 1] (``"unit"``).
        size: ``(image, *args) -> (h, w)``, the output's size.
        dtype: ``(image, *args)`` to the output's dtype. Bytes that come out as floats do so as they are computed.
        row_learns: whether the backward is that of ``row``, which then is differentiable where it gets no ``out``: for
            maths that do for every row what any of them needs.
        transpose: ``(gradient, size, *args)`` to the gradient of an image of that size, where the output is linear in
            it and nothing else learns. It takes the place of the backward, and can itself be differentiated.
    """

    def __init__(
        self,
        schema: str,
        maths: Callable[..., Tensor],
        opens: Callable[..., Tensor | None] | None = None,
        backends: Sequence[Backend] = (),
        row: Callable[..., Tensor] | None = None,
        read: Callable[..., Sequence[Any]] | None = None,
        values: str = "levels",
        size: Callable[..., Sequence[int]] = same_size,
        dtype: Callable[..., torch.dtype] = same_dtype,
        row_learns: bool = False,
        transpose: Callable[..., Tensor] | None = None,
    ) -> None:
        self.name, _, fields = schema.rstrip(")").partition("(")
        self.maths, self.opens, self.row, self.read, self.values = maths, opens, row, read, values
        self.size, self.dtype, self.row_learns, self.transpose = size, dtype, row_learns, transpose
        self.backends = [*backends, *([Backend(self.by_rows)] if row else [])]
        names = fields.split(", ")
        self.tensors = sum(field.startswith("Tensor ") for field in names) - 1
        self.op, self.vjp = self.register(fields, ", ".join(names[: self.tensors + 1]), names[self.tensors + 1 :])
        KERNELS[self.name] = self

    def register(self, fields: str, tensors: str, config: Sequence[str]) -> tuple[Any, Any]:
        """Register the op and its backward, which is an op as well."""
        op = define(self.name, f"({fields}) -> Tensor", self.forward, self.empty)
        if self.transpose is not None:
            differentiate(op, self.transposed, self.remember_size)
            return op, None
        results = ", ".join(["Tensor"] * (self.tensors + 1))
        signature = f"({', '.join(['Tensor gradient', tensors, 'bool[] learns', *config])}) -> ({results})"
        vjp = define(f"{self.name}_backward", signature, self.backward, self.empty_gradients)
        differentiate(op, self.pull_back, self.remember)
        differentiate(vjp, self.refuse)
        return op, vjp

    def serves(self, image: Tensor) -> bool:
        """Whether there is a backend for images on this device and of this dtype."""
        return any(backend.serves(image) for backend in self.backends)

    def __call__(self, image: Tensor, *args: Any) -> Tensor:
        """The output for a batch (B, C, H, W)."""
        if self.serves(image):
            return self.op(image, *args)
        output = store(self.maths(self.worked(image), *args), self.dtype(image, *args), self.values == "unit")
        open = self.opens(image, *args) if self.opens is not None and self.keeps(image, output) else None
        return output if open is None else torch.where(open.view(-1, 1, 1, 1), output, image)

    def worked(self, image: Tensor) -> Tensor:
        """An image in the values that the maths take."""
        return image if self.values == "own" else load(image, self.values == "unit")

    def keeps(self, image: Tensor, output: Tensor) -> bool:
        """Whether rows can stay: they come out in their own size and dtype."""
        return output.shape == image.shape and output.dtype == image.dtype

    def empty(self, image: Tensor, *args: Any) -> Tensor:
        """Memory for the output; bytes that are channels last stay so."""
        shape, dtype = (*image.shape[:2], *self.size(image, *args)), self.dtype(image, *args)
        last = dtype == torch.uint8 and holds_pixels(image)
        form = torch.channels_last if last else torch.contiguous_format
        return torch.empty(shape, dtype=dtype, device=image.device, memory_format=form)

    def forward(self, image: Tensor, *args: Any) -> Tensor:
        """The output of the first backend that takes the batch."""
        output = self.empty(image, *args)
        if output.numel() == 0:
            return output
        open = self.opens(image, *args) if self.opens is not None and self.keeps(image, output) else None
        for backend in self.backends:
            if backend.serves(image) and backend.takes(image, *args):
                try:
                    backend.run(image, output, open, *args)
                except MemoryError:
                    raise MemoryError(f"{_caller(self.name)}: no memory for {tuple(image.shape)}") from None
                return output
        self.by_rows(image, output, open, *args)
        return output

    def row_of_maths(self, image: Tensor, *args: Any, out: Out) -> Tensor:
        """A row by the maths."""
        rows = [arg.unsqueeze(0) for arg in args[: self.tensors]]
        return self.maths(image.unsqueeze(0), *rows, *args[self.tensors :])[0]

    def by_rows(self, image: Tensor, output: Tensor, open: Tensor | None, *args: Any) -> None:
        """Write the output row by row."""
        row, config = self.row or self.row_of_maths, args[self.tensors :]
        columns = [t.unbind() for t in args[: self.tensors]] if self.read is None else [self.read(image, *args)]
        change = [True] * len(image) if open is None else open.tolist()
        own, unit = self.values == "own", self.values == "unit"
        for i, (source, out) in enumerate(zip(image.unbind(), output.unbind(), strict=True)):
            if not change[i]:
                out.copy_(source)
                continue
            work = source if own else load(source, unit)
            into = out if own or out.dtype == work.dtype else None
            result = row(work, *(column[i] for column in columns), *config, out=into)
            if result is not out:
                floats = result.is_floating_point() and not out.is_floating_point()
                out.copy_(rounded(result, unit) if floats else result)

    # -------------------------------------------------------------------------------------------------- the way back

    def empty_gradients(self, gradient: Tensor, image: Tensor, *args: Any) -> tuple[Tensor, ...]:
        """Memory for the gradients of the image and of the tensors; empty where one is not asked for."""
        given = (image, *args[: self.tensors])
        return tuple(
            torch.empty_like(t, memory_format=torch.contiguous_format) if asked else t.new_empty(0)
            for t, asked in zip(given, args[self.tensors], strict=True)
        )

    def backward(self, gradient: Tensor, image: Tensor, *args: Any) -> tuple[Tensor, ...]:
        """The gradients of the image and of the tensors, row by row: a row that is copied hands its own on."""
        tensors, learns, config = args[: self.tensors], args[self.tensors], args[self.tensors + 1 :]
        found = self.empty_gradients(gradient, image, *args)
        open = None
        if self.opens is not None and self.keeps(image, self.empty(image, *tensors, *config)):
            open = self.opens(image, *tensors, *config)
        change = [True] * len(image) if open is None else open.tolist()
        for i, changes in enumerate(change):
            asked = [learns[0] and changes, *learns[1:]]
            given = [t[i : i + 1].detach().requires_grad_(ask) for t, ask in zip((image, *tensors), asked, strict=True)]
            with torch.enable_grad(), recording():
                output = self.differentiable(*given, *config) if any(asked) else None
                if output is not None and output.requires_grad:
                    output.backward(gradient[i : i + 1].to(output.dtype))
            for place, (into, leaf, ask) in enumerate(zip(found, given, asked, strict=True)):
                if place == 0 and learns[0] and not changes:
                    into[i] = gradient[i]
                elif ask:
                    into[i : i + 1] = 0 if leaf.grad is None else leaf.grad
        return found

    def differentiable(self, image: Tensor, *args: Any) -> Tensor:
        """One row (1, C, H, W), computed so that it can be differentiated."""
        if self.row is None or not self.row_learns:
            return self.maths(self.worked(image), *args)
        values = (a[0] for a in args[: self.tensors]) if self.read is None else self.read(image, *args)
        return self.row(self.worked(image)[0], *values, *args[self.tensors :], out=None).unsqueeze(0)

    def remember_size(self, ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep what the transpose needs."""
        ctx.size = inputs[0].shape[-2:]
        self.remember(ctx, inputs, output)

    def transposed(self, ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of all arguments where only the image has one."""
        assert self.transpose is not None
        _, *tensors = ctx.saved_tensors
        found = self.transpose(gradient, ctx.size, *tensors, *ctx.config)
        return found, *(None for _ in tensors), *(None for _ in ctx.config)

    def remember(self, ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep what the backward needs."""
        ctx.config = inputs[self.tensors + 1 :]
        ctx.save_for_backward(*inputs[: self.tensors + 1])

    def pull_back(self, ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of all arguments."""
        count = self.tensors + 1
        learns = [bool(asked) for asked in ctx.needs_input_grad[:count]]
        found = self.vjp(gradient, *ctx.saved_tensors, learns, *ctx.config)
        return *(g if asked else None for g, asked in zip(found, learns, strict=True)), *(None for _ in ctx.config)

    def refuse(self, ctx: Any, *gradients: Tensor) -> Any:
        """Nothing: a backward has none of its own."""
        raise RuntimeError(f"augment::{self.name} can be differentiated once, not twice")


KERNELS: dict[str, Kernel] = {}


def _caller(name: str) -> str:
    """The class of the op that is being called, for messages; a kernel's own name where there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        if isinstance(owner := frame.f_locals.get("self"), nn.Module):
            return type(owner).__name__
        frame = frame.f_back
    return name


def holds_pixels(image: Tensor) -> bool:
    """Whether the channels of a pixel of an image (B, C, H, W) lie side by side."""
    return image.is_contiguous(memory_format=torch.channels_last) and not image.is_contiguous()


def gate_of(image: Tensor, gate: Tensor, *args: object) -> Tensor:
    """The rows (B,) bool that open, where the first argument says which."""
    return gate
