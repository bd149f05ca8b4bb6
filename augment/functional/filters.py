"""Separable filters."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

Taps = Sequence[float] | Sequence[Tensor]

BORDERS = ("constant", "reflect", "replicate", "circular")


def gaussian_weights(
    sigma: Tensor,  # (B,), standard deviation in pixels
    size: int,
) -> Tensor:  # (B, size), each row sums to 1
    """Sample a Gaussian at whole pixels around the centre; a sigma of zero gives a single tap."""
    x = torch.arange(size, device=sigma.device, dtype=sigma.dtype) - size // 2
    weights = torch.exp(-0.5 * (x / sigma.clamp(min=1e-3).unsqueeze(1)) ** 2)
    return weights / weights.sum(1, keepdim=True)


def separable_filter(
    image: Tensor,  # (..., H, W), floating
    taps_y: Taps,
    taps_x: Taps,
    border: str,
) -> Tensor:  # (..., H, W)
    """Correlate with one kernel along x, then with another along y.

    The image is padded once and then read through shifted slices, which vectorise. A tap is a number, or a tensor that
    broadcasts over the image.
    """
    h, w = image.shape[-2:]
    ry, rx = len(taps_y) // 2, len(taps_x) // 2
    padded = F.pad(image, [rx, rx, ry, ry], mode=border)
    along_x = weighted_sum([padded[..., k : k + w] for k in range(len(taps_x))], taps_x)
    return weighted_sum([along_x[..., k : k + h, :] for k in range(len(taps_y))], taps_y)


def weighted_sum(parts: Sequence[Tensor], weights: Taps) -> Tensor:
    """Add up parts, each times its weight."""
    total = parts[0] * weights[0]
    for part, weight in zip(parts[1:], weights[1:], strict=True):
        total = torch.addcmul(total, part, weight) if isinstance(weight, Tensor) else total.add_(part, alpha=weight)
    return total


def gaussian_matrix(
    n: int,
    size: int,
    sigma: Tensor,  # ()
) -> Tensor:  # (n, n)
    """Give the banded matrix whose product with a signal of n samples is its Gaussian blur, zero outside."""
    weights = gaussian_weights(sigma.view(1), size)[0]
    i = torch.arange(n, device=sigma.device)
    tap = i.view(1, n) - i.view(n, 1) + size // 2
    return weights[tap.clamp(0, size - 1)] * ((tap >= 0) & (tap < size))
