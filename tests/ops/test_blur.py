"""Blurs: inputs with a known answer, the libraries they follow, and bad input."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from scipy import ndimage
from torch import Tensor
from torch.testing import assert_close

import augment as K
from augment.kernels.blur import maths as filters
from tests.references.common import gaussian
from tests.support.helpers import picture
from tests.support.known import impulse, replay


def spot(size: int) -> Tensor:
    image = torch.zeros(1, 1, size, size)
    image[..., size // 2, size // 2] = 1
    return image


def test_box_blur_spreads_an_impulse_evenly() -> None:
    output = K.RandomBoxBlur((3, 5), p=1.0)(spot(9))
    expected = torch.zeros(1, 1, 9, 9)
    expected[..., 3:6, 2:7] = 1 / 15
    assert_close(output, expected, atol=1e-7, rtol=0)


def test_even_box_reaches_right_and_down() -> None:
    output = K.RandomBoxBlur((2, 2), "constant", p=1.0)(spot(5))
    assert output.nonzero()[:, 2:].tolist() == [[1, 1], [1, 2], [2, 1], [2, 2]]  # where the window meets (2, 2)


@pytest.mark.parametrize("size", [(3, 3), (5, 5), (7, 7), (3, 7), (9, 1), (1, 9), (11, 5)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
def test_median_is_scipys(size: tuple[int, int], dtype: torch.dtype) -> None:
    image = picture(2, 2, (19, 30), dtype)
    expected = ndimage.median_filter(image.numpy(), size=(1, 1, *size), mode="mirror")
    assert torch.equal(K.RandomMedianBlur(size, p=1.0)(image), torch.from_numpy(expected))


def test_median_takes_salt_and_pepper_out() -> None:
    image = torch.full((1, 1, 9, 9), 0.5)
    image[..., ::4, ::4], image[..., 2::4, 2::4] = 1.0, 0.0
    assert K.RandomMedianBlur(p=1.0)(image).eq(0.5).all()


def test_motion_blur_draws_lines() -> None:
    def kernel(angle: float, direction: float, size: int = 5, mode: str = "nearest") -> Tensor:
        values = (torch.tensor([float(v)]) for v in (angle, direction))
        return filters.motion_weights(torch.tensor([size]), *values, 5, mode)[0]

    assert_close(kernel(0, 0)[2], torch.full((5,), 0.2))
    assert_close(kernel(90, 0)[:, 2], torch.full((5,), 0.2))
    assert_close(kernel(0, 1)[2], torch.tensor([0.4, 0.3, 0.2, 0.1, 0.0]))
    assert_close(kernel(90, 1)[:, 2], torch.tensor([0.0, 0.1, 0.2, 0.3, 0.4]))  # the left end turns down
    assert_close(kernel(180, 1)[2], torch.tensor([0.0, 0.1, 0.2, 0.3, 0.4]))
    assert_close(kernel(45, 0).diagonal(), torch.zeros(5) + torch.tensor([0.0, 0.0, 1 / 3, 0.0, 0.0]))
    assert_close(kernel(45, 0).flip(1).diagonal(), torch.tensor([0.0, 1, 1, 1, 0]) / 3)
    assert_close(kernel(0, 0, 3)[2], torch.tensor([0.0, 1, 1, 1, 0]) / 3)
    assert torch.equal(kernel(77, 0.3, 1), spot(5)[0, 0])
    for mode in ("nearest", "bilinear", "bicubic"):
        assert_close(kernel(360 + 30, 0.4, mode=mode), kernel(30, 0.4, mode=mode))
        assert_close(kernel(-90, 0, mode=mode), kernel(90, 0, mode=mode), atol=1e-6, rtol=0)


def test_motion_blur_draws_one_size_for_the_batch_and_all_of_them() -> None:
    op, seen = K.RandomMotionBlur((3, 8), 35.0, 0.5, p=1.0), set()
    for _ in range(60):
        params = op.forward_parameters((6, 3, 32, 32))
        (size,) = set(params["ksize_factor"].tolist())
        assert 0 <= params["idx"].item() < 6
        seen.add(size)
    assert seen == {3, 5, 7}


def test_defocus_draws_all_radii_and_keeps_the_sum() -> None:
    op = K.RandomDefocus((2, 4), (0.2, 0.2), "constant", p=1.0)
    output = op(spot(31).expand(60, -1, -1, -1))
    assert set(op._params["radius"].tolist()) == {2, 3, 4}
    assert_close(output.sum((1, 2, 3)), torch.ones(60))
    covered = (output[:, 0] > 1e-4).any(1).sum(1)
    assert_close(covered, 2 * op._params["radius"] + 1)  # the Gaussian's share outside is below


def test_defocus_is_the_disk_that_opencv_convolves_with() -> None:
    cv2 = pytest.importorskip("cv2")
    image = picture(1, 3, (40, 50))
    for radius in (3, 8, 10):
        y, x = np.mgrid[-12:13, -12:13]
        disk = (x**2 + y**2 <= radius**2).astype(np.float32)
        size = 3 if radius <= 8 else 5
        disk = cv2.GaussianBlur(disk / disk.sum(), (size, size), 0.5)
        expected = cv2.filter2D(image[0].permute(1, 2, 0).numpy(), -1, disk, borderType=cv2.BORDER_REFLECT_101)
        output = K.RandomDefocus((radius, radius), (0.5, 0.5), p=1.0)(image)
        assert_close(output[0].permute(1, 2, 0), torch.from_numpy(expected), atol=1e-5, rtol=0)


def test_zoom_blur_keeps_the_centre_and_what_does_not_change_by_a_zoom() -> None:
    op = K.RandomZoomBlur((1.5, 1.5), p=1.0)
    flat = torch.full((1, 1, 9, 13), 0.7)
    assert_close(op(flat), flat)
    assert_close(op(picture(2, 3, (9, 13)))[..., 4, 6], picture(2, 3, (9, 13))[..., 4, 6])
    ramp = torch.arange(13.0).expand(1, 1, 9, 13) - 6  # a zoom by f divides it by f
    factors = torch.linspace(1, 1.5, 11)
    assert_close(op(ramp), ramp * (1 / factors).mean(), atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("build", "error", "name"),
    [
        (lambda: K.RandomBoxBlur(0), ValueError, "kernel_size"),
        (lambda: K.RandomBoxBlur((3, 3, 3)), ValueError, "kernel_size"),
        (lambda: K.RandomBoxBlur(border_type="mirror"), ValueError, "border_type"),
        (lambda: K.RandomMedianBlur((4, 3)), ValueError, "kernel_size"),
        (lambda: K.RandomMotionBlur(4, 30.0, 0.5), ValueError, "kernel_size"),
        (lambda: K.RandomMotionBlur((7, 3), 30.0, 0.5), ValueError, "kernel_size"),
        (lambda: K.RandomMotionBlur((4, 4), 30.0, 0.5), ValueError, "kernel_size"),
        (lambda: K.RandomMotionBlur((3.0, 5.0), 30.0, 0.5), ValueError, "kernel_size"),
        (lambda: K.RandomMotionBlur(3, 400.0, 0.5), ValueError, "angle"),
        (lambda: K.RandomMotionBlur(3, 30.0, 1.5), ValueError, "direction"),
        (lambda: K.RandomMotionBlur(3, 30.0, 0.5, resample="lanczos"), ValueError, "resample"),
        (lambda: K.RandomDefocus((0, 3)), ValueError, "radius"),
        (lambda: K.RandomDefocus(2.5), ValueError, "radius"),
        (lambda: K.RandomDefocus(alias_blur=-1.0), ValueError, "alias_blur"),
        (lambda: K.RandomZoomBlur((0.5, 1.2)), ValueError, "max_factor"),
        (lambda: K.RandomZoomBlur(0.5), ValueError, "max_factor"),
        (lambda: K.RandomZoomBlur(steps=1), ValueError, "steps"),
    ],
)
def test_constructors_refuse_by_name(build: Callable[[], Any], error: type[Exception], name: str) -> None:
    with pytest.raises(error, match=rf"^{name}"):
        build()


@pytest.mark.parametrize(
    "op",
    [
        K.RandomBoxBlur((3, 9)),
        K.RandomMedianBlur((3, 9)),
        K.RandomGaussianBlur((3, 9), (1.0, 2.0)),
        K.RandomMotionBlur((3, 9), 30.0, 0.5, "reflect"),
        K.RandomDefocus((1, 3)),
    ],
    ids=lambda op: type(op).__name__,
)
def test_a_kernel_too_wide_is_refused_before_anything_is_drawn(op: Any) -> None:
    image, state = picture(2, size=(12, 4)), torch.get_rng_state()
    for call in (op, K.AugmentationSequential(op)):
        with pytest.raises(ValueError, match=rf"{type(op).__name__}: input: expected at least .* got \(12, 4\)"):
            call(image)
        assert torch.equal(state, torch.get_rng_state())


def test_params_beyond_the_kernel_are_refused() -> None:
    image = picture(2)
    for op, key in ((K.RandomMotionBlur(5, 30.0, 0.5), "ksize_factor"), (K.RandomDefocus((1, 3)), "radius")):
        params = op.forward_parameters(image.shape)
        params["batch_prob"] = torch.ones(2)
        params[key] = params[key] * 0 + 11
        with pytest.raises(RuntimeError, match=key):
            op(image, params=params)


def test_blur_of_an_impulse_is_the_product_of_kernels() -> None:
    output = replay(K.RandomGaussianBlur((3, 5), (1.0, 1.0), p=1.0), impulse(9, 11, 4, 5), sigma=0.8)
    expected = torch.zeros(9, 11)
    expected[3:6, 3:8] = torch.from_numpy(np.outer(gaussian(3, 0.8), gaussian(5, 0.8))).float()
    assert_close(output[0, 0], expected, atol=1e-7, rtol=0)
    assert_close(output.sum(), torch.tensor(1.0))
