"""Turns, shears, shifts, scales and perspectives: known answers, and what users asked for."""

import math
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.testing import assert_close

import augment as K
from tests.support.helpers import call_seeded, picture, seq
from tests.support.known import impulse, replay, slope


@pytest.mark.parametrize("size", [(6, 9), (9, 6)])
@pytest.mark.parametrize(
    ("mode", "name", "options"),
    [
        ("zeros", "constant", {}),
        ("fill", "constant", {"constant_values": 0.25}),
        ("border", "edge", {}),
        ("reflection", "symmetric", {}),
    ],
)
def test_shifts_by_whole_pixels(mode: str, name: str, options: dict[str, Any], size: tuple[int, int]) -> None:
    image = picture(2, size=size)
    op = K.RandomTranslate((0.0, 1.0), (0.0, 1.0), padding_mode=mode, fill_value=0.25, p=1.0)
    output = replay(op, image, translate_x=2.0, translate_y=-1.0)
    padded = np.pad(image.numpy(), [(0, 0), (0, 0), (0, 1), (2, 0)], mode=name, **options)
    assert_close(output, torch.from_numpy(padded[..., 1:, :-2].copy()), atol=1e-6, rtol=0)


def test_a_shift_by_half_a_pixel_is_the_mean_of_two() -> None:
    image = picture(2)
    output = replay(K.RandomTranslate(0.5, p=1.0), image, translate_x=0.5, translate_y=0.0)
    assert_close(output[..., 1:], (image[..., 1:] + image[..., :-1]) / 2, atol=1e-6, rtol=0)
    assert_close(output[..., 0], image[..., 0] / 2, atol=1e-6, rtol=0)


def test_limits_of_a_shift_are_fractions_of_each_side() -> None:
    params = K.RandomTranslate(0.1, (0.2, 0.3), p=1.0).forward_parameters((4000, 1, 50, 200))
    x, y = params["translate_x"], params["translate_y"]
    assert x.min() < -19 and x.max() > 19 and x.abs().max() <= 20
    assert y.min() >= 10 and y.max() <= 15
    params = K.RandomTranslate(translate_y=0.1, p=1.0).forward_parameters((20, 1, 50, 200))
    assert params["translate_x"].eq(0).all() and params["translate_y"].ne(0).all()


def test_shear_leans_as_the_affine_map_does() -> None:
    image = torch.zeros(1, 1, 5, 5)
    image[..., 1, 2] = 1
    output = replay(K.RandomShear(10.0, resample="nearest", p=1.0), image, shear_x=45.0)
    assert output[0, 0, 1, 3] == 1 and output.sum() == 1  # y = -1 off the centre gives x = +1
    shear, affine = K.RandomShear((-20.0, 20.0, 10.0, 30.0), p=1.0), K.RandomAffine(0.0, p=1.0)
    image = picture(3)
    output = shear(image)
    drawn = {"shear_x": shear._params["shear_x"], "shear_y": shear._params["shear_y"]}
    params = affine.forward_parameters(image.shape)
    assert_close(affine(image, params={**params, **drawn}), output, atol=1e-5, rtol=0)


WARPS = {
    "RandomAffine": {"degrees": (45.0, 45.0)},
    "RandomElasticTransform": {"kernel_size": (3, 3), "sigma": (1.0, 1.0), "alpha": (9.0, 9.0)},
    "RandomPerspective": {"distortion_scale": 0.9},
    "RandomRotation": {"degrees": (45.0, 45.0)},
    "RandomShear": {"shear": (40.0, 40.0)},
    "RandomTranslate": {"translate_x": (0.4, 0.5), "translate_y": (0.4, 0.5)},
}


@pytest.mark.parametrize("channels", [1, 3, 13])
@pytest.mark.parametrize("name", WARPS)
def test_what_comes_in_from_outside(name: str, channels: int) -> None:
    image = torch.ones(2, channels, 20, 30)

    def warped(mode: str, fill: Any = None) -> Tensor:
        op = getattr(K, name)(**WARPS[name], padding_mode=mode, fill_value=fill, p=1.0)
        return call_seeded(op, image)

    zeros = warped("zeros")
    outside = zeros == 0
    assert 0.02 < outside.float().mean() < 0.9
    for mode in ("border", "reflection"):
        assert_close(warped(mode), image, atol=1e-5, rtol=0)
    fill = [(i + 1) / 20 for i in range(channels)]
    expected = torch.tensor(fill).view(-1, 1, 1).expand_as(image)
    assert_close(warped("fill", fill)[outside], expected[outside], atol=1e-5, rtol=0)
    assert_close(warped("fill", 0.5), zeros + 0.5 * (1 - zeros), atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: K.RandomShear((1.0, 2.0, 3.0)), "shear"),
        (lambda: K.RandomShear(500.0), "shear"),
        (lambda: K.RandomTranslate((0.0, 1.5)), "translate_x"),
        (lambda: K.RandomTranslate(translate_y=(0.3, 0.1)), "translate_y"),
        (lambda: K.RandomRotation(10.0, padding_mode="mirror"), "padding_mode"),
    ],
)
def test_constructors_refuse_by_name(build: Any, name: str) -> None:
    with pytest.raises((TypeError, ValueError), match=rf"^{name}"):
        build()


def test_rotation_turns_counter_clockwise() -> None:
    image = impulse(5, 5, 1, 3)
    output = K.RandomRotation((90.0, 90.0), resample="nearest", p=1.0)(image)
    assert torch.equal(output, impulse(5, 5, 1, 1))
    square = torch.rand(2, 3, 8, 8)
    assert_close(K.RandomRotation((90.0, 90.0), p=1.0)(square), square.rot90(1, (2, 3)), atol=1e-5, rtol=0)


def test_affine_turns_clockwise() -> None:
    output = K.RandomAffine((90.0, 90.0), resample="nearest", p=1.0)(impulse(5, 5, 1, 3))
    assert torch.equal(output, impulse(5, 5, 3, 3))


@pytest.mark.parametrize("size", [(6, 9), (9, 6)])
def test_affine_by_whole_pixels_shifts(size: tuple[int, int]) -> None:
    image = slope(*size)
    expected = torch.zeros_like(image)
    expected[..., :-1, 2:] = image[..., 1:, :-2]
    assert_close(replay(K.RandomAffine(0.0, p=1.0), image, translations=[2, -1]), expected, atol=1e-6, rtol=0)


def test_affine_scales_about_the_centre() -> None:
    output = replay(K.RandomAffine(0.0, p=1.0, resample="nearest"), impulse(5, 7, 1, 4), scale=2.0)
    assert output[0, 0, 0, 5] == 1  # from (1, -1) off the centre to (2, -2)
    assert output[0, 0, 1, 4] == 0


def test_affine_shears_along_x() -> None:
    output = replay(K.RandomAffine(0.0, p=1.0, resample="nearest"), impulse(5, 5, 1, 2), shear_x=45.0)
    assert torch.equal(output, impulse(5, 5, 1, 3))  # y = -1 off the centre gives x = +1


@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("name", ["RandomRotation", "RandomAffine"])
def test_no_turn_is_the_identity(name: str, align_corners: bool) -> None:
    image = torch.rand(2, 3, 7, 11)
    output = getattr(K, name)((0.0, 0.0), align_corners=align_corners, p=1.0)(image)
    assert torch.equal(output, image)


def test_perspective_moves_the_corners() -> None:
    op = K.RandomPerspective(0.5, p=1.0)
    op(torch.rand(3, 1, 9, 13))
    start = torch.nn.functional.pad(op._params["start_points"], (0, 1), value=1.0)
    moved = start @ op.transform_matrix.mT
    assert_close(moved[..., :2] / moved[..., 2:], op._params["end_points"], atol=1e-4, rtol=0)
    assert start[0, :, :2].tolist() == [[0, 0], [12, 0], [12, 8], [0, 8]]


def test_scalar_translate_moves_both_axes() -> None:
    """#902, roboflow/rf-detr#1444: one number is the limit of x and of y."""
    shift = K.RandomAffine(0.0, translate=0.1).forward_parameters((200, 1, 50, 80))["translations"]
    limit = torch.tensor([8.0, 5.0])
    assert (shift.abs() <= limit).all() and (shift.abs().amax(0) > 0.9 * limit).all()
    assert shift[:, 0].unique().numel() > 100


@pytest.mark.parametrize(
    ("op", "y", "x"),
    [
        (K.RandomRotation((90.0, 90.0), "nearest", p=1.0), 1, 1),
        (K.RandomRotation90((1, 1), p=1.0), 1, 1),
        (K.RandomAffine((90.0, 90.0), resample="nearest", p=1.0), 3, 3),
    ],
)
def test_signs_of_turns(op: nn.Module, y: int, x: int) -> None:
    """#4408: turns count counter-clockwise, but for RandomAffine, as in kornia; keypoints go where the pixel goes."""
    image = torch.zeros(1, 1, 5, 5)
    image[..., 1, 3] = 1
    output, points = seq(op, keys="image keypoints")(image, torch.tensor([[[3.0, 1.0]]]))
    assert output.sum() == 1 and output[..., y, x] == 1
    assert_close(points, torch.tensor([[[x, y]]]).float())


def test_shift_in_pixels() -> None:
    """#2475: a shift by three pixels is exact, as a fraction of the side or as a parameter."""
    image = picture(2)
    height, width = image.shape[-2:]
    expected = F.pad(image, (3, 0, 3, 0))[..., :height, :width]
    op = K.RandomTranslate((3 / width, 3 / width), (3 / height, 3 / height), p=1.0)
    assert_close(op(image), expected, atol=1e-6, rtol=0)
    params = {"translate_x": torch.tensor([3, 3]), "translate_y": torch.tensor([3, 3])}
    assert torch.equal(op(image, params=params), expected)


def test_scale_for_each_axis() -> None:
    """#615, PR #646: two numbers scale both axes alike, four each by its own."""
    both = K.RandomAffine(0.0, scale=(0.5, 2.0)).forward_parameters((500, 1, 9, 9))["scale"]
    assert torch.equal(both[:, 0], both[:, 1])
    each = K.RandomAffine(0.0, scale=(0.5, 1.0, 1.0, 2.0)).forward_parameters((500, 1, 9, 9))["scale"]
    assert each[:, 0].min() >= 0.5 and each[:, 0].max() <= 1 <= each[:, 1].min() and each[:, 1].max() <= 2
    assert torch.corrcoef(each.T)[0, 1].abs() < 0.25
    op = K.RandomAffine(0.0, scale=(2.0, 2.0, 0.5, 0.5), p=1.0)
    _, points = seq(op, keys="image keypoints")(torch.zeros(1, 1, 9, 9), torch.tensor([[[6.0, 6.0]]]))
    assert_close(points, torch.tensor([[[8.0, 5.0]]]))  # (2, 2) off the centre becomes (4, 1)


def test_where_perspectives_go() -> None:
    """PR #1592: how far corners move; ``basic`` moves them inwards, ``area_preserving`` to all sides."""
    reach, inwards = torch.tensor([16.0, 10.0]), torch.tensor([[1.0, 1], [-1, 1], [-1, -1], [1, -1]])
    for method, low in (("basic", 0.0), ("area_preserving", -1.0)):
        params = K.RandomPerspective(0.4, sampling_method=method).forward_parameters((4000, 1, 50, 80))
        moved = (params["end_points"] - params["start_points"]) * inwards / reach
        assert moved.min() >= low and moved.max() <= 1
        assert ((moved.mean(0) - (1 + low) / 2).abs() < 5 * (1 - low) / math.sqrt(12 * 4000)).all()
