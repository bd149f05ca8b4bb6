"""The dtype that arithmetic is done in, and the way there and back."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor


def full_precision(device: torch.device) -> AbstractContextManager[Any]:
    """Let arithmetic keep its dtype under autocast, which takes time to turn off where it is off."""
    on = torch.is_autocast_enabled(device.type)
    return torch.autocast(device.type, enabled=False) if on else nullcontext()


def load(image: Tensor, unit: bool = False) -> Tensor:
    """An image in the dtype that arithmetic is done in; ``unit`` brings uint8 from 0..255 to [0, 1]."""
    if image.dtype == torch.float64:
        return image
    return image.float().div_(255) if unit and image.dtype == torch.uint8 else image.float()


def store(image: Tensor, dtype: torch.dtype, unit: bool = False) -> Tensor:
    """A computed image in its own dtype again: one rounding and one saturation for uint8."""
    if dtype.is_floating_point or image.dtype == dtype:
        return image.to(dtype)
    levels = (image * 255).round() if unit else image.round()  # not in place, which a traced draw may refuse
    return levels.clamp(0, 255).to(dtype)


def rounded(image: Tensor, unit: bool = False) -> Tensor:
    """The levels of a computed image, which is written over, as int16: floats to bytes is not vectorised."""
    return (image.mul_(255) if unit else image).round_().clamp_(0, 255).short()
