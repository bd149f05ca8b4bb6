"""Histograms of rows and of the batch."""

import pytest
import torch

from augment import kernels as native
from augment.kernels.histogram import maths as histogram
from tests.support.helpers import picture
from tests.support.opaque import B


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
def test_equalize_on_rows_is_that_on_the_batch(dtype: torch.dtype) -> None:
    image = picture(B, dtype=dtype)
    image[0, 0] = 1
    assert torch.equal(native.equalize(image, torch.ones(B, dtype=torch.bool)), histogram.equalize_batch(image))
