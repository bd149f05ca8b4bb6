"""What is expected of the deformations, dropouts and noises, as in ``references.py`` and ``test_parity.py``."""

import colorsys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from references import OUTSIDE, Array, Reference, per_row, sample

import augment as K

# ------------------------------------------------------------------------------------------------------- deformations


def axis(n: int, align_corners: bool) -> tuple[Array, float]:
    """Give the places of pixels in halves of the image's size, and what such a half is in pixels."""
    half = (n - 1 if align_corners else n) / 2
    return (np.arange(n) - (n - 1) / 2) / half, half


def taken(op: Any, row: Array, x: Array, y: Array) -> Array:
    """Take every output pixel of a row (C, H, W) from x and y."""
    if op.flags["resample"] == "nearest":
        x, y = (np.floor(v + 0.5).astype(int) for v in (x, y))
        height, width = row.shape[1:]
        inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
        return row[:, y.clip(0, height - 1), x.clip(0, width - 1)] * inside
    return sample(row, x, y, OUTSIDE[op.flags["padding_mode"]])


def radial(distance: Array) -> Array:
    """Give r^2 log r."""
    return distance**2 * np.log(np.where(distance > 0, distance, 1))


def thin_plate(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    """Solve for the map from the targets to the sources and evaluate it at every pixel."""
    height, width = image.shape[-2:]
    (x, half_x), (y, half_y) = (axis(n, op.flags["align_corners"]) for n in (width, height))
    pixels = np.stack(np.meshgrid(x, y), -1).reshape(-1, 2)
    rows = []
    for row, src, dst in zip(image, params["src"].astype(float), params["dst"].astype(float), strict=True):
        kernel = [[radial(np.hypot(*(a - b))) for b in src] for a in dst]
        flat = np.column_stack([np.ones(5), dst])
        system = np.block([[np.array(kernel), flat], [flat.T, np.zeros((3, 3))]])
        weights = np.linalg.solve(system, np.vstack([src, np.zeros((3, 2))]))
        bends = [radial(np.hypot(*(pixels - point).T)) for point in src]
        places = np.column_stack([*bends, np.ones(len(pixels)), pixels]) @ weights
        at = places.reshape(height, width, 2) * [half_x, half_y] + [(width - 1) / 2, (height - 1) / 2]
        rows.append(taken(op, row, at[..., 0], at[..., 1]))
    return np.stack(rows)


def fisheye(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    (x, half_x), (y, half_y) = (axis(n, True) for n in image.shape[:-3:-1])
    x, y = np.meshgrid(x, y)
    rows = []
    names = ("center_x", "center_y", "gamma")
    for row, cx, cy, gamma in zip(image, *(params[name].astype(float)[:, 0] for name in names), strict=True):
        push = 1 + np.hypot(x - cx, y - cy) ** gamma
        rows.append(taken(op, row, (x * push + 1) * half_x, (y * push + 1) * half_y))
    return np.stack(rows)


def grid_distortion(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    height, width = image.shape[-2:]
    rows = []
    for row, steps_x, steps_y in zip(image, params["steps_x"], params["steps_y"], strict=True):
        places = []
        for steps, n in ((steps_x.astype(float), width), (steps_y.astype(float), height)):
            lines = np.concatenate([[0], np.cumsum(steps)])
            lines = lines / (lines[-1] if op.flags["normalized"] else len(steps)) * n
            # pixel centres lie half a pixel inside the edges
            places.append(np.interp(np.arange(n) + 0.5, np.linspace(0, n, len(lines)), lines) - 0.5)
        rows.append(taken(op, row, *np.meshgrid(*places)))
    return np.stack(rows)


# ----------------------------------------------------------------------------------------------------------- dropouts


def filled(op: Any, image: Array, row: int, params: Mapping[str, Array]) -> Array:
    """Give what the pixels of a row (C, H, W) are filled with."""
    if op.fill is None:
        return params["noise"][row].astype(float)
    return np.broadcast_to(np.reshape(op.fill, (-1, 1, 1)), image.shape[1:])


def coarse_dropout(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    output = image.copy()
    for i in range(len(image)):
        fill = filled(op, image, i, params)
        for x, y, w, h in zip(
            *(params[name][i].astype(int) for name in ("xs", "ys", "widths", "heights")), strict=True
        ):
            output[i, :, y : y + h, x : x + w] = fill[:, y : y + h, x : x + w]
    return output


def grid_dropout(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    output, (height, width) = image.copy(), image.shape[-2:]
    for i in range(len(image)):
        fill = filled(op, image, i, params)
        unit, hole, x, y = (int(params[name][i]) for name in ("unit", "hole", "offset_x", "offset_y"))
        for top in range(-y, height, unit):
            for left in range(-x, width, unit):
                part = slice(max(top, 0), max(top + hole, 0)), slice(max(left, 0), max(left + hole, 0))
                output[i][(slice(None), *part)] = fill[(slice(None), *part)]
    return output


# ------------------------------------------------------------------------------------------------------------- noises


def salt_and_pepper(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    return np.where(params["mask_salt"], 1.0, np.where(params["mask_pepper"], 0.0, image))


def iso_noise(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    """Go to HLS and back by the standard library, pixel by pixel."""
    output = np.empty_like(image)
    for i, row in enumerate(image):
        hls = np.array([colorsys.rgb_to_hls(*pixel) for pixel in row.reshape(3, -1).T]).T
        hue, light = params["noise"][i].astype(float).reshape(2, -1)
        strength = float(params["intensity"][i])
        mean = 255 * strength * hls[1].std()
        hls[0] = (hls[0] + hue * float(params["color_shift"][i]) * strength) % 1
        hls[1] = np.minimum(hls[1] + np.maximum(mean + np.sqrt(mean) * light, 0) / 255 * (1 - hls[1]), 1)
        output[i] = np.array([colorsys.hls_to_rgb(*pixel) for pixel in hls.T]).T.reshape(row.shape)
    return output


def shot_noise(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    photons = per_row(params["scale"])
    counts = image * photons + np.sqrt(image * photons) * params["noise"].astype(float)
    return (counts / photons).clip(0, 1)


REFERENCES: Mapping[str, Reference] = {
    "RandomCoarseDropout": coarse_dropout,
    "RandomFisheye": fisheye,
    "RandomGridDistortion": grid_distortion,
    "RandomGridDropout": grid_dropout,
    "RandomISONoise": iso_noise,
    "RandomSaltAndPepperNoise": salt_and_pepper,
    "RandomShotNoise": shot_noise,
    "RandomThinPlateSpline": thin_plate,
}

CENTRE = torch.tensor([0.2, 0.4])
MORE: Mapping[str, list[dict[str, Any]]] = {
    "RandomFisheye": [
        {"center_x": -CENTRE.flip(0), "center_y": CENTRE, "gamma": torch.tensor([0.5, 0.5])},
        {"center_x": CENTRE, "center_y": CENTRE * 0, "gamma": torch.tensor([2.0, 3.0])},
    ],
    "RandomSaltAndPepperNoise": [
        {"amount": 0.3, "salt_vs_pepper": 1.0},
        {"amount": (0.9, 1.0), "salt_vs_pepper": (0.0, 0.1)},
    ],
    "RandomThinPlateSpline": [
        {"scale": 0.35},
        {"scale": 0.3, "padding_mode": "border"},
        {"padding_mode": "reflection", "align_corners": False},
        {"scale": 0.0},
    ],
}


def any_channels_get_salt(kornia: Any) -> None:
    image = torch.rand(2, 4, 12, 14)
    op = K.RandomSaltAndPepperNoise(0.4, 0.5, p=1.0)
    output = op(image)
    changed = (output != image).float().mean((1, 2, 3))
    assert (changed - 0.4).abs().max() < 0.2 and torch.equal((output != image).any(1), (output != image).all(1))
    with pytest.raises(Exception, match="channels"):
        kornia.RandomSaltAndPepperNoise(0.4, 0.5, p=1.0)(image)


def a_still_plate_is_still(kornia: Any) -> None:
    image = torch.rand(2, 3, 6, 8)
    for flag in (True, False):
        assert torch.equal(K.RandomThinPlateSpline(0.0, align_corners=flag, p=1.0)(image), image)


INTENDED: Mapping[str, tuple[Callable[[Any], None], str]] = {
    "RandomSaltAndPepperNoise channels": (any_channels_get_salt, "any number of channels; kornia takes 1 or 3"),
    "RandomThinPlateSpline identity": (a_still_plate_is_still, "exact; kornia leaves the rounding of its solution"),
}
