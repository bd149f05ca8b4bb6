"""Bytes keep their layout in memory."""

from typing import Any

import pytest
import torch

import augment as K
from tests.support.helpers import picture

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
