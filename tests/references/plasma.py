"""Fractals: what is expected, as in ``common.py`` and ``test_parity.py``."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import augment as K
from tests.references.common import Array, Reference, per_row


def plasma_brightness(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    return (image + per_row(params["intensity"]) * (2 * params["plasma"].astype(float) - 1)).clip(0, 1)


def plasma_contrast(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    return (0.5 + 4 * params["plasma"].astype(float) * (image - 0.5)).clip(0, 1)


def plasma_shadow(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    shaded = np.broadcast_to(params["plasma"] < per_row(params["shade_quantity"]), image.shape)
    return (image + np.where(shaded, per_row(params["shade_intensity"]), 0)).clip(0, 1)


def roughness_is_a_share(kornia: Any) -> None:
    for name in ("RandomPlasmaBrightness", "RandomPlasmaContrast", "RandomPlasmaShadow"):
        getattr(kornia, name)(roughness=(0.5, 2.0))
        with pytest.raises(ValueError, match=r"roughness: expected low <= high within \[0.0, 1.0\]"):
            getattr(K, name)(roughness=(0.5, 2.0))


REFERENCES: Mapping[str, Reference] = {
    "RandomPlasmaBrightness": plasma_brightness,
    "RandomPlasmaContrast": plasma_contrast,
    "RandomPlasmaShadow": plasma_shadow,
}
MORE: Mapping[str, list[dict[str, Any]]] = {
    "RandomPlasmaBrightness": [{}, {"roughness": (0.9, 1.0), "intensity": (-0.5, 0.5)}],
    "RandomPlasmaShadow": [{}, {"shade_intensity": (0.1, 0.4)}],
}
INTENDED: Mapping[str, tuple[Callable[[Any], None], str]] = {
    "plasma roughness": (roughness_is_a_share, "in 0..1, where the map stays in [0, 1]; kornia takes any number"),
}
