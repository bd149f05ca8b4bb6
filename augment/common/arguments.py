"""Checks of the arguments of constructors and calls, and the spellings that kornia's users know."""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

import torch
from torch import Tensor

from .vocabulary import BORDERS, CROPPING, DOWN, PADDING, RESAMPLE, UP, WHOLE_PIXELS

Check = Callable[[Any, str], Any]
LIMIT = 2**31  # sizes and counts from here on do not fit into memory


def choice(value: Any, name: str, options: Sequence[str]) -> str:
    """The lower-case name of a choice made by name in any case, by an enum or by its index."""
    named = value.name if isinstance(value, Enum) else value
    if isinstance(named, int) and not isinstance(named, bool) and 0 <= named < len(options):
        return options[named]
    if isinstance(named, str) and named.lower() in options:
        return named.lower()
    raise ValueError(f"{name}: expected one of {list(options)}, got {value!r}")


def one_of(*options: str) -> Check:
    """The check of a choice."""
    return lambda value, name: choice(value, name, options)


def optional(check: Check) -> Check:
    """The check that lets None through."""
    return lambda value, name: None if value is None else check(value, name)


def switch(value: Any, name: str) -> bool:
    """A bool, Python's or NumPy's; nothing else says yes or no."""
    if isinstance(value, bool):
        return value
    if type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise TypeError(f"{name}: expected True or False, got {value!r}")


def is_real(value: Any) -> bool:
    """Whether a value is a number, and no bool."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_finite(value: float) -> bool:
    """Whether a number is finite as a float."""
    return abs(value) <= sys.float_info.max


def is_whole(value: Any, low: int) -> bool:
    """Whether a value is an int from ``low`` on that a size or a count may have."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value < LIMIT


def number(value: Any, name: str, low: float = -math.inf, high: float = math.inf) -> float:
    """A finite number within limits."""
    if not is_real(value):
        raise TypeError(f"{name}: expected a number, got {value!r}")
    if not (is_finite(value) and low <= value <= high):
        raise ValueError(f"{name}: expected a finite number in [{low}, {high}], got {value!r}")
    return float(value)


def probability(value: Any, name: str) -> float | Tensor:
    """A number in [0, 1], or a tensor of one, which may be set anew."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Tensor)):
        raise TypeError(f"{name}: expected a probability in [0, 1], got {value!r}")
    if isinstance(value, Tensor) and value.numel() != 1 or not 0 <= float(value) <= 1:
        raise ValueError(f"{name}: expected a probability in [0, 1], got {value!r}")
    return value


def whole(value: Any, name: str, low: int) -> int:
    """A whole number that is not below a limit."""
    if not is_whole(value, low):
        raise ValueError(f"{name}: expected a whole number >= {low} and < 2**31, got {value!r}")
    return value


def pair(value: Any, name: str) -> tuple[int, int]:
    """(height, width) from a positive int or a pair of them."""
    values = (value, value) if isinstance(value, int) else value
    if not isinstance(values, Sequence) or len(values) != 2 or not all(is_whole(v, 1) for v in values):
        raise ValueError(f"{name}: expected a positive int < 2**31 or a (height, width) pair of them, got {value!r}")
    return values[0], values[1]


def odd_pair(value: Any, name: str) -> tuple[int, int]:
    """(height, width) of a filter kernel, both odd."""
    height, width = pair(value, name)
    if height % 2 == 0 or width % 2 == 0:
        raise ValueError(f"{name}: expected odd numbers, got {value!r}")
    return height, width


def two(value: Any, name: str, above: float = -math.inf) -> tuple[float, float]:
    """Two finite numbers above a limit, one for each axis."""
    values = value.flatten().tolist() if isinstance(value, Tensor) else value
    if not isinstance(values, (list, tuple)) or len(values) != 2 or not all(map(is_real, values)):
        raise ValueError(f"{name}: expected two numbers, got {value!r}")
    if not all(is_finite(v) and v > above for v in values):
        raise ValueError(f"{name}: expected two finite numbers > {above}, got {value!r}")
    return float(values[0]), float(values[1])


def image_batch(input: Any, rank: int, name: str) -> Tensor:
    """View an image as (B, C, *S), and refuse what is none; ``rank`` is how many S are."""
    most = rank + 2
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}: input: expected a tensor, got {type(input).__name__}")
    if not (input.is_floating_point() or input.dtype == torch.uint8):
        raise TypeError(f"{name}: input: expected a floating or uint8 image, got {input.dtype}")
    if not rank <= input.ndim <= most:
        raise ValueError(
            f"{name}: input: expected {rank} to {most} dimensions, up to (B, C, H, W); got shape {tuple(input.shape)}"
        )
    if 0 in input.shape[-rank:] or (input.ndim > rank and input.shape[-rank - 1] == 0):
        raise ValueError(f"{name}: input: expected at least one channel and one pixel, got {tuple(input.shape)}")
    return input[(None,) * (most - input.ndim)]


def outside(padding_mode: Any, fill_value: Any) -> dict[str, Any]:
    """The flags for what comes in from outside: a mode of sampling, and a fill where one is asked for."""
    mode = choice(padding_mode, "padding_mode", PADDING)
    fill = channel_values(0.0 if fill_value is None else fill_value, "fill_value")
    return {"padding_mode": mode, "fill": fill if mode == "fill" else None}


def interpolated_border(value: Any, name: str) -> str:
    """The mode for what comes in where pixels are interpolated; a fill is zeros of another value."""
    mode = choice(value, name, (*PADDING, "constant", "replicate"))
    return {"fill": "zeros", "constant": "zeros", "replicate": "border"}.get(mode, mode)


def whole_pixel_border(value: Any, name: str) -> str:
    """The mode for what comes in where pixels stay whole."""
    mode = choice(value, name, (*BORDERS, *PADDING))
    return WHOLE_PIXELS.get(mode, mode)


def channel_values(value: Any, name: str) -> list[float]:
    """A value for all channels, or one for each, as a list."""
    if isinstance(value, Tensor):
        value = value.flatten().tolist()
    values = [value] if is_real(value) else value
    known = isinstance(values, Sequence) and not isinstance(values, (str, bytes))
    if not known or not values or not all(map(is_real, values)):
        raise TypeError(f"{name}: expected a number, or one for each channel, got {value!r}")
    if not all(map(is_finite, values)):
        raise ValueError(f"{name}: expected finite numbers, got {value!r}")
    return [float(v) for v in values]


def deviations(value: Any, name: str) -> list[float]:
    """What to divide channels by."""
    values = channel_values(value, name)
    if 0 in values:
        raise ValueError(f"{name}: expected no zero, got {value!r}")
    return values


def one_a_channel(values: list[float], channels: int, name: str) -> list[float]:
    """Require one value for all channels of an image, or one for each."""
    if len(values) not in (1, channels):
        expected = "1 value" if channels == 1 else f"1 or {channels} values, one a channel"
        raise ValueError(f"{name}: expected {expected}, got {values}")
    return values


def label_values(values: list[float], mask: Tensor, name: str) -> list[float]:
    """Require values that a mask (B, C, H, W) can hold, one or one a channel."""
    if not mask.is_floating_point():
        limits = torch.iinfo(torch.uint8 if mask.dtype == torch.bool else mask.dtype)
        low, high = (0, 1) if mask.dtype == torch.bool else (limits.min, limits.max)
        if not all(v == math.floor(v) and low <= v <= high for v in values):
            raise ValueError(f"{name}: expected whole numbers in [{low}, {high}] for {mask.dtype}, got {values}")
    return one_a_channel(values, mask.shape[1], name)


FLAGS: Mapping[str, Check] = {
    **dict.fromkeys(("align_corners", "antialias", "clip_output", "normalized", "separable"), switch),
    "slow_and_differentiable": switch,
    "resample": one_of(*RESAMPLE),
    "padding_mode": interpolated_border,
    "border_type": one_of(*BORDERS),
    "cropping_mode": one_of(*CROPPING),
    "downscale": one_of(*DOWN),
    "upscale": one_of(*UP),
    **dict.fromkeys(("mean", "std", "max_val"), channel_values),
    **dict.fromkeys(("fill", "rgb_weights"), optional(channel_values)),
    "mask_fill": optional(number),
    "kernel_size": odd_pair,
    "grid_size": pair,
    "sigma": lambda value, name: two(value, name, 0.0),
    "alpha": two,
    "steps": lambda value, name: whole(value, name, 2),
}
