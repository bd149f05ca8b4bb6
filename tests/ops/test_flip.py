"""Flips, quarter turns, transpositions and the symmetries of a square."""

from typing import Any

import pytest
import torch
from torch.testing import assert_close

import augment as K
from tests.support.helpers import picture
from tests.support.known import impulse


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: K.RandomRotation90(()), "times"),
    ],
)
def test_constructors_name_what_is_wrong(build: Any, name: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"{name}: expected"):
        build()


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


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: K.RandomRotation90((0.5, 1)), "times"),
        (lambda: K.RandomRotation90((2, 1)), "times"),
        (lambda: K.RandomRotation90((0, 4)), "times"),
    ],
)
def test_constructors_refuse_by_name(build: Any, name: str) -> None:
    with pytest.raises((TypeError, ValueError), match=rf"^{name}"):
        build()


@pytest.mark.parametrize(
    ("name", "point", "box"),
    [
        ("RandomHorizontalFlip", [12 - 2.0, 3.0], [13 - 5.0, 1.0, 13 - 2.0, 4.0]),
        ("RandomVerticalFlip", [2.0, 8 - 3.0], [2.0, 9 - 4.0, 5.0, 9 - 1.0]),
    ],
)
def test_flips_move_points_between_centres_and_boxes_between_edges(
    name: str, point: list[float], box: list[float]
) -> None:
    op = K.AugmentationSequential(getattr(K, name)(p=1.0), data_keys=["image", "keypoints", "bbox_xyxy", "mask"])
    points, boxes = torch.tensor([[[2.0, 3.0]]]), torch.tensor([[[2.0, 1.0, 5.0, 4.0], [0.0, 0.0, 13.0, 9.0]]])
    mask = torch.zeros(1, 1, 9, 13, dtype=torch.long)
    mask[..., 1:4, 2:5] = 1  # the pixels that the first box covers
    output, points, boxes, mask = op(impulse(9, 13, 3, 2), points, boxes, mask)
    assert points[0, 0].tolist() == point
    assert boxes[0].tolist() == [box, [0, 0, 13, 9]]
    assert output[0, 0, int(point[1]), int(point[0])] == 1
    x1, y1, x2, y2 = map(int, box)
    assert mask[..., y1:y2, x1:x2].all()
    assert mask.sum() == 9


def test_a_batch_of_odd_and_even_turns() -> None:
    """#4409: the canvas is that of the input, whose middle is what an odd turn fills."""
    image = picture(4, size=(6, 8))
    output = K.RandomRotation90((0, 3), p=1.0)(image, params={"times": torch.arange(4.0)})
    assert torch.equal(output[0], image[0]) and torch.equal(output[2], image[2].rot90(2, (1, 2)))
    for i in (1, 3):
        assert torch.equal(output[i, :, :, 1:7], image[i, :, :, 1:7].rot90(i, (1, 2)))
