"""Erasing."""

import math

import torch
from torch import Tensor

from ..arguments import number
from ..base import Flags, Params
from ..functional import resample
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
        values = params["values"] * 255 if input.dtype == torch.uint8 else params["values"]
        values = values.round() if input.dtype == torch.uint8 else values
        return torch.where(erased(input, params), values.to(input.dtype).view(-1, 1, 1, 1), input)

    def apply_transform_mask(
        self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None
    ) -> Tensor:
        fill = resample.per_channel(flags.get("fill", (0.0,)), input)
        return torch.where(erased(input, params), fill, input)


def erased(image: Tensor, params: Params) -> Tensor:
    """Give the rectangles (B, 1, H, W) bool of the parameters, in the image's size."""
    height, width = image.shape[-2:]
    drawn = params.get("forward_input_shape")
    x, y = resample.pixel_grid(height, width, params["xs"])
    inside = []
    for grid, first, extent, n, axis in ((x, "xs", "widths", width, -1), (y, "ys", "heights", height, -2)):
        ratio = 1 if drawn is None else n / drawn[axis]
        start, length = (params[key].view(-1, 1, 1) * ratio for key in (first, extent))
        inside.append((grid >= start) & (grid < start + length))
    return (inside[0] & inside[1]).unsqueeze(1)
