"""Colour and brightness of images in [0, 1], written on channel planes."""

from collections.abc import Sequence

import torch
from torch import Tensor

Factor = float | Tensor
Planes = Sequence[Tensor]

LUMA = (0.299, 0.587, 0.114)  # ITU-R BT.601
BRIGHTNESS, CONTRAST, SATURATION, HUE = range(4)


def gray(
    planes: Planes,  # C planes (..., H, W)
    weights: Sequence[Factor],
) -> Tensor:  # (..., H, W)
    """Blend channels into one."""
    total = planes[0] * weights[0]
    for plane, weight in zip(planes[1:], weights[1:], strict=True):
        total = total + plane * weight
    return total


def luma(planes: Planes) -> Tensor:
    """Give the luma of an RGB image, or the plain mean of any other number of channels."""
    return gray(planes, LUMA if len(planes) == 3 else [1 / len(planes)] * len(planes))


def scale_brightness(planes: Planes, factor: Factor) -> list[Tensor]:
    """Multiply, and cut to [0, 1]."""
    return [(plane * factor).clamp(0, 1) for plane in planes]


def blend_contrast(planes: Planes, factor: Factor) -> list[Tensor]:
    """Move away from the mean luma of the image (factor > 1) or towards it, and cut to [0, 1]."""
    offset = luma(planes).mean((-2, -1), keepdim=True) * (1 - factor)
    return [(plane * factor + offset).clamp(0, 1) for plane in planes]


def blend_saturation(planes: Planes, factor: Factor) -> list[Tensor]:
    """Move every pixel away from its luma (factor > 1) or towards it, and cut to [0, 1]."""
    if len(planes) == 1:
        return list(planes)
    offset = luma(planes) * (1 - factor)
    return [(plane * factor + offset).clamp(0, 1) for plane in planes]


def rotate_hue(planes: Planes, turns: Factor) -> list[Tensor]:
    """Turn the hue of the HSV hexagon model; value and chroma stay.

    The hexagon position of a channel is a piecewise linear function of the hue (A. R. Smith, "Color gamut transform
    pairs", SIGGRAPH 1978; in the closed form of the Wikipedia article "HSL and HSV"), so that HSV is never built.
    """
    if len(planes) == 1:
        return list(planes)
    r, g, b = planes
    top = torch.maximum(torch.maximum(r, g), b)
    chroma = top - torch.minimum(torch.minimum(r, g), b)
    per_chroma = 1 / torch.where(chroma > 0, chroma, 1)
    sextant = torch.where(
        top == r, (g - b) * per_chroma, torch.where(top == g, (b - r) * per_chroma + 2, (r - g) * per_chroma + 4)
    )
    sextant = sextant + turns * 6
    turned = []
    for offset in (5, 3, 1):
        k = (sextant + offset).remainder(6)
        turned.append(top - chroma * torch.minimum(k, 4 - k).clamp(0, 1))
    return turned


STEPS = (scale_brightness, blend_contrast, blend_saturation, rotate_hue)


def jitter(
    image: Tensor,  # (B, C, H, W) or (C, H, W), C 1 or 3
    factors: Sequence[Factor],  # brightness, contrast, saturation, and hue in turns; tensors broadcast over planes
    order: Sequence[int],
    channel_axis: int,
) -> Tensor:
    """Cut to [0, 1] and apply the four adjustments, or some of them, in the given order."""
    planes: Planes = image.clamp(0, 1).unbind(channel_axis)
    for step in order:
        planes = STEPS[step](planes, factors[step])
    return torch.stack(tuple(planes), channel_axis)


def jitter_any_order(
    image: Tensor,  # (B, C, H, W), C 1 or 3
    factors: Tensor,  # (B, 4)
    order: Tensor,  # (n,)
) -> Tensor:
    """Apply the four adjustments in an order that is only known on the device.

    At each position all four are applied, with neutral factors but for the one whose turn it is.
    """
    neutral = (1.0, 1.0, 1.0, 0.0)
    planes: Planes = image.clamp(0, 1).unbind(1)
    for turn in order.unbind():
        for step, apply in enumerate(STEPS):
            factor = torch.where(turn == step, factors[:, step], neutral[step])
            planes = apply(planes, factor.view(-1, 1, 1))
    return torch.stack(tuple(planes), 1)
