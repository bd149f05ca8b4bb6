"""Brightness, hue, saturation, gray and normalisation: known answers, and what is refused."""

from typing import Any

import pytest
import torch
from torch.testing import assert_close

import augment as K
from tests.support.helpers import picture
from tests.support.known import RED


@pytest.mark.parametrize(("turns", "places"), [(1 / 3, 1), (-1 / 3, 2), (0.0, 0)])
def test_hue_by_a_third_moves_the_channels_on(turns: float, places: int) -> None:
    image = picture()
    assert_close(K.RandomHue((turns, turns))(image), image.roll(places, 1), atol=2e-6, rtol=0)


def test_saturation_keeps_value_and_lowers_the_rest() -> None:
    output = K.RandomSaturation((0.25, 0.25))(RED)
    assert_close(output, torch.tensor([0.8, 0.6, 0.6]).view(1, 3, 1, 1).expand_as(RED))
    assert_close(K.RandomSaturation((9.0, 9.0))(RED * 0.5 + 0.1)[:, 1:], torch.zeros(1, 2, 4, 5), atol=1e-7, rtol=0)
    gray = torch.full((1, 3, 2, 2), 0.3)
    assert torch.equal(K.RandomSaturation((9.0, 9.0))(gray), gray)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: K.RandomContrast((-0.5, 1.0)), "contrast"),
        (lambda: K.RandomHue((-0.6, 0.1)), "hue"),
        (lambda: K.RandomSaturation((2.0, 1.0)), "saturation"),
    ],
)
def test_bad_arguments_are_named(build: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=f"{message}: expected"):
        build()


@pytest.mark.parametrize("name", ["RandomHue", "RandomSaturation", "ColorJiggle", "RandomRGBShift"])
def test_colour_needs_its_channels(name: str) -> None:
    with pytest.raises(ValueError, match=rf"{name}: input: expected .*3 channels, got 4"):
        getattr(K, name)(p=1.0)(picture(2, 4))
    if name == "RandomRGBShift":
        with pytest.raises(ValueError, match="expected 3 channels, got 1"):
            K.RandomRGBShift(p=1.0)(picture(2, 1))


def test_brightness_adds() -> None:
    image = torch.rand(2, 3, 4, 5) * 0.7
    op = K.RandomBrightness((1.2, 1.2))
    assert_close(op(image), image + 0.2)
    assert op(torch.full((1, 3, 2, 2), 100, dtype=torch.uint8)).eq(151).all()
    assert op(torch.full((1, 3, 2, 2), 230, dtype=torch.uint8)).eq(255).all()


@pytest.mark.parametrize(("channel", "weight"), [(0, 0.299), (1, 0.587), (2, 0.114)])
def test_grayscale_is_luma(channel: int, weight: float) -> None:
    image = torch.zeros(1, 3, 2, 2)
    image[:, channel] = 1
    assert_close(K.RandomGrayscale(p=1.0)(image), torch.full_like(image, weight))
    level = K.RandomGrayscale(p=1.0)((image * 255).to(torch.uint8))
    assert level.eq(round(255 * weight)).all()


def test_normalize_and_denormalize_undo_each_other() -> None:
    image = torch.rand(2, 3, 5, 6)
    mean, std = (0.5, 0.4, 0.3), (0.2, 0.25, 0.3)
    normal = K.Normalize(mean, std)(image)
    assert_close(normal[:, 1], (image[:, 1] - 0.4) / 0.25)
    assert_close(K.Denormalize(mean, std)(normal), image)
    assert K.Normalize(0.5, 0.5)(torch.tensor([[[[0, 255]]]], dtype=torch.uint8)).flatten().tolist() == [-1, 1]
