"""The opaque ops: data movement that the compiler would turn into scalar loops, and work that a row can be spared.

On the CPU a batch goes through an op of a ``Kernel``; on other devices its maths run on the whole batch inside the
graph, where the compiler fuses them, and a select puts back the rows that do not change.
"""

from .blur.entry import box_blur, defocus, filter2d, median_blur, separable_filter, sharpen, zoom_blur
from .built import ready
from .colour.entry import colour_jitter, fill_channels, recolour, take_channels
from .compression.entry import downscale, jpeg
from .dropout.entry import erase, fill_grid, fill_rectangles
from .field.entry import displace, follow_field, smooth_field
from .field.formula import displace_by, displace_lines, follow_formula
from .histogram.entry import equalize, equalize_tiles
from .light.entry import plasma
from .mixing.entry import collage, pick_labels, take_rows, whole_labels
from .noise.entry import add_noise, salt_and_pepper, salt_masks, sensor_noise, shot_noise
from .policy.entry import apply_policy, mix_policies
from .tone.entry import gamma
from .warp.homography import identity_rows, warp_homography
from .warp.permutation import permute
from .warp.resize import cut_window, resize
from .weather.entry import rain

__all__ = [
    "add_noise",
    "apply_policy",
    "box_blur",
    "collage",
    "colour_jitter",
    "cut_window",
    "defocus",
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
    "identity_rows",
    "jpeg",
    "median_blur",
    "mix_policies",
    "permute",
    "pick_labels",
    "plasma",
    "rain",
    "ready",
    "recolour",
    "resize",
    "salt_and_pepper",
    "salt_masks",
    "sensor_noise",
    "separable_filter",
    "sharpen",
    "shot_noise",
    "smooth_field",
    "take_channels",
    "take_rows",
    "warp_homography",
    "whole_labels",
    "zoom_blur",
]
