"""Deformations, dropouts and noises: what their definitions promise beyond the references."""

import math
from typing import Any

import pytest
import torch
from helpers import call_seeded, picture
from torch import Tensor
from torch.testing import assert_close

import augment as K

SIZE = (60, 91)
# Strong, and without folds: the slope of the smoothed noise of the elastic one stays below 1.
STRONG = {
    "thin plate": lambda **more: K.RandomThinPlateSpline(0.35, p=1.0, **more),
    "fisheye": lambda **more: K.RandomFisheye((-0.3, 0.3), (-0.3, 0.3), (0.8, 2.0), p=1.0, **more),
    "elastic": lambda **more: K.RandomElasticTransform((63, 63), (12.0, 12.0), (6.0, 6.0), p=1.0, **more),
    "grid": lambda **more: K.RandomGridDistortion(5, 0.9, p=1.0, **more),
}


def pixels(rows: int, height: int, width: int) -> Tensor:
    y, x = torch.meshgrid(torch.arange(float(height)), torch.arange(float(width)), indexing="ij")
    return torch.stack([x, y], -1).flatten(0, 1).expand(rows, -1, -1)


def inside(points: Tensor, height: int, width: int) -> Tensor:
    return ((points >= 0) & (points <= torch.tensor([width - 1.0, height - 1.0]))).all(-1)


# -------------------------------------------------------------------------------------------------------------- labels


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


# ------------------------------------------------------------------------------------------------------------ dropouts


@pytest.mark.parametrize("unit", ["pixels", "fractions"])
def test_holes_have_the_sizes_that_were_asked_for(unit: str) -> None:
    ranges = {"pixels": ((3, 7), (10, 20)), "fractions": ((0.05, 0.12), (0.1, 0.2))}[unit]
    op = K.RandomCoarseDropout((1, 4), *ranges, p=1.0)
    params = op.forward_parameters((4000, 1, 60, 100))
    there = params["widths"] > 0
    counts = there.sum(1).bincount(minlength=5).tolist()
    assert counts[0] == 0 and all(abs(n - 1000) < 5 * math.sqrt(4000 * 3 / 16) for n in counts[1:])
    for name, low, high in (("heights", 3, 7), ("widths", 10, 20)):
        drawn = params[name][there]
        assert drawn.min() == low and drawn.max() == high and torch.equal(drawn, drawn.round())
    for start, length, size in (("xs", "widths", 100), ("ys", "heights", 60)):
        first, last = params[start][there], (params[start] + params[length])[there]
        assert first.min() == 0 and last.max() == size


def test_shares_of_boxes_and_points_that_were_dropped() -> None:
    op = K.RandomCoarseDropout((2, 2), p=1.0)
    holes = {"xs": [[2.0, 4.0]], "ys": [[1.0, 3.0]], "widths": [[4.0, 5.0]], "heights": [[4.0, 4.0]]}
    op(torch.ones(1, 1, 10, 12), params={name: torch.tensor(value) for name, value in holes.items()})
    boxes = torch.tensor([[[2, 1, 6, 5], [0, 0, 12, 10], [0, 0, 2, 10], [5.5, 2.5, 6.5, 3.5], [-4, 1, 4, 5]]])
    union = 16 + 20 - 4
    # half of a pixel column lies in the first hole, and the lower half of all of it in the second
    expected = torch.tensor([[1.0, union / 120, 0.0, 0.75, 0.5]])
    assert_close(op.covered_boxes(boxes), expected)
    points = torch.tensor([[[2.0, 1.0], [1.4, 1.0], [8.4, 6.4], [8.6, 6.0], [-1.0, 3.0]]])
    assert op.covered_points(points).tolist() == [[True, False, True, False, False]]
    closed = {**op._params, "batch_prob": torch.zeros(1)}
    assert op.covered_boxes(boxes, closed).count_nonzero() == 0


def test_shares_agree_with_the_image() -> None:
    for op in (K.RandomCoarseDropout((3, 6), p=0.5), K.RandomGridDropout(0.6, (3, 9), p=0.5)):
        output = op(torch.ones(8, 1, 20, 30))
        whole = torch.tensor([[[0.0, 0.0, 30.0, 20.0]]]).expand(8, 1, 4)
        assert_close(op.covered_boxes(whole)[:, 0], 1 - output.mean((1, 2, 3)))
        assert torch.equal(op.covered_points(pixels(8, 20, 30)), output.flatten(1) == 0)


def test_dropped_masks() -> None:
    image, mask = torch.ones(4, 3, 20, 30), torch.full((4, 1, 20, 30), 5)
    for build in (K.RandomCoarseDropout, K.RandomGridDropout):
        for fill, args, expected in ((None, None, None), (255, None, 255), (None, {"mask": {"fill": -1}}, -1)):
            op = build(fill=0.5, mask_fill=fill, p=1.0)
            container = K.AugmentationSequential(op, data_keys=["image", "mask"], extra_args=args)
            output, moved = container(image, mask)
            dropped = output[:, :1] == 0.5
            assert dropped.flatten(1).any(1).all()
            assert torch.equal(moved, mask if expected is None else torch.where(dropped, expected, mask))


def test_dropped_pixels_by_channel_and_noise() -> None:
    image = torch.full((4, 3, 20, 30), 2.0)
    for build in (K.RandomCoarseDropout, K.RandomGridDropout):
        coloured = build(fill=(0.1, 0.2, 0.3), p=1.0)(image)
        changed = coloured[:, 0] != 2
        assert_close(coloured.movedim(1, -1)[changed], torch.tensor([0.1, 0.2, 0.3]).expand(int(changed.sum()), 3))
        op = build(fill="noise", p=1.0)
        noisy = op(image)
        dropped = (noisy != 2).all(1, keepdim=True).expand_as(noisy)
        assert torch.equal(noisy, torch.where(dropped, op._params["noise"], image))
        assert noisy[dropped].std() > 0.2
        with pytest.raises(ValueError, match="fill"):
            build(fill=(0.1, 0.2), p=1.0)(image)


def test_a_grid_drops_its_share() -> None:
    op = K.RandomGridDropout(0.5, (8, 8), p=1.0)
    output = op(torch.ones(32, 1, 64, 64))
    assert_close(output.mean((1, 2, 3)), torch.full((32,), 0.75))
    assert len({tuple(o.tolist()) for o in torch.stack([op._params["offset_x"], op._params["offset_y"]], 1)}) > 8
    still = K.RandomGridDropout(0.5, (8, 8), random_offset=False, p=1.0)(torch.ones(1, 1, 64, 64))
    assert not still[..., :4, :4].any() and still[..., 4:8, :].all() and still[..., :, 4:8].all()


# -------------------------------------------------------------------------------------------------------------- noises


def test_rates_of_salt_and_pepper() -> None:
    image = torch.full((16, 3, 100, 100), 0.5)
    output = K.RandomSaltAndPepperNoise(0.2, 0.7, p=1.0)(image)
    assert torch.equal(output[:, 0], output[:, 1])
    n = 16 * 100 * 100
    for value, rate in ((1, 0.14), (0, 0.06), (0.5, 0.8)):
        found = (output[:, 0] == value).float().mean().item()
        assert abs(found - rate) < 5 * math.sqrt(rate * (1 - rate) / n)
    whole = K.RandomSaltAndPepperNoise(1.0, 1.0, p=1.0)(image.mul(255).to(torch.uint8))
    assert whole.unique().tolist() == [255]


@pytest.mark.parametrize("photons", [20.0, 60.0])
def test_mean_and_variance_of_photons(photons: float) -> None:
    """A count of mean x s and variance x s, divided by s, has the mean x and the variance x / s."""
    n = 400_000
    for x in (0.3, 0.5):
        output = K.RandomShotNoise((photons, photons), p=1.0)(torch.full((1, 1, 500, n // 500), x))
        variance = x / photons
        assert abs(output.mean().item() - x) < 5 * math.sqrt(variance / n) + 2e-3  # what the cut takes away
        assert abs(output.var().item() / variance - 1) < 5 * math.sqrt(2 / n) + 0.02
    dark = K.RandomShotNoise(p=1.0)(torch.zeros(2, 3, 9, 9))
    assert dark.abs().max() < 1e-3


def test_sensor_noise_keeps_the_saturation_and_lights_by_its_mean() -> None:
    half = torch.zeros(1, 3, 300, 400)
    half[..., :200], half[..., 200:] = 0.3, 0.5  # lightness with a deviation of 0.1
    op = K.RandomISONoise((0.0, 0.0), (0.4, 0.4), p=1.0)
    output = op(half)
    assert_close(output[:, 0], output[:, 1])  # gray has no hue, and stays gray
    count = 255 * 0.4 * 0.1
    for part, level in ((output[..., :200], 0.3), (output[..., 200:], 0.5)):
        share = (part[:, 0] - level) / (1 - level) * 255
        n = share.numel()
        assert abs(share.mean().item() - count) < 5 * math.sqrt(count / n) + 0.01
        assert abs(share.var().item() / count - 1) < 5 * math.sqrt(2 / n) + 0.01
    flat = torch.tensor([0.8, 0.3, 0.2]).view(1, 3, 1, 1).expand(1, 3, 50, 50)
    turned = K.RandomISONoise((1.0, 1.0), (0.5, 0.5), p=1.0)(flat)
    assert_close(turned.amax(1), flat.amax(1), atol=1e-3, rtol=0)  # no deviation, no light; only the hue turns
    assert_close(turned.amin(1), flat.amin(1), atol=1e-3, rtol=0)
    assert turned.std((0, 2, 3)).min() > 0.1


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


# ----------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    "build, error, name",
    [
        (lambda: K.RandomFisheye(0.3, (0.0, 0.1), (1.0, 1.0)), ValueError, "center_x"),
        (lambda: K.RandomFisheye((0.0, 0.1), (0.0, 0.1), (-1.0, 1.0)), ValueError, "gamma"),
        (lambda: K.RandomThinPlateSpline(-0.1), ValueError, "scale"),
        (lambda: K.RandomThinPlateSpline(padding_mode="wrap"), ValueError, "padding_mode"),
        (lambda: K.RandomGridDistortion(0), ValueError, "num_steps"),
        (lambda: K.RandomGridDistortion(distort_limit=1.5), ValueError, "distort_limit"),
        (lambda: K.RandomCoarseDropout((0, 2)), ValueError, "num_holes_range"),
        (lambda: K.RandomCoarseDropout((0.1, 0.2)), ValueError, "num_holes_range"),
        (lambda: K.RandomCoarseDropout((1, 2), (3, 0.5)), ValueError, "hole_height_range"),
        (lambda: K.RandomCoarseDropout((1, 2), (0.1, 0.2), (0.5, 1.5)), ValueError, "hole_width_range"),
        (lambda: K.RandomCoarseDropout(fill="random"), ValueError, "fill"),
        (lambda: K.RandomCoarseDropout(fill=2.0), ValueError, "fill"),
        (lambda: K.RandomCoarseDropout(mask_fill="x"), TypeError, "mask_fill"),
        (lambda: K.RandomGridDropout(1.5), ValueError, "ratio"),
        (lambda: K.RandomGridDropout(0.5, (1, 4)), ValueError, "unit_size_range"),
        (lambda: K.RandomISONoise((0.0, 2.0)), ValueError, "color_shift"),
        (lambda: K.RandomISONoise(intensity=(-1.0, 1.0)), ValueError, "intensity"),
        (lambda: K.RandomShotNoise((0.0, 1.0)), ValueError, "scale"),
        (lambda: K.RandomSaltAndPepperNoise(1.5), ValueError, "amount"),
        (lambda: K.RandomSaltAndPepperNoise(salt_vs_pepper=(0.6, 0.4)), ValueError, "salt_vs_pepper"),
    ],
)
def test_constructors_refuse_by_name(build: Any, error: type[Exception], name: str) -> None:
    with pytest.raises(error, match=rf"^{name}"):
        build()


def test_calls_refuse_by_name() -> None:
    image, state = picture(2), torch.get_rng_state()
    with pytest.raises(ValueError, match=r"RandomCoarseDropout: hole_height_range: .* the 17 pixels .* got 18"):
        K.RandomCoarseDropout((1, 2), (3, 18), (3, 18), p=1.0)(image)
    assert torch.equal(torch.get_rng_state(), state)  # before any draw
    with pytest.raises(ValueError, match="RandomISONoise: input: expected 1 or 3 channels, got 4"):
        K.RandomISONoise(p=1.0)(picture(2, 4))
    with pytest.raises(ValueError, match="RandomCoarseDropout: params"):
        K.RandomCoarseDropout().covered_boxes(torch.zeros(1, 1, 4))
    op = K.RandomSaltAndPepperNoise(p=1.0)
    op(image)
    with pytest.raises(TypeError, match="mask_salt"):
        op(image, params={**op._params, "mask_salt": op._params["mask_salt"].float()})
    with pytest.raises(ValueError, match="mask_pepper"):
        op(image, params={**op._params, "mask_pepper": op._params["mask_pepper"][..., :5]})
