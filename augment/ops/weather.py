"""Rain, snow and fog."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .. import kernels
from ..common.checks import check
from ..common.types import Flags, Params
from ..kernels.weather import maths as weather
from ..kinds.intensity import Intensity
from ..maps.recolours import Pixels
from ..sampling.draw import Draw
from ..sampling.params import Param
from ..sampling.ranges import Bounds, Range, whole_numbers, whole_pair
from .plasma import fractal

INFINITY = float("inf")


class RandomRain(Intensity):
    """Draw drops of rain: straight lines of the value 200 / 255, each wholly in the image; other pixels stay.

    Args:
        number_of_drops: (low, high), whole numbers; both ends are drawn.
        drop_height: (low, high) of how many rows a drop takes, from 1 on; the same for all drops of an image.
        drop_width: (low, high) of how many columns, negative for a drop that falls to the left; zero is like one.

    Shape:
        (B, C, H, W) to (B, C, H, W), any C.

    Params:
        number_of_drops_factor, drop_height_factor, drop_width_factor: (B,) int64. coordinates_factor: (B, D, 2), y and
        x as fractions of the places where a drop fits, of which the first ``number_of_drops_factor`` count; D is the
        most drops that can be drawn.

    Raises:
        ValueError: if the longest or the widest drop is larger than the image.
    """

    columns = 3
    params = (
        Param("number_of_drops_factor", neutral=0),
        Param("coordinates_factor", (None, 2)),
        Param("drop_height_factor"),
        Param("drop_width_factor"),
    )
    own_dtype = True

    def __init__(
        self,
        number_of_drops: Any = (1000, 2000),
        drop_height: Any = (5, 20),
        drop_width: Any = (-5, 5),
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.drops = whole_pair(number_of_drops, "number_of_drops", 0)
        self.heights = whole_pair(drop_height, "drop_height", 1)
        self.widths = whole_pair(drop_width, "drop_width", -INFINITY)
        self.ranges = {
            "number_of_drops_factor": Range(self.drops, "number_of_drops", None),
            "drop_height_factor": Range(self.heights, "drop_height", None, self.heights),
            "drop_width_factor": Range(self.widths, "drop_width", None, self.widths),
        }

    def sample(self, draw: Draw) -> Params:
        drawn = {}
        for i, (name, (low, high)) in enumerate(zip(self.ranges, (self.drops, self.heights, self.widths), strict=True)):
            drawn[name] = whole_numbers(draw.u[:, i], low, high).long()
        return {**drawn, "coordinates_factor": draw.uniform((self.drops[1], 2), 0.0, 1.0)}

    def validate(self, params: Params, gate: Tensor) -> None:
        super().validate(params, gate)
        start, count = params["coordinates_factor"], params["number_of_drops_factor"]
        message = f"number_of_drops_factor: expected 0 to {start.shape[1]}, as there are coordinates"
        check((count >= 0) & (count <= start.shape[1]), gate, message)
        check((start >= 0) & (start <= 1), None, "coordinates_factor: expected values in [0, 1]")

    def check_shape(self, shape: Sequence[int], flags: Flags) -> None:
        for name, bounds, size in (("drop_height", self.heights, shape[-2]), ("drop_width", self.widths, shape[-1])):
            if max(map(abs, bounds)) > size:
                raise ValueError(f"RandomRain: {name}: expected at most the image's {size} pixels, got {bounds}")

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        return kernels.rain(
            input,
            params["number_of_drops_factor"],
            params["drop_height_factor"],
            params["drop_width_factor"],
            params["coordinates_factor"],
            max(self.heights[1], *map(abs, self.widths)),
        )


class RandomSnow(Intensity):
    """Lay snow on dark pixels: the HLS lightness of those below a threshold is multiplied, up to white.

    Args:
        snow_coefficient: (low, high) of the threshold, or one number for 0.5 -+ number; within 0..1.
        brightness: (low, high) of the factor, from 1 on.

    Shape:
        (B, 3, H, W) to (B, 3, H, W), cut to [0, 1] before.

    Params:
        snow_coefficient, brightness: (B,).

    Raises:
        ValueError: if there are not three channels.
    """

    channels = (3,)

    def __init__(
        self,
        snow_coefficient: Bounds = (0.5, 0.5),
        brightness: Bounds = (2, 2),
        same_on_batch: bool = False,
        p: float | Tensor = 1.0,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {
            "snow_coefficient": Range(snow_coefficient, "snow_coefficient", 0.5, (0, 1)),
            "brightness": Range(brightness, "brightness", None, (1, INFINITY)),
        }

    def recolour(self, input: Tensor, params: Params, flags: Flags) -> Pixels:
        given = [params[name].view(-1, 1, 1) for name in ("snow_coefficient", "brightness")]
        return Pixels(lambda planes: weather.snow(planes, *(numbers.to(planes[0].dtype) for numbers in given)))


class RandomFog(Intensity):
    """Add fog as in ImageNet-C (D. Hendrycks, T. Dietterich, "Benchmarking neural network robustness", 2019).

    A fractal map, brought to [0, 1], is added some times over, and the sum is scaled so that the highest value of the
    image stays what it was without. The map is the one of ``RandomPlasmaBrightness``, which does not repeat at the
    edges.

    Args:
        severity: (low, high); 1 to 5 are those of ImageNet-C, 0 is no fog, and what lies between is interpolated.

    Shape:
        (B, C, H, W) to (B, C, H, W), any C, cut to [0, 1] before.

    Params:
        severity: (B,). plasma: (B, 1, H, W) in [0, 1].
    """

    params = (Param("severity"), Param("plasma", image=True))

    def __init__(
        self,
        severity: Bounds = (1.0, 5.0),
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {"severity": Range(severity, "severity", None, (0, len(weather.FOG_AMOUNT) - 1))}

    def sample(self, draw: Draw) -> Params:
        params = super().sample(draw)
        _, roughness = weather.fog_of_severity(params["severity"])
        plasma = fractal(draw, roughness, 1)
        low, high = plasma.amin((2, 3), keepdim=True), plasma.amax((2, 3), keepdim=True)
        return {**params, "plasma": (plasma - low) / (high - low).clamp(min=1e-6)}

    def recolour(self, input: Tensor, params: Params, flags: Flags) -> Pixels:
        amount, _ = weather.fog_of_severity(params["severity"].to(torch.promote_types(input.dtype, torch.float32)))
        plasma = self.image_map(params, "plasma", input).to(amount.dtype).unbind(1)
        return Pixels(lambda planes: weather.fog(planes, plasma, amount.view(-1, 1, 1)))
