"""JPEG and downscaling: the libraries they follow, known answers, and bad input."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor
from torch.testing import assert_close

import augment as K
from tests.support.helpers import picture
from tests.support.known import photograph


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


@pytest.mark.parametrize(
    ("build", "error", "name"),
    [
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
