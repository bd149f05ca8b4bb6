"""Kernels in C for bytes on the CPU, each of which does an image at once.

They are there where the package was built with a C compiler; what they are asked for and do not do, PyTorch's kernels
do, so that ``False`` is an answer and no fault. Results are the same, to within a rounding of floats.
"""

from .colour import ROTATE_HUE, SCALE_SATURATION, STEPS, adjust_colour
from .core import ready
from .geometry import displace
from .tone import linear_levels, look_up, look_up_floats

__all__ = [
    "ROTATE_HUE",
    "SCALE_SATURATION",
    "STEPS",
    "adjust_colour",
    "displace",
    "linear_levels",
    "look_up",
    "look_up_floats",
    "ready",
]
