"""Filters: separable, square, boxes, disks and lines."""

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..warp.axes import axis_taps, blend, odd_lines
from ..warp.maths import MODES, PADDINGS, pixel_grid, sample_grid

Taps = Sequence[float] | Sequence[Tensor]


def gaussian_weights(
    sigma: Tensor,  # (B,), standard deviation in pixels
    size: int,
) -> Tensor:  # (B, size), each row sums to 1
    """Sample a Gaussian at whole pixels around the centre; a sigma of zero gives a single tap."""
    x = torch.arange(size, device=sigma.device, dtype=sigma.dtype) - size // 2
    weights = torch.exp(-0.5 * (x / sigma.clamp(min=1e-3).unsqueeze(1)) ** 2)
    return weights / weights.sum(1, keepdim=True)


def separable_filter(
    image: Tensor,  # (..., H, W), floating
    taps_y: Taps,
    taps_x: Taps,
    border: str,
) -> Tensor:  # (..., H, W)
    """Correlate with one kernel along x, then with another along y.

    The image is padded once and then read through shifted slices, which vectorise. A tap is a number, or a tensor that
    broadcasts over the image.
    """
    h, w = image.shape[-2:]
    ry, rx = len(taps_y) // 2, len(taps_x) // 2
    padded = F.pad(image, [rx, rx, ry, ry], mode=border)
    along_x = weighted_sum([padded[..., k : k + w] for k in range(len(taps_x))], taps_x)
    return weighted_sum([along_x[..., k : k + h, :] for k in range(len(taps_y))], taps_y)


def weighted_sum(parts: Sequence[Tensor], weights: Taps, out: Tensor | None = None) -> Tensor:
    """Add up parts, each times its weight, in ``out`` where there is one."""
    total = torch.mul(parts[0], weights[0], out=out)
    for part, weight in zip(parts[1:], weights[1:], strict=True):
        total = torch.addcmul(total, part, weight) if isinstance(weight, Tensor) else total.add_(part, alpha=weight)
    return total


def gaussian_matrix(
    n: int,
    size: int,
    sigma: Tensor,  # ()
) -> Tensor:  # (n, n)
    """The banded matrix whose product with a signal of n samples is its Gaussian blur, zero outside."""
    weights = gaussian_weights(sigma.view(1), size)[0]
    i = torch.arange(n, device=sigma.device)
    tap = i.view(1, n) - i.view(n, 1) + size // 2
    return weights[tap.clamp(0, size - 1)] * ((tap >= 0) & (tap < size))


def window_sum(image: Tensor, size: int, dim: int) -> Tensor:
    """Add up every ``size`` neighbours along an axis, which loses size - 1 places: two halves, and an odd one out."""
    if size == 1:
        return image
    half = window_sum(image, size // 2, dim)
    n = image.shape[dim] - size + 1
    total = half.narrow(dim, 0, n) + half.narrow(dim, size // 2, n)
    return total.add_(image.narrow(dim, size - 1, n)) if size % 2 else total


def box_blur(
    image: Tensor,  # (..., C, H, W), floating
    height: int,
    width: int,
    border: str,
    out: Tensor | None = None,  # where to write
) -> Tensor:  # (..., C, H, W)
    """Average over a window; one of an even size reaches a pixel further right and down than left and up."""
    padding = [(width - 1) // 2, width // 2, (height - 1) // 2, height // 2]
    padded = F.pad(image, padding, mode=border)
    return torch.mul(window_sum(window_sum(padded, height, -2), width, -1), 1 / (height * width), out=out)


def sharpen(
    image: Tensor,  # (..., H, W), [0, 1]
    factor: float | Tensor,  # 0 smooth, 1 as it is, above 1 sharper
    out: Tensor | None = None,  # where to write
) -> Tensor:  # (..., H, W), [0, 1]
    """Move from an image's smoothed copy through the image, with the kernel of the PIL's ``ImageFilter.SMOOTH``.

    The kernel is of ones with a five in the middle; pixels at the edges stay as they are.
    """
    whole = torch.clamp(image, 0, 1, out=out)
    if min(image.shape[-2:]) < 3:
        return whole
    inner = whole[..., 1:-1, 1:-1]
    smooth = window_sum(window_sum(whole, 3, -2), 3, -1).add_(inner, alpha=4).mul_(1 / 13)
    if out is None:
        return (whole + F.pad((smooth - inner) * (1 - factor), [1] * 4)).clamp(0, 1)
    torch.lerp(smooth, inner, factor, out=inner).clamp_(0, 1)
    return out


def filter2d(
    image: Tensor,  # (C, H, W), floating
    taps: Sequence[Sequence[float]] | Tensor,  # (K, K), K odd
    border: str,
    out: Tensor | None = None,  # where to write
) -> Tensor:  # (C, H, W)
    """Correlate with a square kernel; numbers that are zero cost nothing."""
    h, w = image.shape[-2:]
    reach = len(taps) // 2
    padded = F.pad(image, [reach] * 4, mode=border)
    places = [(y, x) for y in range(len(taps)) for x in range(len(taps)) if isinstance(taps, Tensor) or taps[y][x]]
    weights: Any = [taps[y][x] for y, x in places]
    return weighted_sum([padded[..., y : y + h, x : x + w] for y, x in places], weights, out)


def filter2d_batch(
    image: Tensor,  # (B, C, H, W), floating
    weights: Tensor,  # (B, K, K), K odd
    border: str,
) -> Tensor:  # (B, C, H, W)
    """Correlate each row of the batch with its own square kernel."""
    b, c, h, w = image.shape
    padded = F.pad(image, [weights.shape[-1] // 2] * 4, mode=border).view(
        1, b * c, *(n + weights.shape[-1] - 1 for n in (h, w))
    )
    kernel = weights.to(image.dtype).repeat_interleave(c, 0).unsqueeze(1)
    return F.conv2d(padded, kernel, groups=b * c).view(b, c, h, w)


def motion_weights(
    size: Tensor,  # (B,), odd, at most canvas
    angle: Tensor,  # (B,), degrees, counter-clockwise
    direction: Tensor,  # (B,), in [-1, 1]
    canvas: int,
    mode: str,
) -> Tensor:  # (B, canvas, canvas), each row sums to 1
    """Draw a line of ``size`` taps through the middle, weighed linearly along it, and turned.

    The weights along the line go from ``(1 + direction) / 2`` at its left end to ``(1 - direction) / 2``. A pixel takes
    the tap where it was before the turn, interpolated by ``mode``. As in kornia, places are exact to 2**-14 and halves
    go to even taps, so that 30 degrees come out alike everywhere.
    """
    angle, direction = (v.to(torch.promote_types(v.dtype, torch.float32)) for v in (angle, direction))
    offset = torch.arange(canvas, device=angle.device, dtype=angle.dtype) - canvas // 2
    x, y = offset.view(1, 1, -1), offset.view(1, -1, 1)
    turn = torch.deg2rad(angle.remainder(360)).view(-1, 1, 1)
    cos, sin = turn.cos(), turn.sin()
    reach = (size // 2).to(angle.dtype).view(-1, 1, 1)
    first = (direction.clamp(-1, 1).view(-1, 1, 1) + 1) / 2
    step = (1 - 2 * first) / (2 * reach).clamp(min=1)
    along, across = cos * x - sin * y + reach, sin * x + cos * y + reach
    if mode == "nearest":
        along, across = ((place * 2**14).round() / 2**14 for place in (along, across))
        along, across = along.round(), across.round()
    if mode == "bicubic":
        tap = torch.arange(canvas, device=angle.device, dtype=angle.dtype)
        line = (first + step * tap.view(1, 1, -1)) * (tap <= 2 * reach)
        weights = (line.unsqueeze(1) * cubic(along.unsqueeze(-1) - tap)).sum(-1) * cubic(across - reach)
    else:  # between taps of a linear weight lies that weight, and past either end it fades within a pixel
        faded = torch.minimum(along + 1, 2 * reach + 1 - along).clamp(0, 1)
        weights = (first + step * torch.minimum(along.clamp(min=0), 2 * reach)) * faded
        weights = weights * (1 - (across - reach).abs()).clamp(min=0)
    inside = (x.abs() <= reach) & (y.abs() <= reach)
    weights = weights * inside
    return weights / weights.sum((1, 2), keepdim=True)


def cubic(distance: Tensor) -> Tensor:
    """The weight of a tap in the cubic convolution of R. Keys (1981) with a = -0.75."""
    d = distance.abs()
    near = ((1.25 * d - 2.25) * d) * d + 1
    far = ((-0.75 * d + 3.75) * d - 6) * d + 3
    return torch.where(d <= 1, near, torch.where(d < 2, far, torch.zeros_like(d)))


def alias_size(radius: int) -> int:
    """The size of the Gaussian that softens a disk."""
    return 3 if radius <= 8 else 5


def disk_blur(
    image: Tensor,  # (C, H, W), floating
    radius: int,
    taps: Taps,  # of the Gaussian that softens the disk
    border: str,
) -> Tensor:  # (C, H, W)
    """Average over a disk with soft edges: over rows of pixels that grow by one at each end, each where it fits."""
    (h, w), soft = image.shape[-2:], len(taps) // 2
    padded = F.pad(image, [radius + soft] * 4, mode=border)
    for dim in (-1, -2):
        n = padded.shape[dim] - 2 * soft
        padded = weighted_sum([padded.narrow(dim, k, n) for k in range(len(taps))], taps)
    halves = [math.isqrt(radius**2 - y**2) for y in range(-radius, radius + 1)]
    run, total = padded[..., radius : radius + w].clone(), torch.zeros_like(image)
    for half in range(radius + 1):
        if half:
            run = run + padded[..., radius - half : radius - half + w] + padded[..., radius + half : radius + half + w]
        for y in (y for y, reach in enumerate(halves) if reach == half):
            total = total.add_(run[..., y : y + h, :])
    return total.mul_(1 / sum(2 * half + 1 for half in halves))


def disk_weights(
    radius: Tensor,  # (B,), whole numbers
    sigma: Tensor,  # (B,), of the Gaussian that softens the disk, in pixels
    most: int,  # the largest radius
) -> Tensor:  # (B, K, K), each row sums to 1
    """The kernel of ``disk_blur``."""
    reach = most + alias_size(most) // 2
    offset = torch.arange(-reach, reach + 1, device=sigma.device)
    inside = (offset.view(-1, 1) ** 2 + offset**2) <= radius.view(-1, 1, 1) ** 2
    small, wide = (gaussian_weights(sigma, n) for n in (3, 5))
    soft = torch.where((radius <= 8).unsqueeze(1), F.pad(small, [1, 1]), wide)
    disk = F.pad(inside.to(sigma.dtype), [2] * 4)
    for dim in (-1, -2):
        n = disk.shape[dim] - 4
        taps = soft.unbind(1)
        disk = weighted_sum([disk.narrow(dim, k, n) for k in range(5)], [t.view(-1, 1, 1) for t in taps])
    return disk / disk.sum((1, 2), keepdim=True)


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
