"""Sampling an image at computed positions. Pixel centres are integers, x right, y down.

A homography here maps output pixels to input pixels, in the order in which sampling asks for them.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
PADDINGS = {"zeros": 0, "border": 1, "reflection": 2, "constant": 0, "replicate": 1}
BORDERS = ("constant", "replicate", "symmetric")  # what the paddings are called where whole pixels are taken


def codes(mode: str, padding: str) -> tuple[int, int]:
    """Give the numbers of a mode and of a padding."""
    if padding not in PADDINGS:
        raise ValueError(f"padding_mode: expected one of {[*PADDINGS]} where pixels are interpolated, got {padding!r}")
    return MODES[mode], PADDINGS[padding]


def pixel_grid(h: int, w: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Give the coordinates x as (1, 1, w) and y as (1, h, 1), in the dtype and on the device of ``like``."""
    x = torch.arange(w, device=like.device, dtype=like.dtype)
    y = torch.arange(h, device=like.device, dtype=like.dtype)
    return x.view(1, 1, w), y.view(1, h, 1)


def along_axes(
    matrix: Tensor,  # (..., 3, 3), output pixel -> input pixel
    h: int,
    w: int,
) -> tuple[Tensor, Tensor]:  # (..., 3, 1, w) and (..., 3, h, 1)
    """Give what the columns and the rows of an h by w output add to the three coordinates that a homography gives."""
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
    """Give one value, or one a channel, as (1 or C, 1, 1) in the dtype and on the device of ``like``."""
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
    if image.is_cpu and image.shape[0] == 1:
        return sample_row(image[0], position[0].detach().clone(), border, fill).unsqueeze(0)
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
    """Give the planes (C, N) of an image (C, H, W) with one more pixel on every side."""
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
    """Say how many times to double the width of a filter for pixels that span several of the input.

    The whole number nearest to the logarithm, as mip maps are chosen (OpenGL 4.6, section 8.14).
    """
    return span.log2().round().clamp(0, LEVELS)


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


class Taps(NamedTuple):
    """Where output positions along an axis fall.

    Attributes:
        before, after: indices (n,) of the pixels around each, counted in ``part``.
        share: the share (n, 1) of the pixel after.
        part: the part of the axis that is needed.
        missing: how many zeros have to come before and after that part.
        into: the positions that fall on the axis, of which the indices and the shares are.
        length: how many positions there are.
    """

    before: Tensor
    after: Tensor
    share: Tensor
    part: slice
    missing: tuple[int, int]
    into: slice
    length: int


def axis_taps(
    factor: Tensor,  # (B,)
    offset: Tensor,  # (B,)
    size: int,
    n: int,
    padding: int,
) -> list[Taps]:
    """Say for each row where n output positions fall on an axis of ``size`` pixels.

    A position t of the output takes ``factor * t + offset``.
    """
    grid = torch.arange(n, dtype=factor.dtype, device=factor.device)
    return taps(torch.addcmul(offset.unsqueeze(1), factor.unsqueeze(1), grid), size, padding)


def taps(
    position: Tensor,  # (B, n), in pixels
    size: int,
    padding: int,
) -> list[Taps]:
    """Say for each row where positions fall on an axis of ``size`` pixels; a zero padding reaches one pixel out."""
    if padding == PADDINGS["reflection"]:
        position = (position + 0.5).remainder(2 * size)
        position = torch.minimum(position, 2 * size - position) - 0.5
    low, high = (0, size - 1) if padding else (-1, size)
    on_axis = (position > low) & (position < high) if not padding else torch.ones_like(position, dtype=torch.bool)
    starts, counts = on_axis.int().argmax(1).tolist(), on_axis.sum(1).tolist()
    position = position.clamp_(low, high)
    floor = position.floor()
    index = floor.long()
    first, last = index.amin(1), (index.amax(1) + 1).clamp_(max=high)
    before = index - first.unsqueeze(1)
    after = torch.minimum(before + 1, (last - first).unsqueeze(1))
    share = (position - floor).unsqueeze(2)
    taps = []
    for b, a, s, f, t, start, count in zip(
        before, after, share, first.tolist(), last.tolist(), starts, counts, strict=True
    ):
        part, missing = slice(max(f, 0), min(t, size - 1) + 1), (max(-f, 0), max(t - (size - 1), 0))
        into = slice(start, start + count)
        taps.append(Taps(b[into], a[into], s[into], part, missing, into, position.shape[1]))
    return taps


def separable(
    image: Tensor,  # (C, H, W), floating
    x: Taps,
    y: Taps,
    padding: int,
    fill: Sequence[float],
    out: Tensor | None = None,  # where to write
) -> Tensor:  # (C, h, w)
    """Resample linearly along x, then along y.

    Each pass blends whole rows of memory, for which the pass along x turns the image. Positions beside the image are
    left out of it.
    """
    whole = (y.into, x.into) == (slice(0, y.length), slice(0, x.length))
    level = per_channel(fill, image) if any(fill) and not padding else None
    image = image[:, y.part, x.part]
    image = image if level is None else image - level
    if any(x.missing + y.missing):
        image = F.pad(image, [*x.missing, *y.missing])
    image = odd_lines(image.shape, image).copy_(image) if image.shape[2] % LINE == 0 else image.clone()
    for taps, into in ((x, None), (y, out if whole else None)):
        image = image.transpose(1, 2).contiguous()
        if taps is x and image.shape[2] % LINE == 0 and not image.requires_grad:
            into = odd_lines((len(image), len(x.before), image.shape[2]), image)
        image = torch.lerp(image.index_select(1, taps.before), image.index_select(1, taps.after), taps.share, out=into)
    if whole:
        return image if level is None else torch.add(image, level, out=out)
    output = image.new_empty((len(image), y.length, x.length)) if out is None else out
    output.zero_() if level is None else output.copy_(level.expand_as(output))
    output[:, y.into, x.into] = image if level is None else image + level
    return output


LINE = 64  # pixels; lines of a multiple of it share places of the cache


def odd_lines(shape: Sequence[int], like: Tensor) -> Tensor:  # (C, H, W)
    """Give memory for an image to be turned: lines a power of two apart would meet in one place of the cache."""
    return like.new_empty((*shape[:2], shape[2] + 1))[..., : shape[2]]


class Window(NamedTuple):
    """A window of an image that becomes a whole output.

    Attributes:
        rows, columns: the window.
        flips: the axes along which the output is turned round.
        corners: whether the centres of the corner pixels of window and output meet, or their edges.
    """

    rows: slice
    columns: slice
    flips: list[int]
    corners: bool


APART = 1e-3  # pixels that an edge may lie beside a whole number for rounding


def windows(
    matrix: Tensor,  # (B, 2, 3), output pixel -> input pixel, without rotation or shear
    height: int,
    width: int,
    h: int,
    w: int,
    padding: int,
) -> list[Window | None]:
    """Find for each row of a batch the whole-pixel window that becomes an h by w output; None where there is none.

    Nothing beside the window is looked at.
    """
    matrix = matrix.double()
    factor, first = torch.stack([matrix[:, 1, 1], matrix[:, 0, 0]], 1), matrix[:, :, 2].flip(1)
    size, count = torch.tensor([height, width]), torch.tensor([h, w])
    last = first + factor * (count - 1)
    low, high = torch.minimum(first, last), torch.maximum(first, last)
    turned = (factor < 0).tolist()
    found: list[Window | None] = [None] * len(matrix)
    for corners, reach in ((True, 0.0), (False, (factor.abs() - 1) / 2)):
        start, stop = low - reach, high + reach + 1
        whole = ((start - start.round()).abs() < APART) & ((stop - stop.round()).abs() < APART)
        before, after = low > start - APART, high < stop - 1 + APART
        if padding == PADDINGS["border"]:
            before, after = before | (start < APART), after | (stop > size - APART)
        fits = whole & before & after & (start > -APART) & (stop < size + APART) & (count > 1)
        rows = zip(fits.all(1).tolist(), start.round().int().tolist(), stop.round().int().tolist(), strict=True)
        for i, (fit, (top, left), (bottom, right)) in enumerate(rows):
            if fit:
                flips = [axis for axis, turn in zip((1, 2), turned[i], strict=True) if turn]
                found[i] = Window(slice(top, bottom), slice(left, right), flips, corners)
    return found


def resize_window(
    image: Tensor,  # (C, H, W), uint8
    window: Window,
    out: Tensor,  # (C, h, w), uint8, where to write
) -> Tensor:
    """Resize a window of bytes linearly, one axis after the other, each rounded."""
    part = image[None, :, window.rows, window.columns]
    target = torch.empty_like(out) if window.flips else out
    size, corners = list(out.shape[1:]), window.corners
    torch.ops.aten.upsample_bilinear2d.out(part, size, corners, None, None, out=target[None])
    return out.copy_(target.flip(window.flips)) if window.flips else out


def shifted(
    image: Tensor,  # (C, H, W), floating
    x: float,
    y: float,
    h: int,
    w: int,
    padding: int,
    fill: Sequence[float],
    out: Tensor | None = None,  # where to write
) -> Tensor:  # (C, h, w)
    """Resample linearly by a shift: the output's pixel (0, 0) lies at (x, y) of the image.

    All pixels lie between their neighbours alike, so that slices are blended and nothing is gathered.
    """
    level = per_channel(fill, image) if any(fill) and not padding else None
    for axis, start, n in ((1, y, h), (2, x, w)):
        first = math.floor(start)
        share = start - first
        image = stretch(image, axis, first, n + (share > 0), BORDERS[padding], level)
        if share:
            into = out if axis == 2 else None
            image = torch.lerp(image.narrow(axis, 0, n), image.narrow(axis, 1, n), share, out=into)
    return image


def stretch(image: Tensor, axis: int, first: int, n: int, border: str, level: Tensor | None) -> Tensor:
    """Take n positions of an axis from ``first`` on, some of which may lie outside."""
    size = image.shape[axis]
    if first >= 0 and first + n <= size:
        return image.narrow(axis, first, n)
    if border != "constant":
        index = torch.arange(first, first + n, device=image.device)
        return image.index_select(axis, fold_index(index, size, border))
    low, high = min(max(first, 0), size), min(max(first + n, 0), size)
    before = low - first if high > low else 0
    level = image.new_zeros(()) if level is None else level
    blank = [list(image.shape), list(image.shape)]
    blank[0][axis], blank[1][axis] = before, n - before - (high - low)
    return torch.cat([level.expand(blank[0]), image.narrow(axis, low, high - low), level.expand(blank[1])], axis)


def sample_field(
    field: Tensor,  # (B, 2, h, w)
    points: Tensor,  # (B, N, 2), x and y in pixels
) -> Tensor:  # (B, N, 2)
    """Read a field at points, linearly between pixels, and its nearest edge value outside."""
    size = points.new_tensor([field.shape[-1], field.shape[-2]])
    grid = ((2 * points + 1) / size - 1).to(field.dtype).unsqueeze(1)
    taken = torch.ops.aten.grid_sampler_2d(field, grid, MODES["bilinear"], PADDINGS["border"], False)
    return taken[:, :, 0].transpose(1, 2).to(points.dtype)


def blend(image: Tensor, taps: Taps, out: Tensor | None = None) -> Tensor:
    """Blend neighbouring lines (C, H, W) of an image, in ``out`` where there is no gradient."""
    into = None if image.requires_grad or taps.share.requires_grad else out
    return torch.lerp(image.index_select(1, taps.before), image.index_select(1, taps.after), taps.share, out=into)
