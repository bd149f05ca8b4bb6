"""The ops, by family."""

from .affine import RandomAffine, RandomPerspective, RandomRotation, RandomShear, RandomTranslate
from .blur import RandomGaussianBlur
from .colour import ColorJitter, Denormalize, Normalize, RandomBrightness, RandomContrast, RandomGrayscale
from .crop import CenterCrop, RandomCrop, RandomResizedCrop, Resize
from .deform import RandomElasticTransform
from .detection import RandomIoUCrop
from .erase import RandomErasing
from .flip import RandomD4, RandomHorizontalFlip, RandomRotation90, RandomTranspose, RandomVerticalFlip
from .noise import RandomGaussianNoise
from .tone import RandomEqualize, RandomSolarize
from .pad import LetterBox, LongestMaxSize, PadTo, RandomZoomOut, SmallestMaxSize
from .tone import RandomEqualize

__all__ = [
    "CenterCrop",
    "ColorJitter",
    "Denormalize",
    "LetterBox",
    "LongestMaxSize",
    "Normalize",
    "PadTo",
    "RandomAffine",
    "RandomBrightness",
    "RandomContrast",
    "RandomCrop",
    "RandomD4",
    "RandomElasticTransform",
    "RandomEqualize",
    "RandomErasing",
    "RandomGaussianBlur",
    "RandomGaussianNoise",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomIoUCrop",
    "RandomPerspective",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSolarize",
    "RandomRotation90",
    "RandomShear",
    "RandomTranslate",
    "RandomTranspose",
    "RandomVerticalFlip",
    "RandomZoomOut",
    "Resize",
    "SmallestMaxSize",
]
