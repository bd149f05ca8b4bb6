"""Free deformations."""

import math
from typing import Any, ClassVar

from torch import Tensor

from .. import native
from ..arguments import RESAMPLE, choice, odd_pair, outside
from ..base import Flags, Params
from ..functional import filters, resample
from ..kinds import Geometric
from ..sampling import Draw
from ..warp import Field


class RandomElasticTransform(Geometric):
    """Displace pixels by smoothed noise (P. Simard et al., "Best practices for convolutional neural networks", 2003).

    Points and boxes follow the field, to 0.05 px where it does not fold.

    Args:
        kernel_size: (height, width) of the Gaussian that smooths the noise, odd.
        sigma: its standard deviation (y, x) in pixels.
        alpha: strength (x, y): the displacement is alpha times the smoothed noise, in halves of the image's size.
        align_corners: whether that size reaches from the first to the last pixel's centre, or edge.
        resample: ``"bilinear"``, ``"nearest"`` or ``"bicubic"``.
        padding_mode: what comes in from outside: ``"zeros"``, ``"border"``, ``"reflection"`` or ``"fill"``.
        same_on_batch: share one field among the rows.
        p: probability that a row is deformed.
        keepdim: give the output the rank of the input.
        fill_value: the value for ``"fill"``, on the scale of [0, 1], one or one a channel.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        noise: (B, 2, H, W) in [-1, 1], x and y.
    """

    param_names = ("noise",)
    param_shapes: ClassVar = {"noise": None}

    def __init__(
        self,
        kernel_size: tuple[int, int] = (63, 63),
        sigma: tuple[float, float] = (32.0, 32.0),
        alpha: tuple[float, float] = (1.0, 1.0),
        align_corners: bool = False,
        resample: Any = "BILINEAR",
        padding_mode: str = "zeros",
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
        fill_value: Any = None,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.flags = {
            "kernel_size": odd_pair(kernel_size, "kernel_size"),
            "sigma": _two(sigma, "sigma", positive=True),
            "alpha": _two(alpha, "alpha", positive=False),
            "align_corners": align_corners,
            "resample": choice(resample, "resample", RESAMPLE),
            **outside(padding_mode, fill_value),
        }

    def sample(self, draw: Draw) -> Params:
        return {"noise": draw.uniform((2, *draw.shape[-2:]), -1.0, 1.0)}

    def validate(self, params: Params, gate: Tensor) -> None:
        noise = params["noise"]
        if noise.ndim != 4 or noise.shape[1] != 2:
            raise ValueError(
                f"RandomElasticTransform: params['noise']: expected (B, 2, H, W), got {tuple(noise.shape)}"
            )

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Field:
        height, width = input.shape[-2:]
        noise = params["noise"]
        if noise.shape[-2:] != (height, width):
            raise ValueError(
                f"RandomElasticTransform: params['noise']: expected the image's size {(height, width)}, "
                f"got {tuple(noise.shape[-2:])}"
            )
        axes = zip((height, width), flags["kernel_size"], flags["sigma"], strict=True)
        along_y, along_x = (filters.gaussian_matrix(n, k, noise.new_full((), s)) for n, k, s in axes)
        lost = 1 if flags["align_corners"] else 0
        alpha_x, alpha_y = flags["alpha"]
        reach = resample.per_channel([alpha_x * (width - lost) / 2, alpha_y * (height - lost) / 2], noise)
        gate = self.gate(params)
        field = native.smooth_field(noise, along_y, along_x, gate) * reach
        return Field(field, (height, width))


def _two(value: Any, name: str, positive: bool) -> tuple[float, float]:
    values = value.flatten().tolist() if isinstance(value, Tensor) else value
    numbers = (
        isinstance(values, (list, tuple)) and len(values) == 2 and all(isinstance(v, (int, float)) for v in values)
    )
    if not numbers or not all(map(math.isfinite, values)) or (positive and min(values) <= 0):
        raise ValueError(f"{name}: expected two {'positive ' if positive else ''}numbers, got {value!r}")
    return float(values[0]), float(values[1])
