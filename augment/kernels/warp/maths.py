"""Sampling an image at computed positions. Pixel centres are integers, x right, y down.

A homography here maps output pixels to input pixels, in the order in which sampling asks for them.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from ...common.constants import Kept
from . import matrices as geometry

MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
PADDINGS = {"zeros": 0, "border": 1, "reflection": 2, "constant": 0, "replicate": 1}
IDENTITY = Kept(torch.eye(3))
BORDERS = ("constant", "replicate", "symmetric")  # what the paddings are called where whole pixels are taken


def codes(mode: str, padding: str) -> tuple[int, int]:
    """The numbers of a mode and of a padding."""
    if padding not in PADDINGS:
        raise ValueError(f"padding_mode: expected one of {[*PADDINGS]} where pixels are interpolated, got {padding!r}")
    return MODES[mode], PADDINGS[padding]


def pixel_grid(h: int, w: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """The coordinates x as (1, 1, w) and y as (1, h, 1), in the dtype and on the device of ``like``."""
    x = torch.arange(w, device=like.device, dtype=like.dtype)
    y = torch.arange(h, device=like.device, dtype=like.dtype)
    return x.view(1, 1, w), y.view(1, h, 1)


def along_axes(
    matrix: Tensor,  # (..., 3, 3), output pixel -> input pixel
    h: int,
    w: int,
) -> tuple[Tensor, Tensor]:  # (..., 3, 1, w) and (..., 3, h, 1)
    """What the columns and the rows of an h by w output add to the three coordinates that a homography gives."""
    x, y = pixel_grid(h, w, matrix)
    a, b, c = matrix.unsqueeze(-1).unsqueeze(-1).unbind(-3)
    return a * x, b * y + c


def positions(
    matrix: Tensor,  # (B, 3, 3), output pixel -> input pixel; its last row is (0, 0, 1) unless projective
    h: int,
    w: int,
    projective: bool,
) -> Tensor:  # (B, 2, h, w), x and y
    """Map the pixels of an h by w output through a homography."""
    along_x, along_y = along_axes(matrix if projective else matrix[:, :2], h, w)
    mapped = along_x + along_y
    return mapped[:, :2] / mapped[:, 2:] if projective else mapped


def normalised(
    matrix: Tensor,  # (B, 3, 3), output pixel -> input pixel
    height: int,
    width: int,
) -> Tensor:  # (B, 3, 3), output pixel -> [-1, 1] over the edges of the input
    """Follow a homography by the scaling of input pixels to the square that ``grid_sample`` works in."""
    x, y, scale = matrix.unbind(1)
    return torch.stack([(2 * x + scale) / width - scale, (2 * y + scale) / height - scale, scale], 1)


def sample_grid(
    image: Tensor,  # (B, C, H, W), floating
    grid: Tensor,  # (B, 2, h, w), in [-1, 1] over the edges
    mode: int,
    padding: int,
    fill: Sequence[float],
) -> Tensor:  # (B, C, h, w)
    """Interpolate an image at normalised positions; outside it there is ``fill``, one value or one a channel."""
    grid = grid.to(image.dtype).permute(0, 2, 3, 1)
    if padding or not any(fill):
        return torch.ops.aten.grid_sampler_2d(image, grid, mode, padding, False)
    level = per_channel(fill, image)
    return torch.ops.aten.grid_sampler_2d(image - level, grid, mode, padding, False) + level


def per_channel(values: Sequence[float], like: Tensor) -> Tensor:
    """One value, or one a channel, as (1 or C, 1, 1) in the dtype and on the device of ``like``."""
    values = _fit(values, like.dtype)
    entries = [torch.full((1, 1), value, dtype=like.dtype, device=like.device) for value in values]
    return torch.stack(entries)


def _fit(values: Sequence[float], dtype: torch.dtype) -> Sequence[float]:
    """Round values that integers shall hold, and refuse those that they cannot."""
    if dtype.is_floating_point:
        return values
    limits = torch.iinfo(torch.uint8 if dtype == torch.bool else dtype)
    rounded = [round(value) for value in values]
    if not all(limits.min <= value <= limits.max for value in rounded):
        raise ValueError(f"fill: expected values that {dtype} can hold, got {rounded}")
    return rounded


def sample_nearest(
    image: Tensor,  # (B, C, H, W), any dtype
    position: Tensor,  # (B, 2, h, w), in pixels
    border: str,
    fill: Sequence[float],
) -> Tensor:  # (B, C, h, w)
    """Take the pixel that each position lies on, halves upwards; values stay exact whatever their dtype.

    A position that rounding left just below a half counts as the half that it is.
    """
    height, width = image.shape[-2:]
    x, y = (position + (0.5 + max(height, width) * 2**-22)).floor().unbind(1)
    row, column = fold_index(y, height, border), fold_index(x, width, border)
    index = row.clamp(0, height - 1) * width + column.clamp(0, width - 1)
    index = index.long().flatten(1).unsqueeze(1).expand(-1, image.shape[1], -1)
    output = image.flatten(2).gather(2, index).unflatten(2, position.shape[-2:])
    if border != "constant":
        return output
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    return torch.where(inside.unsqueeze(1), output, per_channel(fill, image))


def sample_row(
    image: Tensor,  # (C, H, W), any dtype
    position: Tensor,  # (2, h, w), in pixels; it is written over
    border: str,
    fill: Sequence[float],
    out: Tensor | None = None,  # where to write
) -> Tensor:  # (C, h, w)
    """Do the same for one image, plane by plane. A frame of the fill around it spares a choice at every pixel."""
    height, width = image.shape[1:]
    x, y = position.add_(0.5 + max(height, width) * 2**-22).floor_()
    if border == "constant":
        planes = _framed(image, fill)
        x, y, start, width = x.clamp_(-1, width), y.clamp_(-1, height), width + 3, width + 2
    else:
        planes, start = image.flatten(1), 0
        x = fold_index(x, width, border).clamp_(0, width - 1)
        y = fold_index(y, height, border).clamp_(0, height - 1)
    if width * height >= 2**23 and position.dtype == torch.float32:  # more than it counts
        x, y = x.double(), y.double()
    index = y.mul_(width).add_(x).add_(start).int().flatten()
    if image.requires_grad:
        return torch.stack([plane.index_select(0, index) for plane in planes]).view(-1, *position.shape[1:])
    output = image.new_empty((len(image), *position.shape[1:])) if out is None else out
    for plane, target in zip(planes, output.flatten(1), strict=True):
        torch.index_select(plane, 0, index, out=target)
    return output


def sample_axes(
    image: Tensor,  # (C, H, W), any dtype
    along_x: Tensor,  # (2, 1, w), what columns add to the two coordinates, of which they move the first
    along_y: Tensor,  # (2, h, 1)
    border: str,
    fill: Sequence[float],
) -> Tensor:  # (C, h, w)
    """Do the same where the axes stay apart: take rows, then columns."""
    height, width = image.shape[1:]
    if not len(image):
        return image.new_empty((0, along_y.shape[1], along_x.shape[2]))
    half = 0.5 + max(height, width) * 2**-22
    x, y = (along_x[0, 0] + along_y[0, 0, 0] + half).floor().long(), (along_y[1, :, 0] + half).floor().long()
    if border == "constant":
        image = torch.stack(tuple(_framed(image, fill))).view(len(image), height + 2, width + 2)
        x, y = x.clamp(-1, width) + 1, y.clamp(-1, height) + 1
    else:
        x, y = fold_index(x, width, border).clamp(0, width - 1), fold_index(y, height, border).clamp(0, height - 1)
    return image.index_select(1, y).index_select(2, x)


def _framed(image: Tensor, fill: Sequence[float]) -> Sequence[Tensor]:
    """The planes (C, N) of an image (C, H, W) with one more pixel on every side."""
    values = _fit(fill, image.dtype)
    if image.requires_grad:
        values = list(values) * (1 if len(values) == len(image) else len(image))
        return [F.pad(plane, [1] * 4, value=value).view(-1) for plane, value in zip(image, values, strict=True)]
    framed = image.new_zeros((len(image), image.shape[1] + 2, image.shape[2] + 2))
    if any(values):
        framed.copy_(per_channel(fill, image).expand_as(framed))
    framed[:, 1:-1, 1:-1] = image
    return framed.flatten(1).unbind()


def fold_index(index: Tensor, size: int, border: str) -> Tensor:
    """Bring whole-number positions back into 0..size-1 as a border says; ``constant`` leaves them."""
    if border == "replicate":
        return index.clamp(0, size - 1)
    if border == "circular":
        return index.remainder(size)
    if border == "symmetric":  # edges are mirrors
        index = index.remainder(2 * size)
        return torch.minimum(index, 2 * size - 1 - index)
    if border == "reflect":  # centres of edge pixels are mirrors
        period = max(2 * size - 2, 1)
        index = index.remainder(period)
        return torch.minimum(index, period - index)
    return index


def homography(
    image: Tensor,  # (B, C, H, W), floating, or any dtype with nearest
    matrix: Tensor,  # (B, 3, 3), output pixel -> input pixel, or with other modes -> [-1, 1]: see ``normalised``
    h: int,
    w: int,
    mode: int,
    padding: int,
    fill: Sequence[float],
    projective: bool,
) -> Tensor:  # (B, C, h, w)
    """Warp an image by a homography for each row."""
    position = positions(matrix, h, w, projective)
    if mode == MODES["nearest"]:
        return sample_nearest(image, position, BORDERS[padding], fill)
    return sample_grid(image, position, mode, padding, fill)


LEVELS = 4


def levels(span: Tensor) -> Tensor:
    """How many times to double the width of a filter for pixels that span several of the input.

    The whole number nearest to the logarithm, as mip maps are chosen (OpenGL 4.6, section 8.14).
    """
    return span.log2().round().clamp(0, LEVELS)


def levels_of(matrix: Tensor, h: int, w: int) -> Tensor:  # (B, 3, 3) to (B, 2)
    """The levels along x and y of homographies from the pixels of an h by w output to those of the input."""
    return levels(geometry.shrinkage(matrix, h, w))


def smoothed(image: Tensor, axis: int, level: int) -> Tensor:  # (B, C, H, W), floating
    """Filter along an axis with a triangle, 2**level pixels to either side, which edges continue.

    It is the filter that antialiased resizing by that factor blends with, made of triangles of three taps whose
    distance doubles.
    """
    for step in (2**k for k in range(level)):
        image = _triangle(image, axis, step)
    return image


def smoothed_rows(image: Tensor, axis: int, level: Tensor) -> Tensor:  # level (B,)
    """Filter each row of a batch as ``smoothed`` does."""
    for k in range(LEVELS):
        image = torch.where((level > k).view(-1, 1, 1, 1), _triangle(image, axis, 2**k), image)
    return image


def _triangle(image: Tensor, axis: int, step: int) -> Tensor:
    n = image.shape[axis]
    padded = F.pad(image, [0, 0, step, step] if axis == -2 else [step, step, 0, 0], mode="replicate")
    return torch.lerp(image, (padded.narrow(axis, 0, n) + padded.narrow(axis, 2 * step, n)) / 2, 0.5)


def displacement(
    image: Tensor,  # (B, C, H, W), floating, or any dtype with nearest
    field: Tensor,  # (B, 2, h, w), in pixels: output pixel p takes the input at p + field[p]
    mode: int,
    padding: int,
    fill: Sequence[float],
) -> Tensor:  # (B, C, h, w)
    """Warp an image by a displacement of every output pixel."""
    h, w = field.shape[-2:]
    x, y = pixel_grid(h, w, field)
    if mode == MODES["nearest"]:
        return sample_nearest(image, torch.stack([field[:, 0] + x, field[:, 1] + y], 1), BORDERS[padding], fill)
    height, width = image.shape[-2:]
    grid_x = field[:, 0] * (2 / width) + ((2 * x + 1) / width - 1)
    grid_y = field[:, 1] * (2 / height) + ((2 * y + 1) / height - 1)
    return sample_grid(image, torch.stack([grid_x, grid_y], 1), mode, padding, fill)


def sample_field(
    field: Tensor,  # (B, 2, h, w)
    points: Tensor,  # (B, N, 2), x and y in pixels
) -> Tensor:  # (B, N, 2)
    """Read a field at points, linearly between pixels, and its nearest edge value outside."""
    size = points.new_tensor([field.shape[-1], field.shape[-2]])
    grid = ((2 * points + 1) / size - 1).to(field.dtype).unsqueeze(1)
    taken = torch.ops.aten.grid_sampler_2d(field, grid, MODES["bilinear"], PADDINGS["border"], False)
    return taken[:, :, 0].transpose(1, 2).to(points.dtype)
