"""Containers."""

from .choice import OneOf, RandomApply, RandomOrder, SomeOf
from .params import ParamItem
from .sequential import AugmentationSequential

__all__ = ["AugmentationSequential", "OneOf", "ParamItem", "RandomApply", "RandomOrder", "SomeOf"]
