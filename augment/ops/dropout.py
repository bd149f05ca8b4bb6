"""Dropped rectangles."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .. import native
from ..arguments import channel_values, number, whole
from ..base import Flags, Params
from ..functional import dropout, resample
from ..kinds import Intensity
from ..sampling import Draw, Range, check

Fill = float | Sequence[float] | str


class Extent:
    """A range of lengths along an axis: whole numbers are pixels, other numbers are fractions of the axis.

    Args:
        bounds: (low, high), both pixels or both fractions in 0..1.
        name: what the user calls it, for messages.
        least: the smallest length in pixels.
    """

    def __init__(self, bounds: Any, name: str, least: int = 1) -> None:
        pair = isinstance(bounds, (list, tuple)) and len(bounds) == 2
        self.pixels = pair and all(isinstance(b, int) and not isinstance(b, bool) for b in bounds)
        fractions = pair and all(isinstance(b, float) and 0 <= b <= 1 for b in bounds)
        if not (self.pixels or fractions) or not bounds[0] <= bounds[1] or (self.pixels and bounds[0] < least):
            raise ValueError(
                f"{name}: expected low <= high, both whole pixels >= {least} or both fractions in [0.0, 1.0]; "
                f"got {bounds!r}"
            )
        self.low, self.high, self.name, self.least = *bounds, name, least

    def __call__(self, u: Tensor, size: int) -> Tensor:
        """Map uniforms to whole numbers of pixels on an axis of a size."""
        if self.pixels:
            return self.low + (u * (self.high - self.low + 1)).floor().clamp(max=self.high - self.low)
        return ((self.low + u * (self.high - self.low)) * size).round().clamp(min=self.least)

    def fit(self, size: int, op: str) -> None:
        """Refuse an axis that is shorter than the longest length."""
        if self.pixels and self.high > size:
            raise ValueError(f"{op}: {self.name}: expected at most the {size} pixels of the image, got {self.high}")

    def __repr__(self) -> str:
        return f"({self.low}, {self.high})"


class Dropout(Intensity, kind=True):
    """Base class of the ops that fill pixels, which say how much of a box or which points they covered.

    Args:
        fill: what to fill with, on the scale of [0, 1]: a number, one a channel, or ``"noise"``, uniform in 0..1.
        mask_fill: what to fill masks with; None leaves them alone.
    """

    own_dtype = True

    def __init__(
        self, fill: Fill, mask_fill: float | None, same_on_batch: bool, p: float | Tensor, keepdim: bool
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        noise = isinstance(fill, str)
        if noise and fill != "noise":
            raise ValueError(f"fill: expected numbers or 'noise', got {fill!r}")
        self.fill = None if noise else [number(value, "fill", 0, 1) for value in channel_values(fill, "fill")]
        self.flags = {"mask_fill": None if mask_fill is None else number(mask_fill, "mask_fill")}
        if noise:
            self.param_names = (*self.param_names, "noise")
            self.param_shapes = {**self.param_shapes, "noise": None}

    def dropped(self, params: Params, height: int, width: int) -> Tensor:
        """Say which pixels (B, 1, H, W) of the open rows are filled."""
        raise NotImplementedError

    def covered_boxes(self, boxes: Tensor, params: Params | None = None) -> Tensor:
        """Give the share (B, N) of each box that the last call, or that of ``params``, dropped.

        Args:
            boxes: (B, N, 4), x1, y1, x2, y2. What lies outside the image does not count.
            params: the parameters of a call; None for the last one.
        """
        return dropout.covered_boxes(self._last_dropped(params), boxes)

    def covered_points(self, points: Tensor, params: Params | None = None) -> Tensor:
        """Say which points (B, N, 2) lie on pixels that the last call, or that of ``params``, dropped: (B, N) bool."""
        return dropout.covered_points(self._last_dropped(params), points)

    def _last_dropped(self, params: Params | None) -> Tensor:
        params = params or self._params
        if not params:
            raise ValueError(f"{type(self).__name__}: params: expected a call before, or the params of one")
        gate = self.gate(params).view(-1, 1, 1, 1)
        height, width = params["forward_input_shape"].tolist()[-2:]
        return self.dropped(params, height, width) & gate
