"""Jitter, jiggle and photometric distortion: one factor at a time, orders, and bounds that learn."""

from typing import Any

import pytest
import torch
from torch.testing import assert_close

import augment as K
from augment import kernels as native
from augment.kernels.colour import maths as channels
from augment.kernels.colour import maths as colour
from augment.kernels.histogram import maths as histogram
from augment.kernels.tone import maths as tone
from tests.support.helpers import picture
from tests.support.known import RED, replay


def test_jiggle_by_one_factor_at_a_time() -> None:
    neutral = {"brightness_factor": 1.0, "contrast_factor": 1.0, "saturation_factor": 1.0, "hue_factor": 0.0}
    op = K.ColorJiggle()
    assert_close(replay(op, RED, **{**neutral, "brightness_factor": 1.1}), RED + 0.1)
    assert_close(replay(op, RED, **{**neutral, "contrast_factor": 0.5}), RED / 2)
    assert_close(replay(op, RED, **{**neutral, "saturation_factor": 0.0}), torch.full_like(RED, 0.8))
    assert_close(replay(op, RED, **{**neutral, "hue_factor": 1 / 3}), RED.roll(1, 1), atol=1e-6, rtol=0)


def test_photometric_distort_leaves_out_what_it_shall() -> None:
    image = picture(6)
    assert torch.equal(K.RandomPhotometricDistort(p_step=0.0)(image), image)
    op = K.RandomPhotometricDistort((1.0, 1.0), (1.0, 1.0), (1.0, 1.0), (0.0, 0.0), p_step=1.0)
    output = op(image)
    for row, before, source in zip(output, image, op._params["channel_permutation"], strict=True):
        assert torch.equal(row, before[source])
    torch.manual_seed(0)
    drawn = K.RandomPhotometricDistort().forward_parameters((4000, 3, 8, 8))
    for name, neutral in (
        ("brightness_factor", 1),
        ("contrast_factor", 1),
        ("saturation_factor", 1),
        ("hue_factor", 0),
    ):
        assert abs((drawn[name] != neutral).float().mean() - 0.5) < 0.04
    moved = (drawn["channel_permutation"] != torch.arange(3)).any(1).float().mean()
    assert abs(moved - 0.5 * 5 / 6) < 0.04 and abs(drawn["contrast_before"].mean() - 0.5) < 0.04


def test_rows_are_as_the_batch() -> None:
    image, factors = picture(3), torch.tensor([[1.0, 1, 1, 0], [0.8, 1.3, 0.5, 0.2], [1.4, 0.7, 1.6, -0.4]])
    none = image.new_empty(3, 3, 0)
    for order in (torch.tensor([2, 0, 3, 1]), torch.tensor([3, 1])):
        rows = native.colour_jitter(image, factors, order.expand(3, -1), none, "jiggle")
        assert_close(rows, colour.jitter_any_order(image, factors, order, "jiggle"), atol=1e-5, rtol=0)
    source = torch.tensor([[0, 1, 2], [2, 0, 1], [0, 2, 1]])
    orders = torch.tensor([[0, 1, 2, 3], [0, 2, 3, 1], [0, 1, 2, 3]])
    whole = channels.take(colour.jitter_any_order(image, factors, orders), source)
    shares = torch.nn.functional.pad(torch.nn.functional.one_hot(source, 3).float(), [0, 1])
    assert_close(native.colour_jitter(image, factors, orders, shares, "jitter"), whole, atol=1e-5, rtol=0)
    assert torch.equal(native.take_channels(image, source), channels.take(image, source))
    lost = source == 1
    assert torch.equal(native.fill_channels(image, lost, 0.5), channels.fill(image, lost, 0.5))
    levels = (image * 255).byte()
    stretched = histogram.stretch(levels / 255, True) * 255
    assert_close(K.Stretch().image(levels).float(), stretched, atol=0.5001, rtol=0)
    exponent, gain = torch.tensor([1.0, 0.5, 2.0]), torch.tensor([1.0, 1.1, 0.7])
    power = tone.gamma(image, *(t.view(-1, 1, 1, 1) for t in (exponent, gain)))
    assert_close(native.gamma(image, exponent, gain), power, atol=1e-6, rtol=0)


@pytest.mark.parametrize("order", [None, (3,), (0, 3), (2, 1)])
def test_learnable_bounds_change_nothing(order: tuple[int, ...] | None) -> None:
    image = picture(4) * 0.8 + 0.1
    for name in ("ColorJitter", "ColorJiggle"):
        outputs = []
        for hue in ((0.1, 0.2), torch.nn.Parameter(torch.tensor([0.1, 0.2]))):
            torch.manual_seed(3)
            outputs.append(getattr(K, name)(0.2, 0.2, 0.2, hue, order=order)(image).detach())
        assert_close(outputs[1], outputs[0], atol=1e-5, rtol=0)


def test_bounds_learn() -> None:
    image = picture(4) * 0.6 + 0.2
    for build in (
        lambda bound: K.RandomContrast(bound),
        lambda bound: K.RandomGamma(bound),
        lambda bound: K.RandomSaturation(bound),
        lambda bound: K.ColorJiggle(contrast=bound),
        lambda bound: K.RandomPhotometricDistort(contrast=bound, p_step=1.0),
    ):
        bound = torch.nn.Parameter(torch.tensor([0.7, 0.9]))
        build(bound)(image).square().sum().backward()
        assert bound.grad is not None and bound.grad.isfinite().all() and bound.grad.abs().sum() > 0


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: K.ColorJiggle(brightness=(0.0, 3.0)), "brightness"),
        (lambda: K.ColorJiggle(order=(0, 0)), "order"),
        (lambda: K.RandomPhotometricDistort(p_step=1.5), "p_step"),
    ],
)
def test_bad_arguments_are_named(build: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=f"{message}: expected"):
        build()


@pytest.mark.parametrize("order", [(3.0, 1.0), (True, False), "01"])
@pytest.mark.parametrize("name", ["ColorJitter", "ColorJiggle"])
def test_order_is_of_whole_numbers(name: str, order: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="order: expected"):
        getattr(K, name)(order=order)


@pytest.mark.parametrize("order", [None, (0, 1, 2, 3)])
@pytest.mark.parametrize("op", [K.ColorJitter, K.ColorJiggle])
def test_neutral_bounds_learn(op: Any, order: Any) -> None:
    """A bound that starts where nothing changes gets the gradient of a factor, or of a summand, all the same."""
    image, bounds = picture(2) * 0.8 + 0.1, torch.nn.Parameter(torch.tensor([1.0, 1.0]))
    op(brightness=bounds, order=order)(image).sum().backward()
    assert bounds.grad is not None
    slope = image.sum() if op is K.ColorJitter else torch.tensor(float(image.numel()))
    assert_close(bounds.grad.sum(), slope, atol=0, rtol=1e-4)


def test_jitter_by_one_factor_at_a_time() -> None:
    red = torch.zeros(1, 3, 4, 5)
    red[:, 0] = 0.8
    neutral = {"brightness_factor": 1.0, "contrast_factor": 1.0, "saturation_factor": 1.0, "hue_factor": 0.0}
    op = K.ColorJitter()
    assert_close(replay(op, red, **{**neutral, "brightness_factor": 0.5}), red / 2)
    assert_close(replay(op, red, **{**neutral, "brightness_factor": 2.0}), (red * 2).clamp(max=1))
    assert_close(replay(op, red, **{**neutral, "contrast_factor": 0.0}), torch.full_like(red, 0.8 * 0.299))
    assert_close(replay(op, red, **{**neutral, "saturation_factor": 0.0}), torch.full_like(red, 0.8 * 0.299))
    assert_close(replay(op, red, **{**neutral, "hue_factor": 1 / 3}), red.roll(1, 1), atol=1e-6, rtol=0)


def test_jitter_is_that_of_torchvision() -> None:
    """#565, PR #1611: with the same factors in the same order."""
    functional = pytest.importorskip("torchvision.transforms.v2.functional")
    factors = {"brightness": 1.3, "contrast": 0.7, "saturation": 1.4, "hue": 0.1}
    order, expected = (2, 0, 3, 1), picture(2)
    op = K.ColorJitter(**{name: (value, value) for name, value in factors.items()}, order=order)
    for step in order:
        name = list(factors)[step]
        expected = getattr(functional, f"adjust_{name}")(expected, factors[name])
    assert_close(op(picture(2)), expected, atol=1e-3, rtol=0)
