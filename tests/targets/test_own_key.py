"""A kind of label from outside the package: boxes that are turned, as x, y, width, height and an angle."""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import augment as K
from augment.targets.boxes import corners, rotated
from tests.support.helpers import call_seeded, graphs, picture

NAME, SIZE = "bbox_xywhr", (40, 40)


class TurnedBoxes(K.Boxes):
    """Boxes (B, N, 5): the first corner, width, height, and degrees counter-clockwise."""

    tail = (5,)

    def outline(self, boxes: Tensor) -> Tensor:
        return corners(boxes, False)

    def of(self, corners: Tensor) -> Tensor:
        return rotated(corners, False)


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(K.KEYS, NAME, TurnedBoxes())


def boxes(b: int = 2) -> Tensor:
    """Two boxes a row, well inside."""
    return torch.tensor([[[12.0, 14, 8, 5, 0], [20, 22, 6, 4, 30]]]).repeat(b, 1, 1)


def test_a_rotation_turns_them_by_its_angle() -> None:
    op = K.AugmentationSequential(K.RandomRotation((25.0, 25.0), p=1.0), data_keys=["image", NAME])
    _, moved = op(picture(2, size=SIZE), boxes())
    angle, middle = math.radians(25), 20.0  # of 40 pixels, on edges
    x, y = boxes()[..., 0] - middle, boxes()[..., 1] - middle
    assert_close(moved[..., 0], middle + x * math.cos(angle) + y * math.sin(angle), atol=1e-4, rtol=0)
    assert_close(moved[..., 1], middle - x * math.sin(angle) + y * math.cos(angle), atol=1e-4, rtol=0)
    assert_close(moved[..., 2:4], boxes()[..., 2:4], atol=1e-4, rtol=0)
    assert_close(moved[..., 4], boxes()[..., 4] + 25, atol=1e-3, rtol=0)


def test_whole_pixels_a_way_back_lists_and_a_name_in_a_dict() -> None:
    ops = K.RandomVerticalFlip(p=1.0), K.RandomRotation((90.0, 90.0), p=1.0)
    container = K.AugmentationSequential(*ops, data_keys=["image", NAME])
    image = picture(2, size=SIZE)
    output = container(image, boxes())
    back = container.inverse(*output)
    assert_close(corners(back[1], False).sort(-2).values, corners(boxes(), False).sort(-2).values, atol=1e-3, rtol=0)
    _, entries = container(image, list(boxes()), params=container._params)
    assert_close(torch.stack(entries), output[1], atol=1e-5, rtol=0)
    sample = container({"image": image, f"{NAME}_cars": boxes()}, params=container._params)
    assert_close(sample[f"{NAME}_cars"], output[1])


def test_visibility_padding_and_a_closed_gate() -> None:
    crop = K.AugmentationSequential(K.CenterCrop((20, 20)), data_keys=["image", NAME], min_visibility=0.5)
    far = torch.cat([boxes(), torch.tensor([[[1.0, 1, 4, 4, 0]]]).repeat(2, 1, 1)], 1)
    real = torch.tensor([[True, True, True], [True, False, True]])
    _, moved = crop(picture(2, size=SIZE), far, valid={NAME: real})
    assert crop.valid[NAME].tolist() == [[True, True, False], [True, False, False]]
    assert_close(moved[1, 1], far[1, 1])  # padding stays
    closed = K.AugmentationSequential(K.RandomRotation(40.0, p=0.0), data_keys=["image", NAME])
    assert torch.equal(closed(picture(2, size=SIZE), boxes())[1], boxes())


def test_mixes_and_choices_move_them() -> None:
    mosaic = K.RandomMosaic((32, 32), p=1.0, data_keys=["image", NAME])
    image, moved = mosaic(picture(4, size=SIZE), boxes(4))
    assert moved.shape == (4, 8, 5) and mosaic.valid[NAME].any()
    one = K.OneOf(K.RandomRotation(40.0, p=1.0), K.RandomInvert(p=1.0), data_keys=["image", NAME])
    assert one(picture(4, size=SIZE), boxes(4))[1].shape == (4, 2, 5)


def test_compiled_is_eager(optimizer: str) -> None:
    container = K.AugmentationSequential(K.RandomAffine(30.0, (0.1, 0.1)), data_keys=["image", NAME])
    compiled = torch.compile(container, fullgraph=True, backend=optimizer)
    for seed in range(3):
        expected = call_seeded(container, picture(3, size=SIZE), boxes(3), seed=seed)
        found = call_seeded(compiled, picture(3, size=SIZE), boxes(3), seed=seed)
        assert_close(found[1], expected[1], atol=1e-4, rtol=0)
    assert graphs() == 1


def test_a_wrong_form_names_the_key() -> None:
    container = K.AugmentationSequential(K.RandomInvert(), data_keys=["image", NAME])
    with pytest.raises(ValueError, match=rf"{NAME}: expected 2 to 3 dimensions, the last being \(5,\)"):
        container(picture(2, size=SIZE), torch.zeros(2, 3, 4))
    with pytest.raises(ValueError, match=f"data_keys: expected names out of .*{NAME}"):
        K.AugmentationSequential(K.RandomInvert(), data_keys=["bbox_unknown"])


def test_names_in_any_case_and_what_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(K.KEYS, "BBox_Turned", TurnedBoxes())
    container = K.AugmentationSequential(K.RandomVerticalFlip(p=1.0), data_keys=["image", "bbox_turned"])
    assert container(picture(2, size=SIZE), boxes())[1].shape == (2, 2, 5)
    monkeypatch.setitem(K.KEYS, "bbox_class", TurnedBoxes)
    with pytest.raises(TypeError, match=r"KEYS\['bbox_class'\]: expected a Key"):
        K.AugmentationSequential(K.RandomInvert(), data_keys=["image", "bbox_class"])
