"""The ops, by family."""

from .affine import RandomAffine, RandomPerspective, RandomRotation, RandomShear, RandomTranslate
from .blur import (
    RandomBoxBlur,
    RandomDefocus,
    RandomGaussianBlur,
    RandomMedianBlur,
    RandomMotionBlur,
    RandomSharpness,
    RandomZoomBlur,
)
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
from .compression import RandomDownscale, RandomJPEG
from .crop import CenterCrop, RandomCrop, RandomResizedCrop, Resize
from .deform import RandomElasticTransform, RandomFisheye, RandomGridDistortion, RandomThinPlateSpline
from .detection import RandomIoUCrop
from .dropout import RandomCoarseDropout, RandomErasing, RandomGridDropout
from .flip import RandomD4, RandomHorizontalFlip, RandomRotation90, RandomTranspose, RandomVerticalFlip
from .histogram import RandomAutoContrast, RandomClahe, RandomEqualize
from .illumination import RandomGaussianIllumination, RandomLinearCornerIllumination, RandomLinearIllumination
from .jitter import ColorJiggle, ColorJitter, RandomPhotometricDistort
from .mix import PatchMix, RandomCutMixV2, RandomMixUpV2
from .mosaic import RandomJigsaw, RandomMosaic
from .noise import RandomGaussianNoise, RandomISONoise, RandomSaltAndPepperNoise, RandomShotNoise
from .pad import LetterBox, LongestMaxSize, PadTo, RandomZoomOut, SmallestMaxSize
from .plasma import RandomPlasmaBrightness, RandomPlasmaContrast, RandomPlasmaShadow
from .tone import RandomGamma, RandomInvert, RandomPosterize, RandomSolarize
from .transplant import RandomCopyPaste, RandomTransplantation
from .weather import RandomFog, RandomRain, RandomSnow

__all__ = [
    "CenterCrop",
    "ColorJiggle",
    "ColorJitter",
    "Denormalize",
    "LetterBox",
    "LongestMaxSize",
    "Normalize",
    "PadTo",
    "PatchMix",
    "RandomAffine",
    "RandomAutoContrast",
    "RandomBoxBlur",
    "RandomBrightness",
    "RandomChannelDropout",
    "RandomChannelShuffle",
    "RandomClahe",
    "RandomCoarseDropout",
    "RandomContrast",
    "RandomCopyPaste",
    "RandomCrop",
    "RandomCutMixV2",
    "RandomD4",
    "RandomDefocus",
    "RandomDownscale",
    "RandomElasticTransform",
    "RandomEqualize",
    "RandomErasing",
    "RandomFisheye",
    "RandomFog",
    "RandomGamma",
    "RandomGaussianBlur",
    "RandomGaussianIllumination",
    "RandomGaussianNoise",
    "RandomGrayscale",
    "RandomGridDistortion",
    "RandomGridDropout",
    "RandomHorizontalFlip",
    "RandomHue",
    "RandomISONoise",
    "RandomInvert",
    "RandomIoUCrop",
    "RandomJPEG",
    "RandomJigsaw",
    "RandomLinearCornerIllumination",
    "RandomLinearIllumination",
    "RandomMedianBlur",
    "RandomMixUpV2",
    "RandomMosaic",
    "RandomMotionBlur",
    "RandomPerspective",
    "RandomPhotometricDistort",
    "RandomPlanckianJitter",
    "RandomPlasmaBrightness",
    "RandomPlasmaContrast",
    "RandomPlasmaShadow",
    "RandomPosterize",
    "RandomRGBShift",
    "RandomRain",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomRotation90",
    "RandomSaltAndPepperNoise",
    "RandomSaturation",
    "RandomSharpness",
    "RandomShear",
    "RandomShotNoise",
    "RandomSnow",
    "RandomSolarize",
    "RandomThinPlateSpline",
    "RandomTranslate",
    "RandomTransplantation",
    "RandomTranspose",
    "RandomVerticalFlip",
    "RandomZoomBlur",
    "RandomZoomOut",
    "Resize",
    "SmallestMaxSize",
]
