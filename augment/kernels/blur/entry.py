"""Filters with weights of their own for each row."""

from typing import Any

import torch
from torch import Tensor

from ..kernel import Kernel, Out, gate_of
from . import c as in_c
from . import maths, median


def _separable(image: Tensor, weights_y: Tensor, weights_x: Tensor, border: str) -> Tensor:
    taps_y, taps_x = ([t.view(-1, 1, 1, 1) for t in weights.unbind(1)] for weights in (weights_y, weights_x))
    return maths.separable_filter(image, taps_y, taps_x, border)


def _separable_row(image: Tensor, weights_y: Tensor, weights_x: Tensor, border: str, out: Out) -> Tensor:
    return maths.separable_filter(image, weights_y.tolist(), weights_x.tolist(), border)


def _has_more_taps(image: Tensor, *weights: Any) -> Tensor:
    """Whether a row is weighed by more than a one in the middle."""
    taps = [w.flatten(1) for w in weights if isinstance(w, Tensor)]
    middle = [t[:, t.shape[1] // 2] != 1 for t in taps]
    return torch.stack([*middle, torch.cat(taps, 1).abs().sum(1) != len(taps)]).any(0)


separable_filter = Kernel(
    "separable_filter(Tensor image, Tensor weights_y, Tensor weights_x, str border)",
    maths=_separable,
    row=_separable_row,
    opens=_has_more_taps,
    backends=[in_c.separable_filter],
)
"""Correlate each row (C, H, W) with a kernel (Ky,) of its own along y and one (Kx,) along x."""

box_blur = Kernel(
    "box_blur(Tensor image, Tensor gate, int ky, int kx, str border)",
    maths=lambda image, gate, ky, kx, border: maths.box_blur(image, ky, kx, border),
    row=lambda image, gate, ky, kx, border, out: maths.box_blur(image, ky, kx, border, out),
    opens=gate_of,
    backends=[in_c.box_blur],
)
"""Average the rows of a gate (B,) bool over a window."""

median_blur = Kernel(
    "median_blur(Tensor image, Tensor gate, int ky, int kx)",
    maths=lambda image, gate, ky, kx: median.median_blur(image, ky, kx),
    row=lambda image, gate, ky, kx, out: median.median_blur(image, ky, kx, out),
    opens=gate_of,
    backends=[in_c.median_blur],
    values="own",
)
"""Take the median of a window in the rows of a gate (B,) bool."""

sharpen = Kernel(
    "sharpen(Tensor image, Tensor factor)",
    maths=lambda image, factor: maths.sharpen(image, factor.view(-1, 1, 1, 1).to(image.dtype)),
    row=lambda image, factor, out: maths.sharpen(image, factor.item(), torch.empty_like(image) if out is None else out),
    opens=lambda image, factor: factor != 1,
    backends=[in_c.sharpen],
    values="unit",
)
"""Move each row away from its smoothed copy, or towards it, by a factor (B,): 0 smooth, 1 unchanged."""

filter2d = Kernel(
    "filter2d(Tensor image, Tensor weights, str border)",
    maths=maths.filter2d_batch,
    row=lambda image, weights, border, out: maths.filter2d(image, weights.tolist(), border, out),
    opens=_has_more_taps,
    backends=[in_c.filter2d],
)
"""Correlate each row with a square kernel (K, K) of its own."""


def _defocus(image: Tensor, radius: Tensor, sigma: Tensor, most: int, border: str) -> Tensor:
    return maths.filter2d_batch(image, maths.disk_weights(radius, sigma, most), border)


def _defocus_row(image: Tensor, radius: Tensor, sigma: Tensor, most: int, border: str, out: Out) -> Tensor:
    pixels = round(radius.item())
    weights = maths.gaussian_weights(sigma.view(1), maths.alias_size(pixels))[0]
    return maths.disk_blur(image, pixels, weights.tolist(), border)


defocus = Kernel(
    "defocus(Tensor image, Tensor radius, Tensor sigma, int most, str border)",
    maths=_defocus,
    row=_defocus_row,
    opens=lambda image, radius, sigma, *config: (radius != 0) | (sigma != 0),
    backends=[in_c.disk_blur],
)
"""Average each row over a disk of a radius (B,) of whole pixels, at most ``most``, softened by a Gaussian."""

zoom_blur = Kernel(
    "zoom_blur(Tensor image, Tensor factor, int steps)",
    maths=maths.zoom_blur,
    row=lambda image, factor, steps, out: maths.zoom_blur_row(image, factor.to(image.dtype), steps, out),
    opens=lambda image, factor, steps: factor != 1,
    backends=[in_c.zoom_blur],
)
"""Average each row over zooms about its centre, evenly spaced from none to a factor (B,)."""
