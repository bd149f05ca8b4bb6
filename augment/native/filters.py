"""Filters with weights of their own for each row."""

import torch
from torch import Tensor

from ..functional import filters
from ..opaque import load, rowwise
from .rows import Out, Rows, keep_rows


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
    return keep_rows(keep[0] & keep[1], image, filters.separable_filter(load(image), taps_y, taps_x, border))
