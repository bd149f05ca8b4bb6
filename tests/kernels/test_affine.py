"""Warps of bytes by kernels in C, and of rows as of the batch."""

import pytest
import torch
from torch.testing import assert_close

from augment import kernels as native
from augment.common.dtypes import load, store
from augment.kernels.warp import c as warp_c
from augment.kernels.warp import maths as resample
from augment.kernels.warp import matrices
from tests.support.helpers import picture
from tests.support.opaque import ANGLES, ROTATIONS, B
from tests.support.warps import MATRICES, PADDINGS, assert_nearest, noise, run


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("channels", [1, 2, 3])
@pytest.mark.parametrize("scale", [(0.7, -1.3), (1.0, 1.0), (-2.5, 3.1), (0.01, 9.0)])
def test_axes(instructions: str, padding: str, channels: int, scale: tuple[float, float]) -> None:
    image, code, fill = noise(channels, 31, 45), resample.PADDINGS[padding], [10.5, 200.0, 99.3][:channels]
    (f, g), (h, w) = scale, (37, 29)
    matrix = torch.tensor([[g, 0, 15.3 - 9 * g], [0, f, 20.25 - 11 * f], [0, 0, 1]], dtype=torch.float64)
    found = run(warp_c.warp, image, (h, w), matrix, h, w, 0, code, fill, False, False)
    scaled = resample.normalised(matrix[None], 31, 45)
    exact = resample.homography(image[None].double(), scaled, h, w, 0, code, fill, False)[0]
    assert_nearest(found.double(), exact)


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("channels", [1, 3, 6])
@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("size", [((31, 45), (37, 29)), ((1, 1), (3, 2)), ((16, 300), (9, 270))])
def test_warps(
    instructions: str, padding: str, channels: int, name: str, size: tuple[tuple[int, int], tuple[int, int]]
) -> None:
    ((height, width), (h, w)), code = size, resample.PADDINGS[padding]
    matrix = torch.tensor(MATRICES[name], dtype=torch.float64)
    image, fill = noise(channels, height, width), [10.5, 200.0, 99.3, 0.0, 255.0, 1.0][:channels]
    projective = name == "projective"
    found = run(warp_c.warp, image, (h, w), matrix, h, w, 0, code, fill, projective, False)
    scaled = resample.normalised(matrix[None], height, width)
    exact = resample.homography(image[None].double(), scaled, h, w, 0, code, fill, projective)[0]
    assert_nearest(found.double(), exact)


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("levels", [(1, 0), (0, 2), (1, 1), (4, 3)])
@pytest.mark.parametrize("channels", [1, 3, 6])
@pytest.mark.parametrize("size", [(31, 45), (1, 1), (20, 2), (3, 90)])
def test_filtered_warps(
    instructions: str, padding: str, levels: tuple[int, int], channels: int, size: tuple[int, int]
) -> None:
    fill, code = [10.5, 200.0, 99.3, 0.0, 255.0, 1.0][:channels], resample.PADDINGS[padding]
    image, (x, y) = noise(channels, *size), (2.0**level for level in levels)
    matrix = torch.tensor([[x, -0.2 * x, 10.2], [0.3 * y, y, -7.7], [0.0, 0.0, 1.0]], dtype=torch.float64)
    assert resample.levels_of(matrix[None], 21, 30).tolist() == [list(levels)]
    found = run(warp_c.warp, image, (21, 30), matrix, 21, 30, 0, code, fill, False, True)
    smooth = resample.smoothed(resample.smoothed(image[None].double(), -1, levels[0]), -2, levels[1])
    scaled = resample.normalised(matrix[None], *size)
    exact = resample.homography(smooth, scaled, 21, 30, 0, code, fill, False)[0]
    assert_nearest(found.double(), exact)


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("matrix", [[[0, 1, 2], [-1, 0, 30]], [[-1, 0, 25], [0, 1, -3]], [[1, 0, 0], [0, -1, 39]]])
def test_whole_pixels_among_filtered_warps(instructions: str, padding: str, matrix: list[list[float]]) -> None:
    image, code, fill = noise(5, 37, 45), resample.PADDINGS[padding], [10.0, 200.0, 99.0, 0.0, 255.0]
    back = torch.tensor([*matrix, [0, 0, 1]], dtype=torch.float64)
    found = run(warp_c.warp, image, (31, 22), back + 1e-7 * (back[:, 2:] != 1), 31, 22, 0, code, fill, False, True)
    border = resample.BORDERS[code]
    exact = resample.sample_nearest(image[None], resample.positions(back[None], 31, 22, False), border, fill)[0]
    assert torch.equal(found, exact)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.uint8])
@pytest.mark.parametrize("mode", resample.MODES)
@pytest.mark.parametrize("padding", resample.PADDINGS)
def test_warp_on_rows_is_warp_on_the_batch(mode: str, padding: str, dtype: torch.dtype) -> None:
    image = picture(B, dtype=dtype)
    scale = matrices.scaling(1.3, 0.7, -2.0, 1.5, ANGLES)  # a matrix that takes the separable way
    for matrix in (ROTATIONS, scale):
        for size in ((17, 23), (9, 30)):
            rows = native.warp_homography(image, matrix, size, mode, padding, [0.25], False)
            args = (*size, resample.MODES[mode], resample.PADDINGS[padding], [0.25], False)
            nearest = mode == "nearest"
            scaled = matrix if nearest else resample.normalised(matrix, 17, 23)
            whole = resample.homography(image if nearest else load(image), scaled, *args)
            whole = store(whole, dtype)
            assert_close(rows.double(), whole.double(), atol=1 if dtype == torch.uint8 else 3e-5, rtol=0)
