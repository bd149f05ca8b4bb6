"""The opaque ops: data movement that the compiler would turn into scalar loops, and work that a row can be spared.

On the CPU a batch goes row by row through an op of ``rowwise``; on other devices the same functions run on the whole
batch inside the graph, where the compiler fuses them, and a select puts back the rows that do not change.
"""

from .colour import colour_jitter
from .compression import downscale, jpeg
from .field import displace, follow_field, smooth_field
from .filters import box_blur, defocus, filter2d, median_blur, separable_filter, sharpen, zoom_blur
from .geometry import identity_rows, permute, warp_homography
from .tone import equalize

__all__ = [
    "box_blur",
    "colour_jitter",
    "defocus",
    "displace",
    "downscale",
    "equalize",
    "filter2d",
    "follow_field",
    "identity_rows",
    "jpeg",
    "median_blur",
    "permute",
    "separable_filter",
    "sharpen",
    "smooth_field",
    "warp_homography",
    "zoom_blur",
]
