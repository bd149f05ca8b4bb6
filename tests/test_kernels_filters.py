import cv2
import numpy as np
import pytest
import torch

from augment.functional import median
from augment.kernels import core
from augment.kernels import median as median_kernel

pytestmark = pytest.mark.skipif(core.built is None, reason="built without a C compiler")

SIZES = [(1, 1), (2, 3), (5, 7), (16, 16), (37, 61), (70, 333), (130, 40)]


@pytest.fixture(params=core.built.sets() if core.built else [])
def instructions(request):
    core.built.use(request.param)
    yield request.param
    core.built.use(core.built.sets()[-1])


def images(size, channels=3):
    """Give an image as it may lie in memory: planar, pixel by pixel, with gaps, and turned."""
    planar = torch.randint(0, 256, (channels, *size), dtype=torch.uint8)
    last = planar.permute(1, 2, 0).contiguous().permute(2, 0, 1)
    gaps = planar.new_zeros(channels, size[0] + 3, 2 * size[1])[:, 2:-1, ::2].copy_(planar)
    turned = planar.mT.contiguous().mT
    return [planar, last, gaps, turned]


def guarded(image):
    """Give memory for an image like another amid bytes that nobody may write, and a view of the whole."""
    whole = torch.full((image.numel() + 256,), 77, dtype=torch.uint8)
    dense = not image.is_contiguous() and image.permute(1, 2, 0).is_contiguous()
    shape = [image.shape[i] for i in (1, 2, 0)] if dense else image.shape
    inner = whole[128:-128].view(shape)
    return (inner.permute(2, 0, 1) if dense else inner), whole


def done(fn, image, *args, out_like=None):
    """Do an image by a kernel, and see that it wrote all of its output and nothing else."""
    out, whole = guarded(image if out_like is None else out_like)
    kept = image.clone()
    assert fn(image, *args, out)
    assert torch.equal(image, kept)
    assert (whole[:128] == 77).all() and (whole[-128:] == 77).all()
    return out


def near(found, expected):
    """See that bytes are those that exact numbers round to, but for a few that lie halfway between two."""
    off = (found.double() - expected.clamp(0, 255).round()).abs()
    assert off.max() <= 1
    assert (off > 0).double().mean() < 1e-3 or (off > 0).sum() <= 1


@pytest.mark.parametrize("window", [(1, 3), (3, 1), (3, 3), (5, 5), (3, 5), (7, 7), (9, 3), (15, 15)])
def test_median_is_that_of_torch(instructions, window):
    for size in SIZES:
        for image in images(size):
            if min(n - k // 2 for n, k in zip(size, window, strict=True)) < 1:
                assert not median_kernel.median_blur(image, *window, torch.empty_like(image))
                continue
            expected = median.median_blur(image.contiguous(), *window)
            assert torch.equal(done(median_kernel.median_blur, image, *window), expected)
            planar = torch.empty(image.shape)
            assert torch.equal(done(median_kernel.median_blur, image, *window, out_like=planar), expected)


@pytest.mark.parametrize("k", [3, 5, 7])
def test_median_is_that_of_opencv_inside(instructions, k):
    image = images((61, 90))[1]
    expected = torch.from_numpy(cv2.medianBlur(np.ascontiguousarray(image.permute(1, 2, 0)), k)).permute(2, 0, 1)
    found = done(median_kernel.median_blur, image, k, k)
    assert torch.equal(*(x[:, k:-k, k:-k] for x in (found, expected)))


@pytest.mark.parametrize("channels", [1, 2, 4, 5])
def test_median_takes_any_channels(instructions, channels):
    for image in images((20, 33), channels):
        assert torch.equal(done(median_kernel.median_blur, image, 5, 5), median.median_blur(image.contiguous(), 5, 5))


def test_there_is_no_median_without_kernels(monkeypatch):
    monkeypatch.setattr(core, "built", None)
    image = torch.zeros(3, 9, 9, dtype=torch.uint8)
    assert not median_kernel.median_blur(image, 3, 3, image.clone())
