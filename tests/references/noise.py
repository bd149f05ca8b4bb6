"""Noises: what is expected, as in ``common.py`` and ``test_parity.py``."""

import colorsys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch

import augment as K
from tests.references.common import Array, Reference, per_row


def noise(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    return image + params["gaussian_noise"]


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


def any_channels_get_salt(kornia: Any) -> None:
    image = torch.rand(2, 4, 12, 14)
    op = K.RandomSaltAndPepperNoise(0.4, 0.5, p=1.0)
    output = op(image)
    changed = (output != image).float().mean((1, 2, 3))
    assert (changed - 0.4).abs().max() < 0.2 and torch.equal((output != image).any(1), (output != image).all(1))
    with pytest.raises(Exception, match="channels"):
        kornia.RandomSaltAndPepperNoise(0.4, 0.5, p=1.0)(image)


REFERENCES: Mapping[str, Reference] = {
    "RandomGaussianNoise": noise,
    "RandomISONoise": iso_noise,
    "RandomSaltAndPepperNoise": salt_and_pepper,
    "RandomShotNoise": shot_noise,
}
MORE: Mapping[str, list[dict[str, Any]]] = {
    "RandomGaussianNoise": [{"mean": 0.2, "std": 0.5}],
    "RandomSaltAndPepperNoise": [
        {"amount": 0.3, "salt_vs_pepper": 1.0},
        {"amount": (0.9, 1.0), "salt_vs_pepper": (0.0, 0.1)},
    ],
}
INTENDED: Mapping[str, tuple[Callable[[Any], None], str]] = {
    "RandomSaltAndPepperNoise channels": (any_channels_get_salt, "any number of channels; kornia takes 1 or 3"),
}
