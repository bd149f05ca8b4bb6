"""The ops, by family."""

from .affine import RandomAffine, RandomPerspective, RandomRotation
from .blur import RandomGaussianBlur
from .colour import ColorJitter, Denormalize, Normalize, RandomBrightness, RandomGrayscale
from .crop import CenterCrop, RandomCrop, RandomResizedCrop, Resize
from .deform import RandomElasticTransform
from .erase import RandomErasing
from .flip import RandomHorizontalFlip, RandomVerticalFlip
from .noise import RandomGaussianNoise
from .tone import RandomEqualize

__all__ = [
    "CenterCrop",
    "ColorJitter",
    "Denormalize",
    "Normalize",
    "RandomAffine",
    "RandomBrightness",
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
    "RandomVerticalFlip",
    "Resize",
]
