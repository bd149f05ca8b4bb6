"""Flips."""

from torch import Tensor

from ..base import Flags, Params
from ..functional import geometry
from ..kinds import Geometric
from ..warp import Permutation


class RandomHorizontalFlip(Geometric):
    """Mirror left and right.

    Points map to W - 1 - x, box edges to W - x.

    Args:
        p: probability that a row is flipped.
        p_batch: probability that a batch is looked at at all.
        same_on_batch: flip all rows or none.
        keepdim: give the output the rank of the input.

    Shape:
        (B, C, H, W) to (B, C, H, W).
    """

    def __init__(
        self, p: float | Tensor = 0.5, p_batch: float = 1.0, same_on_batch: bool = False, keepdim: bool = False
    ) -> None:
        super().__init__(p=p, p_batch=p_batch, same_on_batch=same_on_batch, keepdim=keepdim)

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Permutation:
        height, width = input.shape[-2:]
        matrix = geometry.scaling(-1, 1, width - 1, 0, params["batch_prob"])
        return Permutation(matrix, (height, width))


class RandomVerticalFlip(Geometric):
    """Mirror top and bottom.

    Points map to H - 1 - y, box edges to H - y.

    Args:
        p: probability that a row is flipped.
        p_batch: probability that a batch is looked at at all.
        same_on_batch: flip all rows or none.
        keepdim: give the output the rank of the input.

    Shape:
        (B, C, H, W) to (B, C, H, W).
    """

    def __init__(
        self, p: float | Tensor = 0.5, p_batch: float = 1.0, same_on_batch: bool = False, keepdim: bool = False
    ) -> None:
        super().__init__(p=p, p_batch=p_batch, same_on_batch=same_on_batch, keepdim=keepdim)

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Permutation:
        height, width = input.shape[-2:]
        matrix = geometry.scaling(1, -1, 0, height - 1, params["batch_prob"])
        return Permutation(matrix, (height, width))
