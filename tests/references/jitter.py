"""Jitter: what is expected, as in ``common.py`` and ``test_parity.py``."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from skimage import color

from tests.references.common import Array, Reference, in_hsv, luma, per_row

FACTORS = ("brightness_factor", "contrast_factor", "saturation_factor", "hue_factor")


def by_rows(apply: Reference) -> Reference:
    """Apply a reference to each row, in its own order."""

    def rows(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
        found = []
        for i, order in enumerate(params["order"]):
            row = {name: params[name][i : i + 1] for name in FACTORS}
            found.append(apply(op, image[i : i + 1], {**row, "order": order}))
        return np.concatenate(found)

    return rows


def jitter(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    factors = [per_row(params[name]) for name in FACTORS]
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


def jiggle(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    b, c, s, h = (per_row(params[name]) for name in FACTORS)
    steps = (
        lambda x: x + b - 1,
        lambda x: x * c,
        lambda x: in_hsv(x, saturation=s),
        lambda x: in_hsv(x, turns=h),
    )
    for step in params["order"]:
        image = steps[step](image).clip(0, 1)
    return image


def distort(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    rows = []
    for i, before in enumerate(params["contrast_before"]):
        row = {name: value[i : i + 1] for name, value in params.items() if name != "forward_input_shape"}
        order = np.array([0, 1, 2, 3] if before else [0, 2, 3, 1])
        rows.append(jitter(op, image[i : i + 1], {**row, "order": order})[0, params["channel_permutation"][i]])
    return np.stack(rows)


REFERENCES: Mapping[str, Reference] = {
    "ColorJiggle": by_rows(jiggle),
    "ColorJitter": by_rows(jitter),
    "RandomPhotometricDistort": distort,
}
MORE: Mapping[str, list[dict[str, Any]]] = {
    "ColorJiggle": [
        {"brightness": (0.0, 2.0), "contrast": (0.0, 3.0), "saturation": (0.0, 3.0), "hue": 0.5},
        {"brightness": 0.4, "hue": (-0.1, 0.4), "order": (3, 0)},
    ],
    "ColorJitter": [{"contrast": (0.2, 2.0)}, {"saturation": (0.0, 2.0)}, {"hue": 0.5}, {"brightness": (0.5, 1.8)}],
}
