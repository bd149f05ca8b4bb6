"""Turns, transpositions, shifts and frames: known answers, and what users asked for."""

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from helpers import call_seeded, picture
from torch import Tensor
from torch.testing import assert_close

import augment as K


def replay(op: Any, image: Tensor, **values: Any) -> Tensor:
    """Apply an op with some of its parameters set, in every row."""
    params = op.forward_parameters(image.shape)
    for name, value in values.items():
        like = params[name]
        params[name] = torch.as_tensor(value, dtype=like.dtype).expand(like.shape).clone()
    return op(image, params=params)


# ------------------------------------------------------------------------------------------- turns and transpositions


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
@pytest.mark.parametrize("k", range(-3, 4))
def test_quarter_turns_are_exact(k: int, dtype: torch.dtype) -> None:
    image = picture(2, size=(9, 9), dtype=dtype)
    assert torch.equal(K.RandomRotation90((k, k), p=1.0)(image), image.rot90(k, (2, 3)))


def test_a_quarter_turn_keeps_the_frame_and_its_middle() -> None:
    image = picture(2, size=(6, 8))
    output = K.RandomRotation90((1, 1), p=1.0)(image)
    assert torch.equal(output[..., 1:7], image[..., 1:7].rot90(1, (2, 3)))
    assert output[..., 0].eq(0).all() and output[..., 7].eq(0).all()


def test_a_quarter_turn_between_pixels_takes_the_mean_of_four() -> None:
    image = picture(1, size=(4, 5))
    output = K.RandomRotation90((1, 1), p=1.0)(image)
    # about (2, 1.5): the output at (2, 1) takes the input at (2 - (1 - 1.5), 1.5 + (2 - 2)) = (2.5, 1.5)
    assert_close(output[..., 1, 2], image[..., 1:3, 2:4].mean((2, 3)), atol=1e-6, rtol=0)


@pytest.mark.parametrize(("times", "counts"), [((-1, 1), [-1, 0, 1]), (2, [-2, -1, 0, 1, 2]), ((3, 3), [3])])
def test_every_number_of_turns_is_equally_likely(times: Any, counts: list[int]) -> None:
    n = 30000
    drawn = K.RandomRotation90(times, p=1.0).forward_parameters((n, 1, 4, 4))["times"]
    share = 1 / len(counts)
    for count in counts:
        assert abs((drawn == count).float().mean().item() - share) <= 5 * (share * (1 - share) / n) ** 0.5
    assert set(drawn.tolist()) == set(counts)


def test_the_symmetries_of_a_square_are_a_group() -> None:
    image = picture(8, size=(5, 5))[:1].repeat(8, 1, 1, 1)
    op, every = K.RandomD4(), {"symmetry": torch.arange(8)}
    outputs = op(image, params=every)
    known = [image[0].rot90(k, (1, 2)) for k in range(4)] + [image[0].mT.rot90(k, (1, 2)) for k in range(4)]
    for output in known:  # each of the eight is there once
        assert sum(torch.equal(output, other) for other in outputs) == 1
    again = torch.stack([op(row.repeat(8, 1, 1, 1), params=every) for row in outputs]).flatten(0, 1)
    for output in again:
        assert any(torch.equal(output, other) for other in known)


def test_symmetries_are_equally_likely_and_keep_any_frame() -> None:
    n = 16000
    drawn = K.RandomD4().forward_parameters((n, 1, 4, 4))["symmetry"]
    shares = torch.bincount(drawn, minlength=8) / n
    assert ((shares - 1 / 8).abs() <= 5 * (7 / 64 / n) ** 0.5).all()
    image = picture(1, size=(4, 7)).repeat(4, 1, 1, 1)
    op = K.RandomD4()
    output = op(image, params={"symmetry": torch.arange(4)})
    for i, expected in enumerate([image, image.flip(-1), image.flip(-2), image.flip((-2, -1))]):
        assert torch.equal(output[i], expected[i])
    drawn = op.forward_parameters((n, 1, 4, 7))["symmetry"]  # what is recorded is what is done
    shares = torch.bincount(drawn, minlength=4) / n
    assert len(shares) == 4 and ((shares - 1 / 4).abs() <= 5 * (3 / 16 / n) ** 0.5).all()
    with pytest.raises(RuntimeError, match="symmetry"):
        op(image, params={"symmetry": torch.arange(1, 5)})


def test_the_mean_of_inverses_is_the_input() -> None:
    image = picture(8, size=(6, 6))
    op = K.RandomD4()
    output = op(image, params={"symmetry": torch.arange(8), "batch_prob": torch.ones(8)})
    assert torch.equal(op.inverse(output), image)


def test_transpose_swaps_the_sides() -> None:
    image = picture(2, size=(4, 6))
    op = K.AugmentationSequential(K.RandomTranspose(p=1.0), data_keys=["image", "keypoints", "bbox_xyxy"])
    output, points, boxes = op(image, torch.tensor([[[5.0, 1.0]]] * 2), torch.tensor([[[1.0, 2.0, 6.0, 3.0]]] * 2))
    assert torch.equal(output, image.mT)
    assert points[0].tolist() == [[1, 5]] and boxes[0].tolist() == [[2, 1, 3, 6]]
    square = picture(4, size=(5, 5))
    half = K.RandomTranspose()
    output = half(square, params={"batch_prob": torch.tensor([1.0, 0, 1, 0])})
    assert torch.equal(output, torch.stack([square[0].mT, square[1], square[2].mT, square[3]]))


def test_a_closed_transposition_of_a_long_image_is_its_middle() -> None:
    image = picture(1, size=(4, 6))
    output = K.RandomTranspose(p=0.0)(image)
    expected = torch.nn.functional.pad(image[..., 1:5], (0, 0, 1, 1))
    assert torch.equal(output, expected)


# ----------------------------------------------------------------------------------------------- shears and shifts


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


# ------------------------------------------------------------------------------------------------------------- frames


def test_pad_to_adds_below_and_to_the_right() -> None:
    image = picture(2, size=(4, 5))
    output = K.PadTo((6, 8), pad_value=[0.1, 0.2, 0.3])(image)
    assert torch.equal(output[..., :4, :5], image)
    level = torch.tensor([0.1, 0.2, 0.3]).view(3, 1, 1)
    assert_close(output[..., 4:, :], level.expand(2, 3, 2, 8)) and assert_close(
        output[..., 5:], level.expand(2, 3, 6, 3)
    )
    assert K.PadTo(6, pad_value=0.5)(torch.zeros(1, 1, 4, 4, dtype=torch.uint8)).unique().tolist() == [0, 128]
    for size in ((2, 9), (2, 3)):
        assert K.PadTo(size)(image).shape[-2:] == size
    assert torch.equal(K.PadTo((2, 3))(image), image[..., :2, :3])
    assert K.PadTo((2, 9), crop_if_exceeds=False)(image).shape[-2:] == (4, 9)


def test_pad_to_leads_back_and_fills_what_was_cut() -> None:
    image = picture(2, size=(6, 8))
    op = K.PadTo((4, 12), pad_value=0.5)
    back = op.inverse(op(image))
    assert torch.equal(back[..., :4, :], image[..., :4, :]) and back[..., 4:, :].eq(0.5).all()


@pytest.mark.parametrize(("mode", "size"), [("reflect", (7, 5)), ("reflect", (8, 4)), ("circular", (9, 5))])
def test_a_border_longer_than_its_image_is_refused(mode: str, size: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"PadTo: size: expected at most \("):
        K.PadTo(size if mode == "circular" else (size[0] + 1, size[1]), pad_mode=mode)(picture(1, size=(4, 5)))


@pytest.mark.parametrize(("height", "width"), [(17, 23), (23, 17), (16, 16)])
def test_longest_and_smallest_side(height: int, width: int) -> None:
    image = picture(1, size=(height, width))
    assert max(K.LongestMaxSize(10)(image).shape[-2:]) == 10
    assert min(K.SmallestMaxSize(10)(image).shape[-2:]) == 10
    assert torch.equal(K.LongestMaxSize(10)(image), K.Resize(10, side="long")(image))
    assert torch.equal(K.SmallestMaxSize(10)(image), K.Resize(10, side="short")(image))


def test_letter_box_of_a_film_frame() -> None:
    op = K.LetterBox(64)
    container = K.AugmentationSequential(op, data_keys=["image", "bbox_xyxy", "mask"])
    box, mask = torch.tensor([[[0.0, 0, 192, 108], [96, 54, 192, 108]]]), torch.ones(1, 1, 108, 192, dtype=torch.int64)
    output, boxes, mask = container(torch.ones(1, 3, 108, 192), box, mask)
    # a third: 36 by 64, and 28 left of 64, 14 above
    assert_close(output[..., 14:50, :], torch.ones(1, 3, 36, 64))
    assert_close(output[..., :14, :], torch.full((1, 3, 14, 64), 114 / 255))
    assert_close(output[..., 50:, :], torch.full((1, 3, 14, 64), 114 / 255))
    assert_close(boxes, torch.tensor([[[0.0, 14, 64, 50], [32, 32, 64, 50]]]), atol=1e-4, rtol=0)
    assert mask[..., 14:50, :].eq(1).all() and mask.sum() == 36 * 64
    grey = op(torch.zeros(1, 1, 108, 192, dtype=torch.uint8))
    assert grey.unique().tolist() == [0, 114]


def test_letter_box_gives_the_odd_pixel_to_the_far_side() -> None:
    output = K.LetterBox((9, 8), fill=0.0)(torch.ones(1, 1, 4, 8))
    assert output[0, 0, :, 0].tolist() == [0, 0, 1, 1, 1, 1, 0, 0, 0]
    kept = K.LetterBox((9, 12), fill=0.0, scale_up=False)(torch.ones(1, 1, 4, 8))
    assert kept.sum() == 32 and kept[0, 0, 2:6, 2:10].eq(1).all()


def test_zoom_out_puts_a_smaller_image_on_a_canvas() -> None:
    container = K.AugmentationSequential(K.RandomZoomOut(0.5, (2.0, 2.0), p=1.0), data_keys=["image", "bbox_xyxy"])
    whole = torch.tensor([[[0.0, 0.0, 30.0, 20.0]]] * 8)
    image, boxes = container(torch.ones(8, 1, 20, 30), whole)
    x1, y1, x2, y2 = boxes[:, 0].unbind(1)
    assert_close(x2 - x1, torch.full((8,), 15.0))
    assert_close(y2 - y1, torch.full((8,), 10.0))
    assert x1.min() >= 0 and x2.max() <= 30 + 1e-4 and y1.min() >= 0 and y2.max() <= 20 + 1e-4
    assert len(x1.unique()) == 8
    covered = 0.5 + 0.5 * 15 * 10 / (20 * 30)  # the edge is half a pixel of the image wide, and blends evenly
    assert_close(image.mean((1, 2, 3)), torch.full((8,), covered), atol=0.02, rtol=0)
    image = picture(2)
    assert torch.equal(K.RandomZoomOut(side_range=(1.0, 1.0), p=1.0)(image), image)


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: K.RandomRotation90((0.5, 1)), "times"),
        (lambda: K.RandomRotation90((2, 1)), "times"),
        (lambda: K.RandomRotation90((0, 4)), "times"),
        (lambda: K.RandomShear((1.0, 2.0, 3.0)), "shear"),
        (lambda: K.RandomShear(500.0), "shear"),
        (lambda: K.RandomTranslate((0.0, 1.5)), "translate_x"),
        (lambda: K.RandomTranslate(translate_y=(0.3, 0.1)), "translate_y"),
        (lambda: K.RandomRotation(10.0, padding_mode="mirror"), "padding_mode"),
        (lambda: K.PadTo((0, 3)), "size"),
        (lambda: K.PadTo(3, pad_mode="symmetric"), "pad_mode"),
        (lambda: K.LongestMaxSize(0), "max_size"),
        (lambda: K.SmallestMaxSize(2.5), "max_size"),
        (lambda: K.LetterBox((3, -1)), "size"),
        (lambda: K.RandomZoomOut(side_range=(0.5, 2.0)), "side_range"),
        (lambda: K.RandomIoUCrop(min_scale=0.9, max_scale=0.5), "min_scale"),
        (lambda: K.RandomIoUCrop(max_scale=1.5), "max_scale"),
        (lambda: K.RandomIoUCrop(sampler_options=()), "sampler_options"),
        (lambda: K.RandomIoUCrop(trials=0), "trials"),
        (lambda: K.AugmentationSequential(min_visibility=2.0), "min_visibility"),
    ],
)
def test_constructors_refuse_by_name(build: Any, name: str) -> None:
    with pytest.raises((TypeError, ValueError), match=rf"^{name}"):
        build()


def test_opcheck_of_the_window() -> None:
    place = torch.ops.augment.place.default
    for corner, size in (((-2, 3), (12, 9)), ((1, -1), (3, 20)), ((0, 0), (8, 8)), ((30, 0), (4, 4))):
        image = picture(2, size=(8, 8)).requires_grad_()
        torch.library.opcheck(place, (image, *corner, *size, [0.25]))
        padded = np.pad(image.detach().numpy(), [(0, 0), (0, 0), (40, 40), (40, 40)], constant_values=0.25)
        top, left = corner[0] + 40, corner[1] + 40
        expected = padded[..., top : top + size[0], left : left + size[1]]
        assert torch.equal(place(image, *corner, *size, [0.25]), torch.from_numpy(expected.copy()))


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_opaque_resize(align_corners: bool, memory_format: torch.memory_format) -> None:
    resize = torch.ops.augment.resize.default
    image = picture(2, size=(7, 9)).double().contiguous(memory_format=memory_format).requires_grad_()
    for size in ((12, 5), (1, 18), (7, 9)):
        torch.library.opcheck(resize, (image, *size, align_corners))
        expected = F.interpolate(image, size, mode="bilinear", align_corners=align_corners)
        assert_close(resize(image, *size, align_corners), expected, rtol=0, atol=1e-12)
        torch.autograd.gradcheck(lambda x, size=size: resize(x, *size, align_corners), image)
