"""Curves of brightness, histograms and look-up tables."""

import math

import torch
from torch import Tensor

from ..opaque import rounded

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


def posterize_levels(
    image: Tensor,  # (..., H, W), uint8
    bits: Tensor,  # broadcasts over the image, 0..8
) -> Tensor:  # (..., H, W), uint8
    """Keep the upper bits of bytes."""
    return image & (LEVELS - 2.0 ** (8 - bits)).to(torch.uint8)


def stretch(
    image: Tensor,  # (..., H, W), floating
    clip: bool,
) -> Tensor:  # (..., H, W)
    """Move the lowest value of a channel to 0 and the highest to 1; a channel of one value stays, or is cut."""
    low, high = image.amin((-2, -1), keepdim=True), image.amax((-2, -1), keepdim=True)
    flat = low == high
    stays = low.clamp(0, 1) if clip else low
    return (image - torch.where(flat, low - stays, low)) / torch.where(flat, 1, high - low)


def stretch_levels(
    image: Tensor,  # (C, H, W), uint8
    out: Tensor,  # (C, H, W), where to write
) -> Tensor:
    """Do the same to bytes."""
    limits = torch.stack([image.amin((-2, -1)), image.amax((-2, -1))], 1).tolist()
    for plane, target, (low, high) in zip(image, out, limits, strict=True):
        if low == high or (low, high) == (0, LEVELS - 1):
            target.copy_(plane)
        else:
            stretched = plane.float().sub_(low).mul_((LEVELS - 1) / (high - low))
            target.copy_(rounded(stretched))
    return out


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


def gamma_levels(
    image: Tensor,  # (C, H, W), uint8
    exponent: float,
    gain: float,
    out: Tensor,  # where to write
) -> Tensor:
    """Do the same to bytes, by a table."""
    ramp = torch.arange(LEVELS, device=image.device, dtype=torch.float32) / (LEVELS - 1)
    return look_up(image, gamma_row(ramp, exponent, gain, None) * (LEVELS - 1), out)


def look_up(
    image: Tensor,  # uint8
    table: Tensor,  # (256,), floating, cut to 0..255
    out: Tensor,  # uint8, contiguous, where to write
    places: Tensor | None = None,  # int32, as many as pixels: memory to work in
) -> Tensor:
    """Give every byte its entry, rounded."""
    table = table.round().clamp(0, LEVELS - 1).to(torch.uint8)
    places = image.int() if places is None else places.view(image.shape).copy_(image)
    torch.index_select(table, 0, places.flatten(), out=out.view(-1))
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


def levels(image: Tensor) -> Tensor:
    """Give the 8-bit level of every pixel as int32: uint8 as it is, floats in [0, 1] rounded and cut."""
    if image.dtype == torch.uint8:
        return image.int()
    wide = image if image.dtype == torch.float64 else image.float()
    return torch.add(wide.new_full((), 0.5), wide, alpha=LEVELS - 1).int().clamp_(0, LEVELS - 1)


def equalize_table(
    histogram: Tensor,  # (..., 256), int64
) -> tuple[Tensor, Tensor]:  # (..., 256), level -> level; (..., 1) bool, whether there is anything to equalise
    """Give the table that flattens a histogram, as the PIL's ``ImageOps.equalize`` defines it.

    The step is the number of pixels below the highest occupied level over 255; an image of too few levels or pixels for
    a step stays as it is.
    """
    places = torch.arange(LEVELS, device=histogram.device)
    highest = torch.where(histogram > 0, places, 0).amax(-1, keepdim=True)
    upto = histogram.cumsum(-1)
    step = (upto[..., -1:] - histogram.gather(-1, highest)) // (LEVELS - 1)
    table = (upto - histogram + step // 2) // step.clamp(min=1)
    return table.clamp_(max=LEVELS - 1), step > 0


def equalize_row(
    image: Tensor,  # (C, H, W), uint8 0..255 or floating [0, 1]
    out: Tensor | None = None,  # where to write
) -> Tensor:
    """Flatten the histogram of every channel, one by one."""
    level = levels(image).flatten(1)
    counted = image.flatten(1) if image.dtype == torch.uint8 else level  # bytes are counted faster
    histogram = torch.stack([plane.bincount(minlength=LEVELS) for plane in counted])
    table, useful = equalize_table(histogram)
    output = torch.empty_like(image, memory_format=torch.contiguous_format) if out is None else out
    for c, (entries, fits) in enumerate(zip(_output(table, image), useful.flatten().tolist(), strict=True)):
        if fits:
            torch.index_select(entries, 0, level[c], out=output[c].view(-1))
        else:
            output[c] = image[c]
    return output


def equalize_batch(
    image: Tensor,  # (B, C, H, W), uint8 0..255 or floating [0, 1]
) -> Tensor:
    """Flatten the histogram of every plane of a batch, without a wait for the device."""
    level = levels(image).flatten(2).long()
    histogram = torch.zeros((*level.shape[:2], LEVELS), dtype=torch.long, device=image.device)
    table, useful = equalize_table(histogram.scatter_add(2, level, torch.ones_like(level)))
    equalised = _output(table, image).gather(2, level).view(image.shape)
    return torch.where(useful.unsqueeze(-1), equalised, image)


def _output(table: Tensor, image: Tensor) -> Tensor:
    if image.dtype == torch.uint8:
        return table.to(torch.uint8)
    return (table.to(torch.promote_types(image.dtype, torch.float32)) / (LEVELS - 1)).to(image.dtype)
