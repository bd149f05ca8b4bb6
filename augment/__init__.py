"""Image augmentations for PyTorch: batched, differentiable, compiled whole. ``import augment as K``."""

from . import ops, policies, saving
from . import policies as auto
from .base import AugmentationBase2D
from .configuration import from_dict, from_yaml, to_dict, to_yaml
from .containers import (
    AugmentationSequential,
    ImageSequential,
    ManyToManyAugmentationDispatcher,
    ManyToManyAugmentationDispather,
    ManyToOneAugmentationDispatcher,
    ManyToOneAugmentationDispather,
    OneOf,
    ParamItem,
    PatchSequential,
    RandomApply,
    RandomOrder,
    SomeOf,
    VideoSequential,
)
from .deformation import Deformation, Field
from .kinds import GeometricAugmentationBase2D, IntensityAugmentationBase2D, RigidAffineAugmentationBase2D
from .mix import Mix
from .ops import *  # noqa: F403
from .ops import (
    PatchMix,
    RandomCopyPaste,
    RandomCutMixV2,
    RandomJigsaw,
    RandomMixUpV2,
    RandomMosaic,
    RandomTransplantation,
)
from .policies import AugMix, AutoAugment, RandAugment, TrivialAugment, TrivialAugmentWide
from .ragged import pad_labels, unpad_labels
from .sampling import checks
from .saving import plain
from .warp import Homography, Permutation, Warp
from .wrapping import TVTensors

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
    "ImageSequential",
    "IntensityAugmentationBase2D",
    "ManyToManyAugmentationDispatcher",
    "ManyToManyAugmentationDispather",
    "ManyToOneAugmentationDispatcher",
    "ManyToOneAugmentationDispather",
    "Mix",
    "OneOf",
    "ParamItem",
    "PatchMix",
    "PatchSequential",
    "Permutation",
    "RandAugment",
    "RandomApply",
    "RandomCopyPaste",
    "RandomCutMixV2",
    "RandomJigsaw",
    "RandomMixUpV2",
    "RandomMosaic",
    "RandomOrder",
    "RandomTransplantation",
    "RigidAffineAugmentationBase2D",
    "SomeOf",
    "TVTensors",
    "TrivialAugment",
    "TrivialAugmentWide",
    "VideoSequential",
    "Warp",
    "auto",
    "checks",
    "from_dict",
    "from_yaml",
    "pad_labels",
    "plain",
    "policies",
    "saving",
    "to_dict",
    "to_yaml",
    "unpad_labels",
]
__all__ += ops.__all__
