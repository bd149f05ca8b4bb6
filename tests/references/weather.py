"""Rain, snow and fog: what is expected, as in ``common.py`` and ``test_parity.py``."""

import colorsys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import augment as K
from tests.references.common import Array, Reference, per_row

SHAPE = (4, 3, 32, 40)


def rain(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    output = image.copy()
    names = ("coordinates_factor", "number_of_drops_factor", "drop_height_factor", "drop_width_factor")
    for row, starts, count, height, width in zip(output, *(params[name] for name in names), strict=True):
        down, across = int(height) - 1, max(abs(int(width)) - 1, 0)
        steps = max(down, across)
        left = across if width < 0 else 0
        for u, v in starts[: int(count)]:
            y, x = int(u * (row.shape[1] - down)), int(v * (row.shape[2] - across)) + left
            for k in range(steps + 1):
                dy, dx = (k * n // max(steps, 1) for n in (down, across))
                row[:, y + dy, x - dx if width < 0 else x + dx] = 200 / 255
    return output


def snow(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    output = image.astype(float)
    for row, limit, factor in zip(output, params["snow_coefficient"], params["brightness"], strict=True):
        for y, x in np.ndindex(*row.shape[1:]):
            hue, light, saturation = colorsys.rgb_to_hls(*row[:, y, x])
            if light < limit:
                row[:, y, x] = colorsys.hls_to_rgb(hue, min(light * factor, 1), saturation)
    return output


def fog(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    amount = per_row(np.interp(params["severity"], range(6), [0, 1.5, 2, 2.5, 2.5, 3]))
    highest = image.max((1, 2, 3), keepdims=True)
    return (image + amount * params["plasma"]) * highest / (highest + amount)


def drops_have_a_static_number(kornia: Any) -> None:
    op = K.RandomRain(number_of_drops=(10, 90), p=1.0)
    for seed in range(3):
        torch.manual_seed(seed)
        params = op.forward_parameters(SHAPE)
        assert params["coordinates_factor"].shape == (4, 90, 2)
        assert (params["number_of_drops_factor"] <= 90).all() and (params["number_of_drops_factor"] >= 10).all()
    once = op(torch.zeros(SHAPE), params=params)
    params["coordinates_factor"][:, params["number_of_drops_factor"].max() :] = 0.77  # beyond those that count
    assert torch.equal(op(torch.zeros(SHAPE), params=params), once)


def drops_may_be_as_long_as_the_image(kornia: Any) -> None:
    arguments = {"number_of_drops": (1, 1), "drop_height": (6, 6), "drop_width": (4, 4), "p": 1.0}
    image = torch.zeros(1, 1, 6, 4)
    with pytest.raises(Exception, match="drop"):
        kornia.RandomRain(**arguments)(image)
    # six rows and four columns: the fourth column is reached at the last step alone
    expected = torch.zeros(6, 4)
    expected[[0, 1, 2, 3, 4, 5], [0, 0, 1, 1, 2, 3]] = 200 / 255
    assert_close(K.RandomRain(**arguments)(image)[0, 0], expected)


def largest_drop_decides(kornia: Any) -> None:
    arguments = {"drop_height": (1, 20), "drop_width": (0, 0), "number_of_drops": (1, 1), "p": 1.0}
    op = K.RandomRain(**arguments)
    state = torch.get_rng_state()
    with pytest.raises(ValueError, match="RandomRain: drop_height: expected at most the image's 19"):
        op(torch.zeros(2, 3, 19, 40))
    assert torch.equal(torch.get_rng_state(), state)
    assert op(torch.zeros(2, 3, 20, 40)).amax() > 0


def rain_falls_on_any_channels(kornia: Any) -> None:
    image = torch.zeros(2, 4, 30, 40)
    with pytest.raises(Exception, match="channels"):
        kornia.RandomRain(p=1.0)(image)
    output = K.RandomRain(p=1.0)(image)
    assert (output == output[:, :1]).all() and output.amax() > 0


REFERENCES: Mapping[str, Reference] = {
    "RandomFog": fog,
    "RandomRain": rain,
    "RandomSnow": snow,
}
MORE: Mapping[str, list[dict[str, Any]]] = {
    "RandomRain": [
        {},
        {"number_of_drops": (0, 3), "drop_height": (1, 1), "drop_width": (0, 0)},
        {"number_of_drops": (10, 20), "drop_height": (3, 5), "drop_width": (-39, -20)},
    ],
    "RandomSnow": [{}, {"snow_coefficient": (0.0, 1.0), "brightness": (1.0, 5.0)}, {"snow_coefficient": (1.0, 1.0)}],
}
INTENDED: Mapping[str, tuple[Callable[[Any], None], str]] = {
    "RandomRain bounds": (
        largest_drop_decides,
        "a range that does not fit is refused before any draw; kornia fails on some draws",
    ),
    "RandomRain channels": (rain_falls_on_any_channels, "any number of channels; kornia takes 1 or 3"),
    "RandomRain drops": (
        drops_have_a_static_number,
        "coordinates for the most drops that can be drawn; kornia's shape depends on the draw",
    ),
    "RandomRain size": (drops_may_be_as_long_as_the_image, "a drop as long as the image fits; kornia refuses it"),
}
