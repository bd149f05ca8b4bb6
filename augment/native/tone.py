"""Histograms and look-up tables."""

import torch
from torch import Tensor

from ..functional import tone
from ..opaque import rowwise
from .rows import Out, keep_rows


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
    return keep_rows(~gate, image, tone.equalize_batch(image.detach()))
