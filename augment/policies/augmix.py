"""AugMix: an image mixed with chains of operations on it."""

from typing import Any, ClassVar

import torch
from torch import Tensor

from .. import kernels
from ..common.arguments import number, whole
from ..common.types import Flags, Params
from ..kernels.policy import maths as operations
from ..kernels.warp.matrices import invert
from ..kinds.intensity import Intensity
from ..sampling.draw import Draw
from ..sampling.params import Param
from ..sampling.quantile import dirichlet
from ..sampling.ranges import whole_numbers
from . import table
from .policy import check_steps, image_args
from .table import Magnitudes

LONGEST = 3  # a chain of random length


class AugMix(Intensity):
    """Mix an image with chains of operations on it (D. Hendrycks et al., "AugMix", 2020); labels stay where they are.

    Args:
        severity: how strong operations are at most, in 1..10.
        mixture_width: how many chains there are.
        chain_depth: how many operations a chain has; a negative number draws 1 to 3 for each chain.
        alpha: the parameter of the distributions that the shares are drawn from, Beta and Dirichlet.
        all_ops: whether brightness, color, contrast and sharpness are among the operations.
        interpolation, fill: as in ``RandAugment``.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        share: (B, 1 + width), of the image and of each chain. operation: (B, width, depth), numbers in
        ``augment.policies.OPERATIONS``, 0 behind the end of a chain. magnitude: (B, width, depth), as ``Policy`` says.
    """

    own_dtype = True
    params = (Param("share", (None,)), Param("operation", (None, None), neutral=0), Param("magnitude", (None, None)))
    spelling: ClassVar = {"resample": "interpolation"}

    def __init__(
        self,
        severity: int = 3,
        mixture_width: int = 3,
        chain_depth: int = -1,
        alpha: float = 1.0,
        all_ops: bool = True,
        interpolation: Any = "bilinear",
        fill: Any = None,
        p: float | Tensor = 1.0,
        same_on_batch: bool = False,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.severity = whole(severity, "severity", 1)
        if severity > table.MIX_BINS:
            raise ValueError(f"severity: expected a whole number in 1..{table.MIX_BINS}, got {severity!r}")
        self.mixture_width = whole(mixture_width, "mixture_width", 1)
        self.chain_depth = whole(chain_depth, "chain_depth", -(2**31))
        if chain_depth == 0:
            raise ValueError("chain_depth: expected a positive number, or a negative one for a random depth; got 0")
        self.alpha = number(alpha, "alpha", 1e-3)
        space = table.MIX if all_ops else table.MIX_NO_COLOURS
        self.magnitudes = Magnitudes(space, table.MIX_BINS)
        self.depth = chain_depth if chain_depth > 0 else LONGEST
        self.accept(resample=interpolation, fill=fill)
        self.columns = 2 + self.mixture_width * (2 + 3 * self.depth)

    def sample(self, draw: Draw) -> Params:
        width, depth = self.mixture_width, self.depth
        among, shares, lengths, rest = draw.u.split([2, width, width, 3 * width * depth], 1)
        u, bins, sign = rest.view(-1, 3, width, depth).unbind(1)
        entry = whole_numbers(u, 0, len(self.magnitudes) - 1).long()
        level = whole_numbers(bins, 0, self.severity - 1).long()
        operation, magnitude = self.magnitudes(entry, level, sign, (draw.shape[-2], draw.shape[-1]))
        if self.chain_depth < 0:
            length = whole_numbers(lengths, 1, LONGEST).unsqueeze(2)
            within = torch.arange(depth, device=draw.device) < length
            operation, magnitude = torch.where(within, operation, 0), torch.where(within, magnitude, 0.0)
        kept, mixed = dirichlet(among, self.alpha).split(1, 1)
        share = torch.cat([kept, mixed * dirichlet(shares, self.alpha)], 1)
        return {"share": share, "operation": operation, "magnitude": magnitude}

    def validate(self, params: Params, gate: Tensor) -> None:
        width, depth = self.mixture_width, self.depth
        check_steps(params, gate, {"share": (width + 1,), "operation": (width, depth), "magnitude": (width, depth)})

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        operation, magnitude = params["operation"], params["magnitude"]
        back = invert(operations.matrices(operation, magnitude, input.shape[-2], input.shape[-1]))
        return kernels.mix_policies(input, params["share"], operation, magnitude, back, *image_args(self, flags, input))
