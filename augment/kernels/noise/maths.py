"""Noise whose strength depends on the image, from standard normal noise."""

import torch
from torch import Tensor

from ..colour import maths as colour

LEVELS = 255  # photon counts of sensor noise are 8-bit levels
FLAT = 1e-4  # lightness this near to black or white has no colour


def shot(
    image: Tensor,  # (B, C, H, W)
    photons: Tensor,  # (B,), what a white pixel counts on average
    noise: Tensor,  # (B, C, H, W), standard normal
    out: Tensor | None = None,  # where to write
) -> Tensor:  # (B, C, H, W) in [0, 1]
    """Count photons: a value x becomes a normal variable with the mean x and the variance x / photons of the count."""
    spread = torch.clamp(image, min=1e-8, out=out)
    spread = torch.sqrt(torch.div(spread, photons.clamp(min=1e-3).view(-1, 1, 1, 1), out=out), out=out)
    return torch.clamp(torch.addcmul(image, spread, noise, out=out), 0, 1, out=out)


def sensor(
    image: Tensor,  # (B, C, H, W) in [0, 1], C 1 or 3
    colour_shift: Tensor,  # (B,)
    intensity: Tensor,  # (B,)
    noise: Tensor,  # (B, 2, H, W), standard normal
) -> Tensor:  # (B, C, H, W) in [0, 1]
    """Turn hues and add light, as the sensor of a camera does at a high ISO.

    In HLS, whose saturation stays: the hue turns by a normal variable of deviation ``colour_shift * intensity`` turns;
    a photon count, normal with mean and variance ``255 * intensity`` times the deviation of the image's lightness,
    brings the lightness nearer to 1.
    """
    shift, strength = colour_shift.view(-1, 1, 1), intensity.view(-1, 1, 1)
    planes = image.clamp(0, 1).unbind(1)
    lightness = (highest(planes) - lowest(planes)) * 0.5 + lowest(planes)
    spread = (lightness - lightness.mean((-2, -1), keepdim=True)).square().mean((-2, -1), keepdim=True)
    mean = LEVELS * strength * spread.clamp(min=1e-12).sqrt()
    light = torch.addcmul(mean, mean.clamp(min=1e-12).sqrt(), noise[:, 1]).relu() / LEVELS
    turns = noise[:, 0] * (shift * strength)
    turned = colour.rotate_hue(planes, turns - turns.floor())
    lit = (lightness + light * (1 - lightness)).clamp(max=1)
    chroma = saturable(lit) / saturable(lightness).clamp(min=FLAT)
    return torch.stack([torch.addcmul(lit, plane - lightness, chroma) for plane in turned], 1).clamp(0, 1)


def lowest(planes: colour.Planes) -> Tensor:
    """The least of some planes."""
    low = planes[0]
    for plane in planes[1:]:
        low = torch.minimum(low, plane)
    return low


def highest(planes: colour.Planes) -> Tensor:
    """The greatest of some planes."""
    high = planes[0]
    for plane in planes[1:]:
        high = torch.maximum(high, plane)
    return high


def saturable(lightness: Tensor) -> Tensor:
    """The chroma of full saturation at a lightness."""
    return 1 - (2 * lightness - 1).abs()
