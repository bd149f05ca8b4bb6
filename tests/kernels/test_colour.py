"""Recolourings of bytes: by programs in C, by their maths, and as values of exact arithmetic."""

import colorsys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import augment as K
from augment import kernels
from augment.kernels import built
from augment.kernels.colour import c as colour_c
from augment.kernels.colour import maths as colour
from augment.kernels.colour import program
from augment.kernels.colour.program import Part
from tests.support.helpers import picture
from tests.support.kernel_images import done, images, needs_kernels
from tests.support.levels import LEVELS, SIZES, assert_rounded, last, noise
from tests.support.opaque import FACTORS, ORDER, B

NEUTRAL = torch.tensor(colour.NEUTRAL)
STEPS = {
    "jitter": [[1.3, 0.6, 1.7, 0.2], [0.5, 1.8, 0.3, -0.45], [1.9, 1.9, 1.9, 0.5]],
    "jiggle": [[1.2, 0.6, 1.7, -0.2], [0.7, 1.8, 0.3, 1 / 3], [0.9, 1.0, 2.5, 0.0]],
}
FORMS = pytest.mark.parametrize("form", [torch.Tensor.contiguous, last], ids=["planar", "last"])


def run(image: Tensor, *parts: Part, wide: bool = False) -> Tensor:
    """An image (C, H, W) of bytes behind a program in C, whose numbers are those of the image."""
    numbers, codes = program.written([part._replace(numbers=part.numbers[None]) for part in parts], None, wide)
    like = torch.empty_like(image, dtype=torch.float32) if wide else None
    if wide:
        out = torch.empty_like(image, dtype=torch.float32)
        colour_c.recolour.run(image[None], out[None], None, numbers, codes)
        return out
    return done(colour_c.recolour, image, numbers[0], codes, out_like=like)


def jitter(kind: str, factors: list[float], order: tuple[int, ...]) -> Part:
    number = program.JITTER if kind == "jitter" else program.JIGGLE
    return Part(number, len(order), 0, torch.tensor([*factors, *order]))


def line(scale: list[float], shift: list[float], cut: bool = False) -> Part:
    return Part(program.LINE, len(scale), program.CUT * cut, torch.tensor([*scale, *shift]))


@FORMS
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_jitters(
    size: tuple[int, int], kind: str, channels: int, form: Callable[..., Tensor], instructions: str
) -> None:
    image = form(noise(*size, channels))
    for factors, order in zip(STEPS[kind], [(0, 1, 2, 3), (3, 1, 0, 2), (2, 3, 1, 0)], strict=True):
        planes = list((image.double() / 255).unbind(0))
        expected = torch.stack(list(colour.jitter(planes, factors, order, kind=kind)))
        part = jitter(kind, factors, order)
        # which is rounding, and what float32 is off before it
        assert (run(image, part) - 255 * expected).abs().max() < 0.5 + 1e-3
        assert_close(run(image, part, wide=True).double(), expected, atol=1e-5, rtol=0)
        doubled = run(image, part, line([2.0], [-0.25]), wide=True)
        assert_close(doubled.double(), 2 * expected - 0.25, atol=2e-5, rtol=0)


def test_hue_and_saturation_are_those_of_colorsys(instructions: str) -> None:
    image = noise(9, 11)
    out = run(image, jitter("jiggle", [1.0, 1.0, 0.7, 0.3], (2, 3)))
    for pixel, result in zip(image.flatten(1).T.tolist(), out.flatten(1).T.tolist(), strict=True):
        h, s, v = colorsys.rgb_to_hsv(*(level / 255 for level in pixel))
        expected = [255 * level for level in colorsys.hsv_to_rgb((h + 0.3) % 1, 0.7 * s, v)]
        assert max(abs(a - b) for a, b in zip(expected, result, strict=True)) < 0.501


def test_blends_of_channels(instructions: str) -> None:
    image = noise(7, 300)
    grey, third = [0.2, 0.5, 0.3, 1 / 255], [0.0, 0.0, 1.0, 0.0]
    out = run(image, Part(program.BLEND, 0, 0, torch.tensor([*grey, *grey, *third])))
    r, g, b = image.double()
    for form in (torch.Tensor.contiguous, last):
        found = run(form(image), Part(program.BLEND, 0, 0, torch.tensor(grey * 3)))
        assert all(torch.equal(plane, out[0]) for plane in found)
    assert (out[0] - (0.2 * r + 0.5 * g + 0.3 * b + 1).clamp(0, 255)).abs().max() < 0.501
    assert torch.equal(out[0], out[1]) and torch.equal(out[2], image[2])


def test_channels_that_move(instructions: str) -> None:
    moved = torch.tensor([0.0, 0, 1, 0, 0, 0, 0, 0.5, 1, 0, 0, 0])
    for image in images((13, 70)):
        expected = torch.stack([image[2], torch.full_like(image[0], 128), image[0]])
        assert torch.equal(run(image, Part(program.BLEND, 0, 0, moved)), expected)


@FORMS
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("count", [1, 3])
def test_tables(count: int, size: tuple[int, int], form: Callable[..., Tensor], instructions: str) -> None:
    image, tables = form(noise(*size)), torch.randint(0, 256, (count, 256))
    out = run(image, Part(program.TABLE, count, 0, tables.flatten() / 255))
    floats = run(image, Part(program.TABLE, count, 0, tables.flatten() / 255), wide=True)
    for c in range(3):
        assert np.array_equal(out[c].numpy(), tables[c % count].numpy()[image[c].numpy()])
        assert torch.equal(floats[c], (tables[c % count] / 255)[image[c].long()])


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_lines(size: tuple[int, int], instructions: str) -> None:
    for image in images(size):
        out = run(image, line([1.5, 1.0, 0.3], [-20.25 / 255, 12.25 / 255, 2.0])).numpy()
        wide = image.numpy().astype(np.float64)
        assert np.array_equal(out[0], np.clip(np.round(np.float32(1.5) * wide[0] - 20.25), 0, 255))
        assert np.array_equal(out[1], np.clip(wide[1] + 12, 0, 255))
        assert (out[2] == 255).all()


@FORMS
@pytest.mark.parametrize("shifts", [[13, 13, 13], [-40, -40, -40], [0, 255, -255], [400, -1, -400]], ids=str)
def test_shifts(shifts: list[int], form: Callable[..., Tensor], instructions: str) -> None:
    image = form(noise(21, 33))
    out = run(image, line([1.0] * 3, [by / 255 for by in shifts]))
    for plane, found, by in zip(image.int(), out, shifts, strict=True):
        assert torch.equal(found.int(), (plane + by).clamp(0, 255))


def test_tables_that_are_masks_and_complements(instructions: str) -> None:
    levels = torch.arange(256)
    for table in (levels & 0xE0, 255 - levels, levels & 1, levels * 0 + 255, levels * 0, levels):
        for image in images((5, 77)):
            expected = table[image.long()].to(torch.uint8)
            assert torch.equal(run(image, Part(program.TABLE, 1, 0, table / 255)), expected)


def test_what_is_added_to_bytes_is_rounded_alone(instructions: str) -> None:
    """25.500006 is 26 for every level: a sum with a level would have lost the last digits, and be a tie."""
    ramp = torch.arange(256, dtype=torch.uint8).view(1, 16, 16)
    gain = torch.tensor(1.1) - 1
    assert gain.double() * 255 > 25.5
    assert torch.equal(run(ramp, line([1.0], [gain.item()])).int(), (ramp.int() + 26).clamp(max=255))


@pytest.mark.parametrize("scale", [0.0, 0.5, 0.93, 1.2, 77.0, 1e6])
@pytest.mark.parametrize("shift", [0.0, -25.4, 25.4, 3e4, -3e4])
def test_lines_are_rounded_once(scale: float, shift: float, instructions: str) -> None:
    ramp = torch.arange(256, dtype=torch.uint8).view(1, 16, 16)
    assert_rounded(run(ramp, line([scale], [shift / 255])), ramp.double() * scale + shift, 1e-3)


@pytest.mark.parametrize("flags", [(0, 0), (program.CUT, 0), (0, program.CUT), (program.CUT, program.CUT)], ids=str)
@pytest.mark.parametrize("wide", [False, True])
def test_programs_are_their_maths(flags: tuple[int, int], wide: bool, instructions: str) -> None:
    """Any parts one after the other, with rows and parts that are closed, are what float64 makes of them."""
    torch.manual_seed(5)
    given = torch.stack([noise(15, 31) // 2 + 20 * k for k in range(4)])
    opens, gate = torch.tensor([True, True, False, True]), torch.tensor([[1.0], [0.0], [1.0], [1.0]])
    first, second = flags
    gated = program.GATED
    parts = [
        Part(program.LINE, 3, first | gated, torch.cat([gate, torch.rand(4, 3) + 0.5, torch.rand(4, 3) - 0.5], 1)),
        Part(program.STRETCH, 0, second | gated, gate.flip(0)),
        Part(program.JITTER, 4, gated, torch.cat([gate, torch.rand(4, 4) * 0.4 + 0.8, ORDER.expand(4, 4).float()], 1)),
        Part(program.BLEND, 0, gated, torch.cat([gate.roll(1, 0), torch.rand(4, 12) / 2], 1)),
        Part(program.JIGGLE, 2, 0, torch.cat([torch.rand(4, 4) * 0.4 + 0.8, torch.tensor([[3.0, 1]] * 4)], 1)),
        Part(program.LINE, 1, second, torch.cat([torch.rand(4, 1) + 0.5, torch.rand(4, 1) - 0.5], 1)),
    ]
    for count in range(1, len(parts) + 1):
        numbers, codes = program.written(parts[:count], opens, wide)
        found = kernels.recolour(given, numbers, codes)
        exact = program.run(given.double() / 255, numbers.double(), codes)
        if wide:
            assert_close(found.double(), exact, atol=3e-5, rtol=0)
        else:
            assert torch.equal(found[2], given[2])
            exact = (exact * 255).clamp(0, 255)
            assert (found - exact)[opens].abs().max() < 0.5 + 1e-2


@pytest.mark.parametrize("axis", [1, 2])
def test_strides_of_an_axis_of_one_pixel_mean_nothing(axis: int, instructions: str) -> None:
    image = noise(1, 7) if axis == 1 else noise(7, 1)
    strides = list(image.stride())
    strides[axis] = 10**6
    odd = image.as_strided(image.shape, strides)
    assert odd.is_contiguous()
    for part in (
        Part(program.TABLE, 3, 0, torch.rand(768)),
        line([1.5, 0.5, 0.7], [0.0, 0.1, 0.2]),
        jitter("jitter", [1.0, 1.0, 1.0, 0.3], (3,)),
    ):
        outputs = []
        for given in (image, odd):
            out = torch.empty_like(image)
            colour_c.recolour.run(given[None], out[None], None, part.numbers[None], [0, 1, *part[:3]])
            outputs.append(out)
        assert torch.equal(*outputs)


@needs_kernels
def test_what_the_kernel_in_c_does_not_take() -> None:
    many, jitters = [0, 17, *[program.LINE, 1, 0] * 17], [0, 1, program.JITTER, 4, 0]
    numbers = torch.zeros(1, 40)
    assert not colour_c.recolour.takes(noise(8, 8)[None], numbers, many)
    assert not colour_c.recolour.takes(noise(8, 8, 4)[None], numbers, jitters)
    assert not colour_c.recolour.takes(noise(8, 8, 17)[None], numbers, [0, 1, program.LINE, 1, 0])
    assert not colour_c.recolour.serves(noise(8, 8).float()[None])
    with pytest.raises(ValueError, match="no kernels for none"):
        built.library.use("none")


OPS: list[Callable[[], Any]] = [
    lambda: K.RandomBrightness((0.5, 1.5), p=0.7),
    lambda: K.RandomContrast((0.5, 1.5), p=0.7),
    lambda: K.RandomGamma((0.5, 1.5), p=0.7),
    lambda: K.RandomSolarize(0.1, 0.1, p=0.7),
    lambda: K.RandomPosterize(3, p=0.7),
    lambda: K.RandomInvert(p=0.7),
    lambda: K.RandomSaturation((0.5, 1.5), p=0.7),
    lambda: K.RandomHue((-0.3, 0.3), p=0.7),
    lambda: K.RandomGrayscale(p=0.7),
    lambda: K.RandomRGBShift(p=0.7),
    lambda: K.RandomPlanckianJitter(p=0.7),
    lambda: K.RandomAutoContrast(p=0.7),
    lambda: K.RandomChannelShuffle(p=0.7),
    lambda: K.RandomChannelDropout(2, 0.3, p=0.7),
    lambda: K.RandomPhotometricDistort(p=0.7),
    lambda: K.ColorJitter(0.4, 0.4, 0.4, 0.2, p=0.7),
    lambda: K.ColorJiggle(0.4, 0.4, 0.4, 0.2, p=0.7),
    lambda: K.ColorJitter(0.4, 0.4, 0.4, 0.2, p=0.7, order=(3, 1, 0, 2)),
    lambda: K.ColorJiggle(0.4, 0.4, 0.4, 0.2, p=0.7, order=(2, 0)),
    lambda: K.Normalize([0.4, 0.5, 0.6], [0.2, 0.3, 0.4]),
    lambda: K.AugmentationSequential(K.ColorJitter(0.4, 0.4, 0.4, 0.2), K.Normalize([0.4, 0.5, 0.6], 0.3), fuse=True),
]


@needs_kernels
@pytest.mark.parametrize("build", OPS, ids=lambda build: type(build()).__name__)
def test_ops_do_the_same_without_kernels(build: Callable[[], torch.nn.Module], monkeypatch: pytest.MonkeyPatch) -> None:
    image = picture(6, dtype=torch.uint8)
    for form in (torch.contiguous_format, torch.channels_last):
        given, outputs = image.contiguous(memory_format=form), []
        for found in (built.library, None):
            monkeypatch.setattr(built, "library", found)
            torch.manual_seed(3)
            outputs.append(build()(given))
        apart = (outputs[0].double() - outputs[1].double()).abs()
        if outputs[0].dtype == torch.uint8:
            assert apart.max() <= 1 and (apart > 0).double().mean() < 1e-3
        else:
            assert apart.max() < 1e-4
        monkeypatch.undo()


@pytest.mark.parametrize("turns", [-0.5, -0.41, -1 / 6, -0.05, 1e-4, 0.05, 0.1666, 0.3, 1 / 3, 0.5])
def test_hue_is_rounded_once(turns: float, instructions: str) -> None:
    exact = torch.stack(colour.rotate_hue(LEVELS.double().unbind(), turns))
    assert_rounded(run(LEVELS, jitter("jitter", [1.0, 1.0, 1.0, turns], (3,))), exact, 1e-3)


@pytest.mark.parametrize("factor", [0.0, 0.3, 0.9, 1.1, 4.0, 1e9])
def test_saturation_is_rounded_once(factor: float, instructions: str) -> None:
    exact = torch.stack(colour.scale_saturation(LEVELS.double().unbind(), factor))
    assert_rounded(run(LEVELS, jitter("jiggle", [1.0, 1.0, factor, 0.0], (2,))), exact, 1e-3)


@pytest.mark.parametrize("weights", [(0.299, 0.587, 0.114), (1.0, 1.0, 1.0), (1.0, -1.0, 0.5)])
def test_gray_is_rounded_once(weights: tuple[float, ...], instructions: str) -> None:
    exact = torch.stack([colour.gray(LEVELS.double().unbind(), weights)] * 3)
    assert_rounded(run(LEVELS, Part(program.BLEND, 0, 0, torch.tensor([*weights, 0.0] * 3))), exact, 1e-3)


def test_jitter_on_rows_is_that_on_the_batch() -> None:
    image, none = picture(B), torch.empty(B, 3, 0)
    for order in (ORDER, torch.tensor([0, 1, 2, 3]), torch.tensor([3, 1])):
        rows = kernels.colour_jitter(image, FACTORS, order.expand(B, -1), none, "jitter")
        assert_close(rows, colour.jitter_any_order(image, FACTORS, order), atol=1e-5, rtol=0)
        planes = [f.view(-1, 1, 1) for f in FACTORS.unbind(1)]
        assert_close(rows, torch.stack(colour.jitter(image.unbind(1), planes, order.tolist()), 1), atol=1e-5, rtol=0)
