"""VideoSequential: frames of a clip move as one or by themselves, and their labels with them."""

import copy
import pickle
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

import augment as K
from tests.support.choices import assert_compiled_is_eager
from tests.support.helpers import CASES, ByTwo, Case, assert_labels_follow, call_seeded, picture, saved

B, T, H, W = 2, 5, 12, 16
KEYS = ["image", "mask", "bbox_xyxy", "keypoints"]


def values(b: int = B, t: int = T, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    """Give a video (B, T, C, H, W) in which no two frames are equal, and a value for each other key."""
    draw = torch.Generator().manual_seed(2)
    points = torch.rand(b, t, 3, 2, generator=draw) * torch.tensor([10.0, 7.0]) + 2
    mask = torch.randint(5, (b, t, 1, H, W), generator=draw)
    video = picture(b * t, 3, (H, W), dtype).unflatten(0, (b, t))
    return [video, mask, torch.cat([points, points + 3], -1), points]


def still(b: int = B, t: int = T) -> Tensor:
    """Give equal clips of equal frames."""
    return picture(1, 3, (H, W)).expand(b, t, 3, H, W).contiguous()


def ops() -> list[nn.Module]:
    return [
        K.RandomHorizontalFlip(),
        K.RandomAffine(30.0, (0.1, 0.1), p=0.5),
        K.OneOf(K.RandomGaussianNoise(0.0, 0.1, p=1.0), K.ColorJitter(0.2, 0.2, 0.2, 0.1, p=1.0)),
        K.RandomCrop((9, 11)),
    ]


def equal(one: Any, other: Any) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


# ------------------------------------------------------------------------------------------------------- shared draws

SHARED = {
    "crop": lambda **o: K.RandomCrop((8, 9), **o),
    "flip": lambda **o: K.RandomHorizontalFlip(**o),
    "affine": lambda **o: K.RandomAffine(40.0, p=0.8, **o),
    "jitter": lambda **o: K.ColorJitter(0.3, 0.3, 0.3, 0.3, **o),
    "noise": lambda **o: K.RandomGaussianNoise(0.0, 0.2, p=1.0, **o),
    "policy": lambda **o: K.RandAugment(2, 9, **o),
}


@pytest.mark.parametrize("name", SHARED)
def test_frames_are_equal_and_clips_differ(name: str) -> None:
    """kornia #3194."""
    video, differ = K.VideoSequential(SHARED[name]()), 0
    together = K.VideoSequential(SHARED[name](same_on_batch=True))
    for seed in range(20):
        output = call_seeded(video, still(), seed=seed)
        assert torch.equal(output, output[:, :1].expand_as(output))
        differ += not torch.equal(output[0], output[1])
        output = call_seeded(together, still(), seed=seed)
        assert torch.equal(output, output[:1, :1].expand_as(output))
    assert differ >= 5


@pytest.mark.parametrize("name", SHARED)
def test_frames_by_themselves(name: str) -> None:
    video, differ = K.VideoSequential(SHARED[name](), same_on_frame=False), 0
    for seed in range(10):
        output = call_seeded(video, still(), seed=seed)
        rows = call_seeded(K.AugmentationSequential(SHARED[name]()), still().flatten(0, 1), seed=seed)
        assert torch.equal(output.flatten(0, 1), rows)
        differ += not torch.equal(output[0, 0], output[0, 1])
    assert differ >= 3


def test_calls_differ() -> None:
    """kornia #2410."""
    video = K.VideoSequential(K.RandomAffine(40.0, p=1.0))
    first, params = video(still()), video._params
    second = video(still())
    assert not torch.equal(first, second)
    assert torch.equal(video(still(), params=params), first)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_frame_gets_what_its_clip_drew(case: Case) -> None:
    """A frame comes out as an image does of which the clip's draws are the own."""
    video, x = K.VideoSequential(case(p=0.7)), picture(6, 3, (24, 32)).unflatten(0, (3, 2))
    output = call_seeded(video, x)
    for t in range(2):
        expected = call_seeded(K.AugmentationSequential(case(p=0.7)), x[:, t])
        assert_close(output[:, t], expected, atol=1e-6, rtol=1e-6)
    assert torch.equal(video(x, params=video._params), output)


class Lighter(K.IntensityAugmentationBase2D):
    """Add a number to each row, and another to each column of all rows, as a user would write it."""

    def generate_parameters(self, batch_shape: Any) -> dict[str, Tensor]:
        return {"row": torch.rand(batch_shape[0]), "column": torch.rand(batch_shape[-1])}

    def apply_transform(self, input: Tensor, params: Any, flags: Any, transform: Any = None) -> Tensor:
        return input + params["row"].view(-1, 1, 1, 1) + params["column"]


def test_an_op_of_a_user() -> None:
    output = K.VideoSequential(Lighter(p=1.0))(torch.zeros(B, T, 1, H, W))
    assert torch.equal(output, output[:, :1].expand_as(output)) and not torch.equal(output[0], output[1])
    assert_close(output[0] - output[1], (output[0] - output[1]).mean().expand(T, 1, H, W))


MIXES = {
    "mixup": lambda: K.RandomMixUpV2(p=0.7),
    "cutmix": lambda: K.RandomCutMixV2(num_mix=2, p=0.7),
    "patch": lambda: K.PatchMix(patch_size=6, p=0.7),
    "mosaic": lambda: K.RandomMosaic(p=0.7),
    "jigsaw": lambda: K.RandomJigsaw((2, 2), p=0.7),
    "apply": lambda: K.SomeOf(K.RandomCutMixV2(), K.RandomMosaic(), n=2, replace=True),
}


@pytest.mark.parametrize("name", MIXES)
def test_clips_are_mixed_frame_by_frame(name: str) -> None:
    """A frame is mixed with the frame of the other clips at the same time."""
    x, _, boxes, points = values(4, 3)
    keys = ["image", "bbox_xyxy", "keypoints"]
    video = K.VideoSequential(MIXES[name](), data_keys=keys)
    output = call_seeded(video, x, boxes, points)
    for t in range(3):
        images = K.AugmentationSequential(MIXES[name](), data_keys=keys)
        expected = call_seeded(images, x[:, t], boxes[:, t], points[:, t])
        assert equal([value[:, t] for value in output], expected)
        for key in keys[1:]:
            assert torch.equal(video.valid[key][:, t], images.valid[key])
    assert equal(video(x, boxes, points, params=saved(video._params)), output)


def test_classes_of_mixed_clips() -> None:
    x, labels = values(4, 3)[0], torch.tensor([3, 1, 4, 2])
    for op in (K.RandomMixUpV2(), K.RandomCutMixV2(num_mix=2), K.RandomMixUpV2(num_classes=5)):
        video = K.VideoSequential(op, data_keys=["image", "class"])
        images = K.AugmentationSequential(copy.deepcopy(op), data_keys=["image", "class"])
        assert torch.equal(call_seeded(video, x, labels)[1], call_seeded(images, x[:, 0], labels)[1])
    frames = labels.view(-1, 1).expand(-1, 3)
    single = K.VideoSequential(K.RandomMixUpV2(), data_keys=["image", "class"], same_on_frame=False)
    images = K.AugmentationSequential(K.RandomMixUpV2(), data_keys=["image", "class"])
    expected = call_seeded(images, x.flatten(0, 1), frames.flatten())[1]
    for given in (frames, labels):
        assert torch.equal(call_seeded(single, x, given)[1].flatten(0, 1), expected)


def test_a_clip_is_cropped_once() -> None:
    """The window fits a box of any frame, and is one for all frames."""
    x, _, boxes, _ = values(3, 4)
    video = K.VideoSequential(K.RandomIoUCrop(min_scale=0.4), data_keys=["image", "bbox_xyxy"])
    for seed in range(5):
        call_seeded(video, x, boxes, seed=seed)
        window = video._params[0].data["src"].unflatten(0, (3, 4))
        assert torch.equal(window, window[:, :1].expand_as(window))


# ------------------------------------------------------------------------------------------------------------- labels


def test_every_key_of_every_frame_is_flipped() -> None:
    """kornia #492, PR #817, #1231."""
    x, mask, boxes, points = values()
    corners = boxes[..., [0, 1, 2, 1, 2, 3, 0, 3]].unflatten(-1, (4, 2))
    wide = torch.cat([boxes[..., :2], boxes[..., 2:] - boxes[..., :2]], -1)
    keys = [*KEYS, "mask", "bbox", "bbox_xywh", "class"]
    video = K.VideoSequential(K.RandomHorizontalFlip(p=1.0), data_keys=keys)
    output = video(x, mask, boxes, points, mask[:, :, 0], corners, wide, torch.arange(B))
    assert torch.equal(output[0], x.flip(-1)) and torch.equal(output[1], mask.flip(-1))
    x1, y1, x2, y2 = boxes.unbind(-1)
    assert_close(output[2], torch.stack([W - x2, y1, W - x1, y2], -1))
    assert_close(output[3], points * torch.tensor([-1, 1]) + torch.tensor([W - 1, 0]))
    assert torch.equal(output[4], mask[:, :, 0].flip(-1))
    assert_close(output[5], corners * torch.tensor([-1, 1]) + torch.tensor([W, 0]))
    assert_close(output[6], torch.stack([W - x2, y1, x2 - x1, y2 - y1], -1))
    assert torch.equal(output[7], torch.arange(B))


@pytest.mark.parametrize("same_on_frame", [True, False])
def test_formats(same_on_frame: bool) -> None:
    given, o = values(), {"data_keys": KEYS, "same_on_frame": same_on_frame}
    one = K.VideoSequential(*ops(), **o)
    other = K.VideoSequential(*ops(), data_format="bcthw", **o)
    turned = [given[0].transpose(1, 2), given[1].transpose(1, 2), *given[2:]]
    first, second = call_seeded(one, *given), call_seeded(other, *turned)
    assert first[0].shape == (B, T, 3, 9, 11) and second[0].shape == (B, 3, T, 9, 11)
    assert equal(first, [second[0].transpose(1, 2), second[1].transpose(1, 2), *second[2:]])
    back, turned = one.inverse(*first), other.inverse(*second)
    assert equal(back, [turned[0].transpose(1, 2), turned[1].transpose(1, 2), *turned[2:]])
    assert_close(back[3], given[3], atol=1e-4, rtol=0)
    assert one.transform_matrix.shape == (B * T, 3, 3)
    ahead = torch.nn.functional.pad(given[3].flatten(0, 1), (0, 1), value=1.0) @ one.transform_matrix.mT
    assert_close(first[3].flatten(0, 1), ahead[..., :2], atol=1e-4, rtol=0)


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("same_on_frame", [True, False])
def test_labels_follow_pixels(same_on_frame: bool, inside: bool) -> None:
    turns = [K.RandomAffine(15.0, (0.05, 0.05), p=0.7), K.RandomHorizontalFlip(), K.RandomRotation90((2, 2))]
    keys = ["image", "mask", "keypoints", "bbox_xyxy"]
    for seed in range(3):
        video = K.VideoSequential(K.RandomOrder(*turns), same_on_frame=same_on_frame, data_keys=keys)
        outer = K.AugmentationSequential(K.AugmentationSequential(video), data_keys=keys) if inside else video
        assert_labels_follow(ByTwo(outer), seed, rows=4)


def test_lists_and_padding() -> None:
    x, mask, boxes, points = values()
    video = K.VideoSequential(*ops(), data_keys=KEYS, min_visibility=0.1)
    output = call_seeded(video, x, mask, boxes, points)
    seen = video.valid
    assert seen["keypoints"].shape == (B, T, 3) and not seen["keypoints"].all() and seen["keypoints"].any()
    inside = (output[3] >= -0.5).all(-1) & (output[3][..., 0] <= 10.5) & (output[3][..., 1] <= 8.5)
    assert not (seen["keypoints"] & ~inside).any()
    lists = call_seeded(video, x, list(mask[:, :, 0]), list(boxes), list(points))
    assert equal(lists[1], output[1][:, :, 0]) and equal(lists[2], output[2]) and equal(lists[3], output[3])
    real = torch.rand(B, T, 3) < 0.5
    padded = call_seeded(video, x, mask, boxes, points, valid={"bbox_xyxy": real})
    assert torch.equal(padded[2], torch.where(real.unsqueeze(-1), output[2], boxes))
    assert torch.equal(video.valid["bbox_xyxy"], seen["bbox_xyxy"] & real)
    named = call_seeded(video, {"image": x, "keypoints": points, "name": "a"}, data_keys=["image", "keypoints"])
    assert named["name"] == "a" and torch.equal(named["keypoints"], output[3])


# -------------------------------------------------------------------------------------------------------------- nests


def test_choices_inside_are_by_clip() -> None:
    flips = [K.RandomHorizontalFlip(p=1.0), K.RandomVerticalFlip(p=1.0)]
    for video in (
        K.VideoSequential(K.OneOf(*flips)),
        K.OneOf(K.VideoSequential(flips[0]), K.VideoSequential(flips[1])),
        K.VideoSequential(*flips, random_apply=1),
    ):
        output = call_seeded(video, x := values(40, 2)[0])
        flipped, over = (output == x.flip(-1)).flatten(2).all(2), (output == x.flip(-2)).flatten(2).all(2)
        assert (flipped ^ over).all() and (flipped[:, 0] == flipped[:, 1]).all()
        assert 5 < flipped[:, 0].sum() < 35
        assert torch.equal(video(x, params=saved(video._params)), output)
        assert torch.equal(video.inverse(output), x)


def test_a_skipped_clip_comes_back() -> None:
    x = values(20, 3)[0]
    for video in (K.VideoSequential(K.RandomInvert(p=1.0)), K.VideoSequential(nn.Sequential(nn.Dropout(1.0)))):
        container = K.RandomApply(video, p=0.5)
        kept = (container(x) == x).flatten(1).all(1)
        assert torch.equal(kept, ~container._params[0].data["chosen"][:, 0, 0]) and 0 < kept.sum() < 20


def test_videos_of_patches() -> None:
    x = still(2, 3)
    video = K.VideoSequential(
        K.PatchSequential(K.RandomBrightness((0.5, 1.0)), patchwise_apply=False, grid_size=(2, 2))
    )
    output = call_seeded(video, x)
    assert torch.equal(output, output[:, :1].expand_as(output)) and not torch.equal(output[0], output[1])
    images = K.PatchSequential(K.RandomBrightness((0.5, 1.0)), patchwise_apply=False, grid_size=(2, 2))
    assert torch.equal(output[:, 1], call_seeded(images, x[:, 1]))
    assert torch.equal(video(x, params=video._params), output)


# ---------------------------------------------------------------------------------------------------------- one call


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("clips", torch.uint8),
        ("frames", torch.float32),
        ("channels first", torch.float32),
        ("inside", torch.uint8),
    ],
    ids=str,
)
def test_dynamo_video(name: str, dtype: torch.dtype, optimizer: str) -> None:
    o: dict[str, Any] = {"data_keys": KEYS, "min_visibility": 0.1}
    few = [K.RandomHorizontalFlip(), K.RandomBrightness((0.8, 1.2))]
    container = {
        "clips": lambda: K.VideoSequential(*ops(), **o),
        "frames": lambda: K.VideoSequential(*few, same_on_frame=False, random_apply=False, **o),
        "channels first": lambda: K.VideoSequential(*few, data_format="BCTHW", random_apply=2, **o),
        "inside": lambda: K.AugmentationSequential(K.RandomApply(K.VideoSequential(*few)), **o),
    }[name]()
    given = values(dtype=dtype)
    if name == "channels first":
        given[:2] = [value.transpose(1, 2).contiguous() for value in given[:2]]
    assert_compiled_is_eager(container, given, optimizer)


@pytest.mark.parametrize(("b", "t"), [(1, 1), (3, 1), (1, 4), (0, 2)])
def test_batch_sizes(b: int, t: int) -> None:
    outputs = K.VideoSequential(*ops(), data_keys=KEYS)(*values(b, t))
    assert [tuple(output.shape[:2]) for output in outputs] == [(b, t)] * 4


def test_gradient_and_memory() -> None:
    x = values()[0].requires_grad_()
    K.VideoSequential(K.RandomAffine(20.0, p=1.0), K.RandomInvert(p=1.0))(x).sum().backward()
    assert x.grad is not None and x.grad.isfinite().all() and x.grad.abs().sum() > 0
    x, mask, *_ = values()
    for video in (K.VideoSequential(K.RandomInvert(), data_keys=KEYS[:2]), K.VideoSequential(data_keys=KEYS[:2])):
        for new, old in zip(video(x, mask), (x, mask), strict=True):
            assert new.untyped_storage().data_ptr() != old.untyped_storage().data_ptr()
    assert equal((x, mask), values()[:2])


def test_copies() -> None:
    video = K.VideoSequential(*ops(), data_keys=KEYS)
    expected = call_seeded(video, *values())
    for other in (copy.deepcopy(video), pickle.loads(pickle.dumps(video))):
        assert equal(call_seeded(other, *values()), expected)
        assert equal(other(*values(), params=saved(video._params)), expected)
    labels = K.VideoSequential(*ops(), data_keys=KEYS[2:])  # without an image
    assert equal(labels(*values()[2:], params=video._params), expected[2:])
    video.generator = torch.Generator().manual_seed(3)
    state, first = torch.get_rng_state(), video(*values())
    assert torch.equal(state, torch.get_rng_state())
    video.generator = torch.Generator().manual_seed(3)
    assert equal(video(*values()), first)


def test_bad_videos() -> None:
    x, mask, boxes, points = values()
    flip = K.RandomHorizontalFlip
    with pytest.raises(ValueError, match="data_format: expected one of .*'bcthw'.*'TCHW'"):
        K.VideoSequential(flip(), data_format="TCHW")
    with pytest.raises(TypeError, match="same_on_frame: expected True or False, got 1"):
        K.VideoSequential(flip(), same_on_frame=1)
    with pytest.raises(ValueError, match="VideoSequential inside another"):
        K.VideoSequential(K.VideoSequential(flip()))
    with pytest.raises(ValueError, match=r"args\[1\]: expected what takes videos .* got RandomHorizontalFlip"):
        K.AugmentationSequential(K.VideoSequential(flip()), flip())
    with pytest.raises(ValueError, match="got a VideoSequential"):
        K.PatchSequential(K.VideoSequential(flip()), patchwise_apply=False)
    video = K.VideoSequential(flip(), data_keys=KEYS)
    with pytest.raises(ValueError, match=r"image: expected a video: 5 dimensions.*got shape \(2, 3, 12, 16\)"):
        video(x[:, 0], data_keys=["image"])
    with pytest.raises(ValueError, match=r"keypoints: .*4 dimensions.*got shape \(2, 3, 2\)"):
        video(x, mask, boxes, points[:, 0])
    with pytest.raises(ValueError, match=r"bbox_xyxy: .*the last being \(4,\).*got shape \(2, 5, 3, 2\)"):
        video(x, mask, points, points)
    with pytest.raises(ValueError, match="keypoints: expected 5 frames, as image has in BTCHW; got 4"):
        video(x, mask, boxes, points[:, :4])
    with pytest.raises(ValueError, match="mask: expected 2 rows"):
        video(x, mask[:1], boxes, points)
    with pytest.raises(ValueError, match="expected one value for each of data_keys"):
        video(x, mask)
    with pytest.raises(TypeError, match="image: expected a tensor"):
        video([x], data_keys=["image"])
    with pytest.raises(TypeError, match="image: expected a floating or uint8 image, got torch.int64"):
        video(mask, data_keys=["image"])
    with pytest.raises(ValueError, match="expected at least one frame"):
        video(x[:, :0], data_keys=["image"])
    with pytest.raises(NotImplementedError, match="Dropout_0 has none"):
        K.VideoSequential(nn.Dropout()).inverse(x, params=[K.ParamItem("Dropout_0", None)])
    with pytest.raises(ValueError, match="expected 10 rows"):
        video(x, mask, boxes, points, params=K.AugmentationSequential(flip()).forward_parameters((2, 3, H, W)))
