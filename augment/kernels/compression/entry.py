"""JPEG, and lost resolution."""

import torch
from torch import Tensor

from ..kernel import Kernel, Out, gate_of
from . import c as in_c
from . import downscale as sizes
from . import jpeg as codec


def _jpeg(image: Tensor, gate: Tensor, tables: Tensor) -> Tensor:
    tables = torch.where(gate.view(-1, 1, 1, 1), tables, 1)  # what is not coded learns nothing
    return codec.jpeg(image * 255, tables.to(image.dtype)) / 255


def _jpeg_row(image: Tensor, gate: Tensor, tables: Tensor, out: Out) -> Tensor:
    return torch.mul(codec.jpeg(image * 255, tables.to(image.dtype)), 1 / 255, out=out)


jpeg = Kernel(
    "jpeg(Tensor image, Tensor gate, Tensor tables)",
    maths=_jpeg,
    row=_jpeg_row,
    opens=gate_of,
    backends=[in_c.jpeg],
    values="unit",
)
"""Code and decode the rows of a gate (B,) bool, each with quantisation tables (2, 8, 8) of its own, luma and chroma."""


def _shrinks(image: Tensor, scale: Tensor, *config: str) -> Tensor:
    return scale != 1


_downscale = Kernel(
    "downscale(Tensor image, Tensor scale, str down, str up)",
    maths=sizes.downscale,
    row=sizes.downscale_row,
    read=sizes.read_sizes,
    opens=_shrinks,
    backends=[in_c.downscale],
    row_learns=True,
)
_thin = Kernel(
    "downscale_nearest(Tensor image, Tensor scale)",
    maths=sizes.thin,
    row=sizes.thin_row,
    read=sizes.read_sizes,
    opens=_shrinks,
    backends=[in_c.downscale],
    row_learns=True,
    values="own",
)


def downscale(
    image: Tensor,  # (B, C, H, W)
    scale: Tensor,  # (B,)
    down: str,
    up: str,
) -> Tensor:  # (B, C, H, W)
    """Shrink and enlarge each row of the batch; where both are by the nearest pixel, values stay exact."""
    return _thin(image, scale) if down == up == "nearest" else _downscale(image, scale, down, up)
