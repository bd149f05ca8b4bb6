"""The opaque ops: data movement that the compiler would turn into scalar loops, and work that a row can be spared.

On the CPU a batch goes row by row through an op of ``rowwise``; on other devices the same functions run on the whole
batch inside the graph, where the compiler fuses them, and a select puts back the rows that do not change.
"""

from .channels import fill_channels, take_channels
from .colour import colour_jitter, gray_levels, hue_levels, photometric_distort, saturation_levels
from .compression import downscale, jpeg
from .dropout import erase, fill_grid, fill_rectangles
from .field import displace, follow_field, smooth_field
from .filters import box_blur, defocus, filter2d, median_blur, separable_filter, sharpen, zoom_blur
from .formula import displace_by, displace_lines, follow_formula
from .geometry import identity_rows, permute, warp_homography
from .mix import collage, pick_labels, take_rows, whole_labels
from .noise import add_noise, salt_and_pepper, salt_masks, sensor_noise, shot_noise
from .plasma import plasma
from .policy import apply_policy, mix_policies
from .quantile import dirichlet
from .resize import resize
from .tone import (
    equalize,
    equalize_tiles,
    gamma,
    invert_bytes,
    linear_levels,
    look_up,
    look_up_floats,
    posterize,
    stretch,
)
from .weather import rain
from .window import place

__all__ = [
    "add_noise",
    "apply_policy",
    "box_blur",
    "collage",
    "colour_jitter",
    "defocus",
    "dirichlet",
    "displace",
    "displace_by",
    "displace_lines",
    "downscale",
    "equalize",
    "equalize_tiles",
    "erase",
    "fill_channels",
    "fill_grid",
    "fill_rectangles",
    "filter2d",
    "follow_field",
    "follow_formula",
    "gamma",
    "gray_levels",
    "hue_levels",
    "identity_rows",
    "invert_bytes",
    "jpeg",
    "linear_levels",
    "look_up",
    "look_up_floats",
    "median_blur",
    "mix_policies",
    "permute",
    "photometric_distort",
    "pick_labels",
    "place",
    "plasma",
    "posterize",
    "rain",
    "resize",
    "salt_and_pepper",
    "salt_masks",
    "saturation_levels",
    "sensor_noise",
    "separable_filter",
    "sharpen",
    "shot_noise",
    "smooth_field",
    "stretch",
    "take_channels",
    "take_rows",
    "warp_homography",
    "whole_labels",
    "zoom_blur",
]
