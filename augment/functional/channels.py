"""Whole channels: which goes where, which is lost, and blends of them."""

from collections.abc import Sequence

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


def blend(
    image: Tensor,  # (B, C, H, W), floating
    shares: Tensor,  # (B, C, C + 1): what each channel gets of all of them, and what is added; (B, C, 2): of itself
) -> Tensor:  # (B, C, H, W)
    """Blend the channels of each row; one without a share adds nothing, whatever it holds."""
    *factors, added = shares.unsqueeze(3).unsqueeze(4).unbind(2)
    if len(factors) == 1:
        return image * factors[0] + added
    parts = [torch.where(f == 0, 0, plane.unsqueeze(1) * f) for plane, f in zip(image.unbind(1), factors, strict=True)]
    return sum(parts, added)


def blend_row(
    image: Tensor,  # (C, H, W), floating
    shares: Sequence[Sequence[float]],  # C of C + 1 numbers, or of 2
    out: Tensor,  # (C, H, W), where to write; the image itself only where a channel gets of itself alone
) -> None:
    """Do what ``blend`` does to one row."""
    for c, (target, (*factors, added)) in enumerate(zip(out, shares, strict=True)):
        if c and shares[c] == shares[c - 1] and len(factors) > 1:
            target.copy_(out[c - 1])
            continue
        planes = image if len(factors) > 1 else image[c : c + 1]
        used = [(plane, f) for plane, f in zip(planes, factors, strict=True) if f]
        if used:
            torch.mul(*used[0], out=target)
        else:
            target.zero_()
        for plane, share in used[1:]:
            target.add_(plane, alpha=share)
        if added:
            target.add_(added)
