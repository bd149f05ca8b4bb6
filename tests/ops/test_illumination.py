"""Gradients of light against closed forms."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import augment as K
from augment.kernels.light import maths as light


def test_linear_light_rises_to_one_side() -> None:
    sides = light.linear_gradient(torch.full((4,), 0.5), torch.arange(4.0), 3, 5)[:, 0]
    down, right = torch.tensor([0.0, 0.25, 0.5]), torch.tensor([0.0, 0.125, 0.25, 0.375, 0.5])
    assert_close(sides[0], down.view(3, 1).expand(3, 5))
    assert_close(sides[1], down.flip(0).view(3, 1).expand(3, 5))
    assert_close(sides[2], right.expand(3, 5))
    assert_close(sides[3], right.flip(0).expand(3, 5))


def test_corner_light_rises_to_one_corner() -> None:
    corners = light.corner_gradient(torch.full((4,), -1.0), torch.arange(4.0), 3, 5)[:, 0]
    y, x = np.mgrid[:3, :5] / np.array([2, 4]).reshape(2, 1, 1)
    expected = [-(a + b) / 2 for a, b in ((y, x), (y, 1 - x), (1 - y, x), (1 - y, 1 - x))]
    assert_close(corners, torch.from_numpy(np.stack(expected)).float())
    line = light.corner_gradient(torch.ones(1), torch.zeros(1), 1, 5)
    assert_close(line.flatten(), torch.tensor([0.0, 0.25, 0.5, 0.75, 1.0]))


def test_spot_of_light_is_a_gaussian() -> None:
    h, w, center, sigma = 12, 17, (0.3, 0.6), (0.2, 0.5)
    spot = light.gaussian_gradient(torch.tensor([0.4]), torch.tensor([center]), torch.tensor([sigma]), h, w)[0, 0]
    y, x = np.mgrid[:h, :w]
    bell = np.exp(
        -((x + 0.5 - center[0] * w) ** 2) / (2 * (sigma[0] * w) ** 2)
        - (y + 0.5 - center[1] * h) ** 2 / (2 * (sigma[1] * h) ** 2)
    )
    expected = 0.4 * (bell - bell.min()) / (bell.max() - bell.min())
    assert_close(spot, torch.from_numpy(expected).float(), atol=1e-6, rtol=0)
    point = light.gaussian_gradient(torch.ones(1), torch.tensor([center]), torch.zeros(1, 2), h, w)[0, 0]
    assert (
        point.isfinite().all() and point.sum() == 1 and point[7, 5] == 1
    )  # 0.6 * 12 - 0.5 = 6.7; 0.3 * 17 - 0.5 = 4.6


@pytest.mark.parametrize(
    "name", ["RandomLinearIllumination", "RandomLinearCornerIllumination", "RandomGaussianIllumination"]
)
def test_light_has_its_gain_its_sign_and_all_directions(name: str) -> None:
    op = getattr(K, name)(gain=(0.2, 0.6), p=1.0)
    gradient = op.forward_parameters((400, 1, 8, 9))["gradient"]
    peak = gradient.abs().flatten(1).amax(1)
    assert peak.min() >= 0.2 - 1e-6 and peak.max() <= 0.6 + 1e-6
    assert 140 < (gradient.flatten(1).sum(1) > 0).sum() < 260  # of 400, six standard deviations
    for sign in (1.0, -1.0):
        signed = getattr(K, name)(gain=0.3, sign=sign, p=1.0).forward_parameters((20, 1, 8, 9))["gradient"] * sign
        assert_close(signed.flatten(1).amax(1), torch.full((20,), 0.3))
        assert signed.min() >= -1e-6
    if name != "RandomGaussianIllumination":
        brightest = gradient.abs().flatten(1).argmax(1).unique()
        assert len(brightest) >= 3  # the ends of ramps


def test_light_is_the_same_on_all_channels_without_their_memory() -> None:
    for name in ("RandomLinearIllumination", "RandomLinearCornerIllumination", "RandomGaussianIllumination"):
        gradient = getattr(K, name)(p=1.0).forward_parameters((2, 5, 8, 9))["gradient"]
        assert gradient.shape == (2, 5, 8, 9) and gradient.stride(1) == 0
