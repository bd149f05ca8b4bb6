"""Free deformations."""

import math
from dataclasses import replace
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from .. import kernels
from ..common.arguments import outside, whole
from ..common.checks import check
from ..common.types import Flags, Params
from ..kernels.blur import maths as filters
from ..kernels.field import maths as fields
from ..kernels.warp import maths as resample
from ..kernels.warp import matrices as geometry
from ..kinds.geometric import Geometric
from ..maps.deformation import Field, Formula, Lines
from ..sampling.draw import Draw
from ..sampling.params import Param
from ..sampling.ranges import Bounds, Range, numbers

CORNERS_AND_MIDDLE = ((-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0), (0.0, 0.0))
FARTHEST = math.log(1e30)  # what is pushed farther leaves the floats
THINNEST = 0.01  # of its width is what a cell of a grid keeps at least


class RandomElasticTransform(Geometric):
    """Displace pixels by smoothed noise (P. Simard et al., "Best practices for convolutional neural networks", 2003).

    Points and boxes follow the field, to 0.05 px where it does not fold.

    Args:
        kernel_size: (height, width) of the Gaussian that smooths the noise, odd.
        sigma: its standard deviation (y, x) in pixels.
        alpha: strength (x, y): the displacement is alpha times the smoothed noise, in halves of the image's size.
        align_corners: whether that size reaches from the first to the last pixel's centre, or edge.
        resample, padding_mode, fill_value: as in ``RandomRotation``.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        noise: (B, 2, H, W) in [-1, 1], x and y.
    """

    composes = False
    params = (Param("noise", image=True),)
    spelling: ClassVar = {"fill": "fill_value"}

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
        self.accept(
            kernel_size=kernel_size,
            sigma=sigma,
            alpha=alpha,
            align_corners=align_corners,
            resample=resample,
            **outside(padding_mode, fill_value),
        )

    def sample(self, draw: Draw) -> Params:
        return {"noise": draw.uniform((2, *draw.shape[-2:]), -1.0, 1.0)}

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Field:
        height, width = input.shape[-2:]
        noise = self.image_map(params, "noise", input, channels=(2,))
        axes = zip((height, width), flags["kernel_size"], flags["sigma"], strict=True)
        along_y, along_x = (filters.gaussian_matrix(n, k, noise.new_full((), s)) for n, k, s in axes)
        lost = 1 if flags["align_corners"] else 0
        alpha_x, alpha_y = flags["alpha"]
        reach = resample.per_channel([alpha_x * (width - lost) / 2, alpha_y * (height - lost) / 2], noise)
        gate = self.gate(params)
        field = kernels.smooth_field(noise, along_y, along_x, gate) * reach
        return Field(field, (height, width))


class RandomFisheye(Geometric):
    """Shrink the image about its middle, the more the farther from a random centre, as kornia defines it.

    Coordinates are in units: -1 and 1 are the centres of the outer pixels. The output at (x, y) takes the input at
    (x, y) times 1 + r ** gamma, where r is the distance of (x, y) from the centre. Points and boxes follow to 0.05 px
    where nothing folds, which may happen with a gamma below about 0.5.

    Args:
        center_x, center_y: (low, high) of the centre, in units.
        gamma: (low, high) of the exponent; positive, and so that no corner is pushed by more than 1e30.
        resample: ``"bilinear"``, ``"nearest"`` or ``"bicubic"``.
        padding_mode: what comes in from outside: ``"zeros"``, ``"border"`` or ``"reflection"``.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        center_x, center_y, gamma: (B, 1).
    """

    composes = False
    params = (Param("center_x", (1,)), Param("center_y", (1,)), Param("gamma", (1,)))

    def __init__(
        self,
        center_x: Bounds,
        center_y: Bounds,
        gamma: Bounds,
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
        resample: Any = "BILINEAR",
        padding_mode: Any = "ZEROS",
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {
            "center_x": Range(center_x, "center_x", None),
            "center_y": Range(center_y, "center_y", None),
            "gamma": Range(gamma, "gamma", None, (1e-3, math.inf)),
        }
        x, y, most = (max(map(abs, numbers(bounds, ""))) for bounds in (center_x, center_y, gamma))
        if most * math.log(math.hypot(1 + x, 1 + y)) > FARTHEST:
            raise ValueError(f"gamma: expected powers of the distance from the centre up to 1e30, got {gamma!r}")
        self.accept(resample=resample, padding_mode=padding_mode)

    def sample(self, draw: Draw) -> Params:
        return {name: value.unsqueeze(1) for name, value in super().sample(draw).items()}

    def validate(self, params: Params, gate: Tensor) -> None:
        super().validate(params, gate)
        reach = torch.hypot(1 + params["center_x"].abs(), 1 + params["center_y"].abs()).log() * params["gamma"]
        check(reach <= FARTHEST, gate, "gamma: expected powers of the distance from the centre up to 1e30")

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Formula:
        size = (input.shape[-2], input.shape[-1])
        one = torch.ones_like(params["gamma"])
        middle_y, middle_x = ((n - 1) / 2 for n in size)
        columns = [
            one,
            (params["center_x"] + 1) * middle_x,
            (params["center_y"] + 1) * middle_y,
            params["gamma"],
            *(one * value for value in (middle_x, middle_y, 1 / max(middle_x, 0.5), 1 / max(middle_y, 0.5))),
        ]
        return Formula("fisheye", torch.cat(columns, 1), size)


class RandomThinPlateSpline(Geometric):
    """Bend the image like a thin plate, by moving its corners and its middle.

    Points and boxes follow to 0.05 px where the plate does not fold, which it may from a scale of about 0.5 on.

    Five points lie at (-1, -1), (-1, 1), (1, -1), (1, 1) and (0, 0); what the input has at ``src`` comes to ``dst``.
    Between them it is the spline of F. Bookstein, "Principal warps", 1989, with its kernels on ``src`` as in kornia.

    Args:
        scale: how far a point moves at most along x and along y, in halves of the image's size; in 0..10.
        align_corners: whether that size reaches from the first to the last pixel's centre, or edge.
        resample, padding_mode: as in ``RandomFisheye``.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        src, dst: (B, 5, 2), in halves of the image's size from its middle.
    """

    composes = False
    columns = 10
    params = (Param("src", (5, 2)), Param("dst", (5, 2)))

    def __init__(
        self,
        scale: float | Tensor = 0.2,
        align_corners: bool = False,
        padding_mode: Any = "ZEROS",
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
        resample: Any = "BILINEAR",
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {"scale": Range(scale, "scale", domain=(-10, 10))}
        self.accept(resample=resample, align_corners=align_corners, padding_mode=padding_mode)

    def sample(self, draw: Draw) -> Params:
        entries = [torch.full_like(draw.u[:, 0], value) for point in CORNERS_AND_MIDDLE for value in point]
        src = torch.stack(entries, 1).unflatten(1, (5, 2))
        return {"src": src, "dst": src + self.ranges["scale"](draw.u).unflatten(1, (5, 2))}

    def validate(self, params: Params, gate: Tensor) -> None:
        src, dst = params["src"], params["dst"]
        possible = geometry.spreads(src) & geometry.spreads(dst) & geometry.apart(dst)
        check(possible, gate, "src, dst: expected points that neither coincide nor lie on a line")

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Formula:
        height, width = size = (input.shape[-2], input.shape[-1])
        lost = 1 if flags["align_corners"] else 0
        reach_x, reach_y = (width - lost) / 2, (height - lost) / 2
        unit_x, unit_y = 1 / max(reach_x, 0.5), 1 / max(reach_y, 0.5)
        origin = (-(width - 1) / 2 * unit_x, -(height - 1) / 2 * unit_y)
        weights = fields.plate_weights(params["src"], params["dst"])
        numbers = fields.plate_params(params["src"], weights, (unit_x, unit_y), origin, (reach_x, reach_y))
        return Formula("thin_plate", numbers, size)


class RandomGridDistortion(Geometric):
    """Widen and narrow the cells of a grid, as albumentations' ``GridDistortion`` does.

    Every cell of the output shows a cell of the input whose sides are those of an even grid times one plus a random
    number; between lines the map is linear. Unlike there, the cells divide the image from edge to edge, so that a limit
    of zero changes nothing.

    Args:
        num_steps: cells along each axis.
        distort_limit: (low, high) of what is added to the width of a cell, as a fraction, or one number for
            -number..number; within -1..1. A cell keeps a hundredth of its width.
        normalized: scale the widths so that the input's cells fill its frame and nothing comes in from outside.
        resample, padding_mode: as in ``RandomFisheye``.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        steps_x, steps_y: (B, num_steps), widths of the input's cells, 1 being even.
    """

    composes = False
    params = (Param("steps_x", (None,)), Param("steps_y", (None,)))

    def __init__(
        self,
        num_steps: int = 5,
        distort_limit: Bounds = (-0.3, 0.3),
        normalized: bool = True,
        resample: Any = "BILINEAR",
        padding_mode: Any = "ZEROS",
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.num_steps = whole(num_steps, "num_steps", 1)
        self.columns = 2 * self.num_steps
        self.params = tuple(replace(param, shape=(self.num_steps,)) for param in self.params)
        self.ranges = {"distort_limit": Range(distort_limit, "distort_limit", domain=(-1, 1))}
        self.accept(resample=resample, padding_mode=padding_mode, normalized=normalized)

    def sample(self, draw: Draw) -> Params:
        steps = (1 + self.ranges["distort_limit"](draw.u)).clamp(min=THINNEST)
        return {"steps_x": steps[:, : self.num_steps], "steps_y": steps[:, self.num_steps :]}

    def validate(self, params: Params, gate: Tensor) -> None:
        for name in ("steps_x", "steps_y"):
            check(params[name] > 0, gate, f"{name}: expected positive values")

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Lines:
        size = (input.shape[-2], input.shape[-1])
        axes = []
        for steps, extent in ((params["steps_x"], size[1]), (params["steps_y"], size[0])):
            even = torch.arange(self.num_steps + 1, device=steps.device, dtype=steps.dtype) / self.num_steps
            # what the cells add up to beyond an even grid, so that even cells come out exact
            beyond = F.pad((steps - 1).cumsum(1), (1, 0)) / self.num_steps
            moved = (even + beyond) / (1 + beyond[:, -1:]) if flags["normalized"] else even + beyond
            axes.append(torch.stack([even.expand_as(moved), moved], 1) * extent - 0.5)
        return Lines(torch.stack(axes, 1), size)
