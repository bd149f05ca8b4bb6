"""Brightness, colour and normalisation."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .. import kernels
from ..common.arguments import deviations
from ..common.types import Flags, Params
from ..kernels.colour import maths as colour
from ..kernels.warp.maths import per_channel
from ..kinds.intensity import Intensity
from ..sampling.params import Param
from ..sampling.ranges import Bounds, Range
from .channels import check_channels, of_channels

INFINITY = float("inf")


class RandomBrightness(Intensity):
    """Add a constant to all channels.

    Args:
        brightness: (low, high) of the factor f, or one number for 1 -+ number; within 0..2. The image gains f - 1.
        clip_output: cut the image to [0, 1] before and after.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        brightness_factor: (B,).
    """

    pointwise = True
    params = (Param("brightness_factor", neutral=1.0),)

    def __init__(
        self,
        brightness: Bounds = (1.0, 1.0),
        clip_output: bool = True,
        same_on_batch: bool = False,
        p: float | Tensor = 1.0,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {"brightness_factor": Range(brightness, "brightness", 1.0, (0, 2))}
        self.accept(clip_output=clip_output)

    def apply_values(self, values: Tensor, params: Params, flags: Flags, channels: slice) -> Tensor:
        gain = (params["brightness_factor"] - 1).view(-1, 1, 1, 1)
        return values.clamp(0, 1).add_(gain).clamp_(0, 1) if flags["clip_output"] else values + gain

    def transform_bytes(self, image: Tensor, params: Params, flags: Flags, gate: Tensor | None) -> Tensor:
        factor = params["brightness_factor"].unsqueeze(1)
        return kernels.linear_levels(image, torch.ones_like(factor), factor - 1)


class RandomContrast(Intensity):
    """Multiply all channels by a factor, which leaves black as it is.

    ``ColorJitter`` has the other contrast, which keeps the mean.

    Args:
        contrast: (low, high) of the factor, or one number for 1 -+ number, from 0 on.
        clip_output: cut the image to [0, 1] before and after.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        contrast_factor: (B,).
    """

    pointwise = True
    params = (Param("contrast_factor", neutral=1.0),)

    def __init__(
        self,
        contrast: Bounds = (1.0, 1.0),
        clip_output: bool = True,
        same_on_batch: bool = False,
        p: float | Tensor = 1.0,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {"contrast_factor": Range(contrast, "contrast", 1.0, (0, INFINITY))}
        self.accept(clip_output=clip_output)

    def apply_values(self, values: Tensor, params: Params, flags: Flags, channels: slice) -> Tensor:
        factor = params["contrast_factor"].view(-1, 1, 1, 1)
        return values.clamp(0, 1).mul_(factor).clamp_(0, 1) if flags["clip_output"] else values * factor

    def transform_bytes(self, image: Tensor, params: Params, flags: Flags, gate: Tensor | None) -> Tensor:
        factor = params["contrast_factor"].unsqueeze(1)
        return kernels.linear_levels(image, factor, torch.zeros_like(factor))


class RandomGrayscale(Intensity):
    """Blend the channels into one and repeat it.

    Args:
        rgb_weights: one weight a channel; None for ITU-R BT.601 luma on three channels, and the mean on other numbers.

    Shape:
        (B, C, H, W) to (B, C, H, W), any C.

    Raises:
        ValueError: if there is not one weight a channel.
    """

    bytewise = True

    def __init__(
        self,
        rgb_weights: Any = None,
        same_on_batch: bool = False,
        p: float | Tensor = 0.1,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.accept(rgb_weights=rgb_weights)

    def apply_planes(self, planes: Sequence[Tensor], params: Params, flags: Flags) -> Sequence[Tensor]:
        return [colour.gray(planes, self.weights(len(planes), flags))] * len(planes)

    def mixture(self, flags: Flags, channels: int) -> list[list[float]]:
        return [[*self.weights(channels, flags), 0.0]] * channels

    def transform_bytes(self, image: Tensor, params: Params, flags: Flags, gate: Tensor | None) -> Tensor:
        gate = self.gate(params) if gate is None else gate
        return kernels.gray_levels(image, gate, self.weights(image.shape[1], flags))

    def weights(self, channels: int, flags: Flags) -> list[float]:
        """The weight of each channel."""
        given = flags["rgb_weights"]
        if given is None:
            return colour.luma_weights(channels)
        if len(given) != channels:
            raise ValueError(f"RandomGrayscale: rgb_weights: expected {channels}, one a channel, got {len(given)}")
        return list(given)


class RandomSaturation(Intensity):
    """Multiply the saturation of the HSV model; hue and value stay. The image is cut to [0, 1] before.

    Args:
        saturation: (low, high) of the factor, or one number for 1 -+ number, from 0 on.

    Shape:
        (B, C, H, W) to (B, C, H, W), C 1 or 3; one channel has no saturation to change.

    Params:
        saturation_factor: (B,).
    """

    bytewise = True
    channels = (1, 3)
    params = (Param("saturation_factor", neutral=1.0),)

    def __init__(
        self,
        saturation: Bounds = (1.0, 1.0),
        same_on_batch: bool = False,
        p: float | Tensor = 1.0,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {"saturation_factor": Range(saturation, "saturation", 1.0, (0, INFINITY))}

    def apply_planes(self, planes: Sequence[Tensor], params: Params, flags: Flags) -> Sequence[Tensor]:
        factors = (1.0, 1.0, params["saturation_factor"].view(-1, 1, 1), 0.0)
        return colour.jitter(planes, factors, (colour.SATURATION,), kind="jiggle")

    def transform_bytes(self, image: Tensor, params: Params, flags: Flags, gate: Tensor | None) -> Tensor:
        return kernels.saturation_levels(image, params["saturation_factor"])


class RandomHue(Intensity):
    """Turn the hue of the HSV model; saturation and value stay. The image is cut to [0, 1] before.

    Args:
        hue: (low, high) in turns, or one number for -+ number; within -0.5..0.5.

    Shape:
        (B, C, H, W) to (B, C, H, W), C 1 or 3; one channel has no hue to turn.

    Params:
        hue_factor: (B,), in turns.
    """

    bytewise = True
    channels = (1, 3)
    params = (Param("hue_factor", neutral=0.0),)

    def __init__(
        self,
        hue: Bounds = (0.0, 0.0),
        same_on_batch: bool = False,
        p: float | Tensor = 1.0,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {"hue_factor": Range(hue, "hue", 0.0, (-0.5, 0.5))}

    def apply_planes(self, planes: Sequence[Tensor], params: Params, flags: Flags) -> Sequence[Tensor]:
        factors = (1.0, 1.0, 1.0, params["hue_factor"].view(-1, 1, 1))
        return colour.jitter(planes, factors, (colour.HUE,))

    def transform_bytes(self, image: Tensor, params: Params, flags: Flags, gate: Tensor | None) -> Tensor:
        return kernels.hue_levels(image, params["hue_factor"])


class Standard(Intensity):
    """Base class of the ops that a mean and a standard deviation of each channel make."""

    def __init__(self, mean: Any, std: Any, p: float | Tensor = 1.0, keepdim: bool = False) -> None:
        super().__init__(p=p, keepdim=keepdim)
        self.accept(mean=mean, std=std)

    def check_shape(self, shape: Sequence[int], flags: Flags) -> None:
        check_channels(self, shape, flags, "mean", "std")

    def apply_values(self, values: Tensor, params: Params, flags: Flags, channels: slice) -> Tensor:
        scale, shift = self.linear(flags, channels)
        return (values * per_channel(scale, values)).add_(per_channel(shift, values))


class Normalize(Standard):
    """Subtract a mean and divide by a standard deviation. A uint8 image is brought to [0, 1] first and becomes float32.

    Args:
        mean: one number, or one a channel, on the scale of [0, 1].
        std: the same, not zero.

    Shape:
        (B, C, H, W) to (B, C, H, W).
    """

    pointwise = True
    flag_checks = {"std": deviations}

    def output_dtype(self, dtype: torch.dtype) -> torch.dtype:
        return dtype if dtype.is_floating_point else torch.float32

    def linear(self, flags: Flags, channels: slice) -> tuple[list[float], list[float]]:
        mean, std = of_channels(flags, channels, "mean", "std")
        return [1 / s for s in std], [-m / s for m, s in zip(mean, std, strict=True)]


class Denormalize(Standard):
    """Multiply by a standard deviation and add a mean: the inverse of ``Normalize``.

    Args:
        mean, std: as in ``Normalize``; any std.

    Shape:
        (B, C, H, W) to (B, C, H, W).
    """

    def linear(self, flags: Flags, channels: slice) -> tuple[list[float], list[float]]:
        mean, std = of_channels(flags, channels, "mean", "std")
        return std, mean
