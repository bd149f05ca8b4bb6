"""Frames around images: padding, letter boxes, longest and smallest sides, zooming out."""

from typing import Any

import pytest
import torch
from torch.testing import assert_close

import augment as K
from tests.support.helpers import picture


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
        (lambda: K.PadTo((0, 3)), "size"),
        (lambda: K.PadTo(3, pad_mode="symmetric"), "pad_mode"),
        (lambda: K.LongestMaxSize(0), "max_size"),
        (lambda: K.SmallestMaxSize(2.5), "max_size"),
        (lambda: K.LetterBox((3, -1)), "size"),
        (lambda: K.RandomZoomOut(side_range=(0.5, 2.0)), "side_range"),
    ],
)
def test_constructors_refuse_by_name(build: Any, name: str) -> None:
    with pytest.raises((TypeError, ValueError), match=rf"^{name}"):
        build()
