"""Dropped rectangles."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from .. import kernels
from ..common.arguments import channel_values, is_whole, label_values, number, one_a_channel, switch, whole
from ..common.checks import check
from ..common.dtypes import store
from ..common.types import Flags, Params
from ..kernels.dropout import maths as dropout
from ..kernels.warp import maths as resample
from ..kinds.intensity import Intensity
from ..sampling.draw import Draw
from ..sampling.params import Param
from ..sampling.ranges import Bounds, Range, whole_numbers

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
        self.pixels = pair and all(is_whole(b, least) for b in bounds)
        fractions = pair and all(isinstance(b, float) and 0 <= b <= 1 for b in bounds)
        if not (self.pixels or fractions) or not bounds[0] <= bounds[1]:
            raise ValueError(
                f"{name}: expected low <= high, both whole pixels >= {least} or both fractions in [0.0, 1.0]; "
                f"got {bounds!r}"
            )
        self.low, self.high, self.name, self.least = *bounds, name, least

    def __call__(self, u: Tensor, size: int) -> Tensor:
        """Map uniforms to whole numbers of pixels on an axis of a size."""
        if self.pixels:
            return whole_numbers(u, self.low, self.high)
        return ((self.low + u * (self.high - self.low)) * size).round().clamp(min=self.least)

    def fit(self, size: int, op: str) -> None:
        """Refuse an axis that is shorter than the longest length."""
        if self.pixels and self.high > size:
            raise ValueError(f"{op}: {self.name}: expected at most the {size} pixels of the image, got {self.high}")

    def __repr__(self) -> str:
        return f"({self.low}, {self.high})"


class Dropout(Intensity):
    """Base class of the ops that fill pixels, which say how much of a box or which points they covered."""

    own_dtype = True

    def __init__(
        self, fill: Fill, mask_fill: float | None, same_on_batch: bool, p: float | Tensor, keepdim: bool
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        noise = isinstance(fill, str)
        if noise and fill != "noise":
            raise ValueError(f"fill: expected numbers or 'noise', got {fill!r}")
        self.fill = None if noise else [number(value, "fill", 0, 1) for value in channel_values(fill, "fill")]
        self.accept(mask_fill=mask_fill)
        if noise:
            self.params = (*self.params, Param("noise", image=True))

    def filled(self, image: Tensor, params: Params, level: list[float]) -> Tensor:
        """Fill an image (B, C, H, W) of any dtype with one value, or one a channel."""
        raise NotImplementedError

    def dropped(self, params: Params, height: int, width: int) -> Tensor:
        """Which pixels (B, 1, H, W) are filled."""
        gate = params["batch_prob"]
        none = torch.zeros(len(gate), 1, height, width, dtype=torch.bool, device=gate.device)
        return self.filled(none, params, [1.0])

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        if self.fill is not None:
            return self.filled(input, params, self.level(input))
        noise = self.image_map(params, "noise", input)
        dropped = self.dropped(params, input.shape[-2], input.shape[-1])
        return torch.where(dropped, store(noise, input.dtype, unit=True), input)

    def apply_transform_mask(
        self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None
    ) -> Tensor:
        if "fill" in flags:  # the container's option for masks
            return self.filled(input, params, list(flags["fill"]))
        if flags["mask_fill"] is None:
            return input
        fill = label_values([flags["mask_fill"]], input, f"{type(self).__name__}: mask_fill")
        return self.filled(input, params, fill)

    def covered_boxes(self, boxes: Tensor, params: Params | None = None) -> Tensor:
        """The share (B, N) of each box that the last call, or that of ``params``, dropped.

        Args:
            boxes: (B, N, 4), x1, y1, x2, y2. What lies outside the image does not count.
            params: the parameters of a call; None for the last one.
        """
        return dropout.covered_boxes(self._last_dropped(params, boxes, "boxes", 4), boxes)

    def covered_points(self, points: Tensor, params: Params | None = None) -> Tensor:
        """Which points (B, N, 2) lie on pixels that the last call, or that of ``params``, dropped: (B, N) bool."""
        return dropout.covered_points(self._last_dropped(params, points, "points", 2), points)

    def _last_dropped(self, params: Params | None, labels: Tensor, name: str, numbers: int) -> Tensor:
        if self._input_shape and isinstance(params, Mapping):  # made by hand, for images like the last ones
            params = {"forward_input_shape": torch.tensor(self._input_shape), **params}
        params, shape = self.of_call(params)
        rows = len(params["batch_prob"])
        if labels.ndim != 3 or labels.shape[::2] != (rows, numbers):
            raise ValueError(
                f"{type(self).__name__}: {name}: expected ({rows}, N, {numbers}), as the call had {rows} rows; "
                f"got {tuple(labels.shape)}"
            )
        return self.dropped(params, shape[-2], shape[-1]) & self.gate(params).view(-1, 1, 1, 1)

    def noise(self, draw: Draw) -> Params:
        """Draw what to fill with, where that is noise."""
        return {"noise": draw.uniform(draw.shape[1:], 0.0, 1.0)} if self.fill is None else {}

    def level(self, image: Tensor) -> list[float]:
        """The values to fill with, in the image's own units."""
        fill = one_a_channel(self.fill or [], image.shape[1], f"{type(self).__name__}: fill")
        return [value * 255 if image.dtype == torch.uint8 else value for value in fill]


def stretch(params: Params, height: int, width: int) -> tuple[Any, Any]:
    """The width and the height as multiples of those that the parameters were drawn for."""
    drawn = params.get("forward_input_shape")
    return (1, 1) if drawn is None else (width / drawn[-1], height / drawn[-2])


class RandomCoarseDropout(Dropout):
    """Fill random rectangles (T. DeVries, G. Taylor, "Improved regularization with cutout", 2017, arXiv 1708.04552).

    Unlike in the paper the rectangles lie wholly inside the image. ``covered_boxes`` and ``covered_points`` say how
    much of labels they hide. Replayed at another size, they keep their places relative to the image.

    Args:
        num_holes_range: (fewest, most) rectangles.
        hole_height_range: (low, high) of their heights: whole pixels, or fractions of the image's height.
        hole_width_range: (low, high) of their widths: whole pixels, or fractions of the image's width.
        fill: what to fill with, on the scale of [0, 1]: a number, one a channel, or ``"noise"``, uniform in 0..1.
        mask_fill: what to fill masks with, which they can hold; None leaves them alone.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        xs, ys, widths, heights: (B, N) in pixels, N the most rectangles; beyond the drawn number they have no width.
        noise: (B, C, H, W), with that fill.

    Raises:
        ValueError: if a length in pixels does not fit into the image.
    """

    params = (
        Param("xs", (None,)),
        Param("ys", (None,)),
        Param("widths", (None,), neutral=0.0),
        Param("heights", (None,)),
    )

    def __init__(
        self,
        num_holes_range: tuple[int, int] = (1, 2),
        hole_height_range: tuple[float, float] = (0.1, 0.2),
        hole_width_range: tuple[float, float] = (0.1, 0.2),
        fill: Fill = 0.0,
        mask_fill: float | None = None,
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        self.count = Extent(num_holes_range, "num_holes_range")
        if not self.count.pixels:
            raise ValueError(f"num_holes_range: expected two whole numbers, got {num_holes_range!r}")
        self.most = whole(self.count.high, "num_holes_range", 1)
        super().__init__(fill, mask_fill, same_on_batch, p, keepdim)
        self.params = tuple(param if param.image else replace(param, shape=(self.most,)) for param in self.params)
        self.columns = 1 + 4 * self.most
        self.extents = Extent(hole_height_range, "hole_height_range"), Extent(hole_width_range, "hole_width_range")

    def forward_parameters(self, batch_shape: Sequence[int], *args: Any, **kwargs: Any) -> Params:
        for extent, size in zip(self.extents, batch_shape[-2:], strict=True):
            extent.fit(size, type(self).__name__)
        return super().forward_parameters(batch_shape, *args, **kwargs)

    def sample(self, draw: Draw) -> Params:
        height, width = draw.shape[-2:]
        count = self.count(draw.u[:, :1], 0)
        u = draw.u[:, 1:].unflatten(1, (4, self.most)).unbind(1)
        heights, widths = self.extents[0](u[0], height), self.extents[1](u[1], width)
        there = torch.arange(self.most, device=draw.device) < count
        return {
            "xs": (u[2] * (width - widths + 1)).floor(),
            "ys": (u[3] * (height - heights + 1)).floor(),
            "widths": torch.where(there, widths, 0.0),
            "heights": torch.where(there, heights, 0.0),
            **self.noise(draw),
        }

    def validate(self, params: Params, gate: Tensor) -> None:
        check((params["widths"] >= 0) & (params["heights"] >= 0), gate, "widths, heights: expected values >= 0")

    def rectangles(self, params: Params, height: int, width: int) -> Tensor:
        """The rectangles (B, N, 4) in an image of a size: x, y, width and height in whole pixels."""
        x, y = stretch(params, height, width)
        left, top = (params["xs"] * x).round(), (params["ys"] * y).round()
        across = ((params["xs"] + params["widths"]) * x).round() - left
        return torch.stack([left, top, across, ((params["ys"] + params["heights"]) * y).round() - top], 2)

    def filled(self, image: Tensor, params: Params, level: list[float]) -> Tensor:
        return kernels.fill_rectangles(image, self.rectangles(params, image.shape[-2], image.shape[-1]), level)


class RandomGridDropout(Dropout):
    """Fill the squares of a grid (P. Chen et al., "GridMask data augmentation", 2020, arXiv 2001.04086), not turned.

    ``covered_boxes`` and ``covered_points`` say how much of labels they hide. Replayed at another size, they keep their
    places relative to the image.

    Args:
        ratio: side of a hole as a fraction of the unit, in 0..1: a number or (low, high). A hole has at least one
            pixel, and so has what is left of a unit.
        unit_size_range: (low, high) of the side of a unit: whole pixels, or fractions of the image's shorter side.
        random_offset: whether the grid is shifted by a random part of a unit along each axis.
        fill, mask_fill: as in ``RandomCoarseDropout``.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        unit, hole, offset_x, offset_y: (B,), pixels. noise: (B, C, H, W), with that fill.

    Raises:
        ValueError: if a unit in pixels does not fit into the image.
    """

    columns = 4
    params = (Param("unit"), Param("hole", neutral=0.0), Param("offset_x"), Param("offset_y"))

    def __init__(
        self,
        ratio: float | tuple[float, float] = 0.5,
        unit_size_range: tuple[float, float] = (0.2, 0.5),
        random_offset: bool = True,
        fill: Fill = 0.0,
        mask_fill: float | None = None,
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(fill, mask_fill, same_on_batch, p, keepdim)
        both = (ratio, ratio) if isinstance(ratio, (int, float)) else ratio
        self.ranges = {"ratio": Range(both, "ratio", None, (0, 1))}
        self.unit = Extent(unit_size_range, "unit_size_range", 2)
        self.random_offset = switch(random_offset, "random_offset")

    def sample(self, draw: Draw) -> Params:
        unit = self.unit(draw.u[:, 0], min(draw.shape[-2:]))
        hole = (self.ranges["ratio"](draw.u[:, 1]) * unit).round().clamp(min=1).minimum(unit - 1)
        offset_x, offset_y = ((u * unit).floor() * int(self.random_offset) for u in draw.u[:, 2:4].unbind(1))
        return {"unit": unit, "hole": hole, "offset_x": offset_x, "offset_y": offset_y, **self.noise(draw)}

    def forward_parameters(self, batch_shape: Sequence[int], *args: Any, **kwargs: Any) -> Params:
        self.unit.fit(min(batch_shape[-2:]), type(self).__name__)
        return super().forward_parameters(batch_shape, *args, **kwargs)

    def validate(self, params: Params, gate: Tensor) -> None:
        check(params["unit"] > 0, gate, "unit: expected positive values")

    def filled(self, image: Tensor, params: Params, level: list[float]) -> Tensor:
        axes = []
        for offset, ratio in zip(("offset_x", "offset_y"), stretch(params, *image.shape[-2:]), strict=True):
            axes.append(torch.stack([params[name] for name in ("unit", "hole", offset)], 1) * ratio)
        return kernels.fill_grid(image, torch.stack(axes, 1), level)


class RandomErasing(Intensity):
    """Fill a random rectangle (Z. Zhong et al., "Random erasing data augmentation", 2020).

    A mask is filled with zero there, or with ``extra_args={"mask": {"fill": value}}``. Replayed at another size, the
    rectangle keeps its place relative to the image.

    Args:
        scale: (low, high) of the rectangle's area as a fraction of the image's.
        ratio: (low, high) of height over width; where 1 lies between, both sides of it are equally likely.
        value: what to fill with, in 0..1.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        xs, ys: (B,), first pixel. widths, heights: (B,), pixels. values: (B,).
    """

    columns = 4
    params = (Param("widths", neutral=0.0), Param("heights"), Param("xs"), Param("ys"), Param("values"))
    own_dtype = True

    def __init__(
        self,
        scale: Bounds = (0.02, 0.33),
        ratio: Bounds = (0.3, 3.3),
        value: float = 0.0,
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {
            "scale": Range(scale, "scale", None, (0, math.inf)),
            "ratio": Range(ratio, "ratio", None, (1e-6, math.inf)),
        }
        self.value = number(value, "value", 0, 1)

    def sample(self, draw: Draw) -> Params:
        height, width = draw.shape[-2:]
        area = self.ranges["scale"](draw.u[:, 0]) * (height * width)
        low, high = self.ranges["ratio"].scalars(draw.device)
        middle = torch.where((low < 1) & (high > 1), 1.0, (low + high) / 2)
        u = 2 * draw.u[:, 1]
        aspect = torch.where(u < 1, low + u * (middle - low), middle + (u - 1) * (high - middle))
        heights = (area * aspect).sqrt().round().clamp(1, height)
        widths = (area / aspect).sqrt().round().clamp(1, width)
        return {
            "widths": widths,
            "heights": heights,
            "xs": (draw.u[:, 2] * (width - widths + 1)).floor(),
            "ys": (draw.u[:, 3] * (height - heights + 1)).floor(),
            "values": torch.full_like(widths, self.value),
        }

    def validate(self, params: Params, gate: Tensor) -> None:
        check((params["widths"] >= 0) & (params["heights"] >= 0), gate, "widths, heights: expected values >= 0")
        check((params["values"] >= 0) & (params["values"] <= 1), gate, "values: expected values in [0, 1]")

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        levels = (params["values"] * 255).round() if input.dtype == torch.uint8 else params["values"]
        return kernels.erase(input, windows(input, params), levels)

    def apply_transform_mask(
        self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None
    ) -> Tensor:
        fill = resample.per_channel(flags.get("fill", (0.0,)), input)
        return torch.where(dropout.in_window(windows(input, params), *input.shape[-2:]), fill, input)


def windows(image: Tensor, params: Params) -> Tensor:
    """The rectangles of the parameters in the image's size: (B, 4), left, top, right and bottom."""
    x, y = stretch(params, image.shape[-2], image.shape[-1])
    left, top = params["xs"] * x, params["ys"] * y
    return torch.stack([left, top, left + params["widths"] * x, top + params["heights"] * y], 1).ceil()
