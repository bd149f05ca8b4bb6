"""Checks of constructor arguments, and the spellings that kornia's users know."""

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


def pair(value: Any, name: str) -> tuple[int, int]:
    """Give (height, width) from a positive int or a pair of them."""
    values = (value, value) if isinstance(value, int) else value
    whole = isinstance(values, Sequence) and len(values) == 2 and all(isinstance(v, int) and v > 0 for v in values)
    if not whole:
        raise ValueError(f"{name}: expected a positive int or a (height, width) pair of them, got {value!r}")
    return values[0], values[1]


def odd_pair(value: Any, name: str) -> tuple[int, int]:
    """Give (height, width) of a filter kernel, both odd."""
    height, width = pair(value, name)
    if height % 2 == 0 or width % 2 == 0:
        raise ValueError(f"{name}: expected odd numbers, got {value!r}")
    return height, width


def channel_values(value: Any, name: str) -> list[float]:
    """Give a value for all channels, or one for each, as a list."""
    if isinstance(value, Tensor):
        value = value.flatten().tolist()
    values = [value] if isinstance(value, int | float) else value
    if not isinstance(values, Sequence) or not values or not all(isinstance(v, int | float) for v in values):
        raise TypeError(f"{name}: expected a number, or one for each channel, got {value!r}")
    return [float(v) for v in values]
