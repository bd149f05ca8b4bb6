"""Blurs of bytes, by kernels in C and without, and of rows as of the batch."""

from typing import Any

import cv2
import numpy as np
import pytest
import torch
from torch.testing import assert_close

from augment import kernels as native
from augment.common import vocabulary
from augment.common.dtypes import load, store
from augment.kernels import built
from augment.kernels.blur import c as blur_c
from augment.kernels.blur import maths as filters
from augment.kernels.blur import maths as zoom
from augment.kernels.blur import median
from tests.support.helpers import picture
from tests.support.kernel_images import OPEN, done, exact, images, near, needs_kernels, takes
from tests.support.levels import LEVELS, WIDE, assert_rounded
from tests.support.opaque import GATE, MOTIONS, WEIGHTS, B

SIZES = [(1, 1), (2, 3), (8, 7), (37, 61), (11, 1200)]


@pytest.mark.parametrize("window", [(1, 3), (3, 1), (3, 3), (5, 5), (3, 5), (7, 7), (9, 3), (15, 15)])
def test_median_is_that_of_torch(instructions, window):
    for size in SIZES:
        for image in images(size):
            if min(n - k // 2 for n, k in zip(size, window, strict=True)) < 1:
                assert not takes(blur_c.median_blur, image, OPEN, *window)
                continue
            expected = median.median_blur(image.contiguous(), *window)
            assert torch.equal(done(blur_c.median_blur, image, OPEN, *window), expected)
            planar = torch.empty(image.shape)
            assert torch.equal(done(blur_c.median_blur, image, OPEN, *window, out_like=planar), expected)


@pytest.mark.parametrize("k", [3, 5, 7])
def test_median_is_that_of_opencv_inside(instructions, k):
    image = images((61, 90))[1]
    expected = torch.from_numpy(cv2.medianBlur(np.ascontiguousarray(image.permute(1, 2, 0)), k)).permute(2, 0, 1)
    found = done(blur_c.median_blur, image, OPEN, k, k)
    assert torch.equal(*(x[:, k:-k, k:-k] for x in (found, expected)))


@pytest.mark.parametrize("channels", [1, 2, 4, 5])
def test_median_takes_any_channels(instructions, channels):
    for image in images((20, 33), channels):
        assert torch.equal(done(blur_c.median_blur, image, OPEN, 5, 5), median.median_blur(image.contiguous(), 5, 5))


@needs_kernels
def test_there_is_no_median_without_kernels(monkeypatch):
    monkeypatch.setattr(built, "library", None)
    assert not takes(blur_c.median_blur, torch.zeros(3, 9, 9, dtype=torch.uint8), OPEN, 3, 3)


BORDERS = {
    "constant": cv2.BORDER_CONSTANT,
    "reflect": cv2.BORDER_REFLECT_101,
    "replicate": cv2.BORDER_REPLICATE,
    "circular": cv2.BORDER_WRAP,
}


def correlated(image, taps_y, taps_x, border, anchor=None):
    """Correlate with an outer product in float64, by OpenCV, which cannot wrap around."""
    ky, kx = len(taps_y), len(taps_x)
    above, before = anchor or (ky // 2, kx // 2)
    wide = np.ascontiguousarray(image.permute(1, 2, 0)).astype(np.float64)
    wide = cv2.copyMakeBorder(wide, above, ky - 1 - above, before, kx - 1 - before, BORDERS[border])
    found = cv2.filter2D(wide.reshape(*wide.shape[:2], -1), -1, np.outer(taps_y, taps_x), anchor=(0, 0))
    found = found.reshape(*found.shape[:2], -1)[: image.shape[1], : image.shape[2]]
    return torch.from_numpy(found.copy()).permute(2, 0, 1)


def fits(size, window, border):
    least = [k // 2 + (border == "reflect") if border in ("reflect", "circular") else 1 for k in window]
    return size[0] >= least[0] and size[1] >= least[1]


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("window", [(1, 1), (3, 3), (5, 1), (7, 13), (9, 8)])
@pytest.mark.parametrize("mirrored", [True, False])
def test_separable_filter_is_exact(instructions, border, window, mirrored):
    taps = [torch.rand(k, dtype=torch.float64).float().sub(0.3) for k in window]
    taps = [((t + t.flip(0)) / (t + t.flip(0)).sum() if mirrored else t / t.abs().sum()).tolist() for t in taps]
    for size in SIZES:
        for image in images(size):
            if not fits(size, window, border):
                assert not takes(blur_c.separable_filter, image, *map(torch.tensor, taps), border)
                continue
            found = done(blur_c.separable_filter, image, *map(torch.tensor, taps), border)
            exact(found, correlated(image, *taps, border))
            near(found, filters.separable_filter(image.float(), *taps, border))


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("window", [(1, 2), (2, 2), (3, 3), (4, 7), (16, 16), (17, 18), (33, 2)])
def test_boxes_are_exact(instructions, border, window):
    taps = [[1 / k] * k for k in window]
    for size in SIZES:
        for image in images(size):
            if not fits(size, window, border):
                assert not takes(blur_c.box_blur, image, OPEN, *window, border)
                continue
            found = done(blur_c.box_blur, image, OPEN, *window, border)
            exact(found, correlated(image, *taps, border, [(k - 1) // 2 for k in window]))
            near(found, filters.box_blur(image.float(), *window, border))


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("k", [1, 3, 7])
def test_square_filter_is_exact(instructions, border, k):
    taps = torch.randn(k, k).mul(torch.rand(k, k) < 0.5)
    taps[k // 2, k // 2] = 0.3
    for size in SIZES:
        for image in images(size):
            if not fits(size, (k, k), border):
                assert not takes(blur_c.filter2d, image, taps, border)
                continue
            found = done(blur_c.filter2d, image, taps, border)
            exact(found, filters.filter2d(image.double(), taps.tolist(), border))


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("radius", [0, 1, 4, 9])
def test_disk_blur_is_exact(instructions, border, radius):
    params, count = [torch.tensor(float(radius)), torch.tensor(0.4)], filters.alias_size(radius)
    taps = filters.gaussian_weights(torch.tensor([0.4]), count)[0].tolist()
    for size in SIZES:
        for image in images(size):
            if not fits(size, [2 * (radius + count // 2) + 1] * 2, border):
                assert not takes(blur_c.disk_blur, image, *params, radius, border)
                continue
            found = done(blur_c.disk_blur, image, *params, radius, border)
            exact(found, filters.disk_blur(image.double(), radius, taps, border))


@pytest.mark.parametrize(("factor", "steps"), [(1.31, 4), (1.02, 2), (9.0, 7)])
def test_zoom_blur_is_exact(instructions, factor, steps):
    for size in SIZES:
        for image in images(size):
            found = done(blur_c.zoom_blur, image, torch.tensor(factor), steps)
            exact(found, zoom.zoom_blur_row(image.double(), torch.tensor(factor, dtype=torch.float64), steps))


@needs_kernels
def test_zooms_of_too_few_or_many_steps_are_left_to_torch():
    image = torch.zeros(3, 9, 9, dtype=torch.uint8)
    for steps in (1, 2**12):
        assert not takes(blur_c.zoom_blur, image, torch.tensor(1.5), steps)


@pytest.mark.parametrize("channels", [1, 2, 4, 5])
def test_filters_take_any_channels(instructions, channels):
    for image in images((20, 33), channels):
        taps = torch.tensor([0.2, 0.5, 0.3])
        exact(
            done(blur_c.separable_filter, image, taps, taps, "reflect"),
            filters.separable_filter(image.double(), taps.tolist(), taps.tolist(), "reflect"),
        )


@needs_kernels
def test_instruction_sets_agree():
    image = images((70, 90))[1]
    taps = torch.rand(7)
    found = []
    for name in built.library.sets():
        built.library.use(name)
        outs = [
            done(blur_c.separable_filter, image, taps, taps, "reflect"),
            done(blur_c.box_blur, image, OPEN, 20, 20, "reflect"),
            done(blur_c.sharpen, image, torch.tensor(1.3)),
            done(blur_c.zoom_blur, image, torch.tensor(1.4), 6),
            done(blur_c.disk_blur, image, torch.tensor(5.0), torch.tensor(0.4), 5, "replicate"),
        ]
        found.append(torch.stack(outs))
    assert all(torch.equal(found[0], other) for other in found)


@needs_kernels
@pytest.mark.parametrize("format", [torch.contiguous_format, torch.channels_last])
def test_ops_of_bytes_do_the_same_without_kernels(monkeypatch, format):
    image = torch.randint(0, 256, (3, 3, 40, 50), dtype=torch.uint8).to(memory_format=format)
    gate, weights = (
        torch.tensor([True, False, True]),
        torch.tensor([[0.3127, 0.3742, 0.3131], [0, 1, 0], [0.1173, 0.7654, 0.1173]]),
    )
    square = weights.unsqueeze(2) * weights.unsqueeze(1)

    def outputs():
        return [
            native.median_blur(image, gate, 3, 3),
            native.box_blur(image, gate, 3, 5, "reflect"),
            native.sharpen(image, torch.tensor([0.2, 1.0, 1.8731])),
            native.separable_filter(image, weights, weights, "circular"),
            native.filter2d(image, square, "constant"),
            native.zoom_blur(image, torch.tensor([1.37, 1.0, 2.2]), 5),
            native.defocus(image, torch.tensor([3.0, 0, 10.0]), torch.tensor([0.3, 0, 0.5]), 10, "reflect"),
        ]

    by_kernels = outputs()
    monkeypatch.setattr(built, "library", None)
    for found, expected in zip(by_kernels, outputs(), strict=True):
        assert found.is_contiguous(memory_format=format) and expected.is_contiguous(memory_format=format)
        near(found, expected.double())
        assert torch.equal(found[1], image[1])


@needs_kernels
@pytest.mark.parametrize("size", [(1, 3), (3, 3), (4, 5), (11, 12), (15, 15)])  # the last is too much for int16
@pytest.mark.parametrize("border", ["reflect", "replicate", "constant", "circular"])
def test_boxes_are_rounded_once(size: tuple[int, int], border: str) -> None:
    out = done(blur_c.box_blur, LEVELS, OPEN, *size, border)
    assert_rounded(out, filters.box_blur(WIDE, *size, border))


@pytest.mark.parametrize("size", [(3, 3), (5, 3), (1, 5), (7, 7)])
def test_medians_over_the_ends_of_lines_are_those_of_lines(size: tuple[int, int], monkeypatch: Any) -> None:
    monkeypatch.setattr(median, "STRIP", 2000)
    found = median.median_blur(LEVELS, *size, torch.empty_like(LEVELS))
    assert torch.equal(found.double(), median.median_blur(WIDE, *size))


@pytest.mark.parametrize("border", vocabulary.BORDERS)
def test_filter_on_rows_is_that_on_the_batch(border: str) -> None:
    image = picture(B)
    taps = [w.view(-1, 1, 1, 1) for w in WEIGHTS.unbind(1)]
    rows = native.separable_filter(image, WEIGHTS, WEIGHTS, border)
    assert_close(rows, filters.separable_filter(image, taps, taps, border), atol=1e-6, rtol=0)
    assert torch.equal(rows[0], image[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
def test_blurs_on_rows_are_those_on_the_batch(dtype: torch.dtype) -> None:
    image = picture(B, dtype=dtype)
    work, gate = load(image), GATE > 0
    radius, sigma = torch.tensor([0, 2, 9]), torch.tensor([0.0, 0.3, 0.5])
    factor = torch.tensor([1.0, 1.2, 1.6])
    pairs = [
        (native.box_blur(image, gate, 4, 3, "reflect"), filters.box_blur(work, 4, 3, "reflect")),
        (native.median_blur(image, gate, 5, 3), median.median_blur(work, 5, 3)),
        (native.filter2d(image, MOTIONS, "circular"), filters.filter2d_batch(work, MOTIONS, "circular")),
        (
            native.defocus(image, radius, sigma, 9, "replicate"),
            filters.filter2d_batch(work, filters.disk_weights(radius, sigma, 9), "replicate"),
        ),
        (native.zoom_blur(image, factor, 5), zoom.zoom_blur(work, factor, 5)),
    ]
    for rows, whole in pairs[:2]:
        assert_close(rows[gate], store(whole, dtype)[gate], atol=1e-6 if dtype == torch.float32 else 1, rtol=0)
        assert torch.equal(rows[1], image[1])
    for rows, whole in pairs[2:]:
        assert_close(rows, store(whole, dtype), atol=2e-6 if dtype == torch.float32 else 1, rtol=0)
        assert torch.equal(rows[0], image[0])
