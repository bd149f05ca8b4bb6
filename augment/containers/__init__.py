"""Containers."""

from .sequential import AugmentationSequential, ParamItem

__all__ = ["AugmentationSequential", "ParamItem"]
