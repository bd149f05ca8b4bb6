"""Gradients of light: what is expected, as in ``common.py`` and ``test_parity.py``."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.testing import assert_close

import augment as K
from tests.references.common import Array, Reference


def illumination(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    return (image + params["gradient"]).clip(0, 1)


def spot_reaches_its_gain(kornia: Any) -> None:
    arguments = {"gain": 0.5, "center": 0.5, "sigma": 1.0, "sign": 1.0, "p": 1.0}
    ours, theirs = (library.RandomGaussianIllumination(**arguments) for library in (K, kornia))
    gradient = ours.forward_parameters((1, 1, 255, 255))["gradient"]
    assert_close(gradient.amin(), torch.tensor(0.0))
    assert_close(gradient.amax(), torch.tensor(0.5))
    assert theirs.forward_parameters((1, 1, 255, 255))["gradient"].amax() < 0.4


REFERENCES: Mapping[str, Reference] = {
    "RandomGaussianIllumination": illumination,
    "RandomLinearCornerIllumination": illumination,
    "RandomLinearIllumination": illumination,
}
MORE: Mapping[str, list[dict[str, Any]]] = {
    "RandomGaussianIllumination": [{"gain": 0.5, "center": 0.3, "sigma": 0.1, "sign": 1.0}],
    "RandomLinearCornerIllumination": [{"gain": (0.5, 1.0), "sign": -1.0}],
    "RandomLinearIllumination": [{"gain": (0.5, 1.0), "sign": 1.0}, {"gain": 0.3}],
}
INTENDED: Mapping[str, tuple[Callable[[Any], None], str]] = {
    "RandomGaussianIllumination gain": (
        spot_reaches_its_gain,
        "the brightest pixel gains the gain; kornia adds 1e-6 to a range that may be smaller",
    ),
}
