"""Image augmentations for PyTorch: batched, differentiable, compiled whole. ``import augment as K``."""

from . import composition as composition
from . import containers, ops, policies, saving
from . import policies as auto
from .common.checks import checks
from .containers import *  # noqa: F403
from .containers.compiled import TVTensors
from .kinds.augmentation import AugmentationBase2D
from .kinds.geometric import GeometricAugmentationBase2D, RigidAffineAugmentationBase2D
from .kinds.intensity import IntensityAugmentationBase2D
from .kinds.mix import Mix
from .maps.deformation import Deformation, Field
from .maps.recolour import Recolour
from .maps.recolours import Blend, Channels, Curve, Line, Pixels, Steps, Stretch
from .maps.warp import Homography, Permutation, Warp
from .ops import *  # noqa: F403
from .policies import AugMix, AutoAugment, RandAugment, TrivialAugment, TrivialAugmentWide
from .sampling.params import Param
from .sampling.ranges import Range
from .saving import from_dict, from_yaml, plain, to_dict, to_yaml
from .targets.keys import KEYS, Boxes
from .targets.ragged import pad_labels, unpad_labels

__version__ = "0.1.0"

__all__ = [
    "KEYS",
    "AugMix",
    "AugmentationBase2D",
    "AutoAugment",
    "Blend",
    "Boxes",
    "Channels",
    "Curve",
    "Deformation",
    "Field",
    "GeometricAugmentationBase2D",
    "Homography",
    "IntensityAugmentationBase2D",
    "Line",
    "Mix",
    "Param",
    "Permutation",
    "Pixels",
    "RandAugment",
    "Range",
    "Recolour",
    "RigidAffineAugmentationBase2D",
    "Steps",
    "Stretch",
    "TVTensors",
    "TrivialAugment",
    "TrivialAugmentWide",
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
__all__ += containers.__all__
__all__ += ops.__all__
