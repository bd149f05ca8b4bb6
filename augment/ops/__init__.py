"""The ops, by family."""

from .affine import RandomAffine, RandomPerspective, RandomRotation, RandomShear, RandomTranslate
from .blur import RandomGaussianBlur
from .colour import ColorJitter, Denormalize, Normalize, RandomBrightness, RandomContrast, RandomGrayscale
from .crop import CenterCrop, RandomCrop, RandomResizedCrop, Resize
from .deform import RandomElasticTransform, RandomFisheye, RandomGridDistortion, RandomThinPlateSpline
from .detection import RandomIoUCrop
from .dropout import RandomCoarseDropout, RandomGridDropout
from .erase import RandomErasing
from .flip import RandomD4, RandomHorizontalFlip, RandomRotation90, RandomTranspose, RandomVerticalFlip
from .noise import RandomGaussianNoise, RandomISONoise, RandomSaltAndPepperNoise, RandomShotNoise
from .pad import LetterBox, LongestMaxSize, PadTo, RandomZoomOut, SmallestMaxSize
from .tone import RandomEqualize, RandomSolarize

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
    "RandomCoarseDropout",
    "RandomContrast",
    "RandomCrop",
    "RandomD4",
    "RandomElasticTransform",
    "RandomEqualize",
    "RandomErasing",
    "RandomFisheye",
    "RandomGaussianBlur",
    "RandomGaussianNoise",
    "RandomGrayscale",
    "RandomGridDistortion",
    "RandomGridDropout",
    "RandomHorizontalFlip",
    "RandomISONoise",
    "RandomIoUCrop",
    "RandomPerspective",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomRotation90",
    "RandomSaltAndPepperNoise",
    "RandomShear",
    "RandomShotNoise",
    "RandomSolarize",
    "RandomThinPlateSpline",
    "RandomTranslate",
    "RandomTranspose",
    "RandomVerticalFlip",
    "RandomZoomOut",
    "Resize",
    "SmallestMaxSize",
]
