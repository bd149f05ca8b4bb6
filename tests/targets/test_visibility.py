"""What a container says about boxes and keypoints that leave the image, and the crop that looks at boxes."""

from typing import Any

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import augment as K
from tests.support.helpers import call_seeded, graphs, picture

BOXES = torch.tensor([[2.0, 2, 8, 6], [0, 0, 4, 4], [15, 9, 19, 11], [0, 0, 0, 0]])
POINTS = torch.tensor([[5.0, 5.0], [1.0, 1.0], [19.0, 11.0], [-3.0, 2.0], [4.0, 2.0]])


def crop(seen: float | None = 0.0, *ops: Any, **more: Any) -> K.AugmentationSequential:
    """Cut 12 x 20 down to the 8 x 12 pixels in the middle, from (4, 2) on."""
    return K.AugmentationSequential(K.CenterCrop((8, 12)), *ops, min_visibility=seen, **more)


@pytest.mark.parametrize(
    ("share", "expected"),
    # in the window: 4..8 of 2..8 and all of y: 2/3; x touches the window; a part of x from 15 to 16 and y to 10: 1/8
    [(0.0, [1, 0, 1, 0]), (0.1, [1, 0, 1, 0]), (0.2, [1, 0, 0, 0]), (0.6, [1, 0, 0, 0]), (0.7, [0, 0, 0, 0])],
)
@pytest.mark.parametrize("clip", [False, True])
def test_crop_says_which_labels_are_left(share: float, expected: list[int], clip: bool) -> None:
    args = {key: {"clip": clip} for key in ("bbox_xyxy", "keypoints")}
    op = crop(share, data_keys=["image", "bbox_xyxy", "keypoints"], extra_args=args)
    image = picture(3, size=(12, 20))
    _, boxes, points = op(image, BOXES.expand(3, -1, -1), POINTS.expand(3, -1, -1))
    assert boxes.shape == (3, 4, 4) and points.shape == (3, 5, 2)  # order and number stay
    assert op.valid["bbox_xyxy"].int().tolist() == [expected] * 3
    # from (4, 2) to (15, 9); a pixel reaches half a pixel around its centre
    assert op.valid["keypoints"].int().tolist() == [[1, 0, 0, 0, 1]] * 3


def test_every_form_of_a_box_is_judged_alike() -> None:
    x1, y1, x2, y2 = BOXES.unbind(1)
    wide = torch.stack([x1, y1, x2 - x1, y2 - y1], 1)
    corners = torch.stack([x1, y1, x2, y1, x2, y2, x1, y2], 1).unflatten(1, (4, 2))
    op = crop(0.2, data_keys=["image", "bbox_xyxy", "bbox_xywh", "bbox", "bbox_xyxy"])
    forms = (BOXES, wide, corners, BOXES.flip(0))
    op(picture(1, size=(12, 20)), *(form.unsqueeze(0) for form in forms))
    assert list(op.valid) == ["bbox_xyxy", "bbox_xywh", "bbox", "bbox_xyxy_1"]
    for name, valid in op.valid.items():
        assert valid.tolist() == [[False, False, False, True] if name[-1] == "1" else [True, False, False, False]]


def test_what_was_lost_stays_lost() -> None:
    away, back = (K.RandomTranslate((x, x), p=1.0) for x in (0.5, -0.5))
    op = K.AugmentationSequential(away, back, data_keys=["image", "keypoints", "bbox_xyxy"], min_visibility=0.5)
    points = torch.tensor([[[3.0, 3.0], [17.0, 3.0]]])
    boxes = torch.tensor([[[1.0, 1, 5, 5], [15, 1, 19, 5], [8, 1, 12, 5], [7, 1, 12, 5]]])
    _, moved, kept = op(picture(1, size=(12, 20)), points, boxes)
    assert_close(moved, points, atol=1e-4, rtol=0)
    assert_close(kept, boxes, atol=1e-4, rtol=0)
    assert op.valid["keypoints"].tolist() == [[True, False]]
    assert op.valid["bbox_xyxy"].tolist() == [[True, False, True, True]]  # cut at 10: 2/4 and 3/5 are left


def test_a_line_that_is_turned_does_not_come_back() -> None:
    turn = K.RandomRotation((30.0, 30.0), p=1.0)
    op = crop(0.0, turn, data_keys=["image", "bbox_xyxy"])
    op(picture(1, size=(12, 20)), torch.tensor([[[0.0, 2, 3, 9], [6, 4, 9, 7], [5, 5, 5, 5]]]))
    assert op.valid["bbox_xyxy"].tolist() == [[False, True, False]]


def test_ragged_lists_names_and_ranks() -> None:
    op = crop(0.2, data_keys=None)
    sample = {
        "image": picture(2, size=(12, 20)),
        "bbox_xyxy_big": [BOXES, BOXES[:1]],
        "keypoints": [POINTS, POINTS[2:3]],
    }
    out = op(sample)
    assert out.keys() == sample.keys() and list(op.valid) == ["bbox_xyxy_big", "keypoints"]
    assert [v.tolist() for v in op.valid["bbox_xyxy_big"]] == [[True, False, False, False], [True]]
    assert [v.tolist() for v in op.valid["keypoints"]] == [[True, False, False, False, True], [False]]
    single = crop(0.2, data_keys=["image", "bbox_xyxy"], keepdim=True)
    single(picture(1, size=(12, 20))[0], BOXES)
    assert single.valid["bbox_xyxy"].shape == (4,)


def test_nothing_is_said_unless_asked() -> None:
    op = crop(None, data_keys=["image", "bbox_xyxy"])
    op(picture(1, size=(12, 20)), BOXES.unsqueeze(0))
    assert op.valid == {}


@pytest.mark.parametrize("nested", [False, True])
def test_dynamo_valid(nested: bool, optimizer: str) -> None:
    ops = [K.RandomIoUCrop(trials=10), K.RandomHorizontalFlip(), K.RandomRotation(40.0), K.RandomTranslate(0.3)]
    ops = [K.AugmentationSequential(*ops[:2]), *ops[2:]] if nested else ops
    op = K.AugmentationSequential(*ops, data_keys=["image", "bbox_xyxy", "keypoints"], min_visibility=0.3)
    args = (picture(4, size=(24, 40)), 2 * BOXES.expand(4, -1, -1), 2 * POINTS.expand(4, -1, -1))
    compiled = torch.compile(op, fullgraph=True, backend=optimizer)
    found = []
    for call in (compiled, op):
        for seed in range(4):
            outputs = call_seeded(call, *args, seed=seed)
            found.append((*outputs, *op.valid.values()))
        if call is compiled:
            assert graphs() == 1
    for one, other in zip(found[:4], found[4:], strict=True):
        for a, b in zip(one, other, strict=True):
            assert_close(a, b, atol=1e-3 if a.is_floating_point() else 0, rtol=0)
    valid = torch.cat([outputs[3] for outputs in found[:4]])
    assert valid[:, :3].any() and not valid[:, :3].all() and not valid[:, 3].any()  # the last is padding


# ---------------------------------------------------------------------------------------------------------- SSD's crop


def first_window(boxes: Any, windows: Any, overlaps: Any, size: tuple[int, int]) -> list[float]:
    """Look for the window as torchvision does, over candidates in their order and overlaps in theirs."""
    for least in overlaps:
        if least >= 1:
            break
        for x1, y1, x2, y2 in windows:
            if x2 <= x1:
                continue
            best = -1.0
            for a1, b1, a2, b2 in boxes:
                x, y = (a1 + a2) / 2, (b1 + b2) / 2
                if a2 <= a1 or b2 <= b1 or not (x1 < x < x2 and y1 < y < y2):
                    continue
                common = max(min(x2, a2) - max(x1, a1), 0) * max(min(y2, b2) - max(y1, b1), 0)
                union = (x2 - x1) * (y2 - y1) + (a2 - a1) * (b2 - b1) - common
                best = max(best, common / union)
            if best >= least:
                return [x1, y1, x2, y2]
    return [0, 0, size[1], size[0]]


def test_iou_crop_takes_the_first_window_that_fits() -> None:
    rng = np.random.default_rng(0)
    corners = rng.uniform(0, 1, (64, 5, 2, 2)) * [60, 40]
    boxes = torch.from_numpy(np.concatenate([corners.min(2), corners.max(2)], -1)).float()
    boxes[:, 3:] = 0
    boxes[0] = 0
    op = K.RandomIoUCrop(trials=15)
    container = K.AugmentationSequential(op, data_keys=["image", "bbox_xyxy", "mask"], min_visibility=0.0)
    image = picture(64, size=(40, 60))
    output, moved, _ = container(image, boxes, torch.zeros(64, 1, 40, 60, dtype=torch.int64))
    assert output.shape == image.shape
    params, chosen = op._params, []
    for i in range(64):
        x1, y1, x2, y2 = first_window(
            boxes[i].tolist(), params["candidates"][i].tolist(), params["overlaps"][i].tolist(), (40, 60)
        )
        chosen.append((x2 - x1) * (y2 - y1) < 40 * 60)
        assert params["src"][i, 0].tolist() == [x1, y1] and params["src"][i, 2].tolist() == [x2 - 1, y2 - 1]
        scale = torch.tensor([60 / (x2 - x1), 40 / (y2 - y1)] * 2)
        assert_close(moved[i], (boxes[i] - torch.tensor([x1, y1] * 2)) * scale, atol=1e-3, rtol=0)
        center = (boxes[i, :, :2] + boxes[i, :, 2:]) / 2
        inside = (center > torch.tensor([x1, y1])) & (center < torch.tensor([x2, y2]))
        real = (boxes[i, :, 2] > boxes[i, :, 0]) & (boxes[i, :, 3] > boxes[i, :, 1])
        assert torch.equal(container.valid["bbox_xyxy"][i], inside.all(-1) & real)
    assert 20 < sum(chosen) < 64
    assert params["src"][0, 0].tolist() == [0, 0] and params["src"][0, 2].tolist() == [59, 39]  # no box: all of it
    assert container.valid["bbox_xyxy"].any(1)[1:].all()
    # a replay repeats the choice, with the boxes and without
    again = container(image, boxes, torch.zeros(64, 1, 40, 60, dtype=torch.int64), params=container._params)
    assert torch.equal(again[0], output) and torch.equal(op(image, params=params), output)


def test_iou_crop_sees_boxes_where_earlier_ops_left_them() -> None:
    flip, op = K.RandomHorizontalFlip(p=1.0), K.RandomIoUCrop(sampler_options=(0.1,), trials=200, max_scale=0.5)
    container = K.AugmentationSequential(flip, op, data_keys=["image", "bbox_xyxy"])
    container(picture(8, size=(40, 60)), torch.tensor([[[2.0, 2, 14, 14]]]).expand(8, -1, -1))
    first, last = op._params["src"][:, 0], op._params["src"][:, 2] + 1
    assert ((first[:, 0] < 52) & (last[:, 0] > 52)).all()  # the centre of the box is at 60 - 8 now


def test_iou_crop_takes_ragged_boxes_and_none() -> None:
    op = K.RandomIoUCrop(sampler_options=(0.05,), trials=60, size=(16, 24))
    image = picture(2, size=(40, 60))
    boxes = [torch.tensor([[5.0, 5, 35, 30]]), torch.tensor([[30.0, 10, 50, 40], [1.0, 1, 9, 9]])]
    container = K.AugmentationSequential(op, data_keys=["image", "bbox_xyxy"], min_visibility=0.0)
    output, moved = container(image, boxes)
    assert output.shape[-2:] == (16, 24) and [len(b) for b in moved] == [1, 2]
    assert all(v.any() for v in container.valid["bbox_xyxy"])
    alone = op(image)
    area = lambda src: (src[:, 2] - src[:, 0] + 1).prod(1)  # noqa: E731
    assert alone.shape[-2:] == (16, 24) and (area(op._params["src"]) < 40 * 60).all()


def test_iou_crop_windows_keep_their_limits() -> None:
    params = K.RandomIoUCrop(0.4, 0.6, 0.8, 1.25).forward_parameters((100, 3, 50, 70))
    x1, y1, x2, y2 = params["candidates"].unbind(-1)
    w, h = x2 - x1, y2 - y1
    drawn = w > 0
    assert 0.1 < drawn.float().mean() < 1
    w, h = w[drawn], h[drawn]
    assert w.min() >= 28 and w.max() <= 42 and h.min() >= 20 and h.max() <= 30
    assert (w / h).min() >= 0.8 and (w / h).max() <= 1.25 and x2.max() <= 70 and y2.max() <= 50
    first = params["overlaps"][:, 0]
    assert set(first.tolist()) == set(torch.tensor([0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]).tolist())
