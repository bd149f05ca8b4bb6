"""Tone and histograms: gamma, contrast, solarize, posterize, autocontrast, equalize and CLAHE."""

from typing import Any

import cv2
import numpy as np
import pytest
import torch
from PIL import Image, ImageOps
from torch.testing import assert_close

import augment as K
from augment import kernels as native
from augment.kernels.histogram import clahe, entry
from augment.kernels.histogram import maths as histogram
from tests.support.helpers import picture
from tests.support.known import RED, replay


def test_contrast_multiplies_and_solarize_inverts_above_the_threshold() -> None:
    image = torch.tensor([0.1, 0.4, 0.6, 0.9]).view(1, 1, 1, 4)
    assert_close(K.RandomContrast((1.5, 1.5))(image).flatten(), torch.tensor([0.15, 0.6, 0.9, 1.0]))
    assert_close(K.RandomContrast((1.5, 1.5), clip_output=False)(image), image * 1.5)
    output = replay(K.RandomSolarize(p=1.0), image, thresholds=0.5, additions=0.2)
    assert_close(output.flatten(), torch.tensor([0.3, 0.4, 0.2, 0.0]))
    level = replay(K.RandomSolarize(p=1.0), (image * 255).byte(), thresholds=0.5, additions=0.0)
    assert level.flatten().tolist() == [25, 102, 255 - 153, 255 - 229]


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


def test_posterize_draws_both_ends_of_its_bits() -> None:
    drawn = K.RandomPosterize((2, 4)).forward_parameters((400, 1, 8, 8))["bits_factor"]
    assert drawn.dtype == torch.int32 and set(drawn.tolist()) == {2, 3, 4}


def test_tiles_of_rows_are_those_of_the_batch() -> None:
    image, limit = picture(3), torch.tensor([0.0, 1.0, 40.0])
    rows = native.equalize_tiles(image, torch.ones(3, dtype=torch.bool), limit, 3, 4)
    tiles = clahe.Tiles.of(image, (3, 4))
    planes = histogram.levels(image).flatten(0, 1)
    whole = clahe.equalize_tiles(planes, limit.repeat_interleave(3), tiles, entry._count) / 255
    assert_close(rows, whole.view(image.shape), atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: K.RandomSolarize(0.7), "thresholds"),
        (lambda: K.RandomSolarize(additions=(0.0, 0.9)), "additions"),
        (lambda: K.RandomGamma(0.5), "gamma"),
        (lambda: K.RandomGamma((-1.0, 1.0)), "gamma"),
        (lambda: K.RandomPosterize((3, 9)), "bits"),
        (lambda: K.RandomInvert("bright"), "max_val"),
        (lambda: K.RandomClahe(grid_size=(0, 8)), "grid_size"),
        (lambda: K.RandomClahe((-1.0, 2.0)), "clip_limit"),
    ],
)
def test_bad_arguments_are_named(build: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=f"{message}: expected"):
        build()


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


def test_equalize_spreads_two_levels() -> None:
    image = torch.full((1, 1, 20, 40), 0.4)
    image[..., :20] = 0.6
    assert_close(K.RandomEqualize(p=1.0)(image).unique(), torch.tensor([0.0, 1.0]))
    flat = torch.full((1, 1, 20, 40), 0.4)
    assert torch.equal(K.RandomEqualize(p=1.0)(flat), flat)


def test_equalize_cuts_what_left_the_range() -> None:
    """#1163, #4431: values outside [0, 1] count as its ends, and skipped rows keep them."""
    image = picture(4, size=(40, 50)) * 3 - 1
    op = K.RandomEqualize(p=0.5)
    output = op(image)
    closed = op._params["batch_prob"] == 0
    assert closed.any() and not closed.all()
    assert torch.equal(output[closed], image[closed])
    assert_close(output[~closed], op(image.clamp(0, 1), params=op._params)[~closed])


def test_equalize_of_low_contrast() -> None:
    """#780: a small image of few levels is stretched to both ends, in order, as torchvision does."""
    functional = pytest.importorskip("torchvision.transforms.v2.functional")
    image = torch.randint(100, 141, (2, 3, 64, 64), dtype=torch.uint8)
    output = K.RandomEqualize(p=1.0)(image)
    assert torch.equal(output, functional.equalize(image))
    for before, after in zip(image.flatten(0, 1), output.flatten(0, 1), strict=True):
        assert [after.min(), after.max()] == [0, 255]
        assert after.flatten()[before.flatten().argsort()].diff().int().ge(0).all()
