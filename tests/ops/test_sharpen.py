"""Sharpness: the PIL, edges and thin images."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance, ImageFilter

import augment as K
from tests.support.helpers import picture
from tests.support.known import photograph


@pytest.mark.parametrize("factor", [0.0, 0.5, 1.0, 2.0])
def test_sharpness_is_the_pils(factor: float) -> None:
    image = photograph()
    pil = Image.fromarray(image[0].permute(1, 2, 0).numpy())
    expected = torch.from_numpy(np.array(ImageEnhance.Sharpness(pil).enhance(factor))).permute(2, 0, 1)
    output = K.RandomSharpness((factor, factor), p=1.0)(image)[0]
    # the PIL rounds the smoothed copy first, which counts |1 - factor| times, and truncates the blend
    assert (output.int() - expected.int()).abs().max() <= 1 + round(abs(1 - factor))


def test_sharpness_cuts_and_leaves_the_edges() -> None:
    image = picture(2) * 3 - 1
    output = K.RandomSharpness((0.2, 3.0), p=1.0)(image)
    assert output.min() >= 0 and output.max() <= 1
    for edge in (np.s_[..., 0, :], np.s_[..., -1, :], np.s_[..., 0], np.s_[..., -1]):
        assert torch.equal(output[edge], image[edge].clamp(0, 1))


@pytest.mark.parametrize("size", [(1, 1), (2, 9), (9, 2)])
def test_thin_images_have_no_inside(size: tuple[int, int]) -> None:
    image = picture(2, size=size)
    assert torch.equal(K.RandomSharpness(p=1.0)(image), image)
    assert K.RandomSharpness(p=1.0)(image.requires_grad_()).requires_grad


@pytest.mark.parametrize(
    ("build", "error", "name"),
    [
        (lambda: K.RandomSharpness(-1.0), ValueError, "sharpness"),
        (lambda: K.RandomSharpness("much"), TypeError, "sharpness"),
    ],
)
def test_constructors_refuse_by_name(build: Callable[[], Any], error: type[Exception], name: str) -> None:
    with pytest.raises(error, match=rf"^{name}"):
        build()


def test_smoothing_is_the_pils_filter() -> None:
    image = photograph()
    pil = Image.fromarray(image[0].permute(1, 2, 0).numpy()).filter(ImageFilter.SMOOTH)
    output = K.RandomSharpness((0.0, 0.0), p=1.0)(image)[0].permute(1, 2, 0)
    assert (output.int() - torch.from_numpy(np.array(pil)).int()).abs().max() <= 1
