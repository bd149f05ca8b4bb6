"""Flips, quarter turns and transpositions."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..common.checks import check
from ..common.types import Flags, Params
from ..kernels.warp import matrices as geometry
from ..kinds.geometric import Geometric
from ..maps.warp import Homography, Permutation
from ..sampling.draw import Draw
from ..sampling.params import Param
from ..sampling.ranges import numbers, whole_numbers


class RandomHorizontalFlip(Geometric):
    """Mirror left and right.

    Points map to W - 1 - x, box edges to W - x.

    Shape:
        (B, C, H, W) to (B, C, H, W).
    """

    whole_pixels = True
    looks_beyond = False

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Permutation:
        height, width = input.shape[-2:]
        return Permutation(geometry.scaling(-1, 1, width - 1, 0, params["batch_prob"]), (height, width))


class RandomVerticalFlip(Geometric):
    """Mirror top and bottom.

    Points map to H - 1 - y, box edges to H - y.

    Shape:
        (B, C, H, W) to (B, C, H, W).
    """

    whole_pixels = True
    looks_beyond = False

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Permutation:
        height, width = input.shape[-2:]
        return Permutation(geometry.scaling(1, -1, 0, height - 1, params["batch_prob"]), (height, width))


class RandomRotation90(Geometric):
    """Rotate by quarter turns about the centre; a positive number turns counter-clockwise.

    The frame keeps its size. Pixels stay exact on a square, and on any image whose height and width differ by an even
    number, of which an odd turn keeps the middle; where they differ by an odd number, an odd turn falls between pixels
    and is interpolated.

    Args:
        times: (low, high) of the number of turns, whole, within -3..3; each of them is equally likely. One number for
            -number..number.
        resample: ``"bilinear"``, ``"nearest"`` or ``"bicubic"``, for turns that fall between pixels.
        align_corners: accepted for compatibility; pixel centres are integers either way.

    Shape:
        (B, C, H, W) to (B, C, H, W); zeros come in from outside.

    Params:
        times: (B,), whole numbers.
    """

    columns = 1
    params = (Param("times"),)

    def __init__(
        self,
        times: int | tuple[int, int],
        resample: Any = "BILINEAR",
        same_on_batch: bool = False,
        align_corners: bool = True,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        values = numbers(times, "times")
        low, high = (-values[0], values[0]) if len(values) == 1 else (*values, 1.0, 0.0)[:2]
        if len(values) not in (1, 2) or not -3 <= low <= high <= 3 or not all(map(float.is_integer, values)):
            raise ValueError(f"times: expected whole numbers low <= high within [-3, 3], got {times!r}")
        self.times = int(low), int(high)
        self.accept(resample=resample, align_corners=align_corners)

    def sample(self, draw: Draw) -> Params:
        return {"times": whole_numbers(draw.u[:, 0], *self.times)}

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Homography:
        height, width = input.shape[-2:]
        turns = params["times"].round().remainder(4)
        odd, half = turns.remainder(2), (turns >= 2).to(turns.dtype)
        # a quarter turn swaps x and y, then turns y round
        matrix = geometry.square_symmetry(odd, half, (half - odd).abs(), height, width)
        if (height - width) % 2:
            return Homography(matrix, (height, width), projective=False)
        return Permutation(matrix, (height, width))


class RandomD4(Geometric):
    """Turn and mirror by a symmetry of the frame: all eight of the square are equally likely. Pixels stay exact.

    Images that are not square have four, without a transposition: as they are, two mirrors, and half a turn. (The
    dihedral group D4; G. Cohen and M. Welling, "Group equivariant convolutional networks", 2016.)

    Args:
        p: probability that a symmetry is drawn, which may be the one that changes nothing.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        symmetry: (B,), the sum of 1 for a mirror of left and right, 2 for one of top and bottom, and 4 for a
            transposition before them; 0..7 on a square, else 0..3.
    """

    whole_pixels = True
    looks_beyond = False
    columns = 1
    params = (Param("symmetry"),)

    def __init__(self, p: float | Tensor = 1.0, same_on_batch: bool = False, keepdim: bool = False) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)

    def sample(self, draw: Draw) -> Params:
        symmetry = (draw.u[:, 0] * 8).long()
        return {"symmetry": symmetry if draw.shape[-2] == draw.shape[-1] else symmetry % 4}

    def checked_params(
        self, params: Params, shape: Sequence[int], device: torch.device, where: str | None = None
    ) -> Params:
        params = super().checked_params(params, shape, device, where)
        symmetry, most = params["symmetry"], 7 if shape[-2] == shape[-1] else 3
        message = f"symmetry: expected whole numbers in [0, {most}] for images of {tuple(shape[-2:])}"
        check((symmetry >= 0) & (symmetry <= most), self.gate(params), message)
        return params

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Permutation:
        height, width = input.shape[-2:]
        bits = [(params["symmetry"].long() >> i) & 1 for i in range(3)]
        x, y, transposed = (bit.float() for bit in bits)
        return Permutation(geometry.square_symmetry(transposed, x, y, height, width), (height, width))


class RandomTranspose(Geometric):
    """Swap rows and columns. Pixels stay exact.

    Height and width change places, for every row: where they differ, a row with a closed gate gives the centred window
    of the new size, and zeros beside it. Use ``p=1`` for such images to lose nothing.

    Shape:
        (B, C, H, W) to (B, C, W, H).
    """

    whole_pixels = True

    def __init__(self, p: float | Tensor = 0.5, same_on_batch: bool = False, keepdim: bool = False) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)

    def output_size(self, size: tuple[int, int]) -> tuple[int, int]:
        return size[1], size[0]

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Permutation:
        size = (input.shape[-2], input.shape[-1])
        matrix = geometry.matrix3([0, 1, 0, 1, 0, 0, 0, 0, 1], params["batch_prob"])
        return Permutation(matrix, size, self.output_size(size))
