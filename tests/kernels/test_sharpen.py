"""Sharpening of bytes."""

import pytest
import torch

from augment.kernels.blur import c as blur_c
from augment.kernels.blur import maths as filters
from tests.support.kernel_images import done, exact, images, needs_kernels
from tests.support.levels import LEVELS, WIDE, assert_rounded

SIZES = [(1, 1), (2, 3), (8, 7), (37, 61), (11, 1200)]


@pytest.mark.parametrize("factor", [0.0, 0.5, 1.7, 5.0])
def test_sharpening_is_exact(instructions, factor):
    for size in SIZES:
        for image in images(size):
            found = done(blur_c.sharpen, image, torch.tensor(factor))
            expected = filters.sharpen(image.double() / 255, factor, torch.empty(image.shape, dtype=torch.float64))
            exact(found, expected * 255)


@needs_kernels
@pytest.mark.parametrize("factor", [0.0, 0.5, 1.5, 40.0, 1e6])
def test_sharpness_is_rounded_once(factor: float) -> None:
    assert_rounded(done(blur_c.sharpen, LEVELS, torch.tensor(factor)), filters.sharpen(WIDE / 255, factor) * 255, 1e-3)
