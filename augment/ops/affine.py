"""Rotation, affine and perspective maps."""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..common.arguments import choice, outside
from ..common.checks import check
from ..common.types import Flags, Params
from ..kernels.warp import matrices as geometry
from ..kinds.geometric import Geometric
from ..maps.warp import Homography
from ..sampling.draw import Draw
from ..sampling.params import Param
from ..sampling.ranges import Bounds, Range, numbers

TURN = (-360.0, 360.0)
POSITIVE = (1e-6, 1e6)  # beyond, a matrix has no inverse in float32


class RandomRotation(Geometric):
    """Rotate about the centre of the image; positive angles turn counter-clockwise.

    Args:
        degrees: (low, high), or one number for -number..number; within -360..360.
        resample: ``"bilinear"``, ``"nearest"`` or ``"bicubic"``.
        align_corners: accepted for compatibility; pixel centres are integers either way.
        padding_mode: what comes in from outside: ``"zeros"``, ``"border"``, ``"reflection"`` or ``"fill"``.
        fill_value: the value for ``"fill"``, on the scale of [0, 1], one or one a channel.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        degrees: (B,).
    """

    spelling: ClassVar = {"fill": "fill_value"}

    def __init__(
        self,
        degrees: Bounds,
        resample: Any = "BILINEAR",
        same_on_batch: bool = False,
        align_corners: bool = True,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
        padding_mode: Any = "ZEROS",
        fill_value: Any = None,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {"degrees": Range(degrees, "degrees", domain=TURN)}
        self.accept(resample=resample, align_corners=align_corners, **outside(padding_mode, fill_value))

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Homography:
        height, width = input.shape[-2:]
        matrix = geometry.rotation(params["degrees"], (width - 1) / 2, (height - 1) / 2)
        return Homography(matrix, (height, width), projective=False)


class RandomAffine(Geometric):
    """Shear, scale and rotate about the centre of the image, then shift; positive angles turn clockwise.

    Args:
        degrees: (low, high), or one number for -number..number; within -360..360.
        translate: largest shift as a fraction of the width and of the height, (x, y) or one number for both; in 0..1.
        scale: (low, high) of the factor, within 1e-6..1e6; (x low, x high, y low, y high) draws one for each axis.
        shear: degrees: one number or (low, high) along x, or (x low, x high, y low, y high).
        resample, align_corners, padding_mode, fill_value: as in ``RandomRotation``.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        translations: (B, 2), pixels. center: (B, 2). scale: (B, 2). angle, shear_x, shear_y: (B,), degrees.
    """

    params = (
        Param("translations", (2,)),
        Param("center", (2,)),
        Param("scale", (2,)),
        Param("angle"),
        Param("shear_x"),
        Param("shear_y"),
    )
    spelling: ClassVar = {"fill": "fill_value"}

    def __init__(
        self,
        degrees: Bounds,
        translate: Bounds | None = None,
        scale: Bounds | None = None,
        shear: Bounds | None = None,
        resample: Any = "BILINEAR",
        same_on_batch: bool = False,
        align_corners: bool = False,
        padding_mode: Any = "ZEROS",
        fill_value: Any = None,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {"angle": Range(degrees, "degrees", domain=TURN)}
        if translate is not None:
            second = slice(0, 1) if _count(translate, "translate", (1, 2)) == 1 else slice(1, 2)
            for name, part in (("translate_x", slice(0, 1)), ("translate_y", second)):
                self.ranges[name] = Range(translate, "translate", domain=(-1, 1), part=part)
        if scale is not None:
            self.ranges["scale_x"] = Range(scale, "scale", None, POSITIVE, slice(0, 2))
            if _count(scale, "scale", (2, 4)) == 4:
                self.ranges["scale_y"] = Range(scale, "scale", None, POSITIVE, slice(2, 4))
        if shear is not None:
            self.ranges |= shears(shear)
        self.accept(resample=resample, align_corners=align_corners, **outside(padding_mode, fill_value))

    def sample(self, draw: Draw) -> Params:
        drawn = super().sample(draw)
        height, width = draw.shape[-2:]
        zero = torch.zeros_like(drawn["angle"])
        x, y = drawn.get("translate_x", zero), drawn.get("translate_y", zero)
        scale_x = drawn.get("scale_x", zero + 1)
        return {
            "translations": torch.stack([x * width, y * height], 1),
            "center": torch.stack([zero + (width - 1) / 2, zero + (height - 1) / 2], 1),
            "scale": torch.stack([scale_x, drawn.get("scale_y", scale_x)], 1),
            "angle": drawn["angle"],
            "shear_x": drawn.get("shear_x", zero),
            "shear_y": drawn.get("shear_y", zero),
        }

    def validate(self, params: Params, gate: Tensor) -> None:
        scale, (low, high) = params["scale"], POSITIVE
        check((scale >= low) & (scale <= high), gate, f"scale: expected values in [{low}, {high}]")

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Homography:
        names = ("angle", "translations", "scale", "shear_x", "shear_y", "center")
        matrix = geometry.affine(*(params[name] for name in names))
        return Homography(matrix, (input.shape[-2], input.shape[-1]), projective=False)


def _count(bounds: Bounds, name: str, allowed: Sequence[int]) -> int:
    count = len(numbers(bounds, name))
    if count not in allowed:
        raise ValueError(f"{name}: expected {' or '.join(map(str, allowed))} numbers, got {bounds!r}")
    return count


class RandomShear(Geometric):
    """Shear about the centre of the image.

    Args:
        shear: degrees: one number or (low, high) along x, or (x low, x high, y low, y high); within -360..360.
        resample, align_corners, padding_mode, fill_value: as in ``RandomRotation``.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        center: (B, 2). shear_x, shear_y: (B,), degrees, with the signs of ``RandomAffine``.
    """

    params = (Param("center", (2,)), Param("shear_x"), Param("shear_y"))
    spelling: ClassVar = {"fill": "fill_value"}

    def __init__(
        self,
        shear: Bounds,
        resample: Any = "BILINEAR",
        same_on_batch: bool = False,
        align_corners: bool = False,
        padding_mode: Any = "ZEROS",
        p: float | Tensor = 0.5,
        keepdim: bool = False,
        fill_value: Any = None,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = shears(shear)
        self.accept(resample=resample, align_corners=align_corners, **outside(padding_mode, fill_value))

    def sample(self, draw: Draw) -> Params:
        drawn = super().sample(draw)
        height, width = draw.shape[-2:]
        zero = torch.zeros_like(drawn["shear_x"])
        center = torch.stack([zero + (width - 1) / 2, zero + (height - 1) / 2], 1)
        return {"center": center, "shear_x": drawn["shear_x"], "shear_y": drawn.get("shear_y", zero)}

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Homography:
        matrix = geometry.shear(params["shear_x"], params["shear_y"], params["center"])
        return Homography(matrix, (input.shape[-2], input.shape[-1]), projective=False)


def shears(bounds: Bounds) -> dict[str, Range]:
    """The ranges of a shear along x, and along y where there are four numbers."""
    found = {"shear_x": Range(bounds, "shear", domain=TURN, part=slice(0, 2))}
    if _count(bounds, "shear", (1, 2, 4)) == 4:
        found["shear_y"] = Range(bounds, "shear", domain=TURN, part=slice(2, 4))
    return found


class RandomTranslate(Geometric):
    """Shift right and down.

    Args:
        translate_x: (low, high) of the shift as a fraction of the width, or one number for -number..number; None for
            no shift; in -1..1.
        translate_y: the same for the height.
        resample, align_corners, padding_mode, fill_value: as in ``RandomRotation``.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        translate_x, translate_y: (B,), pixels.
    """

    params = (Param("translate_x"), Param("translate_y"))
    spelling: ClassVar = {"fill": "fill_value"}

    def __init__(
        self,
        translate_x: Bounds | None = None,
        translate_y: Bounds | None = None,
        resample: Any = "BILINEAR",
        same_on_batch: bool = False,
        align_corners: bool = False,
        padding_mode: Any = "ZEROS",
        p: float | Tensor = 0.5,
        keepdim: bool = False,
        fill_value: Any = None,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        given = {"translate_x": translate_x, "translate_y": translate_y}
        self.ranges = {
            name: Range(bounds, name, domain=(-1, 1)) for name, bounds in given.items() if bounds is not None
        }
        self.accept(resample=resample, align_corners=align_corners, **outside(padding_mode, fill_value))

    def sample(self, draw: Draw) -> Params:
        drawn = super().sample(draw)
        height, width = draw.shape[-2:]
        zero = draw.gate.float() * 0
        x, y = drawn.get("translate_x", zero), drawn.get("translate_y", zero)
        return {"translate_x": x * width, "translate_y": y * height}

    def validate(self, params: Params, gate: Tensor) -> None:
        """Ask nothing: the parameters are pixels, not the fractions of the ranges."""

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Homography:
        x, y = params["translate_x"], params["translate_y"]
        return Homography(geometry.translation(x, y, x), (input.shape[-2], input.shape[-1]), projective=False)


class RandomPerspective(Geometric):
    """Move the four corners of the image independently.

    Args:
        distortion_scale: how far a corner moves at most, as a fraction of half the width and height; in 0..1.
        sampling_method: ``"basic"`` moves the corners inwards, ``"area_preserving"`` to either side.
        resample, align_corners, padding_mode, fill_value: as in ``RandomRotation``.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        start_points, end_points: (B, 4, 2), pixels, clockwise from the top left corner.
    """

    columns = 8
    params = (Param("start_points", (4, 2)), Param("end_points", (4, 2)))
    spelling: ClassVar = {"fill": "fill_value"}

    def __init__(
        self,
        distortion_scale: float | Tensor = 0.5,
        resample: Any = "BILINEAR",
        same_on_batch: bool = False,
        align_corners: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
        sampling_method: str = "basic",
        padding_mode: Any = "ZEROS",
        fill_value: Any = None,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        if _count(distortion_scale, "distortion_scale", (1,)) and not 0 <= numbers(distortion_scale, "")[0] <= 1:
            raise ValueError(f"distortion_scale: expected a number in [0, 1], got {distortion_scale!r}")
        self.ranges = {"distortion_scale": Range(distortion_scale, "distortion_scale", domain=(-1, 1))}
        self.sampling_method = choice(sampling_method, "sampling_method", ("basic", "area_preserving"))
        self.accept(resample=resample, align_corners=align_corners, **outside(padding_mode, fill_value))

    def sample(self, draw: Draw) -> Params:
        height, width = draw.shape[-2:]
        zero = torch.zeros_like(draw.u[:, 0])
        start = geometry.rectangle(zero, zero, zero + max(width, 2), zero + max(height, 2))
        # an axis of one pixel has no room to move in
        reach = torch.stack([zero + (width if width > 1 else 0), zero + (height if height > 1 else 0)], 1) / 2
        u = draw.u.unflatten(1, (4, 2))
        if self.sampling_method == "basic":
            inwards = [torch.stack([zero + x, zero + y], 1) for x, y in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
            u = u * torch.stack(inwards, 1)
        else:
            u = 2 * u - 1
        scale = self.ranges["distortion_scale"].limits(draw.device)[1]
        return {"start_points": start, "end_points": start + u * reach.unsqueeze(1) * scale}

    def validate(self, params: Params, gate: Tensor) -> None:
        for name in ("start_points", "end_points"):
            threes = [geometry.spreads(params[name].roll(-i, 1)[:, :3]) for i in range(4)]
            check(torch.stack(threes, 1), gate, f"{name}: expected four points, no three of them on a line")

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Homography:
        matrix = geometry.perspective(params["start_points"], params["end_points"])
        return Homography(matrix, (input.shape[-2], input.shape[-1]))
