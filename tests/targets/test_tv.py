"""torchvision's types go in and come out; its own functionals say where things are."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.testing import assert_close

import augment as K
from augment.targets import boxes as bx
from augment.testing import Case, mixes
from tests.support.helpers import CASES, call_seeded, graphs, picture

pytest.importorskip("torchvision")

from torchvision import tv_tensors as tv
from torchvision.transforms.v2 import functional as F

H, W = 40, 56
UPRIGHT, ROTATED = ["XYXY", "XYWH", "CXCYWH"], ["XYWHR", "CXCYWHR", "XYXYXYXY"]
FORMATS = UPRIGHT + ROTATED


def boxes(form: str, dtype: torch.dtype = torch.float32) -> Any:
    """Give boxes that stay on the image in what is tested."""
    data = torch.tensor([[20.0, 14, 10, 6, 0], [30, 20, 8, 12, 25], [24, 22, 9, 5, -70], [28, 18, 7, 7, 130]])
    if form in UPRIGHT:
        upright = tv.BoundingBoxes(data[:, :4].to(dtype), format="XYWH", canvas_size=(H, W), clamping_mode=None)
        return F.convert_bounding_box_format(upright, new_format=tv.BoundingBoxFormat[form])
    turned = tv.BoundingBoxes(data, format="CXCYWHR", canvas_size=(H, W), clamping_mode=None)
    return tv.wrap(
        F.convert_bounding_box_format(turned, new_format=tv.BoundingBoxFormat[form]),
        like=turned,
        format=tv.BoundingBoxFormat[form],
    )


def sample(form: str = "XYXY") -> dict[str, Any]:
    """Give one image with all that may belong to it, as torchvision's data sets do."""
    points = tv.KeyPoints(torch.tensor([[[20.0, 14], [30, 20]], [[25, 25], [28, 17.5]]]), canvas_size=(H, W))
    mask = tv.Mask(torch.randint(5, (2, H, W), generator=torch.Generator().manual_seed(1)))
    image = tv.Image(picture(1, 3, (H, W), torch.uint8)[0])
    return {"image": image, "boxes": boxes(form), "mask": mask, "points": points, "labels": torch.arange(4)}


def assert_boxes(found: Any, expected: Any, atol: float = 1e-3) -> None:
    """Require boxes of one format, canvas and place; angles may differ by whole turns."""
    assert type(found) is tv.BoundingBoxes
    assert (found.format, tuple(found.canvas_size)) == (expected.format, tuple(expected.canvas_size))
    assert found.clamping_mode == expected.clamping_mode and found.dtype == expected.dtype
    one, other = found.as_subclass(torch.Tensor), expected.as_subclass(torch.Tensor)
    if found.format.name.endswith("R"):
        turn = (one[:, 4] - other[:, 4] + 180) % 360 - 180
        assert_close(turn, torch.zeros_like(turn), atol=atol, rtol=0)
        one, other = one[:, :4], other[:, :4]
    assert_close(one, other, atol=atol, rtol=0)


# name: our op, torchvision's functional, whether images are equal bit for bit
DETERMINISTIC: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], bool]] = {
    "hflip": (lambda: K.RandomHorizontalFlip(p=1.0), F.horizontal_flip, True),
    "vflip": (lambda: K.RandomVerticalFlip(p=1.0), F.vertical_flip, True),
    "crop": (lambda: K.CenterCrop((30, 44)), lambda v: F.center_crop(v, [30, 44]), True),
    "turn": (
        lambda: K.RandomRotation((90.0, 90.0), p=1.0),
        lambda v: F.rotate(v, 90.0),
        False,
    ),
    "shift": (
        lambda: K.RandomTranslate((3 / W, 3 / W), (-2 / H, -2 / H), p=1.0),
        lambda v: F.affine(v, 0.0, [3, -2], 1.0, [0.0, 0.0]),
        True,
    ),
}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", DETERMINISTIC)
def test_labels_are_where_torchvision_puts_them(name: str, form: str) -> None:
    make, reference, exact = DETERMINISTIC[name]
    given = sample(form)
    output = K.AugmentationSequential(make())(given)
    expected = {key: reference(value) if key != "labels" else value for key, value in given.items()}
    assert [type(v) for v in output.values()] == [type(v) for v in given.values()]
    assert_boxes(output["boxes"], expected["boxes"])
    if exact:
        assert torch.equal(output["image"], expected["image"]) and torch.equal(output["mask"], expected["mask"])
    if name != "turn":  # about the middle of the pixels' edges there, of their centres here
        assert_close(output["points"].data, expected["points"].data)
    assert output["points"].canvas_size == expected["boxes"].canvas_size == tuple(output["image"].shape[-2:])
    assert output["labels"] is given["labels"] and isinstance(given["boxes"], tv.BoundingBoxes)


@pytest.mark.parametrize("form", ROTATED)
def test_rotated_boxes_follow_a_similarity(form: str) -> None:
    """A rotation and a scale keep rectangles: the corners say where they have to be."""
    container = K.AugmentationSequential(K.RandomAffine((-50.0, 50.0), (0.1, 0.1), (0.7, 1.2), p=1.0))
    given = boxes(form)
    output = container(tv.Image(torch.rand(3, H, W)), given)[1]
    plain = [F.convert_bounding_box_format(b, new_format=tv.BoundingBoxFormat.XYXYXYXY) for b in (given, output)]
    before, after = (b.as_subclass(torch.Tensor).reshape(-1, 4, 2) for b in plain)
    matrix = container.transform_matrix[0]
    edges = before @ matrix[:2, :2].mT + matrix[:2, 2] + (matrix[:2, :2] @ torch.full((2,), -0.5)) + 0.5
    assert_close(after, edges, atol=2e-3, rtol=0)


def test_rectangles_and_corners() -> None:
    angle = torch.arange(-170.0, 181, 10)
    rectangle = torch.stack([angle * 0 + 5, angle * 0 - 3, angle * 0 + 4, angle * 0 + 2, angle], -1)
    for centred in (True, False):
        corners = bx.corners(rectangle, centred)
        found = bx.rotated(corners, centred)
        assert_close(found[:, :4], rectangle[:, :4], atol=1e-5, rtol=0)
        assert_close(((found[:, 4] - angle) + 180) % 360 - 180, torch.zeros_like(angle), atol=1e-4, rtol=0)
    assert_close(corners[:, 0], rectangle[:, :2])
    parallelogram = torch.tensor([[0.0, 0], [4, 0], [6, 3], [2, 3]])
    assert_close(bx.rotated(parallelogram, False), torch.tensor([0.0, 0, 6, 3, 0]))
    assert_close(bx.rotated(parallelogram, True), torch.tensor([3.0, 1.5, 6, 3, 0]))


def test_types_decide_what_values_are() -> None:
    given = sample()
    container = K.AugmentationSequential(K.RandomAffine(20.0, p=1.0), K.RandomCrop((20, 30)), data_keys=["image"])
    image, target = call_seeded(container, given["image"], {k: v for k, v in given.items() if k != "image"})
    assert (type(image), image.shape, image.dtype) == (tv.Image, (3, 20, 30), torch.uint8)
    assert [type(v) for v in target.values()] == [tv.BoundingBoxes, tv.Mask, tv.KeyPoints, torch.Tensor]
    assert target["mask"].shape == (2, 20, 30) and target["points"].shape == (2, 2, 2)
    plain = [v.as_subclass(torch.Tensor) for k, v in given.items() if k != "labels"]
    keys = ["image", "bbox_xyxy", "mask", "keypoints"]
    batch = [plain[0][None], plain[1][None], plain[2][None], plain[3].reshape(1, -1, 2)]
    expected = call_seeded(container, *batch, data_keys=keys)
    for found, value in zip([image, *target.values()], expected, strict=False):
        assert torch.equal(found.as_subclass(torch.Tensor).reshape(value.shape), value)
    tuples = call_seeded(container, (given["image"], [given["mask"], "text"]))
    assert type(tuples) is tuple and torch.equal(tuples[0], image) and torch.equal(tuples[1][0], target["mask"])
    assert tuples[1][1] == "text"


def test_batches_of_images_take_lists_and_batches_of_labels() -> None:
    images = tv.Image(torch.rand(3, 3, H, W))
    several = [boxes("CXCYWH"), boxes("CXCYWH")[:2], boxes("CXCYWH")[:0]]
    several = [tv.BoundingBoxes(b, format="CXCYWH", canvas_size=(H, W)) for b in several]
    container = K.AugmentationSequential(K.RandomHorizontalFlip(), K.Resize((20, 28)))
    output = container(
        {"image": images, "boxes": several, "points": tv.KeyPoints(torch.rand(3, 5, 2), canvas_size=(H, W))}
    )
    assert output["image"].shape == (3, 3, 20, 28) and output["points"].shape == (3, 5, 2)
    assert [b.shape for b in output["boxes"]] == [b.shape for b in several]
    assert all(type(b) is tv.BoundingBoxes and b.canvas_size == (20, 28) for b in output["boxes"])
    stacked = torch.stack([boxes("XYWH").as_subclass(torch.Tensor)] * 3).as_subclass(tv.BoundingBoxes)
    stacked.format, stacked.canvas_size, stacked.clamping_mode = tv.BoundingBoxFormat.XYWH, (H, W), "soft"
    image, moved = container(images, stacked)
    assert moved.shape == (3, 4, 4) and moved.format == tv.BoundingBoxFormat.XYWH and moved.canvas_size == (20, 28)


def test_a_batch_of_one_keeps_the_ranks_of_its_labels() -> None:
    given = sample("XYWH")
    points = tv.KeyPoints(torch.rand(3, 2), canvas_size=(H, W))
    container = K.AugmentationSequential(K.RandomHorizontalFlip(p=1.0), data_keys=["image", "bbox", "keypoints"])
    image, moved, places = container(given["image"].data[None], given["boxes"], points)
    assert type(image) is torch.Tensor and image.shape == (1, 3, H, W)
    assert moved.shape == given["boxes"].shape and places.shape == points.shape
    assert_boxes(moved, F.horizontal_flip(given["boxes"]))


def test_frames_of_a_video_share_their_draw() -> None:
    frame, container = (
        picture(2, 3, (H, W)),
        K.AugmentationSequential(K.RandomAffine(30.0, p=1.0), K.RandomGaussianNoise(p=1.0)),
    )
    video = tv.Video(torch.stack([frame] * 4, 1))
    output, moved = container(video, tv.KeyPoints(torch.rand(2, 3, 2), canvas_size=(H, W)))
    assert type(output) is tv.Video and output.shape == video.shape and moved.shape == (2, 3, 2)
    assert all(torch.equal(output[:, 0], output[:, i]) for i in range(4))
    assert not torch.equal(output[0] - video[0], output[1] - video[1])
    single = K.RandomHorizontalFlip(p=1.0)(video[0].as_subclass(tv.Video))
    assert type(single) is tv.Video and torch.equal(single, F.horizontal_flip(video[0]))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_op_takes_an_image_and_labels(case: Case) -> None:
    op = case(p=1.0)
    image = tv.Image(picture(1, 3, (H, W))[0])
    output = call_seeded(op, image)
    assert type(output) is tv.Image and output.ndim == 3
    assert torch.equal(output.as_subclass(torch.Tensor), call_seeded(op, picture(1, 3, (H, W)))[0])
    given = sample()
    moved = call_seeded(op, (image, given["boxes"], given["mask"]))
    assert [type(v) for v in moved] == [tv.Image, tv.BoundingBoxes, tv.Mask]
    if case.op is not K.RandomIoUCrop:  # which looks at the boxes
        assert torch.equal(moved[0].as_subclass(torch.Tensor), output.as_subclass(torch.Tensor))
    assert moved[1].canvas_size == tuple(output.shape[-2:]) == tuple(moved[2].shape[-2:])
    assert torch.equal(op(image, params=op._params), moved[0])


@pytest.mark.parametrize("case", mixes(), ids=str)
def test_every_mix_takes_them(case: Case) -> None:
    mask = torch.zeros(3, 2 if case.op is K.RandomCopyPaste else 1, H, W, dtype=torch.uint8)
    given = [tv.Image(picture(3, 3, (H, W))), tv.Mask(mask)]
    options = {"p": 1.0, "grid": (4, 4)} if case.op is K.RandomJigsaw else {"p": 1.0}
    image, mask = case(**options)(*given)
    assert (type(image), type(mask), image.shape) == (tv.Image, tv.Mask, given[0].shape)


def test_labels_without_an_image() -> None:
    given = sample("CXCYWHR")
    op = K.RandomCrop((20, 30))
    moved = call_seeded(op, given["boxes"])
    assert type(moved) is tv.BoundingBoxes and moved.canvas_size == (20, 30)
    expected = call_seeded(K.AugmentationSequential(op), given["image"], given["boxes"])[1]
    assert_boxes(moved, expected)
    assert call_seeded(op, given["points"]).shape == (2, 2, 2)
    assert torch.equal(
        call_seeded(op, given["mask"]), call_seeded(K.AugmentationSequential(op), given["image"], given["mask"])[1]
    )


def test_the_way_back() -> None:
    given = sample("CXCYWH")
    container = K.AugmentationSequential(K.RandomHorizontalFlip(p=1.0), K.RandomAffine(20.0, p=1.0))
    output = container(given)
    back = container.inverse(output)
    assert [type(v) for v in back.values()] == [type(v) for v in given.values()]
    assert_close(back["points"].data, given["points"].data, atol=1e-3, rtol=0)
    again = container(given, params=container._params)
    assert all(torch.equal(a, b) for a, b in zip(again.values(), output.values(), strict=True))
    op = K.RandomRotation(20.0, p=1.0)
    moved = op(given["image"])
    assert torch.equal(op.inverse(moved).data, op.inverse(moved.data[None])[0])


def test_whole_numbers_stay_whole() -> None:
    for form in UPRIGHT:
        given = boxes(form, torch.int64)
        moved = K.RandomHorizontalFlip(p=1.0)(given)
        assert_boxes(moved, F.horizontal_flip(given), 0)


def test_a_canvas_that_does_not_fit_is_refused() -> None:
    image = tv.Image(torch.rand(3, 20, 30))
    with pytest.raises(
        ValueError, match=r"BoundingBoxes: expected the canvas_size \(20, 30\) of the image, got \(40, 56\)"
    ):
        K.AugmentationSequential(K.RandomHorizontalFlip())(image, boxes("XYXY"))
    points = tv.KeyPoints(torch.rand(3, 2), canvas_size=(20, 30))
    with pytest.raises(
        ValueError, match=r"KeyPoints: expected the canvas_size \(40, 56\) of all labels, got \(20, 30\)"
    ):
        K.AugmentationSequential(K.RandomHorizontalFlip())(boxes("XYXY"), points)


def test_compiled(optimizer: str) -> None:
    container = K.AugmentationSequential(K.RandomAffine(20.0), K.RandomHorizontalFlip(), K.RandomInvert())
    compiled = K.TVTensors(torch.compile(container, fullgraph=True, backend=optimizer))
    for seed in range(20):
        given = sample("CXCYWHR")
        found, expected = (call_seeded(pipeline, given, seed=seed) for pipeline in (compiled, container))
        assert [type(v) for v in found.values()] == [type(v) for v in given.values()]
        for key in given:
            assert_close(
                found[key].float().data, expected[key].float().data, atol=1.01 if key == "image" else 1e-3, rtol=0
            )
    assert graphs() == 1
    assert torch.equal(call_seeded(compiled, torch.ones(2, 3, 8, 8)), call_seeded(container, torch.ones(2, 3, 8, 8)))
    with pytest.raises(TypeError, match="pipeline: expected a container, or a mix, compiled or not; got RandomInvert"):
        K.TVTensors(torch.compile(K.RandomInvert()))


def test_torchvision_is_not_imported() -> None:
    code = (
        "import sys, torch, augment as K; K.RandomInvert()(torch.rand(1, 3, 4, 4)); print('torchvision' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_dispatchers_move_labels_with_images() -> None:
    flip = K.AugmentationSequential(K.RandomHorizontalFlip(p=1.0))
    image = tv.Image(torch.rand(3, 20, 30))
    boxes = tv.BoundingBoxes([[1.0, 2, 10, 12]], format="XYXY", canvas_size=(20, 30))
    (one,) = K.ManyToOneAugmentationDispatcher(flip)({"image": image, "boxes": boxes})
    assert isinstance(one["image"], tv.Image) and torch.equal(one["image"], image.flip(2))
    assert one["boxes"].tolist() == [[20, 2, 29, 12]]
    clip = tv.Video(torch.rand(2, 5, 3, 20, 30))
    with pytest.raises(TypeError, match="Video: expected a plain tensor"):
        K.VideoSequential(K.RandomHorizontalFlip())(clip)
