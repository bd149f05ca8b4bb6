"""Mixes of lists, of which every row has its own number: boxes, keypoints, their classes, and masks."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import augment as K
from tests.support.helpers import call_seeded, graphs, picture
from tests.support.mixing import SIZE, ids

KEYS = ["image", "bbox_xyxy", "keypoints", "class"]
COUNTS = [4, 1, 0, 3, 2]
FOLLOWING: dict[str, Callable[..., K.Mix]] = {
    "cutmix": lambda p=0.8, **o: K.RandomCutMixV2(p=p, **o),
    "cutmix twice": lambda p=0.8, **o: K.RandomCutMixV2(2, p=p, **o),
    "patch": lambda p=0.8, **o: K.PatchMix(patch_size=9, p=p, **o),
    "mosaic": lambda p=0.8, **o: K.RandomMosaic(p=p, **o),
    "jigsaw": lambda p=0.8, **o: K.RandomJigsaw((2, 2), p=p, **o),
    "mixup": lambda p=0.8, **o: K.RandomMixUpV2(p=p, **o),
}
each = pytest.mark.parametrize("name", FOLLOWING)


def ragged() -> tuple[Tensor, list[Tensor], list[Tensor], list[Tensor]]:
    """Give images of which the pixels say whose they are, and of some objects the box, the point and the number."""
    image, boxes, points = ids(len(COUNTS))
    numbers = 1 + torch.arange(4 * len(COUNTS)).view(-1, 4)
    return image, *([value[i, :n] for i, n in enumerate(COUNTS)] for value in (boxes, points, numbers))


@each
def test_classes_stand_beside_their_boxes(name: str) -> None:
    """In every box that is seen there are pixels of its object, which bear its class; blended ones say less."""
    image, boxes, points, numbers = ragged()
    for seed in range(10):
        op = FOLLOWING[name](data_keys=KEYS)
        output, moved, _, classes = call_seeded(op, image, boxes, points, numbers, seed=seed)
        assert len({len(row) for row in classes}) == 1 and [row.dtype for row in classes] == [torch.int64] * 5
        for i, seen in enumerate(op.valid["bbox_xyxy"]):
            assert len(classes[i]) == len(moved[i]) == len(seen)
            for box, number in zip(moved[i][seen], classes[i][seen], strict=True):
                x1, y1, x2, y2 = box.int()
                assert name == "mixup" or (output[i, 0, y1:y2, x1:x2] == number).any()


@each
def test_lists_are_padded(name: str) -> None:
    """A list is mixed as what ``pad_labels`` makes of it, by itself and in a container."""
    image, *lists = ragged()
    padded = [K.pad_labels(rows) for rows in lists]
    valid = {key: mask for key, (_, mask) in zip(KEYS[1:3], padded[:2], strict=True)}
    op = FOLLOWING[name](data_keys=KEYS)
    container = K.AugmentationSequential(FOLLOWING[name](), K.RandomVerticalFlip(p=0.5), data_keys=KEYS)
    for call in (op, container):
        output, found = call_seeded(call, image, *lists), call.valid
        if call is op:
            again = call_seeded(op, image, *(value for value, _ in padded))[3]
            assert torch.equal(torch.stack(output[3]), again)
            continue
        expected = call_seeded(container, image, *(value for value, _ in padded), valid=valid)
        assert torch.equal(output[0], expected[0])
        for key, new, old in zip(KEYS[1:], output[1:], expected[1:], strict=True):
            assert torch.equal(torch.stack(new), old)
            assert key == "class" or torch.equal(found[key], container.valid[key])
        replayed = container(image, *lists, params=container._params)
        assert all(torch.equal(a, b) for a, b in zip(replayed[3], output[3], strict=True))
    beside = call_seeded(container, image, padded[0][0], padded[1][0], lists[2], valid=valid)
    assert torch.equal(torch.stack(beside[3]), expected[3])  # classes as a list beside padded boxes


@each
def test_lists_of_idle_mixes(name: str) -> None:
    image, *lists = ragged()
    output = FOLLOWING[name](p=0.0, data_keys=KEYS)(image, *lists)
    for new, old in zip(output[1:], lists, strict=True):
        assert torch.equal(torch.stack(new), K.pad_labels(old)[0])


@pytest.mark.parametrize("name", ["cutmix", "mosaic", "jigsaw"])
def test_dynamo_lists(name: str, optimizer: str) -> None:
    image, *lists = ragged()
    masks = list(torch.randint(5, (len(image), 1, *SIZE)))
    keys = [*KEYS, "mask"]
    container = K.AugmentationSequential(FOLLOWING[name](), K.RandomHorizontalFlip(), data_keys=keys)
    compiled = torch.compile(container, fullgraph=True, backend=optimizer)
    for seed in range(3):
        output = call_seeded(compiled, image, *lists, masks, seed=seed)
        assert_close(output, call_seeded(container, image, *lists, masks, seed=seed))
        assert graphs() == 1


def test_choices_of_lists() -> None:
    image, *lists = ragged()
    container = K.OneOf(K.RandomCutMixV2(cut_size=(0.0, 0.5)), K.PatchMix(patch_size=9), data_keys=KEYS)
    output = container(image, *lists)
    assert [len(row) for row in output[3]] == [len(row) for row in output[1]] == [4 * 4] * 5


# ---------------------------------------------------------------------------------------------------------------- masks


@each
@pytest.mark.parametrize("shape", [SIZE, (1, *SIZE), (3, *SIZE), (2, 1, *SIZE)])
def test_masks_in_lists_are_those_of_a_tensor(name: str, shape: tuple[int, ...]) -> None:
    image, masks = picture(4, 3, SIZE), list(torch.rand(4, *shape))
    op = FOLLOWING[name](data_keys=["image", "mask"])
    output, moved = call_seeded(op, image, masks)
    expected = call_seeded(op, image, torch.stack(masks).view(4, -1, *SIZE))
    assert torch.equal(output, expected[0]) and [mask.shape for mask in moved] == [shape] * 4
    assert torch.equal(torch.stack(moved).view(expected[1].shape), expected[1])
    inside = call_seeded(K.AugmentationSequential(op, data_keys=["image", "mask"]), image, masks)
    assert torch.equal(torch.stack(inside[1]), torch.stack(moved))


def test_soft_masks_of_lists() -> None:
    image, masks = picture(3, 1, SIZE), list(torch.randint(4, (3, *SIZE)))
    soft = K.RandomMixUpV2(mask_classes=4, data_keys=["image", "mask"])(image, masks)[1]
    assert [mask.shape for mask in soft] == [(4, *SIZE)] * 3
    assert_close(torch.stack(soft).sum(1), torch.ones(3, *SIZE))


def test_a_jigsaw_takes_any_number_of_masks() -> None:
    """A row of it holds nothing of another."""
    masks = [torch.rand(n, *SIZE) for n in COUNTS]
    op = K.RandomJigsaw((2, 2), p=0.8, data_keys=["image", "mask"])
    image = picture(len(COUNTS), 3, SIZE)
    moved = call_seeded(op, image, masks)[1]
    assert [len(mask) for mask in moved] == COUNTS
    padded = call_seeded(op, image, K.pad_labels(masks)[0])[1]
    for new, row, n in zip(moved, padded, COUNTS, strict=True):
        assert torch.equal(new, row[:n])


def test_objects_of_lists_have_classes() -> None:
    """Behind a row's own objects stand those of the other."""
    _, boxes, _, numbers = ragged()
    masks = [torch.zeros(n, *SIZE, dtype=torch.uint8) for n in COUNTS]
    for mask, rows in zip(masks, boxes, strict=True):
        for objects, (x1, y1, x2, y2) in zip(mask, rows.int(), strict=True):
            objects[y1:y2, x1:x2] = 1
    op = K.RandomCopyPaste(1.0, 1.0, data_keys=["image", "mask", "bbox_xyxy", "class"])
    _, _, _, classes = op(picture(5, 3, SIZE), masks, boxes, numbers)
    padded = K.pad_labels(numbers)[0]
    for i, (pair, row) in enumerate(zip(op._params["paste_pairs"].tolist(), classes, strict=True)):
        assert torch.equal(row, torch.cat([padded[i], padded[pair]]))


# --------------------------------------------------------------------------------------------------------------- videos


@pytest.mark.parametrize("same_on_frame", [True, False])
def test_lists_of_videos(same_on_frame: bool) -> None:
    clips = torch.rand(3, 2, 3, *SIZE)
    boxes = [torch.rand(2, n, 4) + torch.tensor([0.0, 0.0, 9.0, 9.0]) for n in (2, 1, 3)]
    video = K.VideoSequential(
        K.RandomCutMixV2(), data_keys=["image", "bbox_xyxy", "class"], same_on_frame=same_on_frame
    )
    by_clip = [torch.arange(n) + 10 * i for i, n in enumerate((2, 1, 3))]
    by_frame = [row.expand(2, -1) for row in by_clip]
    one, other = (call_seeded(video, clips, boxes, classes)[2] for classes in (by_clip, by_frame))
    for i in range(3):
        assert (
            other[i].shape == (2, 6)
            and torch.equal(one[i].expand(2, -1), other[i]) == same_on_frame
            or (torch.equal(one[i], other[i]))
        )
        assert torch.equal(other[i][0, : len(by_clip[i])], by_clip[i])
    with pytest.raises(ValueError, match=r"class: expected entries \(n,\), or \(2, n\) for frames; got shape \(3, 1\)"):
        video(clips, boxes, [torch.zeros(3, 1)] * 3)


# ------------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda c: c[:4], ValueError, "class: expected 5 entries, as the image has rows; got 4"),
        (lambda c: ["a"] * 5, TypeError, "class: expected a tensor, got list of str"),
        (lambda c: [c[0][:3], *c[1:]], ValueError, r"class\[0\]: expected \(4,\) of torch.int64, .* got \(3,\)"),
        (lambda c: [*c[:4], c[0]], ValueError, r"class\[4\]: expected \(2,\) of torch.int64, .* got \(4,\)"),
        (lambda c: [c[0].view(2, 2), *c[1:]], ValueError, r"class\[0\]: expected \(4,\) .* got \(2, 2\)"),
        (lambda c: [c[0], c[1].float(), *c[2:]], ValueError, r"class\[1\]: .* got \(1,\) torch.float32"),
    ],
)
@each
def test_bad_lists_of_classes(name: str, change: Callable[[list[Tensor]], Any], error: type, message: str) -> None:
    image, boxes, points, numbers = ragged()
    op = FOLLOWING[name](data_keys=KEYS)
    with pytest.raises(error, match=f"{type(op).__name__}: {message}"):
        op(image, boxes, points, change(numbers))


@each
def test_lists_without_a_meaning_are_refused(name: str) -> None:
    image, boxes, points, numbers = ragged()
    op = FOLLOWING[name]()
    text = (
        f"{type(op).__name__}: class: expected a tensor; a list has an entry for each row with the classes of its boxes"
    )
    with pytest.raises(ValueError, match=text):
        op(image, numbers, data_keys=["image", "class"])
    if name in ("mixup", "mosaic"):
        with pytest.raises(ValueError, match=text):
            FOLLOWING[name](num_classes=30)(image, boxes, points, numbers, data_keys=KEYS)
    if name != "jigsaw":
        text = (
            rf"{type(op).__name__}: mask: expected as many masks for every row.* got \[4, 1, 0, 3, 2\].*RandomCopyPaste"
        )
        with pytest.raises(ValueError, match=text):
            op(image, [torch.zeros(n, *SIZE) for n in COUNTS], data_keys=["image", "mask"])
    with pytest.raises(ValueError, match=r"mask\[1\]: expected \(n, H, W\) of torch.float32.* got .*torch.int64"):
        op(image[:2], [torch.zeros(1, *SIZE), torch.zeros(1, *SIZE).long()], data_keys=["image", "mask"])


# -------------------------------------------------------------------------------------------------------- mix after mix


PAIRS = [K.RandomMixUpV2, K.RandomCutMixV2, lambda **o: K.PatchMix(patch_size=5, **o)]


@pytest.mark.parametrize("first", PAIRS)
@pytest.mark.parametrize("second", [*PAIRS, K.RandomMosaic])
def test_classes_that_are_mixed_twice(first: Callable[..., K.Mix], second: Callable[..., K.Mix]) -> None:
    """Rows of numbers cannot be mixed again, shares can; of these none is lost."""
    image, labels, keys = picture(6, 3, SIZE), torch.arange(6) % 4, ["image", "class"]
    text = (
        "class: expected .*; rows that a mix gave cannot be mixed again: give num_classes, how many classes there are"
    )
    for options in ({}, {"num_classes": 10}):
        with pytest.raises(ValueError, match=text):
            K.AugmentationSequential(first(), second(**options), data_keys=keys)(image, labels)
    chain = K.AugmentationSequential(first(num_classes=4), second(num_classes=4), data_keys=keys)
    assert_close(chain(image, labels)[1].sum(1), torch.ones(6))
    if second is not K.RandomMosaic:
        with pytest.raises(ValueError, match="class: .*num_classes"):
            K.OneOf(K.RandomMixUpV2(), K.RandomCutMixV2(), data_keys=keys)(image, labels)


@pytest.mark.parametrize("first", PAIRS)
@pytest.mark.parametrize("options", [{}, {"num_classes": 4}])
def test_a_jigsaw_leaves_the_classes_of_images(first: Callable[..., K.Mix], options: dict[str, int]) -> None:
    image, labels, keys = picture(6, 3, SIZE), torch.arange(6) % 4, ["image", "class"]
    alone = call_seeded(K.AugmentationSequential(first(**options), data_keys=keys), image, labels)[1]
    chain = K.AugmentationSequential(first(**options), K.RandomJigsaw(), data_keys=keys)
    assert torch.equal(call_seeded(chain, image, labels)[1], alone)
