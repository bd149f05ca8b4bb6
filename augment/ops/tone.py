"""Curves of brightness, given or found from the histogram."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .. import kernels
from ..common.dtypes import load, store
from ..common.types import Flags, Params
from ..kernels.tone import maths as tone
from ..kernels.warp.maths import per_channel
from ..kinds.intensity import Intensity
from ..sampling.draw import Draw
from ..sampling.params import Param
from ..sampling.ranges import Bounds, Range, numbers
from .channels import check_channels, of_channels


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

    pointwise = True

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

    def apply_values(self, values: Tensor, params: Params, flags: Flags, channels: slice) -> Tensor:
        threshold, addition = (params[name].view(-1, 1, 1, 1) for name in ("thresholds", "additions"))
        return tone.solarize(values, threshold, addition)

    def transform_bytes(self, image: Tensor, params: Params, flags: Flags, gate: Tensor | None) -> Tensor:
        return kernels.look_up(image, self.tables(image[:, :1], params, flags, gate))  # channels are alike


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
    own_dtype = True

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

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        return kernels.posterize(input, params["bits_factor"])

    def apply_values(self, values: Tensor, params: Params, flags: Flags, channels: slice) -> Tensor:
        bits = params["bits_factor"].view(-1, 1, 1, 1)
        return torch.where(bits == 8, values, tone.posterize(values, bits))


class RandomInvert(Intensity):
    """Subtract from the highest value, without a cut.

    Args:
        max_val: the highest value, one or one a channel, on the scale of [0, 1].

    Shape:
        (B, C, H, W) to (B, C, H, W).
    """

    own_dtype = True

    def __init__(
        self, max_val: Any = 1.0, same_on_batch: bool = False, p: float | Tensor = 0.5, keepdim: bool = False
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.accept(max_val=max_val)

    def check_shape(self, shape: Sequence[int], flags: Flags) -> None:
        check_channels(self, shape, flags, "max_val")

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        top = flags["max_val"]
        gate = self.gate(params)
        if input.dtype == torch.uint8 and top == [1.0]:
            return kernels.invert_bytes(input, gate)
        work = load(input, unit=True)
        return torch.where(gate.view(-1, 1, 1, 1), store(per_channel(top, work) - work, input.dtype, unit=True), input)

    def apply_values(self, values: Tensor, params: Params, flags: Flags, channels: slice) -> Tensor:
        (top,) = of_channels(flags, channels, "max_val")
        return per_channel(top, values) - values


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
    own_dtype = True

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

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        return kernels.gamma(input, params["gamma_factor"], params["gain_factor"])

    def apply_values(self, values: Tensor, params: Params, flags: Flags, channels: slice) -> Tensor:
        return kernels.gamma(values, params["gamma_factor"], params["gain_factor"])  # a power of all pixels is slow
