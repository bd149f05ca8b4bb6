"""What the policies do, as data: operations, the range of each one's magnitude, and the searched sub-policies."""

import math
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..common.arguments import number, whole
from ..common.constants import Kept
from ..kernels.policy.maths import COLOURS, OPERATIONS

PIXELS, WIDTH, HEIGHT = "", "width", "height"


class Entry(NamedTuple):
    """An operation and how its magnitude goes from the first bin to the last.

    Attributes:
        low, high: the magnitude of the first bin and of the last, in the units that ``functional.policy`` tells.
        signed: whether its sign is drawn.
        unit: what ``low`` and ``high`` are multiplied by, the width or the height of the image or nothing.
    """

    low: float = 0.0
    high: float = 0.0
    signed: bool = False
    unit: str = PIXELS


Space = Mapping[str, Entry]
Step = tuple[str, float, int | None]
AUTO_BINS = 10
MIX_BINS = 10


def _space(slope: float, shift: tuple[float, str, str], degrees: float, colour: float, bits: tuple[int, int]) -> Space:
    share, width, height = shift
    return {
        "shear_x": Entry(0.0, slope, True),
        "shear_y": Entry(0.0, slope, True),
        "translate_x": Entry(0.0, share, True, width),
        "translate_y": Entry(0.0, share, True, height),
        "rotate": Entry(0.0, degrees, True),
        **{name: Entry(0.0, colour, True) for name in COLOURS},
        "posterize": Entry(*bits),
        "solarize": Entry(1.0, 0.0),
        "auto_contrast": Entry(),
        "equalize": Entry(),
    }


# E. D. Cubuk et al., "RandAugment", 2020, arXiv 1909.13719
RAND: Space = {"identity": Entry(), **_space(0.3, (150 / 331, WIDTH, HEIGHT), 30.0, 0.9, (8, 4))}
# S. Mueller, F. Hutter, "TrivialAugment", 2021, arXiv 2103.10158: the wide space
WIDE: Space = {"identity": Entry(), **_space(0.99, (32.0, PIXELS, PIXELS), 135.0, 0.99, (8, 2))}
# E. D. Cubuk et al., "AutoAugment: Learning augmentation strategies from data", 2019, arXiv 1805.09501
AUTO: Space = {**RAND, "invert": Entry()}
# D. Hendrycks et al., "AugMix", 2020, arXiv 1912.02781
MIX: Space = _space(0.3, (1 / 3, WIDTH, HEIGHT), 30.0, 0.9, (4, 0))
MIX_NO_COLOURS: Space = {name: entry for name, entry in MIX.items() if name not in COLOURS}


def _sub_policies(text: str) -> list[list[Step]]:
    """Read a line a sub-policy: name, probability and bin of each step, ``-`` where there is no magnitude."""
    found = []
    for line in text.strip().splitlines():
        words = line.replace("|", " ").split()
        steps = zip(words[::3], words[1::3], words[2::3], strict=True)
        found.append([(name, float(p), None if level == "-" else int(level)) for name, p, level in steps])
    return found


SUB_POLICIES = {
    "imagenet": _sub_policies("""
        posterize 0.4 8 | rotate 0.6 9
        solarize 0.6 5 | auto_contrast 0.6 -
        equalize 0.8 - | equalize 0.6 -
        posterize 0.6 7 | posterize 0.6 6
        equalize 0.4 - | solarize 0.2 4
        equalize 0.4 - | rotate 0.8 8
        solarize 0.6 3 | equalize 0.6 -
        posterize 0.8 5 | equalize 1.0 -
        rotate 0.2 3 | solarize 0.6 8
        equalize 0.6 - | posterize 0.4 6
        rotate 0.8 8 | color 0.4 0
        rotate 0.4 9 | equalize 0.6 -
        equalize 0.0 - | equalize 0.8 -
        invert 0.6 - | equalize 1.0 -
        color 0.6 4 | contrast 1.0 8
        rotate 0.8 8 | color 1.0 2
        color 0.8 8 | solarize 0.8 7
        sharpness 0.4 7 | invert 0.6 -
        shear_x 0.6 5 | equalize 1.0 -
        color 0.4 0 | equalize 0.6 -
        equalize 0.4 - | solarize 0.2 4
        solarize 0.6 5 | auto_contrast 0.6 -
        invert 0.6 - | equalize 1.0 -
        color 0.6 4 | contrast 1.0 8
        equalize 0.8 - | equalize 0.6 -
    """),
    "cifar10": _sub_policies("""
        invert 0.1 - | contrast 0.2 6
        rotate 0.7 2 | translate_x 0.3 9
        sharpness 0.8 1 | sharpness 0.9 3
        shear_y 0.5 8 | translate_y 0.7 9
        auto_contrast 0.5 - | equalize 0.9 -
        shear_y 0.2 7 | posterize 0.3 7
        color 0.4 3 | brightness 0.6 7
        sharpness 0.3 9 | brightness 0.7 9
        equalize 0.6 - | equalize 0.5 -
        contrast 0.6 7 | sharpness 0.6 5
        color 0.7 7 | translate_x 0.5 8
        equalize 0.3 - | auto_contrast 0.4 -
        translate_y 0.4 3 | sharpness 0.2 6
        brightness 0.9 6 | color 0.2 8
        solarize 0.5 2 | invert 0.0 -
        equalize 0.2 - | auto_contrast 0.6 -
        equalize 0.2 - | equalize 0.6 -
        color 0.9 9 | equalize 0.6 -
        auto_contrast 0.8 - | solarize 0.2 8
        brightness 0.1 3 | color 0.7 0
        solarize 0.4 5 | auto_contrast 0.9 -
        translate_y 0.9 9 | translate_y 0.7 9
        auto_contrast 0.9 - | solarize 0.8 3
        equalize 0.8 - | invert 0.1 -
        translate_y 0.7 9 | auto_contrast 0.9 -
    """),
    "svhn": _sub_policies("""
        shear_x 0.9 4 | invert 0.2 -
        shear_y 0.9 8 | invert 0.7 -
        equalize 0.6 - | solarize 0.6 6
        invert 0.9 - | equalize 0.6 -
        equalize 0.6 - | rotate 0.9 3
        shear_x 0.9 4 | auto_contrast 0.8 -
        shear_y 0.9 8 | invert 0.4 -
        shear_y 0.9 5 | solarize 0.2 6
        invert 0.9 - | auto_contrast 0.8 -
        equalize 0.6 - | rotate 0.9 3
        shear_x 0.9 4 | solarize 0.3 3
        shear_y 0.8 8 | invert 0.7 -
        equalize 0.9 - | translate_y 0.6 6
        invert 0.9 - | equalize 0.6 -
        contrast 0.3 3 | rotate 0.8 4
        invert 0.8 - | translate_y 0.0 2
        shear_y 0.7 6 | solarize 0.4 8
        invert 0.6 - | rotate 0.8 4
        shear_y 0.3 7 | translate_x 0.9 3
        shear_x 0.1 6 | invert 0.6 -
        solarize 0.7 2 | translate_y 0.6 7
        shear_y 0.8 4 | invert 0.8 -
        shear_x 0.7 9 | translate_y 0.8 3
        shear_y 0.8 5 | auto_contrast 0.7 -
        shear_x 0.7 2 | invert 0.1 -
    """),
}


class Magnitudes:
    """The magnitudes of a table of entries for numbered bins.

    Args:
        entries: the rows of the table, which are then known by their numbers; an operation may have several.
        bins: how many magnitudes an entry has, both ends among them.
    """

    def __init__(self, entries: Space | Sequence[tuple[str, Entry]], bins: int) -> None:
        self.bins = whole(bins, "num_magnitude_bins", 2)
        entries = list(entries.items()) if isinstance(entries, Mapping) else entries
        rows = []
        for name, entry in entries:
            units = [float(entry.unit == unit) for unit in (PIXELS, WIDTH, HEIGHT)]
            rows.append([float(OPERATIONS.index(name)), entry.low, entry.high, float(entry.signed), *units])
        self.rows = Kept(torch.tensor(rows, dtype=torch.float64))  # a share of a width in float32 may be a pixel off
        # where the size does not matter, the last digit is torchvision's, and so are the pixels that are cut off
        self.levels = Kept(torch.stack([torch.linspace(entry.low, entry.high, bins) for _, entry in entries]))

    def __len__(self) -> int:
        return len(self.rows)

    def __call__(self, entry: Tensor, level: Tensor, sign: Tensor, size: tuple[int, int]) -> tuple[Tensor, Tensor]:
        """The operation and the magnitude of entries of any shape.

        Args:
            entry: their numbers.
            level: their bins.
            sign: uniforms, below 1/2 for a negative magnitude.
            size: (H, W) of the images.
        """
        operation, low, high, signed, one, width, height = self.rows.on(entry.device)[entry].unbind(-1)
        scale = one + width * size[1] + height * size[0]
        low, high = (low * scale).float(), (high * scale).float()
        step = (high - low) / (self.bins - 1)
        magnitude = torch.where(level < self.bins // 2, low + step * level, high - step * (self.bins - 1 - level))
        magnitude = torch.where(one > 0, self.levels.on(entry.device)[entry, level], magnitude)
        magnitude = torch.where(operation == OPERATIONS.index("posterize"), magnitude.round(), magnitude)
        shifts = (operation == OPERATIONS.index("translate_x")) | (operation == OPERATIONS.index("translate_y"))
        magnitude = torch.where(shifts, magnitude.trunc(), magnitude)
        return operation.long(), torch.where((signed > 0) & (sign < 0.5), -magnitude, magnitude)


# ------------------------------------------------------------------------------------------------ policies of the user

LIMITS = {  # what a range may hold, as kornia writes it
    **dict.fromkeys(("shear_x", "shear_y"), (-10.0, 10.0, "slopes")),
    **dict.fromkeys(("translate_x", "translate_y"), (-1.0, 1.0, "shares of the width or height")),
    "rotate": (-360.0, 360.0, "degrees"),
    **dict.fromkeys(COLOURS, (0.0, math.inf, "factors")),
    "posterize": (0.0, 8.0, "bits"),
    "solarize": (0.0, 1.0, "thresholds"),
    "solarize_add": (-1.0, 1.0, "additions"),
}


def read_space(policy: Any) -> Space | list[tuple[str, Entry]]:
    """Read a policy of one operation each, (name, low, high), in the ranges that kornia writes; None for ``RAND``."""
    if policy is None:
        return RAND
    if isinstance(policy, str) or not isinstance(policy, Sequence) or not policy:
        raise TypeError(f"policy: expected None or a list of (name, low, high), got {policy!r}")
    entries = []
    for i, item in enumerate(policy):
        if isinstance(item, Sequence) and len(item) == 1 and not isinstance(item[0], str):
            item = item[0]
        name, low, high = _three(item, f"policy[{i}]", "(name, low, high)")
        entries.append((name, _entry(name, *_limits(name, low, high, f"policy[{i}]"))))
    return entries


def _entry(name: str, low: float, high: float) -> Entry:
    """Turn a range round where the operation is the weaker the higher it is, and draw the sign of a symmetric one."""
    if name in ("identity", "auto_contrast", "equalize", "invert"):
        return Entry()
    if name in COLOURS:  # factors
        low, high = low - 1, high - 1
    unit = {"translate_x": WIDTH, "translate_y": HEIGHT}.get(name, PIXELS)
    if abs(low + high) < 1e-9 and high > 0:
        return Entry(0.0, high, True, unit)
    return Entry(high, low, False, unit) if name in ("posterize", "solarize") else Entry(low, high, False, unit)


def read_sub_policies(policy: Any) -> list[list[Step]]:
    """Look up the sub-policies of a published policy by its name, or check the user's own, (name, probability, bin)."""
    named = policy.name if isinstance(policy, Enum) else policy
    if isinstance(named, str) and named.lower() in SUB_POLICIES:
        return SUB_POLICIES[named.lower()]
    if isinstance(named, str) or not isinstance(policy, Sequence) or not policy:
        raise ValueError(
            f"policy: expected one of {list(SUB_POLICIES)} or a list of sub-policies, each a list of "
            f"(name, probability, bin); got {policy!r}"
        )
    found = []
    for i, steps in enumerate(policy):
        if isinstance(steps, str) or not isinstance(steps, Sequence) or not steps:
            raise TypeError(f"policy[{i}]: expected a list of (name, probability, bin), got {steps!r}")
        found.append([_step(step, f"policy[{i}][{j}]") for j, step in enumerate(steps)])
    return found


def _step(step: Any, where: str) -> Step:
    name, p, level = _three(step, where, "(name, probability, bin)")
    if name not in AUTO:
        raise ValueError(f"{where}: expected one of {sorted(AUTO)}, got {name!r}")
    if AUTO[name] == Entry():
        level = 0
    if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level < AUTO_BINS:
        raise ValueError(f"{where}: {name}: expected a bin in 0..{AUTO_BINS - 1}, got {level!r}")
    return name, number(p, f"{where}: {name}: probability", 0.0, 1.0), level


def _three(item: Any, where: str, expected: str) -> tuple[str, Any, Any]:
    if isinstance(item, str) or not isinstance(item, Sequence) or len(item) != 3 or not isinstance(item[0], str):
        raise TypeError(f"{where}: expected {expected}, got {item!r}")
    if item[0] not in OPERATIONS:
        raise ValueError(f"{where}: expected one of {sorted(OPERATIONS)}, got {item[0]!r}")
    return item[0], item[1], item[2]


def _limits(name: str, low: Any, high: Any, where: str) -> tuple[float, float]:
    """Check a range; of an operation that has no strength it may be any."""
    least, most, unit = LIMITS.get(name, (-math.inf, math.inf, ""))
    low, high = (number(value, f"{where}: limit of {name}") for value in (low, high))
    if name in LIMITS and not least <= low <= high <= most:
        raise ValueError(
            f"{where}: {name}: expected {least:g} <= low <= high <= {most:g}, in {unit}; got ({low:g}, {high:g})"
        )
    return low, high
