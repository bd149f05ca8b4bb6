"""Blurs, sharpness, JPEG and downscaling: inputs with a known answer, the libraries they follow, and bad input."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from helpers import picture
from PIL import Image, ImageEnhance, ImageFilter
from scipy import ndimage
from torch import Tensor
from torch.testing import assert_close

import augment as K
from augment.kernels.blur import maths as filters


def impulse(size: int) -> Tensor:
    image = torch.zeros(1, 1, size, size)
    image[..., size // 2, size // 2] = 1
    return image


def photograph(height: int = 96, width: int = 128) -> Tensor:
    """Give an RGB photograph in whole levels."""
    data = pytest.importorskip("skimage.data")
    astronaut = data.astronaut()[: 4 * height : 4, 100 : 100 + 4 * width : 4]
    return torch.from_numpy(astronaut.copy()).permute(2, 0, 1)[None]


# --------------------------------------------------------------------------------------------------------------- blurs


def test_box_blur_spreads_an_impulse_evenly() -> None:
    output = K.RandomBoxBlur((3, 5), p=1.0)(impulse(9))
    expected = torch.zeros(1, 1, 9, 9)
    expected[..., 3:6, 2:7] = 1 / 15
    assert_close(output, expected, atol=1e-7, rtol=0)


def test_even_box_reaches_right_and_down() -> None:
    output = K.RandomBoxBlur((2, 2), "constant", p=1.0)(impulse(5))
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
    assert torch.equal(kernel(77, 0.3, 1), impulse(5)[0, 0])
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
    output = op(impulse(31).expand(60, -1, -1, -1))
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


# ----------------------------------------------------------------------------------------------------------- sharpness


@pytest.mark.parametrize("factor", [0.0, 0.5, 1.0, 2.0])
def test_sharpness_is_the_pils(factor: float) -> None:
    image = photograph()
    pil = Image.fromarray(image[0].permute(1, 2, 0).numpy())
    expected = torch.from_numpy(np.array(ImageEnhance.Sharpness(pil).enhance(factor))).permute(2, 0, 1)
    output = K.RandomSharpness((factor, factor), p=1.0)(image)[0]
    # the PIL rounds the smoothed copy first, which counts |1 - factor| times, and truncates the blend
    assert (output.int() - expected.int()).abs().max() <= 1 + round(abs(1 - factor))


def test_sharpness_cuts_and_leaves_the_edges() -> None:
    image = picture(2) * 3 - 1
    output = K.RandomSharpness((0.2, 3.0), p=1.0)(image)
    assert output.min() >= 0 and output.max() <= 1
    for edge in (np.s_[..., 0, :], np.s_[..., -1, :], np.s_[..., 0], np.s_[..., -1]):
        assert torch.equal(output[edge], image[edge].clamp(0, 1))


@pytest.mark.parametrize("size", [(1, 1), (2, 9), (9, 2)])
def test_thin_images_have_no_inside(size: tuple[int, int]) -> None:
    image = picture(2, size=size)
    assert torch.equal(K.RandomSharpness(p=1.0)(image), image)
    assert K.RandomSharpness(p=1.0)(image.requires_grad_()).requires_grad


# ---------------------------------------------------------------------------------------------------------------- JPEG


def by_pil(image: Tensor, quality: int, **options: Any) -> Tensor:
    file = io.BytesIO()
    array = image[0].permute(1, 2, 0).numpy()
    Image.fromarray(array[..., 0] if array.shape[2] == 1 else array).save(file, "JPEG", quality=quality, **options)
    decoded = np.array(Image.open(file))
    return torch.from_numpy(decoded.reshape(array.shape)).permute(2, 0, 1)[None]


@pytest.mark.parametrize("quality", [10, 30, 50, 75, 90])
@pytest.mark.parametrize("channels", [1, 3])
def test_jpeg_is_close_to_the_pils(quality: int, channels: int) -> None:
    """The decoded images differ by far less than either from the original, and compress as strongly."""
    image = photograph()[:, :channels].contiguous()
    theirs = by_pil(image, quality).float()
    ours = K.RandomJPEG((float(quality),) * 2, p=1.0)(image).float()
    lost = (theirs - image).abs().mean()
    assert (ours - theirs).abs().mean() < 0.6 * lost
    assert_close((ours - image).abs().mean(), lost, rtol=0.15, atol=0)


def test_jpeg_quality_orders_the_loss() -> None:
    image = photograph().float() / 255
    lost = [(K.RandomJPEG((q, q), p=1.0)(image) - image).abs().mean().item() for q in (5.0, 20.0, 50.0, 80.0, 100.0)]
    assert lost == sorted(lost, reverse=True)
    assert lost[-1] < 0.02


def test_jpeg_trains() -> None:
    image = (picture(2, 3, (16, 16)) * 0.8 + 0.1).requires_grad_()
    bound = torch.nn.Parameter(torch.tensor([20.0, 60.0]))
    K.RandomJPEG(bound, p=1.0)(image).square().sum().backward()
    for gradient in (image.grad, bound.grad):
        assert gradient is not None and gradient.isfinite().all() and gradient.abs().sum() > 0
    bound.grad = None
    op = K.RandomJPEG(bound, p=0.0)
    (op(image).sum() + 0 * bound.sum()).backward()
    assert bound.grad is not None and not bound.grad.any()  # what is not coded has no quality


# --------------------------------------------------------------------------------------------------------- downscaling


def test_downscale_makes_blocks() -> None:
    image = torch.arange(64.0).view(1, 1, 8, 8)
    nearest = K.RandomDownscale((0.25, 0.25), p=1.0)(image)
    assert torch.equal(nearest[0, 0, ::4, ::4], image[0, 0, 2::4, 2::4])  # centres at 2 are those of four pixels
    area = K.RandomDownscale((0.25, 0.25), "area", p=1.0)(image)
    for output in (nearest, area):
        assert torch.equal(output, output[..., ::4, ::4].repeat_interleave(4, 2).repeat_interleave(4, 3))
    assert_close(area[..., ::4, ::4], torch.nn.functional.avg_pool2d(image, 4))


@pytest.mark.parametrize(("down", "up"), [("area", "bilinear"), ("bilinear", "bilinear"), ("area", "nearest")])
def test_downscale_is_opencvs(down: str, up: str) -> None:
    cv2 = pytest.importorskip("cv2")
    modes = {"area": cv2.INTER_AREA, "bilinear": cv2.INTER_LINEAR, "nearest": cv2.INTER_NEAREST}
    image = picture(1, 3, (20, 30))
    small = cv2.resize(image[0].permute(1, 2, 0).numpy(), (12, 8), interpolation=modes[down])
    expected = cv2.resize(small, (30, 20), interpolation=modes[up])
    output = K.RandomDownscale((0.4, 0.4), down, up, p=1.0)(image)[0].permute(1, 2, 0)
    if up == "nearest":  # the two differ in which pixel is nearest, but not in which there are
        assert_close(output.unique(), torch.from_numpy(expected).unique(), atol=1e-6, rtol=0)
    else:
        assert_close(output, torch.from_numpy(expected), atol=1e-5, rtol=0)


def test_downscale_keeps_bytes_and_at_least_a_pixel() -> None:
    image = picture(2, dtype=torch.uint8)
    output = K.RandomDownscale((0.0, 0.0), p=1.0)(image)
    assert torch.equal(output, image[..., 8:9, 11:12].expand_as(image))
    assert K.RandomDownscale((0.5, 0.5), p=1.0)(image).dtype == torch.uint8


# ----------------------------------------------------------------------------------------------------------- bad input


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
        (lambda: K.RandomSharpness(-1.0), ValueError, "sharpness"),
        (lambda: K.RandomSharpness("much"), TypeError, "sharpness"),
        (lambda: K.RandomJPEG((0.0, 50.0)), ValueError, "jpeg_quality"),
        (lambda: K.RandomJPEG(60.0), ValueError, "jpeg_quality"),
        (lambda: K.RandomDownscale((0.5, 1.5)), ValueError, "scale_range"),
        (lambda: K.RandomDownscale(downscale="lanczos"), ValueError, "downscale"),
        (lambda: K.RandomDownscale(upscale="area"), ValueError, "upscale"),
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


def test_smoothing_is_the_pils_filter() -> None:
    image = photograph()
    pil = Image.fromarray(image[0].permute(1, 2, 0).numpy()).filter(ImageFilter.SMOOTH)
    output = K.RandomSharpness((0.0, 0.0), p=1.0)(image)[0].permute(1, 2, 0)
    assert (output.int() - torch.from_numpy(np.array(pil)).int()).abs().max() <= 1
