"""Deformations: what their definitions promise beyond the references."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import augment as K
from tests.support.helpers import call_seeded, picture
from tests.support.known import pixels, replay, slope

SIZE = (60, 91)
# Strong, and without folds: the slope of the smoothed noise of the elastic one stays below 1.
STRONG = {
    "thin plate": lambda **more: K.RandomThinPlateSpline(0.35, p=1.0, **more),
    "fisheye": lambda **more: K.RandomFisheye((-0.3, 0.3), (-0.3, 0.3), (0.8, 2.0), p=1.0, **more),
    "elastic": lambda **more: K.RandomElasticTransform((63, 63), (12.0, 12.0), (6.0, 6.0), p=1.0, **more),
    "grid": lambda **more: K.RandomGridDistortion(5, 0.9, p=1.0, **more),
}


def inside(points: Tensor, height: int, width: int) -> Tensor:
    return ((points >= 0) & (points <= torch.tensor([width - 1.0, height - 1.0]))).all(-1)


@pytest.mark.parametrize("size", [SIZE, (91, 60)])
@pytest.mark.parametrize("name", STRONG)
def test_points_come_from_where_pixels_are_sampled(name: str, size: tuple[int, int]) -> None:
    """Coordinates as channels say where every output pixel was taken from; a point there comes to that pixel."""
    height, width = size
    here = pixels(6, height, width)
    op = STRONG[name]()
    ramp = here.transpose(1, 2).unflatten(2, size)
    taken = call_seeded(op, ramp).flatten(2).transpose(1, 2)
    sources = op.last_warp().sources(here)
    # a pixel's neighbours are all in the frame, so that the ramp is interpolated exactly
    judged = inside(sources, height, width)
    assert_close(taken[judged], sources[judged], atol=1e-3, rtol=0)
    moved = (sources - here).norm(dim=-1)
    assert moved[judged].max() > 5 and judged.float().mean() > 0.2
    container = K.AugmentationSequential(op, data_keys=["image", "keypoints"])
    _, points = container(ramp, sources, params=[K.ParamItem(next(iter(container._modules)), op._params)])
    assert (points - here)[judged].norm(dim=-1).max() < 0.05


@pytest.mark.parametrize("name", STRONG)
def test_masks_and_boxes_follow_a_deformation(name: str) -> None:
    height, width = SIZE
    x1, y1, x2, y2 = 32.0, 20.0, 58.0, 41.0
    mask = torch.zeros(6, 1, *SIZE, dtype=torch.int64)
    mask[..., int(y1) : int(y2), int(x1) : int(x2)] = 7
    boxes = torch.tensor([[[x1, y1, x2, y2]]]).expand(6, 1, 4)
    container = K.AugmentationSequential(STRONG[name](), data_keys=["image", "mask", "bbox_xyxy"])
    image, moved, enclosing = call_seeded(container, mask.float(), mask, boxes)
    assert set(moved.unique().tolist()) == {0, 7}
    assert ((image.round() == 7) <= (moved == 7)).all()  # where nothing is mixed in
    for i in range(6):
        at_y, at_x = moved[i, 0].nonzero(as_tuple=True)
        left, top, right, bottom = enclosing[i, 0].tolist()
        for edge, found, limit in (
            (left, at_x.min(), 0),
            (top, at_y.min(), 0),
            (-right, -at_x.max() - 1, -width),
            (-bottom, -at_y.max() - 1, -height),
        ):
            # the outermost pixel has its centre within the region, and near the edge of it
            assert -0.75 <= found.item() - max(edge, limit) <= 2.5, (name, i)


def test_what_lies_at_a_control_point_comes_to_its_target() -> None:
    """#2061, #2397."""
    height, width = SIZE
    for flag in (True, False):
        op = K.RandomThinPlateSpline(0.3, align_corners=flag, p=1.0)
        op(torch.zeros(4, 1, *SIZE))
        half = torch.tensor([width - flag, height - flag]) / 2
        middle = torch.tensor([width - 1, height - 1]) / 2
        source, target = (op._params[name] * half + middle for name in ("src", "dst"))
        assert_close(op.last_warp().points(source), target, atol=1e-2, rtol=0)


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("size", [(17, 23), (1, 8), (8, 1), (1, 1)])
def test_no_strength_is_the_identity(size: tuple[int, int], flag: bool) -> None:
    """#3904, #4411."""
    for op in (
        K.RandomThinPlateSpline(0.0, align_corners=flag, p=1.0),
        K.RandomElasticTransform((3, 3), (1.0, 1.0), (0.0, 0.0), align_corners=flag, p=1.0),
        K.RandomGridDistortion(3, 0.0, p=1.0),
        K.RandomGridDistortion(3, 0.0, normalized=False, p=1.0),
    ):
        for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.uint8):
            image = picture(2, size=size, dtype=dtype)
            assert_close(op(image), image, atol=1e-5, rtol=0)
            points = pixels(2, *size)
            assert_close(op.last_warp().points(points), points, atol=1e-5, rtol=0)


def test_deformations_are_undone() -> None:
    yy, xx = torch.meshgrid(torch.arange(60.0), torch.arange(91.0), indexing="ij")
    smooth = (torch.sin(xx / 9) + torch.cos(yy / 7)).expand(4, 1, -1, -1)
    for op in (K.RandomThinPlateSpline(0.1, p=1.0), K.RandomGridDistortion(4, 0.5, p=1.0)):
        back = op.inverse(op(smooth))
        assert_close(back[..., 15:-15, 20:-20], smooth[..., 15:-15, 20:-20], atol=0.03, rtol=0)


def test_grid_lines_lie_where_the_steps_say() -> None:
    op = K.RandomGridDistortion(2, p=1.0)
    steps = torch.tensor([[0.5, 1.5]])
    ramp = torch.arange(8.0).expand(1, 1, 8, 8)
    output = op(ramp, params={"steps_x": steps, "steps_y": torch.ones(1, 2)})
    # four output pixels share the first two of the input, and four the other six; edges lie half a pixel outside
    expected = torch.tensor([-0.25, 0.25, 0.75, 1.25, 2.25, 3.75, 5.25, 6.75])
    assert_close(output[0, 0, 3, 1:], expected[1:], atol=1e-5, rtol=0)
    points = torch.stack([expected, torch.full((8,), 3.0)], 1)[None]
    moved = op.last_warp().points(points)
    assert_close(moved[0, :, 0], torch.arange(8.0), atol=1e-5, rtol=0)
    free = K.RandomGridDistortion(2, normalized=False, p=1.0)
    output = free(ramp, params={"steps_x": steps * 0.5, "steps_y": torch.ones(1, 2)})
    assert_close(output[0, 0, 3, 4:], torch.tensor([0.875, 1.625, 2.375, 3.125]), atol=1e-5, rtol=0)


def test_learnable_strengths_of_noises_and_plates_get_a_gradient() -> None:
    image = picture(3) * 0.5 + 0.25
    for build, values in (
        (lambda b: K.RandomShotNoise(b, p=1.0), [20.0, 40.0]),
        (lambda b: K.RandomISONoise((0.1, 0.2), b, p=1.0), [0.2, 0.4]),
        (lambda b: K.RandomFisheye((0.0, 0.1), (0.0, 0.1), b, p=1.0), [1.0, 1.5]),
        (lambda b: K.RandomThinPlateSpline(b, p=1.0), 0.1),
        (lambda b: K.RandomGridDistortion(3, b, p=1.0), [-0.2, 0.2]),
    ):
        bound = torch.nn.Parameter(torch.tensor(values))
        (build(bound)(image) * torch.rand(image.shape)).sum().backward()
        assert bound.grad is not None and bound.grad.isfinite().all() and bound.grad.abs().sum() > 0


@pytest.mark.parametrize(
    "build, error, name",
    [
        (lambda: K.RandomFisheye(0.3, (0.0, 0.1), (1.0, 1.0)), ValueError, "center_x"),
        (lambda: K.RandomFisheye((0.0, 0.1), (0.0, 0.1), (-1.0, 1.0)), ValueError, "gamma"),
        (lambda: K.RandomThinPlateSpline(-0.1), ValueError, "scale"),
        (lambda: K.RandomThinPlateSpline(padding_mode="wrap"), ValueError, "padding_mode"),
        (lambda: K.RandomGridDistortion(0), ValueError, "num_steps"),
        (lambda: K.RandomGridDistortion(distort_limit=1.5), ValueError, "distort_limit"),
    ],
)
def test_constructors_refuse_by_name(build: Any, error: type[Exception], name: str) -> None:
    with pytest.raises(error, match=rf"^{name}"):
        build()


def test_elastic_displaces_by_alpha_in_halves_of_the_size() -> None:
    image = slope(12, 20)
    noise = torch.zeros(1, 2, 12, 20)
    noise[:, 0] = 1
    op = K.RandomElasticTransform((3, 3), (1.0, 1.0), alpha=(4 / 20, 1.0), p=1.0)
    output = replay(op, image, noise=noise)  # 4/20 of 20/2 pixels: two
    assert_close(output[..., 1:-1, 1:-3], image[..., 1:-1, 3:-1], atol=1e-6, rtol=0)
    assert_close(replay(op, image, noise=0.0), image, atol=0, rtol=0)
