"""Jitter of bytes as whole numbers, and of rows as of the batch."""

import pytest
import torch
from torch.testing import assert_close

from augment import kernels as native
from augment.kernels.colour import levels
from augment.kernels.colour import maths as colour
from tests.support.helpers import picture
from tests.support.levels import LEVELS, WIDE, assert_rounded
from tests.support.opaque import FACTORS, ORDER, B


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0)])
@pytest.mark.parametrize("factors", [(1.1, 0.9, 1.2, 0.05), (0.8, 1.3, 0.7, -0.3), (1.3, 1.2, 1.1, 0.15)])
@pytest.mark.parametrize("kind", ["jitter", "jiggle"])
def test_jitter_is_rounded_once(order: tuple[int, ...], factors: tuple[float, ...], kind: str) -> None:
    exact = torch.stack(tuple(colour.jitter((WIDE / 255).unbind(), factors, order, kind=kind)))
    assert_rounded(levels.jitter(LEVELS, factors, order, kind).round().to(torch.uint8), exact * 255, 1e-3)


def test_jitter_on_rows_is_that_on_the_batch() -> None:
    image = picture(B)
    for order in (ORDER, torch.tensor([0, 1, 2, 3]), torch.tensor([3, 1])):
        rows = native.colour_jitter(image, FACTORS, order)
        assert_close(rows, colour.jitter_any_order(image, FACTORS, order), atol=1e-5, rtol=0)
        planes = [f.view(-1, 1, 1) for f in FACTORS.unbind(1)]
        assert_close(rows, torch.stack(colour.jitter(image.unbind(1), planes, order.tolist()), 1), atol=1e-5, rtol=0)
