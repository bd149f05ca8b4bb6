"""Containers."""

from ..sampling.items import ParamItem
from .choice import OneOf, RandomApply, RandomOrder, SomeOf
from .dispatcher import (
    ManyToManyAugmentationDispatcher,
    ManyToManyAugmentationDispather,
    ManyToOneAugmentationDispatcher,
    ManyToOneAugmentationDispather,
)
from .image import ImageSequential
from .patch import PatchSequential
from .sequential import AugmentationSequential
from .video import VideoSequential

__all__ = [
    "AugmentationSequential",
    "ImageSequential",
    "ManyToManyAugmentationDispatcher",
    "ManyToManyAugmentationDispather",
    "ManyToOneAugmentationDispatcher",
    "ManyToOneAugmentationDispather",
    "OneOf",
    "ParamItem",
    "PatchSequential",
    "RandomApply",
    "RandomOrder",
    "SomeOf",
    "VideoSequential",
]
