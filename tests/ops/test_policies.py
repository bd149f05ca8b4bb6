"""Policies: operations drawn for every image, their magnitudes, and what becomes of labels."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing import assert_close

import augment as K
from augment.kernels.policy import maths as policy
from augment.kernels.warp import maths as resample
from augment.policies import OPERATIONS, table
from augment.testing import Case
from tests.contract import test_contract, test_devices
from tests.support.compiled import compiled_like_eager
from tests.support.helpers import Log, assert_params_close, call_seeded, graphs, picture
from tests.support.policies import SPACES, fixed

CASES = [
    Case("RandAugment", K.RandAugment, {}),
    Case("TrivialAugment", K.TrivialAugment, {}),
    Case("TrivialAugmentWide", K.TrivialAugmentWide, {"interpolation": "bilinear", "fill": 0.5}),
    Case("AutoAugment", K.AutoAugment, {"policy": "svhn"}),
    Case("AugMix", K.AugMix, {}),
]
MOVES = [("rotate", -40.0, 40.0), ("shear_x", -0.3, 0.3), ("shear_y", -0.3, 0.3), ("translate_x", -0.2, 0.2)]
KEYS = ["image", "mask", "bbox_xyxy", "keypoints"]


def each(cases: list[Case] = CASES):
    return pytest.mark.parametrize("case", cases, ids=repr)


def sample(b: int = 4, size: tuple[int, int] = (24, 31), dtype: torch.dtype = torch.float32) -> list[Tensor]:
    """Give a value for each of KEYS."""
    height, width = size
    points = torch.rand(b, 3, 2, generator=torch.Generator().manual_seed(3)) * torch.tensor([width - 9.0, height - 9.0])
    mask = torch.randint(0, 9, (b, 1, *size), generator=torch.Generator().manual_seed(4))
    return [picture(b, 3, size, dtype), mask, torch.cat([points, points + 7], -1), points]


# ------------------------------------------------------------------------------------------------------------- contract

CHECKS = [
    test_contract.test_changes_image,
    test_contract.test_gate,
    test_contract.test_gate_handed_in_at_p_one,
    test_contract.test_closed_rows_pass_the_gradient_through,
    test_contract.test_p_zero_is_the_identity,
    test_contract.test_replay,
    test_contract.test_parameters_drawn_ahead,
    test_contract.test_row_independence,
    test_contract.test_same_on_batch,
    test_contract.test_autocast,
    test_contract.test_layout,
    test_contract.test_seed,
    test_contract.test_hygiene,
    test_contract.test_bad_input,
    test_devices.test_work_is_not_done_row_by_row,
]


@each()
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("test_"))
def test_contract_of_ops(check: Any, case: Case) -> None:
    check(case)


@each()
def test_shapes(case: Case) -> None:
    for b in (0, 1, 3):
        test_contract.test_cardinality(case, b)
    for size in ((1, 31), (31, 1), (2, 2), (40, 29)):
        test_contract.test_odd_sizes(case, size)
    for keepdim in (True, False):
        for rank in (2, 3, 4):
            test_contract.test_rank(case, keepdim, rank)
    for p in (0.0, 0.5, 1.0):
        test_contract.test_aliasing(case, p)
    test_contract.test_rate(case, 0.25)


@each()
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.uint8])
def test_dtype_is_kept(case: Case, dtype: torch.dtype) -> None:
    image = picture(16, dtype=dtype)
    output = case()(image)
    assert output.dtype == dtype and output.double().isfinite().all()
    assert dtype == torch.uint8 or (output.min() >= 0 and output.max() <= 1)


@each()
@pytest.mark.parametrize("p", [0.5, 1.0])
def test_compiled(case: Case, p: float, optimizer: str) -> None:
    image = (picture(4) * 0.9 + 0.05).requires_grad_() if p < 1 else picture(4)
    compiled_like_eager(case(p=p), image, optimizer)
    compiled_like_eager(case(p=p), picture(4, dtype=torch.uint8), optimizer)


@each()
@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
def test_compiled_with_labels(case: Case, dtype: torch.dtype, optimizer: str) -> None:
    container = K.AugmentationSequential(K.RandomHorizontalFlip(), case(p=0.5), data_keys=KEYS)
    compiled, values = torch.compile(container, fullgraph=True, backend=optimizer), sample(dtype=dtype)
    call_seeded(compiled, *values)
    once = graphs()
    for seed in range(20):
        outputs = call_seeded(compiled, *values, seed=seed)
        params = container._params
        expected = call_seeded(container, *values, seed=seed)
        assert_params_close(params, container._params)
        for got, want in zip(outputs, expected, strict=True):
            assert_close(got.double(), want.double(), atol=1 if got.dtype == torch.uint8 else 1e-4, rtol=1e-4)
    assert graphs() == once


@each()
@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
def test_on_a_pretended_gpu(case: Case, dtype: torch.dtype, pretended: FakeTensorMode) -> None:
    container = K.AugmentationSequential(case(p=0.5), data_keys=KEYS)
    with pretended:
        values = [v.cuda() for v in sample(dtype=dtype)]
        with Log() as log:
            outputs = container(*values)
    assert all(v.is_cuda for v in outputs) and not +log.copied


def test_every_operation_has_its_kernels() -> None:
    """Every operation has a formula and a place in a published space or in kornia's."""
    done = {"identity", *policy.GEOMETRIC}
    assert set(OPERATIONS) == done | {"equalize", *policy.FLOATING}
    assert set(OPERATIONS) == set().union(*SPACES.values()) | {"solarize_add"}


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_rows_are_the_batch(dtype: torch.dtype, mode: str) -> None:
    image = picture(len(OPERATIONS), dtype=dtype)
    image[:, 0] = image[:, 0] // 2 + 9 if dtype == torch.uint8 else image[:, 0] * 0.5 + 0.1
    strength = {"rotate": 20.0, "translate_x": 4.0, "translate_y": -3.0, "posterize": 3.0, "solarize": 0.6}
    magnitude = torch.tensor([[strength.get(name, 0.3)] for name in OPERATIONS])
    op = K.RandAugment(1, interpolation=mode, fill=0.4)
    params = {"operation": torch.arange(len(OPERATIONS)).unsqueeze(1), "magnitude": magnitude}
    back = torch.stack([warp.inverse().matrix for warp in op.warps(image, params)], 1)[:, 0]
    fill = [0.4 * (255 if dtype == torch.uint8 else 1)]
    whole = policy.apply_batch(image, params["operation"][:, 0], magnitude[:, 0], back, resample.MODES[mode], fill)
    assert whole.dtype == dtype
    assert_close(op(image, params=params).double(), whole.double(), atol=1 if dtype == torch.uint8 else 1e-5, rtol=0)


@pytest.mark.parametrize("name", sorted(set(OPERATIONS) - {"equalize"}))
def test_gradients_of_images(name: str) -> None:
    image = picture(1, 3, (5, 6), torch.float64) * 0.6 + 0.2
    strength = {"rotate": 20.0, "translate_x": 2.0, "translate_y": -1.0, "posterize": 3.0, "solarize": 0.51}
    for mode in ("nearest", "bilinear"):
        op, params = fixed(name, strength.get(name, 0.3), interpolation=mode)
        assert torch.autograd.gradcheck(
            lambda x, op=op, params=params: op(x, params=params), (image.clone().requires_grad_(),), atol=1e-4
        )
    if name != "posterize":
        leaf = picture(4).requires_grad_()
        _, params = fixed(name, strength.get(name, 0.3), 4)
        K.RandAugment(1)(leaf, params=params).square().sum().backward()
        assert leaf.grad.abs().sum() > 0


# --------------------------------------------------------------------------------------------------------------- labels


def moved(n: int = 2, **options: Any) -> K.AugmentationSequential:
    return K.AugmentationSequential(K.RandAugment(n, 20, MOVES, **options), data_keys=KEYS)


def test_masks_move_as_images_do() -> None:
    _, mask, boxes, points = sample(16)
    image, labels, _, _ = moved(3)(mask.to(torch.uint8), mask, boxes, points)
    assert torch.equal(image.long(), labels)
    assert not torch.equal(labels, mask)


def test_points_and_boxes_follow_the_pixels() -> None:
    b, height, width = 24, 60, 80
    points = torch.rand(b, 1, 2, generator=torch.Generator().manual_seed(1)) * 20 + torch.tensor([30.0, 20])
    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    blob = torch.exp(-((x - points[..., :1].unsqueeze(-1)) ** 2 + (y - points[..., 1:].unsqueeze(-1)) ** 2) / 8)
    boxes = torch.cat([points - 2.5, points + 3.5], -1)
    inside = (x >= boxes[..., 0, None, None] - 0.5) & (x < boxes[..., 2, None, None] - 0.5)
    inside &= (y >= boxes[..., 1, None, None] - 0.5) & (y < boxes[..., 3, None, None] - 0.5)
    container = moved(2, interpolation="bilinear")
    image, mask, enclosing, after = container(blob, inside.view(b, 1, height, width), boxes, points)
    weight = image / image.sum((2, 3), keepdim=True)
    centre = torch.stack([(weight * x).sum((1, 2, 3)), (weight * y).sum((1, 2, 3))], 1)
    assert_close(after[:, 0], centre, atol=0.3, rtol=0)
    for row, (x1, y1, x2, y2) in zip(mask[:, 0], enclosing[:, 0], strict=True):
        rows, columns = row.any(1).nonzero(), row.any(0).nonzero()
        assert x1 - 1 <= columns.min() and columns.max() + 1 <= x2 + 1
        assert y1 - 1 <= rows.min() and rows.max() + 1 <= y2 + 1
    assert_close(container.inverse(image, mask, enclosing, after)[3], points, atol=1e-3, rtol=0)
    matrix = container.transform_matrix
    assert_close((matrix[:, :2, :2] @ points[:, 0].unsqueeze(2)).squeeze(2) + matrix[:, :2, 2], after[:, 0])


def test_colours_leave_labels_alone() -> None:
    values = sample(16)
    ranges = [("solarize", 0.0, 1.0), ("equalize", 0, 1), ("color", 0.1, 1.9)]
    for op in (K.RandAugment(2, 9, ranges), K.AugMix()):
        container = K.AugmentationSequential(op, data_keys=KEYS)
        image, *labels = container(*values)
        assert not torch.equal(image, values[0])
        assert all(torch.equal(a, b) for a, b in zip(labels, values[1:], strict=True))
        assert torch.equal(op.transform_matrix, torch.eye(3).expand(16, 3, 3))


def test_shifts_are_undone() -> None:
    image = picture(8, size=(30, 40))
    image[..., :8], image[..., -8:] = 0, 0
    op = K.RandAugment(1, 30, [("translate_x", -0.2, 0.2)])
    assert torch.equal(op.inverse(op(image)), image)


def test_nested_policies_replay() -> None:
    inner = K.AugmentationSequential(K.RandAugment(p=0.7), K.AugMix(p=0.5))
    container = K.AugmentationSequential(K.AutoAugment("svhn"), inner, K.TrivialAugmentWide(), data_keys=KEYS)
    values = sample(8)
    outputs = container(*values)
    again = container(*values, params=container._params)
    assert all(torch.equal(a, b) for a, b in zip(outputs, again, strict=True))


def test_fill() -> None:
    image = torch.zeros(4, 3, 20, 20, dtype=torch.uint8)
    op = K.RandAugment(1, 30, [("translate_x", -0.5, 0.5), ("rotate", -30, 30)], fill=(0.2, 0.4, 0.6))
    output = op(image)
    assert [set(output[:, c].unique().tolist()) for c in range(3)] == [{0, 51}, {0, 102}, {0, 153}]
    assert torch.equal(op(image, params=op._params, fill=None), image)


# --------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: K.AutoAugment("coco"), ValueError, r"policy: expected one of \['imagenet', 'cifar10', 'svhn'\]"),
        (lambda: K.AutoAugment([[("twist", 0.5, 3)]]), ValueError, r"policy\[0\]\[0\]: expected one of .*'rotate'"),
        (lambda: K.AutoAugment([[("rotate", 1.5, 3)]]), ValueError, r"policy\[0\]\[0\]: rotate: probability"),
        (lambda: K.AutoAugment([[("rotate", 0.5, 10)]]), ValueError, r"\[0\]\[0\]: rotate: expected a bin in 0..9"),
        (lambda: K.AutoAugment([[("rotate", 0.5, None)]]), ValueError, r"\[0\]\[0\]: rotate: expected a bin in 0..9"),
        (lambda: K.AutoAugment([]), ValueError, "policy: expected one of"),
        (lambda: K.AutoAugment([("rotate", 0.5, 3)]), TypeError, r"policy\[0\]\[0\]: expected \(name, prob"),
        (lambda: K.RandAugment(policy=[[("twist", 0, 1)]]), ValueError, r"policy\[0\]: expected one of .*'rotate'"),
        (lambda: K.RandAugment(policy="imagenet"), TypeError, "policy: expected None or a list"),
        (lambda: K.TrivialAugment([("rotate", 0)]), TypeError, r"policy\[0\]: expected \(name, low, high\)"),
        (lambda: K.RandAugment(policy=[("rotate", "a", 1)]), TypeError, r"policy\[0\]: limit"),
        (lambda: K.RandAugment(0), ValueError, "n: expected a whole number >= 1"),
        (lambda: K.RandAugment(2, 31), ValueError, "m: expected a bin below num_magnitude_bins = 31, got 31"),
        (lambda: K.RandAugment(2, -1), ValueError, "m: expected a whole number >= 0"),
        (lambda: K.TrivialAugmentWide(1), ValueError, "num_magnitude_bins: expected a whole number >= 2"),
        (lambda: K.RandAugment(interpolation="box"), ValueError, "interpolation: expected one of"),
        (lambda: K.RandAugment(transformation_matrix_mode="none"), ValueError, "transformation_matrix_mode: expected"),
        (lambda: K.AugMix(11), ValueError, "severity: expected a whole number in 1..10, got 11"),
        (lambda: K.AugMix(chain_depth=0), ValueError, "chain_depth: expected a positive number"),
        (lambda: K.AugMix(alpha=0.0), ValueError, "alpha: expected"),
        (lambda: K.RandAugment()(picture(1), params=fixed("rotate", 1.0)[1]), ValueError, r"operation.*shape \(1, 2\)"),
        (lambda: K.RandAugment(1)(picture(1), params={**fixed("rotate", 1.0)[1], "operation": torch.tensor([[99]])}),
         RuntimeError, "operation: expected whole numbers in 0..15"),
        (lambda: K.RandAugment(1)(picture(1), params=fixed("posterize", 9.0)[1]), RuntimeError, "expected 0..8 bits"),
    ],
)  # fmt: skip
def test_errors(build: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build()


# the least and the most that a range of a policy of one's own may hold, and what lies just beside
RANGES = {
    "shear_x": (-10, 10, 1e-3),
    "shear_y": (-10, 10, 1e-3),
    "translate_x": (-1, 1, 1e-3),
    "translate_y": (-1, 1, 1e-3),
    "rotate": (-360, 360, 0.1),
    "brightness": (0, 1e6, 1e-3),
    "color": (0, 1e6, 1e-3),
    "contrast": (0, 1e6, 1e-3),
    "sharpness": (0, 1e6, 1e-3),
    "posterize": (0, 8, 0.1),
    "solarize": (0, 1, 1e-3),
    "solarize_add": (-1, 1, 1e-3),
}
POLICIES = {"RandAugment": lambda policy: K.RandAugment(1, 5, policy=policy), "TrivialAugment": K.TrivialAugment}
each_policy = pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)


@each_policy
@pytest.mark.parametrize("name", OPERATIONS)
def test_ranges_are_held(make: Any, name: str) -> None:
    image = picture(2)
    if name not in RANGES:  # no strength, whatever is written
        assert make([(name, -30, 7)])(image).shape == image.shape
        return
    low, high, step = RANGES[name]
    assert make([("identity", 0, 1), (name, low, high)])(image).shape == image.shape
    wrong = [(low - step, high), (low - 2 * step, low - step), (high, low), (low + 2 * step, low + step)]
    wrong += [(low, high + step), (high + step, high + 2 * step)] if high < 1e6 else []
    for bad in wrong:
        with pytest.raises(ValueError, match=rf"^policy\[1\]: {name}: expected {low} <= low <= high <= .*; got \("):
            make([("identity", 0, 1), (name, *bad)])
    for bad in ((math.nan, high), (low, math.inf)):
        with pytest.raises(ValueError, match=rf"^policy\[1\]: limit of {name}: expected a finite number"):
            make([("identity", 0, 1), (name, *bad)])


@each_policy
def test_a_range_that_is_refused_says_what_came(make: Any) -> None:
    text = r"policy\[0\]: posterize: expected 0 <= low <= high <= 8, in bits; got \(-30, -20\)"
    with pytest.raises(ValueError, match=text):
        make([("posterize", -30, -20)])


@pytest.mark.parametrize("name", table.AUTO)
def test_steps_of_sub_policies_are_held(name: str) -> None:
    known = [("rotate", 0.5, 3)]
    for p in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match=rf"^policy\[1\]\[0\]: {name}: probability: expected"):
            K.AutoAugment([known, [(name, p, 3)]])
    for level in (-1, 10, 2.5, True) if table.AUTO[name] != table.Entry() else ():
        with pytest.raises(ValueError, match=rf"^policy\[1\]\[0\]: {name}: expected a bin in 0\.\.9, got"):
            K.AutoAugment([known, [(name, 0.5, level)]])
