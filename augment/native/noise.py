"""Pixels turned white and black."""

import torch
from torch import Tensor


def salt_and_pepper(
    image: Tensor,  # (B, C, H, W)
    salt: Tensor,  # (B, C, H, W) bool
    pepper: Tensor,  # (B, C, H, W) bool
    gate: Tensor,  # (B,) bool
) -> Tensor:  # (B, C, H, W)
    """Set pixels of the open rows to white and to black."""
    white = 255 if image.dtype == torch.uint8 else 1
    gate = gate.view(-1, 1, 1, 1)
    return image.masked_fill(salt & gate, white).masked_fill(pepper & gate, 0)
