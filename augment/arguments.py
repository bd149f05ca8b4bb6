"""Checks of constructor arguments, and the spellings that kornia's users know."""

import math
from collections.abc import Sequence
from enum import Enum
from typing import Any

from torch import Tensor

RESAMPLE = ("nearest", "bilinear", "bicubic")
PADDING = ("zeros", "border", "reflection", "fill")


def choice(value: Any, name: str, options: Sequence[str]) -> str:
    """Give the lower-case name of a choice made by name in any case, by an enum or by its index."""
    named = value.name if isinstance(value, Enum) else value
    if isinstance(named, int) and not isinstance(named, bool) and 0 <= named < len(options):
        return options[named]
    if isinstance(named, str) and named.lower() in options:
        return named.lower()
    raise ValueError(f"{name}: expected one of {list(options)}, got {value!r}")


def number(value: Any, name: str, low: float = -math.inf, high: float = math.inf) -> float:
    """Give a finite number within limits."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name}: expected a number, got {value!r}")
    if not (math.isfinite(value) and low <= value <= high):
        raise ValueError(f"{name}: expected a finite number in [{low}, {high}], got {value!r}")
    return float(value)


def probability(value: Any, name: str) -> Any:
    """Give a probability, a number or a tensor of one."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Tensor)):
        raise TypeError(f"{name}: expected a probability in [0, 1], got {value!r}")
    if isinstance(value, Tensor) and value.numel() != 1 or not 0 <= float(value) <= 1:
        raise ValueError(f"{name}: expected a probability in [0, 1], got {value!r}")
    return value


def whole(value: Any, name: str, low: int) -> int:
    """Give a whole number that is not below a limit."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value < 2**31:
        raise ValueError(f"{name}: expected a whole number >= {low}, got {value!r}")
    return value


def pair(value: Any, name: str) -> tuple[int, int]:
    """Give (height, width) from a positive int or a pair of them."""
    values = (value, value) if isinstance(value, int) else value
    whole = isinstance(values, Sequence) and len(values) == 2
    whole = whole and all(isinstance(v, int) and not isinstance(v, bool) and 0 < v < 2**31 for v in values)
    if not whole:
        raise ValueError(f"{name}: expected a positive int or a (height, width) pair of them, got {value!r}")
    return values[0], values[1]


def odd_pair(value: Any, name: str) -> tuple[int, int]:
    """Give (height, width) of a filter kernel, both odd."""
    height, width = pair(value, name)
    if height % 2 == 0 or width % 2 == 0:
        raise ValueError(f"{name}: expected odd numbers, got {value!r}")
    return height, width


def outside(padding_mode: Any, fill_value: Any) -> dict[str, Any]:
    """Give the flags for what comes in from outside: a mode of sampling, and a fill where one is asked for."""
    mode = choice(padding_mode, "padding_mode", PADDING)
    fill = channel_values(0.0 if fill_value is None else fill_value, "fill_value")
    return {"padding_mode": "zeros" if mode == "fill" else mode, "fill": fill if mode == "fill" else None}


def channel_values(value: Any, name: str) -> list[float]:
    """Give a value for all channels, or one for each, as a list."""
    if isinstance(value, Tensor):
        value = value.flatten().tolist()
    values = [value] if isinstance(value, (int, float)) else value
    if not isinstance(values, Sequence) or not values or not all(isinstance(v, (int, float)) for v in values):
        raise TypeError(f"{name}: expected a number, or one for each channel, got {value!r}")
    if not all(map(math.isfinite, values)):
        raise ValueError(f"{name}: expected finite numbers, got {value!r}")
    return [float(v) for v in values]
