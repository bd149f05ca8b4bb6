"""Fixed numbers as tensors."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .opaque import define

KEPT: dict[tuple[Any, ...], Tensor] = {}


def _kept(values: list[float], dtype: torch.dtype, device: torch.device) -> Tensor:
    key = (*values, dtype, device)
    if key not in KEPT:
        KEPT[key] = torch.tensor(values, dtype=dtype, device=device)
    return KEPT[key].clone()


_constant = define(
    "constant",
    "(float[] values, ScalarType dtype, Device device) -> Tensor",
    _kept,
    lambda values, dtype, device: torch.empty(len(values), dtype=dtype, device=device),
)


def constant(values: Sequence[float], dtype: torch.dtype, device: torch.device) -> Tensor:  # (n,)
    """Give fixed numbers as a tensor. A GPU keeps them, for to send them there would wait until it is idle."""
    if device.type == "cpu":
        return torch.tensor(values, dtype=dtype)
    return _constant(values, dtype, device)


class Kept:
    """Fixed numbers that a call reads on any device."""

    def __init__(self, numbers: Tensor) -> None:
        self.numbers, self.values = numbers, numbers.flatten().tolist()

    def __len__(self) -> int:
        return len(self.numbers)

    def on(self, device: torch.device) -> Tensor:
        """The numbers on a device."""
        if device.type == "cpu":
            return self.numbers
        return constant(self.values, self.numbers.dtype, device).view(self.numbers.shape)
