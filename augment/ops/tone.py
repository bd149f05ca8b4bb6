"""Curves of brightness, given or found from the histogram."""

from torch import Tensor

from .. import native
from ..base import Flags, Params
from ..functional import tone
from ..kinds import Intensity
from ..sampling import Bounds, Range


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


class RandomSolarize(Intensity):
    """Add a constant, cut to [0, 1], and invert what is at a threshold or above it.

    Args:
        thresholds: (low, high) of the threshold, or one number for 0.5 -+ number; within 0..1.
        additions: (low, high) of the constant, or one number for -+ number; within -0.5..0.5.
        same_on_batch: share one draw among the rows.
        p: probability that a row is changed.
        keepdim: give the output the rank of the input.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        thresholds: (B,). additions: (B,).
    """

    def __init__(
        self,
        thresholds: Bounds = 0.1,
        additions: Bounds = 0.1,
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {
            "thresholds": Range(thresholds, "thresholds", 0.5, (0, 1)),
            "additions": Range(additions, "additions", 0.0, (-0.5, 0.5)),
        }

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        threshold, addition = (params[name].view(-1, 1, 1, 1) for name in ("thresholds", "additions"))
        return tone.solarize(input, threshold, addition)
