"""The colour, tone and channel ops: known answers, other libraries, the whole-batch way, gradients and bad input."""

from typing import Any

import cv2
import numpy as np
import pytest
import torch
from helpers import picture
from PIL import Image, ImageOps
from torch import Tensor
from torch.testing import assert_close

import augment as K
from augment import kernels as native
from augment.kernels.colour import maths as channels
from augment.kernels.colour import maths as colour
from augment.kernels.histogram import clahe
from augment.kernels.histogram import maths as histogram
from augment.kernels.tone import maths as tone

RED = torch.tensor([0.8, 0.0, 0.0]).view(1, 3, 1, 1).expand(1, 3, 4, 5)


def replay(op: Any, image: Tensor, **values: Any) -> Tensor:
    """Apply an op with some of its parameters set, in every row."""
    params = op.forward_parameters(image.shape)
    for name, value in values.items():
        like = params[name]
        params[name] = torch.as_tensor(value, dtype=like.dtype).expand(like.shape).clone()
    return op(image, params=params)


# ------------------------------------------------------------------------------------------------------ known answers


def test_contrast_multiplies_and_solarize_inverts_above_the_threshold() -> None:
    image = torch.tensor([0.1, 0.4, 0.6, 0.9]).view(1, 1, 1, 4)
    assert_close(K.RandomContrast((1.5, 1.5))(image).flatten(), torch.tensor([0.15, 0.6, 0.9, 1.0]))
    assert_close(K.RandomContrast((1.5, 1.5), clip_output=False)(image), image * 1.5)
    output = replay(K.RandomSolarize(p=1.0), image, thresholds=0.5, additions=0.2)
    assert_close(output.flatten(), torch.tensor([0.3, 0.4, 0.2, 0.0]))
    level = replay(K.RandomSolarize(p=1.0), (image * 255).byte(), thresholds=0.5, additions=0.0)
    assert level.flatten().tolist() == [25, 102, 255 - 153, 255 - 229]


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


def test_jiggle_by_one_factor_at_a_time() -> None:
    neutral = {"brightness_factor": 1.0, "contrast_factor": 1.0, "saturation_factor": 1.0, "hue_factor": 0.0}
    op = K.ColorJiggle()
    assert_close(replay(op, RED, **{**neutral, "brightness_factor": 1.1}), RED + 0.1)
    assert_close(replay(op, RED, **{**neutral, "contrast_factor": 0.5}), RED / 2)
    assert_close(replay(op, RED, **{**neutral, "saturation_factor": 0.0}), torch.full_like(RED, 0.8))
    assert_close(replay(op, RED, **{**neutral, "hue_factor": 1 / 3}), RED.roll(1, 1), atol=1e-6, rtol=0)


def test_gamma_of_the_ends_and_between() -> None:
    image = torch.tensor([0.0, 0.25, 1.0]).view(1, 1, 1, 3)
    assert_close(K.RandomGamma((0.5, 0.5))(image).flatten(), torch.tensor([0.0, 0.5, 1.0]))
    assert_close(K.RandomGamma((2.0, 2.0), (3.0, 3.0))(image).flatten(), torch.tensor([0.0, 3 / 16, 1.0]))
    assert K.RandomGamma((0.0, 0.0))(image).eq(1).all()
    level = K.RandomGamma((2.0, 2.0))(torch.tensor([[[[0, 51, 255]]]], dtype=torch.uint8))
    assert level.flatten().tolist() == [0, 10, 255]  # (51 / 255)^2 * 255 = 10.2


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("power", [0.05, 0.5, 1.0001, 3.0])
def test_gamma_has_a_finite_gradient_down_to_black(power: float, dtype: torch.dtype) -> None:
    image = torch.tensor([0.0, 1e-7, 1e-3, 0.5], dtype=dtype).view(1, 1, 1, 4).requires_grad_()
    op = K.RandomGamma((power, power))
    output = op(image)
    output.sum().backward()
    assert image.grad.isfinite().all() and image.grad.min() >= 0
    x = image.detach().double().flatten()
    assert_close(output.detach().double().flatten(), x**power, atol=1e-3 if dtype == torch.float16 else 1e-6, rtol=0)
    right = power * x[2:] ** (power - 1)
    assert_close(image.grad.double().flatten()[2:], right, rtol=1e-2 if dtype == torch.float16 else 1e-5, atol=1e-5)


def test_posterize_keeps_the_upper_bits() -> None:
    levels = torch.arange(256, dtype=torch.uint8).view(1, 1, 16, 16)
    for bits in range(9):
        expected = levels & (0xFF << (8 - bits) & 0xFF)
        op = K.RandomPosterize((float(bits), float(bits)), p=1.0)
        assert torch.equal(op(levels), expected)
        for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            output = op((levels.double() / 255).to(dtype))
            if bits < 8:
                assert torch.equal((output.double() * 255).round().byte(), expected)


def test_invert_of_bytes_is_exact() -> None:
    levels = torch.arange(256, dtype=torch.uint8).view(1, 1, 16, 16)
    assert torch.equal(K.RandomInvert(p=1.0)(levels), 255 - levels)
    assert torch.equal(
        K.RandomInvert([1.0, 0.5, 2.0], p=1.0)(RED)[0, :, 0, 0], torch.tensor([1.0, 0.5, 2.0]) - RED[0, :, 0, 0]
    )


def test_autocontrast_reaches_both_ends() -> None:
    image = picture() * 0.3 + 0.2
    image[0, 1] = 0.7
    output = K.RandomAutoContrast()(image)
    assert torch.equal(output[0, 1], image[0, 1])
    assert_close(output[1:].amin((2, 3)), torch.zeros(2, 3))
    assert_close(output[1:].amax((2, 3)), torch.ones(2, 3))
    levels = torch.tensor([[[[10, 20, 30]]]], dtype=torch.uint8)
    assert K.RandomAutoContrast()(levels).flatten().tolist() == [0, 128, 255]


@pytest.mark.parametrize("limit", [0.0, 1.0, 3.0, 40.0])
def test_clahe_of_one_tile_is_opencvs(limit: float) -> None:
    levels = (picture(2, size=(64, 48)) ** 3 * 255).byte()
    output = K.RandomClahe((limit, limit), grid_size=(1, 1), p=1.0)(levels)
    equalizer = cv2.createCLAHE(limit, (1, 1))
    expected = np.stack([[equalizer.apply(plane.numpy()) for plane in row] for row in levels])
    assert torch.equal(output, torch.from_numpy(expected))


def test_autocontrast_of_bytes_is_the_pils() -> None:
    levels = (picture(2, size=(30, 40)) * 120 + 31).byte()
    expected = [[np.asarray(ImageOps.autocontrast(Image.fromarray(p.numpy()))) for p in row] for row in levels]
    difference = K.RandomAutoContrast()(levels).int() - torch.from_numpy(np.array(expected)).int()
    assert set(difference.unique().tolist()) <= {0, 1}  # the PIL truncates


def test_clahe_is_near_opencvs_and_commutes_with_flips() -> None:
    smooth = torch.nn.functional.interpolate(picture(2, size=(5, 6)), (128, 160), mode="bicubic").clamp(0, 1)
    levels = (smooth * 255).byte()
    op = K.RandomClahe((2.0, 2.0), grid_size=(4, 5), p=1.0)
    equalizer = cv2.createCLAHE(2.0, (5, 4))
    expected = np.stack([[equalizer.apply(plane.numpy()) for plane in row] for row in levels])
    assert (op(levels).float() - torch.from_numpy(expected)).abs().mean() < 1
    assert_close(op(smooth.flip(-1)), op(smooth).flip(-1), atol=1e-6, rtol=0)
    assert_close(op(smooth.flip(-2)), op(smooth).flip(-2), atol=1e-6, rtol=0)


def test_channels_are_moved_and_filled_whole() -> None:
    image = torch.arange(4.0).view(1, 4, 1, 1).expand(2, 4, 2, 2)
    output = replay(K.RandomChannelShuffle(p=1.0), image, channels=[3, 0, 0, 2])
    assert output[:, :, 0, 0].tolist() == [[3, 0, 0, 2]] * 2
    filled = replay(K.RandomChannelDropout(2, 0.5, p=1.0), image, channel_idx=[1, 3])
    assert filled[:, :, 0, 0].tolist() == [[0, 0.5, 2, 0.5]] * 2
    assert K.RandomChannelDropout(4, 1.0, p=1.0)(image.byte()).eq(255).all()


def test_daylight_of_a_white_point_changes_little() -> None:
    image = picture()
    output = K.RandomPlanckianJitter("CIED", select_from=5, p=1.0)(image)  # 6500 K, the white of sRGB
    assert_close(output, image, atol=4e-3, rtol=0)
    warm, cold = (K.RandomPlanckianJitter(select_from=i, p=1.0)(image).mean((0, 2, 3)) for i in (0, -1))
    assert warm[0] > cold[0] and warm[2] < cold[2] and warm[1] == cold[1]


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


def test_posterize_draws_both_ends_of_its_bits() -> None:
    drawn = K.RandomPosterize((2, 4)).forward_parameters((400, 1, 8, 8))["bits_factor"]
    assert drawn.dtype == torch.int32 and set(drawn.tolist()) == {2, 3, 4}


# ----------------------------------------------------------------------------------------------- rows and whole batches


def test_rows_are_as_the_batch() -> None:
    image, factors = picture(3), torch.tensor([[1.0, 1, 1, 0], [0.8, 1.3, 0.5, 0.2], [1.4, 0.7, 1.6, -0.4]])
    everywhere = torch.ones(3, dtype=torch.bool)
    for order in (torch.tensor([2, 0, 3, 1]), torch.tensor([3, 1])):
        rows = native.colour_jitter(image, factors, order, "jiggle")
        assert_close(rows, colour.jitter_any_order(image, factors, order, "jiggle"), atol=1e-5, rtol=0)
    before, source = torch.tensor([1.0, 0.0, 1.0]), torch.tensor([[0, 1, 2], [2, 0, 1], [0, 2, 1]])
    orders = torch.tensor([[0, 1, 2, 3], [0, 2, 3, 1], [0, 1, 2, 3]])
    whole = channels.take(colour.jitter_any_order(image, factors, orders), source)
    assert_close(native.photometric_distort(image, factors, before, source), whole, atol=1e-5, rtol=0)
    assert torch.equal(native.take_channels(image, source), channels.take(image, source))
    lost = source == 1
    assert torch.equal(native.fill_channels(image, lost, 0.5), channels.fill(image, lost, 0.5))
    levels = (image * 255).byte()
    stretched = histogram.stretch(levels / 255, True) * 255
    assert_close(native.stretch(levels, everywhere, True).float(), stretched, atol=0.5001, rtol=0)
    exponent, gain = torch.tensor([1.0, 0.5, 2.0]), torch.tensor([1.0, 1.1, 0.7])
    power = tone.gamma(image, *(t.view(-1, 1, 1, 1) for t in (exponent, gain)))
    assert_close(native.gamma(image, exponent, gain), power, atol=1e-6, rtol=0)


def test_tiles_of_rows_are_those_of_the_batch() -> None:
    image, limit = picture(3), torch.tensor([0.0, 1.0, 40.0])
    rows = native.equalize_tiles(image, torch.ones(3, dtype=torch.bool), limit, (3, 4))
    tiles = clahe.Tiles.of(image, (3, 4))
    planes = histogram.levels(image).flatten(0, 1)
    whole = clahe.equalize_tiles(planes, limit.repeat_interleave(3), tiles, native.tone.count) / 255
    assert_close(rows, whole.view(image.shape), atol=1e-6, rtol=0)


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


# ----------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: K.RandomContrast((-0.5, 1.0)), "contrast"),
        (lambda: K.RandomSolarize(0.7), "thresholds"),
        (lambda: K.RandomSolarize(additions=(0.0, 0.9)), "additions"),
        (lambda: K.RandomHue((-0.6, 0.1)), "hue"),
        (lambda: K.RandomSaturation((2.0, 1.0)), "saturation"),
        (lambda: K.RandomGamma(0.5), "gamma"),
        (lambda: K.RandomGamma((-1.0, 1.0)), "gamma"),
        (lambda: K.RandomPosterize((3, 9)), "bits"),
        (lambda: K.RandomInvert("bright"), "max_val"),
        (lambda: K.RandomClahe(grid_size=(0, 8)), "grid_size"),
        (lambda: K.RandomClahe((-1.0, 2.0)), "clip_limit"),
        (lambda: K.RandomChannelDropout(0), "num_drop_channels"),
        (lambda: K.RandomChannelDropout(1.5), "num_drop_channels"),
        (lambda: K.RandomChannelDropout(fill_value=2.0), "fill_value"),
        (lambda: K.RandomRGBShift(-0.1), "r_shift_limit"),
        (lambda: K.RandomPlanckianJitter("sunset"), "mode"),
        (lambda: K.RandomPlanckianJitter(select_from=25), "select_from"),
        (lambda: K.ColorJiggle(brightness=(0.0, 3.0)), "brightness"),
        (lambda: K.ColorJiggle(order=(0, 0)), "order"),
        (lambda: K.RandomPhotometricDistort(p_step=1.5), "p_step"),
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


def test_more_channels_than_there_are_cannot_be_dropped() -> None:
    for call in (lambda op: op(picture(2, 2)), lambda op: op.forward_parameters((2, 2, 8, 8))):
        with pytest.raises(ValueError, match="num_drop_channels: expected at most 2"):
            call(K.RandomChannelDropout(3))


def test_parameters_of_other_channels_are_refused() -> None:
    for op in (K.RandomChannelShuffle(p=1.0), K.RandomPhotometricDistort()):
        params = op.forward_parameters((2, 3, 8, 8))
        with pytest.raises(ValueError, match="channel"):
            op(picture(2, 1), params=params)
    twice = {**params, "channel_permutation": torch.zeros(2, 3, dtype=torch.long)}
    with pytest.raises(RuntimeError, match="channel_permutation: expected each channel once"):
        op(picture(2), params=twice)


def test_more_tiles_than_pixels_are_refused() -> None:
    for size, grid in (((8, 8), (8, 8)), ((40, 40), (64, 64)), ((9, 4), (8, 8))):
        with pytest.raises(ValueError, match="grid_size: expected fewer tiles"):
            K.RandomClahe(grid_size=grid, p=1.0)(torch.rand(1, 1, *size))
    assert K.RandomClahe(p=1.0)(torch.rand(1, 1, 9, 9)).isfinite().all()


def test_every_number_of_bits_is_equally_likely() -> None:
    torch.manual_seed(0)
    drawn = K.RandomPosterize((4, 8)).forward_parameters((5000, 3, 4, 4))["bits_factor"]
    counts = drawn.bincount(minlength=9)
    assert counts[:4].sum() == 0 and (counts[4:] - 1000).abs().max() < 4.5 * (5000 * 0.2 * 0.8) ** 0.5
    with pytest.raises(ValueError, match="bits: expected whole numbers"):
        K.RandomPosterize((2.3, 4))


@pytest.mark.parametrize("order", [(3.0, 1.0), (True, False), "01"])
@pytest.mark.parametrize("name", ["ColorJitter", "ColorJiggle"])
def test_order_is_of_whole_numbers(name: str, order: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="order: expected"):
        getattr(K, name)(order=order)


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: K.RandomRotation90(()), "times"),
        (lambda: K.RandomIoUCrop(sampler_options=0.5), "sampler_options"),
        (lambda: K.RandomPlanckianJitter(select_from=2.5), "select_from"),
        (lambda: K.RandomPlanckianJitter(select_from=True), "select_from"),
    ],
)
def test_constructors_name_what_is_wrong(build: Any, name: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"{name}: expected"):
        build()


@pytest.mark.parametrize("order", [None, (0, 1, 2, 3)])
@pytest.mark.parametrize("op", [K.ColorJitter, K.ColorJiggle])
def test_neutral_bounds_learn(op: Any, order: Any) -> None:
    """A bound that starts where nothing changes gets the gradient of a factor, or of a summand, all the same."""
    image, bounds = picture(2) * 0.8 + 0.1, torch.nn.Parameter(torch.tensor([1.0, 1.0]))
    op(brightness=bounds, order=order)(image).sum().backward()
    assert bounds.grad is not None
    slope = image.sum() if op is K.ColorJitter else torch.tensor(float(image.numel()))
    assert_close(bounds.grad.sum(), slope, atol=0, rtol=1e-4)
