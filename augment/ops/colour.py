"""Brightness, colour and normalisation."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .. import native
from ..arguments import channel_values
from ..base import Flags, Params
from ..functional import colour
from ..functional.resample import per_channel
from ..kinds import Intensity
from ..sampling import Bounds, Draw, Range, check

INFINITY = float("inf")


class RandomBrightness(Intensity):
    """Add a constant to all channels.

    Args:
        brightness: (low, high) of the factor f, or one number for 1 -+ number; within 0..2. The image gains f - 1.
        clip_output: cut the image to [0, 1] before and after.
        same_on_batch: share one factor among the rows.
        p: probability that a row is changed.
        keepdim: give the output the rank of the input.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        brightness_factor: (B,).
    """

    neutral = {"brightness_factor": 1.0}

    def __init__(
        self,
        brightness: Bounds = (1.0, 1.0),
        clip_output: bool = True,
        same_on_batch: bool = False,
        p: float | Tensor = 1.0,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {"brightness_factor": Range(brightness, "brightness", 1.0, (0, 2))}
        self.flags = {"clip_output": clip_output}

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        gain = (params["brightness_factor"] - 1).view(-1, 1, 1, 1)
        return (input.clamp(0, 1) + gain).clamp(0, 1) if flags["clip_output"] else input + gain


class RandomGrayscale(Intensity):
    """Blend the channels into one and repeat it.

    Args:
        rgb_weights: one weight a channel; None for ITU-R BT.601 luma on three channels, and the mean on other numbers.
        same_on_batch: change all rows or none.
        p: probability that a row is changed.
        keepdim: give the output the rank of the input.

    Shape:
        (B, C, H, W) to (B, C, H, W), any C.

    Raises:
        ValueError: if there is not one weight a channel.
    """

    def __init__(
        self,
        rgb_weights: Any = None,
        same_on_batch: bool = False,
        p: float | Tensor = 0.1,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.flags = {"rgb_weights": None if rgb_weights is None else channel_values(rgb_weights, "rgb_weights")}

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        planes, weights = input.unbind(1), flags["rgb_weights"]
        if weights is not None and len(weights) != len(planes):
            raise ValueError(f"RandomGrayscale: rgb_weights: expected {len(planes)}, one a channel, got {len(weights)}")
        gray = colour.luma(planes) if weights is None else colour.gray(planes, weights)
        return torch.stack([gray] * len(planes), 1)


class ColorJitter(Intensity):
    """Change brightness, contrast, saturation and hue in a random order.

    Brightness multiplies; contrast moves away from the mean luma of the image, saturation from the luma of the pixel;
    hue turns. Each step cuts to [0, 1], and so is the input first.

    Args:
        brightness: (low, high) of the factor, or one number for 1 -+ number, from 0 on.
        contrast: the same for contrast.
        saturation: the same for saturation.
        hue: (low, high) in turns, or one number for -+ number; within -0.5..0.5.
        same_on_batch: share one draw among the rows.
        p: probability that a row is changed.
        keepdim: give the output the rank of the input.
        order: fixed order of the steps, 0 brightness, 1 contrast, 2 saturation, 3 hue, each at most once; a step that
            is left out is not done. None draws an order for each call.

    Shape:
        (B, C, H, W) to (B, C, H, W), C 1 or 3; one channel has no saturation or hue to change.

    Params:
        brightness_factor, contrast_factor, saturation_factor, hue_factor: (B,). order: (4,).
    """

    channels = (1, 3)
    param_names = ("brightness_factor", "contrast_factor", "saturation_factor", "hue_factor", "order")
    shared_params = ("order",)
    neutral = {"brightness_factor": 1.0, "contrast_factor": 1.0, "saturation_factor": 1.0, "hue_factor": 0.0}

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
        self.ranges = {
            "brightness_factor": Range(brightness, "brightness", 1.0, (0, INFINITY)),
            "contrast_factor": Range(contrast, "contrast", 1.0, (0, INFINITY)),
            "saturation_factor": Range(saturation, "saturation", 1.0, (0, INFINITY)),
            "hue_factor": Range(hue, "hue", 0.0, (-0.5, 0.5)),
        }
        if order is not None and not isinstance(order, Sequence):
            raise TypeError(f"order: expected a sequence of steps or None, got {order!r}")
        if order is not None and (len(set(order)) != len(order) or not set(order) <= {0, 1, 2, 3}):
            raise ValueError(f"order: expected each of 0, 1, 2 and 3 at most once, got {order!r}")
        self.order = None if order is None else tuple(order)
        self.columns = len(self.ranges) + (4 if order is None else 0)
        self.own_dtype = order is None

    def sample(self, draw: Draw) -> Params:
        params = super().sample(draw)
        if self.order is None:
            params["order"] = draw.u[:1, len(self.ranges) :].argsort(1).flatten()
        else:
            params["order"] = torch.tensor(self.order, device=draw.device)
        return params

    def validate(self, params: Params, gate: Tensor) -> None:
        super().validate(params, gate)
        order = params["order"]
        if order.ndim != 1 or order.is_floating_point():
            raise ValueError(
                f"ColorJitter: params['order']: expected integers (4,), got {order.dtype} {tuple(order.shape)}"
            )
        steps = ((order >= 0) & (order <= 3)).all().expand(gate.shape)
        check(steps, torch.ones_like(gate), "order: expected steps in 0..3")

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        if input.shape[1] not in (1, 3):
            raise ValueError(f"ColorJitter: input: expected 1 or 3 channels, got {input.shape[1]}")
        factors = [params[name] for name in self.param_names[:4]]
        if self.order is None:
            return native.colour_jitter(input, torch.stack(factors, 1), params["order"])
        planes = colour.jitter(input.unbind(1), [f.view(-1, 1, 1) for f in factors], self.order)
        return torch.stack(tuple(planes), 1)


class Normalize(Intensity):
    """Subtract a mean and divide by a standard deviation. A uint8 image is brought to [0, 1] first and becomes float32.

    Args:
        mean: one number, or one a channel, on the scale of [0, 1].
        std: the same, not zero.
        p: probability that a row is changed.
        keepdim: give the output the rank of the input.

    Shape:
        (B, C, H, W) to (B, C, H, W).
    """

    def __init__(self, mean: Any, std: Any, p: float | Tensor = 1.0, keepdim: bool = False) -> None:
        super().__init__(p=p, keepdim=keepdim)
        self.flags = {"mean": channel_values(mean, "mean"), "std": channel_values(std, "std")}
        if 0 in self.flags["std"]:
            raise ValueError(f"std: expected no zero, got {std!r}")

    def output_dtype(self, dtype: torch.dtype) -> torch.dtype:
        return dtype if dtype.is_floating_point else torch.float32

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        mean, std = channel_pairs(self, input, flags)
        scale = per_channel([1 / s for s in std], input)
        return input * scale + per_channel([-m / s for m, s in zip(mean, std, strict=True)], input)


class Denormalize(Intensity):
    """Multiply by a standard deviation and add a mean: the inverse of ``Normalize``.

    Args:
        mean: one number, or one a channel, on the scale of [0, 1].
        std: the same.
        p: probability that a row is changed.
        keepdim: give the output the rank of the input.

    Shape:
        (B, C, H, W) to (B, C, H, W).
    """

    def __init__(self, mean: Any, std: Any, p: float | Tensor = 1.0, keepdim: bool = False) -> None:
        super().__init__(p=p, keepdim=keepdim)
        self.flags = {"mean": channel_values(mean, "mean"), "std": channel_values(std, "std")}

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        mean, std = channel_pairs(self, input, flags)
        return input * per_channel(std, input) + per_channel(mean, input)


def channel_pairs(op: Intensity, input: Tensor, flags: Flags) -> tuple[list[float], list[float]]:
    """Give mean and std, one number a channel."""
    channels, pairs = input.shape[1], []
    for name in ("mean", "std"):
        values = flags[name]
        if len(values) not in (1, channels):
            raise ValueError(f"{type(op).__name__}: {name}: expected 1 or {channels} numbers, got {len(values)}")
        pairs.append(values * channels if len(values) == 1 else values)
    return pairs[0], pairs[1]
