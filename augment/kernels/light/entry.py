"""Plasma fractals of the open rows."""

import torch
from torch import Tensor

from ..kernel import Backend, Kernel
from .maths import diamond_square

TOGETHER = 2**19  # pixels that are grown at a time: enough to make up for the many small levels, few enough for a cache


def _plasma(noise: Tensor, roughness: Tensor, gate: Tensor, h: int, w: int) -> Tensor:
    return torch.where(gate.view(-1, 1, 1, 1), diamond_square(noise, roughness.view(-1, 1, 1, 1), h, w), 0)


def _grow(noise: Tensor, out: Tensor, _: None, roughness: Tensor, gate: Tensor, h: int, w: int) -> None:
    """Write the fractals that are wanted, and zeros."""
    out.zero_()
    for rows in gate.nonzero().flatten().split(max(TOGETHER // (noise.shape[1] * h * w), 1)):
        out[rows] = diamond_square(noise[rows], roughness[rows].view(-1, 1, 1, 1), h, w)


plasma = Kernel(
    "plasma(Tensor noise, Tensor roughness, Tensor gate, SymInt h, SymInt w)",
    maths=_plasma,
    backends=[Backend(_grow)],
    values="own",
    size=lambda noise, roughness, gate, h, w: (h, w),
)
"""Grow fractals (B, C, h, w) from noise (B, C, N) in [0, 1], as many as ``maths.noise_size`` says, by a roughness (B,),
which gradients reach. Those that a gate (B,) bool does not want are zeros."""
