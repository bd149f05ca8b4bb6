"""Curves of brightness, and look-ups of bytes without kernels."""

import pytest
import torch

from augment import kernels as native
from augment.kernels.histogram import maths as histogram
from augment.kernels.tone import maths as tone
from tests.support.helpers import picture
from tests.support.opaque import B


def test_pairs_of_bytes_are_looked_up_as_each_is() -> None:
    image = torch.randint(0, 256, (3, 256, 256), generator=torch.Generator().manual_seed(1), dtype=torch.uint8)
    table = torch.randperm(256, generator=torch.Generator().manual_seed(2)).to(torch.uint8)
    assert image.numel() >= tone.PAIRED
    assert torch.equal(tone.look_up(image, table, torch.empty_like(image)), table[image.long()])


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
def test_equalize_on_rows_is_that_on_the_batch(dtype: torch.dtype) -> None:
    image = picture(B, dtype=dtype)
    image[0, 0] = 1
    assert torch.equal(native.equalize(image, torch.ones(B, dtype=torch.bool)), histogram.equalize_batch(image))
