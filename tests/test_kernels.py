"""Kernels in C give what PyTorch's do, whatever the instruction set and wherever the bytes lie."""

import colorsys
from collections.abc import Callable

import numpy as np
import pytest
import torch
from helpers import picture
from torch import Tensor
from torch.testing import assert_close

import augment as K
from augment.kernels import built
from augment.kernels.colour import c as colour_c
from augment.kernels.colour import maths as colour
from augment.kernels.tone import c as tone_c

pytestmark = pytest.mark.skipif(built.library is None, reason="the package was built without a C compiler")

SIZES = [(1, 1), (1, 31), (3, 5), (17, 64), (40, 257)]


def noise(h: int, w: int, channels: int = 3) -> Tensor:
    return torch.randint(0, 256, (channels, h, w), dtype=torch.uint8)


def last(image: Tensor) -> Tensor:
    """Let the channels of a pixel lie side by side."""
    return image.permute(1, 2, 0).contiguous().permute(2, 0, 1)


def written(call: Callable[[Tensor], bool], like: Tensor) -> Tensor:
    """Let a kernel write into the middle of memory, of which it must leave the rest as it is."""
    memory = torch.full((like.numel() + 200,), 7, dtype=like.dtype)
    out = memory[100:-100].as_strided(like.shape, like.stride())
    assert call(out)
    assert (memory[:100] == 7).all() and (memory[-100:] == 7).all()
    return out


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


STEPS = {
    "jitter": [[1.3, 0.6, 1.7, 0.2], [0.5, 1.8, 0.3, -0.45], [1.9, 1.9, 1.9, 0.5]],
    "jiggle": [[1.2, 0.6, 1.7, -0.2], [0.7, 1.8, 0.3, 1 / 3], [0.9, 1.0, 2.5, 0.0]],
}


@pytest.mark.parametrize("form", [torch.Tensor.contiguous, last], ids=["planar", "last"])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_adjust_colour(
    size: tuple[int, int], kind: str, channels: int, form: Callable[..., Tensor], instructions: str
) -> None:
    image = form(noise(*size, channels))
    for factors, order in zip(STEPS[kind], [(0, 1, 2, 3), (3, 1, 0, 2), (2, 3, 1, 0)], strict=True):
        planes = list((image.double() / 255).unbind(0))
        expected = 255 * torch.stack(list(colour.jitter(planes, factors, order, kind=kind)))
        steps = [(colour_c.STEPS[kind][k], factors[k]) for k in order if factors[k] != colour.NEUTRAL[k]]
        out = written(lambda out, steps=steps: colour_c.adjust_colour(image, steps, [], out), image)
        assert (out - expected).abs().max() < 0.5 + 1e-3  # which is rounding, and what float32 is off before it
        shares = [[1 / 255, 0.0]] * channels
        like = torch.empty_like(image, dtype=torch.float32)
        wide = written(lambda out, steps=steps, s=shares: colour_c.adjust_colour(image, steps, s, out), like)
        assert_close(wide.double(), expected / 255, atol=1e-5, rtol=0)


def test_hue_and_saturation_are_those_of_colorsys(instructions: str) -> None:
    image = noise(9, 11)
    out = torch.empty_like(image)
    assert colour_c.adjust_colour(image, [(colour_c.SCALE_SATURATION, 0.7), (colour_c.ROTATE_HUE, 0.3)], [], out)
    for pixel, result in zip(image.flatten(1).T.tolist(), out.flatten(1).T.tolist(), strict=True):
        h, s, v = colorsys.rgb_to_hsv(*(level / 255 for level in pixel))
        expected = [255 * level for level in colorsys.hsv_to_rgb((h + 0.3) % 1, 0.7 * s, v)]
        assert max(abs(a - b) for a, b in zip(expected, result, strict=True)) < 0.501


def test_blends_of_channels(instructions: str) -> None:
    image = noise(7, 300)
    shares = [[0.2, 0.5, 0.3, 1.0], [0.2, 0.5, 0.3, 1.0], [0.0, 0.0, 1.0, 0.0]]
    out = written(lambda out: colour_c.adjust_colour(image, [], shares, out), image)
    r, g, b = image.double()
    for form in (torch.Tensor.contiguous, last):
        grey = written(lambda out, form=form: colour_c.adjust_colour(form(image), [], shares[:1] * 3, out), form(image))
        assert all(torch.equal(plane, out[0]) for plane in grey)
    assert (out[0] - (0.2 * r + 0.5 * g + 0.3 * b + 1).clamp(0, 255)).abs().max() < 0.501
    assert torch.equal(out[0], out[1]) and torch.equal(out[2], image[2])


def test_all_instruction_sets_agree() -> None:
    image, outputs = noise(64, 200), []
    steps = [(kind, factor) for kind, factor in enumerate([0.9, 1.4, 1.2, 0.13, 1.1, 1.3])]
    for name in built.library.sets():
        built.library.use(name)
        outputs.append(torch.empty(3, 64, 200))
        assert colour_c.adjust_colour(image, steps, [], outputs[-1])
    assert all(torch.equal(outputs[0], output) for output in outputs)


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


OPS = [
    lambda: K.RandomBrightness((0.5, 1.5), p=0.7),
    lambda: K.RandomContrast((0.5, 1.5), p=0.7),
    lambda: K.RandomGamma((0.5, 1.5), p=0.7),
    lambda: K.RandomSolarize(0.1, 0.1, p=0.7),
    lambda: K.RandomSaturation((0.5, 1.5), p=0.7),
    lambda: K.RandomHue((-0.3, 0.3), p=0.7),
    lambda: K.RandomGrayscale(p=0.7),
    lambda: K.RandomRGBShift(p=0.7),
    lambda: K.RandomPlanckianJitter(p=0.7),
    lambda: K.RandomPhotometricDistort(p=0.7),
    lambda: K.ColorJitter(0.4, 0.4, 0.4, 0.2, p=0.7),
    lambda: K.ColorJiggle(0.4, 0.4, 0.4, 0.2, p=0.7),
    lambda: K.ColorJitter(0.4, 0.4, 0.4, 0.2, p=0.7, order=(3, 1, 0, 2)),
    lambda: K.ColorJiggle(0.4, 0.4, 0.4, 0.2, p=0.7, order=(2, 0)),
    lambda: K.Normalize([0.4, 0.5, 0.6], [0.2, 0.3, 0.4]),
    lambda: K.AugmentationSequential(K.ColorJitter(0.4, 0.4, 0.4, 0.2), K.Normalize([0.4, 0.5, 0.6], 0.3), fuse=True),
]


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
