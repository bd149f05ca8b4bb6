"""Policies: operations drawn for every image, their magnitudes, and what becomes of labels."""

import inspect
import math
from typing import Any

import pytest
import test_contract
import torch
from helpers import assert_params_close, call_seeded, graphs, picture
from scipy import stats
from test_dynamo import compiled_like_eager, test_dynamo_gradient
from torch import Tensor
from torch.testing import assert_close

import augment as K
from augment.functional import policy, resample
from augment.native.quantile import log_gamma_quantile
from augment.policies import OPERATIONS, table
from augment.policies.table import Magnitudes
from augment.testing import Case

CASES = [
    Case("RandAugment", K.RandAugment, {}),
    Case("TrivialAugment", K.TrivialAugment, {}),
    Case("TrivialAugmentWide", K.TrivialAugmentWide, {"interpolation": "bilinear", "fill": 0.5}),
    Case("AutoAugment", K.AutoAugment, {"policy": "svhn"}),
    Case("AugMix", K.AugMix, {}),
]
SPACES = {"RandAugment": table.RAND, "TrivialAugmentWide": table.WIDE, "AutoAugment": table.AUTO, "AugMix": table.MIX}
THEIRS = {
    "Identity": "identity",
    "AutoContrast": "auto_contrast",
    **{f"{kind}{axis}": f"{kind.lower()}_{axis.lower()}" for kind in ("Shear", "Translate") for axis in "XY"},
    **{name: name.lower() for name in ("Rotate", "Posterize", "Solarize", "Equalize", "Invert")},
    **{name: name.lower() for name in ("Brightness", "Color", "Contrast", "Sharpness")},
}
OURS = {ours: theirs for theirs, ours in THEIRS.items()}
MOVES = [("rotate", -40.0, 40.0), ("shear_x", -0.3, 0.3), ("shear_y", -0.3, 0.3), ("translate_x", -0.2, 0.2)]
KEYS = ["image", "mask", "bbox_xyxy", "keypoints"]


def each(cases: list[Case] = CASES):
    return pytest.mark.parametrize("case", cases, ids=repr)


def fixed(name: str, magnitude: float, b: int = 1, **options: Any) -> tuple[K.RandAugment, dict[str, Tensor]]:
    """Give a policy of one step, and parameters that say which."""
    params = {
        "operation": torch.full((b, 1), OPERATIONS.index(name)),
        "magnitude": torch.full((b, 1), magnitude),
    }
    return K.RandAugment(n=1, **options), params


def level_of(name: str, space: dict[str, table.Entry], bins: int, i: int, size: tuple[int, int]) -> float:
    """Give the magnitude of a bin, with the positive sign."""
    entry = list(space).index(name)
    magnitudes = Magnitudes(list(space.items()), bins)
    operation, magnitude = magnitudes(torch.tensor([entry]), torch.tensor([i]), torch.tensor([0.9]), size)
    assert OPERATIONS[int(operation)] == name
    return magnitude.item()


def sample(b: int = 4, size: tuple[int, int] = (24, 31), dtype: torch.dtype = torch.float32) -> list[Tensor]:
    """Give a value for each of KEYS."""
    height, width = size
    points = torch.rand(b, 3, 2, generator=torch.Generator().manual_seed(3)) * torch.tensor([width - 9.0, height - 9.0])
    mask = torch.randint(0, 9, (b, 1, *size), generator=torch.Generator().manual_seed(4))
    return [picture(b, 3, size, dtype), mask, torch.cat([points, points + 7], -1), points]


# --------------------------------------------------------------------------------------------- the same as torchvision


@pytest.fixture
def theirs() -> Any:
    return pytest.importorskip("torchvision.transforms.v2")


@pytest.mark.parametrize("name", SPACES)
def test_magnitudes_are_those_of_torchvision(name: str, theirs: Any) -> None:
    spaces = {"AugMix": [10], "AutoAugment": [10]}
    expected = getattr(theirs, name)._AUGMENTATION_SPACE
    assert {THEIRS[key] for key in expected} == set(SPACES[name]) - ({"identity"} if name == "AutoAugment" else set())
    for bins in spaces.get(name, [5, 11, 31]):
        magnitudes = Magnitudes(list(SPACES[name].items()), bins)
        for size in [(h, 331 * h % 700 + 1) for h in range(1, 1000, 37)] + [(331, 662), (224, 224), (27, 54)]:
            for i, (key, entry) in enumerate(SPACES[name].items()):
                levels, signed = expected.get(OURS[key], (lambda *_: None, False))
                assert signed == entry.signed
                want = levels(bins, *size)
                want = torch.zeros(bins) if want is None else want.float()
                want = want.trunc() if key.startswith("translate") else want  # as theirs does when it shifts
                _, got = magnitudes(torch.full((bins,), i), torch.arange(bins), torch.full((bins,), 0.9), size)
                assert_close(got, want, atol=1e-6, rtol=1e-6)
                _, got = magnitudes(torch.full((bins,), i), torch.arange(bins), torch.full((bins,), 0.1), size)
                assert_close(got, -want if signed else want, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("name", table.SUB_POLICIES)
def test_sub_policies_are_those_of_torchvision(name: str, theirs: Any) -> None:
    expected = theirs.AutoAugment(theirs.AutoAugmentPolicy(name))._policies
    found = [[(OURS[op], p, level) for op, p, level in steps] for steps in table.SUB_POLICIES[name]]
    assert found == [list(pair) for pair in expected]
    assert table.read_sub_policies(theirs.AutoAugmentPolicy(name)) is table.SUB_POLICIES[name]


def apply_theirs(theirs: Any, image: Tensor, name: str, magnitude: float, mode: str = "nearest") -> Tensor:
    policy = theirs.RandAugment()
    return policy._apply_image_or_video_transform(
        image, OURS[name], magnitude, interpolation=theirs.InterpolationMode(mode), fill={torch.Tensor: None}
    )


def near_halves(name: str, magnitude: float, height: int, width: int) -> Tensor:
    """Say which pixels of the output come from so near between two that rounding errors choose."""
    y, x = torch.meshgrid(torch.arange(height).double(), torch.arange(width).double(), indexing="ij")
    cx, cy = (width - 1) / 2, (height - 1) / 2
    cos, sin = math.cos(math.radians(magnitude)), math.sin(math.radians(magnitude))
    at = {
        "shear_x": (x + magnitude * (y + 0.5), y),
        "shear_y": (x, y + magnitude * (x + 0.5)),
        "rotate": (cx + cos * (x - cx) - sin * (y - cy), cy + sin * (x - cx) + cos * (y - cy)),
    }[name]
    return torch.stack([(p - p.floor() - 0.5).abs() < 1e-3 for p in at]).any(0)


# torchvision cuts the decimals of bytes off where we round, and those of the luma and of the smoothed image before
LEVELS_APART = {"brightness": 1, "auto_contrast": 1, "color": 2, "contrast": 2, "sharpness": 2}


@pytest.mark.parametrize("name", table.AUTO)
@pytest.mark.parametrize("i", [0, 3, 9, 17, 30])
def test_operations_are_those_of_torchvision(name: str, i: int, theirs: Any) -> None:
    image = picture(1, size=(37, 50), dtype=torch.uint8) // 2 + 20
    for space in (table.AUTO, table.WIDE):
        if name not in space:
            continue
        magnitude = level_of(name, space, 31, i, (37, 50))
        for signed in (magnitude, -magnitude) if space[name].signed else (magnitude,):
            op, params = fixed(name, signed)
            got, expected = op(image, params=params), apply_theirs(theirs, image, name, signed)
            if name in ("shear_x", "shear_y", "rotate"):
                clear = ~near_halves(name, signed, 37, 50)
                assert clear.float().mean() > 0.9
                assert torch.equal(got[..., clear], expected[..., clear])
            else:
                assert_close(got.int(), expected.int(), atol=LEVELS_APART.get(name, 0), rtol=0)


@pytest.mark.parametrize("name", set(table.AUTO) - {"posterize"})  # ours keeps the levels that bytes would have
def test_operations_on_floats_are_those_of_torchvision(name: str, theirs: Any) -> None:
    image = (picture(1, size=(37, 50), dtype=torch.uint8) // 2 + 20).float() / 255
    magnitude = level_of(name, table.RAND | table.AUTO, 31, 9, (37, 50))
    op, params = fixed(name, magnitude, interpolation="bilinear")
    expected = apply_theirs(theirs, image, name, magnitude, "bilinear")
    # they weigh red by 0.2989, we by 0.299
    assert_close(op(image, params=params), expected, atol=1e-4 if name not in ("color", "contrast") else 2e-4, rtol=0)


def test_posterize_keeps_the_levels_of_bytes() -> None:
    image = picture(1, dtype=torch.uint8)
    for bits in range(1, 9):
        op, params = fixed("posterize", float(bits))
        assert torch.equal(op(image, params=params), image & (256 - 2 ** (8 - bits)))
        assert_close(op(image.float() / 255, params=params), op(image, params=params).float() / 255)


def test_mixture_is_that_of_torchvision(theirs: Any) -> None:
    image = picture(1, size=(37, 50), dtype=torch.uint8)
    chains = [[("posterize", 3.0), ("shear_x", 0.1)], [("solarize", 0.6), ("equalize", 0.0)]]
    share = torch.tensor([[0.25, 0.35, 0.4]])
    params = {
        "share": share,
        "operation": torch.tensor([[[OPERATIONS.index(name) for name, _ in chain] for chain in chains]]),
        "magnitude": torch.tensor([[[magnitude for _, magnitude in chain] for chain in chains]]),
    }
    expected = image.float() * 0.25
    for weight, chain in zip((0.35, 0.4), chains, strict=True):
        work = image
        for name, magnitude in chain:
            work = apply_theirs(theirs, work, name, magnitude, "bilinear")
        expected += work.float() * weight
    output = K.AugMix(mixture_width=2, chain_depth=2)(image, params=params)
    assert_close(output.float(), expected, atol=0.5 + 0.36, rtol=0)  # our rounding, and a level in one chain


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
    compiled_like_eager(case(p=p), picture(4), optimizer)
    compiled_like_eager(case(p=p), picture(4, dtype=torch.uint8), optimizer)


@each()
def test_compiled_gradient(case: Case, optimizer: str) -> None:
    test_dynamo_gradient(case, optimizer)


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


def test_opened_in_a_list_of_names() -> None:
    """Every operation has a kernel for floats, one for bytes, and a place in a published space or in kornia's."""
    done = {"identity", "equalize", *policy.GEOMETRIC}
    assert set(OPERATIONS) == done | set(policy.FLOATING) == done | set(policy.BYTES)
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


# -------------------------------------------------------------------------------------------------------------- choices


def even(counts: Tensor, expected: Tensor | None = None) -> bool:
    """Say whether counts look like the expected ones, or like one another."""
    want = torch.full_like(counts, counts.sum() / len(counts)) if expected is None else expected
    return stats.chisquare(counts.numpy(), want.numpy()).pvalue > 1e-4


def drawn(op: Any, n: int = 20000, size: tuple[int, int] = (100, 200)) -> dict[str, Tensor]:
    torch.manual_seed(0)
    return op.forward_parameters((n, 3, *size))


@pytest.mark.parametrize("op", [K.RandAugment(3), K.TrivialAugment(), K.TrivialAugmentWide()])
def test_every_operation_is_as_likely(op: Any) -> None:
    operation = drawn(op)["operation"]
    for step in operation.unbind(1):
        counts = step.bincount(minlength=len(OPERATIONS)).double()
        assert (counts > 0).sum() == 14 and even(counts[counts > 0])
    for first, second in zip(operation.unbind(1), operation.unbind(1)[1:], strict=False):  # and no step knows another
        pairs = (first * len(OPERATIONS) + second).bincount().double()
        assert (pairs > 0).sum() == 14 * 14 and even(pairs[pairs > 0])


def test_every_bin_is_as_likely() -> None:
    params = drawn(K.TrivialAugmentWide(), 60000)
    for name, low, high in (("solarize", 0.0, 1.0), ("rotate", -135.0, 135.0)):
        taken = params["magnitude"][params["operation"] == OPERATIONS.index(name)].double()
        bins = 31 if low == 0 else 61
        counts = ((taken - low) / (high - low) * (bins - 1)).round().long().bincount(minlength=bins).double()
        expected = torch.full((bins,), len(taken) / (31 if low == 0 else 62), dtype=torch.double)
        expected[bins // 2] *= 1 if low == 0 else 2  # zero has no sign
        assert even(counts, expected)


@pytest.mark.parametrize("op", [K.RandAugment(1, 15), K.AutoAugment("cifar10"), K.TrivialAugment()])
def test_signs_are_symmetric(op: Any) -> None:
    params = drawn(op)
    for name in ("rotate", "translate_x", "brightness", "color"):
        taken = params["magnitude"][(params["operation"] == OPERATIONS.index(name)) & (params["magnitude"] != 0)]
        assert len(taken) > 100 and even(torch.stack([(taken > 0).sum(), (taken < 0).sum()]).double())
    if isinstance(op, K.RandAugment):
        angles = params["magnitude"][params["operation"] == OPERATIONS.index("rotate")]
        assert angles.abs().unique().tolist() == [15.0] and len(angles.unique()) == 2


def test_sub_policies_are_as_likely_and_steps_have_their_probability() -> None:
    steps = [("rotate", 0.3, 5), ("invert", 1.0, None), ("equalize", 0.0, None)]
    op = K.AutoAugment([[steps[0], steps[1]], [steps[2], steps[1]], [("solarize", 1.0, 3)]])
    operation = drawn(op)["operation"]
    first, second = operation.unbind(1)
    rotated, solarized = (first == OPERATIONS.index("rotate")).sum(), (first == OPERATIONS.index("solarize")).sum()
    counts = torch.stack([rotated, solarized, (first == 0).sum()]).double()
    n = len(first)
    assert even(counts, torch.tensor([0.3 * n / 3, n / 3, n / 3 * 1.7], dtype=torch.double))
    assert torch.equal(second == 0, first == OPERATIONS.index("solarize"))  # and short ones end early
    shares = drawn(K.AutoAugment("imagenet"))["operation"].flatten().bincount(minlength=len(OPERATIONS)) / n
    wanted = torch.zeros(len(OPERATIONS))
    for pair in table.SUB_POLICIES["imagenet"]:
        for name, p, _ in pair:
            wanted[OPERATIONS.index(name)] += p / 25
    assert_close(shares[1:], wanted[1:], atol=5 * (0.25 / n) ** 0.5, rtol=0)


@pytest.mark.parametrize("alpha", [0.2, 1.0, 5.0])
def test_chains_and_shares_of_mixtures(alpha: float) -> None:
    params = drawn(K.AugMix(alpha=alpha))
    share, length = params["share"].double(), (params["operation"] != 0).sum(2).flatten()
    assert even(length.bincount(minlength=4)[1:].double())
    assert even(
        params["operation"][:, :, 0]
        .flatten()
        .bincount(minlength=len(OPERATIONS))
        .double()[1:][torch.tensor([name in table.MIX for name in OPERATIONS[1:]])]
    )
    assert_close(share.sum(1), torch.ones_like(share[:, 0]), atol=1e-6, rtol=0)
    edges = torch.tensor([0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1.0], dtype=torch.double)
    total = share[:, 1:].sum(1)
    among = (share[:, 1] / total)[total > 0]  # the image may be all there is
    for taken, law in ((share[:, 0], stats.beta(alpha, alpha)), (among, stats.beta(alpha, 2 * alpha))):
        counts = (torch.bucketize(taken.clamp(1e-12, 1), edges) - 1).bincount(minlength=8).double()
        assert even(counts, torch.from_numpy(law.cdf(edges.numpy())).diff() * len(taken))
    magnitude = params["magnitude"][params["operation"] == OPERATIONS.index("posterize")]
    assert magnitude.unique().tolist() == [3, 4]  # of the weakest three bins of ten


def test_quantiles_of_the_gamma_distribution() -> None:
    u = torch.tensor([1e-6, 0.01, 0.3, 0.5, 0.9, 0.999])
    for shape in (0.05, 0.4, 1.0, 3.0, 50.0):
        expected = torch.from_numpy(stats.gamma(shape).ppf(u.double().numpy())).log()
        got = log_gamma_quantile(u, shape)
        assert_close(got.double(), expected, atol=1e-5, rtol=1e-5)


# ------------------------------------------------------------------------------------------------------------- strength


@pytest.mark.parametrize("name", sorted(set(table.RAND) - {"identity", "auto_contrast", "equalize"}))
def test_strength_grows_with_m(name: str) -> None:
    x = torch.linspace(0.1, 0.9, 64).expand(1, 1, 64, 64)
    ramps = torch.cat([x, x.mT, (x + x.mT) / 2], 1) * 0.98 + 0.02 * picture(1, size=(64, 64))
    changes = []
    for m in range(0, 31, 3):
        magnitude = level_of(name, table.RAND, 31, m, (64, 64))
        op, params = fixed(name, magnitude, interpolation="bilinear")
        changes.append((op(ramps, params=params) - ramps).abs().mean().item())
    assert changes[-1] > 0.002
    assert all(after >= before - 1e-3 for before, after in zip(changes, changes[1:], strict=False))
    assert changes[0] < 0.003 and changes[1] <= 0.2 * changes[-1] + 0.003


def test_units() -> None:
    image = picture(2, size=(50, 100))
    op = K.RandAugment(1, 30, [("translate_x", -0.1, 0.1)])
    output = op(image)
    for row, before, shift in zip(output, image, op._params["magnitude"].flatten().int().tolist(), strict=True):
        assert abs(shift) == 10
        assert torch.equal(
            row,
            torch.cat([before.new_zeros(3, 50, 10), before[..., :-10]], -1)
            if shift > 0
            else torch.cat([before[..., 10:], before.new_zeros(3, 50, 10)], -1),
        )
    weak = K.RandAugment(1, 1, [("posterize", 4.0, 8.0)])
    assert_close(weak(image), image, atol=1 / 255, rtol=0)
    assert weak._params["magnitude"].unique().tolist() == [8.0]
    assert K.RandAugment(1, 30, [("posterize", 4, 8)])(image).unique().numel() <= 16
    turn = K.RandAugment(1, 15, [("rotate", -30.0, 30.0)])
    turn(image)
    assert turn._params["magnitude"].abs().unique().tolist() == [15.0]


def test_policies_of_kornia_are_read() -> None:
    auto = pytest.importorskip("kornia.augmentation.auto")
    from kornia.augmentation.auto.rand_augment.rand_augment import default_policy as ranges
    from kornia.augmentation.auto.trivial_augment.trivial_augment import default_policy as trivial

    entries = dict(table.read_space(ranges))
    for name in ("rotate", "shear_x", "color", "contrast", "brightness", "sharpness", "posterize", "solarize"):
        assert entries[name][:2] == pytest.approx(table.RAND[name][:2])
        assert entries[name][2:] == table.RAND[name][2:]
    image = picture(4)
    for op in (K.RandAugment(2, 9, ranges), K.TrivialAugment(trivial), K.AutoAugment([[("shear_x", 0.5, 3)]])):
        assert op(image).shape == image.shape
    for name in ("RandAugment", "AutoAugment", "TrivialAugment"):
        known, expected = (list(inspect.signature(getattr(home, name)).parameters) for home in (K, auto))
        assert known[: len(expected)] == expected
    assert K.auto.RandAugment is K.RandAugment


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
        (lambda: K.AutoAugment([[("rotate", 1.5, 3)]]), ValueError, r"policy\[0\]\[0\]: probability"),
        (lambda: K.AutoAugment([[("rotate", 0.5, 10)]]), ValueError, r"policy\[0\]\[0\]: expected a bin in 0..9"),
        (lambda: K.AutoAugment([[("rotate", 0.5, None)]]), ValueError, r"policy\[0\]\[0\]: expected a bin in 0..9"),
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
