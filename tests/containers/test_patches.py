"""PatchSequential and ImageSequential: ops on patches, and other modules among ops."""

import copy
import pickle
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor, nn
from torch.testing import assert_close

import augment as K
from tests.containers.test_choices import Digit
from tests.support.helpers import assert_params_close, call_seeded, graphs, picture, saved

KEYS = ["image", "mask"]


def patches(image: Tensor, rows: int, columns: int) -> Tensor:
    """Cut (B, C, H, W) into (B, rows * columns, C, h, w) by NumPy."""
    found = [np.split(row, columns, axis=3) for row in np.split(image.numpy(), rows, axis=2)]
    return torch.from_numpy(np.stack([patch for row in found for patch in row], 1))


def values(b: int = 2, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    """Give an image and a mask whose size no grid of the tests divides."""
    mask = torch.randint(5, (b, 1, 11, 14), generator=torch.Generator().manual_seed(3))
    return [picture(b, 3, (11, 14), dtype), mask]


def ops() -> list[nn.Module]:
    return [
        K.RandomAffine(30.0, (0.1, 0.1), p=0.5),
        K.OneOf(K.RandomEqualize(p=1.0), K.RandomGaussianNoise(0.0, 0.1, p=1.0)),
        K.ImageSequential(K.RandomVerticalFlip(), K.RandomInvert()),
        K.RandomBrightness((0.5, 1.0), p=0.5),
    ]


WAYS: dict[str, dict[str, Any]] = {
    "place": {},
    "place, same": {"same_on_batch": True},
    "drawn": {"random_apply": True},
    "drawn, same": {"random_apply": True, "same_on_batch": True},
    "all": {"patchwise_apply": False},
    "some": {"patchwise_apply": False, "random_apply": (1, 2), "random_apply_weights": (1, 2, 3, 4)},
}


def cut(way: str, padding: str = "same", *inside: nn.Module, **options: Any) -> K.PatchSequential:
    children = inside or ops()
    return K.PatchSequential(*children, grid_size=(2, 2), padding=padding, data_keys=KEYS, **WAYS[way], **options)


def equal(one: Sequence[Tensor], other: Sequence[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


# ------------------------------------------------------------------------------------------------------------ patches


@pytest.mark.parametrize("channels", [1, 2, 3, 7, 13])
def test_all_patches_are_flipped(channels: int) -> None:
    """kornia #4421, PR #4460."""
    image = picture(2, channels, (6, 8))
    container = K.PatchSequential(K.RandomHorizontalFlip(p=1.0), grid_size=(2, 2), patchwise_apply=False)
    output = container(image)
    assert output.shape == image.shape
    assert torch.equal(patches(output, 2, 2), patches(image, 2, 2).flip(-1))
    assert torch.equal(container.inverse(output), image)
    assert len(container._params[1].data["batch_prob"]) == 8


def test_what_a_grid_does_not_divide() -> None:
    image = picture(2, 3, (7, 10))
    flip = K.RandomHorizontalFlip(p=1.0)
    same = K.PatchSequential(flip, grid_size=(2, 3), patchwise_apply=False)
    filled = torch.nn.functional.pad(image, (1, 1, 0, 1))
    expected = patches(filled, 2, 3).flip(-1).unflatten(1, (2, 3)).permute(0, 3, 1, 4, 2, 5).reshape(2, 3, 8, 12)
    assert torch.equal(same(image), expected[:, :, :7, 1:11])
    valid = K.PatchSequential(copy.deepcopy(flip), grid_size=(2, 3), padding="valid", patchwise_apply=False)
    kept = image[:, :, :6, :9]
    output = valid(image)
    assert torch.equal(patches(output, 2, 3), patches(kept, 2, 3).flip(-1))
    back = torch.zeros_like(image)
    back[:, :, :6, :9] = kept
    assert torch.equal(valid.inverse(output), back)
    for size in ((4, 3), (5, 7), (2, 3)):
        for padding, height, width in (("same", *size), ("valid", size[0] // 2 * 2, size[1] // 3 * 3)):
            container = K.PatchSequential(nn.Identity(), grid_size=(2, 3), padding=padding, patchwise_apply=False)
            image = picture(2, 3, size)
            top, left = (size[0] - height) // 2, (size[1] - width) // 2
            assert torch.equal(container(image), image[:, :, top : top + height, left : left + width])


@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize("size", [(7, 9), (8, 12), (5, 11)])
def test_as_kornia(size: tuple[int, int], padding: str) -> None:
    kornia = pytest.importorskip("kornia.augmentation")
    image, o = picture(2, 3, size), {"grid_size": (2, 3), "padding": padding, "patchwise_apply": False}
    expected = kornia.PatchSequential(kornia.RandomVerticalFlip(p=1.0), kornia.RandomInvert(p=1.0), **o)(image)
    assert_close(K.PatchSequential(K.RandomVerticalFlip(p=1.0), K.RandomInvert(p=1.0), **o)(image), expected)


def test_every_place_has_its_op() -> None:
    container = K.PatchSequential(*(Digit(i + 1) for i in range(6)), grid_size=(2, 3))
    assert torch.equal(patches(container(torch.zeros(2, 1, 4, 6)), 2, 3).amax((0, 2, 3, 4)), torch.arange(1.0, 7))
    outer = K.RandomApply(container, p=0.5)
    rows = outer(torch.zeros(30, 1, 4, 6)).flatten(1).amax(1)
    assert torch.equal(rows > 0, outer._params[0].data["chosen"][:, 0, 0]) and 0 < (rows > 0).sum() < 30


def test_patches_draw_for_themselves() -> None:
    image = torch.full((3, 1, 4, 6), 0.5)
    o = {"grid_size": (2, 3), "patchwise_apply": False}

    def bright() -> nn.Module:
        return K.RandomBrightness((0.5, 1.5), p=1.0)

    found = patches(K.PatchSequential(bright(), **o)(image), 2, 3).amax((2, 3, 4))
    assert found.unique().numel() == 18
    found = patches(K.PatchSequential(bright(), same_on_batch=True, **o)(image), 2, 3)
    assert found.unique().numel() == 1
    several = [bright() for _ in range(6)]
    found = patches(K.PatchSequential(*several, grid_size=(2, 3), same_on_batch=True)(image), 2, 3)
    assert torch.equal(found, found[:1].expand_as(found)) and found.unique().numel() == 6
    drawn = K.PatchSequential(bright(), grid_size=(2, 3), same_on_batch=True, random_apply=True)
    found = patches(drawn(image), 2, 3)
    assert torch.equal(found, found[:1].expand_as(found)) and found.unique().numel() == 6


def test_patches_are_rows() -> None:
    """What a container gives for patches is what its ops give for a batch of them."""
    image = picture(3, 3, (8, 12))
    for inside in ([K.RandomAffine(40.0, p=0.7)], [K.RandomOrder(K.RandomPosterize(3), K.RandomPlasmaShadow(p=1.0))]):
        container = K.PatchSequential(*inside, grid_size=(2, 3), patchwise_apply=False)
        output = call_seeded(container, image)
        expected = call_seeded(K.AugmentationSequential(*copy.deepcopy(inside)), patches(image, 2, 3).flatten(0, 1))
        assert torch.equal(patches(output, 2, 3).flatten(0, 1), expected)
    mixed = K.PatchSequential(K.RandomMixUpV2(lambda_val=(0.5, 0.5)), grid_size=(2, 3), patchwise_apply=False)
    assert_close(mixed(image).mean(), image.mean())


def test_one_to_four_ops_are_drawn_for_a_patch() -> None:
    container = K.PatchSequential(*(Digit(i + 1) for i in range(5)), grid_size=(2, 2), random_apply=True)
    told = patches(container(torch.zeros(1500, 1, 4, 4)), 2, 2)[:, :, 0, 0, 0].flatten().long().tolist()
    counts = Counter(len(str(number)) for number in told)
    assert set(counts) == {1, 2, 3, 4}
    assert stats.chisquare(list(counts.values())).pvalue > 1e-4
    assert all(len(set(str(number))) == len(str(number)) for number in told)
    firsts = Counter(str(number)[0] for number in told)
    assert len(firsts) == 5 and stats.chisquare(list(firsts.values())).pvalue > 1e-4
    x = torch.zeros(40, 1, 4, 4)
    skipped = K.RandomApply(K.PatchSequential(Digit(1), random_apply=True, same_on_batch=True, grid_size=(2, 2)))
    assert torch.equal((skipped(x) > 0).flatten(1).all(1), skipped._params[0].data["chosen"][:, 0, 0])


# ------------------------------------------------------------------------------------------------------------- labels


def test_masks_follow() -> None:
    ids = torch.arange(7 * 10.0).view(1, 1, 7, 10).expand(3, -1, -1, -1)
    for padding in ("same", "valid"):
        for way in ("place", "drawn", "all"):
            turns = [K.RandomHorizontalFlip(), K.RandomVerticalFlip(), K.RandomRotation90((2, 2)), nn.Identity()]
            image, mask = cut(way, padding, *turns)(ids / 100, ids.long())
            assert torch.equal((image * 100).round().long(), mask)
    container = cut("all")
    image, mask = call_seeded(container, *values())
    lists = call_seeded(container, values()[0], [m.expand(2, -1, -1) for m in values()[1]])
    assert equal(lists[1], mask.expand(-1, 2, -1, -1))
    back = container.inverse(image, list(mask))
    assert equal(back[1], container.inverse(image, mask)[1])


def test_labels_of_patches() -> None:
    image, points = picture(2, 3, (7, 10)), torch.rand(2, 4, 2) * 5
    o = {"patchwise_apply": False, "grid_size": (2, 4), "data_keys": ["image", "keypoints", "bbox_xyxy"]}
    boxes = torch.cat([points, points + 2], -1)
    still = K.PatchSequential(K.RandomInvert(), K.RandomMedianBlur(), nn.ReLU(), **o)
    _, moved, sides = still(image, points, boxes)
    assert torch.equal(moved, points) and torch.equal(sides, boxes)
    assert torch.equal(still.transform_matrix, torch.eye(3).expand(2, 3, 3))
    smaller = K.PatchSequential(K.RandomInvert(p=0.0), padding="valid", min_visibility=0.1, **o)
    output, moved, sides = smaller(image, points, boxes)
    shift = torch.tensor([1.0, 0.0])
    assert torch.equal(output, image[:, :, :6, 1:9]) and torch.equal(moved, points - shift)
    assert_close(sides, boxes - shift.repeat(2))
    assert torch.equal(smaller.transform_matrix[:, :2, 2], -shift.expand(2, -1))
    assert torch.equal(smaller.valid["keypoints"], (points[..., 0] >= 0.5))
    for back, given in zip(smaller.inverse(output, moved, sides)[1:], (points, boxes), strict=True):
        assert_close(back, given)
    assert torch.equal(smaller(points, data_keys=["keypoints"], params=smaller._params), moved)  # without an image
    turned = K.PatchSequential(K.RandomHorizontalFlip(), **o)
    with pytest.raises(RuntimeError, match="keypoints: expected images and masks alone"):
        turned(image, points, boxes)
    turned(image, data_keys=["image"])
    assert turned.transform_matrix is None
    turned.transformation_matrix_mode = "rigid"
    with pytest.raises(ValueError, match="transform_matrix: patches"):
        _ = turned.transform_matrix


def test_patches_between_ops() -> None:
    inner = cut("all", "valid", K.RandomVerticalFlip(p=1.0))
    container = K.AugmentationSequential(K.RandomHorizontalFlip(p=1.0), inner, K.Resize((20, 28)), data_keys=KEYS)
    image, mask = values()
    assert container.output_size((11, 14)) == (20, 28) and inner.output_size((11, 14)) == (10, 14)
    output = container(image, mask)
    assert [tuple(o.shape[-2:]) for o in output] == [(20, 28)] * 2
    back = container.inverse(*output)
    assert torch.equal(back[1][..., :10, :], mask[..., :10, :]) and not back[1][..., 10:, :].any()
    sized = K.OneOf(cut("all", "valid"), K.CenterCrop((10, 14)), data_keys=KEYS)
    assert sized(image, mask)[0].shape == (2, 3, 10, 14)


# ----------------------------------------------------------------------------------------------------------- one call


@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize("way", WAYS)
def test_replay_and_inverse(way: str, padding: str) -> None:
    container = cut(way, padding)
    output = call_seeded(container, *values())
    for other in (container, copy.deepcopy(container), pickle.loads(pickle.dumps(container)), cut(way, padding)):
        assert equal(call_seeded(other, *values()), output)
        assert equal(other(*values(), params=saved(container._params)), output)
    drawn = call_seeded(container.forward_parameters, values()[0].shape)
    assert equal(container(*values(), params=drawn), output)
    flips = [K.RandomHorizontalFlip(), K.RandomVerticalFlip(), K.RandomRotation90((2, 2)), K.RandomHorizontalFlip()]
    container, given = cut(way, padding, *flips), [value[..., :10, :] for value in values(3)]
    output = container(*given)
    assert equal(container.inverse(*output), given)
    assert equal(cut(way, padding, *copy.deepcopy(flips)).inverse(*output, params=saved(container._params)), given)
    again = container(*given)
    assert not torch.equal(again[0], output[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
@pytest.mark.parametrize("way", WAYS)
def test_dynamo_patches(way: str, dtype: torch.dtype, optimizer: str) -> None:
    container, given = cut(way, "valid" if way == "all" else "same"), values(dtype=dtype)
    compiled, seen = torch.compile(container, fullgraph=True, backend=optimizer), []
    for seed in range(20):
        outputs = call_seeded(compiled, *given, seed=seed)
        params = container._params
        seen.append(outputs[0])
        assert graphs() == 1
        if seed < 4:
            expected = call_seeded(container, *given, seed=seed)
            assert_params_close(params, container._params)
            for new, old in zip(outputs, expected, strict=True):
                assert (new.shape, new.dtype) == (old.shape, old.dtype)
                if new.dtype in (torch.uint8, torch.int64):  # rounding may bring one to the other side of a border
                    assert (new != old).sum() <= 0.01 * new.numel()
                else:
                    assert_close(new, old, atol=2e-4, rtol=1e-4)
    assert any(not torch.equal(seen[0], other) for other in seen[1:])


@pytest.mark.parametrize("b", [0, 1, 3])
@pytest.mark.parametrize("way", WAYS)
def test_batch_sizes(way: str, b: int) -> None:
    assert [tuple(o.shape) for o in cut(way)(*values(b))] == [(b, 3, 11, 14), (b, 1, 11, 14)]
    assert cut(way, keepdim=True)(values()[0][0], data_keys=["image"]).shape == (3, 11, 14)


def test_gradient_and_memory() -> None:
    image = values()[0].requires_grad_()
    cut("place")(image, data_keys=["image"]).sum().backward()
    assert image.grad is not None and image.grad.isfinite().all() and image.grad.abs().sum() > 0
    for way in ("place", "drawn", "all"):
        given = values()
        output = cut(way, "same", *(K.RandomInvert() for _ in range(4)))(*given)
        for new, old in zip(output, given, strict=True):
            assert new.untyped_storage().data_ptr() != old.untyped_storage().data_ptr()
        assert torch.equal(output[1], given[1]) and equal(given, values())


def test_bad_patches() -> None:
    flip = K.RandomHorizontalFlip
    with pytest.raises(ValueError, match="args: expected 4, one for each patch of the grid"):
        K.PatchSequential(flip(), grid_size=(2, 2))
    for grid in (2, (2,), (2, 0), (2.0, 2), (True, 2)):
        with pytest.raises(ValueError, match="grid_size: expected"):
            K.PatchSequential(flip(), grid_size=grid, patchwise_apply=False)
    with pytest.raises(ValueError, match="padding: expected one of .*'same', 'valid'.*'full'"):
        K.PatchSequential(flip(), padding="full", patchwise_apply=False)
    with pytest.raises(ValueError, match="random_apply: expected True or False with patchwise_apply, got 2"):
        K.PatchSequential(flip(), random_apply=2)
    for name in ("patchwise_apply", "same_on_batch"):
        with pytest.raises(TypeError, match=f"{name}: expected True or False, got 1"):
            K.PatchSequential(flip(), **{"random_apply": True, name: 1})
    with pytest.raises(ValueError, match="random_apply_weights: expected 1 numbers"):
        K.PatchSequential(flip(), random_apply=True, random_apply_weights=[1, 2])
    with pytest.raises(ValueError, match=r"args: expected ops that keep the size \(3, 4\) of a patch"):
        K.PatchSequential(K.CenterCrop((2, 2)), patchwise_apply=False)(picture(2, 3, (12, 16)))
    with pytest.raises(ValueError, match=r"AvgPool2d: expected a module that keeps .* got \(32, 3, 1, 2\) from"):
        K.PatchSequential(nn.AvgPool2d(2), patchwise_apply=False)(picture(2, 3, (12, 16)))
    with pytest.raises(ValueError, match=r"grid_size: expected at most \(3, 16\) patches for 'valid', got \(4, 4\)"):
        K.PatchSequential(flip(), patchwise_apply=False, padding="valid")(picture(2, 3, (3, 16)))
    with pytest.raises(ValueError, match=r"image: expected 2 to 4 dimensions; got shape \(1, 2, 3, 4, 5\)"):
        K.PatchSequential(flip(), patchwise_apply=False)(torch.rand(1, 2, 3, 4, 5))
    with pytest.raises(ValueError, match="one dtype from all patches"):
        K.PatchSequential(K.Normalize(0.5, 0.5), flip(), grid_size=(1, 2))(picture(2, 3, (8, 8), torch.uint8))
    with pytest.raises(ValueError, match=r"params: expected items for \['images'\]"):
        K.PatchSequential(flip(), patchwise_apply=False)(picture(), params=[K.ParamItem("RandomHorizontalFlip_0", {})])
    mixed = K.PatchSequential(K.RandomMixUpV2(), patchwise_apply=False, data_keys=["image", "class"])
    with pytest.raises(RuntimeError, match="class: expected images and masks alone"):
        mixed(picture(3), torch.arange(3))


# ------------------------------------------------------------------------------------------------------------- images


def test_other_modules_among_ops() -> None:
    image = picture(3, 3, (12, 16))
    container = K.ImageSequential(
        K.RandomHorizontalFlip(p=1.0), nn.AvgPool2d(3, 1, 1), K.AugmentationSequential(K.RandomInvert(p=1.0))
    )
    assert_close(container(image), 1 - nn.AvgPool2d(3, 1, 1)(image.flip(-1)))
    assert torch.equal(container(image, params=saved(container._params)), container(image))
    with pytest.raises(NotImplementedError, match="ImageSequential: inverse: AvgPool2d_1 has none"):
        container.inverse(container(image))
    skipped = K.ImageSequential(*container, if_unsupported_ops="skip")
    assert torch.equal(skipped.inverse(skipped(image)), skipped(image).flip(-1))
    assert K.ImageSequential(K.RandomHorizontalFlip(p=1.0), keepdim=True)(image[0]).shape == (3, 12, 16)
    outer = K.AugmentationSequential(K.ImageSequential(K.RandomVerticalFlip(p=1.0)), data_keys=KEYS)
    assert equal(outer(image, image), [image.flip(-2)] * 2)
    with pytest.raises(ValueError, match="if_unsupported_ops: expected one of .*got 'ignore'"):
        K.ImageSequential(if_unsupported_ops="ignore")
    with pytest.raises(TypeError, match="disable_item_features: expected True or False"):
        K.ImageSequential(disable_item_features=None)
    with pytest.raises(ValueError, match="args: expected one value for each of data_keys"):
        container(image, image)


def test_images_draw_for_themselves() -> None:
    image = torch.full((64, 1, 2, 3), 0.5)
    one = K.ImageSequential(Digit(1), Digit(2), Digit(3), random_apply=1)
    assert one(image).flatten(1).amax(1).unique().tolist() == [6, 7, 8]
    bright = K.ImageSequential(K.RandomBrightness((0.5, 1.5), p=1.0), same_on_batch=True)
    assert bright(image).unique().numel() == 1
    assert_params_close(bright._params, saved(bright._params))


def test_dynamo_images(optimizer: str) -> None:
    container = K.ImageSequential(nn.ReLU(), *ops(), random_apply=(1, 3), disable_sequential_features=True)
    compiled, image = torch.compile(container, fullgraph=True, backend=optimizer), values()[0]
    for seed in range(20):
        output = call_seeded(compiled, image, seed=seed)
        assert graphs() == 1
        assert_close(output, call_seeded(container, image, seed=seed), atol=2e-4, rtol=1e-4)
