"""Independent references: what every op computes, in NumPy, SciPy, OpenCV, scikit-image and PIL.

A reference takes (op, image, params): the op for its configuration alone, an image (B, C, H, W), and the parameters of
a call as arrays. Nothing of the library is called. Pixel centres are integers, x right, y down; matrices lead from
input to output.
"""

from collections.abc import Callable, Mapping
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps
from scipy import ndimage
from skimage import color

Array = NDArray[Any]
Reference = Callable[[Any, Array, Mapping[str, Array]], Array]

LUMA = np.array([0.299, 0.587, 0.114])
# NumPy's, SciPy's and OpenCV's names of what comes in from outside
PAD = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
OUTSIDE = {"zeros": "grid-constant", "border": "nearest", "reflection": "reflect"}
BORDER = {"constant": cv2.BORDER_CONSTANT, "reflect": cv2.BORDER_REFLECT_101, "replicate": cv2.BORDER_REPLICATE}


def picture(seed: int, rows: int, height: int, width: int) -> Array:
    """Give an RGB batch whose even rows are smooth and whose odd rows are noise.

    Values lie a quarter of an 8-bit level above a level: none is at a tie, and truncation agrees with rounding.
    """
    rng = np.random.default_rng(seed)
    noise = rng.random((rows, 3, height, width))
    coarse = rng.random((rows, 3, 4, 5))
    noise[::2] = ndimage.zoom(coarse, (1, 1, height / 4, width / 5), order=1)[::2]
    return ((np.minimum(noise, 1) * 254).round() + 0.25) / 255


# ---------------------------------------------------------------------------------------------------------- geometry


def shift(x: float, y: float) -> Array:
    return np.array([[1, 0, x], [0, 1, y], [0, 0, 1.0]])


def stretch(x: float, y: float) -> Array:
    return np.diag([x, y, 1.0])


def clockwise(degrees: float) -> Array:
    """Turn clockwise as one sees the image: with y down, x turns towards y."""
    c, s = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def about(x: float, y: float, linear: Array) -> Array:
    return shift(x, y) @ linear @ shift(-x, -y)


def sample(image: Array, x: Array, y: Array, outside: str, cval: float = 0.0, order: int = 1) -> Array:
    """Interpolate each plane of a row (C, H, W) at positions (h, w)."""
    return np.stack(
        [ndimage.map_coordinates(p, [y, x], order=order, mode=outside, cval=cval, prefilter=False) for p in image]
    )


def warp(op: Any, image: Array, matrices: list[Array]) -> Array:
    """Take every output pixel from where the inverse matrix leads."""
    height, width = image.shape[-2:]
    y, x = np.mgrid[:height, :width].astype(float)
    fill = (op.flags.get("fill") or [0.0])[0]
    outside = OUTSIDE[op.flags.get("padding_mode", "zeros")]
    order = {"nearest": 0, "bilinear": 1}[op.flags["resample"]]
    rows = []
    for row, matrix in zip(image, matrices, strict=True):
        u, v, w = np.tensordot(np.linalg.inv(matrix), np.stack([x, y, np.ones_like(x)]), 1)
        rows.append(sample(row, u / w, v / w, outside, fill, order))
    return np.stack(rows)


def rotation(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    height, width = image.shape[-2:]
    center = (width - 1) / 2, (height - 1) / 2
    return warp(op, image, [about(*center, clockwise(-float(d))) for d in params["degrees"]])


def affine(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    names = ("translations", "center", "scale", "angle", "shear_x", "shear_y")
    matrices = []
    for translation, center, scale, angle, sx, sy in zip(*(params[n].astype(float) for n in names), strict=True):
        shear_x, shear_y = np.eye(3), np.eye(3)
        shear_x[0, 1], shear_y[1, 0] = -np.tan(np.deg2rad(sx)), -np.tan(np.deg2rad(sy))
        linear = clockwise(angle) @ stretch(*scale) @ shear_y @ shear_x
        matrices.append(shift(*translation) @ about(*center, linear))
    return warp(op, image, matrices)


def perspective(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    points = (params[name].astype(float) for name in ("start_points", "end_points"))
    return warp(op, image, [four_points(a, b) for a, b in zip(*points, strict=True)])


def four_points(start: Array, end: Array) -> Array:
    """Solve for the homography through four pairs of points; OpenCV's own solution is single precision."""
    rows = [[x, y, 1, 0, 0, 0, -u * x, -u * y] for (x, y), (u, _) in zip(start, end, strict=True)]
    rows += [[0, 0, 0, x, y, 1, -v * x, -v * y] for (x, y), (_, v) in zip(start, end, strict=True)]
    return np.append(np.linalg.solve(rows, end.T.flatten()), 1).reshape(3, 3)


def elastic(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    height, width = image.shape[-2:]
    y, x = np.mgrid[:height, :width].astype(float)
    lost = 1 if op.flags["align_corners"] else 0
    rows = []
    for row, noise in zip(image, params["noise"].astype(float), strict=True):
        for axis in (0, 1):
            taps = gaussian(op.flags["kernel_size"][axis], op.flags["sigma"][axis])
            noise = ndimage.correlate1d(noise, taps, axis=axis + 1, mode="constant")
        dx = op.flags["alpha"][0] * noise[0] * (width - lost) / 2
        dy = op.flags["alpha"][1] * noise[1] * (height - lost) / 2
        fill = (op.flags.get("fill") or [0.0])[0]
        rows.append(sample(row, x + dx, y + dy, OUTSIDE[op.flags["padding_mode"]], fill))
    return np.stack(rows)


def horizontal_flip(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    return image[..., ::-1]


def vertical_flip(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    return image[..., ::-1, :]


# ------------------------------------------------------------------------------------------------- crops and resizes


def crop(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    h, w = op.size
    constant = op.flags["padding_mode"] == "constant"
    options = {"constant_values": op.flags["fill"][0]} if constant else {}
    rows = []
    for row, src, sides in zip(image, params["src"].astype(int), params["padding_size"], strict=True):
        left, right, top, bottom = sides
        padded = np.pad(row, [(0, 0), (top, bottom), (left, right)], mode=PAD[op.flags["padding_mode"]], **options)
        x, y = src[0]
        rows.append(padded[:, y : y + h, x : x + w])
    return np.stack(rows)


def center_crop(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    (height, width), (h, w) = image.shape[-2:], op.size
    top, left = (height - h) // 2, (width - w) // 2
    return image[..., top : top + h, left : left + w]


def places(first: float, extent: float, n: int, align_corners: bool) -> Array:
    """Give where n output pixels lie on an axis: from first to last pixel, or from edge to edge."""
    if align_corners:
        return first + np.linspace(0, extent - 1, n)
    return first + (np.arange(n) + 0.5) * extent / n - 0.5


def resized_crop(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    h, w = op.size
    rows = []
    for row, src in zip(image, params["src"].astype(float), strict=True):
        (x1, y1), (x2, y2) = src[0], src[2]
        x = places(x1, x2 - x1 + 1, w, op.flags["align_corners"])
        y = places(y1, y2 - y1 + 1, h, op.flags["align_corners"])
        rows.append(sample(row, *np.meshgrid(x, y), "nearest"))
    return np.stack(rows)


def resize(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    (height, width), (h, w) = image.shape[-2:], op.size
    if op.flags["antialias"]:  # the PIL widens its triangle by the factor of the reduction, and reaches edge to edge
        planes = [[Image.fromarray(p.astype(np.float32)) for p in row] for row in image]
        return np.stack([[np.asarray(p.resize((w, h), Image.Resampling.BILINEAR)) for p in row] for row in planes])
    x, y = (places(0, extent, n, op.flags["align_corners"]) for extent, n in ((width, w), (height, h)))
    return np.stack([sample(row, *np.meshgrid(x, y), "nearest") for row in image])


# --------------------------------------------------------------------------------------------------------- intensity


def per_row(values: Array) -> Array:
    return values.astype(float).reshape(-1, 1, 1, 1)


def luma(image: Array) -> Array:
    return np.tensordot(LUMA, image, (0, -3))[..., None, :, :]


def brightness(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    output = image + per_row(params["brightness_factor"]) - 1
    return output.clip(0, 1) if op.flags["clip_output"] else output


def grayscale(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    return np.broadcast_to(luma(image), image.shape)


def jitter(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    names = ("brightness_factor", "contrast_factor", "saturation_factor", "hue_factor")
    factors = [per_row(params[name]) for name in names]
    for step in params["order"]:
        f = factors[step]
        if step == 0:
            image = image * f
        elif step == 1:
            image = image * f + (1 - f) * luma(image).mean((-2, -1), keepdims=True)
        elif step == 2:
            image = image * f + (1 - f) * luma(image)
        else:
            hsv = color.rgb2hsv(image, channel_axis=1)
            hsv[:, :1] = (hsv[:, :1] + f) % 1
            image = color.hsv2rgb(hsv, channel_axis=1)
        image = image.clip(0, 1)
    return image


def channels(values: list[float]) -> Array:
    return np.reshape(values, (-1, 1, 1))


def normalize(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    return (image - channels(op.flags["mean"])) / channels(op.flags["std"])


def denormalize(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    return image * channels(op.flags["std"]) + channels(op.flags["mean"])


def gaussian(size: int, sigma: float) -> Array:
    weights = np.exp(-0.5 * (np.arange(-(size // 2), size // 2 + 1) / sigma) ** 2)
    return weights / weights.sum()


def blur(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    height, width = op.flags["kernel_size"]
    border = BORDER[op.flags["border_type"]]
    output = image.astype(float)
    for row, sigma in zip(output, params["sigma"].astype(float), strict=True):
        taps_y, taps_x = gaussian(height, sigma), gaussian(width, sigma)
        for plane in row:
            plane[:] = cv2.sepFilter2D(plane, -1, taps_x, taps_y, borderType=border)
    return output


def noise(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    return image + params["gaussian_noise"]


def erasing(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    output = image.copy()
    corners = (params[name].astype(int) for name in ("xs", "ys", "widths", "heights"))
    for row, x, y, w, h, value in zip(output, *corners, params["values"], strict=True):
        row[:, y : y + h, x : x + w] = value
    return output


def equalize(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    levels = np.rint(image * 255).astype(np.uint8)
    output = image.copy()
    for plane, level in zip(output.reshape(-1, *image.shape[-2:]), levels.reshape(-1, *image.shape[-2:]), strict=True):
        if (level.size - (level == level.max()).sum()) // 255:  # else there is no step, and nothing to flatten
            plane[:] = np.asarray(ImageOps.equalize(Image.fromarray(level))) / 255
    return output


REFERENCES: Mapping[str, Reference] = {
    "CenterCrop": center_crop,
    "ColorJitter": jitter,
    "Denormalize": denormalize,
    "Normalize": normalize,
    "RandomAffine": affine,
    "RandomBrightness": brightness,
    "RandomCrop": crop,
    "RandomElasticTransform": elastic,
    "RandomEqualize": equalize,
    "RandomErasing": erasing,
    "RandomGaussianBlur": blur,
    "RandomGaussianNoise": noise,
    "RandomGrayscale": grayscale,
    "RandomHorizontalFlip": horizontal_flip,
    "RandomPerspective": perspective,
    "RandomResizedCrop": resized_crop,
    "RandomRotation": rotation,
    "RandomVerticalFlip": vertical_flip,
    "Resize": resize,
}
