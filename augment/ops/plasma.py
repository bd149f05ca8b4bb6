"""Brightness, contrast and shadows that vary over the image like clouds."""

from typing import ClassVar

import torch
from torch import Tensor

from .. import kernels
from ..common.types import Flags, Params
from ..kernels.light import maths as light
from ..kernels.light.maths import noise_size
from ..kinds.intensity import Intensity
from ..maps.recolours import Curve
from ..sampling.draw import Draw
from ..sampling.params import Param
from ..sampling.ranges import Bounds, Range

UNIT = (0.0, 1.0)


class Plasma(Intensity):
    """Base class of the ops that follow a fractal map (A. Nicolaou et al., "TorMentor", 2022).

    Attributes:
        one_map: whether all channels share a map.
    """

    one_map: ClassVar[bool] = False

    def sample(self, draw: Draw) -> Params:
        params = super().sample(draw)
        return {**params, "plasma": fractal(draw, params["roughness"], 1 if self.one_map else draw.shape[1])}

    def plasma(self, params: Params, image: Tensor) -> Tensor:
        """The map of a call for its image."""
        return self.image_map(params, "plasma", image)


class RandomPlasmaBrightness(Plasma):
    """Brighten and darken by a fractal map, each channel by its own (A. Nicolaou et al., "TorMentor", 2022).

    Args:
        roughness: (low, high) of the share of noise that is left from one level of the fractal to the next, in 0..1.
        intensity: (low, high) of how much is added at most; at a map of zero as much is taken away.

    Shape:
        (B, C, H, W) to (B, C, H, W), cut to [0, 1] before and after.

    Params:
        roughness, intensity: (B,). plasma: (B, C, H, W) in [0, 1].
    """

    params = (Param("roughness"), Param("intensity"), Param("plasma", image=True))

    def __init__(
        self,
        roughness: Bounds = (0.1, 0.7),
        intensity: Bounds = (0.0, 1.0),
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {
            "roughness": Range(roughness, "roughness", None, UNIT),
            "intensity": Range(intensity, "intensity", None),
        }

    def recolour(self, input: Tensor, params: Params, flags: Flags) -> Curve:
        intensity = params["intensity"].view(-1, 1, 1, 1)
        return Curve(
            lambda values, plasma: light.plasma_brightness(values, plasma, intensity.to(values.dtype)),
            self.plasma(params, input),
        )


class RandomPlasmaContrast(Plasma):
    """Multiply the difference from middle grey by 0..4, which a fractal map says for each channel (TorMentor).

    Args:
        roughness: as in ``RandomPlasmaBrightness``.

    Shape:
        (B, C, H, W) to (B, C, H, W), cut to [0, 1] before and after.

    Params:
        roughness: (B,). plasma: (B, C, H, W) in [0, 1].
    """

    params = (Param("roughness"), Param("plasma", image=True))

    def __init__(
        self,
        roughness: Bounds = (0.1, 0.7),
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {"roughness": Range(roughness, "roughness", None, UNIT)}

    def recolour(self, input: Tensor, params: Params, flags: Flags) -> Curve:
        return Curve(light.plasma_contrast, self.plasma(params, input))


class RandomPlasmaShadow(Plasma):
    """Cast a shadow over all channels where a fractal map is low (TorMentor).

    Args:
        roughness: as in ``RandomPlasmaBrightness``.
        shade_intensity: (low, high) of what is added in the shadow.
        shade_quantity: (low, high) of the value of the map below which there is shadow, in 0..1.

    Shape:
        (B, C, H, W) to (B, C, H, W), cut to [0, 1] before and after.

    Params:
        roughness, shade_intensity, shade_quantity: (B,). plasma: (B, 1, H, W) in [0, 1].
    """

    params = (Param("roughness"), Param("shade_intensity"), Param("shade_quantity"), Param("plasma", image=True))
    one_map = True

    def __init__(
        self,
        roughness: Bounds = (0.1, 0.7),
        shade_intensity: Bounds = (-1.0, 0.0),
        shade_quantity: Bounds = (0.0, 1.0),
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {
            "roughness": Range(roughness, "roughness", None, UNIT),
            "shade_intensity": Range(shade_intensity, "shade_intensity", None),
            "shade_quantity": Range(shade_quantity, "shade_quantity", None, UNIT),
        }

    def recolour(self, input: Tensor, params: Params, flags: Flags) -> Curve:
        given = [params[name].view(-1, 1, 1, 1) for name in ("shade_intensity", "shade_quantity")]
        return Curve(
            lambda values, plasma: light.plasma_shadow(
                values, plasma, *(numbers.to(values.dtype) for numbers in given)
            ),
            self.plasma(params, input),
        )


def fractal(draw: Draw, roughness: Tensor, channels: int) -> Tensor:
    """Draw fractals (B, channels, H, W) of a roughness (B,); rows that stay closed may be zeros."""
    h, w = draw.shape[-2:]
    noise = draw.uniform((channels, noise_size(h, w)), 0.0, 1.0)
    if not draw.same:
        return kernels.plasma(noise, roughness, draw.gate, h, w)
    shared = kernels.plasma(noise[:1], roughness[:1], torch.ones_like(draw.gate[:1]), h, w)
    return shared.expand(draw.shape[0], -1, -1, -1)
