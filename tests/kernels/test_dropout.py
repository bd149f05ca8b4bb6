"""Rectangles that are filled row by row as on the batch."""

import pytest
import torch

from augment import kernels as native
from augment.kernels.dropout import maths as dropout
from augment.kernels.warp import maths as resample
from tests.support.helpers import picture
from tests.support.opaque import HOLES, B


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8, torch.int64, torch.bool])
def test_rectangles_on_rows_are_those_on_the_batch(dtype: torch.dtype) -> None:
    image = (picture(B) * 2).to(dtype)
    fill = [1.0, 0.0, 1.0]
    expected = torch.where(dropout.in_rectangles(HOLES, 17, 23), resample.per_channel(fill, image), image)
    assert torch.equal(native.fill_rectangles(image, HOLES, fill), expected)
    assert not torch.equal(expected[1:], image[1:])
