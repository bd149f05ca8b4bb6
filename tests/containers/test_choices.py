"""Containers that choose, for every row, which of their ops run, and in which order."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
import torch
from scipy import stats
from torch import Tensor, nn
from torch.testing import assert_close

import augment as K
from tests.support.choices import KEYS, each, many, values
from tests.support.helpers import graphs, picture

ROWS = 6000


class Digit(K.IntensityAugmentationBase2D):
    """Append a digit to every value, so that what comes out tells which ops ran, in their order."""

    def __init__(self, digit: int, p: float = 1.0) -> None:
        super().__init__(p=p)
        self.digit = digit

    def generate_parameters(self, batch_shape: Any) -> dict[str, Tensor]:
        return {}

    def apply_transform(self, input: Tensor, params: Any, flags: Any, transform: Any = None) -> Tensor:
        return input * 10 + self.digit


class Plain(nn.Module):
    """The same as a module that knows no gate."""

    def __init__(self, digit: int) -> None:
        super().__init__()
        self.digit = digit

    def forward(self, image: Tensor) -> Tensor:
        return image * 10 + self.digit


def told(container: nn.Module, rows: int = ROWS, **options: Any) -> list[str]:
    """Run digits from zero on, and read for every row what ran."""
    output = container(torch.zeros(rows, 1, 2, 3), **options)
    assert (output == output[:, :1, :1, :1]).all()
    return [f"{int(v)}".lstrip("0") for v in output[:, 0, 0, 0].tolist()]


def assert_distributed(found: Sequence[str], expected: Mapping[str, float]) -> None:
    """Require counts that a chi-square test does not tell from those expected."""
    counts = Counter(found)
    assert set(counts) <= {key for key, share in expected.items() if share > 0}
    shares = {key: share for key, share in expected.items() if share > 0}
    assert math.isclose(sum(shares.values()), 1)
    observed = [counts[key] for key in shares]
    assert (
        len(shares) == 1 or stats.chisquare(observed, [share * len(found) for share in shares.values()]).pvalue > 1e-3
    )


def digits(count: int, kind: type[nn.Module] = Digit) -> list[nn.Module]:
    return [kind(i + 1) for i in range(count)]


def without_replacement(weights: Sequence[float], n: int) -> dict[str, float]:
    """Give the probability of every order of n ops, drawn one after the other."""
    shares = {}
    for order in itertools.permutations(range(len(weights)), n):
        left, share = sum(weights), 1.0
        for i in order:
            share *= weights[i] / left
            left -= weights[i]
        shares["".join(str(i + 1) for i in order)] = share
    return shares


def unordered(shares: Mapping[str, float]) -> dict[str, float]:
    total: dict[str, float] = {}
    for order, share in shares.items():
        key = "".join(sorted(order))
        total[key] = total.get(key, 0) + share
    return total


def mixed(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Give the mean of distributions."""
    total: dict[str, float] = {}
    for part in parts:
        for key, share in part.items():
            total[key] = total.get(key, 0) + share / len(parts)
    return total


# ------------------------------------------------------------------------------------------------------- frequencies

WEIGHTS = (0.6, 0.3, 0.1)


@pytest.mark.parametrize("kind", [Digit, Plain])
@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda ops: K.OneOf(*ops), {"1": 1 / 3, "2": 1 / 3, "3": 1 / 3}),
        (lambda ops: K.OneOf(*ops[:2], weights=(0.9, 0.1)), {"1": 0.9, "2": 0.1}),  # kornia #1159
        (lambda ops: K.OneOf(*ops, weights=[2, 0, 6], p=0.5), {"": 0.5, "1": 0.125, "3": 0.375}),
        (lambda ops: K.SomeOf(*ops, n=2), {"12": 1 / 3, "13": 1 / 3, "23": 1 / 3}),
        (lambda ops: K.SomeOf(*ops, n=2, weights=WEIGHTS), unordered(without_replacement(WEIGHTS, 2))),
        (
            lambda ops: K.SomeOf(*ops, n=(0, 3), weights=WEIGHTS),
            mixed([unordered(without_replacement(WEIGHTS, n)) for n in range(4)]),
        ),
        (lambda ops: K.SomeOf(*ops[:2], n=(0, 1)), {"": 0.5, "1": 0.25, "2": 0.25}),
        (
            lambda ops: K.SomeOf(*ops[:2], n=range(1, 3), weights=(0.9, 0.1), replace=True),
            {"1": 0.45, "2": 0.05, "11": 0.405, "12": 0.045, "21": 0.045, "22": 0.005},
        ),
        (lambda ops: K.RandomOrder(*ops), without_replacement((1, 1, 1), 3)),
        (lambda ops: K.RandomOrder(*ops[:2], p=0.5), {"": 0.5, "12": 0.25, "21": 0.25}),
        (lambda ops: K.RandomApply(ops, p=0.3), {"": 0.7, "123": 0.3}),
        (lambda ops: K.RandomApply(ops[0]), {"": 0.5, "1": 0.5}),
        (lambda ops: K.AugmentationSequential(*ops, random_apply=True), without_replacement((1, 1, 1), 3)),
        (
            lambda ops: K.AugmentationSequential(*ops, random_apply=2, random_apply_weights=WEIGHTS),
            without_replacement(WEIGHTS, 2),
        ),
        (
            lambda ops: K.AugmentationSequential(*ops, random_apply=(2,), random_apply_weights=torch.tensor(WEIGHTS)),
            mixed([without_replacement(WEIGHTS, n) for n in (2, 3)]),
        ),
        (
            lambda ops: K.AugmentationSequential(*ops, random_apply=(0, 1)),
            {"": 0.5, "1": 1 / 6, "2": 1 / 6, "3": 1 / 6},
        ),
        (
            lambda ops: K.AugmentationSequential(*ops, random_apply=2, random_apply_weights=(1, 0, 0)),
            {"11": 1.0},  # as in kornia, what has to repeat does
        ),
        (
            lambda ops: K.OneOf(K.AugmentationSequential(ops[0], K.OneOf(*ops[1:])), Digit(4), weights=(0.8, 0.2)),
            {"12": 0.4, "13": 0.4, "4": 0.2},
        ),
    ],
)
def test_frequencies(build: Callable[..., nn.Module], expected: Mapping[str, float], kind: type[nn.Module]) -> None:
    container = build(digits(3, kind))
    assert_distributed(told(container), expected)


def test_ops_keep_their_own_p() -> None:
    assert_distributed(told(K.OneOf(Digit(1, p=0.5), Digit(2, p=1.0))), {"": 0.25, "1": 0.25, "2": 0.5})


def test_replacement_draws_anew() -> None:
    container = K.SomeOf(K.RandomBrightness((0.5, 1.5)), n=2, replace=True)
    container(picture(2))
    first, second = (item.data["brightness_factor"] for item in container._params[1:])
    assert (first != second).all()


def test_probability_can_be_set_anew(optimizer: str) -> None:
    p = torch.tensor(0.0)
    container = K.OneOf(Digit(1), p=p)
    compiled = torch.compile(container, fullgraph=True, backend=optimizer)
    for value in (0.0, 0.4, 1.0):
        p.fill_(value)
        assert_distributed(told(compiled), {"": 1 - value, "1": value})
    assert graphs() == 1


def test_same_on_batch() -> None:
    builds = (
        lambda **o: K.OneOf(*digits(3), **o),
        lambda **o: K.RandomOrder(*digits(3), **o),
        lambda **o: K.SomeOf(*digits(3), n=(0, 2), **o),
        lambda **o: K.AugmentationSequential(*digits(3), random_apply=2, **o),
        lambda **o: K.AugmentationSequential(K.RandomApply(digits(3)), **o),
    )
    for build in builds:
        shared, free = build(same_on_batch=True), build(same_on_batch=False)
        outputs = [set(told(shared, 20)) for _ in range(12)]
        assert all(len(output) == 1 for output in outputs) and len(set.union(*outputs)) > 1
        assert len(set(told(free, 40))) > 1


# --------------------------------------------------------------------------------------------------- rows left alone


def untouched(container: K.AugmentationSequential) -> Tensor:
    return ~container._params[0].data["chosen"].flatten(1).any(1)


@pytest.mark.parametrize("name", sorted(set(many()) - {"sized", "nested"}))
@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
def test_rows_that_are_not_chosen_keep_every_bit(name: str, dtype: torch.dtype) -> None:
    given, container = values(24, dtype), many(data_keys=KEYS)[name]()
    if dtype.is_floating_point:
        given[0][::2] = math.nan
        given[0][1::6] = 1e30
    outputs = container(*given)
    still = untouched(container)
    assert still.any() and not still.all()
    for new, old in zip(outputs, given, strict=True):
        assert torch.equal(new[still].nan_to_num(7), old[still].nan_to_num(7))
        assert not torch.equal(new[~still].nan_to_num(7), old[~still].nan_to_num(7))
    back = container.inverse(*outputs)
    for new, old in zip(back, given, strict=True):
        assert torch.equal(new[still].nan_to_num(7), old[still].nan_to_num(7))


@each
def test_gradient(name: str) -> None:
    image, container = picture(24, size=(12, 16)).requires_grad_(), many()[name]()
    container(image).sum().backward()
    assert image.grad is not None and image.grad.isfinite().all()
    if name not in ("sized", "nested"):
        assert (image.grad[untouched(container)] == 1).all()


def test_gradient_of_rows_that_an_op_cannot_take() -> None:
    image = torch.full((32, 3, 5, 6), -1.0, requires_grad=True)
    container = K.OneOf(K.RandomGamma((0.5, 0.5), p=1.0), K.RandomHorizontalFlip(p=1.0))
    container(image).sum().backward()
    flipped = container._params[0].data["chosen"][:, 0, 1]
    assert flipped.any() and image.grad is not None and (image.grad[flipped] == 1).all()


def test_noise_is_drawn_for_what_was_chosen() -> None:
    container = K.OneOf(K.RandomGaussianNoise(p=1.0), K.RandomHorizontalFlip(p=1.0))
    container(picture(16))
    _, noise, flip = (item.data for item in container._params)
    assert torch.equal(noise["batch_prob"], 1 - flip["batch_prob"])
    drawn = noise["gaussian_noise"].flatten(1).any(1)
    assert torch.equal(drawn, noise["batch_prob"] > 0) and 0 < drawn.sum() < 16


# -------------------------------------------------------------------------------------------------- sizes and modules


def test_one_of_crops() -> None:
    crop, resize = K.RandomCrop((9, 11), p=1.0), K.Resize((9, 11))
    container, given = K.OneOf(crop, resize, data_keys=KEYS, p=0.7), values(24)
    outputs = container(*given)
    chosen = container._params[0].data["chosen"][:, 0]
    alone = [
        K.AugmentationSequential(op, data_keys=KEYS)(*given, params=[K.ParamItem(f"{type(op).__name__}_0", op._params)])
        for op in (crop, resize)
    ]
    assert chosen.any(0).all() and not chosen.any(1).all()
    for output, one, other in zip(outputs, *alone, strict=True):
        rows = chosen[:, 1].view(-1, *(1 for _ in output.shape[1:]))
        assert torch.equal(output, torch.where(rows, other, one))  # without any, as the closed gate of the first
    centre = given[0][:, :, 1:10, 2:13]
    assert torch.equal(outputs[0][~chosen.any(1)], centre[~chosen.any(1)])
    for new, old in zip(container.inverse(*outputs)[2:], given[2:], strict=True):
        assert_close(new, old, atol=1e-4, rtol=0)
    ahead = torch.nn.functional.pad(given[3], (0, 1), value=1.0) @ container.transform_matrix.mT
    assert_close(outputs[3], ahead[..., :2], atol=1e-4, rtol=0)


def test_lists_through_a_choice_of_crops() -> None:
    given = values(6)
    container = K.OneOf(K.RandomCrop((9, 11)), K.Resize((9, 11)), data_keys=KEYS)
    outputs = container(*given)
    lists = container(given[0], *([v[i, : i % 3] for i in range(6)] for v in given[1:]), params=container._params)
    for entries, batch in zip(lists[1:], outputs[1:], strict=True):
        for i, entry in enumerate(entries):
            assert_close(entry, batch[i, : i % 3], atol=1e-5, rtol=0)


def test_sizes_that_do_not_fit() -> None:
    image = picture(2, size=(12, 16))
    with pytest.raises(ValueError, match=r"OneOf: expected ops that give one size; from \(12, 16\) .*RandomCrop_1"):
        K.OneOf(K.RandomHorizontalFlip(), K.RandomCrop((8, 8)))(image)
    several = {
        "RandomOrder": K.RandomOrder(K.RandomHorizontalFlip(), K.CenterCrop((8, 8))),
        "SomeOf": K.SomeOf(K.Resize((8, 8)), K.CenterCrop((8, 8)), n=2),
        "AugmentationSequential": K.AugmentationSequential(K.Resize((8, 8)), K.CenterCrop((8, 8)), random_apply=True),
    }
    for name, container in several.items():
        state = torch.get_rng_state()
        with pytest.raises(
            ValueError, match=rf"{name}: expected ops that keep the size \(12, 16\), or a choice of one"
        ):
            container(image)
        assert torch.equal(state, torch.get_rng_state())
    one = K.OneOf(nn.Identity(), nn.MaxPool2d(2))
    with pytest.raises(
        ValueError, match=r"MaxPool2d: expected a module that keeps .* got \(2, 3, 6, 8\) from \(2, 3, 12, 16\)"
    ):
        one(image)


# ----------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda a, b: K.OneOf(), ValueError, "OneOf: ops: expected at least one"),
        (lambda a, b: K.OneOf(a, 3), TypeError, r"args\[1\]: expected a module, got 3"),
        (lambda a, b: K.OneOf(a, a), ValueError, r"args\[1\]: expected each module once"),
        (
            lambda a, b: K.OneOf(a, b, weights=(1,)),
            ValueError,
            r"weights: expected 2 numbers, .*; got \(1",
        ),
        (
            lambda a, b: K.OneOf(a, b, weights=(2, -1)),
            ValueError,
            r"weights: expected finite .* >= 0.*got \(2, -1",
        ),
        (lambda a, b: K.OneOf(a, b, weights=(0, 0)), ValueError, r"weights: expected .* not all of them 0; got \(0, 0"),
        (lambda a, b: K.OneOf(a, b, weights=(math.nan, 1)), ValueError, "weights: expected finite numbers"),
        (lambda a, b: K.OneOf(a, b, weights="ab"), TypeError, "weights: expected a number"),
        (lambda a, b: K.OneOf(a, b, p=1.5), ValueError, r"p: expected a probability in \[0, 1\], got 1.5"),
        (lambda a, b: K.OneOf(a, b, p="often"), TypeError, "p: expected a probability"),
        (lambda a, b: K.OneOf(a, b, random_apply=1), TypeError, "OneOf: expected no random_apply"),
        (lambda a, b: K.OneOf(a, b, wieghts=1), TypeError, "wieghts"),
        (lambda a, b: K.SomeOf(a, b, n=3), ValueError, "n: expected 0 <= least <= most <= 2, .* got 3"),
        (lambda a, b: K.SomeOf(a, b, n=2, weights=(1, 0)), ValueError, "n: expected 0 <= least <= most <= 1"),
        (lambda a, b: K.SomeOf(a, b, n=-1), ValueError, "n: expected 0 <= least <= most <= 2, .* got -1"),
        (lambda a, b: K.SomeOf(a, b, n=(2, 1)), ValueError, r"n: expected .* got \(2, 1\)"),
        (lambda a, b: K.SomeOf(a, b, n=(3,), replace=True), ValueError, r"n: expected 0 <= least <= most; got \(3,\)"),
        (lambda a, b: K.SomeOf(a, b, n=1.0), TypeError, "n: expected a whole number or a pair"),
        (lambda a, b: K.SomeOf(a, b, n=True), TypeError, "n: expected a whole number"),
        (lambda a, b: K.SomeOf(a, b, n=(1, 2, 2)), TypeError, "n: expected a whole number"),
        (lambda a, b: K.AugmentationSequential(a, random_apply=-1), ValueError, "random_apply: expected .* got -1"),
        (lambda a, b: K.AugmentationSequential(a, random_apply="x"), TypeError, "random_apply: expected"),
        (
            lambda a, b: K.AugmentationSequential(random_apply=1),
            ValueError,
            "random_apply: expected ops to choose",
        ),
        (
            lambda a, b: K.AugmentationSequential(a, random_apply=1, random_apply_weights=(1, 2)),
            ValueError,
            "random_apply_weights: expected 1 numbers",
        ),
        (
            lambda a, b: K.AugmentationSequential(a, random_apply_weights=(1,)),
            ValueError,
            "random_apply_weights: expected None where random_apply is False",
        ),
    ],
)
def test_bad_arguments(build: Callable[..., Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build(K.RandomHorizontalFlip(), K.RandomInvert())


def test_bad_calls() -> None:
    container, given = K.OneOf(K.RandomHorizontalFlip(), K.RandomInvert(), data_keys=KEYS), values()
    for count in (1, 3):
        with pytest.raises(ValueError, match=r"args: expected one value for each of data_keys \['image'.*got"):
            container(*given[:count])
    with pytest.raises(ValueError, match=r"bbox_xyxy: expected 2 to 3 dimensions, the last being \(4,\); got .*5\)"):
        container(*given[:2], torch.zeros(4, 3, 5), given[3])
    with pytest.raises(ValueError, match="OneOf: params: expected a call before"):
        container.inverse(*given)
    container(*given)
    chosen, *items = container._params
    with pytest.raises(ValueError, match=r"params: expected items for \['chosen', 'Random"):
        container(*given, params=items)
    for wrong in (torch.ones(4, 2, dtype=torch.bool), torch.ones(4, 1, 2), None):
        item = K.ParamItem("chosen", {**chosen.data, "chosen": wrong})
        with pytest.raises(ValueError, match=r"params\['chosen'\]: expected a bool tensor of shape \(4, 1, 2\), got"):
            container(*given, params=[item, *items])
    with pytest.raises(ValueError, match=r"params\['chosen'\]: expected .*\(2, 1, 2\)"):
        container(*values(2), params=container._params)
