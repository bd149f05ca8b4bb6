"""Whether there are kernels, and what they are handed."""

import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

try:
    from .. import _kernels as _built
except ImportError:
    _built = None

VERSION = 1  # of what is called, as in csrc/module.c
if _built is not None and getattr(_built, "VERSION", 0) != VERSION:
    warnings.warn(
        f"augment._kernels: expected version {VERSION}, got another, which is not used: install augment again",
        stacklevel=2,
    )
    _built = None

built: Any = _built


def ready() -> bool:
    """Say whether the package was built with kernels."""
    return built is not None


Place = tuple[int, Sequence[int], Sequence[int]]


def place(image: Tensor) -> Place:
    """Say where an image (C, H, W) lies."""
    return image.data_ptr(), image.shape, image.stride()


def fits(*images: Tensor) -> bool:
    """Say whether there are kernels for images."""
    return built is not None and all(
        image.device.type == "cpu" and image.dtype == torch.uint8 and image.ndim == 3 for image in images
    )


def dense_alike(one: Tensor, other: Tensor) -> bool:
    """Say whether two images lie in memory without gaps, and in the same order."""
    if one.is_contiguous():
        return other.is_contiguous()
    return one.stride() == other.stride() and one.permute(1, 2, 0).is_contiguous()


def flat(image: Tensor) -> bool:
    """Say whether the pixels of each channel (C, H, W) lie evenly apart, from the first to the last."""
    return image.stride(1) == image.shape[2] * image.stride(2) or image.shape[1] == 1
