"""Histograms of each channel: flattened, and flattened tile by tile."""

from typing import Any

import torch
from torch import Tensor

from ..kernel import Kernel, Out, gate_of
from ..tone import maths as tone
from . import c as in_c
from . import clahe, maths

equalize = Kernel(
    "equalize(Tensor image, Tensor gate)",
    maths=lambda image, gate: maths.equalize_batch(image.detach()),
    row=lambda image, gate, out: maths.equalize_row(image, out),
    opens=gate_of,
    backends=[in_c.equalize],
    values="own",
)
"""Flatten the histogram of every channel in the rows of a gate (B,) bool; the gradient of such a row is zero."""


def _tiles(image: Tensor, gate: Tensor, limit: Tensor, height: int, width: int) -> Tensor:
    tiles, limits = clahe.Tiles.of(image, (height, width)), limit.detach().repeat_interleave(image.shape[1])
    level = clahe.equalize_tiles(maths.levels(image.detach()).flatten(0, 1), limits, tiles, _count).view(image.shape)
    return level if image.dtype == torch.uint8 else level / (tone.LEVELS - 1)


def _count(index: Tensor, bins: int) -> Tensor:
    """Count without a wait for the device."""
    counts = torch.zeros(bins, dtype=torch.long, device=index.device)
    return counts.scatter_add(0, index.long(), torch.ones_like(index, dtype=torch.long))


def _read_tiles(image: Tensor, gate: Tensor, limit: Tensor, height: int, width: int) -> list[Any]:
    tiles = clahe.Tiles.of(image, (height, width))
    return [(own.expand(image.shape[1]), tiles) for own in limit]


def _tiles_row(image: Tensor, value: tuple[Tensor, clahe.Tiles], height: int, width: int, out: Out) -> Tensor:
    level = clahe.equalize_tiles(maths.levels(image), *value, lambda i, n: i.bincount(minlength=n))
    return level if image.dtype == torch.uint8 else level / (tone.LEVELS - 1)


equalize_tiles = Kernel(
    "equalize_tiles(Tensor image, Tensor gate, Tensor limit, int height, int width)",
    maths=_tiles,
    row=_tiles_row,
    read=_read_tiles,
    opens=gate_of,
    backends=[in_c.equalize_tiles],
    values="own",
)
"""Flatten the histogram of every tile of every channel, up to a limit (B,) on the contrast, in the rows of a gate (B,)
bool; the gradient of such a row is zero."""
