"""The opaque ops: data movement that the compiler would turn into scalar loops, and work that a row can be spared.

On the CPU a batch goes row by row through an op of ``rowwise``; on other devices the same functions run on the whole
batch inside the graph, where the compiler fuses them, and a select puts back the rows that do not change.
"""

from .colour import colour_jitter
from .dropout import fill_grid, fill_rectangles
from .field import displace, follow_field, smooth_field
from .filters import separable_filter
from .formula import displace_by, displace_lines, follow_formula
from .geometry import identity_rows, permute, warp_homography
from .noise import add_noise, salt_and_pepper, salt_masks, sensor_noise, shot_noise
from .tone import equalize

__all__ = [
    "add_noise",
    "colour_jitter",
    "displace",
    "displace_by",
    "displace_lines",
    "equalize",
    "fill_grid",
    "fill_rectangles",
    "follow_field",
    "follow_formula",
    "identity_rows",
    "permute",
    "salt_and_pepper",
    "salt_masks",
    "sensor_noise",
    "separable_filter",
    "shot_noise",
    "smooth_field",
    "warp_homography",
]
