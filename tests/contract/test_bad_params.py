"""Bad parameters over every op of the registry, a kind at a time: replayed values and forms; and labels of a call."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

import augment as K
from augment.containers.sequential import ParamItem
from augment.kinds.augmentation import Augmentation
from augment.sampling.params import Param
from tests.support.helpers import CASES, Case, graphs, picture


def each(found: list[Case]) -> Any:
    return pytest.mark.parametrize("case", found, ids=repr)


def small(op: Augmentation, params: dict[str, torch.Tensor]) -> list[str]:
    """Name the parameters whose values are checked: numbers of a row, and no maps."""
    maps = {param.name for param in op.declared or () if param.image or param.dim != 0}
    names = [name for name in params if name not in ("forward_input_shape", *maps)]
    return [name for name in names if params[name].dtype != torch.bool]


@each(CASES)
def test_replayed_values_are_finite(case: Case) -> None:
    op, image = case(p=1.0), picture(2)
    params = op.forward_parameters(image.shape)
    for name in small(op, params):
        for value in (math.nan, math.inf, -math.inf):
            bad = params[name].double().float().clone()
            bad[1] = value
            with pytest.raises(RuntimeError, match=rf"{name}: expected"):
                op(image, params={**params, name: bad})


@each(CASES)
@pytest.mark.parametrize("value", [0.0, 1e9, -1e9, 1e30])
def test_replayed_values_give_an_image_or_a_clear_error(case: Case, value: float) -> None:
    op, image = case(p=1.0), picture(2)
    params = op.forward_parameters(image.shape)
    for name in small(op, params):
        whole = not params[name].is_floating_point()
        bad = torch.full_like(params[name], max(min(value, 2**31 - 1), -(2**31)) if whole else value)
        try:
            output = op(image, params={**params, name: bad})
        except RuntimeError as error:
            assert ": expected" in str(error), (name, error)
        else:
            assert output.isfinite().all(), name


@each(CASES)
def test_replayed_forms(case: Case) -> None:
    op, image = case(p=1.0), picture(2)
    params = op.forward_parameters(image.shape)
    for name, value in params.items():
        wrong = [value.unsqueeze(-1).expand(*value.shape, 2), value.sum(), value.to(torch.complex64)]
        if value.dtype != torch.bool:
            wrong.append(value != value if name != "batch_prob" else value.to(torch.complex64))
        param = next((param for param in op.declared if param.name == name), Param(name))
        if param.image and not param.mask:
            wrong.append(value.long())
            wrong.append(value[..., :-1])
        for bad in wrong:
            if param.dim is None and not bad.is_complex():
                continue
            with pytest.raises((TypeError, ValueError), match=name):
                op(image, params={**params, name: bad})
    with pytest.raises(RuntimeError, match="forward_input_shape"):
        op(image, params={**params, "forward_input_shape": torch.tensor([2, 3, 0, 5])})


def degenerate(n: int) -> list[Tensor]:
    """Give points (2, n, 2) that lie in one place or on a line, of which no rounding may make a plane."""
    steps = torch.arange(1.0 * n)
    found = [torch.zeros(n, 2), torch.full((n, 2), 7.0), torch.full((n, 2), 0.3), torch.stack([steps, steps], 1)]
    for degrees in (0.0, 17.0, 90.0, 123.4):
        along = torch.tensor([math.cos(math.radians(degrees)), math.sin(math.radians(degrees))])
        found += [steps.unsqueeze(1) * along * scale + 0.1 for scale in (0.013, 3.7)]
    return [points.expand(2, -1, -1) for points in found]


def test_replayed_points() -> None:
    image = picture(2)
    warp = K.RandomPerspective(p=1.0)
    params = warp.forward_parameters(image.shape)
    square = torch.tensor([[0.0, 0], [9, 0], [9, 9], [0, 9]])
    for name in ("start_points", "end_points"):
        on_a_line = [square[[0, 0, 2, 3]], square[[0, 1, 2, 1]], torch.cat([square[:3], square[:2].mean(0)[None] / 3])]
        for points in [*degenerate(4), *(three.expand(2, -1, -1) for three in on_a_line)]:
            with pytest.raises(RuntimeError, match=name):
                warp(image, params={**params, name: points})
    plate = K.RandomThinPlateSpline(p=1.0)
    params = plate.forward_parameters(image.shape)
    for name in ("src", "dst"):
        for points in degenerate(5):
            bad = {**params, name: points}
            with pytest.raises(RuntimeError, match="src, dst: expected"):
                plate(image, params=bad)
            closed = plate(image, params={**bad, "batch_prob": torch.zeros(2)})
            assert torch.equal(closed, image)
    twice = params["dst"].clone()
    twice[:, 3] = twice[:, 1]
    with pytest.raises(RuntimeError, match="src, dst: expected"):
        plate(image, params={**params, "dst": twice})


def test_replayed_windows() -> None:
    image = picture(2)
    for op in (K.RandomResizedCrop((8, 8)), K.RandomIoUCrop(), K.RandomCrop((8, 8), padding=2)):
        params = op.forward_parameters(image.shape)
        for shift in (-30.0, 30.0, math.inf):
            with pytest.raises(RuntimeError, match="src: expected"):
                op(image, params={**params, "src": params["src"] + shift})
        with pytest.raises(RuntimeError, match="src: expected"):
            op(image, params={**params, "src": params["src"].flip(1)})


@pytest.mark.parametrize("op", [K.RandomRotation(30.0, p=1.0), K.RandomElasticTransform((5, 5), p=1.0)], ids=repr)
def test_params_of_an_inverse_are_checked(op: Any) -> None:
    image = picture(2)
    params = op.forward_parameters(image.shape)
    op(image, params=params)
    name = next(iter(params))
    for shape in (torch.tensor(3), torch.tensor([2, 3, 4]), torch.rand(4), None, 3):
        with pytest.raises((TypeError, ValueError), match="forward_input_shape"):
            op.inverse(image, params={**params, "forward_input_shape": shape})
    with pytest.raises(ValueError, match=name):
        op.inverse(image, params={**params, name: params[name][:1]})
    if name == "degrees":
        with pytest.raises(RuntimeError, match="degrees: expected finite"):
            op.inverse(image, params={**params, "degrees": torch.full((2,), math.nan)})
    for wrong in (7, [1], {}, {"forward_input_shape": params["forward_input_shape"]}):
        with pytest.raises((TypeError, ValueError), match="params: expected"):
            op.inverse(image, params=wrong)
    without = {key: value for key, value in params.items() if key != "batch_prob"}
    assert torch.equal(op.inverse(image, params=without), op.inverse(image, params=params))
    container = K.AugmentationSequential(op, data_keys=["keypoints"])
    items = [ParamItem(f"{type(op).__name__}_0", {**params, "forward_input_shape": torch.tensor(3)})]
    for call in (container, container.inverse):
        with pytest.raises(ValueError, match="forward_input_shape"):
            call(torch.rand(2, 4, 2), params=items)


def test_limits_of_constructors_where_numbers_leave_floats() -> None:
    limits = {"center_x": torch.tensor([-0.3, 0.3]), "center_y": torch.tensor([-0.3, 0.3])}
    with pytest.raises(ValueError, match="^gamma"):
        K.RandomFisheye(**limits, gamma=torch.tensor([0.5, 1e9]))
    with pytest.raises(ValueError, match="^gamma"):
        K.RandomFisheye((0.0, 1e9), (0.0, 1.0), (0.5, 9.0))
    with pytest.raises(ValueError, match="^scale"):
        K.RandomThinPlateSpline(1e9)


@pytest.mark.parametrize(
    ("op", "name"),
    [
        (K.RandomThinPlateSpline(p=1.0), "dst"),
        (K.RandomFisheye((-0.1, 0.1), (-0.1, 0.1), (0.5, 2.0), p=1.0), "gamma"),
        (K.RandomPerspective(p=1.0), "end_points"),
        (K.RandomCrop((8, 8), padding=2), "padding_size"),
        (K.RandomResizedCrop((8, 8)), "src"),
        (K.RandomD4(), "symmetry"),
        (K.RandomZoomOut(p=1.0), "left"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_checks_of_a_replay_compile_without_a_recompile(op: Augmentation, name: str, optimizer: str) -> None:
    image = picture(2)
    compiled = torch.compile(op, fullgraph=True, backend=optimizer)
    params = op.forward_parameters(image.shape)
    compiled(image, params=params)
    once = graphs()
    for _ in range(3):
        params = op.forward_parameters(image.shape)
        torch.testing.assert_close(compiled(image, params=params), op(image, params=params), rtol=1e-4, atol=1e-4)
    assert graphs() == once
    bad = torch.full_like(params[name], -3 if name != "left" else math.nan)
    with pytest.raises(RuntimeError, match=rf"{name}: expected"):
        compiled(image, params={**params, name: bad})


# -------------------------------------------------------------------------------------------------------------- labels


@pytest.mark.parametrize("op", [K.RandomCoarseDropout(p=1.0), K.RandomGridDropout(p=1.0)], ids=repr)
def test_covered_labels_have_the_rows_of_the_call(op: Any) -> None:
    op(picture(3))
    boxes, points = torch.rand(3, 2, 4), torch.rand(3, 2, 2)
    assert op.covered_boxes(boxes).shape == op.covered_points(points).shape == (3, 2)
    for wrong in (boxes[:2], boxes[:1], boxes[0], boxes[..., :2], torch.rand(4, 2, 4)):
        with pytest.raises(ValueError, match="boxes: expected"):
            op.covered_boxes(wrong)
    for wrong in (points[:2], points[0], boxes):
        with pytest.raises(ValueError, match="points: expected"):
            op.covered_points(wrong)


def test_a_centre_on_the_edge_of_the_window_is_outside() -> None:
    """As in torchvision, whose comparison is strict."""
    image = picture(1, size=(40, 60))
    op = K.AugmentationSequential(K.RandomIoUCrop(size=(33, 47)), data_keys=["image", "bbox_xyxy"], min_visibility=0.0)
    params = op.forward_parameters(image.shape)
    for left, top, right, bottom in ((7, 9, 36, 28), (3, 11, 46, 33), (13, 1, 20, 38), (1, 1, 59, 39)):
        src = torch.tensor([[[left, top], [right - 1, top], [right - 1, bottom - 1], [left, bottom - 1]]]).float()
        params = [params[0]._replace(data={**params[0].data, "src": src})]
        x, y = (left + right) / 2, (top + bottom) / 2
        at = torch.tensor([[left, y], [right, y], [x, top], [x, bottom], [x, y], [left + 0.5, y], [x, bottom - 0.5]])
        boxes = torch.cat([at - 0.5, at + 0.5], 1)[None]
        op(image, boxes, params=params)
        centre = (boxes[..., :2] + boxes[..., 2:]) / 2
        low, high = torch.tensor([left, top]), torch.tensor([right, bottom])
        assert torch.equal(op.valid["bbox_xyxy"], ((low < centre) & (centre < high)).all(-1))


@pytest.mark.parametrize("op", [K.ColorJitter, K.ColorJiggle])
@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
def test_orders_of_another_length_are_refused(op: type, dtype: torch.dtype) -> None:
    jitter, image = op(0.3, 0.3, 0.3, 0.3), torch.ones(2, 3, 8, 8, dtype=dtype)
    jitter(image)
    for count in (3, 8, 20):
        params = {**jitter._params, "order": torch.arange(count) % 4}
        with pytest.raises(ValueError, match=rf"{op.__name__}: params\['order'\]: expected integers \(B, 4\)"):
            jitter(image, params=params)


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
def test_a_mosaic_shows_zeros_where_a_replayed_window_has_no_tile(dtype: torch.dtype) -> None:
    """And not memory that nobody wrote."""
    op, image = K.RandomMosaic((16, 18), p=1.0), picture(4, size=(20, 24), dtype=dtype)
    op(image)
    params = op._params
    for shift in (-1000.0, 1000.0):
        output = op(image, params={**params, "src": params["src"] + shift})
        assert output.shape == (4, 3, 16, 18) and (output == 0).all()
