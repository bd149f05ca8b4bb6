"""The registry that tests and benchmarks walk: every op, with arguments that make it do something."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from . import ops as _ops
from .kinds.augmentation import Augmentation
from .kinds.geometric import Geometric
from .kinds.mix import Mix

ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "CenterCrop": {"size": (12, 14)},
    "ColorJiggle": {"brightness": 0.3, "contrast": 0.3, "saturation": 0.3, "hue": 0.1},
    "ColorJitter": {"brightness": 0.3, "contrast": 0.3, "saturation": 0.3, "hue": 0.1},
    "Denormalize": {"mean": 0.4, "std": 0.25},
    "LetterBox": {"size": (20, 20)},
    "LongestMaxSize": {"max_size": 14},
    "Normalize": {"mean": 0.4, "std": 0.25},
    "PadTo": {"size": (20, 26), "pad_value": 0.3},
    "RandomAffine": {"degrees": 30.0, "translate": (0.1, 0.2), "scale": (0.8, 1.2), "shear": 10.0},
    "RandomBoxBlur": {"kernel_size": (3, 3)},
    "RandomBrightness": {"brightness": (0.6, 1.4)},
    "RandomClahe": {"grid_size": (3, 4)},
    "RandomContrast": {"contrast": (0.6, 1.4)},
    "RandomCrop": {"size": (12, 14), "padding": 2},
    "RandomDefocus": {"radius": (1, 3), "border_type": "replicate"},
    "RandomElasticTransform": {"kernel_size": (11, 11), "sigma": (4.0, 4.0), "alpha": (1.0, 1.0)},
    "RandomFisheye": {
        "center_x": torch.tensor([-0.3, 0.3]),
        "center_y": torch.tensor([-0.3, 0.3]),
        "gamma": torch.tensor([0.9, 1.5]),
    },
    "RandomGaussianBlur": {"kernel_size": 5, "sigma": (0.5, 2.0)},
    "RandomGaussianNoise": {"std": 0.1},
    "RandomIoUCrop": {"max_scale": 0.9, "sampler_options": (0.1, 0.5)},
    "RandomMedianBlur": {"kernel_size": (3, 3)},
    "RandomMotionBlur": {"kernel_size": 5, "angle": 45.0, "direction": 1.0},
    "RandomResizedCrop": {"size": (12, 14)},
    "RandomRotation": {"degrees": 30.0},
    "RandomRotation90": {"times": (1, 3)},
    "RandomShear": {"shear": (-20.0, 20.0, 5.0, 15.0)},
    "RandomTranslate": {"translate_x": (-0.2, 0.3), "translate_y": (0.1, 0.2)},
    "RandomZoomOut": {"side_range": (1.2, 2.0), "fill": 0.4},
    "RandomGamma": {"gamma": (0.6, 1.6), "gain": (0.8, 1.2)},
    "RandomHue": {"hue": 0.3},
    "RandomPosterize": {"bits": (3, 5)},
    "RandomSaturation": {"saturation": (0.4, 1.8)},
    "RandomPlasmaBrightness": {"intensity": (0.4, 0.8)},
    "RandomPlasmaShadow": {"shade_intensity": (-0.6, -0.3), "shade_quantity": (0.8, 1.0)},
    "RandomRain": {"number_of_drops": (20, 20), "drop_height": (2, 6), "drop_width": (-4, 4)},
    "RandomSnow": {"snow_coefficient": (0.4, 0.8), "brightness": (1.5, 3.0)},
    "Resize": {"size": (12, 14)},
    "SmallestMaxSize": {"max_size": 14},
}
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "ColorJiggle[order]": {**ARGUMENTS["ColorJiggle"], "order": (2, 0, 3, 1)},
    "ColorJitter[order]": {**ARGUMENTS["ColorJitter"], "order": (2, 0, 3, 1)},
    "PadTo[reflect]": {"size": (20, 20), "pad_mode": "reflect", "crop_if_exceeds": False},
    "RandomAffine[fill]": {**ARGUMENTS["RandomAffine"], "padding_mode": "fill", "fill_value": 0.5},
    "RandomAffine[nearest]": {**ARGUMENTS["RandomAffine"], "resample": "nearest"},
    "RandomCoarseDropout[noise]": {"num_holes_range": (2, 5), "fill": "noise", "mask_fill": 0},
    "RandomCrop[reflect]": {"size": (12, 14), "padding": 2, "padding_mode": "reflect"},
    "RandomElasticTransform[fill]": {**ARGUMENTS["RandomElasticTransform"], "padding_mode": "fill", "fill_value": 0.5},
    "RandomPerspective[border]": {"padding_mode": "border"},
    "RandomRotation[reflection]": {"degrees": 30.0, "padding_mode": "reflection"},
    "RandomShear[fill]": {"shear": 30.0, "padding_mode": "fill", "fill_value": 0.5},
    "RandomIoUCrop[size]": {"sampler_options": (0.3,), "size": (12, 14)},
    "RandomGridDistortion[nearest]": {"resample": "nearest"},
    "RandomGridDropout[fill]": {"unit_size_range": (2, 4), "ratio": (0.3, 0.7), "fill": 0.5},
    "RandomChannelDropout[fill]": {"num_drop_channels": 1, "fill_value": 0.7},
    "RandomClahe[limit]": {"clip_limit": (0.5, 3.0), "grid_size": (2, 3)},
    "RandomInvert[channels]": {"max_val": 0.9},
    "RandomPlanckianJitter[CIED]": {"mode": "CIED", "select_from": [0, 3, -1]},
    "RandomDownscale[area]": {"scale_range": (0.3, 0.8), "downscale": "area", "upscale": "bilinear"},
    "RandomMedianBlur[5]": {"kernel_size": (5, 5)},
    "RandomMotionBlur[range]": {
        "kernel_size": (3, 7),
        "angle": 180.0,
        "direction": 0.5,
        "border_type": "replicate",
        "resample": "bilinear",
    },
    "RandomRain[count]": {"number_of_drops": (5, 20), "drop_height": (1, 3), "drop_width": (-7, 7)},
    "Resize[antialias]": {"size": (12, 14), "antialias": True},
}
MIXES: Mapping[str, Mapping[str, Any]] = {
    "PatchMix": {"patch_size": 5},
    "RandomJigsaw": {"grid": (2, 4)},
    "RandomMixUpV2": {"mask_classes": 4},
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
        return bool(op.columns or op.ranges) or op.params not in ((), _ops.Resize.params)

    def __repr__(self) -> str:
        return self.name


def ops() -> dict[str, type[Augmentation]]:
    """Every op by name."""
    return {name: op for name, op in _exported().items() if op.kind is not Mix}


def mixes() -> list[Case]:
    """A case for every op that combines rows, which are no part of ``ops``: no row of theirs stands alone."""
    return [Case(name, op, MIXES.get(name, {})) for name, op in _exported().items() if op.kind is Mix]


def _exported() -> dict[str, type[Augmentation]]:
    return {name: getattr(_ops, name) for name in _ops.__all__}


def cases(variants: bool = True) -> list[Case]:
    """A case for every op, and those that show another side of one."""
    found = [Case(name, op, ARGUMENTS.get(name, {})) for name, op in ops().items()]
    more = [Case(name, ops()[name.partition("[")[0]], arguments) for name, arguments in VARIANTS.items()]
    return found + more * variants
