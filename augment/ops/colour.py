"""Brightness, colour and normalisation."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from ..common.arguments import deviations
from ..common.types import Flags, Params
from ..kernels.colour import maths as colour
from ..kinds.intensity import Intensity
from ..maps.recolours import Blend, Line, Steps
from ..sampling.params import Param
from ..sampling.ranges import Bounds, Range
from .channels import check_channels, of_one_length

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

    def recolour(self, input: Tensor, params: Params, flags: Flags) -> Line:
        return Line(None, params["brightness_factor"] - 1, cut=flags["clip_output"])


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

    def recolour(self, input: Tensor, params: Params, flags: Flags) -> Line:
        return Line(params["contrast_factor"], cut=flags["clip_output"])


class RandomGrayscale(Intensity):
    """Blend the channels into one and repeat it.

    Args:
        rgb_weights: one weight a channel; None for ITU-R BT.601 luma on three channels, and the mean on other numbers.

    Shape:
        (B, C, H, W) to (B, C, H, W), any C.

    Raises:
        ValueError: if there is not one weight a channel.
    """

    def __init__(
        self,
        rgb_weights: Any = None,
        same_on_batch: bool = False,
        p: float | Tensor = 0.1,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.accept(rgb_weights=rgb_weights)

    def recolour(self, input: Tensor, params: Params, flags: Flags) -> Blend:
        return Blend(self.weights(input.shape[1], flags))

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

    def recolour(self, input: Tensor, params: Params, flags: Flags) -> Steps:
        return Steps((1.0, 1.0, params["saturation_factor"], 0.0), (colour.SATURATION,), "jiggle")


class RandomHue(Intensity):
    """Turn the hue of the HSV model; saturation and value stay. The image is cut to [0, 1] before.

    Args:
        hue: (low, high) in turns, or one number for -+ number; within -0.5..0.5.

    Shape:
        (B, C, H, W) to (B, C, H, W), C 1 or 3; one channel has no hue to turn.

    Params:
        hue_factor: (B,), in turns.
    """

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

    def recolour(self, input: Tensor, params: Params, flags: Flags) -> Steps:
        return Steps((1.0, 1.0, 1.0, params["hue_factor"]), (colour.HUE,))


class Standard(Intensity):
    """Base class of the ops that a mean and a standard deviation of each channel make."""

    def __init__(self, mean: Any, std: Any, p: float | Tensor = 1.0, keepdim: bool = False) -> None:
        super().__init__(p=p, keepdim=keepdim)
        self.accept(mean=mean, std=std)

    def check_shape(self, shape: Sequence[int], flags: Flags) -> None:
        check_channels(self, shape, flags, "mean", "std")


class Normalize(Standard):
    """Subtract a mean and divide by a standard deviation. A uint8 image is brought to [0, 1] first and becomes float32.

    Args:
        mean: one number, or one a channel, on the scale of [0, 1].
        std: the same, not zero.

    Shape:
        (B, C, H, W) to (B, C, H, W).
    """

    flag_checks = {"std": deviations}

    def recolour(self, input: Tensor, params: Params, flags: Flags) -> Line:
        mean, std = of_one_length(flags["mean"], flags["std"])
        return Line([1 / s for s in std], [-m / s for m, s in zip(mean, std, strict=True)], wide=True)


class Denormalize(Standard):
    """Multiply by a standard deviation and add a mean: the inverse of ``Normalize``.

    Args:
        mean, std: as in ``Normalize``; any std.

    Shape:
        (B, C, H, W) to (B, C, H, W).
    """

    def recolour(self, input: Tensor, params: Params, flags: Flags) -> Line:
        return Line(flags["std"], flags["mean"])
