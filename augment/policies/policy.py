"""Policies whose operations an image goes through one after the other, each image its own."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from .. import kernels
from ..common.arguments import choice, one_a_channel, whole
from ..common.checks import check
from ..common.constants import Kept
from ..common.types import Flags, Params
from ..kernels.policy import maths as operations
from ..kernels.warp.matrices import invert, product
from ..kinds.augmentation import Augmentation
from ..kinds.geometric import Geometric
from ..maps.warp import Homography, Warp
from ..sampling.draw import Draw
from ..sampling.params import Param
from ..sampling.ranges import whole_numbers
from . import table
from .table import Magnitudes

MODES = ("silent", "rigid", "skip")
OPERATIONS = operations.OPERATIONS


def image_args(op: Augmentation, flags: Flags, image: Tensor) -> tuple[str, list[float]]:
    """Give how an image is sampled, and its fill in the image's own units."""
    fill = one_a_channel(flags["fill"] or [0.0], image.shape[1], f"{type(op).__name__}: fill")
    fill = [min(max(value, 0), 1) * 255 for value in fill] if image.dtype == torch.uint8 else fill
    return flags["resample"], fill


def check_steps(params: Params, gate: Tensor, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Require shapes of a row by name, operations that there are, and bits that a byte has."""
    for name, shape in shapes.items():
        if params[name].shape[1:] != shape:
            expected = (len(gate), *shape)
            raise ValueError(f"params[{name!r}]: expected shape {expected}, got {tuple(params[name].shape)}")
    operation, magnitude = params["operation"], params["magnitude"]
    known = (operation >= 0) & (operation < len(OPERATIONS)) & (operation == operation.round())
    check(known, gate, f"operation: expected whole numbers in 0..{len(OPERATIONS) - 1}")
    bits = (operation != OPERATIONS.index("posterize")) | ((magnitude >= 0) & (magnitude <= 8))
    check(bits, gate, "magnitude: expected 0..8 bits to posterize to")


class Policy(Geometric):
    """Base class of the policies that lead every image through a number of operations.

    Params:
        operation: (B, n), the number in ``augment.policies.OPERATIONS`` of each step, 0 for none.
        magnitude: (B, n), degrees counter-clockwise (rotate), a slope (shear), pixels (translate), a factor less one
            (brightness, color, contrast, sharpness), bits (posterize), a threshold (solarize).
    """

    params = (Param("operation", (None,), neutral=0), Param("magnitude", (None,)))
    spelling: ClassVar = {"resample": "interpolation"}

    def __init__(
        self,
        steps: int,
        magnitudes: Magnitudes,
        transformation_matrix_mode: str,
        interpolation: Any,
        fill: Any,
        p: float | Tensor,
        same_on_batch: bool,
        keepdim: bool,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.steps, self.magnitudes = steps, magnitudes
        self.transformation_matrix_mode = choice(transformation_matrix_mode, "transformation_matrix_mode", MODES)
        self.accept(resample=interpolation, fill=fill)

    def drawn_steps(self, draw: Draw, entry: Tensor, level: Tensor, sign: Tensor) -> Params:
        """The parameters of entries, their bins and uniforms for their signs, each (B, n)."""
        operation, magnitude = self.magnitudes(entry, level, sign, (draw.shape[-2], draw.shape[-1]))
        return {"operation": operation, "magnitude": magnitude}

    def validate(self, params: Params, gate: Tensor) -> None:
        check_steps(params, gate, dict.fromkeys(("operation", "magnitude"), (self.steps,)))

    def warps(self, input: Tensor, params: Params) -> list[Homography]:
        """The warp of every step."""
        size = (input.shape[-2], input.shape[-1])
        matrices = operations.matrices(params["operation"], params["magnitude"], *size)
        return [Homography(matrix, size, projective=False) for matrix in matrices.unbind(1)]

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Homography:
        first, *others = self.warps(input, params)
        matrix = first.matrix
        for other in others:
            matrix = product(other.matrix, matrix)
        return Homography(matrix, first.size, projective=False)

    def transform_image(
        self, image: Tensor, params: Params, flags: Flags, gate: Tensor | None, warp: Warp | None = None
    ) -> Tensor:
        params = self.neutralise(params, gate)
        back = torch.stack([invert(step.matrix) for step in self.warps(image, params)], 1)
        args = image_args(self, flags, image)
        return kernels.apply_policy(image, params["operation"], params["magnitude"], back, *args)

    def transform_mask(
        self, mask: Tensor, params: Params, gate: Tensor | None, flags: Flags, warp: Warp | None, options: Flags
    ) -> Tensor:
        for step in self.warps(mask, self.neutralise(params, gate)):  # one by one, as what left the image is gone
            mask = step.mask(mask, **options)
        return mask


class RandAugment(Policy):
    """Apply operations of one strength, each image its own (E. D. Cubuk et al., "RandAugment", 2020).

    Args:
        n: how many operations an image goes through; the same may come again.
        m: their strength, a bin in 0..``num_magnitude_bins`` - 1.
        policy: None for the paper's, or a list of (name, low, high). A range that is symmetric about zero, or about one
            for factors, is gone through from its middle, with either sign; posterize and solarize go from high to low.
            Rotations are in -360..360 degrees, shears slopes in -10..10, translations shares of the width or height in
            -1..1, colours factors from 0 on, the others 0..8 bits, thresholds in 0..1 and additions in -1..1.
        transformation_matrix_mode: accepted for compatibility; every operation has a matrix.
        num_magnitude_bins: into how many bins each range is divided.
        interpolation: ``"nearest"``, ``"bilinear"`` or ``"bicubic"``.
        fill: what comes in from outside, on the scale of [0, 1], one or one a channel; None for black.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        operation: (B, n), numbers in ``augment.policies.OPERATIONS``. magnitude: (B, n), as ``Policy`` says.
    """

    def __init__(
        self,
        n: int = 2,
        m: int = 9,
        policy: Sequence[Any] | None = None,
        transformation_matrix_mode: str = "silent",
        num_magnitude_bins: int = 31,
        interpolation: Any = "nearest",
        fill: Any = None,
        p: float | Tensor = 1.0,
        same_on_batch: bool = False,
        keepdim: bool = False,
    ) -> None:
        steps, magnitudes = whole(n, "n", 1), Magnitudes(table.read_space(policy), num_magnitude_bins)
        super().__init__(steps, magnitudes, transformation_matrix_mode, interpolation, fill, p, same_on_batch, keepdim)
        self.m = whole(m, "m", 0)
        if self.m >= num_magnitude_bins:
            raise ValueError(f"m: expected a bin below num_magnitude_bins = {num_magnitude_bins}, got {m}")
        self.columns = 2 * steps

    def sample(self, draw: Draw) -> Params:
        u, sign = draw.u.chunk(2, 1)
        entry = whole_numbers(u, 0, len(self.magnitudes) - 1).long()
        level = torch.full_like(entry, self.m)
        return self.drawn_steps(draw, entry, level, sign)


class _Trivial(Policy):
    """Base class of the policies of one operation and any strength."""

    columns = 3

    def sample(self, draw: Draw) -> Params:
        u, bins, sign = draw.u.split(1, 1)
        entry = whole_numbers(u, 0, len(self.magnitudes) - 1).long()
        level = whole_numbers(bins, 0, self.magnitudes.bins - 1).long()
        return self.drawn_steps(draw, entry, level, sign)


class TrivialAugment(_Trivial):
    """Apply one operation of random strength, each image its own (S. Mueller, F. Hutter, "TrivialAugment", 2021).

    Args:
        policy: None for the ranges of ``RandAugment``, or a list as it takes.
        num_magnitude_bins: into how many bins each range is divided, all equally likely.
        transformation_matrix_mode, interpolation, fill: as in ``RandAugment``.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        operation: (B, 1), a number in ``augment.policies.OPERATIONS``. magnitude: (B, 1), as ``Policy`` says.
    """

    def __init__(
        self,
        policy: Sequence[Any] | None = None,
        transformation_matrix_mode: str = "silent",
        num_magnitude_bins: int = 31,
        interpolation: Any = "nearest",
        fill: Any = None,
        p: float | Tensor = 1.0,
        same_on_batch: bool = False,
        keepdim: bool = False,
    ) -> None:
        magnitudes = Magnitudes(table.read_space(policy), num_magnitude_bins)
        super().__init__(1, magnitudes, transformation_matrix_mode, interpolation, fill, p, same_on_batch, keepdim)


class TrivialAugmentWide(_Trivial):
    """Apply one operation of random strength from the paper's wide ranges, each image its own.

    Args:
        num_magnitude_bins: into how many bins each range is divided, all equally likely.
        interpolation, fill: as in ``RandAugment``.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        operation: (B, 1), a number in ``augment.policies.OPERATIONS``. magnitude: (B, 1), as ``Policy`` says.
    """

    def __init__(
        self,
        num_magnitude_bins: int = 31,
        interpolation: Any = "nearest",
        fill: Any = None,
        p: float | Tensor = 1.0,
        same_on_batch: bool = False,
        keepdim: bool = False,
    ) -> None:
        magnitudes = Magnitudes(table.WIDE, num_magnitude_bins)
        super().__init__(1, magnitudes, "silent", interpolation, fill, p, same_on_batch, keepdim)


class AutoAugment(Policy):
    """Apply a searched pair of operations, each image its own (E. D. Cubuk et al., "AutoAugment", 2019).

    Args:
        policy: ``"imagenet"``, ``"cifar10"`` or ``"svhn"``, or a list of sub-policies, each a list of (name,
            probability, bin in 0..9 or None), of which every image goes through one.
        transformation_matrix_mode, interpolation, fill: as in ``RandAugment``.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        operation: (B, n), numbers in ``augment.policies.OPERATIONS``, 0 where a step is left out. magnitude: (B, n), as
            ``Policy`` says.
    """

    def __init__(
        self,
        policy: Any = "imagenet",
        transformation_matrix_mode: str = "silent",
        interpolation: Any = "nearest",
        fill: Any = None,
        p: float | Tensor = 1.0,
        same_on_batch: bool = False,
        keepdim: bool = False,
    ) -> None:
        sub_policies = table.read_sub_policies(policy)
        steps = max(map(len, sub_policies))
        magnitudes = Magnitudes(table.AUTO, table.AUTO_BINS)
        super().__init__(steps, magnitudes, transformation_matrix_mode, interpolation, fill, p, same_on_batch, keepdim)
        names = list(table.AUTO)
        blank = [("identity", 0.0, None)] * steps
        padded = [[*found, *blank[len(found) :]] for found in sub_policies]
        rows = [[(names.index(name), chance, level or 0) for name, chance, level in row] for row in padded]
        self.sub_policies = Kept(torch.tensor(rows, dtype=torch.float64))  # (S, n, 3)
        self.columns = 1 + 2 * steps

    def sample(self, draw: Draw) -> Params:
        u, chance, sign = draw.u.split([1, self.steps, self.steps], 1)
        row = whole_numbers(u[:, 0], 0, len(self.sub_policies) - 1).long()
        entry, p, level = self.sub_policies.on(draw.device)[row].unbind(-1)
        drawn = self.drawn_steps(draw, entry.long(), level.long(), sign)
        applied = chance < p
        return {name: torch.where(applied, value, 0) for name, value in drawn.items()}
