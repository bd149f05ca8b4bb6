"""Histograms of each channel: flattened, stretched, and flattened tile by tile."""

from typing import NamedTuple

import torch
from torch import Tensor

from ...common.opaque import by_rows
from .. import built
from ..rowop import Out, RowOp, keep_rows
from ..tone import maths as tone
from . import c as in_c
from . import clahe, maths


def _closed(image: Tensor, params: Tensor, numbers: list[float], *_: object) -> list[bool]:
    """Read a gate (B,) that is the only parameter."""
    return [not gate for gate in numbers]


def _equalize_row(image: Tensor, gate: Tensor, _: float, out: Out = None) -> Tensor:
    if out is not None and in_c.equalize(image, out):
        return out
    return maths.equalize_row(image.detach(), out if out is None or out.is_contiguous() else None)


_equalize = RowOp("equalize", "", _equalize_row, _closed, raw=True, keeps_format=True).op


def equalize(
    image: Tensor,  # (B, C, H, W)
    gate: Tensor,  # (B,) bool, the rows to equalise
) -> Tensor:  # (B, C, H, W)
    """Flatten the histogram of every channel; the gradient of an equalised row is zero."""
    if by_rows(image):
        return _equalize(image, gate.to(torch.float32))
    return keep_rows(~gate, image, maths.equalize_batch(image.detach()))


class Clipping(NamedTuple):
    """How the tiles of a row are equalised.

    Attributes:
        gate: whether they are.
        limit: most of a level in a tile, as a multiple of an even share; 0 for no limit.
        tiles: how the images are tiled, where there are no kernels for them.
    """

    gate: bool
    limit: float
    tiles: clahe.Tiles | None


def _clahe_values(image: Tensor, params: Tensor, height: int, width: int) -> list[Clipping]:
    tiles = None if built.fits(*image[:1]) else clahe.Tiles.of(image, (height, width))
    return [Clipping(gate > 0, limit, tiles) for gate, limit in params.tolist()]


def _clahe_row(image: Tensor, params: Tensor, value: Clipping, height: int, width: int, out: Out = None) -> Tensor:
    if out is not None and in_c.equalize_tiles(image, value.limit, height, width, out):
        return out
    image = image.detach()
    limit = params.detach()[1].expand(image.shape[0])
    tiles = value.tiles or clahe.Tiles.of(image, (height, width))
    level = clahe.equalize_tiles(maths.levels(image), limit, tiles, lambda i, n: i.bincount(minlength=n))
    return level if image.dtype == torch.uint8 else level / (tone.LEVELS - 1)


_clahe = RowOp(
    "clahe",
    "int height, int width",
    _clahe_row,
    lambda image, params, values, *grid: [not value.gate for value in values],
    raw=True,
    read=_clahe_values,
    keeps_format=True,
).op


def equalize_tiles(
    image: Tensor,  # (B, C, H, W)
    gate: Tensor,  # (B,) bool, the rows to equalise
    limit: Tensor,  # (B,)
    grid: tuple[int, int],
) -> Tensor:  # (B, C, H, W)
    """Flatten the histogram of every tile of every channel; the gradient of an equalised row is zero."""
    if by_rows(image):
        return _clahe(image, torch.stack([gate.to(limit.dtype), limit], 1), *grid)
    tiles = clahe.Tiles.of(image, grid)
    planes = maths.levels(image.detach()).flatten(0, 1)
    limits = limit.repeat_interleave(image.shape[1])
    level = clahe.equalize_tiles(planes, limits, tiles, count).view(image.shape)
    return keep_rows(~gate, image, level if image.dtype == torch.uint8 else level / (tone.LEVELS - 1))


def count(index: Tensor, bins: int) -> Tensor:
    """Count without a wait for the device."""
    counts = torch.zeros(bins, dtype=torch.long, device=index.device)
    return counts.scatter_add(0, index.long(), torch.ones_like(index, dtype=torch.long))
