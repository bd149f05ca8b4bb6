"""Whether there are kernels, and what they are handed."""

import functools
import struct
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from .kernel import Backend

try:
    import augment._kernels as _found
except ImportError:
    _found = None

VERSION = 2  # of what is called, as in csrc/module.c
if _found is not None and getattr(_found, "VERSION", 0) != VERSION:
    warnings.warn(
        f"augment._kernels: expected version {VERSION}, got another, which is not used: install augment again",
        stacklevel=2,
    )
    _found = None

library: Any = _found


def ready() -> bool:
    """Whether the package was built with kernels."""
    return library is not None


def backend(run: Callable[..., None], takes: Callable[..., bool] = lambda image, *args: True) -> Backend:
    """A backend of kernels in C for bytes; ``takes`` is asked where they were built."""
    return Backend(run, lambda image, *args: library is not None and takes(image, *args), "cpu", (torch.uint8,))


def run(
    kernel: str,
    image: Tensor,  # (B, C, H, W)
    out: Tensor,  # (B, C, h, w), where to write
    open: Tensor | None,  # (B,) bool, the rows to do; others are copied. None for all
    params: Tensor | None = None,  # (B, ...), what the kernel takes for each row, in its dtype
    config: bytes = b"",  # what it takes for all rows
) -> None:
    """Do a batch by a kernel in C, on as many threads as PyTorch has and the work is worth."""
    rows = None if open is None else open.contiguous()
    params = None if params is None else params.contiguous()
    address, step = (0, 0) if params is None else (params.data_ptr(), params.stride(0) * params.element_size())
    places = _place(image), _place(out), 0 if rows is None else rows.data_ptr(), address, step
    library.run(_number(kernel), *places, config, torch.get_num_threads())


@functools.cache
def _number(kernel: str) -> int:
    """The number of a kernel."""
    return library.names().index(kernel)


def _place(images: Tensor) -> tuple[int, Sequence[int], Sequence[int], int]:
    """Where a batch lies. An axis of one pixel has the stride that others imply, which PyTorch lets be anything."""
    (step, plane, line, pixel), (_, _, height, width) = images.stride(), images.shape
    if width == 1:
        pixel = line if height > 1 else 1
    if height == 1:
        line = width * pixel
    return images.data_ptr(), images.shape, (step, plane, line, pixel), images.element_size()


MOST_PIXELS = 2**28  # whose places 32 bits count


def samples(image: Tensor, fill: list[float]) -> bool:
    """Whether bytes may be taken from anywhere in an image, and a fill beside it."""
    pixels = (image.shape[2] + 3) * (image.shape[3] + 3)
    return image.numel() > 0 and pixels <= MOST_PIXELS and all(0 <= level <= 255 for level in fill)


def sampling(image: Tensor, padding: int, fill: list[float], projective: bool = False, filtered: bool = False) -> bytes:
    """What all rows of a warp have in common, as in csrc/warp/warp.h."""
    levels = fill * image.shape[1] if len(fill) == 1 else fill or [0.0] * image.shape[1]
    return struct.pack(f"3i{image.shape[1]}f", padding, projective, filtered, *levels)
