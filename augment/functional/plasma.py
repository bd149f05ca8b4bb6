"""Plasma fractals, grown by the diamond-square algorithm."""

import torch
from torch import Tensor

Weight = float | Tensor


def grid_sizes(h: int, w: int) -> list[tuple[int, int]]:
    """Give the sizes of the grids from the corners of the fractal to (h, w), each half as wide as the next.

    The fractal lies on sides of 2**n + 1 pixels of which (h, w) are kept, and of a coarser grid what they depend on.
    """
    exponents = [(max(n, 3) - 2).bit_length() for n in (h, w)]
    sizes = [(h, w)]
    for level in range(1, min(exponents) + 1):
        whole = [2 ** (e - level) + 1 for e in exponents]
        sizes.append(tuple(min(full, (n + 1) // 2 + 1) for full, n in zip(whole, sizes[-1], strict=True)))
    return sizes[::-1]


def refined_shapes(size: tuple[int, int]) -> list[tuple[int, int]]:
    """Give the shapes of what a grid of this size gains: in the middle of cells, along rows and along columns."""
    rows, columns = size
    return [(rows - 1, columns - 1), (rows, columns - 1), (rows - 1, columns)]


def noise_shapes(h: int, w: int) -> list[tuple[int, int]]:
    """Give the shapes of the random numbers of a fractal of (h, w): its corners, and all levels but the first."""
    sizes = grid_sizes(h, w)
    return [sizes[0], *(shape for size in sizes[1:-1] for shape in refined_shapes(size))]


def noise_size(h: int, w: int) -> int:
    """Give how many random numbers a plane of (h, w) takes."""
    return sum(rows * columns for rows, columns in noise_shapes(h, w))


def diamond_square(
    noise: Tensor,  # (..., N), in [0, 1]
    roughness: Weight,  # broadcasts over (..., 1, 1)
    h: int,
    w: int,
) -> Tensor:  # (..., h, w), in [0, 1] for a roughness in [0, 1]
    """Grow a fractal from its corners: each level sets the middles of cells, then of their sides, to the mean of their
    neighbours, of which it replaces a share of roughness**level by noise; at level 0 it replaces nothing.

    The variant of A. Nicolaou et al., "TorMentor", 2022, that kornia's ``diamond_square`` has.
    """
    shapes, sizes = noise_shapes(h, w), grid_sizes(h, w)
    parts = [
        part.unflatten(-1, shape)
        for part, shape in zip(noise.split([a * b for a, b in shapes], -1), shapes, strict=True)
    ]
    grid = _refined(parts[0], None, 0.0, sizes[1])
    share: Weight = 1.0
    for level, size in enumerate(sizes[2:]):
        share = share * roughness
        grid = _refined(grid, parts[3 * level + 1 : 3 * level + 4], share, size)
    return grid


def _refined(grid: Tensor, noise: list[Tensor] | None, share: Weight, size: tuple[int, int]) -> Tensor:
    """Double the resolution of a grid (..., r, c) and keep ``size`` of the (2 r - 1, 2 c - 1)."""
    rest = 1 - share
    along_y = grid[..., :-1, :] + grid[..., 1:, :]
    along_x = grid[..., :-1] + grid[..., 1:]
    middle = (along_x[..., :-1, :] + along_x[..., 1:, :]) * (0.25 * rest)
    middle = middle if noise is None else _plus(middle, noise[0], share)
    for sums, axis in ((along_x, -2), (along_y, -1)):
        n = sums.shape[axis]
        sums.narrow(axis, 1, n - 1).add_(middle)
        sums.narrow(axis, 0, n - 1).add_(middle)
    fine = grid.new_empty((*grid.shape[:-2], *size))
    parts = [grid, *(_mean(sums, axis, rest) for sums, axis in ((along_x, -2), (along_y, -1))), middle]
    if noise is not None:
        parts[1:3] = [_plus(mean, drawn, share) for mean, drawn in zip(parts[1:3], noise[1:], strict=True)]
    for part, (y, x) in zip(parts, ((0, 0), (0, 1), (1, 0), (1, 1)), strict=True):
        place = fine[..., y::2, x::2]
        place.copy_(part[..., : place.shape[-2], : place.shape[-1]])
    return fine


def _mean(sums: Tensor, axis: int, rest: Weight) -> Tensor:
    """Divide the sums of neighbours by their number, four inside and three on the first and the last line."""
    inverse = sums.new_full((sums.shape[axis],), 1 / 4)
    for end in (inverse[:1], inverse[-1:]):  # a number that is assigned would be sent from the CPU
        end.fill_(1 / 3)
    return sums * ((inverse.unsqueeze(-1) if axis == -2 else inverse) * rest)


def _plus(base: Tensor, noise: Tensor, share: Weight) -> Tensor:
    return torch.addcmul(base, noise, share) if isinstance(share, Tensor) else base.add_(noise, alpha=share)
