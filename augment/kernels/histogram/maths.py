"""Histograms of each channel, flattened and stretched."""

import torch
from torch import Tensor

from ..tone.maths import LEVELS


def stretch(
    image: Tensor,  # (..., H, W), floating
    clip: bool,
) -> Tensor:  # (..., H, W)
    """Move the lowest value of a channel to 0 and the highest to 1; a channel of one value stays, or is cut."""
    low, high = image.amin((-2, -1), keepdim=True), image.amax((-2, -1), keepdim=True)
    flat = low == high
    stays = low.clamp(0, 1) if clip else low
    return (image - torch.where(flat, low - stays, low)).div_(torch.where(flat, 1, high - low))


def levels(image: Tensor) -> Tensor:
    """The 8-bit level of every pixel as int32: uint8 as it is, floats in [0, 1] rounded and cut."""
    if image.dtype == torch.uint8:
        return image.int()
    wide = image if image.dtype == torch.float64 else image.float()
    return torch.add(wide.new_full((), 0.5), wide, alpha=LEVELS - 1).int().clamp_(0, LEVELS - 1)


def equalize_table(
    histogram: Tensor,  # (..., 256), int64
) -> tuple[Tensor, Tensor]:  # (..., 256), level -> level; (..., 1) bool, whether there is anything to equalise
    """The table that flattens a histogram, as the PIL's ``ImageOps.equalize`` defines it.

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
    table, useful = equalize_table(torch.stack([plane.bincount(minlength=LEVELS) for plane in level]))
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
