"""The ops, by family."""

from .affine import RandomAffine, RandomPerspective, RandomRotation
from .blur import RandomGaussianBlur
from .colour import ColorJitter, Denormalize, Normalize, RandomBrightness, RandomContrast, RandomGrayscale
from .crop import CenterCrop, RandomCrop, RandomResizedCrop, Resize
from .deform import RandomElasticTransform
from .erase import RandomErasing
from .flip import RandomHorizontalFlip, RandomVerticalFlip
from .noise import RandomGaussianNoise
from .tone import RandomEqualize, RandomSolarize

__all__ = [
    "CenterCrop",
    "ColorJitter",
    "Denormalize",
    "Normalize",
    "RandomAffine",
    "RandomBrightness",
    "RandomContrast",
    "RandomCrop",
    "RandomElasticTransform",
    "RandomEqualize",
    "RandomErasing",
    "RandomGaussianBlur",
    "RandomGaussianNoise",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomPerspective",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSolarize",
    "RandomVerticalFlip",
    "Resize",
]
