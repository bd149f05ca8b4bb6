"""The values of every op that combines rows, against arithmetic, SciPy and kornia."""

import warnings

import kornia.augmentation as KA
import numpy as np
import pytest
import scipy.stats
import torch
from helpers import call_seeded, picture
from mixing import KEYS, SIZE, around, ids, sample
from torch.testing import assert_close

import augment as K
from augment import kernels as native
from augment.kernels.mixing import maths as mx
from augment.kernels.mixing.entry import collage_of_pixels, pick_by_sorting
from augment.testing import Case


def test_partners_are_even() -> None:
    u = torch.rand(6000, 5)
    for pairs in (mx.next_of(u), mx.mate_of(torch.rand(6000, 6))):
        n = pairs.shape[1]
        counts = torch.stack([(pairs[:, 0] == j).sum() for j in range(n)]).numpy()
        assert counts[0] == 0 and scipy.stats.chisquare(counts[1:]).pvalue > 1e-4


@pytest.mark.parametrize("a", [0.05, 0.2, 0.5, 1.0, 2.0, 30.0, 400.0])
def test_beta_is_that_of_scipy(a: float) -> None:
    u = torch.linspace(1e-3, 0.999, 1999)
    expected = torch.from_numpy(scipy.stats.beta.ppf(u.double().numpy(), a, a)).float()
    assert_close(mx.beta_quantile(u, a, mx.beta_table(a)), expected, atol=2e-5, rtol=1e-4)


# --------------------------------------------------------------------------------------------------------------- values


FOLLOWING = {
    "cutmix": lambda: K.RandomCutMixV2(p=0.8),
    "patch": lambda: K.PatchMix(patch_size=9, p=0.8),
    "mosaic": lambda: K.RandomMosaic(p=0.8),
    "mosaic sized": lambda: K.RandomMosaic((20, 18), (3, 2), p=0.8),
    "transplantation": lambda: K.RandomTransplantation([0], p=0.8),
}


@pytest.mark.parametrize("name", FOLLOWING)
def test_labels_follow_pixels(name: str) -> None:
    image, boxes, points = ids()
    for seed in range(20):
        op = FOLLOWING[name]()
        output, _, moved, spots = call_seeded(op, image, image, boxes, points, data_keys=KEYS, seed=seed)
        for i, row in enumerate(output[:, 0].numpy()):
            found = []
            for box, seen in zip(moved[i], op.valid["bbox_xyxy"][i], strict=True):
                if not seen:
                    assert not box.any()
                    continue
                x1, y1, x2, y2 = box.int()
                inside = row[y1:y2, x1:x2]
                # one of the objects of the image has just this box
                fitting = [v for v in np.unique(inside) if v and around(row == v) == box.tolist()]
                found += fitting[:1]
                assert fitting or name.startswith("mosaic")  # where one row may have several tiles
            if not name.startswith("mosaic"):
                assert sorted(found) == [v for v in np.unique(row) if v]
            seen = op.valid["keypoints"][i]
            places = spots[i][seen].long()
            on = row[places[:, 1], places[:, 0]]
            assert (on > 0).all() and not spots[i][~seen].any()


@pytest.mark.parametrize("grid", [(2, 2), (2, 3), (4, 1), (2, 4)])
def test_jigsaw_moves_pieces(grid: tuple[int, int]) -> None:
    image, boxes, points = ids(3)
    op = K.RandomJigsaw(grid, p=1.0)
    output, moved, spots = op(image, boxes, points, data_keys=["image", "bbox_xyxy", "keypoints"])
    h, w = SIZE[0] // grid[0], SIZE[1] // grid[1]
    expected = np.zeros(image.shape)
    for i, order in enumerate(op._params["permutation"].tolist()):
        for k, piece in enumerate(order):
            (column, row), (r, c) = divmod(k, grid[0]), divmod(piece, grid[1])
            part = image[i, 0, r * h : (r + 1) * h, c * w : (c + 1) * w]
            expected[i, 0, row * h : (row + 1) * h, column * w : (column + 1) * w] = part
    assert np.array_equal(output, expected)
    assert spots.shape == points.shape
    index = spots.long()
    for i, n in np.ndindex(3, 4):
        assert output[i, 0, index[i, n, 1], index[i, n, 0]] == 1 + 4 * i + n
        whole = torch.zeros(SIZE)  # the parts of a box cover its pixels, and no others
        for x1, y1, x2, y2 in moved[i, n::4].int():
            whole[y1:y2, x1:x2] += 1
        assert torch.equal(whole, (output[i, 0] == 1 + 4 * i + n).float())


def test_jigsaw_never_keeps_the_order() -> None:
    op = K.RandomJigsaw((1, 3), p=1.0)
    orders = op.forward_parameters((6000, 1, 6, 6))["permutation"]
    counts = np.unique(orders.numpy() @ [9, 3, 1], return_counts=True)[1]
    assert len(counts) == 5 and scipy.stats.chisquare(counts).pvalue > 1e-4
    for grid in ((2, 1), (2, 4)):
        image = picture(50, 1, SIZE)
        assert (K.RandomJigsaw(grid, p=1.0)(image) != image).flatten(1).any(1).all()


def test_mixup_is_a_weighted_mean() -> None:
    image, soft = picture(3, 2, SIZE), torch.rand(3, 1, *SIZE)
    boxes, labels = ids(3)[1], torch.tensor([2, 0, 1])
    op = K.RandomMixUpV2((0.1, 0.9), data_keys=["image", "mask", "bbox_xyxy", "class"])
    output, mask, moved, rows = op(image, soft, boxes + torch.arange(3).view(3, 1, 1), labels)
    pairs, amount = op._params["mixup_pairs"], op._params["mixup_lambdas"]
    for i, (j, share) in enumerate(zip(pairs.tolist(), amount.tolist(), strict=True)):
        assert_close(output[i], (1 - share) * image[i] + share * image[j])
        assert_close(mask[i], (1 - share) * soft[i] + share * soft[j])
        assert torch.equal(moved[i], torch.cat([boxes[i] + i, boxes[i] + j]))
        assert_close(rows[i], torch.tensor([labels[i], labels[j], share]))
    whole = torch.randint(256, (3, 1, *SIZE), dtype=torch.uint8)
    expected = (1 - amount.view(-1, 1, 1, 1)) * whole + amount.view(-1, 1, 1, 1) * whole[pairs]
    assert (op(whole, data_keys=["image"], params=op._params) - expected).abs().max() <= 0.5001


def test_mixup_makes_masks_soft() -> None:
    labels = torch.randint(3, (4, *SIZE))
    labels[0, :4] = 255  # to ignore
    op = K.RandomMixUpV2(mask_classes=3, data_keys=["image", "mask"])
    image, soft = op(picture(4, 3, SIZE), labels)
    one_hot = torch.stack([(labels == k).float() for k in range(3)], 1)
    share = op._params["mixup_lambdas"].view(-1, 1, 1, 1)
    assert_close(soft, (1 - share) * one_hot + share * one_hot[op._params["mixup_pairs"]])
    assert torch.equal(op(image, one_hot, params=op._params)[1], soft)
    flags = labels.unsqueeze(1) == 1
    _, soft = op.__class__(data_keys=["image", "mask"])(image, flags)
    assert soft.dtype == torch.float32 and soft[(soft != 0) & (soft != 1)].numel() > 0


@pytest.mark.parametrize("op", ["RandomMixUpV2", "RandomCutMixV2", "PatchMix", "RandomMosaic"])
@pytest.mark.parametrize("mixes", [1, 2])
def test_soft_labels_are_exact(op: str, mixes: int) -> None:
    """An image whose row has one value shows in its pixels what share each row has."""
    image = torch.eye(6).view(6, 6, 1, 1).expand(-1, -1, *SIZE).double()
    known = {"patch_size": 7} if op == "PatchMix" else {"num_mix": mixes} if op == "RandomCutMixV2" else {}
    mix = getattr(K, op)(p=0.7, num_classes=6, data_keys=["image", "class"], **known)
    for seed in range(10):
        output, shares = call_seeded(mix, image, torch.arange(6), seed=seed)
        assert_close(shares.double(), output.mean((2, 3)), atol=1e-6, rtol=0)
        assert_close(shares.sum(1), torch.ones(6))
        again = mix(image, torch.eye(6), params=mix._params)[1]
        assert torch.equal(again, shares)


def test_classes_of_boxes_go_with_them() -> None:
    image, boxes, _ = ids()
    op = K.RandomMosaic(p=0.8, data_keys=["image", "bbox_xyxy", "class"])
    labels = torch.arange(20).view(5, 4)
    output, moved, classes = op(image, boxes, labels)
    for i in range(5):
        for box, label in zip(moved[i][op.valid["bbox_xyxy"][i]], classes[i][op.valid["bbox_xyxy"][i]], strict=True):
            x1, y1, x2, y2 = box.int()
            assert (output[i, 0, y1:y2, x1:x2] == label + 1).all()


def test_mosaic_boxes_stay_inside() -> None:
    """Kornia issue 4652: boxes ignored the output's size, and rows that were not chosen gained some."""
    image, boxes, _ = ids()
    for size in ((10, 30), (40, 12), None):
        op = K.RandomMosaic(size, p=0.5, data_keys=["image", "bbox_xyxy"], min_bbox_size=4.0)
        output, moved = op(image, boxes)
        h, w = output.shape[-2:]
        assert (moved >= 0).all() and (moved[..., 2] <= w).all() and (moved[..., 3] <= h).all()
        valid, area = op.valid["bbox_xyxy"], (moved[..., 2:] - moved[..., :2]).prod(-1)
        assert (area[valid] > 0).all() and (area[valid & (op._params["batch_prob"] == 1).view(-1, 1)] >= 4).all()


def test_transplantation_after_a_flip_keeps_ranks() -> None:
    """Kornia issues 4707 and 4750: it worked as the first op only, and the mask's rank depended on the chain."""
    image, mask = picture(4, 3, SIZE), torch.randint(3, (4, *SIZE))
    container = K.AugmentationSequential(
        K.RandomHorizontalFlip(p=1.0), K.RandomTransplantation(p=1.0), data_keys=["image", "mask"]
    )
    first = call_seeded(container, image, mask)
    second = call_seeded(container, image, mask.unsqueeze(1))
    assert first[1].shape == mask.shape and torch.equal(first[1].unsqueeze(1), second[1])
    mirrored, classes = image.flip(-1), mask.flip(-1)
    data = container._params[1].data
    for i in range(4):
        taken = classes[i - 1] == data["selected_labels"][i]
        assert torch.equal(first[0][i], torch.where(taken, mirrored[i - 1], mirrored[i]))
        assert torch.equal(first[1][i], torch.where(taken, classes[i - 1], classes[i]))


def test_transplantation_excludes_labels() -> None:
    image, mask = picture(3, 1, SIZE), torch.zeros(3, *SIZE, dtype=torch.long)
    mask[0, :4], mask[1, 4:8], mask[1, 8:] = 7, 5, 2
    drawn = []
    for seed in range(300):
        op = K.RandomTransplantation(torch.tensor([0, 7]), p=1.0)
        output = call_seeded(op, image, mask, seed=seed)
        assert op._params["batch_prob"].tolist() == [0, 0, 1]  # rows 2 and 0 have nothing left to give
        assert torch.equal(output[0][:2], image[:2])
        drawn.append(op._params["selected_labels"][2].item())
    assert scipy.stats.chisquare([drawn.count(2), drawn.count(5)]).pvalue > 1e-4 and set(drawn) == {2, 5}


@pytest.mark.parametrize("dtype", [torch.uint8, torch.bool, torch.float32, torch.int32], ids=str)
def test_labels_are_picked_the_same_way_on_other_devices(dtype: torch.dtype) -> None:
    mask, u = torch.randint(5, (40, 9)).to(dtype), torch.rand(40)
    mask[:3] = 0
    for excluded in ([0.0], [0.0, 1.0], []):
        for one, other in zip(native.pick_labels(mask, u, excluded), pick_by_sorting(mask, u, excluded), strict=True):
            assert torch.equal(one, other)


def test_collage_by_pixels_is_the_same() -> None:
    image = picture(4, 2, SIZE)
    for op in (K.RandomCutMixV2(3, p=0.7), K.RandomMosaic((20, 30), (2, 3), p=0.7), K.RandomJigsaw((4, 3), p=0.7)):
        op(image)
        params = op._params
        made = op.compose(params, image, op.gate(params), op.flags, [])
        slow = collage_of_pixels(image, made.tiles, *made.size, made.base)
        assert torch.equal(slow, op(image, params=params))


def test_copy_paste_is_that_of_the_paper() -> None:
    image, masks, boxes, points = sample(Case("RandomCopyPaste", K.RandomCopyPaste), 5)
    labels = torch.arange(10).view(5, 2)
    op = K.RandomCopyPaste(p=0.7, data_keys=[*KEYS, "class"])
    for seed in range(20):
        output, pasted, moved, _, classes = call_seeded(op, image, masks, boxes, points, labels, seed=seed)
        params, valid = op._params, op.valid["bbox_xyxy"]
        for i in range(5):
            j = params["paste_pairs"][i]
            chosen = params["paste_instances"][i, :2] & (params["batch_prob"][i] == 1)
            theirs = masks[j] * chosen.view(2, 1, 1)
            alpha = (theirs != 0).any(0)
            assert torch.equal(output[i], torch.where(alpha, image[j], image[i]))
            assert torch.equal(pasted[i], torch.cat([masks[i] * ~alpha, theirs]))
            left = (masks[i] * ~alpha).flatten(1).any(1)
            assert valid[i].tolist() == [*left.tolist(), *chosen.tolist()]
            for n in range(2):
                if left[n] and not torch.equal(pasted[i, n], masks[i, n]):
                    assert_close(
                        moved[i, n].round(), torch.tensor(around(pasted[i, n].numpy())).float(), atol=1, rtol=0
                    )
            assert torch.equal(moved[i, 2:][chosen], boxes[j][chosen])
            if params["batch_prob"][i]:
                assert torch.equal(classes[i], torch.cat([labels[i], labels[j]]))


def test_lists_of_objects() -> None:
    generator = torch.Generator().manual_seed(1)
    counts = [1, 3, 2]
    image = picture(3, 3, SIZE)
    masks = [torch.rand(n, *SIZE, generator=generator) > 0.7 for n in counts]
    boxes = [torch.tensor([[0.0, 0, 24, 16]]).repeat(n, 1) for n in counts]
    op = K.RandomCopyPaste(p=1.0, p_instance=1.0, data_keys=KEYS[:3])
    _, pasted, moved = op(image, masks, boxes)
    assert [m.shape for m in pasted] == [(6, *SIZE)] * 3 and [b.shape for b in moved] == [(6, 4)] * 3
    pairs = op._params["paste_pairs"].tolist()
    for i, j in enumerate(pairs):
        seen = op.valid["bbox_xyxy"][i]
        assert seen.sum() == counts[i] + counts[j] and seen[3 : 3 + counts[j]].all()
        assert torch.equal(pasted[i][3 : 3 + counts[j]], masks[j])
    mosaic = K.RandomMosaic(p=1.0, data_keys=["image", "bbox_xyxy"])
    _, tiles = mosaic(image, boxes)
    assert [b.shape for b in tiles] == [(12, 4)] * 3


@pytest.mark.parametrize("key", ["bbox", "bbox_xywh", "bbox_xyxy"])
def test_forms_of_boxes_agree(key: str) -> None:
    image, boxes, _ = ids()
    x1, y1, x2, y2 = boxes.unbind(-1)
    form = {
        "bbox": torch.stack([x1, y1, x2, y1, x2, y2, x1, y2], -1).unflatten(-1, (4, 2)),
        "bbox_xywh": torch.cat([boxes[..., :2], boxes[..., 2:] - boxes[..., :2]], -1),
        "bbox_xyxy": boxes.long(),
    }[key]
    op = K.RandomCutMixV2(p=0.7, data_keys=["image", "bbox_xyxy"])
    expected = op(image, boxes)[1]
    moved = op(image, form, data_keys=["image", key], params=op._params)[1]
    assert moved.dtype == form.dtype
    if key == "bbox":
        moved = torch.cat([moved[..., 0, :], moved[..., 2, :]], -1)
    elif key == "bbox_xywh":
        moved = torch.cat([moved[..., :2], moved[..., :2] + moved[..., 2:]], -1)
    assert torch.equal(moved.float(), expected)


def test_visibility_goes_through_mixes() -> None:
    image, boxes, points = ids()
    for least in (0.0, 0.6):
        container = K.AugmentationSequential(
            K.RandomCutMixV2(p=1.0), data_keys=["image", "bbox_xyxy", "keypoints"], min_visibility=least
        )
        output, moved, spots = call_seeded(container, image, boxes, points)
        share = (moved[..., 2:] - moved[..., :2]).prod(-1) / (boxes[..., 2:] - boxes[..., :2]).prod(-1).repeat(1, 2)
        assert torch.equal(container.valid["bbox_xyxy"], (share > 0) & (share >= least))
        assert torch.equal(container.valid["keypoints"], spots.any(-1))
    lists = call_seeded(container, image, list(boxes), list(points))
    assert torch.equal(torch.stack(lists[1]), moved) and len(container.valid["bbox_xyxy"]) == 5


def test_padding_is_never_mixed_in() -> None:
    image, boxes, _ = ids()
    valid = torch.tensor([True, True, False, True]).repeat(5, 1)
    container = K.AugmentationSequential(
        K.RandomMosaic(p=0.6), K.RandomHorizontalFlip(p=1.0), data_keys=["image", "bbox_xyxy"]
    )
    _, moved = container(image, boxes, valid={"bbox_xyxy": valid})
    known = container.valid["bbox_xyxy"].unflatten(1, (4, 4))
    assert not known[:, :, 2].any() and known[:, :, :2].any()
    assert not moved[:, 4:][~container.valid["bbox_xyxy"][:, 4:]].any()


# --------------------------------------------------------------------------------------------------------------- kornia


PARITY = {
    "mixup": ("RandomMixUpV2", {}, "class"),
    "mixup range": ("RandomMixUpV2", {"lambda_val": (0.2, 0.5), "p": 0.5}, "class"),
    "cutmix": ("RandomCutMixV2", {"num_mix": 2, "beta": 0.5}, "class"),
    "cutmix lambda": ("RandomCutMixV2", {"use_correct_lambda": True, "cut_size": (0.1, 0.6), "p": 0.5}, "class"),
    "patch": ("PatchMix", {"patch_size": 5}, None),
    "jigsaw": ("RandomJigsaw", {"grid": (2, 4)}, None),
    "jigsaw 4x3": ("RandomJigsaw", {"grid": (4, 3), "p": 1.0}, None),
    "mosaic": ("RandomMosaic", {}, "bbox_xyxy"),
    "mosaic sized": ("RandomMosaic", {"output_size": (20, 18), "p": 1.0}, "bbox_xyxy"),
    "mosaic 3x2": ("RandomMosaic", {"output_size": (30, 40), "mosaic_grid": (3, 2), "p": 1.0}, "bbox_xyxy"),
}


@pytest.mark.parametrize("name", PARITY)
def test_parity(name: str) -> None:
    op, arguments, key = PARITY[name]
    given = {"class": [torch.tensor([3, 1, 4, 1, 5])], "bbox_xyxy": [ids()[1]]}.get(key, [])
    keys = ["image", *([key] if given else [])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = getattr(KA, op)(data_keys=keys, **arguments)
    ours, image = getattr(K, op)(data_keys=keys, **arguments), picture(5, 3, SIZE)
    for seed in range(6):
        expected = call_seeded(theirs, image, *given, seed=seed)
        output = ours(image, *given, params=theirs._params)
        expected, output = (v if isinstance(v, list) else [v] for v in (expected, output))
        assert_close(output[0], expected[0])
        if key == "class":
            assert_close(output[1], expected[1])
        elif key == "bbox_xyxy":  # of boxes that are cut away, kornia leaves a pixel at the border
            seen = output[1].any(-1)
            assert_close(output[1][seen], expected[1][seen])
            assert (expected[1][..., 2:] - expected[1][..., :2])[~seen].amin(-1).max() <= 1
        params = ours.forward_parameters(image.shape)
        for entry, value in theirs._params.items():
            if entry != "dtype":
                assert params[entry].shape == value.shape and params[entry].dtype == value.dtype


def test_parity_of_transplantation() -> None:
    image, mask = picture(5, 3, SIZE), torch.randint(4, (5, *SIZE))
    op = K.RandomTransplantation([1], p=0.6)
    output = op(image, mask)
    rows = (op._params["batch_prob"] > 0.5).nonzero().flatten()
    params = {"batch_prob": op._params["batch_prob"], "acceptor_indices": rows}
    params |= {name: op._params[name][rows] for name in ("donor_indices", "selected_labels", "selection")}
    expected = KA.RandomTransplantation([1], p=0.6)(image, mask, params=params)
    assert all(torch.equal(new, old) for new, old in zip(output, expected, strict=True))
