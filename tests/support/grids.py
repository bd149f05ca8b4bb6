"""Coordinates of pixels and matrices."""

import torch
from torch import Tensor

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def grid(height: int, width: int) -> tuple[Tensor, Tensor]:
    return torch.arange(width, dtype=torch.float64), torch.arange(height, dtype=torch.float64).unsqueeze(1)
