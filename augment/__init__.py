"""Image augmentations for PyTorch: batched, differentiable, compiled whole. ``import augment as K``."""

from . import ops, policies
from . import policies as auto
from .base import AugmentationBase2D
from .containers import AugmentationSequential, ParamItem
from .deformation import Deformation, Field
from .kinds import GeometricAugmentationBase2D, IntensityAugmentationBase2D, RigidAffineAugmentationBase2D
from .ops import *  # noqa: F403
from .policies import AugMix, AutoAugment, RandAugment, TrivialAugment, TrivialAugmentWide
from .sampling import checks
from .warp import Homography, Permutation, Warp

__version__ = "0.1.0"

__all__ = [
    "AugMix",
    "AugmentationBase2D",
    "AugmentationSequential",
    "AutoAugment",
    "Deformation",
    "Field",
    "GeometricAugmentationBase2D",
    "Homography",
    "IntensityAugmentationBase2D",
    "ParamItem",
    "Permutation",
    "RandAugment",
    "RigidAffineAugmentationBase2D",
    "TrivialAugment",
    "TrivialAugmentWide",
    "Warp",
    "auto",
    "checks",
    "policies",
]
__all__ += ops.__all__
