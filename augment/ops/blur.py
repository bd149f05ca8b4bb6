"""Blurs."""

from typing import Any

from torch import Tensor

from .. import native
from ..arguments import choice, odd_pair
from ..base import Flags, Params
from ..functional import filters
from ..kinds import Intensity
from ..sampling import Bounds, Range


class RandomGaussianBlur(Intensity):
    """Blur with a Gaussian of random width.

    Args:
        kernel_size: size (height, width) of the kernel, odd, or one number for both.
        sigma: (low, high) of the standard deviation in pixels.
        border_type: ``"constant"`` (zeros), ``"reflect"``, ``"replicate"`` or ``"circular"``.
        separable: accepted for compatibility; the filter is always separated.
        same_on_batch: share one sigma among the rows.
        p: probability that a row is blurred.
        keepdim: give the output the rank of the input.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        sigma: (B,).

    Raises:
        ValueError: if the border needs more pixels than the image has.
    """

    neutral = {"sigma": 0.0}
    own_dtype = True

    def __init__(
        self,
        kernel_size: int | tuple[int, int],
        sigma: Bounds,
        border_type: Any = "reflect",
        separable: bool = True,
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {"sigma": Range(sigma, "sigma", None, (0, float("inf")))}
        self.flags = {
            "kernel_size": odd_pair(kernel_size, "kernel_size"),
            "separable": separable,
            "border_type": choice(border_type, "border_type", filters.BORDERS),
        }

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        kernel, border = flags["kernel_size"], flags["border_type"]
        least = [k // 2 + (border == "reflect") if border in ("reflect", "circular") else 1 for k in kernel]
        if input.shape[-2] < least[0] or input.shape[-1] < least[1]:
            raise ValueError(
                f"RandomGaussianBlur: input: expected at least {tuple(least)} pixels for kernel_size {kernel} and "
                f"border {border!r}, got {tuple(input.shape[-2:])}"
            )
        weights = [filters.gaussian_weights(params["sigma"], k) for k in kernel]
        return native.separable_filter(input, weights[0], weights[1], border)
