"""The opaque ops: data movement that the compiler would turn into scalar loops, and work that a row can be spared.

On the CPU a batch goes row by row through an op of ``rowwise``; on other devices the same functions run on the whole
batch inside the graph, where the compiler fuses them, and a select puts back the rows that do not change.
"""

import functools
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .functional import colour, filters, resample, tone
from .opaque import LIBRARY, define, load, rowwise, store

Rows = list[list[float]]
Out = Tensor | None
IDENTITY = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]


def _keep_rows(keep: Tensor, image: Tensor, output: Tensor) -> Tensor:
    """Give the image's own dtype to the output of a whole batch, and put the unchanged rows back."""
    output = store(output, image.dtype)
    return torch.where(keep.view(-1, 1, 1, 1), image, output) if output.shape == image.shape else output


def identity_rows(matrix: Tensor) -> Tensor:
    """Say which of the matrices (B, 3, 3) are the identity."""
    return (matrix == torch.eye(3, dtype=matrix.dtype, device=matrix.device)).all(2).all(1)


# --------------------------------------------------------------------------------------------------------- homography


class Line(NamedTuple):
    """What a row's matrix says: its numbers, and where it is only scaled and shifted, what a linear blend takes."""

    matrix: Rows
    taps: tuple[resample.Taps, resample.Taps] | None


def _read_lines(image: Tensor, matrices: Tensor, h: int, w: int, mode: int, padding: int, *_: Any) -> list[Line]:
    numbers = matrices.tolist()
    aligned = [m[0][1] == m[1][0] == m[2][0] == m[2][1] == 0 for m in numbers]
    if mode != resample.MODES["bilinear"] or not any(aligned):
        return [Line(m, None) for m in numbers]
    dtype = torch.promote_types(image.dtype, torch.float32)
    entries, size = matrices.detach().to(dtype), image.shape[-2:]
    x = resample.axis_taps(entries[:, 0, 0], entries[:, 0, 2], size[1], w, padding)
    y = resample.axis_taps(entries[:, 1, 1], entries[:, 1, 2], size[0], h, padding)
    return [
        Line(m, (x_taps, y_taps) if fits else None)
        for m, fits, x_taps, y_taps in zip(numbers, aligned, x, y, strict=True)
    ]


def _warp_row(
    image: Tensor,
    matrices: Tensor,
    line: Line,
    h: int,
    w: int,
    mode: int,
    padding: int,
    fill: list[float],
    projective: bool,
    out: Out = None,
) -> Tensor:
    if line.taps is not None and not matrices.requires_grad:
        return resample.separable(image, *line.taps, padding, fill, out)
    # sampling jumps about, which is slow in memory that was not read in order before
    return resample.homography(image.clone()[None], matrices[None, -3:], h, w, mode, padding, fill, projective)[0]


def _is_identity(image: Tensor, matrices: Tensor, m: list[Rows], h: int, w: int, *_: Any) -> list[bool]:
    return [image.shape[-2:] == (h, w) and row[:3] == IDENTITY for row in m]


def _is_identity_line(image: Tensor, matrices: Tensor, lines: list[Line], h: int, w: int, *_: Any) -> list[bool]:
    return _is_identity(image, matrices, [line.matrix for line in lines], h, w)


def _given_size(image: Tensor, params: Tensor, h: int, w: int, *_: Any) -> tuple[int, int]:
    return h, w


_CONFIG = "SymInt h, SymInt w, int mode, int padding, float[] fill, bool projective"
_warp = rowwise("warp_homography", _CONFIG, _warp_row, _is_identity_line, _given_size, read=_read_lines)
_warp_nearest = rowwise(
    "warp_homography_nearest", _CONFIG, _warp_row, _is_identity_line, _given_size, raw=True, read=_read_lines
)


def warp_homography(
    image: Tensor,  # (B, C, H, W), any dtype
    matrix: Tensor,  # (B, 3, 3), output pixel -> input pixel
    size: tuple[int, int],
    mode: str,
    padding: str,
    fill: list[float],
    projective: bool,
) -> Tensor:  # (B, C, *size)
    """Warp an image by a homography for each row; ``nearest`` keeps values of any dtype exact."""
    config = (*size, resample.MODES[mode], resample.PADDINGS[padding], fill, projective)
    if mode == "nearest":
        if image.is_cpu:
            return _warp_nearest(image, matrix, *config)
        return _keep_rows(identity_rows(matrix), image, resample.homography(image, matrix, *config))
    scaled = resample.normalised(matrix, image.shape[-2], image.shape[-1])
    if image.is_cpu:
        return _warp(image, torch.cat([matrix, scaled], 1), *config)
    return _keep_rows(identity_rows(matrix), image, resample.homography(load(image), scaled, *config))


# -------------------------------------------------------------------------------------------------------- permutation


def _permute_row(
    image: Tensor, matrix: Tensor, m: Rows, h: int, w: int, border: str, fill: list[float], out: Out = None
) -> Tensor:
    plan = _permutation(*m[0], *m[1], *image.shape[1:], h, w)
    image = image.transpose(1, 2) if plan.transposed else image
    if border != "constant" and not plan.whole:
        index_y, index_x = (
            resample.fold_index(torch.arange(n, device=image.device) * step + offset, size, border)
            for n, (step, offset), size in zip((h, w), plan.steps, image.shape[1:], strict=True)
        )
        return image.index_select(1, index_y).index_select(2, index_x)
    part = image[:, plan.source[0], plan.source[1]]
    if plan.flips == [1] and plan.whole and out is not None:
        # whole rows of memory are copied faster than flip turns them
        return torch.index_select(part, 1, torch.arange(h - 1, -1, -1, device=image.device), out=out)
    part = part.flip(plan.flips) if plan.flips else part
    if plan.whole:
        return part
    output = resample.per_channel(fill, image).expand(image.shape[0], h, w).clone()
    output[:, plan.target[0], plan.target[1]] = part
    return output


class Permutation(NamedTuple):
    """How a row is permuted, axis y before axis x.

    Attributes:
        transposed: whether its axes change places first.
        steps: step and offset from output to input.
        source, target: the parts of input and output that correspond.
        flips: the axes along which the part is turned round.
        whole: whether the part fills the output.
    """

    transposed: bool
    steps: tuple[tuple[int, int], tuple[int, int]]
    source: tuple[slice, slice]
    target: tuple[slice, slice]
    flips: list[int]
    whole: bool


@functools.lru_cache(maxsize=4096)
def _permutation(
    a: float, b: float, c: float, d: float, e: float, f: float, height: int, width: int, h: int, w: int
) -> Permutation:
    """Read a permutation off the first two rows of its matrix."""
    transposed = round(b) != 0
    if transposed:
        a, c, e, f, height, width = d, f, b, c, width, height
    steps = (round(e), round(f)), (round(a), round(c))
    overlaps = [_overlap(*step, size, n) for step, size, n in zip(steps, (height, width), (h, w), strict=True)]
    (target_y, source_y), (target_x, source_x) = overlaps
    whole = (target_y, target_x) == (slice(0, h), slice(0, w))
    flips = [axis for axis, (step, _) in zip((1, 2), steps, strict=True) if step < 0]
    return Permutation(transposed, steps, (source_y, source_x), (target_y, target_x), flips, whole)


def _overlap(step: int, offset: int, size: int, n: int) -> tuple[slice, slice]:
    """Give the part of n output positions whose input, step * position + offset, exists, and that part of the input."""
    start, stop = (-offset, size - offset) if step > 0 else (offset - size + 1, offset + 1)
    start = min(max(start, 0), n)
    stop = max(min(stop, n), start)
    first = offset + start if step > 0 else offset - stop + 1
    return slice(start, stop), slice(first, first + stop - start)


_permute = rowwise(
    "permute",
    "SymInt h, SymInt w, str border, float[] fill",
    _permute_row,
    _is_identity,
    _given_size,
    raw=True,
)


def permute(
    image: Tensor,  # (B, C, H, W), any dtype
    matrix: Tensor,  # (B, 3, 3), output pixel -> input pixel: integers, each axis onto an axis with step 1 or -1
    size: tuple[int, int],
    border: str,
    fill: list[float],
) -> Tensor:  # (B, C, *size)
    """Flip, turn, shift, crop or pad each row by whole pixels; values stay exact."""
    if image.is_cpu:
        return _permute(image, matrix, *size, border, fill)
    return resample.sample_nearest(image, resample.positions(matrix, *size, False), border, fill)


# ------------------------------------------------------------------------------------------------------- displacement


def _read_nothing(image: Tensor, params: Tensor, *_: Any) -> list[None]:
    return [None] * len(params)


def _displace_row(
    image: Tensor, field: Tensor, _: None, mode: int, padding: int, fill: list[float], out: Out = None
) -> Tensor:
    return resample.displacement(image.clone()[None], field[None], mode, padding, fill)[0]


def _is_still(image: Tensor, field: Tensor, *_: Any) -> list[bool]:
    return [field.shape[-2:] == image.shape[-2:] and not f.any() for f in field]


_FIELD = "int mode, int padding, float[] fill"
_displace = rowwise(
    "displace", _FIELD, _displace_row, _is_still, lambda image, field, *_: field.shape[-2:], read=_read_nothing
)
_displace_nearest = rowwise(
    "displace_nearest",
    _FIELD,
    _displace_row,
    _is_still,
    lambda image, field, *_: field.shape[-2:],
    raw=True,
    read=_read_nothing,
)


def displace(
    image: Tensor,  # (B, C, H, W), any dtype
    field: Tensor,  # (B, 2, h, w), x and y in pixels: output pixel p takes the input at p + field[p]
    mode: str,
    padding: str,
    fill: list[float],
) -> Tensor:  # (B, C, h, w)
    """Warp an image by a displacement of every output pixel; ``nearest`` keeps values of any dtype exact."""
    config = (resample.MODES[mode], resample.PADDINGS[padding], fill)
    nearest = mode == "nearest"
    if image.is_cpu:
        return (_displace_nearest if nearest else _displace)(image, field, *config)
    output = resample.displacement(image if nearest else load(image), field, *config)
    return _keep_rows((field == 0).flatten(1).all(1), image, output)


def _smooth(noise: Tensor, along_y: Tensor, along_x: Tensor, gate: Tensor) -> Tensor:
    if not noise.is_cpu:
        return along_y @ noise @ along_x.T
    output = torch.zeros_like(noise, memory_format=torch.contiguous_format)
    for i in gate.nonzero().flatten().tolist():
        torch.matmul(along_y, noise[i] @ along_x.T, out=output[i])
    return output


smooth_field = define(
    "smooth_field",
    "(Tensor noise, Tensor along_y, Tensor along_x, Tensor gate) -> Tensor",
    _smooth,
    lambda noise, along_y, along_x, gate: noise.new_empty(noise.shape),
)


def _follow(field: Tensor, points: Tensor, iterations: int) -> Tensor:
    found = points.clone()
    for _ in range(iterations):
        found = points - resample.sample_field(field, found)
    return found


_follow_op = define(
    "follow_field",
    "(Tensor field, Tensor points, int iterations) -> Tensor",
    _follow,
    lambda field, points, iterations: torch.empty_like(points),
)
torch.library.register_autograd("augment::follow_field", lambda ctx, gradient: (None, gradient, None), lib=LIBRARY)


def follow_field(
    field: Tensor,  # (B, 2, h, w), in pixels: output pixel q takes the input at q + field[q]
    points: Tensor,  # (B, N, 2), in the input
    iterations: int = 30,
) -> Tensor:  # (B, N, 2), in the output
    """Find where the field moves points of the input, by iterating ``q <- p - field[q]``.

    The error shrinks by the field's steepest slope each time: under a slope of 0.8 it ends below 0.1 % of the first.
    The gradient is that of a constant shift.
    """
    return _follow_op(field, points, iterations)


# ------------------------------------------------------------------------------------------------------------- filter


def _filter_row(
    image: Tensor, weights: Tensor, numbers: list[float], rows: int, border: str, out: Out = None
) -> Tensor:
    taps = weights.unbind() if weights.requires_grad else numbers
    return filters.separable_filter(image, taps[:rows], taps[rows:], border)


def _is_one_tap(image: Tensor, weights: Tensor, numbers: Rows, rows: int, border: str) -> list[bool]:
    centre_y, centre_x = rows // 2, rows + (weights.shape[1] - rows) // 2
    return [taps[centre_y] == taps[centre_x] == 1 and sum(map(abs, taps)) == 2 for taps in numbers]


_filter = rowwise("separable_filter", "int rows, str border", _filter_row, _is_one_tap)


def separable_filter(
    image: Tensor,  # (B, C, H, W)
    weights_y: Tensor,  # (B, Ky)
    weights_x: Tensor,  # (B, Kx)
    border: str,
) -> Tensor:  # (B, C, H, W)
    """Correlate each row of the batch with its own pair of one-dimensional kernels."""
    if image.is_cpu:
        return _filter(image, torch.cat([weights_y, weights_x], 1), weights_y.shape[1], border)
    taps_y, taps_x = ([t.view(-1, 1, 1, 1) for t in weights.unbind(1)] for weights in (weights_y, weights_x))
    keep = [weights[:, weights.shape[1] // 2] == 1 for weights in (weights_y, weights_x)]
    return _keep_rows(keep[0] & keep[1], image, filters.separable_filter(load(image), taps_y, taps_x, border))


# ------------------------------------------------------------------------------------------------------------- jitter


def _jitter_row(image: Tensor, params: Tensor, numbers: list[float], out: Out = None) -> Tensor:
    factors = params[:4].unbind() if params.requires_grad else numbers[:4]
    order = [round(step) for step in numbers[4:]]
    if out is not None:
        colour.jitter(image.unbind(0), factors, order, out.unbind(0))
        return out
    return torch.stack(tuple(colour.jitter(image.unbind(0), factors, order)))


def _is_neutral(image: Tensor, params: Tensor, numbers: Rows) -> list[bool]:
    return [row[:4] == [1, 1, 1, 0] for row in numbers]


_jitter = rowwise("colour_jitter", "", _jitter_row, _is_neutral, unit=True)


def colour_jitter(
    image: Tensor,  # (B, C, H, W)
    factors: Tensor,  # (B, 4), brightness, contrast, saturation, and hue in turns
    order: Tensor,  # (n,), which step comes when
) -> Tensor:  # (B, C, H, W)
    """Adjust brightness, contrast, saturation and hue in an order that is only known at run time."""
    if image.is_cpu:
        order = order.to(factors.dtype).expand(factors.shape[0], -1)
        return _jitter(image, torch.cat([factors, order], 1))
    neutral = (factors == factors.new_tensor([1.0, 1.0, 1.0, 0.0])).all(1)
    output = colour.jitter_any_order(load(image, unit=True), factors, order)
    return _keep_rows(neutral, image, store(output, image.dtype, unit=True))


# ----------------------------------------------------------------------------------------------------------- equalize


def _equalize_row(image: Tensor, gate: Tensor, _: float, out: Out = None) -> Tensor:
    return tone.equalize_row(image.detach(), out)


_equalize = rowwise("equalize", "", _equalize_row, lambda image, gate, numbers: [not g for g in numbers], raw=True)


def equalize(
    image: Tensor,  # (B, C, H, W)
    gate: Tensor,  # (B,) bool, the rows to equalise
) -> Tensor:  # (B, C, H, W)
    """Flatten the histogram of every channel; the gradient of an equalised row is zero."""
    if image.is_cpu:
        return _equalize(image, gate.to(torch.float32))
    return _keep_rows(~gate, image, tone.equalize_batch(image.detach()))
