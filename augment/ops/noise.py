"""Noise."""

import math

from torch import Tensor

from .. import kernels
from ..common.arguments import number
from ..common.types import Flags, Params
from ..kinds.intensity import Intensity
from ..sampling.draw import Draw
from ..sampling.params import Param
from ..sampling.ranges import Bounds, Range


class RandomGaussianNoise(Intensity):
    """Add normal noise, drawn for every value. The result is not cut, but for uint8.

    Args:
        mean: mean of the noise, on the scale of [0, 1].
        std: its standard deviation.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        gaussian_noise: (B, C, H, W), float32.
    """

    params = (Param("gaussian_noise", image=True),)
    own_dtype = True

    def __init__(
        self,
        mean: float = 0.0,
        std: float = 1.0,
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.mean, self.std = number(mean, "mean"), number(std, "std", 0)

    def sample(self, draw: Draw) -> Params:
        return {"gaussian_noise": draw.normal(draw.shape[1:], self.mean, self.std)}

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        return kernels.add_noise(input, self.gate(params), self.image_map(params, "gaussian_noise", input))


class RandomISONoise(Intensity):
    """Add the noise of a camera at a high ISO, as albumentations' ``ISONoise`` did before its version 2.

    In HLS, whose saturation stays: the hue turns by a normal variable of deviation ``color_shift * intensity`` turns; a
    photon count of mean ``255 * intensity`` times the deviation of the image's lightness, divided by 255, brings the
    lightness that share nearer to 1. The count is normal with the mean and the variance of the Poisson count, cut at 0.

    Args:
        color_shift: (low, high) of the hue's deviation at intensity 1, in turns; in 0..1.
        intensity: (low, high) of the strength; not negative.

    Shape:
        (B, C, H, W) to (B, C, H, W), C 1 or 3.

    Params:
        color_shift, intensity: (B,). noise: (B, 2, H, W), standard normal, of the hue and of the light.
    """

    channels = (1, 3)
    params = (Param("color_shift"), Param("intensity", neutral=0.0), Param("noise", image=True))
    own_dtype = True

    def __init__(
        self,
        color_shift: Bounds = (0.01, 0.05),
        intensity: Bounds = (0.1, 0.5),
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {
            "color_shift": Range(color_shift, "color_shift", None, (0, 1)),
            "intensity": Range(intensity, "intensity", None, (0, math.inf)),
        }

    def sample(self, draw: Draw) -> Params:
        return {**super().sample(draw), "noise": draw.normal((2, *draw.shape[-2:]), 0.0, 1.0)}

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        drawn = self.image_map(params, "noise", input, channels=(2,))
        return kernels.sensor_noise(input, params["intensity"], params["color_shift"], drawn)


class RandomSaltAndPepperNoise(Intensity):
    """Turn random pixels white and black, in all channels.

    Args:
        amount: (low, high) of the share of pixels, in 0..1, or one number for it.
        salt_vs_pepper: (low, high) of the share of white among them, in 0..1, or one number for it.

    Shape:
        (B, C, H, W) to (B, C, H, W), any C.

    Params:
        amount_factor, salt_and_pepper_factor: (B,). mask_salt, mask_pepper: (B, C, H, W) bool.
    """

    columns = 2
    params = (
        Param("amount_factor"),
        Param("salt_and_pepper_factor"),
        Param("mask_salt", image=True, mask=True),
        Param("mask_pepper", image=True, mask=True),
    )
    own_dtype = True

    def __init__(
        self,
        amount: Bounds = (0.01, 0.06),
        salt_vs_pepper: Bounds = (0.4, 0.6),
        p: float | Tensor = 0.5,
        same_on_batch: bool = False,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {
            "amount_factor": share(amount, "amount"),
            "salt_and_pepper_factor": share(salt_vs_pepper, "salt_vs_pepper"),
        }

    def sample(self, draw: Draw) -> Params:
        drawn = super().sample(draw)
        u = draw.uniform((1, *draw.shape[-2:]), 0.0, 1.0)
        amount, white = drawn["amount_factor"], drawn["salt_and_pepper_factor"]
        # from above, as rows that stay closed hold zeros
        salt, pepper = kernels.salt_masks(u, 1 - amount * white, 1 - amount)
        shape = (*draw.shape[:2], -1, -1)
        return {**drawn, "mask_salt": salt.expand(shape), "mask_pepper": pepper.expand(shape)}

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        salt, pepper = (self.image_map(params, name, input) for name in ("mask_salt", "mask_pepper"))
        return kernels.salt_and_pepper(input, self.gate(params), salt, pepper)


class RandomShotNoise(Intensity):
    """Count photons (D. Hendrycks, T. Dietterich, "Benchmarking neural network robustness", 2019, ImageNet-C).

    A value x becomes a count of mean ``x * scale``, divided by the scale and cut to [0, 1]. The count is normal with
    the mean and the variance of the Poisson count, so that a gradient passes and the noise can be replayed. Below some
    ten photons it lacks the skewness and the whole numbers of the Poisson count, and the cut at 0 brightens, by at
    most a tenth of a photon.

    Args:
        scale: (low, high) of the photons that a white pixel counts on average; the fewer, the noisier. ImageNet-C has
            60 for its mildest noise and 3 for its strongest.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        scale: (B,). noise: (B, C, H, W), standard normal.
    """

    params = (Param("scale", neutral=0.0), Param("noise", image=True))
    own_dtype = True

    def __init__(
        self,
        scale: Bounds = (12.0, 60.0),
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {"scale": Range(scale, "scale", None, (1e-3, math.inf))}

    def sample(self, draw: Draw) -> Params:
        return {**super().sample(draw), "noise": draw.normal(draw.shape[1:], 0.0, 1.0)}

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        return kernels.shot_noise(input, params["scale"], self.image_map(params, "noise", input))


def share(value: Bounds, name: str) -> Range:
    """The range of a share in 0..1, or one number for it."""
    bounds = (value, value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
    return Range(bounds, name, None, (0, 1))
