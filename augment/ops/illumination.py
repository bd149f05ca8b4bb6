"""Light that falls on the image from a side, from a corner or as a spot."""

from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor

from ..common.types import Flags, Params
from ..kernels.light import maths as light
from ..kinds.intensity import Intensity
from ..maps.recolours import Curve
from ..sampling.draw import Draw
from ..sampling.params import Param
from ..sampling.ranges import Bounds, Range, numbers

UNIT = (0.0, 1.0)
EITHER = (-1.0, 1.0)


class Illumination(Intensity):
    """Base class of the ops that add light or take it away, by a gradient from nothing to ``gain``."""

    params = (Param("gradient", image=True),)

    def gradient(self, gain: Tensor, u: Tensor, height: int, width: int) -> Tensor:
        """What is added (B, 1, H, W), at most a gain (B,) with its sign, from uniforms (B, n) but the first two."""
        raise NotImplementedError

    def sample(self, draw: Draw) -> Params:
        gain, sign = self.ranges["gain"](draw.u[:, 0]), self.ranges["sign"](draw.u[:, 1])
        gradient = self.gradient(torch.where(sign >= 0, gain, -gain), draw.u, *draw.shape[-2:])
        return {"gradient": gradient.expand(-1, draw.shape[1], -1, -1)}

    def recolour(self, input: Tensor, params: Params, flags: Flags) -> Curve:
        return Curve(light.illuminate, self.image_map(params, "gradient", input))


class StraightIllumination(Illumination):
    """Base class of the illuminations that begin at one of four places.

    Attributes:
        formula: the gradient from a gain (B,), the number (B,) of the place, the height and the width.
    """

    columns = 3
    formula: ClassVar[Callable[[Tensor, Tensor, int, int], Tensor]]

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

    def gradient(self, gain: Tensor, u: Tensor, height: int, width: int) -> Tensor:
        return type(self).formula(gain, (u[:, 2] * 4).floor(), height, width)


class RandomLinearIllumination(StraightIllumination):
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

    formula = staticmethod(light.linear_gradient)


class RandomLinearCornerIllumination(StraightIllumination):
    """Add light or take it away, from nothing at one corner of the image to ``gain`` at the opposite one.

    Args:
        gain, sign: as in ``RandomLinearIllumination``.

    Shape:
        (B, C, H, W) to (B, C, H, W), cut to [0, 1] before and after.

    Params:
        gradient: (B, C, H, W), what is added.
    """

    formula = staticmethod(light.corner_gradient)


class RandomGaussianIllumination(Illumination):
    """Add light or take it away by a Gaussian spot, from nothing at its darkest pixel to ``gain`` at its brightest.

    Args:
        gain, sign: as in ``RandomLinearIllumination``.
        center: (low, high) of the centre, or one number, drawn for each axis as a fraction of the image; within 0..1.
        sigma: the same of the standard deviation, drawn for each axis as a fraction of the image; within 0..1.

    Shape:
        (B, C, H, W) to (B, C, H, W), cut to [0, 1] before and after.

    Params:
        gradient: (B, C, H, W), what is added.
    """

    columns = 6

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

    def gradient(self, gain: Tensor, u: Tensor, height: int, width: int) -> Tensor:
        center, sigma = self.ranges["center"](u[:, 2:4]), self.ranges["sigma"](u[:, 4:])
        return light.gaussian_gradient(gain, center, sigma, height, width)


def span(bounds: Bounds, name: str, domain: tuple[float, float]) -> Range:
    """The range of (low, high), or the one value that a single number is."""
    if not isinstance(bounds, Tensor):
        values = numbers(bounds, name)
        bounds = values * 2 if len(values) == 1 else values
    return Range(bounds, name, None, domain)
