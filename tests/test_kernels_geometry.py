"""The kernels in C for the geometry of bytes."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import augment as K
from augment import kernels as native
from augment.kernels import built
from augment.kernels.field import c as field_c
from augment.kernels.warp import c as warp_c
from augment.kernels.warp import maths as resample
from augment.kinds.augmentation import Augmentation

pytestmark = pytest.mark.skipif(built.library is None, reason="the package was built without a C compiler")

PADDINGS = ("zeros", "border", "reflection")
LAYOUTS = ("planar", "last", "gaps")
SIZES = [((7, 9), (1, 1)), ((1, 1), (5, 3)), ((33, 47), (21, 70)), ((64, 300), (50, 11)), ((40, 40), (40, 40))]


def laid_out(image: Tensor, layout: str) -> Tensor:
    """Give an image (C, H, W) another place in memory."""
    if layout == "planar":
        return image.contiguous()
    if layout == "last":
        return image.permute(1, 2, 0).contiguous().permute(2, 0, 1)
    c, h, w = image.shape
    wide = torch.full((c, h + 2, 2 * w + 3), 77, dtype=image.dtype)
    wide[:, 1:-1, 1 : 2 * w : 2] = image
    return wide[:, 1:-1, 1 : 2 * w : 2]


def noise(*shape: int, seed: int = 0) -> Tensor:
    return torch.randint(0, 256, shape, generator=torch.Generator().manual_seed(seed), dtype=torch.uint8)


def assert_nearest(found: Tensor, exact: Tensor, share: float = 0.0, slack: float = 0.02) -> None:
    """Require the levels nearest to exact values, but where they lie as good as between two."""
    off = ((found - exact).abs() > 0.5 + slack).double().mean()
    assert off <= share, f"{off:.4%} of the pixels are not the nearest levels"


def run(fn: Callable[[Tensor, Tensor], bool], image: Tensor, size: tuple[int, int]) -> list[Tensor]:
    """Give what a kernel writes for each layout; what lies around the output stays."""
    found = []
    for one in LAYOUTS:
        for other in LAYOUTS:
            out = laid_out(torch.zeros((len(image), *size), dtype=torch.uint8), other)
            assert fn(laid_out(image, one), out)
            if other == "gaps":
                assert (out._base[:, :, ::2] == 77).all() and (out._base[:, [0, -1]] == 77).all()
            found.append(out.clone(memory_format=torch.contiguous_format))
    assert all(torch.equal(found[0], one) for one in found[1:])
    return found


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize(("old", "new"), SIZES)
def test_resizes(instructions: str, old: tuple[int, int], new: tuple[int, int], channels: int, corners: bool) -> None:
    image = noise(channels, *old)
    whole = slice(0, old[0]), slice(0, old[1])
    found = run(lambda one, out: warp_c.resize(one, *whole, [], corners, out), image, new)[0]
    exact = torch.nn.functional.interpolate(image[None].double(), new, mode="bilinear", align_corners=corners)[0]
    assert_nearest(found.double(), exact)


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("flips", [[], [1], [2], [1, 2]])
def test_windows(instructions: str, flips: list[int], corners: bool) -> None:
    image = noise(3, 41, 57)
    rows, columns = slice(3, 30), slice(11, 56)
    found = run(lambda one, out: warp_c.resize(one, rows, columns, flips, corners, out), image, (19, 50))[0]
    part = image[None, :, rows, columns].double()
    exact = torch.nn.functional.interpolate(part, (19, 50), mode="bilinear", align_corners=corners)[0]
    assert_nearest(found.double(), exact.flip(flips))


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("channels", [1, 2, 3])
@pytest.mark.parametrize("scale", [(0.7, -1.3), (1.0, 1.0), (-2.5, 3.1), (0.01, 9.0)])
def test_axes(instructions: str, padding: str, channels: int, scale: tuple[float, float]) -> None:
    image, code, fill = noise(channels, 31, 45), resample.PADDINGS[padding], [10.5, 200.0, 99.3][:channels]
    (f, g), (h, w) = scale, (37, 29)
    matrix = torch.tensor([[g, 0, 15.3 - 9 * g], [0, f, 20.25 - 11 * f], [0, 0, 1]], dtype=torch.float64)
    (a, _, x), (_, e, y), _ = matrix.tolist()
    found = run(
        lambda one, out: warp_c.resample_axes(one, (e, y, 0, 31), (a, x, 0, 45), code, fill, out), image, (h, w)
    )[0]
    scaled = resample.normalised(matrix[None], 31, 45)
    exact = resample.homography(image[None].double(), scaled, h, w, 0, code, fill, False)[0]
    assert_nearest(found.double(), exact)


MATRICES = {
    "turn": [[0.9, -0.43, 10.2], [0.43, 0.9, -7.7], [0.0, 0.0, 1.0]],
    "far": [[4.5, 0.2, -31.0], [-0.3, -5.5, 90.0], [0.0, 0.0, 1.0]],
    "projective": [[0.9, -0.43, 10.2], [0.43, 0.9, -7.7], [0.004, -0.003, 1.0]],
}


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("channels", [1, 3, 6])
@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("size", [((31, 45), (37, 29)), ((1, 1), (3, 2)), ((16, 300), (9, 270))])
def test_warps(
    instructions: str, padding: str, channels: int, name: str, size: tuple[tuple[int, int], tuple[int, int]]
) -> None:
    ((height, width), (h, w)), matrix, code = size, MATRICES[name], resample.PADDINGS[padding]
    image, fill = noise(channels, height, width), [10.5, 200.0, 99.3, 0.0, 255.0, 1.0][:channels]
    projective = name == "projective"
    found = run(lambda one, out: warp_c.warp(one, matrix, projective, (0, 0), code, fill, out), image, (h, w))[0]
    scaled = resample.normalised(torch.tensor([matrix], dtype=torch.float64), height, width)
    exact = resample.homography(image[None].double(), scaled, h, w, 0, code, fill, projective)[0]
    assert_nearest(found.double(), exact)


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("levels", [(1, 0), (0, 2), (1, 1), (4, 3)])
@pytest.mark.parametrize("channels", [1, 3, 6])
@pytest.mark.parametrize("size", [(31, 45), (1, 1), (20, 2), (3, 90)])
def test_filtered_warps(
    instructions: str, padding: str, levels: tuple[int, int], channels: int, size: tuple[int, int]
) -> None:
    image, fill, code = (
        noise(channels, *size),
        [10.5, 200.0, 99.3, 0.0, 255.0, 1.0][:channels],
        resample.PADDINGS[padding],
    )
    matrix = [[1.9, -0.83, 10.2], [1.43, 2.9, -7.7], [0.0, 0.0, 1.0]]
    found = run(lambda one, out: warp_c.warp(one, matrix, False, levels, code, fill, out), image, (21, 30))[0]
    smooth = resample.smoothed(resample.smoothed(image[None].double(), -1, levels[0]), -2, levels[1])
    scaled = resample.normalised(torch.tensor([matrix], dtype=torch.float64), *size)
    exact = resample.homography(smooth, scaled, 21, 30, 0, code, fill, False)[0]
    assert_nearest(found.double(), exact)


@pytest.mark.parametrize("padding", PADDINGS)
def test_displacements(instructions: str, padding: str) -> None:
    image, code, fill = noise(3, 31, 45), resample.PADDINGS[padding], [10.5, 200.0, 99.3]
    field = torch.randn((2, 37, 50), generator=torch.Generator().manual_seed(5)) * 9
    found = run(lambda one, out: field_c.displace(one, field, code, fill, out), image, (37, 50))[0]
    exact = resample.displacement(image[None].double(), field[None].double(), 0, code, fill)[0]
    assert_nearest(found.double(), exact)
    turned = field.mT.contiguous().mT
    assert torch.equal(run(lambda one, out: field_c.displace(one, turned, code, fill, out), image, (37, 50))[0], found)


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


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e30])
@pytest.mark.parametrize("padding", PADDINGS)
def test_places_that_are_none(instructions: str, padding: str, value: float) -> None:
    image, field, code = noise(3, 9, 8), torch.full((2, 9, 8), value), resample.PADDINGS[padding]
    out = torch.empty_like(image)
    matrix = [[1.0, 0.0, value], [0.3, 1.0, value], [value, 0.0, 1.0]]
    assert field_c.displace(image, field, code, [7.0], out)
    assert code or (out == 7).all()
    assert warp_c.warp(image, matrix, True, (0, 0), code, [7.0], out)
    assert warp_c.resample_axes(image, (1.0, value, 0, 9), (value, 0.0, 0, 8), code, [7.0], out)


def test_instructions_agree() -> None:
    image, field = noise(3, 61, 83), torch.randn((2, 61, 83), generator=torch.Generator().manual_seed(5)) * 9
    found = []
    for name in built.library.sets():
        built.library.use(name)
        outs = [torch.empty_like(image) for _ in range(4)]
        assert warp_c.resample_axes(image, (0.7, 3.3, 0, 61), (1.4, -9.9, 0, 83), 0, [9.4], outs[0])
        assert warp_c.warp(image, MATRICES["projective"], True, (0, 0), 2, [], outs[1])
        assert warp_c.warp(image, MATRICES["turn"], False, (2, 1), 0, [9.4], outs[2])
        assert field_c.displace(image, field, 1, [], outs[3])
        found.append(outs)
    assert all(torch.equal(one, other) for outs in found for one, other in zip(outs, found[0], strict=True))


def test_what_is_not_done() -> None:
    image, axis = noise(3, 5, 5), (1.0, 0.5, 0, 5)
    out = torch.empty_like(image)
    assert not warp_c.resample_axes(image.float(), axis, axis, 0, [0.0], out)
    assert not warp_c.resample_axes(image, axis, axis, 0, [256.0], out)
    assert not warp_c.rearrange(laid_out(image, "gaps")[None], [-1], [True], out[None])
    assert not warp_c.rearrange(laid_out(image, "last")[None], [-1], [True], out[None])


OPS = [
    K.Resize((50, 71)),
    K.Resize((50, 71), align_corners=False),
    K.RandomResizedCrop((30, 41), p=1.0),
    K.RandomAffine(0, translate=(0.1, 0.2), p=1.0),
    K.RandomAffine(0, scale=(0.8, 1.3), padding_mode="fill", fill_value=(0.0, 0.5, 1.0), p=1.0),
    K.RandomAffine(0, scale=(0.8, 1.3), padding_mode="border", p=1.0),
    K.RandomAffine(0, scale=(0.8, 1.3), padding_mode="reflection", p=1.0),
    K.RandomAffine(40, padding_mode="fill", fill_value=0.5, p=1.0),
    K.RandomPerspective(0.5, p=1.0),
    K.RandomElasticTransform((5, 5), padding_mode="border", p=1.0),
    K.RandomThinPlateSpline(p=1.0),
]


@pytest.mark.parametrize("op", OPS, ids=str)
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_ops_agree_with_what_has_no_kernel(
    op: Augmentation, layout: torch.memory_format, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = noise(3, 3, 60, 60, seed=3).contiguous(memory_format=layout)
    found = op(image)
    monkeypatch.setattr(built, "library", None)
    expected = op(image, params=op._params)
    assert found.is_contiguous() and expected.is_contiguous()
    assert (found.int() - expected).abs().max() <= 1


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


def test_a_resize_is_that_of_opencv() -> None:
    cv2 = pytest.importorskip("cv2")
    image = noise(1, 3, 64, 80)
    expected = cv2.resize(image[0].permute(1, 2, 0).numpy(), (70, 100), interpolation=cv2.INTER_LINEAR)
    found = native.resize(image, (100, 70), False)[0].permute(1, 2, 0).numpy()
    assert abs(found.astype(int) - expected).max() <= 1
