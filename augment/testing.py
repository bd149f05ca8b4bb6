"""The registry that tests and benchmarks walk: every op, with arguments that make it do something."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import ops as _ops
from .base import Augmentation
from .kinds import Geometric

ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "CenterCrop": {"size": (12, 14)},
    "ColorJitter": {"brightness": 0.3, "contrast": 0.3, "saturation": 0.3, "hue": 0.1},
    "Denormalize": {"mean": 0.4, "std": 0.25},
    "Normalize": {"mean": 0.4, "std": 0.25},
    "RandomAffine": {"degrees": 30.0, "translate": (0.1, 0.2), "scale": (0.8, 1.2), "shear": 10.0},
    "RandomBrightness": {"brightness": (0.6, 1.4)},
    "RandomCrop": {"size": (12, 14), "padding": 2},
    "RandomElasticTransform": {"kernel_size": (11, 11), "sigma": (4.0, 4.0), "alpha": (1.0, 1.0)},
    "RandomGaussianBlur": {"kernel_size": 5, "sigma": (0.5, 2.0)},
    "RandomGaussianNoise": {"std": 0.1},
    "RandomGrayscale": {},
    "RandomPlasmaBrightness": {"intensity": (0.4, 0.8)},
    "RandomPlasmaShadow": {"shade_intensity": (-0.6, -0.3), "shade_quantity": (0.8, 1.0)},
    "RandomRain": {"number_of_drops": (20, 20), "drop_height": (2, 6), "drop_width": (-4, 4)},
    "RandomResizedCrop": {"size": (12, 14)},
    "RandomRotation": {"degrees": 30.0},
    "RandomSnow": {"snow_coefficient": (0.4, 0.8), "brightness": (1.5, 3.0)},
    "Resize": {"size": (12, 14)},
}
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "ColorJitter[order]": {**ARGUMENTS["ColorJitter"], "order": (2, 0, 3, 1)},
    "RandomAffine[fill]": {**ARGUMENTS["RandomAffine"], "padding_mode": "fill", "fill_value": 0.5},
    "RandomAffine[nearest]": {**ARGUMENTS["RandomAffine"], "resample": "nearest"},
    "RandomCrop[reflect]": {"size": (12, 14), "padding": 2, "padding_mode": "reflect"},
    "RandomRain[count]": {"number_of_drops": (5, 20), "drop_height": (1, 3), "drop_width": (-7, 7)},
    "Resize[antialias]": {"size": (12, 14), "antialias": True},
}


@dataclass(frozen=True)
class Case:
    """One op with arguments."""

    name: str
    op: type[Augmentation]
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, **overrides: Any) -> Augmentation:
        """Build the op; arguments that its constructor does not know are left out."""
        known = inspect.signature(self.op).parameters
        return self.op(**{**self.arguments, **{k: v for k, v in overrides.items() if k in known}})

    @property
    def geometric(self) -> bool:
        """Whether the op moves pixels."""
        return issubclass(self.op, Geometric)

    @property
    def random(self) -> bool:
        """Whether two open rows can come out different."""
        op = self()
        return bool(op.columns or op.ranges) or op.param_names not in ((), _ops.Resize.param_names)

    def __repr__(self) -> str:
        return self.name


def ops() -> dict[str, type[Augmentation]]:
    """Give every op by name."""
    return {name: getattr(_ops, name) for name in _ops.__all__}


def cases(variants: bool = True) -> list[Case]:
    """Give a case for every op, and those that show another side of one."""
    found = [Case(name, op, ARGUMENTS.get(name, {})) for name, op in ops().items()]
    more = [Case(name, ops()[name.partition("[")[0]], arguments) for name, arguments in VARIANTS.items()]
    return found + more * variants
