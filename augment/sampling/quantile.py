"""Quantiles that have no closed form."""

import math

import torch
from torch import Tensor

from ..common.opaque import define

STEPS = 50
TINY = -600.0  # below, a logarithm is its first term to the last digit, and the number itself may be no float any more


def _log_gamma_quantile(u: Tensor, shape: float) -> Tensor:
    u = u.double().clamp(2.0**-26, 1 - 2.0**-26)
    first = (u.log() + math.lgamma(shape + 1)) / shape
    low, high = first, torch.full_like(u, math.log(shape + 20 * math.sqrt(shape) + 40))
    a = torch.full_like(u, shape)
    for _ in range(STEPS):
        middle = (low + high) / 2
        below = torch.special.gammainc(a, middle.exp()) < u
        low, high = torch.where(below, middle, low), torch.where(below, high, middle)
    return torch.where(first < TINY, first, high).float()


log_gamma_quantile = define(
    "log_gamma_quantile",
    "(Tensor u, float shape) -> Tensor",
    _log_gamma_quantile,
    lambda u, shape: torch.empty_like(u, dtype=torch.float32),
)


def dirichlet(u: Tensor, concentration: float) -> Tensor:
    """Turn uniforms (..., n) into shares by the symmetric Dirichlet distribution: Gamma variates over their sum."""
    return log_gamma_quantile(u.contiguous(), concentration).softmax(-1)
