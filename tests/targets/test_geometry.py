"""What users of batched augmentations reported in public about geometry and labels: a short test each, by its thread.

Many more reports are held by property tests over all ops; here are those that need an example of their own."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

import augment as K
from tests.support.helpers import CASES, GEOMETRIC, LABELS, Case, call_seeded, graphs, labels, picture, ramp, seq

each = pytest.mark.parametrize("case", CASES, ids=repr)
SIZED = {"size": (7, 8)}


@pytest.mark.parametrize("first", ["horizontal", "vertical"])
def test_matrix_of_nested_containers(first: str) -> None:
    """#4476: the matrix includes nested containers in either order, and is that of the last call."""
    flips = {"horizontal": K.RandomHorizontalFlip(p=1.0), "vertical": K.RandomVerticalFlip()}
    outer = flips.pop(first)
    container = seq(outer, seq(*flips.values()))
    assert container.transform_matrix is None
    for seed in range(4):
        call_seeded(container, ramp(4, 1, 4, 4), seed=seed)
        expected = torch.eye(3).repeat(4, 1, 1)
        for axis, op in enumerate((outer, container[1][0]) if first == "horizontal" else (container[1][0], outer)):
            flipped = op._params["batch_prob"]
            expected[:, axis, axis], expected[:, axis, 2] = 1 - 2 * flipped, 3 * flipped
        assert torch.equal(container.transform_matrix, expected)


def test_flipped_box_is_the_box_of_the_flipped_mask() -> None:
    """#1165: a box of 10..250 in a height of 300 comes to 50..290, on edges."""
    mask = torch.zeros(1, 1, 300, 40, dtype=torch.uint8)
    mask[..., 10:250, 5:30] = 1
    box = torch.tensor([[[5.0, 10.0, 30.0, 250.0]]])
    _, flipped, moved = seq(K.RandomVerticalFlip(p=1.0), keys="image mask bbox_xyxy")(mask, mask, box)
    assert moved.flatten().tolist() == [5, 50, 30, 290]
    rows = flipped.nonzero()[:, 2]
    assert [rows.min(), rows.max() + 1] == [50, 290]


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.float16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("clip", [False, True])
def test_boxes_leave_the_frame_unless_clipped(clip: bool, dtype: torch.dtype) -> None:
    """#2522, #1522: xyxy and xywh keep format and dtype, and reach out of the frame, but for ``clip``."""
    keys = ["bbox_xyxy", "bbox_xywh", "keypoints"]
    args = {key: {"clip": clip} for key in keys}
    container = seq(K.RandomAffine(0.0, p=1.0), keys=" ".join(["image", *keys]), extra_args=args)
    image = torch.zeros(1, 1, 12, 16)
    params = container.forward_parameters(image.shape)
    params[0].data["translations"] = torch.tensor([[6.0, -3.0]])
    values = [torch.tensor([[row]]).to(dtype) for row in ([2, 1, 12, 7], [2, 1, 10, 6], [10, 2])]
    output, *moved = container(image, *values, params=params)
    expected = [[8, 0, 16, 4], [8, 0, 8, 4], [15, 0]] if clip else [[8, -2, 18, 4], [8, -2, 10, 6], [16, -1]]
    assert [v.flatten().tolist() for v in moved] == expected
    assert [v.dtype for v in moved] == [dtype] * 3
    if not clip:
        back = container.inverse(output, *moved)[1:]
        assert all(torch.equal(a, b) for a, b in zip(back, values, strict=True))


@pytest.mark.parametrize("op", [K.RandomCrop, K.CenterCrop, K.RandomResizedCrop])
def test_slicing_and_resampling_move_labels_alike(op: type[nn.Module]) -> None:
    """#1735: the way a crop is computed changes no label."""
    values = labels(3, 2, (12, 16))
    container = seq(op((5, 7)), keys=" ".join(LABELS))
    output, params = container(*values), container._params
    container[0].flags["cropping_mode"] = "resample"
    assert all(torch.equal(a, b) for a, b in zip(container(*values, params=params), output, strict=True))


@pytest.mark.parametrize("resample", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("flag", [True, False])
def test_resized_masks(resample: str, flag: bool) -> None:
    """#2048, #2396, #1544: resizes take masks in every mode, and boxes scale with the frame."""
    image, mask = picture(2, size=(4, 8)), torch.randint(9, (2, 1, 4, 8))
    box = torch.tensor([[[0.0, 0.0, 8.0, 4.0], [2.0, 1.0, 4.0, 3.0]]]).repeat(2, 1, 1)
    for op in (K.Resize(2, resample=resample, align_corners=flag), K.RandomResizedCrop((2, 4), resample=resample)):
        output, moved, edges = seq(op, keys="image mask bbox_xyxy")(image, mask, box)
        assert output.shape[-2:] == moved.shape[-2:] == (2, 4) and moved.dtype == mask.dtype
        if isinstance(op, K.Resize) and not flag:
            assert_close(edges, box / 2)


@pytest.mark.parametrize("case", [c for c in GEOMETRIC if "resample" in c().flags], ids=repr)
def test_masks_and_nearest_images_are_alike(case: Case) -> None:
    """#3400: forward and back, a mask is treated as an image in nearest mode."""
    values = picture(3, size=(12, 16))
    op = case(resample="nearest", **SIZED)
    container = seq(op, keys="image mask", extra_args={"image": {"fill": 0.0}})  # as masks are filled
    output = container(values, values)
    assert torch.equal(*output)
    assert torch.equal(*container.inverse(*output))


@pytest.mark.parametrize("channels", [1, 3, 13])
def test_fill_of_masks_and_images(channels: int) -> None:
    """#3090, #2998: the border of a mask has its ignore index, that of an image its own value."""
    op = K.RandomAffine((45.0, 45.0), padding_mode="fill", fill_value=0.5, p=1.0)
    container = seq(op, keys="image mask", extra_args={"mask": {"fill": 255}})
    image, mask = container(torch.ones(2, channels, 9, 9), torch.ones(2, channels, 9, 9, dtype=torch.uint8))
    for y in (0, -1):
        assert image[..., y, ::8].eq(0.5).all() and mask[..., y, ::8].eq(255).all()


def test_erased_masks() -> None:
    """#1541, open-edge-platform/geti#6828: masks lose the same region, to their own value, lists row by row."""
    for args, level in ((None, 0), ({"mask": {"fill": 7}}, 7)):
        container = seq(K.RandomErasing(value=0.25, p=0.5), keys="image mask", extra_args=args)
        masks = [torch.ones(n, 1, 12, 16, dtype=torch.long) for n in (2, 0, 1, 3)]
        image, moved = container(torch.ones(4, 3, 12, 16), masks)
        erased = (image == 0.25)[:, :1]
        assert erased.any() and not erased.flatten(1).any(1).all()
        for i, mask in enumerate(moved):
            assert torch.equal(mask, torch.where(erased[i], level, masks[i]))


@pytest.mark.parametrize("keepdim", [True, False, None])
@pytest.mark.parametrize("op", [K.RandomVerticalFlip(), K.RandomBrightness(0.1), K.CenterCrop((5, 7)), nn.Identity()])
def test_ranks(op: nn.Module, keepdim: bool | None) -> None:
    """#2848, #2997, #721, #519, #1485, #2855: ``keepdim`` gives every key its rank back; a batch stays one."""
    h, w = (5, 7) if isinstance(op, K.CenterCrop) else (12, 16)
    container, two = seq(op, keys=" ".join(LABELS), keepdim=keepdim), ["image", "mask"]
    batch = labels(1, 2, (12, 16))
    full = [(1, 3, h, w), (1, 4, h, w), (1, 2, 4), (1, 2, 4), (1, 2, 4, 2), (1, 2, 2)]
    assert [tuple(v.shape) for v in container(*batch)] == full
    lone = [tuple(v.shape) for v in container(*(v[0] for v in batch))]
    assert lone == ([shape[1:] for shape in full] if keepdim else full)
    flat = container(batch[0][0], torch.zeros(12, 16), data_keys=two)[1]
    assert tuple(flat.shape) == ((h, w) if keepdim else (1, 1, h, w))
    assert container(picture(3, size=(12, 16)), torch.zeros(3, 12, 16), data_keys=two)[1].shape == (3, h, w)
    if not isinstance(op, nn.Identity):
        plain = container(batch[0][0, 0], torch.zeros(12, 16), data_keys=two)
        assert [v.ndim for v in plain] == ([2, 2] if keepdim else [4, 4])


@each
def test_lists_are_rows(case: Case) -> None:
    """#4477, #4716, #2740: entry i of a list follows row i, forward and back."""
    container = seq(case(p=0.5, **SIZED), keys=" ".join(LABELS))
    image, *others = values = labels(3, 4, (12, 16))
    whole = container(*values)
    counts = (0, 1, 4)
    output = container(image, *([v[i, :n] for i, n in enumerate(counts)] for v in others), params=container._params)
    for moved, expected in ((output, whole), (container.inverse(*output), container.inverse(*whole))):
        for rows, batch in zip(moved[1:], expected[1:], strict=True):
            for i, n in enumerate(counts):
                assert_close(rows[i], batch[i, :n], atol=1e-5, rtol=0)


@each
@pytest.mark.parametrize(("b", "n"), [(3, 0), (0, 2), (0, 0)])
def test_no_boxes_and_no_rows(case: Case, b: int, n: int) -> None:
    """#4429: an empty batch, or none of a label, passes through every op and back, dtypes kept."""
    container, values = seq(case(p=0.5, **SIZED), keys=" ".join(LABELS)), labels(b, n, (12, 16))
    output = container(*values)
    assert [v.shape[:2] for v in output] == [v.shape[:2] for v in values]
    assert [v.dtype for v in output] == [v.dtype for v in values]
    back = container.inverse(*output)
    assert [v.shape for v in back] == [v.shape for v in values]


def test_padded_boxes_through_warps_of_every_kind(optimizer: str) -> None:
    """roboflow/rf-detr#862, #997, #1252: static shapes and a flag for each box, compiled; padding is never valid."""
    rigid = [K.LetterBox((40, 48)), K.RandomD4(), K.RandomShear(20.0), K.SmallestMaxSize(36)]
    ops = [*rigid, K.RandomThinPlateSpline(0.1), K.RandomGridDistortion(), K.PadTo((44, 40))]
    container = seq(*ops, keys="image bbox_xyxy keypoints", min_visibility=0.0)
    image, boxes = picture(4, size=(40, 56)), torch.tensor([[[14.0, 10, 42, 30], [0, 0, 56, 40], [0, 0, 0, 0]]])
    values = image, boxes.expand(4, -1, -1), torch.tensor([[[28.0, 20.0], [20.0, 16.0]]]).expand(4, -1, -1)
    compiled = torch.compile(container, fullgraph=True, backend=optimizer)
    for seed in range(3):
        found = []
        for call in (compiled, container):
            _, *moved = call_seeded(call, *values, seed=seed)
            found.append((*moved, *container.valid.values()))
        for a, b in zip(*found, strict=True):
            assert_close(a, b, atol=0.05, rtol=0)
        valid = found[0][2]
        assert valid.shape == (4, 3) and valid[:, :2].any() and not valid[:, 2].any()
    assert graphs() == 1
