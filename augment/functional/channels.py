"""Whole channels: which goes where, and which is lost."""

import torch
from torch import Tensor


def take(
    image: Tensor,  # (B, C, H, W)
    source: Tensor,  # (B, C), int64
) -> Tensor:  # (B, C, H, W)
    """Give every channel of the output the values of the channel that the source names for it."""
    rows = torch.arange(image.shape[0], device=image.device).unsqueeze(1)
    return image[rows, source]


def fill(
    image: Tensor,  # (B, C, H, W)
    lost: Tensor,  # (B, C), bool
    value: float,
) -> Tensor:  # (B, C, H, W)
    """Put a value in the place of whole channels."""
    return image.masked_fill(lost.view(*lost.shape, 1, 1), value)
