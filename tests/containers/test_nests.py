"""Containers in containers: replay, matrices, labels and the way back, eager and compiled."""

import copy
import json
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

import augment as K
from tests.support.choices import KEYS, assert_compiled_is_eager, each, many, values
from tests.support.helpers import ByTwo, Log, assert_labels_follow, assert_params_close, call_seeded, picture, saved


@each
def test_replay(name: str) -> None:
    container, given = many(data_keys=KEYS)[name](), values(8)
    outputs = container(*given)
    params = container._params
    fresh = many(data_keys=KEYS)[name]()
    for params_again in (params, saved(params), copy.deepcopy(params), pickle.loads(pickle.dumps(params))):
        for other in (fresh, container, copy.deepcopy(container)):
            torch.manual_seed(99)
            replayed = other(*given, params=params_again)
            assert all(torch.equal(a, b) for a, b in zip(replayed, outputs, strict=True))
            assert_params_close(other._params, params)
    pixels = container.inverse(*outputs)
    for other in (fresh, container):
        again = other.inverse(*outputs, params=saved(params))
        assert all(torch.equal(a, b) for a, b in zip(again, pixels, strict=True))
    labels = fresh(*given[2:], data_keys=KEYS[2:], params=params)  # without an image
    assert all(torch.equal(a, b) for a, b in zip(labels, outputs[2:], strict=True))
    drawn = call_seeded(container.forward_parameters, given[0].shape)
    expected = call_seeded(container, *given)
    assert all(torch.equal(a, b) for a, b in zip(fresh(*given, params=drawn), expected, strict=True))


@each
def test_generators(name: str) -> None:
    container, given = many(data_keys=KEYS)[name](), values(8)
    container.generator = torch.Generator().manual_seed(5)
    state, expected = torch.get_rng_state(), container(*given)
    assert torch.equal(state, torch.get_rng_state())
    container.generator = None
    again = container(*given, generator=torch.Generator().manual_seed(5))
    assert all(torch.equal(a, b) for a, b in zip(again, expected, strict=True))


MOVES = [("rotate", -30.0, 30.0), ("shear_x", -0.2, 0.2), ("translate_y", -0.1, 0.1), ("color", 0.1, 1.9)]
LEAVES: Mapping[str, Callable[[], nn.Module]] = {
    "flip": lambda: K.RandomHorizontalFlip(),
    "turn over": lambda: K.RandomVerticalFlip(p=1.0),
    "affine": lambda: K.RandomAffine(10.0, (0.03, 0.03), (0.95, 1.05), p=0.7),
    "rotation": lambda: K.RandomRotation(12.0, p=1.0),
    "half turn": lambda: K.RandomRotation90((2, 2), p=0.5),
    "contrast": lambda: K.RandomContrast((0.8, 1.0), p=0.5),  # black stays black, as what comes in from outside
    "gamma": lambda: K.RandomGamma((0.9, 1.1)),
    "policy": lambda: K.RandAugment(2, 9, MOVES, interpolation="bilinear", p=0.7),
    "module": lambda: nn.Identity(),
}
NESTS: Mapping[str, Callable[..., nn.Module]] = {
    "all": K.AugmentationSequential,
    "fused": lambda *ops, **o: K.AugmentationSequential(*ops, fuse=True, **o),
    "one": K.OneOf,
    "weighted": lambda *ops, **o: K.OneOf(*ops, weights=range(1, len(ops) + 1), p=0.8, **o),
    "some": lambda *ops, **o: K.SomeOf(*ops, n=(0, len(ops)), **o),
    "again": lambda *ops, **o: K.SomeOf(*ops, n=2, replace=True, **o),
    "order": K.RandomOrder,
    "apply": lambda *ops, **o: K.RandomApply(ops, p=0.6, **o),
    "kornia": lambda *ops, **o: K.AugmentationSequential(*ops, random_apply=(1,), **o),
    "images": lambda *ops, **o: K.ImageSequential(*ops, random_apply=True, if_unsupported_ops="skip", **o),
    "sized": lambda *ops, **o: K.OneOf(
        K.AugmentationSequential(K.Resize((44, 60)), *ops), K.Resize((44, 60)), p=0.8, **o
    ),
    "video": lambda *ops, **o: K.VideoSequential(*ops, if_unsupported_ops="skip", **o),
    "frames": lambda *ops, **o: K.VideoSequential(*ops, same_on_frame=False, if_unsupported_ops="skip", **o),
    "clips": lambda *ops, **o: K.RandomApply(NESTS["video"](NESTS["sized"](*ops), K.Resize((40, 56))), **o),
}
OUTER = ("all", "fused", "sized", "video", "frames", "clips")
SHUFFLED = ("some", "again", "order", "kornia")
TREES = st.recursive(
    st.sampled_from(sorted(LEAVES)),
    lambda inner: st.tuples(
        st.sampled_from(sorted(set(NESTS) - {*OUTER[2:]})), st.lists(inner, min_size=1, max_size=3)
    ),
    max_leaves=5,
)


def build(tree: Any, **options: Any) -> nn.Module:
    return LEAVES[tree]() if isinstance(tree, str) else NESTS[tree[0]](*map(build, tree[1]), **options)


@given(tree=TREES, outer=st.sampled_from(OUTER), seed=st.integers(0, 2**16))
@settings(max_examples=70, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_labels_follow_pixels_through_any_nest(tree: Any, outer: str, seed: int) -> None:
    container = build((outer, [tree]), data_keys=["image", "mask", "keypoints", "bbox_xyxy"])
    assert_labels_follow(ByTwo(container) if outer in OUTER[3:] else container, seed, rows=4)


TURNS = st.recursive(
    st.sampled_from(["flip", "turn over", "half turn"]),
    lambda inner: st.tuples(
        st.sampled_from(sorted(set(NESTS) - {*OUTER[2:]})), st.lists(inner, min_size=1, max_size=3)
    ),
    max_leaves=4,
)


@given(tree=TURNS, grid=st.tuples(*[st.integers(1, 3)] * 2), drawn=st.booleans(), seed=st.integers(0, 2**16))
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_masks_follow_pixels_through_patches(tree: Any, grid: tuple[int, int], drawn: bool, seed: int) -> None:
    inside = build(("all", [tree]))
    patches = K.PatchSequential(inside, grid_size=grid, patchwise_apply=drawn, random_apply=drawn)
    container = K.AugmentationSequential(K.RandomHorizontalFlip(), patches, data_keys=["image", "mask"])
    mask = torch.arange(3 * 6 * 12).view(3, 1, 6, 12)  # which every grid divides
    image, moved = call_seeded(container, mask.float(), mask, seed=seed)
    assert torch.equal(image.long(), moved) and torch.equal(moved.flatten(1).sort(1).values, mask.flatten(1))
    again = container(mask.float(), mask, params=saved(container._params))
    assert torch.equal(again[0], image) and torch.equal(again[1], moved)
    back = container.inverse(image, moved)
    assert torch.equal(back[0].long(), mask) and torch.equal(back[1], mask)


@given(tree=TREES, seed=st.integers(0, 2**16))
@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_nest_is_saved_and_built_again(tree: Any, seed: int) -> None:
    container, inputs = build(("all", [tree]), data_keys=KEYS), values(3)
    outputs = call_seeded(container, *inputs, seed=seed)
    params = K.saving.from_json(K.saving.to_json(container._params))
    fresh = build(("all", [tree]), data_keys=KEYS)
    if "module" not in repr(tree):  # which is of no class that a configuration knows
        fresh = K.from_dict(json.loads(json.dumps(K.to_dict(container))))
        same = call_seeded(fresh, *inputs, seed=seed)
        assert all(torch.equal(new, old) for new, old in zip(same, outputs, strict=True))
    again = fresh(*inputs, params=params)
    assert all(torch.equal(new, old) for new, old in zip(again, outputs, strict=True))


def test_matrix_of_choices() -> None:
    """kornia #4476: nothing inside is left out of the matrix, however deep."""
    inner = K.OneOf(K.RandomVerticalFlip(p=1.0), K.RandomOrder(K.RandomHorizontalFlip(p=1.0), K.RandomInvert()))
    container = K.AugmentationSequential(K.AugmentationSequential(inner), data_keys=["image"])
    assert container.transform_matrix is None
    for seed in range(4):
        image = picture(8, size=(4, 6))
        call_seeded(container, image, seed=seed)
        vertical = inner._params[0].data["chosen"][:, 0, 0]
        expected = torch.eye(3).repeat(8, 1, 1)
        expected[vertical, 1, 1], expected[vertical, 1, 2] = -1, 3
        expected[~vertical, 0, 0], expected[~vertical, 0, 2] = -1, 5
        assert torch.equal(container.transform_matrix, expected)
    colours = K.AugmentationSequential(K.OneOf(K.RandomInvert(), K.RandomBrightness(0.2)))
    colours(picture(3))
    assert torch.equal(colours.transform_matrix, torch.eye(3).repeat(3, 1, 1))
    bent = K.AugmentationSequential(K.OneOf(K.RandomElasticTransform(p=1.0)), transformation_matrix_mode="rigid")
    bent(picture(3))
    assert bent.transform_matrix is None  # each container answers for its own ops
    strict = K.OneOf(K.RandomElasticTransform(p=1.0), transformation_matrix_mode="rigid")
    strict(picture(3))
    with pytest.raises(ValueError, match="transform_matrix"):
        _ = strict.transform_matrix


def test_time_augmentation() -> None:
    """PR #887: what was flipped by a choice comes back, so that the mean over calls is the input."""
    flips = [K.RandomHorizontalFlip(p=1.0), K.RandomVerticalFlip(p=1.0), K.RandomRotation90((2, 2), p=1.0)]
    container, image = K.OneOf(*flips, p=0.75), picture(8)
    for _ in range(4):
        assert torch.equal(container.inverse(container(image)), image)


def test_what_is_seen_through_a_choice() -> None:
    """A row that was not cropped keeps its boxes, also those whose centres lie outside."""
    container = K.OneOf(
        K.RandomIoUCrop(p=1.0), K.RandomBrightness(0.2), data_keys=["image", "bbox_xyxy"], min_visibility=0.1
    )
    boxes = torch.tensor([[2.0, 2, 9, 9], [-6, 2, 4, 8]]).expand(40, -1, -1)
    container(picture(40, size=(12, 16)), boxes)
    cropped = container._params[0].data["chosen"][:, 0, 0]
    assert container.valid["bbox_xyxy"][~cropped].all() and not container.valid["bbox_xyxy"][cropped, 1].any()


# ------------------------------------------------------------------------------------------------------------ compiled


def pipeline(name: str) -> K.AugmentationSequential:
    """Give containers of ops that are open for half of the rows."""

    def ops() -> list[nn.Module]:
        return [
            K.RandomHorizontalFlip(p=0.5),
            K.RandomAffine(20.0, (0.1, 0.1), p=0.5),
            K.ColorJitter(0.2, 0.2, 0.2, 0.1, p=0.5),
            K.RandomGaussianNoise(0.0, 0.1, p=0.5),
        ]

    o: dict[str, Any] = {"data_keys": KEYS}
    return {
        "one": lambda: K.OneOf(*ops(), p=0.5, weights=(4, 3, 2, 1), **o),
        "some": lambda: K.SomeOf(*ops(), n=(1, 3), p=0.5, min_visibility=0.1, **o),
        "again": lambda: K.SomeOf(*ops(), n=2, replace=True, **o),
        "order": lambda: K.RandomOrder(*ops()[:3], p=0.5, **o),
        "apply": lambda: K.RandomApply(ops(), p=0.5, **o),
        "kornia": lambda: K.AugmentationSequential(*ops(), random_apply=(1, 2), random_apply_weights=(1, 2, 3, 4), **o),
        "sized": lambda: K.OneOf(K.RandomCrop((9, 11), p=0.5), K.RandomResizedCrop((9, 11), p=0.5), **o),
        "nested": lambda: K.AugmentationSequential(
            K.RandomApply([K.OneOf(*ops()), nn.ReLU()], p=0.5), K.RandomOrder(*ops()[:2]), K.Resize((9, 7)), **o
        ),
    }[name]()


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
@pytest.mark.parametrize("name", ["one", "some", "again", "order", "apply", "kornia", "sized", "nested"])
def test_dynamo_choice(name: str, dtype: torch.dtype, optimizer: str) -> None:
    assert_compiled_is_eager(pipeline(name), values(4, dtype), optimizer)


@pytest.mark.parametrize("b", [0, 1, 3])
@each
def test_batch_sizes(name: str, b: int) -> None:
    outputs = many(data_keys=KEYS)[name]()(*values(b))
    assert [len(output) for output in outputs] == [b] * 4


@each
def test_on_a_pretended_gpu(name: str, pretended: FakeTensorMode) -> None:
    """A call waits for nothing and copies nothing from the CPU."""
    container = many(data_keys=KEYS, min_visibility=0.1)[name]()
    with pretended:
        container.cuda()
        data = [value.cuda() for value in values()]
        with Log() as log:
            outputs = container(*data)
    assert all(value.is_cuda for value in [*outputs, *container.valid.values()]) and not +log.copied
