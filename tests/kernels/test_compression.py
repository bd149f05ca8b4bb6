"""JPEG and downscaling of bytes, by kernels in C and without."""

import io

import numpy as np
import pytest
import torch
from PIL import Image
from torch.testing import assert_close

from augment import kernels as native
from augment.common import vocabulary
from augment.kernels import built
from augment.kernels.compression import c as compression_c
from augment.kernels.compression import downscale, jpeg
from tests.support.helpers import picture
from tests.support.kernel_images import done, images, needs_kernels
from tests.support.opaque import GATE, SCALES, TABLES, B
from tests.support.warps import in_parts

OPEN = torch.tensor(True)
SIZES = [(1, 1), (2, 3), (8, 7), (16, 16), (37, 61), (15, 257), (130, 272)]


def tables(quality):
    return jpeg.quantization_tables(torch.tensor([float(quality)]))[0]


def alike(found, expected):
    """See that bytes are alike but where a coefficient between two steps fell to the other side."""
    off = (found.double() - expected.round()).abs()
    assert (off > 0).double().mean() < 1e-3 or (off > 0).sum() <= 1


@pytest.mark.parametrize("quality", [5, 30, 75, 100])
def test_jpeg_is_what_is_defined(instructions, quality):
    steps = tables(quality)
    for size in SIZES:
        for image in images(size):
            found = done(compression_c.jpeg, image, OPEN, steps)
            alike(found, jpeg.jpeg(image.double(), steps.double()))
            alike(found, jpeg.jpeg(image.float(), steps).double())
            planar = torch.empty(image.shape)
            assert torch.equal(done(compression_c.jpeg, image, OPEN, steps, out_like=planar), found)


def test_jpeg_is_close_to_the_pils(instructions):
    y, x = torch.meshgrid(torch.arange(96), torch.arange(128), indexing="ij")
    image = torch.stack([x + y, 2 * y, 255 - x]).clamp(0, 255).byte()
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(image.permute(1, 2, 0))).save(file, "JPEG", quality=60)
    expected = torch.from_numpy(np.asarray(Image.open(file)).copy()).permute(2, 0, 1)
    found = done(compression_c.jpeg, image, OPEN, tables(60))
    assert (found.double() - expected.double()).abs().mean() < 2


@needs_kernels
def test_instruction_sets_agree():
    found = []
    for name in built.library.sets():
        built.library.use(name)
        torch.manual_seed(0)
        found.append([done(compression_c.jpeg, image, OPEN, tables(40)) for image in images((70, 90))])
    assert all(torch.equal(one, other) for one, other in zip(found[0], found[-1], strict=True))


@needs_kernels
@pytest.mark.parametrize("format", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_the_op_does_the_same_without_kernels(monkeypatch, format, channels):
    image = torch.randint(0, 256, (3, channels, 40, 50), dtype=torch.uint8).to(memory_format=format)
    gate, steps = torch.tensor([True, False, True]), torch.stack([tables(q) for q in (20, 50, 90)])
    found = native.jpeg(image, gate, steps)
    monkeypatch.setattr(built, "library", None)
    expected = native.jpeg(image, gate, steps)
    assert found.is_contiguous(memory_format=format) and expected.is_contiguous(memory_format=format)
    alike(found, expected.double())
    assert torch.equal(found[1], image[1])


def resized(plane, n, axis, mode):
    """Resize by closed forms: means are differences of an integral, and lines are interpolated."""
    plane = np.moveaxis(plane, axis, -1)
    size = plane.shape[-1]
    if mode == "nearest":
        plane = plane[..., (2 * np.arange(n) + 1) * size // (2 * n)]
    elif mode == "area":
        integral = np.concatenate([np.zeros((len(plane), 1)), plane.cumsum(-1)], -1)
        edges = np.arange(n + 1) * size / n
        plane = np.diff([np.interp(edges, np.arange(size + 1), line) for line in integral], axis=-1) * n / size
    else:
        places = (np.arange(n) + 0.5) * size / n - 0.5
        plane = np.stack([np.interp(places, np.arange(size), line) for line in plane])
    return np.moveaxis(plane, -1, axis)


@pytest.mark.parametrize("up", ["nearest", "bilinear"])
@pytest.mark.parametrize("down", ["nearest", "bilinear", "area"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_downscale(size, down, up, instructions):
    for scale in (0.3, 1e-9, 1.0, 0.77, float("nan")):
        number = torch.tensor(scale)
        small = [int(downscale.small_sizes(number.nan_to_num(0), n)) for n in size]
        outs = []
        for image in images(size, 2) + images(size, 3):
            outs.append(done(compression_c.downscale, image, number, down, up))
            for plane, found in zip(image.double().numpy(), outs[-1].numpy(), strict=True):
                for axis in (0, 1):
                    plane = resized(plane, small[axis], axis, down)
                for axis in (0, 1):
                    plane = resized(plane, size[axis], axis, up)
                assert np.abs(found - plane).max() < 0.503  # places are floats
        assert all(torch.equal(one, outs[0]) for one in outs[:4]) and all(torch.equal(one, outs[4]) for one in outs[4:])


def test_threads_agree(instructions):
    image = torch.randint(0, 256, (9, 3, 170, 190), dtype=torch.uint8)
    in_parts(compression_c.jpeg, image, (170, 190), OPEN.expand(9), torch.stack([tables(9 * k + 9) for k in range(9)]))
    for down, up in (("area", "bilinear"), ("nearest", "nearest")):
        in_parts(compression_c.downscale, image, (170, 190), torch.linspace(0.1, 0.9, 9), down, up)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64, torch.float32, torch.float16], ids=str)
def test_thinned_values_stay_exact(dtype):
    image = torch.randint(0, 255, (B, 3, 17, 23)).to(dtype)
    found, whole = native.downscale(image, SCALES, "nearest", "nearest"), downscale.thin(image, SCALES)
    assert found.dtype == dtype and torch.equal(found, whole)
    for axis, size in ((2, 17), (3, 23)):
        small = round(float(SCALES[1]) * size)
        image = torch.from_numpy(resized(resized(image.numpy(), small, axis, "nearest"), size, axis, "nearest"))
    assert torch.equal(found[1], image[1])


@needs_kernels
@pytest.mark.parametrize(("down", "up"), [("nearest", "nearest"), ("area", "nearest"), ("bilinear", "bilinear")])
def test_downscale_without_kernels(down, up, monkeypatch):
    image, scale = torch.randint(0, 256, (4, 3, 40, 51), dtype=torch.uint8), torch.tensor([0.3, 1.0, 0.55, 0.8])
    found = native.downscale(image, scale, down, up)
    monkeypatch.setattr(built, "library", None)
    apart = (found.int() - native.downscale(image, scale, down, up).int()).abs()
    assert apart.max() <= 1 and (apart > 0).float().mean() < 1e-3
    assert torch.equal(found[1], image[1])


def test_compression_on_rows_is_that_on_the_batch() -> None:
    image = picture(B, dtype=torch.float64)
    whole = jpeg.jpeg(image * 255, TABLES.double()) / 255
    rows = native.jpeg(image, GATE > 0, TABLES.double())
    assert_close(rows[GATE > 0], whole[GATE > 0], atol=1e-9, rtol=0)
    assert torch.equal(rows[1], image[1])
    for down in vocabulary.DOWN:
        for up in vocabulary.UP:
            rows = native.downscale(image, SCALES, down, up)
            assert_close(rows, downscale.downscale(image, SCALES, down, up), atol=1e-6, rtol=0)
