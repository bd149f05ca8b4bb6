"""Light that falls on the image from a side, from a corner or as a spot."""

import torch
from torch import Tensor

from ..common.types import Flags, Params
from ..kernels.light import maths as light
from ..kinds.intensity import Intensity
from ..sampling.draw import Draw
from ..sampling.params import Param
from ..sampling.ranges import Bounds, Range, numbers

UNIT = (0.0, 1.0)
EITHER = (-1.0, 1.0)


class RandomLinearIllumination(Intensity):
    """Add light or take it away, from nothing at one side of the image to ``gain`` at the opposite one.

    Args:
        gain: (low, high) of what is added at most, or one number for just that; within 0..1.
        sign: (low, high) of a number that adds light if it is at least zero and takes it away otherwise, or one number;
            within -1..1.

    Shape:
        (B, C, H, W) to (B, C, H, W), cut to [0, 1] before and after.

    Params:
        gradient: (B, C, H, W), what is added.
    """

    columns = 3
    params = (Param("gradient", image=True),)

    def __init__(
        self,
        gain: Bounds = (0.01, 0.2),
        sign: Bounds = (-1.0, 1.0),
        p: float | Tensor = 0.5,
        same_on_batch: bool = False,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {"gain": span(gain, "gain", UNIT), "sign": span(sign, "sign", EITHER)}

    def sample(self, draw: Draw) -> Params:
        height = signed(self.ranges, draw.u[:, 0], draw.u[:, 1])
        gradient = light.linear_gradient(height, side(draw.u[:, 2]), *draw.shape[-2:])
        return {"gradient": gradient.expand(-1, draw.shape[1], -1, -1)}

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        return light.illuminate(input, self.image_map(params, "gradient", input).to(input.dtype))


class RandomLinearCornerIllumination(Intensity):
    """Add light or take it away, from nothing at one corner of the image to ``gain`` at the opposite one.

    Args:
        gain: (low, high) of what is added at most, or one number for just that; within 0..1.
        sign: (low, high) of a number that adds light if it is at least zero and takes it away otherwise, or one number;
            within -1..1.

    Shape:
        (B, C, H, W) to (B, C, H, W), cut to [0, 1] before and after.

    Params:
        gradient: (B, C, H, W), what is added.
    """

    columns = 3
    params = (Param("gradient", image=True),)

    def __init__(
        self,
        gain: Bounds = (0.01, 0.2),
        sign: Bounds = (-1.0, 1.0),
        p: float | Tensor = 0.5,
        same_on_batch: bool = False,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {"gain": span(gain, "gain", UNIT), "sign": span(sign, "sign", EITHER)}

    def sample(self, draw: Draw) -> Params:
        height = signed(self.ranges, draw.u[:, 0], draw.u[:, 1])
        gradient = light.corner_gradient(height, side(draw.u[:, 2]), *draw.shape[-2:])
        return {"gradient": gradient.expand(-1, draw.shape[1], -1, -1)}

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        return light.illuminate(input, self.image_map(params, "gradient", input).to(input.dtype))


class RandomGaussianIllumination(Intensity):
    """Add light or take it away by a Gaussian spot, from nothing at its darkest pixel to ``gain`` at its brightest.

    Args:
        gain: (low, high) of what is added at most, or one number for just that; within 0..1.
        center: the same of the centre, drawn for each axis as a fraction of the image; within 0..1.
        sigma: the same of the standard deviation, drawn for each axis as a fraction of the image; within 0..1.
        sign: (low, high) of a number that adds light if it is at least zero and takes it away otherwise, or one number;
            within -1..1.

    Shape:
        (B, C, H, W) to (B, C, H, W), cut to [0, 1] before and after.

    Params:
        gradient: (B, C, H, W), what is added.
    """

    columns = 6
    params = (Param("gradient", image=True),)

    def __init__(
        self,
        gain: Bounds = (0.01, 0.15),
        center: Bounds = (0.1, 0.9),
        sigma: Bounds = (0.2, 1.0),
        sign: Bounds = (-1.0, 1.0),
        p: float | Tensor = 0.5,
        same_on_batch: bool = False,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {
            "gain": span(gain, "gain", UNIT),
            "center": span(center, "center", UNIT),
            "sigma": span(sigma, "sigma", UNIT),
            "sign": span(sign, "sign", EITHER),
        }

    def sample(self, draw: Draw) -> Params:
        height = signed(self.ranges, draw.u[:, 0], draw.u[:, 1])
        center, sigma = self.ranges["center"](draw.u[:, 2:4]), self.ranges["sigma"](draw.u[:, 4:6])
        gradient = light.gaussian_gradient(height, center, sigma, *draw.shape[-2:])
        return {"gradient": gradient.expand(-1, draw.shape[1], -1, -1)}

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        return light.illuminate(input, self.image_map(params, "gradient", input).to(input.dtype))


def span(bounds: Bounds, name: str, domain: tuple[float, float]) -> Range:
    """Give the range of (low, high), or the one value that a single number is."""
    if not isinstance(bounds, Tensor):
        values = numbers(bounds, name)
        bounds = values * 2 if len(values) == 1 else values
    return Range(bounds, name, None, domain)


def signed(ranges: dict[str, Range], gain: Tensor, sign: Tensor) -> Tensor:
    """Turn uniforms into a gain with a sign."""
    drawn = ranges["gain"](gain)
    return torch.where(ranges["sign"](sign) >= 0, drawn, -drawn)


def side(u: Tensor) -> Tensor:
    """Turn uniforms into 0, 1, 2 or 3."""
    return (u * 4).floor()
