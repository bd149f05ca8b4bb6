"""Light that varies over the image: ramps, spots and fractal maps of it."""

import torch
from torch import Tensor

from ..warp.maths import pixel_grid

TOP_DOWN, BOTTOM_UP, LEFT_RIGHT, RIGHT_LEFT = range(4)


def _plane(
    start: Tensor,  # (B,), the value of the top left pixel
    rise_y: Tensor,  # (B,), from the first row to the last
    rise_x: Tensor,
    h: int,
    w: int,
) -> Tensor:  # (B, 1, h, w)
    """Rise linearly along y and x."""
    x, y = pixel_grid(h, w, start)
    start, slope_y, slope_x = (n.view(-1, 1, 1) for n in (start, rise_y / max(h - 1, 1), rise_x / max(w - 1, 1)))
    return ((start + slope_y * y) + slope_x * x).unsqueeze(1)


def linear_gradient(
    height: Tensor,  # (B,), value at the bright end
    direction: Tensor,  # (B,), TOP_DOWN, ...: where the gradient rises to
    h: int,
    w: int,
) -> Tensor:  # (B, 1, h, w)
    """Rise from 0 at one side of the image to ``height`` at the other."""
    up, left = direction == BOTTOM_UP, direction == RIGHT_LEFT
    rise_y = torch.where(up, -height, torch.where(direction == TOP_DOWN, height, 0.0))
    rise_x = torch.where(left, -height, torch.where(direction == LEFT_RIGHT, height, 0.0))
    return _plane(torch.where(up | left, height, 0.0), rise_y, rise_x, h, w)


def corner_gradient(
    height: Tensor,  # (B,), value at the bright corner
    corner: Tensor,  # (B,), the bright one: 0 bottom right, 1 bottom left, 2 top right, 3 top left
    h: int,
    w: int,
) -> Tensor:  # (B, 1, h, w)
    """Rise linearly from 0 at one corner of the image to ``height`` at the opposite one."""
    share = 0.5 if h > 1 and w > 1 else 1.0  # an axis of one pixel has no ramp
    rise_y = torch.where(corner < 2, height, -height) * (share if h > 1 else 0.0)
    rise_x = torch.where((corner == 0) | (corner == 2), height, -height) * (share if w > 1 else 0.0)
    start = -torch.where(rise_y * height < 0, rise_y, 0.0) - torch.where(rise_x * height < 0, rise_x, 0.0)
    return _plane(start, rise_y, rise_x, h, w)


def gaussian_gradient(
    height: Tensor,  # (B,), value at the brightest pixel
    center: Tensor,  # (B, 2), x and y as fractions of the image between its edges
    sigma: Tensor,  # (B, 2), x and y as fractions of the image
    h: int,
    w: int,
) -> Tensor:  # (B, 1, h, w)
    """Rise from 0 at the darkest pixel to ``height`` at the brightest along a Gaussian."""
    bells = []
    for n, c, s in zip((w, h), center.unbind(1), sigma.unbind(1), strict=True):
        pixel = torch.arange(n, device=height.device, dtype=height.dtype)
        distance = ((pixel - (c * n - 0.5).unsqueeze(1)) ** 2) / (2 * (s * n) ** 2).clamp(min=1e-12).unsqueeze(1)
        bells.append(torch.exp(distance.amin(1, keepdim=True) - distance))
    along_x, along_y = bells
    lowest = along_x.amin(1, keepdim=True) * along_y.amin(1, keepdim=True)
    scale = height.unsqueeze(1) / (1 - lowest).clamp(min=1e-6)
    return (along_y * scale).unsqueeze(-1).unsqueeze(1) * along_x[:, None, None, :] - (lowest * scale)[..., None, None]


def illuminate(
    image: Tensor,  # (B, C, H, W), [0, 1]
    light: Tensor,  # (B, 1 or C, H, W)
) -> Tensor:  # (B, C, H, W), [0, 1]
    """Add light, and cut to [0, 1] before and after."""
    return image.clamp(0, 1).add_(light).clamp_(0, 1)


def plasma_brightness(
    image: Tensor,  # (B, C, H, W), [0, 1]
    plasma: Tensor,  # (B, 1 or C, H, W), [0, 1]
    intensity: Tensor,  # (B, 1, 1, 1)
) -> Tensor:  # (B, C, H, W), [0, 1]
    """Brighten where a map is above a half, darken where it is below, by ``intensity`` at its ends."""
    return illuminate(image, (plasma - 0.5) * (2 * intensity))


def plasma_contrast(
    image: Tensor,  # (B, C, H, W), [0, 1]
    plasma: Tensor,  # (B, 1 or C, H, W), [0, 1]
) -> Tensor:  # (B, C, H, W), [0, 1]
    """Multiply the difference from middle grey by four times a map."""
    return image.clamp(0, 1).sub_(0.5).mul_(plasma).mul_(4).add_(0.5).clamp_(0, 1)


def plasma_shadow(
    image: Tensor,  # (B, C, H, W), [0, 1]
    plasma: Tensor,  # (B, 1 or C, H, W), [0, 1]
    shade: Tensor,  # (B, 1, 1, 1)
    quantity: Tensor,  # (B, 1, 1, 1)
) -> Tensor:  # (B, C, H, W), [0, 1]
    """Add ``shade``, which is negative for a shadow, where a map is below ``quantity``."""
    return illuminate(image, torch.where(plasma < quantity, shade, 0.0))


Weight = float | Tensor


def grid_sizes(h: int, w: int) -> list[tuple[int, int]]:
    """The sizes of the grids from the corners of the fractal to (h, w), each half as wide as the next.

    The fractal lies on sides of 2**n + 1 pixels of which (h, w) are kept, and of a coarser grid what they depend on.
    """
    exponents = [(max(n, 3) - 2).bit_length() for n in (h, w)]
    sizes = [(h, w)]
    for level in range(1, min(exponents) + 1):
        whole = [2 ** (e - level) + 1 for e in exponents]
        sizes.append(tuple(min(full, (n + 1) // 2 + 1) for full, n in zip(whole, sizes[-1], strict=True)))
    return sizes[::-1]


def refined_shapes(size: tuple[int, int]) -> list[tuple[int, int]]:
    """The shapes of what a grid of this size gains: in the middle of cells, along rows and along columns."""
    rows, columns = size
    return [(rows - 1, columns - 1), (rows, columns - 1), (rows - 1, columns)]


def noise_shapes(h: int, w: int) -> list[tuple[int, int]]:
    """The shapes of the random numbers of a fractal of (h, w): its corners, and all levels but the first."""
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
