"""Masks, boxes and points go where the pixels go, for every geometric op, and what a warp promises."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import augment as K
from augment.maps.deformation import Deformation, Field
from augment.maps.warp import Homography, Permutation, Warp
from tests.support.grids import FLOATS, grid
from tests.support.helpers import GEOMETRIC, Case, picture

SIZE = (40, 56)
# A size for the ops that have one, which keeps the middle; and a deformation that does not fold.
SMALLER = {"size": (32, 44), "max_size": 44, "kernel_size": (25, 25), "sigma": (6.0, 6.0)}
SIGMA, RADIUS, ROWS = 1.5, 3.0, 6
RECTANGLE = (22, 15, 34, 25)  # x1, y1, x2, y2 on edges
KEYS = ["image", "mask", "mask", "keypoints", "bbox_xyxy", "bbox_xywh", "bbox"]
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
each = pytest.mark.parametrize("case", GEOMETRIC, ids=repr)


def bell(distance: float) -> float:
    return math.exp(-(distance**2) / (2 * SIGMA**2))


def scene(dtype: torch.dtype) -> list[Tensor]:
    """Draw a Gaussian blob, the disc inside it, a rectangle, and the labels that say where they are."""
    x, y = grid(*SIZE)
    centres = torch.tensor([[28.0, 20.0], [26.3, 18.6], [30.5, 21.5], [25.0, 22.2], [29.7, 19.1], [27.1, 20.9]])
    squared = (x - centres[:, 0, None, None]) ** 2 + (y - centres[:, 1, None, None]) ** 2
    blob = (-squared / (2 * SIGMA**2)).exp().unsqueeze(1).repeat(1, 3, 1, 1)
    image = (blob * 255).round().to(dtype) if dtype == torch.uint8 else blob.to(dtype)
    disc = 3 * (squared < RADIUS**2).long().unsqueeze(1)
    x1, y1, x2, y2 = RECTANGLE
    filled = torch.zeros(ROWS, *SIZE, dtype=torch.uint8)
    filled[:, y1:y2, x1:x2] = 255
    box = torch.tensor(RECTANGLE, dtype=torch.float32).expand(ROWS, 1, 4)
    corners = torch.tensor([[x1, y1], [x2, y1], [x2, y2], [x1, y2]], dtype=torch.float32).expand(ROWS, 1, 4, 2)
    wide = torch.tensor([x1, y1, x2 - x1, y2 - y1], dtype=torch.float32).expand(ROWS, 1, 4)
    return [image, disc, filled, centres.unsqueeze(1), box, wide, corners]


def centroid(weights: Tensor) -> Tensor:
    x, y = grid(*weights.shape[-2:])
    weights = weights.double()
    total = weights.sum((-2, -1))
    return torch.stack([(weights * x).sum((-2, -1)) / total, (weights * y).sum((-2, -1)) / total], -1).float()


def reach(op: Any, warp: Warp) -> float:
    """How far the centroid of a blob may be from its centre in the output."""
    if op.flags.get("resample") == "nearest":
        return 0.5 + (0.5 if isinstance(warp, Deformation) else 0.05)
    if isinstance(warp, Permutation):
        return 0.01  # the levels of uint8 are rounded
    return 0.5 if isinstance(warp, Deformation) or warp.projective else 0.1


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
@pytest.mark.parametrize("p", [0.0, 0.5, 1.0])
@each
def test_kp_follows_pixels(case: Case, p: float, dtype: torch.dtype) -> None:
    op, given, judged = case(p=p, **SMALLER), scene(dtype), 0
    container = K.AugmentationSequential(op, data_keys=KEYS, extra_args={"image": {"fill": 0.0}})
    for seed in range(4):
        torch.manual_seed(seed)
        outputs = container(*given)
        image, disc, filled, points, boxes, wide, corners = outputs
        warp = op.last_warp()
        h, w = image.shape[-2:]
        if (h, w) == SIZE:
            closed = op._params["batch_prob"] == 0
            for before, after in zip(given, outputs, strict=True):
                assert torch.equal(before[closed], after[closed])
        if not isinstance(warp, Deformation):
            matrix = container.transform_matrix
            ahead = torch.nn.functional.pad(given[3], (0, 1), value=1.0) @ matrix.mT
            assert_close(points, ahead[..., :2] / ahead[..., 2:], atol=1e-3, rtol=0)
            assert_close(torch.cat([corners.amin(2), corners.amax(2)], -1), boxes, atol=1e-3, rtol=0)
        assert_close(torch.cat([wide[..., :2], wide[..., :2] + wide[..., 2:]], -1), boxes, atol=1e-3, rtol=0)

        # a disc's pixel is taken within 0.71 px of where the blob is read
        level = image[:, :1].float() / (255 if dtype == torch.uint8 else 1)
        assert (disc[level > bell(RADIUS - 1)] == 3).all()
        if op.flags.get("resample") != "nearest":
            assert (disc[level < bell(RADIUS + 1)] == 0).all()

        for i in range(ROWS):
            x1, y1, x2, y2 = boxes[i, 0].tolist()
            frame = level[i, 0].clone()
            frame[1:-1, 1:-1] = 0
            if min(x1, y1) < 0 or x2 > w or y2 > h or frame.max() > bell(3 * SIGMA):
                continue  # a part of the box or of the blob is cut off
            judged += 1
            distance = (centroid(level[i, 0]) - points[i, 0]).abs().max().item()
            assert distance <= reach(op, warp)
            at_y, at_x = filled[i].nonzero(as_tuple=True)
            found = [at_x.min() + 0.5, at_y.min() + 0.5, -at_x.max() - 0.5, -at_y.max() - 0.5]
            for inner, edge in zip(found, (x1, y1, -x2, -y2), strict=True):
                exact = isinstance(warp, Permutation)
                least, most = (0.5, 0.5) if exact else (-0.25, 2.0)  # the tip of a turned corner holds no pixel
                assert least - 1e-3 <= inner - edge <= most + 1e-3
    assert judged >= ROWS


def label_map(labels: list[int], dtype: torch.dtype, rows: int = 3) -> Tensor:
    index = torch.randint(len(labels), (rows, 1, *SIZE), generator=torch.Generator().manual_seed(3))
    return torch.tensor(labels, dtype=torch.float64 if dtype.is_floating_point else torch.int64)[index].to(dtype)


@pytest.mark.parametrize("dtype", [*INTEGERS, torch.bool, *FLOATS], ids=str)
@each
def test_labels_stay_labels(case: Case, dtype: torch.dtype) -> None:
    op, labels = case(p=0.5, **SMALLER), {torch.bool: [0, 1], torch.int8: [-1, 3, 127]}.get(dtype, [0, 3, 255])
    container = K.AugmentationSequential(op, data_keys=["image", "mask"])
    for seed in range(3):
        torch.manual_seed(seed)
        image, mask = container(picture(3, size=SIZE), label_map(labels, dtype))
        assert mask.dtype == dtype and mask.shape[-2:] == image.shape[-2:]
        assert set(mask.double().unique().tolist()) <= {0, *labels}
        _, back = container.inverse(image, mask)
        assert back.dtype == dtype and back.shape[-2:] == SIZE
        assert set(back.double().unique().tolist()) <= {0, *labels}


@each
def test_large_labels_are_exact(case: Case) -> None:
    labels = [0, 2**24 + 1, 2**40 + 3, -(2**53) - 1]  # more than float32, or even float64, can hold
    mask = label_map(labels, torch.int64)
    container = K.AugmentationSequential(case(p=1.0, **SMALLER), data_keys=["image", "mask"])
    _, output = container(picture(3, size=SIZE), mask)
    assert set(output.unique().tolist()) <= set(labels)
    assert output.eq(2**40 + 3).any()


BRING_IN = [
    case
    for case in GEOMETRIC
    if case.op.__name__ in ("RandomAffine", "RandomPerspective", "RandomRotation", "RandomShear", "RandomTranslate")
    and case().flags["padding_mode"] == "zeros"
]


@pytest.mark.parametrize("dtype", [*INTEGERS, torch.bool, torch.float32], ids=str)
@pytest.mark.parametrize("case", BRING_IN, ids=repr)
def test_mask_fill(case: Case, dtype: torch.dtype) -> None:
    fill = 1 if dtype == torch.bool else 9
    args = {"mask": {"fill": fill}}
    container = K.AugmentationSequential(case(p=1.0), data_keys=["image", "mask"], extra_args=args)
    _, mask = container(picture(3, size=SIZE), torch.zeros(3, 1, *SIZE, dtype=dtype))
    assert set(mask.double().unique().tolist()) == {0, fill}


def test_fill_by_key_and_channel() -> None:
    op = K.RandomAffine((45.0, 45.0), padding_mode="fill", fill_value=0.25, p=1.0)
    image, mask = torch.rand(2, 3, *SIZE), torch.zeros(2, 2, *SIZE, dtype=torch.int64)
    args = {"image": {"fill": [0.1, 0.2, 0.3]}, "mask": {"fill": [-100, 255]}}
    for given, by_image, by_mask in ((None, [0.25] * 3, [0, 0]), (args, [0.1, 0.2, 0.3], [-100, 255])):
        container = K.AugmentationSequential(op, data_keys=["image", "mask"], extra_args=given)
        out_image, out_mask = container(image, mask)
        for y, x in ((0, 0), (0, -1), (-1, 0), (-1, -1)):
            assert_close(out_image[:, :, y, x], torch.tensor([by_image] * 2))
            assert out_mask[:, :, y, x].tolist() == [by_mask] * 2


@pytest.mark.parametrize("resample", ["bilinear", "BILINEAR", "bicubic"])
def test_soft_masks_by_override(resample: str) -> None:
    mask = label_map([0, 1], torch.float32)
    for args, soft in ((None, False), ({"mask": {"resample": resample}}, True)):
        op = K.RandomRotation((20.0, 20.0), p=1.0)
        container = K.AugmentationSequential(op, data_keys=["image", "mask"], extra_args=args)
        image, output = container(picture(3, size=SIZE), mask)
        _, back = container.inverse(image, output)
        _, hard_back = container.inverse(image, mask)
        for moved in (output, hard_back if soft else back):
            between = ((moved > 0.05) & (moved < 0.95)).float().mean()
            assert (between > 0.2) if soft else (between == 0)


@each
def test_inverse(case: Case) -> None:
    op = case(p=0.5, **SMALLER)
    container = K.AugmentationSequential(op, data_keys=["image", "keypoints", "bbox", "bbox_xyxy"])
    x, y = grid(*SIZE)
    smooth = (0.5 + 0.5 * (2 * math.pi * x / 40).cos() * (2 * math.pi * y / 40).sin()).float()
    image, ones = smooth.expand(4, 1, *SIZE), torch.ones(4, 1, *SIZE)
    points = torch.rand(4, 5, 2) * torch.tensor([20.0, 12.0]) + torch.tensor([18.0, 14.0])
    corners = torch.cat([points[:, :4].unsqueeze(1), points[:, 1:].unsqueeze(1)], 1)
    boxes = torch.cat([points - 2, points + 3], -1)
    output = container(image, points, corners, boxes)
    warp = op.last_warp()
    back, points_back, corners_back, boxes_back = container.inverse(*output)
    exact = 0.05 if isinstance(warp, Field) else 1e-3
    assert_close(points_back, points, atol=exact, rtol=0)
    assert_close(corners_back, corners, atol=exact, rtol=0)
    if isinstance(warp, Homography) and not op.flags.keys() & {"fill", "degrees"} and not warp.matrix[:, 0, 1].any():
        assert_close(boxes_back, boxes, atol=exact, rtol=0)
    seen = op.inverse(op(ones, params=op._params)) > 0.999
    assert seen[..., 16:24, 20:36].float().mean() > 0.5
    tolerance = 0.0 if isinstance(warp, Permutation) else 0.15 if op.flags["resample"] == "nearest" else 0.05
    assert (back - image)[seen].abs().max() <= tolerance
    if isinstance(warp, Permutation) and warp.size != warp.input_size:
        assert (back[~seen] == op.flags.get("fill", [0.0])[0]).all()  # and what was cut away is filled


@pytest.mark.parametrize("flag", [True, False])
def test_elastic_moves_points_by_its_field(flag: bool) -> None:
    op = K.RandomElasticTransform((21, 21), (5.0, 5.0), (1.5, 1.5), align_corners=flag, p=1.0)
    container = K.AugmentationSequential(op, data_keys=["image", "keypoints"])
    points = torch.rand(2, 40, 2) * torch.tensor([55.0, 39.0])
    image, moved = container(picture(2, size=SIZE), points)
    field = op.last_warp().field.double()
    along = [(field.diff(dim=d)).abs().amax() for d in (2, 3)]
    assert 0.4 < max(along) < 0.9  # strong, and does not fold
    inside = ((moved >= 0) & (moved <= torch.tensor([55.0, 39.0]))).all(-1)
    low = moved.floor().clamp(max=torch.tensor([54.0, 38.0]))
    x, y = low.long().clamp(min=0).unbind(-1)
    share = (moved - low).double()
    read = [[field[torch.arange(2)[:, None], :, y + j, x + i] for i in (0, 1)] for j in (0, 1)]
    upper, lower = (a + (b - a) * share[..., :1] for a, b in read)
    displaced = upper + (lower - upper) * share[..., 1:]
    assert inside.float().mean() > 0.8
    assert_close((moved + displaced).float()[inside], points[inside], atol=0.05, rtol=0)
    assert_close(container.inverse(image, moved)[1][inside], points[inside], atol=0.05, rtol=0)


def test_boxes_enclose_turned_corners() -> None:
    op = K.RandomRotation((30.0, 30.0), p=1.0)
    container = K.AugmentationSequential(op, data_keys=["image", "bbox_xyxy"])
    _, box = container(torch.zeros(1, 1, *SIZE), torch.tensor([[RECTANGLE]]).double())
    cos, sin, cx, cy = math.cos(math.pi / 6), 0.5, SIZE[1] / 2, SIZE[0] / 2  # the centre, on edges
    x1, y1, x2, y2 = RECTANGLE
    turned = [
        (cx + cos * (x - cx) + sin * (y - cy), cy - sin * (x - cx) + cos * (y - cy)) for x in (x1, x2) for y in (y1, y2)
    ]
    xs, ys = zip(*turned, strict=True)
    assert_close(box[0, 0], torch.tensor([min(xs), min(ys), max(xs), max(ys)]).double(), atol=1e-4, rtol=0)
