"""Curves of brightness and look-up tables."""

import math

import torch
from torch import Tensor

LEVELS = 256


def solarize(
    image: Tensor,  # (..., H, W)
    threshold: Tensor,  # broadcasts over the image
    addition: Tensor,
) -> Tensor:  # (..., H, W)
    """Add, cut to [0, 1], and invert what is at the threshold or above it."""
    lifted = image.clamp(0, 1).add_(addition).clamp_(0, 1)
    return torch.where(lifted < threshold, lifted, 1 - lifted)


def posterize(
    image: Tensor,  # (..., H, W), floating
    bits: Tensor,  # broadcasts over the image, 0..8
) -> Tensor:  # (..., H, W)
    """Keep the upper bits of the 8-bit levels, of which values between two count as the nearer one."""
    step = 2.0 ** (8 - bits).to(image.dtype)
    scale = (LEVELS - 1) / step
    return (image.clamp(0, 1) * scale + 0.5 / step).floor() * (step / (LEVELS - 1))


DARK = 1e-4  # below, the slope of a power counts as it is here


def gamma(
    image: Tensor,  # (..., H, W), floating
    exponent: Tensor,  # broadcasts over the image
    gain: Tensor,
) -> Tensor:  # (..., H, W)
    """Cut to [0, 1], raise to a power, multiply and cut again; the gradient is finite down to black."""
    image = image.clamp(0, 1)
    bright = image.clamp(min=DARK) ** exponent
    slope = exponent * DARK ** (exponent - 1)
    still = image.detach()
    dark = still**exponent + (image - still) * slope.detach()
    return (torch.where(image < DARK, dark, bright) * gain).clamp(0, 1)


def gamma_row(
    image: Tensor,  # (C, H, W), floating
    exponent: float,
    gain: float,
    out: Tensor | None,  # where to write
) -> Tensor:
    """Do the same in place, by way of logarithms to base 2, where the gain is a sum."""
    output = torch.clamp(image, 0, 1, out=out)
    if exponent == 0:
        return output.fill_(min(gain, 1))
    logarithm = torch.tensor(math.log2(gain) if gain else -math.inf, dtype=output.dtype, device=output.device)
    torch.add(logarithm, output.log2_(), alpha=exponent, out=output).exp2_()
    return output.clamp_(max=1) if gain > 1 else output


def gamma_table(
    exponent: Tensor,  # (B,)
    gain: Tensor,  # (B,)
) -> Tensor:  # (B, 256), float32
    """Do the same to the levels of bytes."""
    ramp = torch.arange(LEVELS, device=exponent.device, dtype=torch.float32) / (LEVELS - 1)
    exponent, gain = exponent.float().unsqueeze(1), gain.float().unsqueeze(1)
    power = torch.where(exponent == 0, 1.0, (exponent * ramp.log2()).exp2())
    return (power * gain).clamp_(max=1)
