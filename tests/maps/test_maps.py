"""Maps of pixels and points: permutations, homographies and deformations, chained and undone."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import augment as K
from augment.maps.deformation import Field
from augment.maps.warp import Homography, Permutation, Warp
from tests.support.grids import FLOATS, grid
from tests.support.helpers import picture


def matrix(rows: list[list[float]], b: int = 2) -> Tensor:
    return torch.tensor(rows, dtype=torch.float32).repeat(b, 1, 1)


H, W = 6, 9
FLIP = Permutation(matrix([[-1, 0, W - 1], [0, 1, 0], [0, 0, 1]]), (H, W))
TURN = Permutation(matrix([[0, -1, H - 1], [1, 0, 0], [0, 0, 1]]), (H, W), (W, H))  # clockwise
CUT = Permutation(matrix([[1, 0, -2], [0, 1, -1], [0, 0, 1]]), (H, W), (4, 5))
SHEAR = Homography(matrix([[1, 0.25, 0.5], [0.125, 0.75, 1], [0, 0, 1]]), (H, W), projective=False)
LENS = Homography(matrix([[1, 0.25, 0.5], [0.125, 0.75, 1], [0.01, -0.02, 1]]), (H, W))
POINTS = torch.rand(2, 7, 2, generator=torch.Generator().manual_seed(1)) * torch.tensor([W - 1.0, H - 1.0])


def wave(amplitude: float, period: float, along: int, size: tuple[int, int] = (H, W)) -> Field:
    """Displace x by a sine of x (``along`` 0) or of y (1)."""
    place = torch.stack(torch.broadcast_tensors(*grid(*size)))[along].float()
    field = torch.zeros(2, 2, *size)
    field[:, 0] = amplitude * torch.sin(2 * math.pi * place / period)
    return Field(field, size)


def test_permutations_are_what_torch_does() -> None:
    image = picture(2, size=(H, W))
    assert torch.equal(FLIP.image(image), image.flip(-1))
    assert torch.equal(TURN.image(image), image.rot90(-1, (2, 3)))
    assert torch.equal(CUT.image(image), image[..., 1:5, 2:7])
    assert torch.equal(TURN.points(torch.tensor([[[8.0, 0.0]]] * 2)), torch.tensor([[[5.0, 8.0]]] * 2))


@pytest.mark.parametrize("second", [FLIP, TURN, CUT, SHEAR, LENS])
@pytest.mark.parametrize("first", [FLIP, SHEAR, LENS])
def test_then_is_one_after_the_other(first: Homography, second: Homography) -> None:
    both = first.then(second)
    assert both.size == second.size and both.input_size == (H, W)
    assert_close(both.matrix, second.matrix @ first.matrix)
    whole = isinstance(first, Permutation) and isinstance(second, Permutation)
    assert_close(both.points(POINTS), second.points(first.points(POINTS)), atol=1e-5 * (not whole), rtol=0)
    image = picture(2, size=(H, W))
    if isinstance(first, Permutation):  # else one resampling is not two
        expected = second.image(first.image(image))
        assert_close(both.image(image), expected, atol=1e-5 * (not whole), rtol=0)
    assert isinstance(both, Permutation) == whole


def test_chain_with_a_deformation() -> None:
    image, field = picture(2, size=(H, W)), wave(1.5, 12.0, 1)
    for first, second in ((FLIP, field), (field, FLIP), (LENS, field), (field, field)):
        both = first.then(second)
        assert_close(both.points(POINTS), second.points(first.points(POINTS)), atol=1e-5, rtol=0)
        assert_close(both.inverse().points(both.points(POINTS)), POINTS, atol=1e-3, rtol=0)
        assert_close(both.sources(both.points(POINTS)), POINTS, atol=1e-3, rtol=0)
        if isinstance(first, Permutation) or isinstance(second, Permutation):
            assert_close(both.image(image), second.image(first.image(image)), atol=1e-5, rtol=0)
        assert_close(both[1].points(POINTS[1:]), both.points(POINTS)[1:], atol=1e-5, rtol=0)
        with pytest.raises(ValueError, match="transform_matrix"):
            _ = both.matrix


def test_then_needs_fitting_sizes() -> None:
    for first, second in ((CUT, FLIP), (CUT, wave(1.0, 12.0, 0))):
        with pytest.raises(ValueError, match="size"):
            first.then(second)


def test_deformations_move_points_as_arithmetic_says() -> None:
    # output x takes input x + a sin(2 pi y / P): a point goes the other way, and y stays
    field, points = wave(1.5, 12.0, 1), POINTS.clone()
    points[..., 1] = points[..., 1].round()  # between rows the field is a chord of the sine
    shift = 1.5 * torch.sin(2 * math.pi * points[..., 1] / 12)
    expected = torch.stack([points[..., 0] - shift, points[..., 1]], -1)
    assert_close(field.points(points), expected, atol=1e-4, rtol=0)
    bulge = wave(1.5, 12.0, 1, (20, 30)).boxes(torch.tensor([[[10.0, 0.5, 20.0, 6.5]]] * 2))  # y from 0 to P / 2
    assert_close(bulge, torch.tensor([[[8.5, 0.5, 20.0, 6.5]]] * 2), atol=1e-4, rtol=0)
    steep = wave(2.2, 20.0, 0, (30, 40))  # a slope of 2 pi 2.2 / 20 = 0.69
    points = torch.rand(2, 50, 2) * torch.tensor([30.0, 29.0]) + torch.tensor([5.0, 0.0])
    moved = steep.points(points)
    back = moved[..., 0] + 2.2 * torch.sin(2 * math.pi * moved[..., 0] / 20)
    assert_close(back, points[..., 0], atol=0.05, rtol=0)
    assert_close(moved[..., 1], points[..., 1])


@pytest.mark.parametrize("warp", [FLIP, TURN, SHEAR, LENS, wave(1.0, 12.0, 1)])
def test_inverse_and_rows(warp: Warp) -> None:
    there = warp.points(POINTS)
    assert_close(warp.inverse().points(there), POINTS, atol=1e-4, rtol=0)
    assert warp.inverse().size == warp.input_size and warp.inverse().input_size == warp.size
    image = picture(2, size=(H, W))
    if isinstance(warp, Permutation):
        assert torch.equal(warp.inverse().image(warp.image(image)), image)
    for i in range(2):
        assert_close(warp[i].points(POINTS[i : i + 1])[0], there[i], atol=1e-6, rtol=0)
        assert_close(warp[i].image(image[i : i + 1])[0], warp.image(image)[i], atol=1e-6, rtol=0)


ODD = torch.tensor([[math.nan, -0.0], [1e30, -1e30], [0.1, 1 / 3], [-1.0, -1.0]])


@pytest.mark.parametrize("extra", [math.inf, 2.5])
@pytest.mark.parametrize("warp", [FLIP, SHEAR, LENS, wave(1.0, 12.0, 1)])
def test_gated_rows_keep_every_bit(warp: Warp, extra: float) -> None:
    gated = warp.gated(torch.tensor([True, False]))
    points = torch.cat([ODD, torch.tensor([[extra, -extra]])]).expand(2, -1, -1)
    moved = gated.points(points)
    assert_close(moved[1], points[1], atol=0, rtol=0, equal_nan=True)
    image = picture(2, size=(H, W))
    image[1, :, 2] = math.nan
    output = gated.image(image)
    assert_close(output[1], image[1], atol=0, rtol=0, equal_nan=True)
    assert not torch.equal(output[0], image[0])


def still(height: int, width: int, flag: bool) -> dict[str, Any]:
    """Build every op that has arguments under which nothing happens."""
    aspect = (width / height, width / height)
    return {
        "rotation": K.RandomRotation((0.0, 0.0), align_corners=flag, p=1.0),
        "affine": K.RandomAffine((0.0, 0.0), (0.0, 0.0), (1.0, 1.0), (0.0, 0.0), align_corners=flag, p=1.0),
        "perspective": K.RandomPerspective(0.0, align_corners=flag, p=1.0),
        "elastic": K.RandomElasticTransform((3, 3), (1.0, 1.0), (0.0, 0.0), align_corners=flag, p=1.0),
        "resize": K.Resize((height, width), align_corners=flag),
        "resized crop": K.RandomResizedCrop((height, width), (1.0, 1.0), aspect, align_corners=flag),
        "crop": K.RandomCrop((height, width), align_corners=flag),
        "centre crop": K.CenterCrop((height, width), align_corners=flag),
        "brightness": K.RandomBrightness((1.0, 1.0)),
        "jitter": K.ColorJitter(),
        "jitter in order": K.ColorJitter(order=(0, 1, 2, 3)),
        "blur": K.RandomGaussianBlur(3, (1e-3, 1e-3), border_type="replicate", p=1.0),
        "noise": K.RandomGaussianNoise(0.0, 0.0, p=1.0),
        "normalize": K.Normalize(0.0, 1.0),
        "denormalize": K.Denormalize(0.0, 1.0),
    }


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("size", [(17, 23), (1, 8), (8, 1), (1, 1)])
@pytest.mark.parametrize("name", still(2, 2, True))
def test_identity_is_the_identity(name: str, size: tuple[int, int], flag: bool) -> None:
    for dtype in (*FLOATS, torch.uint8):
        image = picture(2, size=size, dtype=dtype)
        output = still(*size, flag)[name](image)
        if dtype == torch.uint8 and name == "normalize":
            output = (output * 255).round().to(dtype)
        assert_close(output, image, atol=1e-5, rtol=0)
