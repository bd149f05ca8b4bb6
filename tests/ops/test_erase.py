"""Erased regions."""

import torch

import augment as K
from tests.support.known import replay


def test_erasing_fills_the_region_and_nothing_else() -> None:
    image = torch.rand(2, 3, 7, 9)
    output = replay(K.RandomErasing(value=0.25, p=1.0), image, xs=2, ys=1, widths=4, heights=3)
    expected = image.clone()
    expected[..., 1:4, 2:6] = 0.25
    assert torch.equal(output, expected)
    mask = K.AugmentationSequential(K.RandomErasing(value=0.25, p=1.0), data_keys=["image", "mask"])
    output, kept = mask(torch.full((1, 3, 8, 8), 0.5), torch.ones(1, 1, 8, 8))
    assert torch.equal(output[:, :1] == 0.25, kept == 0)
