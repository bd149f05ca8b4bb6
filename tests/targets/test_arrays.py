"""NumPy arrays, as decoders and loaders give them, in place of tensors."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch

import augment as K
from tests.support.helpers import Log, call_seeded, graphs

RNG = np.random.default_rng(0)
IMAGES = [RNG.integers(0, 256, (12, 16, 3), dtype=np.uint8) for _ in range(4)]
MASKS = [RNG.integers(0, 5, (12, 16)) for _ in range(4)]
BOXES = [RNG.uniform(0, 9, (n, 4)).astype(np.float32) for n in (1, 0, 3, 2)]
BATCH = torch.from_numpy(np.stack(IMAGES)).permute(0, 3, 1, 2)


def pipeline(**options: Any) -> K.AugmentationSequential:
    return K.AugmentationSequential(
        K.RandomHorizontalFlip(), K.RandomAffine(20.0), K.RandomGamma((0.5, 2.0)), **options
    )


def test_lists_are_batches() -> None:
    keys = ["image", "mask", "bbox_xyxy"]
    container = pipeline(data_keys=keys)
    image, mask, boxes = call_seeded(container, IMAGES, MASKS, BOXES)
    tensors = [BATCH, torch.from_numpy(np.stack(MASKS)), list(map(torch.from_numpy, BOXES))]
    expected = call_seeded(container, *tensors)
    assert torch.equal(image, expected[0]) and torch.equal(mask, expected[1]) and mask.dtype == torch.int64
    assert all(torch.equal(new, old) for new, old in zip(boxes, expected[2], strict=True))
    named = call_seeded(
        container, {"image": IMAGES, "mask": MASKS, "bbox_xyxy": BOXES, "image_id": (ids := np.arange(4))}
    )
    assert torch.equal(named["image"], image) and torch.equal(named["mask"], mask) and named["image_id"] is ids
    back = container.inverse(image, mask, boxes)
    assert back[0].shape == BATCH.shape


@pytest.mark.parametrize("fuse", [False, True])
def test_layouts(fuse: bool) -> None:
    container = pipeline(fuse=fuse)
    expected = call_seeded(container, BATCH)
    for same in (np.stack(IMAGES), [image[::-1][::-1] for image in IMAGES], tuple(IMAGES)):
        assert torch.equal(call_seeded(container, same), expected)
    turned = call_seeded(container, [image[..., ::-1] for image in IMAGES])  # BGR
    assert torch.equal(turned, call_seeded(container, BATCH.flip(1)))
    gray = call_seeded(container, [image[..., 0] for image in IMAGES])
    assert torch.equal(gray, call_seeded(container, BATCH[:, :1].contiguous()))
    assert call_seeded(container, IMAGES[0]).shape == (1, 3, 12, 16)
    floats = call_seeded(container, [np.float32(image) / 255 for image in IMAGES])
    assert floats.dtype == torch.float32 and floats.shape == (4, 3, 12, 16)


def test_masks_of_all_forms() -> None:
    """Channels of arrays come last, of masks too."""
    container = K.AugmentationSequential(K.RandomHorizontalFlip(p=1.0), data_keys=["image", "mask"])
    stacked = np.stack(MASKS)
    flipped = torch.from_numpy(stacked[:, :, ::-1].copy())
    for masks in (stacked[..., None], [mask[..., None] for mask in MASKS]):
        assert torch.equal(container(IMAGES, masks)[1], flipped.unsqueeze(1))
    for masks in (stacked, MASKS):
        assert torch.equal(container(IMAGES, masks)[1], flipped)
    assert torch.equal(container(IMAGES[0], MASKS[0][..., None])[1].flatten(0, -3), flipped[:1])
    assert torch.equal(container(IMAGES[0], MASKS[0])[1].flatten(0, -3), flipped[:1])
    two = np.stack([stacked, stacked + 1], 3)
    assert torch.equal(container(IMAGES, two)[1], torch.stack([flipped, flipped + 1], 1))


def test_names_that_only_begin_like_a_key() -> None:
    """What cannot be a target is handed through, arrays too; what can be one has to be alike."""
    flip = K.AugmentationSequential(K.RandomHorizontalFlip(p=1.0))
    others = {
        "bbox_labels": np.array(["cat", "dog"]),
        "image_path": np.array("x.png"),
        "image_size": [np.array([12, 16])] * 4,
        "mask_ids": [np.array([1, 2]), np.array([3])],
        "mask_meta": np.array([{"a": 1}], dtype=object),
        "label": np.array(["cat"]),
        "id": np.arange(4),
    }
    output = flip({"image": IMAGES, "mask_left": MASKS, **others})
    assert torch.equal(output["image"], BATCH.flip(3)) and output["mask_left"].shape == (4, 12, 16)
    assert all(output[name] is value for name, value in others.items())
    with pytest.raises(ValueError, match="mask: expected arrays of one shape"):
        flip({"image": IMAGES, "mask_left": [MASKS[0], MASKS[1][:8]]})


@pytest.mark.filterwarnings("error")
def test_arrays_that_must_not_be_written() -> None:
    """As `np.asarray` of a Pillow image is one."""
    images = [image.copy() for image in IMAGES]
    for image in images:
        image.setflags(write=False)
    flip = K.AugmentationSequential(K.RandomHorizontalFlip(p=1.0))
    assert torch.equal(flip(images), BATCH.flip(3))


def test_one_copy() -> None:
    """Arrays are stacked by NumPy, and nothing else is made of them but what the op gives."""
    container = K.AugmentationSequential(K.RandomInvert(p=1.0))
    with Log(large=BATCH.numel()) as log:
        container(IMAGES)
    assert +log.large == Counter({"augment.recolour.default": 1})


def test_compiled(optimizer: str) -> None:
    container = pipeline()
    compiled = torch.compile(container, fullgraph=True, backend=optimizer)
    for seed in range(3):
        output = call_seeded(compiled, IMAGES, seed=seed)
        assert (output - call_seeded(container, BATCH, seed=seed).int()).abs().max() <= 1 and graphs() == 1


def test_refusals() -> None:
    container, small = pipeline(), IMAGES[0][:8]
    with pytest.raises(ValueError, match=r"image: .*\(12, 16, 3\) and \(8, 16, 3\).*Resize or LetterBox"):
        container([IMAGES[0], small])
    with pytest.raises(ValueError, match=r"one dtype, to be a batch; got torch.uint8 and torch.float32$"):
        container([IMAGES[0], np.float32(IMAGES[0])])
    both = K.AugmentationSequential(K.RandomHorizontalFlip(), data_keys=["image", "mask"])
    with pytest.raises(ValueError, match=r"mask: .*\(12, 16\) and \(8, 16\).*one size first"):
        both(IMAGES[:2], [MASKS[0], MASKS[1][:8]])
    with pytest.raises(TypeError, match="image: expected a floating or uint8 image, got torch.int64"):
        container([image.astype(np.int64) for image in IMAGES])
    for mixed in ([torch.zeros(3, 12, 16)], [IMAGES[0], torch.zeros(3, 12, 16)], []):
        with pytest.raises(TypeError, match="image: expected a tensor, or a list of arrays; got a list with"):
            container(mixed)
    with pytest.raises(ValueError, match=r"got \(12, 16, 3\) and \(12, 16, 1\)$"):
        container([IMAGES[0], IMAGES[0][..., :1]])
    for shape in ((), (9,), (2, 12, 16, 3)):
        with pytest.raises(ValueError, match=r"image: expected arrays \(H, W\) or \(H, W, C\), got one of shape \("):
            container([np.zeros(shape, np.uint8)] * 2)
    for dtype in (">i4", object, "U3", np.longdouble):
        with pytest.raises(TypeError, match="image: expected an array of numbers that a tensor can hold, got "):
            container([np.zeros((12, 16, 3), dtype)] * 2)
    with pytest.raises(ValueError, match="args: expected one value for each of data_keys"):
        container(IMAGES, MASKS)


def test_videos_are_no_arrays() -> None:
    video = K.VideoSequential(K.RandomHorizontalFlip())
    for clips in ([np.zeros((4, 8, 9, 3), np.uint8)] * 2, np.zeros((2, 4, 8, 9, 3), np.uint8)):
        with pytest.raises(TypeError, match="expected tensors for a VideoSequential"):
            video(clips)


def test_dispatchers_and_inverse() -> None:
    flip = K.AugmentationSequential(K.RandomHorizontalFlip(p=1.0))
    (output,) = K.ManyToOneAugmentationDispatcher(flip)(IMAGES)
    assert torch.equal(output, BATCH.flip(3)) and torch.equal(flip.inverse(IMAGES), BATCH.flip(3))
    with pytest.raises(TypeError, match="params: expected a list"):
        K.ManyToOneAugmentationDispatcher(flip)(IMAGES, params=5)
