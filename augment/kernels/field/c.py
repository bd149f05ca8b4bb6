"""Displacements of bytes."""

from collections.abc import Sequence

import torch
from torch import Tensor

from .. import built

IDENTITY = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def displace(
    image: Tensor,  # (C, H, W), uint8
    field: Tensor,  # (2, h, w), x and y in pixels: output pixel p takes the input at p + field[p]
    padding: int,
    fill: Sequence[float],
    out: Tensor,  # (C, h, w), uint8, where to write
) -> bool:
    """Warp an image linearly by a displacement of every output pixel."""
    if field.dtype != torch.float32 or not field.is_cpu or not built.can_warp(image, out):
        return False
    level, where = built.levels(fill, len(image)), (built.address(image), built.address(out))
    if level is None:
        return False
    return built.library.warp(*where, IDENTITY, False, built.address(field), True, (0, 0), padding, level)
