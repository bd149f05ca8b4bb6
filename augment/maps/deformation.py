"""Deformations: the warps that bend straight lines, and have no matrix.

Each says where an output pixel takes its value from; points are led the other way by the inverse, to 0.05 px where the
deformation does not fold.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from .. import kernels
from ..kernels.field import maths as fields
from ..kernels.warp import maths as resample
from .warp import Size, Warp, resampled

EDGE_POINTS = 8  # a curved edge of a box is followed at this many points


class Deformation(Warp):
    """A warp without a matrix, whose box edges become curves."""

    @property
    def matrix(self) -> Tensor:
        raise ValueError("transform_matrix: a deformation has none; move points with warp.points")

    def outline(self, corners: Tensor) -> Tensor:
        share = torch.arange(EDGE_POINTS, device=corners.device, dtype=corners.dtype).view(-1, 1) / EDGE_POINTS
        here, there = corners.unsqueeze(-2), corners.roll(-1, -2).unsqueeze(-2)
        return (here + share * (there - here)).flatten(-3, -2)

    def inverse(self) -> Warp:
        return Inverse(self)


class Field(Deformation):
    """A free deformation by a displacement of every output pixel: elastic.

    Args:
        field: (B, 2, h, w), x and y in pixels; output pixel q takes the input at q + field[q].
        input_size: (H, W) of the input.
    """

    def __init__(self, field: Tensor, input_size: Size) -> None:
        self.field = field
        self.input_size = input_size
        self.size = (field.shape[-2], field.shape[-1])

    def gated(self, gate: Tensor) -> "Field":
        return Field(torch.where(gate.view(-1, 1, 1, 1), self.field, 0), self.input_size)

    def image(
        self, image: Tensor, resample: str = "bilinear", padding_mode: str = "zeros", fill: Sequence[float] = (0.0,)
    ) -> Tensor:
        return kernels.displace(image, self.field, resample, padding_mode, list(fill))

    def points(self, points: Tensor) -> Tensor:
        return kernels.follow_field(self.field, points)

    def sources(self, points: Tensor) -> Tensor:
        return points + resample.sample_field(self.field, points)

    def __getitem__(self, row: int) -> "Field":
        return Field(self.field[row : row + 1], self.input_size)


class Formula(Deformation):
    """A displacement that is a formula of a few numbers a row: fisheye, thin plate.

    Args:
        name: which of ``fields.FORMULAS``.
        params: (B, K), its numbers; a row whose first is 0 stays as it is.
        size: (H, W) of input and output.
    """

    def __init__(self, name: str, params: Tensor, size: Size) -> None:
        self.name, self.params = name, params
        self.input_size = self.size = size

    def gated(self, gate: Tensor) -> "Formula":
        return Formula(self.name, torch.where(gate.view(-1, 1), self.params, 0), self.size)

    def image(
        self, image: Tensor, resample: str = "bilinear", padding_mode: str = "zeros", fill: Sequence[float] = (0.0,)
    ) -> Tensor:
        return kernels.displace_by(image, self.params, self.name, resample, padding_mode, list(fill))

    def points(self, points: Tensor) -> Tensor:
        return kernels.follow_formula(self.params, points, self.name)

    def sources(self, points: Tensor) -> Tensor:
        return points + fields.displacement_at(self.name, self.params, points)

    def __getitem__(self, row: int) -> "Formula":
        return Formula(self.name, self.params[row : row + 1], self.size)


class Lines(Deformation):
    """A grid whose lines are moved along the axes, with linear maps between them; it is inverted exactly.

    Args:
        lines: (B, 2, 2, n), for x and y: where the lines are in the output, and where they were in the input, both
            rising, in pixels.
        size: (H, W) of input and output.
    """

    def __init__(self, lines: Tensor, size: Size) -> None:
        self.lines = lines
        self.input_size = self.size = size

    def gated(self, gate: Tensor) -> "Lines":
        still = self.lines[:, :, :1].expand_as(self.lines)
        return Lines(torch.where(gate.view(-1, 1, 1, 1), self.lines, still), self.size)

    def image(
        self, image: Tensor, resample: str = "bilinear", padding_mode: str = "zeros", fill: Sequence[float] = (0.0,)
    ) -> Tensor:
        return kernels.displace_lines(image, self.lines, resample, padding_mode, list(fill))

    def points(self, points: Tensor) -> Tensor:
        still = (self.lines[:, :, 0] == self.lines[:, :, 1]).flatten(1).all(1)
        moved = fields.between_lines(self.lines[:, :, 1], self.lines[:, :, 0], points.transpose(1, 2)).transpose(1, 2)
        return torch.where(still.view(-1, 1, 1), points, moved.to(points.dtype))

    def sources(self, points: Tensor) -> Tensor:
        return self.inverse().points(points)

    def inverse(self) -> "Lines":
        return Lines(self.lines.flip(2), self.size)

    def __getitem__(self, row: int) -> "Lines":
        return Lines(self.lines[row : row + 1], self.size)


class Inverse(Warp):
    """A deformation undone. Points go back exactly; an image goes back through the inverted field."""

    def __init__(self, warp: Deformation) -> None:
        self.warp = warp
        self.input_size, self.size = warp.size, warp.input_size

    @property
    def matrix(self) -> Tensor:
        return self.warp.matrix

    def gated(self, gate: Tensor) -> "Inverse":
        return Inverse(self.warp.gated(gate))  # type: ignore[arg-type]

    def image(
        self, image: Tensor, resample: str = "bilinear", padding_mode: str = "zeros", fill: Sequence[float] = (0.0,)
    ) -> Tensor:
        return resampled(self, image, resample, padding_mode, fill)

    def points(self, points: Tensor) -> Tensor:
        return self.warp.sources(points)

    def sources(self, points: Tensor) -> Tensor:
        return self.warp.points(points)

    def outline(self, corners: Tensor) -> Tensor:
        return self.warp.outline(corners)

    def inverse(self) -> Deformation:
        return self.warp

    def __getitem__(self, row: int) -> "Inverse":
        return Inverse(self.warp[row])  # type: ignore[arg-type]
