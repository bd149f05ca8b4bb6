"""Colour and brightness of images in [0, 1], written on channel planes."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

Factor = float | Tensor
Planes = Sequence[Tensor]
Cut = Callable[[Tensor], Tensor]

LUMA = (0.299, 0.587, 0.114)  # ITU-R BT.601
BRIGHTNESS, CONTRAST, SATURATION, HUE = range(4)


def cut(plane: Tensor) -> Tensor:
    """Cut to [0, 1]."""
    return plane.clamp(0, 1)


def lean_cut(plane: Tensor) -> Tensor:
    """Cut to [0, 1] by two relus, whose compiled code is half as long: each bound of a clamp also passes NaN on.

    It rounds once, and unlike a clamp it has no gradient at 0 and 1 themselves.
    """
    return (1 - (1 - plane).relu()).relu()


def plus(base: Tensor, plane: Tensor, factor: Factor) -> Tensor:
    """Give ``base + plane * factor``, in one pass where the factor is a number."""
    return base + plane * factor if isinstance(factor, Tensor) else torch.add(base, plane, alpha=factor)


def gray(
    planes: Planes,  # C planes (..., H, W)
    weights: Sequence[float],
) -> Tensor:  # (..., H, W)
    """Blend channels into one."""
    total = planes[0] * weights[0]
    for plane, weight in zip(planes[1:], weights[1:], strict=True):
        total = plus(total, plane, weight)
    return total


def luma(planes: Planes) -> Tensor:
    """Give the luma of an RGB image, or the plain mean of any other number of channels."""
    return gray(planes, LUMA if len(planes) == 3 else [1 / len(planes)] * len(planes))


def scale_brightness(planes: Planes, factor: Factor, cut: Cut = cut) -> list[Tensor]:
    """Multiply, and cut to [0, 1]."""
    return [cut(plane * factor) for plane in planes]


def blend_contrast(planes: Planes, factor: Factor, cut: Cut = cut) -> list[Tensor]:
    """Move away from the mean luma of the image (factor > 1) or towards it, and cut to [0, 1]."""
    offset = luma(planes).mean((-2, -1), keepdim=True) * (1 - factor)
    return [cut(plus(offset, plane, factor)) for plane in planes]


def blend_saturation(planes: Planes, factor: Factor, cut: Cut = cut) -> list[Tensor]:
    """Move every pixel away from its luma (factor > 1) or towards it, and cut to [0, 1]."""
    if len(planes) == 1:
        return list(planes)
    offset = luma(planes) * (1 - factor)
    return [cut(plus(offset, plane, factor)) for plane in planes]


def rotate_hue(planes: Planes, turns: Factor, cut: Cut = cut) -> list[Tensor]:
    """Turn the hue of the HSV hexagon model; value and chroma stay.

    HSV (A. R. Smith, "Color gamut transform pairs", SIGGRAPH 1978) is never built: with every channel scaled to [0, 1]
    between the lowest and the highest, the hue in turns follows from which channel is 1; and a channel is the lowest
    value plus the chroma times ``6 |frac(hue + offset) - 1/2| - 1``, cut to [0, 1]. All of it is written without
    comparisons, which would be slow one by one.
    """
    if len(planes) == 1:
        return list(planes)
    r, g, b = planes
    low = torch.minimum(torch.minimum(r, g), b)
    chroma = torch.maximum(torch.maximum(r, g), b) - low
    limits = torch.finfo(
        low.dtype
    )  # the highest channel shall reach 1 in spite of rounding, and gray divide by no zero
    per_chroma = (1 + 4 * limits.eps) / (chroma + limits.tiny**0.5)
    r, g, b = ((plane - low) * per_chroma for plane in planes)
    sextant = r - g + 4
    sextant = torch.addcmul(sextant, g.floor(), b - r + 2 - sextant)
    sextant = torch.addcmul(sextant, r.floor(), g - b - sextant)
    turned = []
    for offset in (1, 5 / 3, 4 / 3):  # a whole turn more, so that frac sees no negative numbers
        phase = (sextant * (1 / 6) + (turns + offset)).frac()
        share = cut((phase - 0.5).abs() * 6 - 1)
        turned.append(torch.addcmul(low, chroma, share))
    return turned


STEPS = (scale_brightness, blend_contrast, blend_saturation, rotate_hue)


def jitter(
    image: Tensor,  # (B, C, H, W) or (C, H, W), C 1 or 3
    factors: Sequence[Factor],  # brightness, contrast, saturation, and hue in turns; tensors broadcast over planes
    order: Sequence[int],
    channel_axis: int,
) -> Tensor:
    """Cut to [0, 1] and apply the four adjustments, or some of them, in the given order."""
    tensors = [image, *(f for f in factors if isinstance(f, Tensor))]
    lean = len(tensors) > 1 and not any(t.requires_grad for t in tensors)
    chosen = lean_cut if lean else cut
    planes: Planes = [chosen(plane) for plane in image.unbind(channel_axis)]
    for step in order:
        planes = STEPS[step](planes, factors[step], chosen)
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
