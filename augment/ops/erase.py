"""Erasing."""

import math

import torch
from torch import Tensor

from .. import native
from ..arguments import number
from ..base import Flags, Params
from ..functional import dropout, resample
from ..kinds import Intensity
from ..sampling import Bounds, Draw, Range, check


class RandomErasing(Intensity):
    """Fill a random rectangle (Z. Zhong et al., "Random erasing data augmentation", 2020).

    A mask is filled with zero there, or with ``extra_args={"mask": {"fill": value}}``. Replayed at another size, the
    rectangle keeps its place relative to the image.

    Args:
        scale: (low, high) of the rectangle's area as a fraction of the image's.
        ratio: (low, high) of height over width; where 1 lies between, both sides of it are equally likely.
        value: what to fill with, in 0..1.
        same_on_batch: share one rectangle among the rows.
        p: probability that a row is changed.
        keepdim: give the output the rank of the input.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        xs, ys: (B,), first pixel. widths, heights: (B,), pixels. values: (B,).
    """

    columns = 4
    param_names = ("widths", "heights", "xs", "ys", "values")
    neutral = {"widths": 0.0}
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
        levels = params["values"]
        return native.erase(
            input, windows(input, params), (levels * 255).round() if input.dtype == torch.uint8 else levels
        )

    def apply_transform_mask(
        self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None
    ) -> Tensor:
        fill = resample.per_channel(flags.get("fill", (0.0,)), input)
        return torch.where(dropout.in_window(windows(input, params), *input.shape[-2:]), fill, input)


def windows(image: Tensor, params: Params) -> Tensor:
    """Give the rectangles of the parameters in the image's size: (B, 4), left, top, right and bottom."""
    drawn = params.get("forward_input_shape")
    edges = []
    for first, extent, axis in (("xs", "widths", -1), ("ys", "heights", -2)):
        ratio = 1 if drawn is None else image.shape[axis] / drawn[axis]
        start, length = params[first] * ratio, params[extent] * ratio
        edges.append((start.ceil(), (start + length).ceil()))
    (left, right), (top, bottom) = edges
    return torch.stack([left, top, right, bottom], 1)
