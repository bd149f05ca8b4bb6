"""Displacements of bytes."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..warp.c import IDENTITY, warp_or_displace


def displace(
    image: Tensor,  # (C, H, W), uint8
    field: Tensor,  # (2, h, w), x and y in pixels: output pixel p takes the input at p + field[p]
    padding: int,
    fill: Sequence[float],
    out: Tensor,  # (C, h, w), uint8, where to write
) -> bool:
    """Warp an image linearly by a displacement of every output pixel."""
    if field.dtype != torch.float32 or field.device.type != "cpu":
        return False
    return warp_or_displace(image, IDENTITY, False, field, (0, 0), padding, fill, out)
