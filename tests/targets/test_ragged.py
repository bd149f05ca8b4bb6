"""Labels of which every image has its own number: padded with a mask, or in lists."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import augment as K
from tests.support.choices import values
from tests.support.helpers import GEOMETRIC, Case, call_seeded, graphs, picture

COUNTS = (0, 1, 4)


def ragged() -> tuple[Tensor, list[Tensor], list[Tensor]]:
    image, _, boxes, points = values(3)
    boxes, points = torch.cat([boxes, boxes + 1], 1), torch.cat([points, points - 1], 1)
    lists = ([v[i, :n] for i, n in enumerate(COUNTS)] for v in (boxes, points))
    return image, *lists


def test_labels_are_padded_and_back() -> None:
    _, boxes, points = ragged()
    for rows, length in ((boxes, None), (boxes, 7), (points, 4), ([torch.ones(n, 5, 6) for n in COUNTS], 5)):
        padded, valid = K.pad_labels(rows, length, value=-1)
        n = 4 if length is None else length
        assert padded.shape == (3, n, *rows[0].shape[1:]) and padded.dtype == rows[0].dtype
        assert valid.tolist() == [[i < count for i in range(n)] for count in COUNTS]
        assert (padded[~valid] == -1).all()
        assert all(torch.equal(a, b) for a, b in zip(K.unpad_labels(padded, valid), rows, strict=True))
    for args, error, message in (
        ((boxes, 3), ValueError, r"rows\[2\]: expected at most 3 labels, got 4"),
        (([],), ValueError, "rows: expected at least one"),
        ((torch.zeros(2, 3, 4),), TypeError, "rows: expected a list of tensors"),
        (([boxes[0], points[1]],), ValueError, r"rows\[1\]: expected labels of shape \(4,\).*got \(2,\)"),
    ):
        with pytest.raises(error, match=message):
            K.pad_labels(*args)
    with pytest.raises(ValueError, match=r"valid: expected a bool mask of shape \(3, 4\)"):
        K.unpad_labels(K.pad_labels(boxes)[0], torch.ones(3, 5, dtype=torch.bool))


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("clip", [False, True])
def test_padding_stays_as_it_is(named: bool, clip: bool) -> None:
    image, boxes, points = ragged()
    keys = ["image", "bbox_xyxy", "keypoints"]
    args = {key: {"clip": clip} for key in keys[1:]}
    ops = [K.RandomIoUCrop(), K.OneOf(K.RandomRotation(30.0, p=1.0), K.RandomVerticalFlip(p=1.0))]
    container = K.AugmentationSequential(*ops, data_keys=None if named else keys, extra_args=args, min_visibility=0.2)
    names = ["image", "bbox_xyxy_big", "keypoints"] if named else keys

    def call(values: Sequence[Any], **options: Any) -> list[Any]:
        args = [dict(zip(names, values, strict=True))] if named else values
        output = call_seeded(container, *args, **options)
        return list(output.values()) if named else output

    padded = [K.pad_labels(rows, 6, value=3.25) for rows in (boxes, points)]
    values_, masks = [image, *(p for p, _ in padded)], {n: m for n, (_, m) in zip(names[1:], padded, strict=True)}
    outputs = call(values_, valid=masks)
    kept = container.valid
    assert list(kept) == names[1:]
    expected = call([image, boxes, points])
    assert torch.equal(outputs[0], expected[0])  # padding moved no crop
    for name, new, rows, seen in zip(names[1:], outputs[1:], expected[1:], container.valid.values(), strict=True):
        mask = masks[name]
        assert (new[~mask] == 3.25).all() and not (kept[name] & ~mask).any()
        for a, b in zip(K.unpad_labels(new, mask), rows, strict=True):
            assert_close(a, b, atol=1e-5, rtol=0)
        assert [k[m].tolist() for k, m in zip(kept[name], mask, strict=True)] == [s.tolist() for s in seen]
    back = container.inverse(*([dict(zip(names, outputs, strict=True))] if named else outputs), valid=masks)
    for name, new in zip(names[1:], list(back.values())[1:] if named else back[1:], strict=True):
        assert (new[~masks[name]] == 3.25).all()


@pytest.mark.parametrize("case", GEOMETRIC, ids=repr)
def test_padding_through_every_geometric_op(case: Case) -> None:
    """roboflow/rf-detr#862: padded boxes with flags come out as those in lists do."""
    image, boxes, _ = ragged()
    container = K.AugmentationSequential(
        case(p=0.5, size=(9, 11)), data_keys=["image", "bbox_xyxy"], min_visibility=0.3
    )
    padded, real = K.pad_labels(boxes, 6)
    _, moved = call_seeded(container, image, padded, valid={"bbox_xyxy": real})
    seen = container.valid["bbox_xyxy"]
    _, rows = call_seeded(container, image, boxes)
    assert moved.shape == padded.shape and not moved[~real].any() and not seen[~real].any()
    for a, b in zip(K.unpad_labels(moved, real), rows, strict=True):
        assert_close(a, b, atol=1e-5, rtol=0)
    assert [s[r].tolist() for s, r in zip(seen, real, strict=True)] == [
        v.tolist() for v in container.valid["bbox_xyxy"]
    ]


def test_masks_of_padding_compile(optimizer: str) -> None:
    image, boxes, points = ragged()
    container = K.AugmentationSequential(
        K.RandomIoUCrop(trials=10), K.OneOf(K.RandomHorizontalFlip(), K.RandomRotation(30.0)), min_visibility=0.2
    )
    (box, box_mask), (point, point_mask) = (K.pad_labels(rows, 5) for rows in (boxes, points))
    keys = ["image", "bbox_xyxy", "keypoints"]
    valid = {"bbox_xyxy": box_mask, "keypoints": point_mask}
    compiled = torch.compile(container, fullgraph=True, backend=optimizer)
    for seed in range(4):
        outputs = call_seeded(compiled, image, box, point, data_keys=keys, valid=valid, seed=seed)
        found = container.valid
        expected = call_seeded(container, image, box, point, data_keys=keys, valid=valid, seed=seed)
        assert_close(outputs, expected, atol=1e-4, rtol=1e-4)
        assert all(torch.equal(found[key], container.valid[key]) for key in valid) and graphs() == 1


def test_bad_masks_of_padding() -> None:
    image, boxes, _ = ragged()
    container = K.AugmentationSequential(K.RandomHorizontalFlip(), data_keys=["image", "bbox_xyxy"])
    padded, mask = K.pad_labels(boxes)
    for value, valid, error, message in (
        (padded, {"boxes": mask}, ValueError, r"valid: expected names out of \['bbox_xyxy'\], got \['boxes'\]"),
        (padded, {"bbox_xyxy": mask[:, 1:]}, ValueError, r"valid\['bbox_xyxy'\]: expected shape \(3, 4\), .*\(3, 3\)"),
        (padded, {"bbox_xyxy": mask.float()}, TypeError, r"valid\['bbox_xyxy'\]: expected a bool tensor, got"),
        (boxes, {"bbox_xyxy": mask}, TypeError, r"valid\['bbox_xyxy'\]: expected only beside a padded tensor"),
    ):
        with pytest.raises(error, match=message):
            container(image, value, valid=valid)
    single = K.AugmentationSequential(K.RandomHorizontalFlip(p=1.0), data_keys=["image", "bbox_xyxy"], keepdim=True)
    _, moved = single(image[2], padded[1], valid={"bbox_xyxy": mask[1]})
    assert torch.equal(moved[1:], padded[1, 1:]) and not torch.equal(moved[:1], padded[1, :1])
    assert torch.equal(single.valid["bbox_xyxy"], mask[1])


def test_instance_masks_of_different_number() -> None:
    """Each key may have its own number of masks for an image; kornia #4477, #4716."""
    image = picture(3, size=(12, 16))
    left = [torch.rand(n, 12, 16).round().long() for n in COUNTS]
    right = [torch.rand(n, 1, 12, 16) for n in reversed(COUNTS)]
    container = K.SomeOf(
        K.RandomHorizontalFlip(), K.RandomAffine(30.0), K.RandomErasing(), n=2, data_keys=["image", "mask", "mask"]
    )
    outputs = container(image, left, right)
    for given_, moved in ((left, outputs[1]), (right, outputs[2])):
        padded, valid = K.pad_labels([m.flatten(0, -3) for m in given_])
        batch = container(image, padded, data_keys=["image", "mask"], params=container._params)[1]
        for new, old, row in zip(moved, given_, K.unpad_labels(batch, valid), strict=True):
            assert new.shape == old.shape and torch.equal(new.flatten(0, -3), row)
    assert [[m.shape for m in masks] for masks in container.inverse(*outputs)[1:]] == [
        [m.shape for m in masks] for masks in (left, right)
    ]
