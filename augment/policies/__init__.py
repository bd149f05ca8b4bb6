"""Policies: which operations an image goes through is drawn for every image of a batch."""

from .augmix import AugMix
from .policy import OPERATIONS, AutoAugment, RandAugment, TrivialAugment, TrivialAugmentWide

__all__ = ["OPERATIONS", "AugMix", "AutoAugment", "RandAugment", "TrivialAugment", "TrivialAugmentWide"]
