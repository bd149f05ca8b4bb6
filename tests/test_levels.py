"""Bytes that are worked on as whole numbers: they are what the same formula in float64 gives, rounded once."""

from typing import Any

import pytest
import torch
from helpers import picture
from torch import Tensor

import augment as K
from augment import kernels as native
from augment.kernels.blur import maths as filters
from augment.kernels.blur import median
from augment.kernels.colour import levels
from augment.kernels.colour import maths as colour
from augment.kernels.tone import maths as tone

LEVELS = picture(1, size=(64, 64), dtype=torch.uint8)[0]
LEVELS[:, :8] = torch.tensor([0, 255, 7], dtype=torch.uint8).view(3, 1, 1)
LEVELS[:, 8:12] = 200
WIDE = LEVELS.double()


def assert_rounded(found: Tensor, exact: Tensor, beyond: float = 1e-4) -> None:
    """Require bytes that are at most a half from what they stand for."""
    assert found.dtype == torch.uint8
    assert (found.double() - exact.clamp(0, 255)).abs().max() <= 0.5 + beyond


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


@pytest.mark.parametrize("scale", [0.0, 0.5, 0.93, 1.0, 1.2, 77.0, 1e6, float("inf")])
@pytest.mark.parametrize("shift", [0.0, -25.4, 25.4, 3e4, -3e4])
def test_lines_are_rounded_once(scale: float, shift: float) -> None:
    if scale == float("inf") and shift:
        return
    ramp, out = torch.arange(256, dtype=torch.uint8), torch.empty(256, dtype=torch.uint8)
    tone.linear_levels(ramp, scale, shift, out)
    exact = torch.where(ramp == 0, 0.0, ramp.double() * scale) + (round(shift) if scale == 1 else shift)
    assert_rounded(out, exact, 1e-3)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0)])
@pytest.mark.parametrize("factors", [(1.1, 0.9, 1.2, 0.05), (0.8, 1.3, 0.7, -0.3), (1.3, 1.2, 1.1, 0.15)])
@pytest.mark.parametrize("kind", ["jitter", "jiggle"])
def test_jitter_is_rounded_once(order: tuple[int, ...], factors: tuple[float, ...], kind: str) -> None:
    exact = torch.stack(tuple(colour.jitter((WIDE / 255).unbind(), factors, order, kind=kind)))
    assert_rounded(levels.jitter(LEVELS, factors, order, kind).round().to(torch.uint8), exact * 255, 1e-3)


@pytest.mark.parametrize("size", [(1, 3), (3, 3), (4, 5), (11, 12), (15, 15)])  # the last is too much for int16
@pytest.mark.parametrize("border", ["reflect", "replicate", "constant", "circular"])
def test_boxes_are_rounded_once(size: tuple[int, int], border: str) -> None:
    out = torch.empty_like(LEVELS)
    filters.box_levels(LEVELS, *size, border, out)
    assert_rounded(out, filters.box_blur(WIDE, *size, border))


@pytest.mark.parametrize("factor", [0.0, 0.5, 1.5, 40.0, 1e6])
def test_sharpness_is_rounded_once(factor: float) -> None:
    out = torch.empty_like(LEVELS)
    filters.sharpen_levels(LEVELS, factor, out)
    assert_rounded(out, filters.sharpen(WIDE / 255, factor) * 255, 1e-3)


@pytest.mark.parametrize("size", [(3, 3), (5, 3), (1, 5), (7, 7)])
def test_medians_over_the_ends_of_lines_are_those_of_lines(size: tuple[int, int], monkeypatch: Any) -> None:
    monkeypatch.setattr(median, "STRIP", 2000)
    found = median.median_blur(LEVELS, *size, torch.empty_like(LEVELS))
    assert torch.equal(found.double(), median.median_blur(WIDE, *size))


def test_pairs_of_bytes_are_looked_up_as_each_is() -> None:
    image = torch.randint(0, 256, (2, 3, 256, 256), generator=torch.Generator().manual_seed(1), dtype=torch.uint8)
    table = torch.randperm(256, generator=torch.Generator().manual_seed(2)).to(torch.uint8)
    assert image[0].numel() >= tone.PAIRED
    expected = table[image.long()]
    for format in (torch.contiguous_format, torch.channels_last):
        found = native.look_up(image.contiguous(memory_format=format), table.expand(2, 1, -1))
        assert torch.equal(found, expected)


LAST = [
    K.CenterCrop((9, 10)),
    K.PadTo((20, 21)),
    K.RandomBrightness((0.7, 1.3), p=0.6),
    K.RandomChannelDropout(p=0.6),
    K.RandomCoarseDropout(p=0.6),
    K.RandomContrast((0.7, 1.3), p=0.6),
    K.RandomCrop((9, 10), padding=2),
    K.RandomD4(p=0.6),
    K.RandomErasing(p=0.6),
    K.RandomGamma((0.7, 1.3), p=0.6),
    K.RandomGridDropout(unit_size_range=(4, 6), p=0.6),
    K.RandomHorizontalFlip(p=0.6),
    K.RandomInvert(p=0.6),
    K.RandomPosterize(p=0.6),
    K.RandomSolarize(p=0.6),
    K.RandomVerticalFlip(p=0.6),
]


@pytest.mark.parametrize("op", LAST, ids=lambda op: type(op).__name__)
def test_bytes_stay_channels_last(op: Any) -> None:
    image = picture(6, size=(16, 16), dtype=torch.uint8)
    expected = op(image)
    found = op(image.contiguous(memory_format=torch.channels_last), params=op._params)
    assert torch.equal(found, expected)
    assert expected.is_contiguous()
    assert found.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("format", [torch.contiguous_format, torch.channels_last])
def test_resizes_are_rounded_once(corners: bool, format: torch.memory_format) -> None:
    image = picture(2, dtype=torch.uint8).contiguous(memory_format=format)
    found = K.Resize((9, 30), align_corners=corners)(image)
    exact = torch.nn.functional.interpolate(image.double(), (9, 30), mode="bilinear", align_corners=corners)
    assert_rounded(found, exact)
