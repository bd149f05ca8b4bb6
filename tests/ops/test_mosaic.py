"""Mosaics and jigsaws against arithmetic."""

import numpy as np
import pytest
import scipy.stats
import torch

import augment as K
from tests.support.helpers import picture
from tests.support.mixing import SIZE, ids


@pytest.mark.parametrize("grid", [(2, 2), (2, 3), (4, 1), (2, 4)])
def test_jigsaw_moves_pieces(grid: tuple[int, int]) -> None:
    image, boxes, points = ids(3)
    op = K.RandomJigsaw(grid, p=1.0)
    output, moved, spots = op(image, boxes, points, data_keys=["image", "bbox_xyxy", "keypoints"])
    h, w = SIZE[0] // grid[0], SIZE[1] // grid[1]
    expected = np.zeros(image.shape)
    for i, order in enumerate(op._params["permutation"].tolist()):
        for k, piece in enumerate(order):
            (column, row), (r, c) = divmod(k, grid[0]), divmod(piece, grid[1])
            part = image[i, 0, r * h : (r + 1) * h, c * w : (c + 1) * w]
            expected[i, 0, row * h : (row + 1) * h, column * w : (column + 1) * w] = part
    assert np.array_equal(output, expected)
    assert spots.shape == points.shape
    index = spots.long()
    for i, n in np.ndindex(3, 4):
        assert output[i, 0, index[i, n, 1], index[i, n, 0]] == 1 + 4 * i + n
        whole = torch.zeros(SIZE)  # the parts of a box cover its pixels, and no others
        for x1, y1, x2, y2 in moved[i, n::4].int():
            whole[y1:y2, x1:x2] += 1
        assert torch.equal(whole, (output[i, 0] == 1 + 4 * i + n).float())


def test_jigsaw_never_keeps_the_order() -> None:
    op = K.RandomJigsaw((1, 3), p=1.0)
    orders = op.forward_parameters((6000, 1, 6, 6))["permutation"]
    counts = np.unique(orders.numpy() @ [9, 3, 1], return_counts=True)[1]
    assert len(counts) == 5 and scipy.stats.chisquare(counts).pvalue > 1e-4
    for grid in ((2, 1), (2, 4)):
        image = picture(50, 1, SIZE)
        assert (K.RandomJigsaw(grid, p=1.0)(image) != image).flatten(1).any(1).all()


def test_classes_of_boxes_go_with_them() -> None:
    image, boxes, _ = ids()
    op = K.RandomMosaic(p=0.8, data_keys=["image", "bbox_xyxy", "class"])
    labels = torch.arange(20).view(5, 4)
    output, moved, classes = op(image, boxes, labels)
    for i in range(5):
        for box, label in zip(moved[i][op.valid["bbox_xyxy"][i]], classes[i][op.valid["bbox_xyxy"][i]], strict=True):
            x1, y1, x2, y2 = box.int()
            assert (output[i, 0, y1:y2, x1:x2] == label + 1).all()


def test_mosaic_boxes_stay_inside() -> None:
    """Kornia issue 4652: boxes ignored the output's size, and rows that were not chosen gained some."""
    image, boxes, _ = ids()
    for size in ((10, 30), (40, 12), None):
        op = K.RandomMosaic(size, p=0.5, data_keys=["image", "bbox_xyxy"], min_bbox_size=4.0)
        output, moved = op(image, boxes)
        h, w = output.shape[-2:]
        assert (moved >= 0).all() and (moved[..., 2] <= w).all() and (moved[..., 3] <= h).all()
        valid, area = op.valid["bbox_xyxy"], (moved[..., 2:] - moved[..., :2]).prod(-1)
        assert (area[valid] > 0).all() and (area[valid & (op._params["batch_prob"] == 1).view(-1, 1)] >= 4).all()


def test_padding_is_never_mixed_in() -> None:
    image, boxes, _ = ids()
    valid = torch.tensor([True, True, False, True]).repeat(5, 1)
    container = K.AugmentationSequential(
        K.RandomMosaic(p=0.6), K.RandomHorizontalFlip(p=1.0), data_keys=["image", "bbox_xyxy"]
    )
    _, moved = container(image, boxes, valid={"bbox_xyxy": valid})
    known = container.valid["bbox_xyxy"].unflatten(1, (4, 4))
    assert not known[:, :, 2].any() and known[:, :, :2].any()
    assert not moved[:, 4:][~container.valid["bbox_xyxy"][:, 4:]].any()


def test_boxes_of_any_form_are_cut_alike() -> None:
    """Of x, y, width and height, the edges are cut, and not each number by itself."""
    image, boxes, _ = ids()
    sides = torch.cat([boxes[..., :2], boxes[..., 2:] - boxes[..., :2]], -1)
    clip = {"clip": True}
    container = K.AugmentationSequential(
        K.RandomMosaic((9, 11), p=1.0),
        data_keys=["image", "bbox_xyxy", "bbox_xywh"],
        extra_args={"bbox_xyxy": clip, "bbox_xywh": clip},
    )
    _, edges, cut = container(image, boxes, sides)
    assert (edges[..., 2] <= 11).all() and (edges[..., 3] <= 9).all()
    torch.testing.assert_close(torch.cat([cut[..., :2], cut[..., :2] + cut[..., 2:]], -1), edges)
