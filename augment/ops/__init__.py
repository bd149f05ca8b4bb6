"""The ops, by family."""

from .affine import RandomAffine, RandomPerspective, RandomRotation
from .blur import RandomGaussianBlur
from .colour import ColorJitter, Denormalize, Normalize, RandomBrightness, RandomGrayscale
from .crop import CenterCrop, RandomCrop, RandomResizedCrop, Resize
from .deform import RandomElasticTransform
from .erase import RandomErasing
from .flip import RandomHorizontalFlip, RandomVerticalFlip
from .illumination import RandomGaussianIllumination, RandomLinearCornerIllumination, RandomLinearIllumination
from .noise import RandomGaussianNoise
from .plasma import RandomPlasmaBrightness, RandomPlasmaContrast, RandomPlasmaShadow
from .tone import RandomEqualize
from .weather import RandomFog, RandomRain, RandomSnow

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
    "RandomFog",
    "RandomGaussianBlur",
    "RandomGaussianIllumination",
    "RandomGaussianNoise",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomLinearCornerIllumination",
    "RandomLinearIllumination",
    "RandomPerspective",
    "RandomPlasmaBrightness",
    "RandomPlasmaContrast",
    "RandomPlasmaShadow",
    "RandomRain",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSnow",
    "RandomVerticalFlip",
    "Resize",
]
