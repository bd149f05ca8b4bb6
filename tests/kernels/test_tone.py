"""Look-up tables, lines and histograms of bytes, by kernels in C and without."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from augment import kernels as native
from augment.kernels import built
from augment.kernels.colour import c as colour_c
from augment.kernels.histogram import maths as histogram
from augment.kernels.tone import c as tone_c
from augment.kernels.tone import maths as tone
from tests.support.helpers import picture
from tests.support.kernel_images import needs_kernels
from tests.support.levels import SIZES, assert_rounded, last, noise, written
from tests.support.opaque import B


@pytest.mark.parametrize("form", [torch.Tensor.contiguous, last], ids=["planar", "last"])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("count", [1, 3])
def test_look_up(count: int, size: tuple[int, int], form: Callable[..., Tensor], instructions: str) -> None:
    image, tables = form(noise(*size)), torch.randint(0, 256, (count, 256), dtype=torch.uint8)
    out = written(lambda out: tone_c.look_up(image, tables.numpy().tobytes(), out), image)
    for c in range(3):
        assert np.array_equal(out[c].numpy(), tables[c % count].numpy()[image[c].numpy()])


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_linear_levels(size: tuple[int, int], instructions: str) -> None:
    image = noise(*size)
    lines = [[1.5, -20.25], [1.0, 12.5], [0.3, 400.0]]
    out = written(lambda out: tone_c.linear_levels(image, lines, out), image).numpy()
    wide = image.numpy().astype(np.float64)
    assert np.array_equal(out[0], np.clip(np.round(wide[0] * 1.5 - 20.25), 0, 255))
    assert np.array_equal(out[1], np.clip(wide[1] + 12, 0, 255))  # what is added is rounded first, halves to even
    assert (out[2] == 255).all()


@pytest.mark.parametrize("form", [torch.Tensor.contiguous, last], ids=["planar", "last"])
@pytest.mark.parametrize("shifts", [[13, 13, 13], [-40, -40, -40], [0, 255, -255], [400, -1, -400]], ids=str)
def test_shifts(shifts: list[int], form: Callable[..., Tensor], instructions: str) -> None:
    image = form(noise(21, 33))
    out = written(lambda out: tone_c.linear_levels(image, [[1.0, float(by)] for by in shifts], out), image)
    for plane, found, by in zip(image.int(), out, shifts, strict=True):
        assert torch.equal(found.int(), (plane + by).clamp(0, 255))


@pytest.mark.parametrize("form", [torch.Tensor.contiguous, last], ids=["planar", "last"])
def test_look_up_floats(form: Callable[..., Tensor], instructions: str) -> None:
    image, tables = form(noise(13, 37)), torch.randn(3, 256)
    out = written(lambda out: tone_c.look_up_floats(image, tables, out), torch.empty_like(image, dtype=torch.float32))
    for c in range(3):
        assert np.array_equal(out[c].numpy(), tables[c].numpy()[image[c].numpy()])


@pytest.mark.parametrize("axis", [1, 2])
def test_strides_of_an_axis_of_one_pixel_mean_nothing(axis: int, instructions: str) -> None:
    image = noise(1, 7) if axis == 1 else noise(7, 1)
    strides = list(image.stride())
    strides[axis] = 10**6
    odd = image.as_strided(image.shape, strides)
    assert odd.is_contiguous()
    tables = bytes(range(255, -1, -1)) * 3
    for call in (
        lambda x, out: tone_c.look_up(x, tables, out),
        lambda x, out: tone_c.linear_levels(x, [[1.5, 0.0], [0.5, 1.0], [0.7, 2.0]], out),
        lambda x, out: colour_c.adjust_colour(x, [(colour_c.ROTATE_HUE, 0.3)], [], out),
    ):
        outputs = [written(lambda out, x=x, call=call: call(x, out), image) for x in (image, odd)]
        assert torch.equal(*outputs)


@needs_kernels
def test_what_kernels_do_not_do() -> None:
    image = noise(8, 8)
    table = bytes(range(256))
    assert not tone_c.look_up(image[:, ::2], table, torch.empty(3, 4, 8, dtype=torch.uint8))
    assert not tone_c.look_up(image, table, last(image))
    assert not tone_c.look_up(image.int(), table, image)
    assert not colour_c.adjust_colour(noise(8, 8, 4), [(0, 2.0)], [], noise(8, 8, 4))
    assert not tone_c.linear_levels(noise(8, 8, 5), [[k + 1.0, 0.0] for k in range(5)], noise(8, 8, 5))
    with pytest.raises(ValueError, match="no kernels for none"):
        built.library.use("none")


@pytest.mark.parametrize("scale", [0.0, 0.5, 0.93, 1.0, 1.2, 77.0, 1e6, float("inf")])
@pytest.mark.parametrize("shift", [0.0, -25.4, 25.4, 3e4, -3e4])
def test_lines_are_rounded_once(scale: float, shift: float) -> None:
    if scale == float("inf") and shift:
        return
    ramp, out = torch.arange(256, dtype=torch.uint8), torch.empty(256, dtype=torch.uint8)
    tone.linear_levels(ramp, scale, shift, out)
    exact = torch.where(ramp == 0, 0.0, ramp.double() * scale) + (round(shift) if scale == 1 else shift)
    assert_rounded(out, exact, 1e-3)


def test_pairs_of_bytes_are_looked_up_as_each_is() -> None:
    image = torch.randint(0, 256, (2, 3, 256, 256), generator=torch.Generator().manual_seed(1), dtype=torch.uint8)
    table = torch.randperm(256, generator=torch.Generator().manual_seed(2)).to(torch.uint8)
    assert image[0].numel() >= tone.PAIRED
    expected = table[image.long()]
    for format in (torch.contiguous_format, torch.channels_last):
        found = native.look_up(image.contiguous(memory_format=format), table.expand(2, 1, -1))
        assert torch.equal(found, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
def test_equalize_on_rows_is_that_on_the_batch(dtype: torch.dtype) -> None:
    image = picture(B, dtype=dtype)
    image[0, 0] = 1
    assert torch.equal(native.equalize(image, torch.ones(B, dtype=torch.bool)), histogram.equalize_batch(image))
