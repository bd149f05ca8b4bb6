"""Images as they may lie in memory, for the kernels in C."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from augment.kernels import built
from augment.kernels.kernel import Backend

OPEN = torch.tensor(True)  # the gate of one row
needs_kernels = pytest.mark.skipif(built.library is None, reason="the package was built without a C compiler")


def images(size: tuple[int, int], channels: int = 3) -> list[Tensor]:
    """Give an image of random bytes in four ways: planar, pixel by pixel, with gaps, and turned."""
    planar = torch.randint(0, 256, (channels, *size), dtype=torch.uint8)
    last = planar.permute(1, 2, 0).contiguous().permute(2, 0, 1)
    gaps = planar.new_zeros(channels, size[0] + 3, 2 * size[1])[:, 2:-1, ::2].copy_(planar)
    turned = planar.mT.contiguous().mT
    return [planar, last, gaps, turned]


def guarded(image: Tensor) -> tuple[Tensor, Tensor]:
    """Give memory for an image like another amid bytes that nobody may write, and a view of the whole."""
    whole = torch.full((image.numel() + 256,), 77, dtype=torch.uint8)
    dense = not image.is_contiguous() and image.permute(1, 2, 0).is_contiguous()
    shape = [image.shape[i] for i in (1, 2, 0)] if dense else image.shape
    inner = whole[128:-128].view(shape)
    return (inner.permute(2, 0, 1) if dense else inner), whole


def batched(args: Sequence[Any]) -> list[Any]:
    """Give the arguments of an image as those of a batch of one."""
    return [arg[None] if isinstance(arg, Tensor) else arg for arg in args]


def takes(backend: Backend, image: Tensor, *args: Any) -> bool:
    """Tell whether a backend takes an image."""
    return backend.takes(image[None], *batched(args))


def done(backend: Backend, image: Tensor, *args: Any, out_like: Tensor | None = None) -> Tensor:
    """Do an image by a backend, as a batch of one, and see that it wrote all of its output and nothing else.

    Tensors among the arguments are those of the image, without the axis of the batch.
    """
    out, whole = guarded(image if out_like is None else out_like)
    kept = image.clone()
    assert takes(backend, image, *args)
    backend.run(image[None], out[None], None, *batched(args))
    assert torch.equal(image, kept)
    assert (whole[:128] == 77).all() and (whole[-128:] == 77).all()
    return out


def near(found: Tensor, expected: Tensor) -> None:
    """See that bytes are those that numbers round to, but for a few that lie halfway between two."""
    off = (found.double() - expected.clamp(0, 255).round()).abs()
    assert off.max() <= 1
    assert (off > 0).double().mean() < 1e-3 or (off > 0).sum() <= 1


def exact(found: Tensor, expected: Tensor) -> None:
    """See that bytes are those that numbers round to, which do not lie halfway between two."""
    apart = ((expected + 0.5).frac() > 1e-3) & ((expected + 0.5).frac() < 1 - 1e-3)
    rounded = expected.clamp(0, 255).round()
    assert torch.equal(found[apart].double(), rounded[apart])
    assert (found.double() - rounded).abs().max() <= 1
