"""Independent references: what every op computes, in NumPy, SciPy, OpenCV, scikit-image and PIL.

A reference takes (op, image, params): the op for its configuration alone, an image (B, C, H, W), and the parameters of
a call as arrays. Nothing of the library is called. Pixel centres are integers, x right, y down; matrices lead from
input to output.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage
from skimage import color

Array = NDArray[Any]
Reference = Callable[[Any, Array, Mapping[str, Array]], Array]
LUMA = np.array([0.299, 0.587, 0.114])
# NumPy's, SciPy's and OpenCV's names of what comes in from outside
PAD = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
OUTSIDE = {"zeros": "grid-constant", "border": "nearest", "reflection": "reflect"}


def picture(seed: int, rows: int, height: int, width: int) -> Array:
    """Give an RGB batch whose even rows are smooth and whose odd rows are noise.

    Values lie a quarter of an 8-bit level above a level: none is at a tie, and truncation agrees with rounding.
    """
    rng = np.random.default_rng(seed)
    noise = rng.random((rows, 3, height, width))
    coarse = rng.random((rows, 3, 4, 5))
    noise[::2] = ndimage.zoom(coarse, (1, 1, height / 4, width / 5), order=1)[::2]
    return ((np.minimum(noise, 1) * 254).round() + 0.25) / 255


def sample(image: Array, x: Array, y: Array, outside: str, cval: float = 0.0, order: int = 1) -> Array:
    """Interpolate each plane of a row (C, H, W) at positions (h, w)."""
    return np.stack(
        [ndimage.map_coordinates(p, [y, x], order=order, mode=outside, cval=cval, prefilter=False) for p in image]
    )


def places(first: float, extent: float, n: int, align_corners: bool) -> Array:
    """Give where n output pixels lie on an axis: from first to last pixel, or from edge to edge."""
    if align_corners:
        return first + np.linspace(0, extent - 1, n)
    return first + (np.arange(n) + 0.5) * extent / n - 0.5


def resize(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    (height, width), (h, w) = image.shape[-2:], op.size
    if op.flags["antialias"]:  # the PIL widens its triangle by the factor of the reduction, and reaches edge to edge
        planes = [[Image.fromarray(p.astype(np.float32)) for p in row] for row in image]
        return np.stack([[np.asarray(p.resize((w, h), Image.Resampling.BILINEAR)) for p in row] for row in planes])
    x, y = (places(0, extent, n, op.flags["align_corners"]) for extent, n in ((width, w), (height, h)))
    return np.stack([sample(row, *np.meshgrid(x, y), "nearest") for row in image])


def per_row(values: Array) -> Array:
    return values.astype(float).reshape(-1, 1, 1, 1)


def luma(image: Array) -> Array:
    return np.tensordot(LUMA, image, (0, -3))[..., None, :, :]


def gaussian(size: int, sigma: float) -> Array:
    weights = np.exp(-0.5 * (np.arange(-(size // 2), size // 2 + 1) / sigma) ** 2)
    return weights / weights.sum()


def in_hsv(image: Array, saturation: Array | float = 1.0, turns: Array | float = 0.0) -> Array:
    hsv = color.rgb2hsv(image, channel_axis=1)
    hsv[:, 1:2] = (hsv[:, 1:2] * saturation).clip(0, 1)
    hsv[:, :1] = (hsv[:, :1] + turns) % 1
    return color.hsv2rgb(hsv, channel_axis=1)
