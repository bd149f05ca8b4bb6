"""Shrinking an image and enlarging it again."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..warp.axes import blend, taps
from ..warp.maths import PADDINGS


def axis_weights(
    source: Tensor,  # (B,), the pixels of the source
    target: Tensor,  # (B,), the pixels of the target
    shape: tuple[int, int],  # the most of the target and of the source
    mode: str,
    dtype: torch.dtype,
) -> Tensor:  # (B, *shape)
    """The matrix that resizes along an axis; what is beyond the sizes is zero.

    ``bilinear`` samples between the pixels next to a place, ``area`` averages over what a pixel of the target covers.
    """
    n, m = source.view(-1, 1, 1), target.view(-1, 1, 1)
    i = torch.arange(shape[1], device=source.device, dtype=source.dtype)
    j = torch.arange(shape[0], device=source.device, dtype=source.dtype).unsqueeze(1)
    if mode == "nearest":
        weights = (i == ((2 * j + 1) * n).div(2 * m, rounding_mode="floor")).to(dtype)
    elif mode == "bilinear":
        place = ((2 * j + 1) * n - m).to(dtype) / (2 * m)
        place = torch.minimum(place.clamp(min=0), (n - 1).to(dtype))
        weights = (1 - (place - i).abs()).clamp(min=0)
    else:  # the overlap of [j n / m, (j + 1) n / m] and [i, i + 1], over n / m
        overlap = torch.minimum((j + 1) * n, (i + 1) * m) - torch.maximum(j * n, i * m)
        weights = overlap.clamp(min=0).to(dtype) / n
    return weights * ((i < n) & (j < m))


def small_sizes(
    scale: Tensor,  # (B,)
    size: int,
) -> Tensor:  # (B,), int64
    """The number of pixels that are left of an axis."""
    return (scale.double() * size).round().long().clamp(1, size)


def downscale(
    image: Tensor,  # (B, C, H, W), floating
    scale: Tensor,  # (B,)
    down: str,
    up: str,
) -> Tensor:  # (B, C, H, W)
    """Shrink and enlarge each row of the batch by matrices along both axes."""
    for dim in (-2, -1):
        n = image.shape[dim]
        whole, small = torch.full_like(scale, n).long(), small_sizes(scale, n)
        there = axis_weights(whole, small, (n, n), down, image.dtype)
        matrix = (axis_weights(small, whole, (n, n), up, image.dtype) @ there).unsqueeze(1)
        image = matrix @ image if dim == -2 else image @ matrix.mT
    return image


def thin(image: Tensor, scale: Tensor) -> Tensor:  # (B, C, H, W), any dtype
    """Shrink and enlarge each row of the batch by the nearest pixels, whose values stay exact."""
    for dim in (-2, -1):
        n = image.shape[dim]
        small, places = small_sizes(scale, n).unsqueeze(1), 2 * torch.arange(n, device=image.device) + 1
        left = (places * small).div(2 * n, rounding_mode="floor")
        index = ((2 * left + 1) * n).div(2 * small, rounding_mode="floor")
        shape = (-1, 1, n, 1) if dim == -2 else (-1, 1, 1, n)
        image = image.gather(dim, index.view(shape).expand(image.shape))
    return image


def read_sizes(image: Tensor, scale: Tensor, *config: object) -> list[list[int]]:
    """The sizes (h, w) that the rows are shrunk to."""
    return torch.stack([small_sizes(scale, n) for n in image.shape[-2:]], 1).tolist()


def downscale_row(
    image: Tensor,  # (C, H, W), floating
    sizes: Sequence[int],
    down: str,
    up: str,
    out: Tensor | None = None,  # where to write
) -> Tensor:  # (C, H, W)
    """Shrink an image to a size and enlarge it again."""
    height, width = image.shape[-2:]
    matrices: dict[tuple[int, int, str], Tensor] = {}
    for dim, n in ((1, sizes[0]), (2, sizes[1])):
        image = resized(image, dim, n, down, matrices)
    image = resized(image, 2, width, up, matrices)
    if up == "nearest":
        return resized(image, 1, height, up, matrices, out)
    small, where = image.shape[1], torch.arange(height, dtype=image.dtype, device=image.device)
    places = ((2 * where + 1) * small - height) / (2 * height)
    lines = taps(places.clamp(0, small - 1).unsqueeze(0), small, PADDINGS["border"])[0]
    return blend(image, lines, out)


def nearest(size: int, n: int, like: Tensor) -> Tensor:  # (n,), int32
    """Which of ``size`` pixels are the nearest to n."""
    index = 2 * torch.arange(n, device=like.device) + 1
    return index.mul_(size).div_(2 * n, rounding_mode="floor").int()


def thin_row(
    image: Tensor,  # (C, H, W), any dtype
    sizes: Sequence[int],
    out: Tensor | None = None,  # where to write
) -> Tensor:  # (C, H, W)
    """Take the nearest pixel there and back; of each line that is left, once, and then whole lines."""
    (height, width), (h, w) = image.shape[-2:], sizes
    rows, back = nearest(height, h, image), nearest(h, height, image)
    columns, again = (rows, back) if (width, w) == (height, h) else (nearest(width, w, image), nearest(w, width, image))
    places = torch.add(columns.index_select(0, again), rows.unsqueeze(1), alpha=width).flatten()
    lines = torch.stack([plane.index_select(0, places) for plane in image.flatten(1)])
    return torch.index_select(lines.view(len(image), h, width), 1, back, out=out)


def resized(
    image: Tensor,  # (C, H, W)
    dim: int,
    n: int,
    mode: str,
    matrices: dict[tuple[int, int, str], Tensor],  # those of other axes, by size, new size and mode
    out: Tensor | None = None,  # where to write
) -> Tensor:
    """Resize an image along an axis."""
    size = image.shape[dim]
    if mode == "nearest":
        index = nearest(size, n, image)
        return image.index_select(dim, index) if out is None else torch.index_select(image, dim, index, out=out)
    if (size, n, mode) not in matrices:
        whole, less = (torch.tensor([k], device=image.device, dtype=torch.int32) for k in (size, n))
        matrices[size, n, mode] = axis_weights(whole, less, (n, size), mode, image.dtype)[0]
    weights = matrices[size, n, mode]
    return torch.matmul(image, weights.mT) if dim == 2 else lines_resized(image, weights)


BLOCK = 32  # lines that are made at a time


def lines_resized(
    image: Tensor,  # (C, H, W)
    weights: Tensor,  # (n, H)
) -> Tensor:  # (C, n, W)
    """Multiply by a matrix of which each line sees a few neighbouring lines of the image."""
    size, n = image.shape[1], len(weights)
    parts = []
    for start in range(0, n, BLOCK):
        stop = min(n, start + BLOCK)
        first, last = max(start * size // n - 1, 0), min(-(-stop * size // n) + 1, size)
        parts.append(weights[start:stop, first:last] @ image[:, first:last])
    return torch.cat(parts, 1)
