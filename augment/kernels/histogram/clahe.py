"""Contrast limited adaptive histogram equalization.

K. Zuiderveld, "Contrast limited adaptive histogram equalization", Graphics Gems IV, 1994; the excess is dealt out as in
OpenCV's ``createCLAHE``. Unlike there, tables lie at the very centres of their tiles, so that a mirrored image gives
the mirrored result.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ..tone.maths import LEVELS

Count = Callable[[Tensor, int], Tensor]


@dataclass(frozen=True)
class Tiles:
    """How an image of a size is tiled; the same for every plane.

    Attributes:
        rows, columns: (H',), (W',), the pixels that the tiles cover, with some behind the end reflected.
        first: (H', W') int32, where the histogram of a pixel's tile starts.
        pixels: how many a tile has.
        above, below: (H, W) int32, where the pairs of tables start that a pixel lies between.
        down, right: (H, 1, 1), (W,), how far it lies from the one to the other.
        dealt: (256, 256) int64, which levels get one of a rest, by the rest.
    """

    grid: tuple[int, int]
    rows: Tensor
    columns: Tensor
    first: Tensor
    pixels: int
    above: Tensor
    below: Tensor
    down: Tensor
    right: Tensor
    dealt: Tensor

    @classmethod
    def of(cls, image: Tensor, grid: tuple[int, int]) -> "Tiles":
        """Lay tiles of one size over images (..., H, W), as many each way as the grid says."""
        device, dtype = image.device, torch.float64 if image.dtype == torch.float64 else torch.float32
        covered, tile, before, after, part = [], [], [], [], []
        for n, count in zip(image.shape[-2:], grid, strict=True):
            extent = -(-n // count)
            i = torch.arange(extent * count, device=device)
            covered.append((n - 1 - (n - 1 - i).abs()).clamp(min=0))
            tile.append((i // extent).int())
            place = (torch.arange(n, device=device, dtype=torch.float64) + 0.5) / extent - 0.5
            before.append(place.floor().int())
            after.append((before[-1] + 1).clamp(max=count - 1))
            part.append((place - before[-1]).to(dtype))
        (y, x), (_, width), (top, left), (bottom, _) = tile, grid, before, after
        pair = left + 1  # pairs of neighbours along x, the first and the last with themselves
        return cls(
            grid=grid,
            rows=covered[0],
            columns=covered[1],
            first=(y.unsqueeze(1) * width + x) * LEVELS,
            pixels=len(y) // grid[0] * (len(x) // width),
            above=(top.clamp(min=0).unsqueeze(1) * (width + 1) + pair) * LEVELS,
            below=(bottom.unsqueeze(1) * (width + 1) + pair) * LEVELS,
            down=part[0].view(-1, 1, 1),
            right=part[1],
            dealt=dealt_levels(device),
        )


def equalize_tiles(
    level: Tensor,  # (N, H, W) int32, planes in 0..255
    limit: Tensor,  # (N,), most of a level in a tile, as a multiple of an even share; 0 for no limit
    tiles: Tiles,
    count: Count,
) -> Tensor:  # (N, H, W), floating, in 0..255
    """Equalise every tile by a table of its own, and blend the tables of the four tiles around each pixel."""
    tables = clipped_tables(tile_histograms(level, tiles, count), limit, tiles)
    n, (height, width) = len(level), tiles.grid
    tables = tables.view(n, height, width, LEVELS).to(tiles.right.dtype)
    # two neighbours are moved at once, as one complex number; the first and the last are their own neighbours
    pairs = tables.new_empty(n, height, width + 1, LEVELS, 2)
    pairs[:, :, 1:, :, 0], pairs[:, :, :-1, :, 1] = tables, tables
    pairs[:, :, 0, :, 0], pairs[:, :, -1, :, 1] = tables[:, :, 0], tables[:, :, -1]
    pairs = torch.view_as_complex(pairs).flatten()
    plane = torch.arange(n, device=level.device, dtype=torch.int32).view(n, 1, 1) * (height * (width + 1) * LEVELS)
    level = level + plane
    above, below = (
        torch.view_as_real(pairs.index_select(0, (level + start).flatten())).view(*level.shape, 2)
        for start in (tiles.above, tiles.below)
    )
    blended = torch.lerp(above, below, tiles.down)
    return torch.lerp(blended[..., 0], blended[..., 1], tiles.right)


def tile_histograms(level: Tensor, tiles: Tiles, count: Count) -> Tensor:  # (N, tiles, 256)
    """Count the levels of every tile."""
    if level.shape[1:] != tiles.first.shape:
        level = level.index_select(1, tiles.rows).index_select(2, tiles.columns)
    n, bins = len(level), tiles.grid[0] * tiles.grid[1] * LEVELS
    plane = torch.arange(n, device=level.device, dtype=torch.int32).view(n, 1, 1) * bins
    return count((level + (tiles.first + plane)).flatten(), n * bins).view(n, -1, LEVELS)


def clipped_tables(
    histogram: Tensor,  # (N, tiles, 256)
    limit: Tensor,  # (N,)
    tiles: Tiles,
) -> Tensor:  # (N, tiles, 256), float32
    """Cut the peaks of histograms, deal out what was above, and accumulate."""
    most = (limit.double() * tiles.pixels / LEVELS).floor().clamp(min=1)
    most = torch.where(limit > 0, most, tiles.pixels).to(histogram.dtype).view(-1, 1, 1)
    histogram = histogram.minimum(most)
    excess = tiles.pixels - histogram.sum(-1, keepdim=True)
    rest = tiles.dealt.index_select(0, (excess % LEVELS).flatten()).view(histogram.shape)
    total = (histogram + excess // LEVELS + rest).cumsum(-1)
    return (total.float() * ((LEVELS - 1) / tiles.pixels)).round().clamp(max=LEVELS - 1)


def dealt_levels(device: torch.device) -> Tensor:  # (256, 256)
    """Give which levels get one of a rest that does not divide by 256, by the rest: they are spread evenly."""
    level = torch.arange(LEVELS, device=device)
    rest = level.unsqueeze(1)
    stride = LEVELS // rest.clamp(min=1)
    return ((level % stride == 0) & (level < stride * rest)).long()
