"""Mixes and policies inside choices: labels, classes, replay, eager and compiled, and what is refused."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.testing import assert_close

import augment as K
from augment.testing import Case, mixes
from tests.support.helpers import assert_params_close, call_seeded, graphs, picture, saved
from tests.support.mixing import KEYS, SIZE, ids, sample

CONTAINERS: dict[str, Callable[..., K.AugmentationSequential]] = {
    "all": K.AugmentationSequential,
    "one": K.OneOf,
    "some": lambda *ops, **o: K.SomeOf(*ops, n=(1, 2), p=0.8, **o),
    "again": lambda *ops, **o: K.SomeOf(*ops, n=2, replace=True, **o),
    "order": K.RandomOrder,
    "apply": lambda *ops, **o: K.RandomApply(ops, **o),
    "kornia": lambda *ops, **o: K.AugmentationSequential(*ops, random_apply=(1, 2), **o),
}
each = pytest.mark.parametrize("name", CONTAINERS)
SHIFTS = [("translate_x", -0.3, 0.3), ("translate_y", -0.3, 0.3), ("identity", 0, 0)]


@each
@pytest.mark.parametrize("mix", [K.RandomCutMixV2, K.RandomMosaic, K.RandomTransplantation])
def test_labels_follow_pixels(name: str, mix: Any) -> None:
    """The pixels say whose they are: so does the class of the point that lies on them."""
    image, boxes, points = ids()
    given = [image, image.long(), boxes, points, (torch.arange(20) + 1).view(5, 4)]
    for seed in range(5):
        ops = [K.RandomHorizontalFlip(), K.RandAugment(1, 20, SHIFTS, p=0.8), mix(p=0.8)]
        container = CONTAINERS[name](*ops, data_keys=[*KEYS, "class"], min_visibility=0.0)
        output, mask, _, moved, classes = call_seeded(container, *given, seed=seed)
        assert torch.equal(output.long(), mask)
        seen = container.valid["keypoints"]
        assert seen.any(1).all() and seen.shape == classes.shape
        for row, places, labels, there in zip(output[:, 0], moved, classes, seen, strict=True):
            x, y = places[there].round().long().unbind(-1)
            assert torch.equal(row[y, x].long(), labels[there])


@each
def test_classes_are_shared_as_the_pixels(name: str) -> None:
    image = torch.eye(6).view(6, 6, 1, 1).expand(-1, -1, *SIZE)
    # a rectangle has the share of its area where the rows have one value, before the first cut
    cuts = name in ("all", "one", "some", "apply")
    first = K.RandomCutMixV2(p=0.8, num_classes=6) if cuts else K.RandomMixUpV2((0.1, 0.3), p=0.8, num_classes=6)
    ops = [first, K.RandomMixUpV2(p=0.8, num_classes=6), K.RandomVerticalFlip()]
    container = CONTAINERS[name](*ops, data_keys=["image", "class"])
    for seed in range(5):
        output, shares = call_seeded(container, image, torch.arange(6), seed=seed)
        assert_close(shares, output.mean((2, 3)), atol=1e-5, rtol=0)


def test_a_chosen_mix_has_the_rate_of_the_choice() -> None:
    n = 4000
    container = K.OneOf(K.RandomMixUpV2(p=0.5), K.RandomHorizontalFlip(p=1.0), weights=(0.6, 0.4))
    _, mix, flip = (item.data for item in container.forward_parameters((n, 3, *SIZE)))
    for params, rate in ((mix, 0.3), (flip, 0.4)):
        assert abs(params["batch_prob"].mean() - rate) <= 5 * (rate * (1 - rate) / n) ** 0.5


@each
def test_replay(name: str) -> None:
    given = sample(Case("RandomMosaic", K.RandomMosaic), 6)

    def build() -> K.AugmentationSequential:
        return CONTAINERS[name](K.TrivialAugmentWide(), K.RandomMosaic(p=0.7), K.RandomJigsaw((2, 2)), data_keys=KEYS)

    container = build()
    output, valid = container(*given), container.valid
    for params in (container._params, saved(container._params), copy.deepcopy(container._params)):
        again = build()
        replayed = again(*given, params=params)
        assert all(torch.equal(new, old) for new, old in zip(replayed, output, strict=True))
        assert all(torch.equal(again.valid[key], valid[key]) for key in valid)


@pytest.mark.parametrize("case", mixes(), ids=repr)
def test_inverse_of_a_choice_is_refused(case: Case) -> None:
    container = K.RandomOrder(case(p=0.5), K.RandomHorizontalFlip(), data_keys=KEYS)
    output = container(*sample(case))
    with pytest.raises(RuntimeError, match=rf"{case.op.__name__}: inverse: a mix of rows cannot be undone"):
        container.inverse(*output)


# ------------------------------------------------------------------------------------------------------ another size


def sized(*ops: nn.Module) -> K.AugmentationSequential:
    return K.AugmentationSequential(K.Resize((8, 10)), *ops)


@pytest.mark.parametrize("lists", [False, True])
def test_mixes_of_another_size(lists: bool) -> None:
    branches = [sized(K.RandomCutMixV2()), sized(K.RandomHorizontalFlip(p=1.0), K.PatchMix(patch_size=6))]
    container = K.OneOf(*branches, data_keys=["image", "bbox_xyxy", "keypoints"])
    image, boxes, points = ids(24)
    given = [image, *(map(list, (boxes, points)) if lists else (boxes, points))]
    output = container(*given)
    chosen = container._params[0].data["chosen"][:, 0, 0]
    assert chosen.any() and not chosen.all()
    for branch, item, rows in zip(branches, container._params[1:], (chosen, ~chosen), strict=True):
        alone = K.AugmentationSequential(*branch, data_keys=container.data_keys)
        expected = alone(*given, params=item.data)
        for i in rows.nonzero().flatten():
            assert all(torch.equal(new[i], old[i]) for new, old in zip(output, expected, strict=True))
            assert all(torch.equal(container.valid[key][i], alone.valid[key][i]) for key in alone.valid)


def test_labels_that_differ_by_branch_are_refused() -> None:
    image, boxes, _ = ids(4)
    branches = [K.RandomMosaic((8, 10), p=1.0, num_classes=4), K.Resize((8, 10))]
    container = K.OneOf(*branches, data_keys=["image"])
    assert container(image).shape == (4, 1, 8, 10)
    shape = "expected one shape and dtype, whichever op a row gets; got"
    with pytest.raises(ValueError, match=rf"class: {shape} \(4,\) torch.int64 and \(4, 4\) torch.float32"):
        container(image, torch.arange(4), data_keys=["image", "class"])
    with pytest.raises(ValueError, match=rf"bbox_xyxy: {shape} \(4, 4, 4\) .* and \(4, 16, 4\)"):
        container(image, boxes, data_keys=["image", "bbox_xyxy"])
    rows = K.OneOf(K.RandomCutMixV2(), K.RandomMixUpV2(), data_keys=["image", "class"])
    with pytest.raises(ValueError, match=r"RandomMixUpV2: class: expected 4 rows, as the image has; got \(1, 4, 3\)"):
        rows(image, torch.arange(4))


# ----------------------------------------------------------------------------------------------------------- compiled


def compare(container: K.AugmentationSequential, given: list[torch.Tensor], optimizer: str) -> None:
    """Require one graph for twenty draws, and of compiled calls what eager ones give."""
    compiled = torch.compile(container, fullgraph=True, backend=optimizer)
    for seed in range(20):
        output = call_seeded(compiled, *given, seed=seed)
        params, valid = container._params, container.valid
        assert graphs() == 1
        if seed >= 3:
            continue
        expected = call_seeded(container, *given, seed=seed)
        assert_params_close(params, container._params)
        assert all(torch.equal(valid[key], container.valid[key]) for key in container.valid)
        for new, old in zip(output, expected, strict=True):
            assert_close(new.double(), old.double(), atol=1 if new.dtype == torch.uint8 else 1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("name", "dtype"), [("one", torch.uint8), ("some", torch.float32), ("apply", torch.uint8)], ids=str
)
def test_dynamo(name: str, dtype: torch.dtype, optimizer: str) -> None:
    ops = [K.RandomHorizontalFlip(p=0.5), K.RandAugment(2, 9, p=0.5), K.RandomCutMixV2(p=0.5)]
    compare(CONTAINERS[name](*ops, data_keys=KEYS), sample(Case("", K.RandomCutMixV2), dtype=dtype), optimizer)


@pytest.mark.parametrize("name", ["order", "kornia", "again"])
def test_dynamo_of_rounds(name: str, optimizer: str) -> None:
    ops = [K.TrivialAugmentWide(p=0.5), K.RandomMosaic(p=0.5)]
    compare(CONTAINERS[name](*ops, data_keys=KEYS), sample(Case("", K.RandomMosaic)), optimizer)


def test_dynamo_of_a_nest(optimizer: str) -> None:
    """A recipe as it is used: a policy out of several, then a mix out of several, with classes of images."""
    container = K.AugmentationSequential(
        K.OneOf(K.AutoAugment(), K.TrivialAugmentWide(), K.AugMix(), p=0.5),
        K.RandomApply([K.RandomErasing(p=0.5)], p=0.5),
        K.OneOf(K.RandomMixUpV2(num_classes=5), K.RandomCutMixV2(num_classes=5), p=0.5),
        data_keys=["image", "class"],
    )
    compare(container, [picture(4, 3, SIZE, torch.uint8), torch.tensor([0, 4, 2, 2])], optimizer)
