"""What is expected of the filters, noise and compression, as in ``references.py`` and ``test_parity.py``."""

from collections.abc import Callable, Mapping
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from PIL import Image, ImageFilter
from references import BORDER, PAD, Array, Reference, gaussian, per_row, places, sample
from scipy import fft, ndimage, signal
from torch.testing import assert_close

import augment as K

# ---------------------------------------------------------------------------------------------------------- references


def box(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    height, width = op.flags["kernel_size"]
    anchor = (width - 1) // 2, (height - 1) // 2
    options = {"anchor": anchor, "borderType": BORDER[op.flags["border_type"]]}
    return np.stack([[cv2.blur(plane, (width, height), **options) for plane in row] for row in image])


def median(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    return ndimage.median_filter(image, size=(1, 1, *op.flags["kernel_size"]), mode="mirror")


def correlate(row: Array, kernel: Array, border: str) -> Array:
    """Correlate each plane of a row (C, H, W) with one kernel of odd size."""
    margin = [(0, 0), *((n // 2, n // 2) for n in kernel.shape)]
    padded = np.pad(row, margin, mode=PAD[border])
    return np.stack([signal.correlate2d(plane, kernel, mode="valid") for plane in padded])


def line(size: int, angle: float, direction: float, mode: str) -> Array:
    """Draw a weighted line into the middle row of a kernel, and turn it counter-clockwise."""
    kernel = np.zeros((size, size))
    kernel[size // 2] = np.linspace((1 + direction) / 2, (1 - direction) / 2, size)
    y, x = np.mgrid[:size, :size] - size // 2
    c, s = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
    # a pixel takes what was there before the turn: with y down, back is clockwise
    u, v = c * x - s * y + size // 2, s * x + c * y + size // 2
    order = {"nearest": 0, "bilinear": 1}[mode]
    if order == 0:
        u, v = np.round(u, 6), np.round(v, 6)  # what is meant to be a half is one
        u, v = np.round(u), np.round(v)
    turned = ndimage.map_coordinates(kernel, [v, u], order=order, mode="grid-constant", prefilter=False)
    return turned / turned.sum()


def motion(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    drawn = zip(*(params[name] for name in ("ksize_factor", "angle_factor", "direction_factor")), strict=True)
    lines = [line(int(size), float(a), float(d), op.flags["resample"]) for size, a, d in drawn]
    return np.stack([correlate(row, k, op.flags["border_type"]) for row, k in zip(image, lines, strict=True)])


def disk(radius: int, sigma: float) -> Array:
    """Give the soft disk of ImageNet-C, with room for all of it."""
    soft = gaussian(3 if radius <= 8 else 5, sigma)
    reach = radius + len(soft) // 2
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    inside = (x**2 + y**2 <= radius**2).astype(float)
    return signal.convolve2d(inside / inside.sum(), np.outer(soft, soft), mode="same")


def defocus(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    drawn = zip(params["radius"].astype(int), params["alias_blur"].astype(float), strict=True)
    return np.stack(
        [correlate(row, disk(*values), op.flags["border_type"]) for row, values in zip(image, drawn, strict=True)]
    )


def zoom(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    height, width = image.shape[-2:]
    y, x = np.mgrid[:height, :width] - np.reshape([(height - 1) / 2, (width - 1) / 2], (2, 1, 1))
    rows = []
    for row, most in zip(image, params["max_factor"].astype(float), strict=True):
        factors = np.linspace(1, most, op.flags["steps"])
        shown = [sample(row, x / f + (width - 1) / 2, y / f + (height - 1) / 2, "nearest") for f in factors]
        rows.append(np.mean(shown, 0))
    return np.stack(rows)


def sharpness(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    kernel = np.array([[1, 1, 1], [1, 5, 1], [1, 1, 1]]) / 13
    image = image.clip(0, 1)
    smooth = image.copy()
    smooth[..., 1:-1, 1:-1] = ndimage.correlate(image, kernel[None, None], mode="nearest")[..., 1:-1, 1:-1]
    f = per_row(params["sharpness"])
    return (image * f + smooth * (1 - f)).clip(0, 1)


def overlap(n: int, m: int) -> Array:
    """Give what m pixels cover of n on the same length, as shares of each of the m."""
    edges = np.clip(np.arange(m + 1)[:, None] * n / m - np.arange(n), 0, 1)
    return np.diff(edges, axis=0) * m / n


def resized(row: Array, size: tuple[int, int], mode: str) -> Array:
    (height, width), (h, w) = row.shape[-2:], size
    if mode == "area":
        return overlap(height, h) @ row @ overlap(width, w).T
    if mode == "bilinear":
        return sample(row, *np.meshgrid(places(0, width, w, False), places(0, height, h, False)), "nearest")
    y, x = ([(2 * i + 1) * n // (2 * m) for i in range(m)] for n, m in ((height, h), (width, w)))
    return row[:, y][:, :, x]


def downscale(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    rows = []
    for row, scale in zip(image, params["scale"].astype(float), strict=True):
        small = tuple(max(1, round(scale * n)) for n in image.shape[-2:])
        rows.append(resized(resized(row, small, op.flags["downscale"]), image.shape[-2:], op.flags["upscale"]))
    return np.stack(rows)


def standard_tables() -> list[Array]:
    """Give the tables of the JPEG standard as libjpeg writes them for a quality of 50, luma and chroma."""
    import io

    file = io.BytesIO()
    Image.new("RGB", (16, 16)).save(file, "JPEG", quality=50)
    tables = Image.open(file).quantization  # type: ignore[attr-defined]
    return [np.array(tables[i], float).reshape(8, 8) for i in (0, 1)]


def soft_floor(x: Array) -> Array:
    return np.floor(x) + (x - np.floor(x) - 0.5) ** 3


def jpeg_tables(quality: float) -> list[Array]:
    """Scale the tables as libjpeg does, each rounding down and each cut made soft."""
    scale = soft_floor(np.array(5000 / quality if quality < 50 else 200 - 2 * quality))
    tables = []
    for table in standard_tables():
        steps = (table * scale + 50) / 100
        steps = np.where(steps > 255, 255 + 0.02 * (1 - np.exp(np.minimum(255 - steps, 0))), steps)
        steps = np.where(steps < 1, 1 - 0.02 * (1 - np.exp(np.minimum(steps - 1, 0))), steps)
        tables.append(soft_floor(steps))
    return tables


def coded(plane: Array, table: Array) -> Array:
    """Quantise the cosine transform of every block, with soft rounding."""
    output = plane.copy()
    for y in range(0, plane.shape[0], 8):
        for x in range(0, plane.shape[1], 8):
            q = fft.dctn(plane[y : y + 8, x : x + 8], norm="ortho") / table
            q = np.round(q) + (q - np.round(q)) ** 3
            output[y : y + 8, x : x + 8] = fft.idctn(q * table, norm="ortho")
    return output


def halved(plane: Array) -> Array:
    """Blur with three taps of a Gaussian of half a pixel, and take the mean of every two by two."""
    taps = gaussian(3, 0.5)
    blurred = cv2.sepFilter2D(plane, -1, taps, taps, borderType=cv2.BORDER_REFLECT_101)
    return overlap(plane.shape[0], plane.shape[0] // 2) @ blurred @ overlap(plane.shape[1], plane.shape[1] // 2).T


def jpeg(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    height, width = image.shape[-2:]
    to_luma = np.array([0.299, 0.587, 0.114])
    forward = np.stack([to_luma, 0.564 * (np.eye(3)[2] - to_luma), 0.713 * (np.eye(3)[0] - to_luma)])
    grown = [(0, 0), (0, -height % 16), (0, -width % 16)]
    rows = []
    for row, quality in zip(image, params["jpeg_quality"].astype(float), strict=True):
        tables = jpeg_tables(quality)
        padded = np.pad(row.clip(0, 1), grown, mode="edge") * 255
        y, cb, cr = np.tensordot(forward, padded, 1) - np.reshape([128, 0.5, 0.5], (3, 1, 1))
        y = coded(y, tables[0])
        cb, cr = (resized(coded(halved(c), tables[1])[None], y.shape, "bilinear")[0] for c in (cb, cr))
        back = np.tensordot(np.linalg.inv(forward), np.stack([y + 128, cb + 0.5, cr + 0.5]), 1) / 255
        rows.append(back[:, :height, :width].clip(0, 1))
    return np.stack(rows)


REFERENCES: Mapping[str, Reference] = {
    "RandomBoxBlur": box,
    "RandomDefocus": defocus,
    "RandomDownscale": downscale,
    "RandomJPEG": jpeg,
    "RandomMedianBlur": median,
    "RandomMotionBlur": motion,
    "RandomSharpness": sharpness,
    "RandomZoomBlur": zoom,
}

# -------------------------------------------------------------------------------------------------------------- parity

MORE: Mapping[str, list[dict[str, Any]]] = {
    "RandomBoxBlur": [
        {"kernel_size": (5, 3)},
        {"kernel_size": (4, 7), "border_type": "constant"},
        {"kernel_size": (2, 2), "border_type": "circular", "normalized": False},
        {"kernel_size": (9, 6), "border_type": "replicate"},
    ],
    "RandomJPEG": [{"jpeg_quality": (1.0, 10.0)}, {"jpeg_quality": 10.0}, {"jpeg_quality": (90.0, 100.0)}],
    "RandomMedianBlur": [{"kernel_size": (5, 5)}, {"kernel_size": (3, 7)}, {"kernel_size": (7, 1)}],
    "RandomMotionBlur": [
        {"kernel_size": 7, "angle": 180.0, "direction": (0.5, 1.0), "border_type": "reflect"},
        {"kernel_size": (3, 9), "angle": (30.0, 30.0), "direction": 0.0, "border_type": "replicate"},
        {"kernel_size": 9, "angle": 360.0, "direction": 1.0, "resample": "bilinear", "border_type": "circular"},
        {"kernel_size": 5, "angle": 90.0, "direction": 1.0, "resample": "bicubic"},
    ],
    "RandomSharpness": [{"sharpness": (0.0, 3.0)}, {"sharpness": 2.0}],
}


def narrow_images_stay(kornia: Any) -> None:
    thin = torch.rand(2, 3, 2, 9)
    assert torch.equal(K.RandomSharpness(p=1.0)(thin), thin)
    levels = (thin[0] * 255).to(torch.uint8).permute(1, 2, 0).numpy()
    assert np.array_equal(np.asarray(Image.fromarray(levels).filter(ImageFilter.SMOOTH)), levels)
    with pytest.raises(ValueError):
        kornia.RandomSharpness(p=1.0)(thin)


def any_channels_are_coded(kornia: Any) -> None:
    grey = torch.rand(1, 1, 16, 24)
    op = K.RandomJPEG((20.0, 20.0), p=1.0)
    expected = coded(grey[0, 0].double().numpy() * 255 - 128, jpeg_tables(20.0)[0]) + 128
    assert_close(op(grey)[0, 0], torch.from_numpy(expected / 255).clamp(0, 1).float(), atol=1e-5, rtol=0)
    with pytest.raises(Exception, match="3"):
        kornia.RandomJPEG(p=1.0)(grey)


INTENDED: Mapping[str, tuple[Callable[[Any], None], str]] = {
    "RandomSharpness of thin images": (
        narrow_images_stay,
        "an image is all edge, which stays, as in the PIL and torchvision; kornia refuses it",
    ),
    "RandomJPEG channels": (any_channels_are_coded, "any number of channels is coded; kornia takes RGB alone"),
}
