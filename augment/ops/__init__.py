"""The ops, by family."""

from .affine import RandomAffine, RandomPerspective, RandomRotation
from .blur import RandomGaussianBlur
from .channels import RandomChannelDropout, RandomChannelShuffle, RandomPlanckianJitter, RandomRGBShift
from .colour import (
    Denormalize,
    Normalize,
    RandomBrightness,
    RandomContrast,
    RandomGrayscale,
    RandomHue,
    RandomSaturation,
)
from .crop import CenterCrop, RandomCrop, RandomResizedCrop, Resize
from .deform import RandomElasticTransform
from .erase import RandomErasing
from .flip import RandomHorizontalFlip, RandomVerticalFlip
from .jitter import ColorJiggle, ColorJitter, RandomPhotometricDistort
from .noise import RandomGaussianNoise
from .tone import (
    RandomAutoContrast,
    RandomClahe,
    RandomEqualize,
    RandomGamma,
    RandomInvert,
    RandomPosterize,
    RandomSolarize,
)

__all__ = [
    "CenterCrop",
    "ColorJiggle",
    "ColorJitter",
    "Denormalize",
    "Normalize",
    "RandomAffine",
    "RandomAutoContrast",
    "RandomBrightness",
    "RandomChannelDropout",
    "RandomChannelShuffle",
    "RandomClahe",
    "RandomContrast",
    "RandomCrop",
    "RandomElasticTransform",
    "RandomEqualize",
    "RandomErasing",
    "RandomGamma",
    "RandomGaussianBlur",
    "RandomGaussianNoise",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomHue",
    "RandomInvert",
    "RandomPerspective",
    "RandomPhotometricDistort",
    "RandomPlanckianJitter",
    "RandomPosterize",
    "RandomRGBShift",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSaturation",
    "RandomSolarize",
    "RandomVerticalFlip",
    "Resize",
]
