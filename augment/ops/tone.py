"""Histogram ops."""

from torch import Tensor

from .. import native
from ..base import Flags, Params
from ..kinds import Intensity


class RandomEqualize(Intensity):
    """Flatten the histogram of every channel in 256 levels, as ``PIL.ImageOps.equalize`` does.

    Values outside [0, 1] count as its ends; a channel with nothing to equalise stays as it is. The gradient of an
    equalised row is zero.

    Args:
        same_on_batch: change all rows or none.
        p: probability that a row is changed.
        keepdim: give the output the rank of the input.

    Shape:
        (B, C, H, W) to (B, C, H, W).
    """

    own_dtype = True

    def __init__(self, same_on_batch: bool = False, p: float | Tensor = 0.5, keepdim: bool = False) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        return native.equalize(input, self.gate(params))
