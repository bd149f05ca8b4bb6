"""What is expected of the colour and tone ops, as in ``references.py`` and ``test_parity.py``."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from references import Array, Reference, per_row


def contrast(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    output = image * per_row(params["contrast_factor"])
    return output.clip(0, 1) if op.flags["clip_output"] else output


def solarize(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    lifted = (image + per_row(params["additions"])).clip(0, 1)
    return np.where(lifted < per_row(params["thresholds"]), lifted, 1 - lifted)


REFERENCES: Mapping[str, Reference] = {
    "RandomContrast": contrast,
    "RandomSolarize": solarize,
}
MORE: Mapping[str, list[dict[str, Any]]] = {
    "RandomContrast": [{"contrast": 0.7, "clip_output": False}, {"contrast": (2.0, 3.0)}],
    "RandomSolarize": [{"thresholds": (0.0, 1.0), "additions": (-0.5, 0.5)}, {"thresholds": 0.3, "additions": 0.0}],
}
INTENDED: Mapping[str, tuple[Callable[[Any], None], str]] = {}
