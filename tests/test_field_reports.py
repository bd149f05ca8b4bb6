"""What users of batched augmentations reported in public: a short test each, by the number of the thread.

Many more rows are held by property tests over all ops; here are those that need an example of their own.
"""

import math
import pickle
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from helpers import CASES, GEOMETRIC, Case, call_seeded, picture
from torch import Tensor, nn
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import augment as K

each = pytest.mark.parametrize("case", CASES, ids=repr)
SIZED = {"size": (7, 8)}
LABELS = ["image", "mask", "bbox_xyxy", "bbox_xywh", "bbox", "keypoints"]


def seq(*ops: nn.Module, keys: str = "image", **options: Any) -> K.AugmentationSequential:
    return K.AugmentationSequential(*ops, data_keys=keys.split(), **options)


def ramp(*shape: int) -> Tensor:
    return torch.arange(math.prod(shape), dtype=torch.float32).view(shape)


def labels(b: int, n: int, size: tuple[int, int]) -> list[Tensor]:
    """Give a value for each of LABELS."""
    points = torch.rand(b, n, 2) * torch.tensor([size[1] - 1.0, size[0] - 1.0])
    corners = torch.rand(b, n, 4, 2) * 6
    mask = torch.randint(9, (b, 4, *size))
    return [picture(b, 3, size), mask, torch.cat([points, points + 3], -1), torch.rand(b, n, 4) * 6, corners, points]


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


# ------------------------------------------------------------------------------- draws, dtypes, channels, serialisation


def test_streams_of_their_own() -> None:
    """#4407: an op with a generator draws the same whatever the ops before it draw."""
    drawn = []
    for p in (0.0, 0.5, 1.0):
        last = K.RandomAffine(30.0, p=1.0)
        last.generator = torch.Generator().manual_seed(3)
        seq(K.RandomHorizontalFlip(p=p), K.RandomGaussianNoise(p=p), last)(picture(4))
        drawn.append(last._params["angle"])
    assert torch.equal(drawn[0], drawn[1]) and torch.equal(drawn[0], drawn[2])


def test_erasing_on_a_pyramid() -> None:
    """#974: parameters drawn at one size erase the same share of the image at another."""
    op = K.RandomErasing(scale=(0.1, 0.3), value=1.0, p=1.0)
    wide = op(torch.zeros(8, 1, 64, 64))
    narrow = op(torch.zeros(8, 1, 32, 32), params=op._params)
    for i in range(8):
        ends = [
            torch.cat([where.amin(0), where.amax(0) + 1]) for where in (wide[i, 0].nonzero(), narrow[i, 0].nonzero())
        ]
        assert (ends[0] / 2 - ends[1]).abs().max() <= 1


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0])
@each
def test_autocast(case: Case, p: float) -> None:
    """#1737, PR #1842, PR #2168, Lightning-AI/pytorch-lightning#13228: autocast changes neither shape nor dtype."""
    container, values = seq(case(p=p, **SIZED), keys=" ".join(LABELS)), labels(3, 2, (12, 16))
    expected = container(*values)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = container(*values, params=container._params)
    for a, b in zip(output, expected, strict=True):
        assert_close(a, b, atol=1e-6, rtol=1e-6)


class Dtypes(TorchDispatchMode):
    """Collect the dtypes of all that is computed."""

    seen: frozenset[torch.dtype] = frozenset()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        self.seen |= {value.dtype for value in tree_leaves(output) if isinstance(value, Tensor)}
        return output


@each
def test_nothing_is_computed_in_float64(case: Case) -> None:
    """PR #2425, #2775: some devices have no float64, and a float32 image needs none."""
    container, values = seq(case(p=0.5, **SIZED), keys=" ".join(LABELS)), labels(2, 2, (12, 16))
    with Dtypes() as dtypes:
        container(*values)
    assert torch.float32 in dtypes.seen and torch.float64 not in dtypes.seen


def test_any_number_of_channels() -> None:
    """PR #3853, #1028: gray of seven bands is their mean; one channel is gray, and has no saturation or hue."""
    bands, single = picture(2, 7), picture(2, 1)
    assert_close(K.RandomGrayscale(p=1.0)(bands), bands.mean(1, keepdim=True).expand_as(bands))
    assert_close(K.RandomGrayscale(p=1.0)(single), single)
    assert_close(K.ColorJitter(saturation=0.9, hue=0.5)(single), single)


@each
def test_normalised_images(case: Case) -> None:
    """#4430: an image in [-1, 1] comes out of no op as zeros."""
    output = case(p=1.0)(picture() * 2 - 1)
    assert (output != 0).flatten(1).float().mean(1).gt(0.2).all() and output.isfinite().all()


def test_equalize_cuts_what_left_the_range() -> None:
    """#1163, #4431: values outside [0, 1] count as its ends, and skipped rows keep them."""
    image = picture(4, size=(40, 50)) * 3 - 1
    op = K.RandomEqualize(p=0.5)
    output = op(image)
    closed = op._params["batch_prob"] == 0
    assert closed.any() and not closed.all()
    assert torch.equal(output[closed], image[closed])
    assert_close(output[~closed], op(image.clamp(0, 1), params=op._params)[~closed])


def test_ranges_as_parameters_can_be_pickled() -> None:
    """PR #2552, PR #2637: ops with tensors for ranges go to workers."""
    bounds = nn.Parameter(torch.tensor([0.5, 1.5]))
    for op in (K.ColorJitter(brightness=bounds), K.RandomAffine(torch.tensor([-9.0, 9.0]), p=torch.tensor(0.5))):
        other = pickle.loads(pickle.dumps(op))
        assert torch.equal(call_seeded(other, picture()), call_seeded(op, picture()))


def test_jitter_is_that_of_torchvision() -> None:
    """#565, PR #1611: with the same factors in the same order."""
    functional = pytest.importorskip("torchvision.transforms.v2.functional")
    factors = {"brightness": 1.3, "contrast": 0.7, "saturation": 1.4, "hue": 0.1}
    order, expected = (2, 0, 3, 1), picture(2)
    op = K.ColorJitter(**{name: (value, value) for name, value in factors.items()}, order=order)
    for step in order:
        name = list(factors)[step]
        expected = getattr(functional, f"adjust_{name}")(expected, factors[name])
    assert_close(op(picture(2)), expected, atol=1e-3, rtol=0)


def test_export() -> None:
    """torchgeo/torchgeo#3108, torchgeo PR #2893: a pipeline without chance can be exported."""
    pipeline = nn.Sequential(K.Resize((8, 9)), K.CenterCrop((6, 7)), K.Normalize(0.5, 0.25))
    exported = torch.export.export(pipeline, (picture(2),)).module()
    other = picture(2) / 2
    assert_close(exported(other), pipeline(other))


@pytest.mark.parametrize("size", [(15, 20), (24, 31)])
def test_antialiased_resize_is_that_of_torchvision(size: tuple[int, int]) -> None:
    """torchgeo/torchgeo#2732, #1587: shrunk and enlarged."""
    resize = pytest.importorskip("torchvision.transforms.v2.functional").resize
    assert_close(K.Resize(size, antialias=True)(picture()), resize(picture(), list(size), antialias=True))
