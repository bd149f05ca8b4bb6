"""Erasing: what is expected, as in ``common.py`` and ``test_parity.py``."""

from collections.abc import Mapping
from typing import Any

from tests.references.common import Array, Reference


def erasing(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    output = image.copy()
    corners = (params[name].astype(int) for name in ("xs", "ys", "widths", "heights"))
    for row, x, y, w, h, value in zip(output, *corners, params["values"], strict=True):
        row[:, y : y + h, x : x + w] = value
    return output


REFERENCES: Mapping[str, Reference] = {
    "RandomErasing": erasing,
}
MORE: Mapping[str, list[dict[str, Any]]] = {
    "RandomErasing": [{"value": 0.5, "scale": (0.1, 0.1), "ratio": (1.0, 1.0)}, {"ratio": (2.0, 3.0)}],
}
