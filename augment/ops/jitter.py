"""Brightness, contrast, saturation and hue together."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..common.arguments import number
from ..common.checks import check
from ..common.constants import constant
from ..common.types import Flags, Params
from ..kernels.colour import maths as colour
from ..kinds.intensity import Intensity
from ..maps.recolour import Recolour
from ..maps.recolours import Channels, Steps
from ..sampling.draw import Draw
from ..sampling.params import Param
from ..sampling.ranges import Bounds, Range
from .channels import places

INFINITY = float("inf")
NAMES = ("brightness_factor", "contrast_factor", "saturation_factor", "hue_factor")
FACTORS = tuple(Param(name, neutral=value) for name, value in zip(NAMES, colour.NEUTRAL, strict=True))


class Jitter(Intensity):
    """Base class of the ops that change brightness, contrast, saturation and hue in an order of each row's own.

    Attributes:
        formulas: what the steps are, of ``kernels.colour.maths.STEPS``.
        brightest: the largest factor of the brightness.
    """

    channels = (1, 3)
    params = (*FACTORS, Param("order", (None,)))
    formulas: ClassVar[str]
    brightest: ClassVar[float] = INFINITY

    def __init__(
        self,
        brightness: Bounds = 0.0,
        contrast: Bounds = 0.0,
        saturation: Bounds = 0.0,
        hue: Bounds = 0.0,
        same_on_batch: bool = False,
        p: float | Tensor = 1.0,
        keepdim: bool = False,
        order: Sequence[int] | None = None,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = factor_ranges(brightness, contrast, saturation, hue, self.brightest)
        self.order = fixed_order(order)
        self.columns = len(self.ranges) + (4 if order is None else 0)

    def sample(self, draw: Draw) -> Params:
        if self.order is None:
            order = draw.u[:, len(NAMES) :].argsort(1)
        else:
            order = constant(self.order, torch.int64, draw.device).expand(draw.shape[0], -1)
        return {**super().sample(draw), "order": order}

    def checked_params(
        self, params: Params, shape: Sequence[int], device: torch.device, where: str | None = None
    ) -> Params:
        order = params.get("order") if isinstance(params, Mapping) else None
        if isinstance(order, Tensor) and order.ndim == 1:  # kornia's, one for all rows
            params = {**params, "order": order.expand(shape[0], -1)}
        return super().checked_params(params, shape, device, where)

    def validate(self, params: Params, gate: Tensor) -> None:
        super().validate(params, gate)
        order, n = params["order"], params["order"].shape[1]
        # one that the op has been given is not read from the params
        if not (n == len(NAMES) or (self.order is not None and n < len(NAMES))) or order.is_floating_point():
            raise ValueError(
                f"{type(self).__name__}: params['order']: expected integers (B, 4), or (4,) for all rows, "
                f"got {order.dtype} {tuple(order.shape)}"
            )
        steps = ((order >= 0) & (order <= 3)).all(1)
        check(steps, torch.ones_like(gate), "order: expected steps in 0..3")

    def recolour(self, input: Tensor, params: Params, flags: Flags) -> Steps:
        order = params["order"] if self.order is None else self.order
        return Steps([params[name] for name in NAMES], order, self.formulas)


class ColorJitter(Jitter):
    """Change brightness, contrast, saturation and hue in a random order.

    Brightness multiplies; contrast moves away from the mean luma of the image, saturation from the luma of the pixel;
    hue turns. Each step cuts to [0, 1], and so is the input first.

    Args:
        brightness: (low, high) of the factor, or one number for 1 -+ number, from 0 on.
        contrast: the same for contrast.
        saturation: the same for saturation.
        hue: (low, high) in turns, or one number for -+ number; within -0.5..0.5.
        order: fixed order of the steps, 0 brightness, 1 contrast, 2 saturation, 3 hue, each at most once; a step that
            is left out is not done. None draws an order for each row.

    Shape:
        (B, C, H, W) to (B, C, H, W), C 1 or 3; one channel has no saturation or hue to change.

    Params:
        brightness_factor, contrast_factor, saturation_factor, hue_factor: (B,). order: (B, 4); (B, n) if it is fixed.
    """

    formulas = "jitter"


class ColorJiggle(Jitter):
    """Change brightness, contrast, saturation and hue in a random order, by other formulas than ``ColorJitter``.

    Brightness adds the factor less one; contrast multiplies the values, and saturation that of the HSV model; hue
    turns. Each step cuts to [0, 1], and so is the input first.

    Args:
        brightness: (low, high) of the factor, or one number for 1 -+ number; within 0..2.
        contrast, saturation, hue, order: as in ``ColorJitter``.

    Shape:
        (B, C, H, W) to (B, C, H, W), C 1 or 3; one channel has no saturation or hue to change.

    Params:
        brightness_factor, contrast_factor, saturation_factor, hue_factor: (B,). order: (B, 4); (B, n) if it is fixed.
    """

    formulas = "jiggle"
    brightest = 2


class RandomPhotometricDistort(Intensity):
    """Change brightness, contrast, saturation and hue, each or not, and permute the channels or not.

    The contrast comes before saturation and hue or after them, by a coin. The steps are those of ``ColorJitter``.
    W. Liu et al., "SSD: single shot multibox detector", 2016, in the form of torchvision's transform of this name,
    whose ``p`` is ``p_step`` here.

    Args:
        brightness, contrast, saturation, hue: as in ``ColorJitter``.
        p_step: probability of each step in a row that is changed.

    Shape:
        (B, C, H, W) to (B, C, H, W), C 1 or 3; one channel has no saturation or hue to change.

    Params:
        brightness_factor, contrast_factor, saturation_factor, hue_factor: (B,), neutral where a step is left out.
        contrast_before: (B,), 1 or 0. channel_permutation: (B, C), which channel comes where.
    """

    channels = (1, 3)
    columns = 10
    params = (*FACTORS, Param("contrast_before"), Param("channel_permutation", (None,)))

    def __init__(
        self,
        brightness: Bounds = (0.875, 1.125),
        contrast: Bounds = (0.5, 1.5),
        saturation: Bounds = (0.5, 1.5),
        hue: Bounds = (-0.05, 0.05),
        p_step: float = 0.5,
        same_on_batch: bool = False,
        p: float | Tensor = 1.0,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = factor_ranges(brightness, contrast, saturation, hue)
        self.p_step = number(p_step, "p_step", 0, 1)

    def sample(self, draw: Draw) -> Params:
        params, done = super().sample(draw), draw.u[:, 4:9] < self.p_step
        for i, factor in enumerate(FACTORS):
            params[factor.name] = factor.neutralised(params[factor.name], done[:, i])
        params["contrast_before"] = (draw.u[:, 9] < 0.5).float()
        channels = torch.arange(draw.shape[1], device=draw.device)
        order = draw.uniform(draw.shape[1:2], 0, 1).argsort(1)
        params["channel_permutation"] = torch.where(done[:, 4:], order, channels)
        return params

    def validate(self, params: Params, gate: Tensor) -> None:
        super().validate(params, gate)
        source = params["channel_permutation"]
        channels = torch.arange(source.shape[-1], device=source.device)
        check(source.sort(-1).values == channels, gate, "channel_permutation: expected each channel once")

    def recolour(self, input: Tensor, params: Params, flags: Flags) -> Recolour:
        orders = [
            constant(order, torch.int64, input.device) for order in (colour.CONTRAST_BEFORE, colour.CONTRAST_AFTER)
        ]
        order = torch.where(params["contrast_before"].unsqueeze(1) != 0, *orders)
        steps = Steps([params[name] for name in NAMES], order)
        return steps.then(Channels(places(self, params, "channel_permutation", input.shape[1])))


def factor_ranges(
    brightness: Bounds, contrast: Bounds, saturation: Bounds, hue: Bounds, most: float = INFINITY
) -> dict[str, Range]:
    """The ranges of the four factors; ``most`` bounds the brightness."""
    return {
        "brightness_factor": Range(brightness, "brightness", 1.0, (0, most)),
        "contrast_factor": Range(contrast, "contrast", 1.0, (0, INFINITY)),
        "saturation_factor": Range(saturation, "saturation", 1.0, (0, INFINITY)),
        "hue_factor": Range(hue, "hue", 0.0, (-0.5, 0.5)),
    }


def fixed_order(order: Any) -> tuple[int, ...] | None:
    """A checked order of steps, or None."""
    if order is not None and not isinstance(order, Sequence):
        raise TypeError(f"order: expected a sequence of steps or None, got {order!r}")
    numbers = order is None or all(isinstance(step, int) and not isinstance(step, bool) for step in order)
    if not numbers or (order is not None and (len(set(order)) != len(order) or not set(order) <= {0, 1, 2, 3})):
        raise ValueError(f"order: expected each of 0, 1, 2 and 3 at most once, got {order!r}")
    return None if order is None else tuple(order)
