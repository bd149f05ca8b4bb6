"""What users of batched augmentations reported in public about geometry and labels: a short test each, by its thread.

Many more reports are held by property tests over all ops; here are those that need an example of their own.
"""

import math

import pytest
import torch
import torch.nn.functional as F
from helpers import CASES, GEOMETRIC, LABELS, Case, call_seeded, graphs, labels, picture, ramp, seq
from torch import nn
from torch.testing import assert_close

import augment as K

each = pytest.mark.parametrize("case", CASES, ids=repr)
SIZED = {"size": (7, 8)}


# -------------------------------------------------------------------------------------------------- crops and matrices


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


def test_inverse_of_a_wrapped_crop() -> None:
    """#1491: a crop is undone alike alone and in a container; what it kept is back at its place."""
    op, image = K.RandomCrop((2, 2), padding=1), ramp(3, 1, 3, 3) + 1
    for seed in range(6):
        output = call_seeded(seq(op), image, seed=seed)
        back = op.inverse(output)
        assert torch.equal(back, seq(op).inverse(output, params=[K.ParamItem("RandomCrop_0", op._params)]))
        kept = torch.isin(image, output)
        assert torch.equal(back, torch.where(kept, image, 0))


@pytest.mark.parametrize(("height", "width", "size"), [(329, 1209, (416, 416)), (6, 8, (10, 10)), (6, 8, (6, 9))])
@pytest.mark.parametrize("mode", ["slice", "resample"])
def test_crop_larger_than_the_image(height: int, width: int, size: tuple[int, int], mode: str) -> None:
    """#3306, #4414: an oversized crop is an error, never an enlargement."""
    image = ramp(1, 1, height, width)
    for op in (K.RandomCrop(size, cropping_mode=mode), K.CenterCrop(size, cropping_mode=mode)):
        with pytest.raises(ValueError, match="size: expected at most"):
            op(image)
    assert K.RandomCrop(size, pad_if_needed=True, cropping_mode=mode)(image).shape[-2:] == size


def test_skipped_crop_with_padding() -> None:
    """#4473: where a crop of the image's size is skipped, neither pixels nor labels move."""
    values = [ramp(2, 1, 4, 8), torch.tensor([[[3.0, 2.0]]]).repeat(2, 1, 1), torch.tensor([[[1.0, 0, 3, 2]]] * 2)]
    output = seq(K.RandomCrop((4, 8), padding=(1, 2), p=0.0), keys="image keypoints bbox_xyxy")(*values)
    assert all(torch.equal(a, b) for a, b in zip(output, values, strict=True))


@pytest.mark.parametrize("op", [K.RandomCrop((4, 5), padding=1), K.Resize((3, 4)), K.CenterCrop((4, 5))])
def test_mixed_gate_of_ops_that_change_the_size(op: nn.Module) -> None:
    """#4497: with a mixed gate, each row's labels are where its pixels are, and lead back."""
    image, points = ramp(4, 1, 6, 8), torch.tensor([[[3.0, 2.0], [4.0, 3.0]]]).repeat(4, 1, 1)
    container = seq(op, keys="image keypoints")
    params = container.forward_parameters(image.shape)
    params[0].data["batch_prob"] = torch.tensor([0.0, 1.0, 0.0, 1.0])
    output, moved = container(image, points, params=params)
    base = torch.arange(4.0).view(4, 1) * 48
    if isinstance(op, K.Resize):  # a ramp is linear, and stays so
        corner = F.pad(moved, (0, 1), value=1.0) @ op.transform_matrix.inverse().mT
        assert_close(corner[..., :2], points)
        assert_close(output[:, 0, 0, 0], base[:, 0])
    else:
        x, y = moved.long().unbind(-1)
        inside = (x >= 0) & (x < 5) & (y >= 0) & (y < 4)
        found = output[torch.arange(4)[:, None], 0, y.clamp(0, 3), x.clamp(0, 4)]
        assert inside[::2].all() and torch.equal(found[inside], (base + torch.tensor([19.0, 28.0]))[inside])
        assert torch.equal(output[::2], image[::2, :, 1:5, 1:6])  # the centred window
    assert_close(container.inverse(output, moved)[1], points)


def test_window_of_resized_crops() -> None:
    """#927, #956: a window is a share of the input's area, drawn as torchvision does; small images are enlarged."""
    assert K.RandomResizedCrop(224)(picture(2, size=(147, 190))).isfinite().all()
    op = K.RandomResizedCrop(64, scale=(0.25, 0.25), ratio=(1.0, 1.0))
    src = op.forward_parameters((50, 3, 400, 300))["src"]
    assert (src[:, 2] - src[:, 0] + 1 - math.sqrt(0.25 * 400 * 300)).abs().max() <= 1
    theirs = pytest.importorskip("torchvision.transforms").RandomResizedCrop
    n, shape = 5000, (1, 240, 320)
    src = K.RandomResizedCrop(64).forward_parameters((n, *shape))["src"]
    ours = (src[:, 2] - src[:, 0] + 1).flip(-1)
    drawn = [theirs.get_params(torch.empty(shape), (0.08, 1.0), (3 / 4, 4 / 3))[2:] for _ in range(n)]
    for statistic in (lambda hw: hw.prod(1) / (240 * 320), lambda hw: hw[:, 1] / hw[:, 0]):
        both = [statistic(sizes.float()).sort().values for sizes in (ours, torch.tensor(drawn))]
        apart = [(torch.searchsorted(a, b, right=True) / n - torch.arange(1, n + 1) / n).abs().max() for a, b in [both]]
        assert max(apart) < 1.95 * math.sqrt(2 / n)  # Kolmogorov and Smirnov, one in a thousand


def test_scalar_translate_moves_both_axes() -> None:
    """#902, roboflow/rf-detr#1444: one number is the limit of x and of y."""
    shift = K.RandomAffine(0.0, translate=0.1).forward_parameters((200, 1, 50, 80))["translations"]
    limit = torch.tensor([8.0, 5.0])
    assert (shift.abs() <= limit).all() and (shift.abs().amax(0) > 0.9 * limit).all()
    assert shift[:, 0].unique().numel() > 100


@pytest.mark.parametrize(
    ("op", "y", "x"),
    [
        (K.RandomRotation((90.0, 90.0), "nearest", p=1.0), 1, 1),
        (K.RandomRotation90((1, 1), p=1.0), 1, 1),
        (K.RandomAffine((90.0, 90.0), resample="nearest", p=1.0), 3, 3),
    ],
)
def test_signs_of_turns(op: nn.Module, y: int, x: int) -> None:
    """#4408: turns count counter-clockwise, but for RandomAffine, as in kornia; keypoints go where the pixel goes."""
    image = torch.zeros(1, 1, 5, 5)
    image[..., 1, 3] = 1
    output, points = seq(op, keys="image keypoints")(image, torch.tensor([[[3.0, 1.0]]]))
    assert output.sum() == 1 and output[..., y, x] == 1
    assert_close(points, torch.tensor([[[x, y]]]).float())


def test_a_batch_of_odd_and_even_turns() -> None:
    """#4409: the canvas is that of the input, whose middle is what an odd turn fills."""
    image = picture(4, size=(6, 8))
    output = K.RandomRotation90((0, 3), p=1.0)(image, params={"times": torch.arange(4.0)})
    assert torch.equal(output[0], image[0]) and torch.equal(output[2], image[2].rot90(2, (1, 2)))
    for i in (1, 3):
        assert torch.equal(output[i, :, :, 1:7], image[i, :, :, 1:7].rot90(i, (1, 2)))


def test_shift_in_pixels() -> None:
    """#2475: a shift by three pixels is exact, as a fraction of the side or as a parameter."""
    image = picture(2)
    height, width = image.shape[-2:]
    expected = F.pad(image, (3, 0, 3, 0))[..., :height, :width]
    op = K.RandomTranslate((3 / width, 3 / width), (3 / height, 3 / height), p=1.0)
    assert_close(op(image), expected, atol=1e-6, rtol=0)
    params = {"translate_x": torch.tensor([3, 3]), "translate_y": torch.tensor([3, 3])}
    assert torch.equal(op(image, params=params), expected)


def test_scale_for_each_axis() -> None:
    """#615, PR #646: two numbers scale both axes alike, four each by its own."""
    both = K.RandomAffine(0.0, scale=(0.5, 2.0)).forward_parameters((500, 1, 9, 9))["scale"]
    assert torch.equal(both[:, 0], both[:, 1])
    each = K.RandomAffine(0.0, scale=(0.5, 1.0, 1.0, 2.0)).forward_parameters((500, 1, 9, 9))["scale"]
    assert each[:, 0].min() >= 0.5 and each[:, 0].max() <= 1 <= each[:, 1].min() and each[:, 1].max() <= 2
    assert torch.corrcoef(each.T)[0, 1].abs() < 0.25
    op = K.RandomAffine(0.0, scale=(2.0, 2.0, 0.5, 0.5), p=1.0)
    _, points = seq(op, keys="image keypoints")(torch.zeros(1, 1, 9, 9), torch.tensor([[[6.0, 6.0]]]))
    assert_close(points, torch.tensor([[[8.0, 5.0]]]))  # (2, 2) off the centre becomes (4, 1)


def test_where_perspectives_go() -> None:
    """PR #1592: how far corners move; ``basic`` moves them inwards, ``area_preserving`` to all sides."""
    reach, inwards = torch.tensor([16.0, 10.0]), torch.tensor([[1.0, 1], [-1, 1], [-1, -1], [1, -1]])
    for method, low in (("basic", 0.0), ("area_preserving", -1.0)):
        params = K.RandomPerspective(0.4, sampling_method=method).forward_parameters((4000, 1, 50, 80))
        moved = (params["end_points"] - params["start_points"]) * inwards / reach
        assert moved.min() >= low and moved.max() <= 1
        assert ((moved.mean(0) - (1 + low) / 2).abs() < 5 * (1 - low) / math.sqrt(12 * 4000)).all()


# ---------------------------------------------------------------------------------------------- boxes, masks and ranks


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
