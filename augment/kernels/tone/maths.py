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


PAIRED = 2**17  # bytes of an image from which on a table for two of them pays


def look_up(
    image: Tensor,  # uint8
    table: Tensor,  # (256,), uint8
    out: Tensor,  # uint8, contiguous, where to write
) -> Tensor:
    """Give every byte its entry; in a large image two bytes at once."""
    if image.numel() < PAIRED or image.numel() % 2 or not image.is_contiguous():
        return torch.index_select(table, 0, image.int().flatten(), out=out.view(-1)).view(out.shape)
    entries = table.short()
    pairs = (entries.bitwise_left_shift(8).roll(LEVELS // 2).unsqueeze(1) + entries).flatten()
    places = image.view(-1).view(torch.int16).int().add_(2**15)
    torch.index_select(pairs, 0, places, out=out.view(-1).view(torch.int16))
    return out


def invert_from(
    image: Tensor,  # any shape, uint8
    first: int,  # the lowest level that is inverted; 0 or less for all, 256 or more for none
    out: Tensor,  # another tensor of the same shape
) -> None:
    """Invert the bytes from a level on, by passes that are vectorised, as comparisons of bytes are not."""
    if first <= 0:
        torch.bitwise_not(image, out=out)
    elif first >= LEVELS:
        out.copy_(image)
    else:
        torch.clamp(image, first - 1, first, out=out).sub_(first - 1).neg_().bitwise_xor_(image)  # all bits or none
