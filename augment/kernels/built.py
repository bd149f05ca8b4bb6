"""Whether there are kernels, and what they are handed."""

import struct
import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

try:
    import augment._kernels as _found
except ImportError:
    _found = None

VERSION = 1  # of what is called, as in csrc/module.c
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


Address = tuple[int, Sequence[int], Sequence[int]]


def strides(image: Tensor) -> tuple[int, int, int]:
    """The strides of an image (C, H, W), where an axis of one pixel has those that the other implies.

    PyTorch lets them be anything.
    """
    (plane, line, pixel), (_, height, width) = image.stride(), image.shape
    pixel = (line if height > 1 else 1) if width == 1 else pixel
    return plane, width * pixel if height == 1 else line, pixel


def address(image: Tensor) -> Address:
    """Where an image (C, H, W) lies."""
    return image.data_ptr(), image.shape, strides(image)


def fits(*images: Tensor) -> bool:
    """Whether there are kernels for images."""
    return library is not None and all(map(_is_row_of_bytes, images))


def _is_row_of_bytes(image: Tensor) -> bool:
    return image.dtype == torch.uint8 and image.ndim == 3 and image.is_cpu


def dense_alike(one: Tensor, other: Tensor) -> bool:
    """Whether two images lie in memory without gaps, and in the same order."""
    channels, height, width = one.shape
    forms = (height * width, width, 1), (1, width * channels, channels)
    found = strides(one)[channels == 1 :]  # a single channel lies anywhere
    return (
        one.shape == other.shape
        and found in {form[channels == 1 :] for form in forms}
        and found == strides(other)[channels == 1 :]
    )


def flat(image: Tensor) -> bool:
    """Whether the pixels of each channel (C, H, W) lie evenly apart, from the first to the last."""
    _, line, pixel = strides(image)
    return line == image.shape[2] * pixel


def levels(fill: Sequence[float], channels: int) -> bytes | None:
    """A fill as a float for each channel; None where it is not between levels of bytes."""
    if not all(0 <= level <= 255 for level in fill):
        return None
    given = list(fill) or [0.0]
    return struct.pack(f"{channels}f", *(given * channels if len(given) == 1 else given))


MOST_PIXELS = 2**28  # whose places 32 bits count


def can_warp(image: Tensor, out: Tensor) -> bool:
    """Whether there is a kernel that takes pixels of ``out`` from anywhere in an image."""
    if not fits(image, out) or not (image.numel() and out.numel()):
        return False
    _, height, width = image.shape
    return (height + 3) * (width + 3) <= MOST_PIXELS
