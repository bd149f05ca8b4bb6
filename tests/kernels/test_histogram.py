"""Equalising of bytes, by kernels in C and without."""

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps

from augment.kernels import built
from augment.kernels.histogram import c as histogram_c
from augment.kernels.histogram import clahe
from augment.kernels.histogram import entry as histogram_entry
from augment.kernels.histogram import maths as histogram
from tests.support.kernel_images import OPEN, done, exact, images, needs_kernels, takes

SIZES = [(1, 1), (2, 3), (8, 7), (37, 61), (12, 150)]


def shades(size, channels=3):
    """Give images of few levels, of uneven shares, and of one."""
    for image in images(size, channels):
        yield image
        image.div_(3, rounding_mode="floor").add_(40)
        yield image
        image.copy_(torch.where(image > 90, image, 50))
        image[0].fill_(7)
        yield image


def by_pil(fn, image):
    return torch.stack([torch.from_numpy(np.array(fn(Image.fromarray(plane.contiguous().numpy())))) for plane in image])


def test_equalize_is_the_pils(instructions):
    for size in SIZES:
        for image in shades(size):
            found = done(histogram_c.equalize, image, OPEN)
            assert torch.equal(found, by_pil(ImageOps.equalize, image))
            assert torch.equal(found, histogram.equalize_row(image))
            assert torch.equal(done(histogram_c.equalize, image, OPEN, out_like=torch.empty(image.shape)), found)


@pytest.mark.parametrize("grid", [(1, 1), (2, 2), (8, 8), (3, 5), (20, 1)])
@pytest.mark.parametrize("limit", [0.0, 1.0, 2.5])
def test_clahe_is_what_is_defined(instructions, grid, limit):
    for size in SIZES:
        for image in shades(size):
            found = done(histogram_c.equalize_tiles, image, OPEN, torch.tensor(limit), *grid)
            tiles, limits = clahe.Tiles.of(image.double(), grid), torch.full((len(image),), limit)
            exact(found, clahe.equalize_tiles(image.int(), limits, tiles, lambda i, n: i.bincount(minlength=n)))


def test_equalising_whole_images_by_clahe_is_near_opencvs(instructions):
    cv2 = pytest.importorskip("cv2")
    image = images((64, 64), 1)[0] // 2 + 20
    found = done(histogram_c.equalize_tiles, image, OPEN, torch.tensor(2.0), 8, 8)
    expected = torch.from_numpy(cv2.createCLAHE(2.0, (8, 8)).apply(image[0].numpy()))
    assert (found[0].double() - expected.double()).abs().mean() < 4  # whose tables lie half a pixel off


@pytest.mark.parametrize("channels", [1, 2, 4, 5, 16, 20])
def test_any_channels(instructions, channels):
    for image in shades((20, 33), channels):
        assert torch.equal(done(histogram_c.equalize, image, OPEN), by_pil(ImageOps.equalize, image))
        assert done(histogram_c.equalize_tiles, image, OPEN, torch.tensor(2.0), 4, 4).shape == image.shape


@needs_kernels
@pytest.mark.parametrize("grid", [(0, 3), (3, 0), (-1, 1), (2**7, 2**7)])
def test_tiles_that_no_memory_holds_are_left_to_torch(grid):
    assert not takes(histogram_c.equalize_tiles, images((5, 9))[0], OPEN, torch.tensor(2.0), *grid)


@needs_kernels
@pytest.mark.parametrize("format", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("channels", [1, 3, 17])
def test_ops_of_bytes_do_the_same_without_kernels(monkeypatch, format, channels):
    image = torch.randint(20, 200, (3, channels, 40, 50), dtype=torch.uint8).to(memory_format=format)
    gate = torch.tensor([True, False, True])

    def outputs():
        return [
            histogram_entry.equalize(image, gate),
            histogram_entry.equalize_tiles(image, gate, torch.tensor([2.0, 3.0, 4.0]), 5, 3),
        ]

    by_kernels = outputs()
    monkeypatch.setattr(built, "library", None)
    for found, expected in zip(by_kernels, outputs(), strict=True):
        assert found.is_contiguous(memory_format=format) and expected.is_contiguous(memory_format=format)
        exact(found, expected.double())
        assert torch.equal(found[1], image[1])
