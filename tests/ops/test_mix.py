"""Mixes of rows: mixup, cutmix and patches against arithmetic and kornia."""

import warnings

import kornia.augmentation as KA
import numpy as np
import pytest
import scipy.stats
import torch
from torch.testing import assert_close

import augment as K
from augment.kernels.mixing import maths as mx
from augment.kernels.mixing.entry import collage_of_pixels
from tests.support.helpers import call_seeded, picture
from tests.support.mixing import KEYS, SIZE, around, ids


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


def test_collage_by_pixels_is_the_same() -> None:
    image = picture(4, 2, SIZE)
    for op in (K.RandomCutMixV2(3, p=0.7), K.RandomMosaic((20, 30), (2, 3), p=0.7), K.RandomJigsaw((4, 3), p=0.7)):
        op(image)
        params = op._params
        made = op.compose(params, image, op.gate(params), op.flags, [])
        slow = collage_of_pixels(image, made.tiles, *made.size, made.base)
        assert torch.equal(slow, op(image, params=params))


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
