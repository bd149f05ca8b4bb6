"""Blur by zooms about the centre of an image."""

import torch
from torch import Tensor

from .axes import axis_taps, blend, odd_lines
from .resample import MODES, PADDINGS, pixel_grid, sample_grid


def zoom_blur(
    image: Tensor,  # (B, C, H, W), floating
    factor: Tensor,  # (B,), the largest zoom, at least 1
    steps: int,
) -> Tensor:  # (B, C, H, W)
    """Average over zooms about the centre of an image, evenly spaced from none to the largest."""
    (height, width), n = image.shape[-2:], image.shape[0]
    total = image / steps
    for i in range(1, steps):
        inverse = 1 / (1 + (factor - 1) * (i / (steps - 1)))
        x, y = pixel_grid(height, width, inverse)
        grid_x = (2 * x - (width - 1)) / width * inverse.view(-1, 1, 1)
        grid_y = (2 * y - (height - 1)) / height * inverse.view(-1, 1, 1)
        grid = torch.stack([grid_x.expand(n, height, width), grid_y.expand(n, height, width)], 1)
        total = total + sample_grid(image, grid, MODES["bilinear"], PADDINGS["border"], ()) / steps
    return total


def zoom_blur_row(
    image: Tensor,  # (C, H, W), floating
    factor: Tensor,  # (), the largest zoom, at least 1
    steps: int,
    out: Tensor | None = None,  # where to write
) -> Tensor:  # (C, H, W)
    """Average over zooms about the centre of an image, evenly spaced from none to the largest.

    Blends go along y, then along x on the turned image; the zooms are added up as they are turned.
    """
    share = torch.arange(1, steps, device=image.device, dtype=image.dtype) / (steps - 1)
    inverse = 1 / (1 + (factor - 1) * share)
    height, width = image.shape[-2:]
    x, y = (axis_taps(inverse, (1 - inverse) * ((n - 1) / 2), n, n, PADDINGS["border"]) for n in (width, height))
    total = torch.zeros((len(image), width, height), dtype=image.dtype, device=image.device)
    for at_x, at_y in zip(x, y, strict=True):
        lines = image[:, at_y.part, at_x.part]
        zoomed = blend(lines, at_y, odd_lines((len(image), height, lines.shape[2]), image))
        total = total.add_(blend(zoomed.transpose(1, 2).contiguous(), at_x))
    return torch.add(image, total.transpose(1, 2), out=out).mul_(1 / steps)
