"""Filters with weights of their own for each row."""

import torch
from torch import Tensor

from ...common.dtypes import load, rounded
from ...common.opaque import by_rows
from ..kernel import Out, RowOp, Rows, keep_rows
from . import c as in_c
from . import maths, median


def _filter_row(
    image: Tensor, weights: Tensor, numbers: list[float], rows: int, border: str, out: Out = None
) -> Tensor:
    taps = weights.unbind() if weights.requires_grad else numbers
    return maths.separable_filter(image, taps[:rows], taps[rows:], border)


def _filter_bytes(image: Tensor, weights: Tensor, numbers: list[float], rows: int, border: str, out: Tensor) -> None:
    if not in_c.separable_filter(image, numbers[:rows], numbers[rows:], border, out):
        out.copy_(rounded(maths.separable_filter(load(image), numbers[:rows], numbers[rows:], border)))


def _is_one_tap(image: Tensor, weights: Tensor, numbers: Rows, rows: int, border: str) -> list[bool]:
    centre_y, centre_x = rows // 2, rows + (weights.shape[1] - rows) // 2
    return [taps[centre_y] == taps[centre_x] == 1 and sum(map(abs, taps)) == 2 for taps in numbers]


_filter = RowOp(
    "separable_filter",
    "int rows, str border",
    _filter_row,
    _is_one_tap,
    keeps_format=True,
    on_bytes=_filter_bytes,
).op


def separable_filter(
    image: Tensor,  # (B, C, H, W)
    weights_y: Tensor,  # (B, Ky)
    weights_x: Tensor,  # (B, Kx)
    border: str,
) -> Tensor:  # (B, C, H, W)
    """Correlate each row of the batch with its own pair of one-dimensional kernels."""
    if by_rows(image):
        return _filter(image, torch.cat([weights_y, weights_x], 1), weights_y.shape[1], border)
    taps_y, taps_x = ([t.view(-1, 1, 1, 1) for t in weights.unbind(1)] for weights in (weights_y, weights_x))
    keep = [weights[:, weights.shape[1] // 2] == 1 for weights in (weights_y, weights_x)]
    return keep_rows(keep[0] & keep[1], image, maths.separable_filter(load(image), taps_y, taps_x, border))


# ------------------------------------------------------------------------------------------- the same window everywhere


def _is_closed(image: Tensor, gate: Tensor, numbers: list[float], *config: object) -> list[bool]:
    return [not g for g in numbers]


def _box_row(image: Tensor, gate: Tensor, _: float, ky: int, kx: int, border: str, out: Out = None) -> Tensor:
    return maths.box_blur(image, ky, kx, border, out)


def _box_bytes(image: Tensor, gate: Tensor, _: float, ky: int, kx: int, border: str, out: Tensor) -> None:
    if not in_c.box_blur(image, ky, kx, border, out):
        maths.box_levels(image, ky, kx, border, out)


_box = RowOp(
    "box_blur",
    "int ky, int kx, str border",
    _box_row,
    lambda image, gate, numbers, ky, kx, border: [not g or ky == kx == 1 for g in numbers],
    keeps_format=True,
    on_bytes=_box_bytes,
).op


def box_blur(
    image: Tensor,  # (B, C, H, W)
    gate: Tensor,  # (B,) bool, the rows to blur
    size: tuple[int, int],
    border: str,
) -> Tensor:  # (B, C, H, W)
    """Average over a window."""
    if by_rows(image):
        return _box(image, gate.to(torch.float32), *size, border)
    return keep_rows(~gate, image, maths.box_blur(load(image), *size, border))


def _median_row(image: Tensor, gate: Tensor, _: float, ky: int, kx: int, out: Out = None) -> Tensor:
    if out is not None and in_c.median_blur(image, ky, kx, out):
        return out
    return median.median_blur(image, ky, kx, out)


_median = RowOp("median_blur", "int ky, int kx", _median_row, _is_closed, raw=True, keeps_format=True).op


def median_blur(
    image: Tensor,  # (B, C, H, W)
    gate: Tensor,  # (B,) bool, the rows to blur
    size: tuple[int, int],
) -> Tensor:  # (B, C, H, W)
    """Take the median of a window."""
    if by_rows(image):
        return _median(image, gate.to(torch.float32), *size)
    return keep_rows(~gate, image, median.median_blur(image, *size))


# ------------------------------------------------------------------------------------------------ a kernel for each row


def _sharpen_row(image: Tensor, factor: Tensor, number: float, out: Out = None) -> Tensor:
    if out is None and not image.requires_grad:
        out = torch.empty_like(image)
    return maths.sharpen(image, factor if factor.requires_grad and out is None else number, out)


def _sharpen_bytes(image: Tensor, factor: Tensor, number: float, out: Tensor) -> None:
    if not in_c.sharpen(image, number, out):
        maths.sharpen_levels(image, number, out)


_sharpen = RowOp(
    "sharpen",
    "",
    _sharpen_row,
    lambda image, factor, numbers: [f == 1 for f in numbers],
    unit=True,
    keeps_format=True,
    on_bytes=_sharpen_bytes,
).op


def sharpen(
    image: Tensor,  # (B, C, H, W)
    factor: Tensor,  # (B,), 0 smooth, 1 unchanged
) -> Tensor:  # (B, C, H, W)
    """Move each row away from its smoothed copy, or towards it."""
    if by_rows(image):
        return _sharpen(image, factor)
    output = maths.sharpen(load(image, unit=True), factor.view(-1, 1, 1, 1).to(load(image).dtype))
    return keep_rows(factor == 1, image, output, unit=True)


def _filter2d_row(image: Tensor, weights: Tensor, numbers: Rows, border: str, out: Out = None) -> Tensor:
    return maths.filter2d(image, weights if weights.requires_grad and out is None else numbers, border, out)


def _filter2d_bytes(image: Tensor, weights: Tensor, numbers: Rows, border: str, out: Tensor) -> None:
    if not in_c.filter2d(image, numbers, border, out):
        out.copy_(rounded(maths.filter2d(load(image), numbers, border)))


def _is_middle_tap(image: Tensor, weights: Tensor, numbers: list[Rows], border: str) -> list[bool]:
    middle = weights.shape[1] // 2
    return [taps[middle][middle] == 1 and sum(abs(t) for line in taps for t in line) == 1 for taps in numbers]


_filter2d = RowOp(
    "filter2d", "str border", _filter2d_row, _is_middle_tap, keeps_format=True, on_bytes=_filter2d_bytes
).op


def filter2d(
    image: Tensor,  # (B, C, H, W)
    weights: Tensor,  # (B, K, K)
    border: str,
) -> Tensor:  # (B, C, H, W)
    """Correlate each row of the batch with its own square kernel."""
    if by_rows(image):
        return _filter2d(image, weights, border)
    middle = weights[:, weights.shape[1] // 2, weights.shape[1] // 2]
    keep = (middle == 1) & (weights.abs().sum((1, 2)) == 1)
    return keep_rows(keep, image, maths.filter2d_batch(load(image), weights, border))


def _defocus_row(image: Tensor, params: Tensor, numbers: list[float], border: str, out: Out = None) -> Tensor:
    radius = round(numbers[0])
    weights = maths.gaussian_weights(params[1:], maths.alias_size(radius))[0]
    taps = weights.unbind() if weights.requires_grad else weights.tolist()
    return maths.disk_blur(image, radius, taps, border)


def _defocus_bytes(image: Tensor, params: Tensor, numbers: list[float], border: str, out: Tensor) -> None:
    radius = round(numbers[0])
    taps = maths.gaussian_weights(params[1:].detach(), maths.alias_size(radius))[0].tolist()
    if not in_c.disk_blur(image, radius, taps, border, out):
        out.copy_(rounded(_defocus_row(load(image), params.detach(), numbers, border)))


_defocus = RowOp(
    "defocus",
    "str border",
    _defocus_row,
    lambda image, params, numbers, border: [radius == sigma == 0 for radius, sigma in numbers],
    keeps_format=True,
    on_bytes=_defocus_bytes,
).op


def defocus(
    image: Tensor,  # (B, C, H, W)
    radius: Tensor,  # (B,), whole pixels
    sigma: Tensor,  # (B,), of the Gaussian on top
    most: int,  # the largest radius
    border: str,
) -> Tensor:  # (B, C, H, W)
    """Average each row of the batch over a disk with soft edges."""
    if by_rows(image):
        return _defocus(image, torch.stack([radius.to(sigma.dtype), sigma], 1), border)
    weights = maths.disk_weights(radius, sigma, most)
    return keep_rows((radius == 0) & (sigma == 0), image, maths.filter2d_batch(load(image), weights, border))


def _zoom_row(image: Tensor, factor: Tensor, _: float, steps: int, out: Out = None) -> Tensor:
    return maths.zoom_blur_row(image, factor.to(image.dtype), steps, out)


def _zoom_bytes(image: Tensor, factor: Tensor, number: float, steps: int, out: Tensor) -> None:
    if not in_c.zoom_blur(image, number, steps, out):
        out.copy_(rounded(maths.zoom_blur_row(load(image), factor.detach().float(), steps)))


_zoom = RowOp(
    "zoom_blur",
    "int steps",
    _zoom_row,
    lambda image, factor, numbers, steps: [f == 1 for f in numbers],
    keeps_format=True,
    on_bytes=_zoom_bytes,
).op


def zoom_blur(
    image: Tensor,  # (B, C, H, W)
    factor: Tensor,  # (B,), the largest zoom
    steps: int,
) -> Tensor:  # (B, C, H, W)
    """Average each row of the batch over zooms about its centre."""
    if by_rows(image):
        return _zoom(image, factor, steps)
    return keep_rows(factor == 1, image, maths.zoom_blur(load(image), factor, steps))
