"""Whole pixels that change their place, by kernels in C and without."""

import pytest
import torch

import augment as K
from augment import kernels as native
from augment.kernels import built
from augment.kernels.warp import c as warp_c
from augment.kernels.warp import maths as resample
from augment.kernels.warp import matrices
from augment.kinds.augmentation import Augmentation
from tests.support.helpers import picture
from tests.support.kernel_images import needs_kernels
from tests.support.opaque import ANGLES, FLIPS, B
from tests.support.warps import laid_out, noise


@pytest.mark.parametrize("layout", ["planar", "last"])
@pytest.mark.parametrize("exchanged", [False, True])
@pytest.mark.parametrize("flips", [[], [-1], [-2], [-2, -1]])
@pytest.mark.parametrize("size", [(1, 7), (9, 1), (3, 5), (16, 16), (17, 40), (50, 33), (4, 4), (5, 64)])
def test_rearrangements(
    instructions: str, layout: str, exchanged: bool, flips: list[int], size: tuple[int, int]
) -> None:
    image = laid_out(noise(3, *size), layout)
    image = image.mT if exchanged else image
    around = laid_out(torch.full((3, image.shape[1] + 2, image.shape[2] + 2), 77, dtype=torch.uint8), layout)
    out = around[:, 1:-1, 1:-1]
    assert warp_c.rearrange(image[None], flips, [True], out[None])
    assert torch.equal(out, image.flip(flips))
    out.fill_(77)
    assert (around == 77).all()


def test_rows_that_stay(instructions: str) -> None:
    image, out = noise(5, 3, 9, 20), torch.full((5, 3, 9, 20), 77, dtype=torch.uint8)
    rows = [True, False, False, True, True]
    assert warp_c.rearrange(image, [-1], rows, out)
    assert torch.equal(out[rows], image[rows].flip(-1))
    assert (out[1:3] == 77).all()


@needs_kernels
@pytest.mark.parametrize("op", [K.RandomD4(p=1.0), K.RandomHorizontalFlip(), K.RandomVerticalFlip()], ids=str)
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_whole_pixels_stay_exact(
    op: Augmentation, layout: torch.memory_format, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = noise(16, 3, 40, 40, seed=3).contiguous(memory_format=layout)
    found = op(image)
    monkeypatch.setattr(built, "library", None)
    expected = op(image, params=op._params)
    assert torch.equal(found, expected)
    assert found.stride() == expected.stride()


def test_permute_on_rows_is_sampling_on_the_batch() -> None:
    image = picture(B)
    turned = matrices.matrix3([0, 1, 0, -1, 0, 22, 0, 0, 1], ANGLES)  # a quarter turn to (23, 17)
    shifted = matrices.translation(torch.tensor([-3.0, 4.0, 0.0]), torch.tensor([5.0, -2.0, 30.0]), ANGLES)
    for matrix, size in ((FLIPS, (17, 23)), (turned, (23, 17)), (shifted, (20, 9))):
        for border in ("constant", "reflect", "replicate", "circular"):
            rows = native.permute(image, matrix, size, border, [0.5])
            whole = resample.sample_nearest(
                image, resample.positions(matrices.invert(matrix), *size, False), border, [0.5]
            )
            assert torch.equal(rows, whole)
    quarter = native.permute(image, turned, (23, 17), "constant", [0.0])
    assert torch.equal(quarter, image.rot90(1, (2, 3)))
