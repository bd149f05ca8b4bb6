"""Sharpness."""

from typing import ClassVar

from torch import Tensor

from .. import native
from ..base import Flags, Params
from ..kinds import Intensity
from ..sampling import Bounds, Range


class RandomSharpness(Intensity):
    """Blend with a smoothed copy, or away from it, as ``PIL.ImageEnhance.Sharpness`` does.

    Values are cut to [0, 1], before and after. Pixels at the edges stay as they are, and with them an image of less
    than three pixels a side.

    Args:
        sharpness: (low, high) of the factor, or its upper bound: 0 is the smoothed copy, 1 the image, and more is
            sharper.
        same_on_batch: share one factor among the rows.
        p: probability that a row is changed.
        keepdim: give the output the rank of the input.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        sharpness: (B,).
    """

    neutral: ClassVar = {"sharpness": 1.0}
    own_dtype = True

    def __init__(
        self,
        sharpness: Bounds = 0.5,
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {"sharpness": Range(sharpness, "sharpness", 0.0, (0, float("inf")))}

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        return native.sharpen(input, params["sharpness"])
