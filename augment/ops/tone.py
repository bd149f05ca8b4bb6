"""Curves of brightness, given or found from the histogram."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .. import kernels
from ..common.types import Flags, Params
from ..kernels.tone import maths as tone
from ..kinds.intensity import Intensity
from ..maps.recolours import Curve, Line
from ..sampling.draw import Draw
from ..sampling.params import Param
from ..sampling.ranges import Bounds, Range, numbers
from .channels import check_channels


class RandomSolarize(Intensity):
    """Add a constant, cut to [0, 1], and invert what is at a threshold or above it.

    Args:
        thresholds: (low, high) of the threshold, or one number for 0.5 -+ number; within 0..1.
        additions: (low, high) of the constant, or one number for -+ number; within -0.5..0.5.

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

    def recolour(self, input: Tensor, params: Params, flags: Flags) -> Curve:
        threshold, addition = (params[name].view(-1, 1, 1, 1) for name in ("thresholds", "additions"))
        return Curve(lambda values: tone.solarize(values, threshold, addition))


class RandomPosterize(Intensity):
    """Keep the upper bits of the 8-bit levels.

    Values between two levels count as the nearer one, values outside [0, 1] as its ends; with all 8 bits an image
    stays as it is. The gradient of a posterised row is zero.

    Args:
        bits: (low, high) of how many bits stay, whole numbers, each equally likely; one number for (number, 8). Within
            0..8.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        bits_factor: (B,) int32.
    """

    params = (Param("bits_factor", neutral=8.0),)

    def __init__(
        self, bits: Bounds = 3, same_on_batch: bool = False, p: float | Tensor = 0.5, keepdim: bool = False
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        single = [bits, 8] if isinstance(bits, (int, float)) and not isinstance(bits, bool) else bits
        if not all(map(float.is_integer, numbers(single, "bits"))):
            raise ValueError(f"bits: expected whole numbers, got {bits!r}")
        self.ranges = {"bits_factor": Range(single, "bits", None, (0, 8))}

    def sample(self, draw: Draw) -> Params:
        low, high = self.ranges["bits_factor"].limits(draw.device)
        return {"bits_factor": (draw.u[:, 0] * (high - low + 1) + low).int().clamp(max=8)}

    def recolour(self, input: Tensor, params: Params, flags: Flags) -> Curve:
        bits = params["bits_factor"].view(-1, 1, 1, 1)
        return Curve(lambda values: torch.where(bits == 8, values, tone.posterize(values, bits)))


class RandomInvert(Intensity):
    """Subtract from the highest value, without a cut.

    Args:
        max_val: the highest value, one or one a channel, on the scale of [0, 1].

    Shape:
        (B, C, H, W) to (B, C, H, W).
    """

    def __init__(
        self, max_val: Any = 1.0, same_on_batch: bool = False, p: float | Tensor = 0.5, keepdim: bool = False
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.accept(max_val=max_val)

    def check_shape(self, shape: Sequence[int], flags: Flags) -> None:
        check_channels(self, shape, flags, "max_val")

    def recolour(self, input: Tensor, params: Params, flags: Flags) -> Line:
        return Line(-1.0, flags["max_val"])


class RandomGamma(Intensity):
    """Raise the values to a power and multiply them, cut to [0, 1] before and after.

    Args:
        gamma: (low, high) of the power, from 0 on.
        gain: (low, high) of the factor, from 0 on.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        gamma_factor: (B,). gain_factor: (B,).
    """

    params = (Param("gamma_factor", neutral=1.0), Param("gain_factor", neutral=1.0))

    def __init__(
        self,
        gamma: Bounds = (1.0, 1.0),
        gain: Bounds = (1.0, 1.0),
        same_on_batch: bool = False,
        p: float | Tensor = 1.0,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {
            "gamma_factor": Range(gamma, "gamma", None, (0, float("inf"))),
            "gain_factor": Range(gain, "gain", None, (0, float("inf"))),
        }

    def recolour(self, input: Tensor, params: Params, flags: Flags) -> Curve:
        given = params["gamma_factor"], params["gain_factor"]
        return Curve(lambda values: kernels.gamma(values, *given), table=lambda: tone.gamma_table(*given))
