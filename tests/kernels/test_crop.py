"""Resizes and windows of bytes, by kernels in C and without."""

import pytest
import torch

import augment as K
from augment import kernels as native
from augment.kernels.warp import c as warp_c
from tests.support.helpers import picture
from tests.support.kernel_images import needs_kernels
from tests.support.levels import assert_rounded
from tests.support.warps import assert_nearest, noise, run

SIZES = [((7, 9), (1, 1)), ((1, 1), (5, 3)), ((33, 47), (21, 70)), ((64, 300), (50, 11)), ((40, 40), (40, 40))]


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize(("old", "new"), SIZES)
def test_resizes(instructions: str, old: tuple[int, int], new: tuple[int, int], channels: int, corners: bool) -> None:
    image = noise(channels, *old)
    found = run(warp_c.resize, image, new, *new, corners)
    exact = torch.nn.functional.interpolate(image[None].double(), new, mode="bilinear", align_corners=corners)[0]
    assert_nearest(found.double(), exact)


@needs_kernels
def test_a_resize_is_that_of_opencv() -> None:
    cv2 = pytest.importorskip("cv2")
    image = noise(1, 3, 64, 80)
    expected = cv2.resize(image[0].permute(1, 2, 0).numpy(), (70, 100), interpolation=cv2.INTER_LINEAR)
    found = native.resize(image, (100, 70), False)[0].permute(1, 2, 0).numpy()
    assert abs(found.astype(int) - expected).max() <= 1


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("format", [torch.contiguous_format, torch.channels_last])
def test_resizes_are_rounded_once(corners: bool, format: torch.memory_format) -> None:
    image = picture(2, dtype=torch.uint8).contiguous(memory_format=format)
    found = K.Resize((9, 30), align_corners=corners)(image)
    exact = torch.nn.functional.interpolate(image.double(), (9, 30), mode="bilinear", align_corners=corners)
    assert_rounded(found, exact)
