"""Colours of bytes, by kernels in C and without."""

import colorsys
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import augment as K
from augment.kernels import built
from augment.kernels.colour import c as colour_c
from augment.kernels.colour import levels
from augment.kernels.colour import maths as colour
from tests.support.helpers import picture
from tests.support.kernel_images import needs_kernels
from tests.support.levels import LEVELS, SIZES, WIDE, assert_rounded, last, noise, written

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


@needs_kernels
def test_all_instruction_sets_agree() -> None:
    image, outputs = noise(64, 200), []
    steps = [(kind, factor) for kind, factor in enumerate([0.9, 1.4, 1.2, 0.13, 1.1, 1.3])]
    for name in built.library.sets():
        built.library.use(name)
        outputs.append(torch.empty(3, 64, 200))
        assert colour_c.adjust_colour(image, steps, [], outputs[-1])
    assert all(torch.equal(outputs[0], output) for output in outputs)


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
def test_hue_is_rounded_once(turns: float) -> None:
    out = torch.empty_like(LEVELS)
    levels.rotate_hue(LEVELS, turns, out)
    assert_rounded(out, torch.stack(colour.rotate_hue(WIDE.unbind(), turns)))


@pytest.mark.parametrize("factor", [0.0, 0.3, 0.9, 1.1, 4.0, 1e9])
def test_saturation_is_rounded_once(factor: float) -> None:
    out = torch.empty_like(LEVELS)
    levels.scale_saturation(LEVELS, factor, out)
    assert_rounded(out, torch.stack(colour.scale_saturation(WIDE.unbind(), factor)))


@pytest.mark.parametrize("weights", [(0.299, 0.587, 0.114), (1.0, 1.0, 1.0), (1.0, -1.0, 0.5)])
def test_gray_is_rounded_once(weights: tuple[float, ...]) -> None:
    out = torch.empty_like(LEVELS)
    levels.gray(LEVELS, weights, out)
    assert_rounded(out, torch.stack([colour.gray(WIDE.unbind(), weights)] * 3))
