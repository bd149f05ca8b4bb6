"""Noises: what their definitions promise beyond the references."""

import math
from typing import Any

import pytest
import torch
from torch.testing import assert_close

import augment as K


def test_rates_of_salt_and_pepper() -> None:
    image = torch.full((16, 3, 100, 100), 0.5)
    output = K.RandomSaltAndPepperNoise(0.2, 0.7, p=1.0)(image)
    assert torch.equal(output[:, 0], output[:, 1])
    n = 16 * 100 * 100
    for value, rate in ((1, 0.14), (0, 0.06), (0.5, 0.8)):
        found = (output[:, 0] == value).float().mean().item()
        assert abs(found - rate) < 5 * math.sqrt(rate * (1 - rate) / n)
    whole = K.RandomSaltAndPepperNoise(1.0, 1.0, p=1.0)(image.mul(255).to(torch.uint8))
    assert whole.unique().tolist() == [255]


@pytest.mark.parametrize("photons", [20.0, 60.0])
def test_mean_and_variance_of_photons(photons: float) -> None:
    """A count of mean x s and variance x s, divided by s, has the mean x and the variance x / s."""
    n = 400_000
    for x in (0.3, 0.5):
        output = K.RandomShotNoise((photons, photons), p=1.0)(torch.full((1, 1, 500, n // 500), x))
        variance = x / photons
        assert abs(output.mean().item() - x) < 5 * math.sqrt(variance / n) + 2e-3  # what the cut takes away
        assert abs(output.var().item() / variance - 1) < 5 * math.sqrt(2 / n) + 0.02
    dark = K.RandomShotNoise(p=1.0)(torch.zeros(2, 3, 9, 9))
    assert dark.abs().max() < 1e-3


def test_sensor_noise_keeps_the_saturation_and_lights_by_its_mean() -> None:
    half = torch.zeros(1, 3, 300, 400)
    half[..., :200], half[..., 200:] = 0.3, 0.5  # lightness with a deviation of 0.1
    op = K.RandomISONoise((0.0, 0.0), (0.4, 0.4), p=1.0)
    output = op(half)
    assert_close(output[:, 0], output[:, 1])  # gray has no hue, and stays gray
    count = 255 * 0.4 * 0.1
    for part, level in ((output[..., :200], 0.3), (output[..., 200:], 0.5)):
        share = (part[:, 0] - level) / (1 - level) * 255
        n = share.numel()
        assert abs(share.mean().item() - count) < 5 * math.sqrt(count / n) + 0.01
        assert abs(share.var().item() / count - 1) < 5 * math.sqrt(2 / n) + 0.01
    flat = torch.tensor([0.8, 0.3, 0.2]).view(1, 3, 1, 1).expand(1, 3, 50, 50)
    turned = K.RandomISONoise((1.0, 1.0), (0.5, 0.5), p=1.0)(flat)
    assert_close(turned.amax(1), flat.amax(1), atol=1e-3, rtol=0)  # no deviation, no light; only the hue turns
    assert_close(turned.amin(1), flat.amin(1), atol=1e-3, rtol=0)
    assert turned.std((0, 2, 3)).min() > 0.1


@pytest.mark.parametrize(
    "build, error, name",
    [
        (lambda: K.RandomISONoise((0.0, 2.0)), ValueError, "color_shift"),
        (lambda: K.RandomISONoise(intensity=(-1.0, 1.0)), ValueError, "intensity"),
        (lambda: K.RandomShotNoise((0.0, 1.0)), ValueError, "scale"),
        (lambda: K.RandomSaltAndPepperNoise(1.5), ValueError, "amount"),
        (lambda: K.RandomSaltAndPepperNoise(salt_vs_pepper=(0.6, 0.4)), ValueError, "salt_vs_pepper"),
    ],
)
def test_constructors_refuse_by_name(build: Any, error: type[Exception], name: str) -> None:
    with pytest.raises(error, match=rf"^{name}"):
        build()


def test_noise_is_added_and_not_cut() -> None:
    image = torch.rand(2, 3, 4, 5)
    op = K.RandomGaussianNoise(mean=0.5, std=2.0, p=1.0)
    output = op(image)
    assert torch.equal(output, image + op._params["gaussian_noise"])
    assert output.min() < 0 and output.max() > 1
