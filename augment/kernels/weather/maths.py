"""Rain, snow and fog."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ...common.constants import constant

RAIN = 200 / 255  # the value of a drop

# ImageNet-C, severities 1 to 5, and none: how much fog, and by how much the amplitude of its fractal falls each level.
FOG_AMOUNT = (0.0, 1.5, 2.0, 2.5, 2.5, 3.0)
FOG_DECAY = (2.0, 2.0, 2.0, 1.7, 1.5, 1.4)


def drop_starts(
    fractions: Tensor,  # (..., D, 2), y and x of the places where a drop fits
    heights: Tensor,  # (..., 1), int64, pixels
    widths: Tensor,  # (..., 1), int64, pixels, negative for a drop to the left
    h: int,
    w: int,
) -> Tensor:  # (..., D), int64, y * w + x
    """The highest pixels of straight drops."""
    reach_y, reach_x = heights - 1, (widths.abs() - 1).clamp(min=0)
    y, x = (
        torch.minimum((u * places).long(), places - 1)
        for u, places in zip(fractions.unbind(-1), (h - reach_y, w - reach_x), strict=True)
    )
    return y * w + x + torch.where(widths < 0, reach_x, 0)


def drop_steps(
    heights: Tensor,  # (..., 1), int64, pixels
    widths: Tensor,  # (..., 1), int64, pixels, negative for a drop to the left
    longest: int,
    w: int,
) -> Tensor:  # (..., longest), int64
    """Give how far from its first the pixels of a drop lie, the last one as often as is needed to fill up."""
    reach_y, reach_x = heights - 1, (widths.abs() - 1).clamp(min=0)
    steps = torch.maximum(reach_y, reach_x)
    step = torch.minimum(torch.arange(longest, device=steps.device), steps)
    along_y, along_x = (step * reach // steps.clamp(min=1) for reach in (reach_y, reach_x))
    return along_y * w + along_x * widths.sign()


def snow(
    planes: Sequence[Tensor],  # 3 planes (B, H, W), [0, 1]
    coefficient: Tensor,  # (B, 1, 1)
    brightness: Tensor,  # (B, 1, 1)
) -> list[Tensor]:  # 3 planes (B, H, W), [0, 1]
    """Multiply the HLS lightness of pixels that are darker than ``coefficient``, up to white.

    Hue and saturation stay. With L the lightness, saturation is chroma over 2 min(L, 1 - L), so that a new lightness L'
    moves a channel c to ``L' + (c - L) min(L', 1 - L') / min(L, 1 - L)``, and HLS is never built.
    """
    planes = [plane.clamp(0, 1) for plane in planes]
    r, g, b = planes
    light = torch.maximum(torch.maximum(r, g), b).add_(torch.minimum(torch.minimum(r, g), b)).div_(2)
    del r, g, b
    bright = (light * brightness).clamp_(max=1)
    ratio = torch.minimum(bright, 1 - bright) / torch.minimum(light, 1 - light).clamp(min=1e-6)
    dark = light < coefficient
    shift = torch.where(dark, bright - light * ratio, 0.0)
    ratio = torch.where(dark, ratio, 1.0)
    del light, bright, dark
    return [torch.addcmul(shift, planes.pop(0), ratio) for _ in range(3)]


def fog(
    planes: Sequence[Tensor],  # C planes (B, H, W), [0, 1]
    plasma: Sequence[Tensor],  # 1 or C planes (B, H, W), [0, 1]
    amount: Tensor,  # (B, 1, 1)
) -> list[Tensor]:  # C planes (B, H, W), [0, 1]
    """Add fog, and scale so that the highest value stays what it was without (ImageNet-C)."""
    highest = torch.stack([plane.amax((1, 2), keepdim=True) for plane in planes]).amax(0).clamp(0, 1)
    scale = highest / (highest + amount).clamp(min=1e-6)
    maps = list(plasma) * (len(planes) // len(plasma))
    pairs = zip(planes, maps, strict=True)
    return [plane.clamp(0, 1).add_(amount * fractal).mul_(scale).clamp_(max=1) for plane, fractal in pairs]


def fog_of_severity(
    severity: Tensor,  # (B,), 0..5
) -> tuple[Tensor, Tensor]:  # (B,) amount, (B,) roughness
    """Interpolate what ImageNet-C takes for its severities.

    There the noise of a level is ``decay**-2`` times that of the level before, which is the roughness here.
    """
    below = severity.detach().floor().clamp(0, len(FOG_AMOUNT) - 2)
    index, part = below.long(), severity - below
    found = []
    for values in (FOG_AMOUNT, FOG_DECAY):
        table = constant(values, severity.dtype, severity.device)
        found.append(table[index] + part * (table[index + 1] - table[index]))
    return found[0], found[1] ** -2
