"""Dropouts: what their definitions promise beyond the references."""

import math
from typing import Any

import pytest
import torch
from torch import nn
from torch.testing import assert_close

import augment as K
from tests.support.helpers import picture
from tests.support.known import pixels


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


@pytest.mark.parametrize(
    "build, error, name",
    [
        (lambda: K.RandomCoarseDropout((0, 2)), ValueError, "num_holes_range"),
        (lambda: K.RandomCoarseDropout((0.1, 0.2)), ValueError, "num_holes_range"),
        (lambda: K.RandomCoarseDropout((1, 2), (3, 0.5)), ValueError, "hole_height_range"),
        (lambda: K.RandomCoarseDropout((1, 2), (0.1, 0.2), (0.5, 1.5)), ValueError, "hole_width_range"),
        (lambda: K.RandomCoarseDropout(fill="random"), ValueError, "fill"),
        (lambda: K.RandomCoarseDropout(fill=2.0), ValueError, "fill"),
        (lambda: K.RandomCoarseDropout(mask_fill="x"), TypeError, "mask_fill"),
        (lambda: K.RandomGridDropout(1.5), ValueError, "ratio"),
        (lambda: K.RandomGridDropout(0.5, (1, 4)), ValueError, "unit_size_range"),
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


@pytest.mark.parametrize(
    "op",
    [
        K.RandomErasing(scale=(0.1, 0.3), value=1.0, p=1.0),
        K.RandomCoarseDropout((1, 1), (0.2, 0.5), (0.2, 0.5), fill=1.0, p=1.0),
        K.RandomGridDropout(unit_size_range=(64, 64), fill=1.0, random_offset=False, p=1.0),
    ],
    ids=lambda op: type(op).__name__,
)
@pytest.mark.parametrize("size", [(32, 32), (32, 128)])
def test_dropped_regions_on_a_pyramid(op: nn.Module, size: tuple[int, int]) -> None:
    """#974: parameters drawn at one size drop the same share of the image at another."""
    first = op(torch.zeros(8, 1, 64, 64))
    second = op(torch.zeros(8, 1, *size), params=op._params)
    scale = torch.tensor(size) / 64
    for before, after in zip(first[:, 0], second[:, 0], strict=True):
        ends = [torch.stack([where.amin(0), where.amax(0) + 1]) for where in (before.nonzero(), after.nonzero())]
        assert (ends[0] * scale - ends[1]).abs().max() <= 1
