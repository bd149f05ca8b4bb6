"""The ops, by family."""

from .affine import RandomAffine, RandomPerspective, RandomRotation
from .blur import RandomGaussianBlur
from .colour import ColorJitter, Denormalize, Normalize, RandomBrightness, RandomGrayscale
from .crop import CenterCrop, RandomCrop, RandomResizedCrop, Resize
from .deform import RandomElasticTransform, RandomFisheye, RandomGridDistortion, RandomThinPlateSpline
from .dropout import RandomCoarseDropout, RandomGridDropout
from .erase import RandomErasing
from .flip import RandomHorizontalFlip, RandomVerticalFlip
from .noise import RandomGaussianNoise, RandomISONoise, RandomSaltAndPepperNoise, RandomShotNoise
from .tone import RandomEqualize

__all__ = [
    "CenterCrop",
    "ColorJitter",
    "Denormalize",
    "Normalize",
    "RandomAffine",
    "RandomBrightness",
    "RandomCoarseDropout",
    "RandomCrop",
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
    "RandomPerspective",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSaltAndPepperNoise",
    "RandomShotNoise",
    "RandomThinPlateSpline",
    "RandomVerticalFlip",
    "Resize",
]
