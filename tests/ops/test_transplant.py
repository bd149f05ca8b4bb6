"""Transplantation and copy-paste against arithmetic, the paper and kornia."""

import kornia.augmentation as KA
import pytest
import scipy.stats
import torch
from torch.testing import assert_close

import augment as K
from augment import kernels as native
from augment.kernels.mixing.entry import pick_by_sorting
from augment.testing import Case
from tests.support.helpers import call_seeded, picture
from tests.support.mixing import KEYS, SIZE, around, sample


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


def test_parity_of_transplantation() -> None:
    image, mask = picture(5, 3, SIZE), torch.randint(4, (5, *SIZE))
    op = K.RandomTransplantation([1], p=0.6)
    output = op(image, mask)
    rows = (op._params["batch_prob"] > 0.5).nonzero().flatten()
    params = {"batch_prob": op._params["batch_prob"], "acceptor_indices": rows}
    params |= {name: op._params[name][rows] for name in ("donor_indices", "selected_labels", "selection")}
    expected = KA.RandomTransplantation([1], p=0.6)(image, mask, params=params)
    assert all(torch.equal(new, old) for new, old in zip(output, expected, strict=True))
