"""The opaque ops: data movement that the compiler would turn into scalar loops, and work that a row can be spared.

On the CPU a batch goes row by row through an op of ``rowwise``; on other devices the same functions run on the whole
batch inside the graph, where the compiler fuses them, and a select puts back the rows that do not change.
"""

from .colour import colour_jitter
from .field import displace, follow_field, smooth_field
from .filters import separable_filter
from .geometry import identity_rows, permute, warp_homography
from .plasma import plasma
from .tone import equalize
from .weather import rain

__all__ = [
    "colour_jitter",
    "displace",
    "equalize",
    "follow_field",
    "identity_rows",
    "permute",
    "plasma",
    "rain",
    "separable_filter",
    "smooth_field",
    "warp_homography",
]
