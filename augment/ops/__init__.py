"""The ops, by family."""

from .affine import RandomAffine, RandomPerspective, RandomRotation
from .blur import (
    RandomBoxBlur,
    RandomDefocus,
    RandomGaussianBlur,
    RandomMedianBlur,
    RandomMotionBlur,
    RandomZoomBlur,
)
from .colour import ColorJitter, Denormalize, Normalize, RandomBrightness, RandomGrayscale
from .compression import RandomDownscale, RandomJPEG
from .crop import CenterCrop, RandomCrop, RandomResizedCrop, Resize
from .deform import RandomElasticTransform
from .erase import RandomErasing
from .flip import RandomHorizontalFlip, RandomVerticalFlip
from .noise import RandomGaussianNoise
from .sharpen import RandomSharpness
from .tone import RandomEqualize

__all__ = [
    "CenterCrop",
    "ColorJitter",
    "Denormalize",
    "Normalize",
    "RandomAffine",
    "RandomBoxBlur",
    "RandomBrightness",
    "RandomCrop",
    "RandomDefocus",
    "RandomDownscale",
    "RandomElasticTransform",
    "RandomEqualize",
    "RandomErasing",
    "RandomGaussianBlur",
    "RandomGaussianNoise",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomJPEG",
    "RandomMedianBlur",
    "RandomMotionBlur",
    "RandomPerspective",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSharpness",
    "RandomVerticalFlip",
    "RandomZoomBlur",
    "Resize",
]
