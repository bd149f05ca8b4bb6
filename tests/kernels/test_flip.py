"""Whole pixels that change their place, by kernels in C and without."""

import pytest
import torch

import augment as K
from augment import kernels as native
from augment.common.vocabulary import BORDERS
from augment.kernels import built
from augment.kernels.warp import c as warp_c
from augment.kernels.warp import maths as resample
from augment.kernels.warp import matrices
from augment.kernels.warp.permutation import permuted
from augment.kinds.augmentation import Augmentation
from tests.support.helpers import picture
from tests.support.kernel_images import needs_kernels
from tests.support.opaque import ANGLES, FLIPS, B
from tests.support.warps import noise, run

DTYPES = [torch.uint8, torch.bool, torch.float16, torch.float32, torch.int64]
MOVES = [[[x, 0], [0, y]] for x in (1, -1) for y in (1, -1)] + [[[0, x], [y, 0]] for x in (1, -1) for y in (1, -1)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("linear", MOVES, ids=str)
@pytest.mark.parametrize("size", [(1, 7), (9, 1), (3, 5), (16, 16), (17, 40), (50, 33), (4, 4), (5, 64)])
def test_permutations(instructions: str, dtype: torch.dtype, linear: list[list[int]], size: tuple[int, int]) -> None:
    image = (noise(3, *size) % (2 if dtype == torch.bool else 77)).to(dtype)
    for shift, out in (((0, 0), size), ((3, -2), (20, 41)), ((-40, 70), (5, 6)), ((1, 2), (size[1], size[0]))):
        (a, b), (c, d) = linear
        centre = [(a + b) * (out[1] - 1) / 2, (c + d) * (out[0] - 1) / 2]
        x, y = (int((n - 1) / 2 - at) + s for n, at, s in zip(size[::-1], centre, shift, strict=True))
        back = torch.tensor([[a, b, x], [c, d, y], [0, 0, 1.0]], dtype=torch.float64)
        for border in (*BORDERS, "symmetric"):
            given = [1.0, 0.0, 1.0] if border == "constant" else [0.0]
            position = resample.positions(back[None], *out, False)
            exact = resample.sample_nearest(image[None], position, border, given)[0]
            found = run(warp_c.permute, image, out, matrices.invert(back[None])[0], *out, border, given)
            assert torch.equal(found, exact), (border, shift)
            assert torch.equal(permuted(image, back[:2].flatten().tolist(), *out, border, given), exact)


@needs_kernels
def test_rows_that_stay() -> None:
    image = noise(5, 3, 9, 20)
    flip = torch.tensor([[-1.0, 0, 19], [0, 1, 0], [0, 0, 1]])
    gate = torch.tensor([True, False, False, True, True])
    found = native.permute(image, torch.where(gate.view(5, 1, 1), flip, torch.eye(3)), (9, 20), "constant", [0.0])
    assert torch.equal(found[gate], image[gate].flip(-1))
    assert torch.equal(found[~gate], image[~gate])


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
