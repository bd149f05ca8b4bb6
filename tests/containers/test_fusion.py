"""Runs of ops that a container does as one: what joins them, what they compute, and that labels follow."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

import augment as K
from augment.kernels.warp import maths as resample
from augment.kernels.warp import matrices as geometry
from tests.support.choices import KEYS, assert_compiled_is_eager, values
from tests.support.helpers import call_seeded, picture, with_gate

cv2 = pytest.importorskip("cv2")
data = pytest.importorskip("skimage.data")

MEAN, STD = [0.5, 0.4, 0.3], [0.2, 0.25, 0.3]


def fused(*ops: nn.Module, **options: Any) -> K.AugmentationSequential:
    return K.AugmentationSequential(*ops, fuse=True, **options)


def runs(*ops: nn.Module, **options: Any) -> list[list[int]]:
    """Give the numbers of the ops that are done as one, as ``print`` shows them."""
    lines = [line for line in repr(fused(*ops, **options)).splitlines() if "as one: " in line]
    return [[int(name.rpartition("_")[2]) for name in line.partition(": ")[2].split(", ")] for line in lines]


# ------------------------------------------------------------------------------------------------------ what joins ops


def test_runs() -> None:
    flip, turn, blur = K.RandomHorizontalFlip, K.RandomRotation, K.RandomGaussianBlur
    assert runs(flip(), turn(9.0), K.RandomPerspective(), K.RandomResizedCrop((9, 9)), K.Resize(8)) == [[0, 1, 2, 3, 4]]
    assert runs(flip(), blur((3, 3), (0.1, 2.0)), flip(), turn(9.0)) == [[2, 3]]
    assert runs(flip(), K.RandomFisheye(torch.zeros(2), torch.zeros(2), torch.ones(2)), flip()) == []
    assert runs(flip(), K.AugmentationSequential(flip()), flip()) == []
    assert runs(flip(), nn.Identity(), flip()) == []
    assert runs(flip(), K.RandomIoUCrop(), flip()) == []
    assert runs(flip(), K.RandomBrightness(), K.Normalize(0.5, 0.5), flip(), flip()) == [[1, 2], [3, 4]]
    assert runs(K.RandomBrightness(), K.RandomEqualize(), K.RandomGamma()) == []
    assert runs(K.ColorJitter(0.1, 0.1), K.RandomGrayscale(), K.RandomSolarize(), K.RandomPosterize()) == [[0, 1, 2, 3]]
    assert "as one" not in repr(K.AugmentationSequential(flip(), flip()))


def test_ops_that_see_differently_are_no_run() -> None:
    flip, turn = K.RandomHorizontalFlip, K.RandomRotation
    assert runs(turn(9.0), turn(9.0, resample="nearest")) == []
    assert runs(turn(9.0), flip(), turn(9.0, resample="nearest"), K.RandomVerticalFlip()) == [[0, 1], [2, 3]]
    assert runs(turn(9.0), turn(9.0, padding_mode="border")) == []
    grey = turn(9.0, padding_mode="fill", fill_value=0.5)
    assert runs(K.PadTo((40, 40), pad_value=0.5), grey) == [[0, 1]]
    assert runs(K.PadTo((40, 40)), grey) == []
    assert runs(K.CenterCrop((9, 9)), K.PadTo((40, 40)), flip()) == [[1, 2]]  # which frames what the crop left
    assert runs(flip(), K.RandomCrop((9, 9), padding=2)) == [] and runs(flip(), K.RandomCrop((9, 9))) == [[0, 1]]
    assert runs(K.LetterBox((40, 40)), flip()) == []
    assert runs(K.RandomCrop((9, 9)), K.RandomZoomOut(), flip()) == [[1, 2]]
    mirrors = turn(9.0, padding_mode="reflection")
    assert runs(mirrors, turn(9.0, padding_mode="reflection")) == [] and runs(mirrors, flip()) == [[0, 1]]
    assert runs(K.RandomResizedCrop((40, 40), p=0.5), turn(9.0)) == []
    assert runs(K.RandomResizedCrop((40, 40), p=0.5), flip()) == [[0, 1]]
    edges = K.Resize((40, 40), align_corners=False)
    assert runs(edges, flip()) == [[0, 1]] and runs(edges, turn(9.0)) == [] == runs(turn(9.0), edges)
    assert runs(edges, turn(9.0, padding_mode="border")) == [[0, 1]]
    assert runs(K.Resize((40, 40)), turn(9.0)) == [[0, 1]]
    assert runs(turn(9.0, padding_mode="fill", fill_value=0.0), turn(9.0)) == [[0, 1]]
    assert runs(turn(9.0, padding_mode="reflection"), K.RandomCrop((9, 9), padding=4, padding_mode="reflect")) == []
    assert runs(turn(9.0, padding_mode="reflection"), K.RandomCrop((9, 9), padding_mode="reflect")) == [[0, 1]]
    assert runs(turn(9.0), turn(9.0), extra_args={"image": {"padding_mode": "border"}}) == [[0, 1]]


class Mine(K.RandomRotation):
    """An op of a user's, which computes its image itself."""

    def apply_transform(self, input: Tensor, params: Any, flags: Any, transform: Any = None) -> Tensor:
        return super().apply_transform(input, params, flags, transform)


class Shift(K.RigidAffineAugmentationBase2D):
    """An op of a user's, in kornia's style."""

    def compute_transformation(self, input: Tensor, params: Any, flags: Any) -> Tensor:
        matrix = torch.eye(3).repeat(len(input), 1, 1)
        matrix[:, 0, 2] = 2
        return matrix


class Named(K.GeometricAugmentationBase2D):
    """An op of a user's, whose flags are as kornia has them."""

    def __init__(self) -> None:
        super().__init__(p=1.0)
        self.flags = {"resample": "BILINEAR", "align_corners": False}

    def compute_transformation(self, input: Tensor, params: Any, flags: Any) -> Tensor:
        return torch.eye(3).repeat(len(input), 1, 1)


class Further(K.RandomHorizontalFlip):
    """An op of a user's, which moves otherwise than its base."""

    def warp(self, input: Tensor, params: Any, flags: Any) -> Any:
        return super().warp(input, params, flags)


class Copied(K.RandomHorizontalFlip):
    """An op of a user's, which wraps what its base does with an image."""

    def transform_image(self, *args: Any, **options: Any) -> Tensor:
        return super().transform_image(*args, **options) * 0.5


class Darker(K.RandomBrightness):
    """A colour op of a user's."""

    def apply_transform(self, input: Tensor, params: Any, flags: Any, transform: Any = None) -> Tensor:
        return input / 2


def test_ops_of_users() -> None:
    assert runs(K.RandomHorizontalFlip(), Mine(9.0), K.RandomHorizontalFlip()) == []
    assert runs(K.RandomHorizontalFlip(), Shift(), K.RandomVerticalFlip()) == [[0, 1, 2]]
    assert runs(K.RandomBrightness(), Darker(), K.RandomBrightness()) == []
    assert runs(K.RandomHorizontalFlip(), Copied(), K.RandomHorizontalFlip()) == []
    assert runs(K.RandomHorizontalFlip(), Further(), K.RandomHorizontalFlip()) == [[0, 1, 2]]
    assert runs(Named(), K.RandomHorizontalFlip(), K.RandomRotation(9.0)) == [[0, 1, 2]]
    assert_close(fused(Named(), K.RandomHorizontalFlip(p=1.0))(picture(2)), picture(2).flip(3))
    image = picture(2)
    flipped = torch.nn.functional.pad(image.flip(3), (2, 0))[..., :-2]
    assert_close(fused(K.RandomHorizontalFlip(p=1.0), Shift(p=1.0))(image), flipped)


# ------------------------------------------------------------------------------------------------------------- geometry


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
@pytest.mark.parametrize("sizes", [(600, 601), (601, 600)])
def test_nearly_whole_pixels_are_none(sizes: tuple[int, int], dtype: torch.dtype) -> None:
    """A pixel more or less is a resize, whose edges are not lost, and whose labels are not shifted."""
    image = torch.zeros(1, 1, sizes[0], 8, dtype=dtype)
    image[..., -1, :] = 1
    mask = torch.ones(1, 1, sizes[0], 8)
    for fuse in (False, True):
        resize = K.Resize((sizes[1], 8))
        container = K.AugmentationSequential(resize, K.RandomHorizontalFlip(), data_keys=["image", "mask"], fuse=fuse)
        out, seen = container(image, mask)
        assert (out[..., -1, :] == 1).all() and (out[..., :-2, :] == 0).all() and (seen == 1).all()


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
def test_edges_stay_bright(fuse: bool, dtype: torch.dtype) -> None:
    """Whatever interpolates by edges, nothing dark is seen beyond them behind a closed gate."""
    white = torch.ones(2, 1, 16, 16).mul(255 if dtype == torch.uint8 else 1).to(dtype)
    sizes = [K.Resize((48, 48), align_corners=c) for c in (False, True)] + [K.LetterBox((48, 60), fill=1.0)]
    sizes += [K.RandomResizedCrop((48, 48), align_corners=c, p=p) for c in (False, True) for p in (0.5, 1.0)]
    for op in sizes:
        for other in (K.RandomRotation(10.0, p=0.0), K.RandomHorizontalFlip()):
            out = K.AugmentationSequential(op, other, fuse=fuse)(white)
            assert_close(out.float(), torch.full_like(out, int(white.max())).float(), atol=1e-4, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
def test_whole_pixels_stay_exact(dtype: torch.dtype) -> None:
    ops = [
        K.RandomHorizontalFlip,
        K.RandomD4,
        lambda: K.RandomCrop((11, 13), p=0.5),
        K.RandomVerticalFlip,
        lambda: K.PadTo((20, 20)),
    ]
    given = values(8, dtype)
    plain, one = (K.AugmentationSequential(*(op() for op in ops[:4]), data_keys=KEYS, fuse=f) for f in (False, True))
    for seed in range(5):
        expected, got = call_seeded(plain, *given, seed=seed), call_seeded(one, *given, seed=seed)
        assert torch.equal(got[0], expected[0]) and torch.equal(got[1], expected[1])
        for new, old in zip(got[2:], expected[2:], strict=True):
            assert_close(new, old, atol=1e-4, rtol=0)
        assert_close(one.transform_matrix, plain.transform_matrix)


def test_closed_rows_stay_bit_for_bit() -> None:
    ops = [K.RandomRotation(20.0), K.RandomPerspective(0.4), K.RandomAffine(10.0, (0.1, 0.1))]
    container, image = fused(*ops, data_keys=["image", "keypoints", "bbox_xyxy"]), picture(4, size=(20, 24))
    image[0, 0, 0, 0] = torch.nan
    points, boxes = torch.rand(4, 3, 2) * 17, torch.rand(4, 3, 4) * 17
    params = container.forward_parameters(image.shape)
    for op, item, gate in zip(ops, params, ([0, 1, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0]), strict=True):
        item.data.update(with_gate(op, image.shape, gate))
    output = container(image, points, boxes, params=params)
    for new, old in zip(output, (image, points, boxes), strict=True):
        for row in (0, 2):
            assert torch.equal(new[row].nan_to_num(9), old[row].nan_to_num(9))
        assert not torch.equal(new[1], old[1]) and not torch.equal(new[3], old[3])


def test_triangles_of_antialiased_resizing() -> None:
    """An impulse becomes the filter, 2**level pixels to either side; edges continue."""
    image = torch.zeros(1, 1, 1, 17)
    image[..., 8] = 1
    for level, heights in ((0, [1.0]), (1, [1, 2, 1]), (2, [1, 2, 3, 4, 3, 2, 1])):
        expected = torch.tensor(heights, dtype=torch.float32) / sum(heights)
        around = (17 - len(heights)) // 2
        expected = torch.nn.functional.pad(expected, (around, around))
        assert_close(resample.smoothed(image, -1, level)[0, 0, 0], expected)
        assert_close(resample.smoothed_rows(image, -1, torch.tensor([level]))[0, 0, 0], expected)
        assert_close(resample.smoothed(image.mT, -2, level)[0, 0, :, 0], expected)
        assert_close(resample.smoothed(torch.full((1, 2, 3, 5), 0.7), -1, level), torch.full((1, 2, 3, 5), 0.7))


def test_what_a_pixel_spans() -> None:
    turn = math.sqrt(0.5)
    back = torch.tensor([
        [[1, 0, 3], [0, 1, 2], [0, 0, 1]],
        [[4, 0, 0], [0, 0.5, 0], [0, 0, 1]],
        [[2 * turn, -2 * turn, 0], [2 * turn, 2 * turn, 0], [0, 0, 1]],  # a turn and a doubling
        [[4, 0, 0], [0, 4, 0], [0, 0, 2]],
        [[1, 0, 0], [0, 1, 0], [0.02, 0, 0.9]],  # x / w with w = 1 at x = 5: (1 - 5 * 0.02) across
    ], dtype=torch.float32)  # fmt: skip
    spans = geometry.shrinkage(back, 11, 11)
    assert_close(spans, torch.tensor([[1, 1], [4, 0.5], [2, 2], [2, 2], [0.9, math.hypot(1, 0.0)]]), atol=0.11, rtol=0)
    assert_close(spans[:4], torch.tensor([[1, 1], [4, 0.5], [2, 2], [2, 2.0]]))
    edge = torch.tensor([0.0, 1.0, math.sqrt(2) - 1e-3, math.sqrt(2) + 1e-3, 2, 4, 1e6])
    assert resample.levels(edge).tolist() == [0, 0, 0, 1, 1, 2, resample.LEVELS]


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
@pytest.mark.parametrize("turn", [0.0, 20.0])
def test_what_shrinks_is_filtered(dtype: torch.dtype, turn: float) -> None:
    """Lines of one pixel become their mean, not one of the two."""
    lines = (torch.arange(64) % 2 * (255 if dtype == torch.uint8 else 1)).to(dtype).expand(2, 3, 64, 64)
    container = fused(
        K.RandomAffine((turn, turn), scale=(0.25, 0.25), p=1.0), K.CenterCrop(8), K.RandomHorizontalFlip()
    )
    middle = container(lines.contiguous()).float() / (255 if dtype == torch.uint8 else 1)
    assert_close(middle, torch.full_like(middle, 0.5), atol=0.02, rtol=0)


@pytest.mark.parametrize("corners", [True, False])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_windows_of_bytes(corners: bool, layout: torch.memory_format) -> None:
    """The kernel for bytes gives what floats give, to one level: it rounds an axis at a time."""
    image = torch.from_numpy(photographs(128)).permute(0, 3, 1, 2).contiguous(memory_format=layout)

    def ops():
        return [
            K.RandomResizedCrop((80, 72), scale=(0.2, 0.6), align_corners=corners),
            K.RandomHorizontalFlip(),
            K.RandomVerticalFlip(),
        ]

    for seed in range(4):
        one = call_seeded(fused(*ops()), image, seed=seed)
        expected = call_seeded(fused(*ops()), image.double() / 255, seed=seed) * 255
        assert one.dtype == torch.uint8 and one.is_contiguous(memory_format=layout)
        assert (one - expected).abs().max() <= 1.01


PHOTOS = (data.astronaut, lambda: data.coffee()[:, 100:500], lambda: data.chelsea()[:, 60:360])


def photographs(side: int) -> np.ndarray:
    """Give photographs (3, side, side, 3), uint8."""
    return np.stack([cv2.resize(photo(), (side, side), interpolation=cv2.INTER_AREA) for photo in PHOTOS])


def supersampled(photo: np.ndarray, matrix: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Warp a photograph at four times the resolution (OpenCV), and average what falls on each pixel."""
    finer = np.array([[4, 0, 1.5], [0, 4, 1.5], [0, 0, 1]])
    warped = cv2.warpPerspective(
        photo, finer @ matrix @ np.linalg.inv(finer), (size[1] * 4, size[0] * 4), flags=cv2.INTER_CUBIC
    )
    return cv2.resize(warped, (size[1], size[0]), interpolation=cv2.INTER_AREA)


def chain() -> list[nn.Module]:
    return [
        K.RandomRotation((17.0, 17.0), p=1.0),
        K.RandomAffine((-9.0, -9.0), scale=(1.1, 1.1), shear=(4.0, 4.0), p=1.0),
        K.RandomPerspective(0.2, p=1.0),
        K.RandomResizedCrop((100, 100), scale=(0.6, 0.9), ratio=(1.0, 1.0)),
    ]


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
def test_four_warps_as_one_are_sharper(dtype: torch.dtype) -> None:
    """Against four times the resolution, a run of warps is nearer than the same warps one by one, by more than 1 dB."""
    fine = photographs(512)
    coarse = [cv2.resize(photo, (128, 128), interpolation=cv2.INTER_AREA) for photo in fine]
    image = torch.from_numpy(np.stack(coarse)).permute(0, 3, 1, 2)
    image = image if dtype == torch.uint8 else image.float() / 255
    errors: dict[bool, list[float]] = {}
    for one in (True, False):
        container = K.AugmentationSequential(*chain(), fuse=one)
        output = call_seeded(container, image, seed=3)
        output = output.float() / (255 if dtype == torch.uint8 else 1)
        matrices = container.transform_matrix.double().numpy()
        for photo, matrix, got in zip(fine, matrices, output, strict=True):
            expected = supersampled(photo.astype(np.float32) / 255, matrix, (100, 100))
            inner = (expected - got.permute(1, 2, 0).numpy())[15:-15, 15:-15]
            errors.setdefault(one, []).append(10 * math.log10(1 / np.square(inner).mean()))
    assert all(a > b + 1 for a, b in zip(errors[True], errors[False], strict=True)), errors


@pytest.mark.parametrize("fill", [0.25, [0.1, 0.2, 0.3]])
def test_fill_and_border(fill: Any) -> None:
    def ops():
        return [
            K.RandomTranslate((0.5, 0.5), None, p=1.0, padding_mode="fill", fill_value=fill),
            K.RandomVerticalFlip(p=1.0),
        ]

    image, colour = picture(2, size=(8, 8)), torch.tensor(fill).expand(3).view(3, 1, 1)
    output = fused(*ops())(image)
    assert_close(output[..., :3], colour.expand(2, 3, 8, 3))
    assert_close(output[..., 4:], image.flip(2)[..., :4])
    bytes = fused(*ops())((image * 255).to(torch.uint8))
    assert torch.equal(bytes[..., :3], (colour * 255).round().to(torch.uint8).expand(2, 3, 8, 3))
    border = fused(K.RandomTranslate((0.5, 0.5), p=1.0, padding_mode="border"), K.RandomHorizontalFlip(p=1.0))(image)
    assert_close(border[..., 4:], image[..., :1].expand(2, 3, 8, 4))


def test_masks_keep_their_labels() -> None:
    mask = torch.randint(0, 5, (4, 1, 24, 24)) * 60
    container = fused(*chain()[:3], data_keys=["image", "mask"], extra_args={"mask": {"fill": 999}})
    _, moved = container(picture(4, size=(24, 24)), mask)
    assert moved.dtype == torch.int64 and set(moved.unique().tolist()) <= {0, 60, 120, 180, 240, 999}
    _, listed = container(picture(4, size=(24, 24)), list(mask), params=container._params)
    assert torch.equal(torch.stack(listed), moved)


def test_boxes_are_no_larger() -> None:
    """The box round a box that was turned twice is turned once: within what the ops give one by one."""
    boxes = torch.tensor([[[20.0, 20, 60, 50]]])

    def ops():
        return [K.RandomRotation((30.0, 30.0), p=1.0), K.RandomRotation((-30.0, -30.0), p=1.0)]

    image = picture(1, size=(80, 80))
    _, one = fused(*ops(), data_keys=["image", "bbox_xyxy"])(image, boxes)
    assert_close(one, boxes, atol=1e-3, rtol=0)


def test_visibility() -> None:
    """What a step of a run cuts off and a later one brings back was never gone."""

    def ops():
        return [K.CenterCrop((10, 10)), K.RandomAffine(0.0, scale=(0.6, 0.6), p=1.0)]

    points = torch.tensor([[[7.0, 7.0], [16.0, 7.0], [19.0, 7.0]]])
    options: Any = {"data_keys": ["image", "keypoints"], "min_visibility": 0.5}
    container = fused(*ops(), **options)
    container(picture(1, size=(20, 20)), points)
    assert container.valid["keypoints"].tolist() == [[True, True, False]]


def test_replay_and_inverse() -> None:
    container, given = fused(*chain(), K.RandomGamma((0.5, 2.0)), K.ColorJitter(0.2, 0.2), data_keys=KEYS), values(4)
    output = container(*given)
    again = fused(*chain(), K.RandomGamma((0.5, 2.0)), K.ColorJitter(0.2, 0.2), data_keys=KEYS)
    params = K.saving.from_json(K.saving.to_json(container._params))
    assert all(torch.equal(a, b) for a, b in zip(again(*given, params=params), output, strict=True))
    back = container.inverse(*output)
    assert back[0].shape == given[0].shape
    assert_close(back[3], given[3], atol=1e-2, rtol=0)
    bad = list(container._params)
    bad[1] = bad[1]._replace(data={**bad[1].data, "batch_prob": torch.ones(3)})
    with pytest.raises(ValueError, match=r"AugmentationSequential\[1\].RandomAffine.*batch_prob"):
        container(*given, params=bad)


def test_ops_that_come_again() -> None:
    """Each round of an op in a run has its own parameters."""
    ops = [K.RandomHorizontalFlip, lambda: K.RandomRotation(40.0), K.RandomVerticalFlip, lambda: K.RandomAffine(20.0)]
    for colour in (False, True):
        made = [K.RandomBrightness((0.5, 1.5)), K.RandomGamma((0.5, 2.0))] if colour else [op() for op in ops]
        container = fused(*made, random_apply=len(made), data_keys=["image", "keypoints"])
        for seed in range(4):
            image, points = picture(6), torch.rand(6, 3, 2) * 12
            torch.manual_seed(seed)
            out, moved = container(image, points)
            again = container(image, points, params=container._params)
            assert torch.equal(again[0], out) and torch.equal(again[1], moved)
            assert_close(container.inverse(out, moved)[1], points, atol=1e-3, rtol=0)
            ones = torch.cat([points, torch.ones(6, 3, 1)], 2) @ container.transform_matrix.mT
            assert_close(ones[..., :2], moved, atol=1e-3, rtol=0)


def test_chosen_ops_are_one_too() -> None:
    """Gates of a choice close in a run as anywhere."""

    def ops():
        return [K.RandomHorizontalFlip(p=0.7), K.RandomRotation90((1, 2), p=0.7), K.RandomVerticalFlip(p=0.7)]

    image = picture(16, size=(12, 12))
    for random_apply in (2, (1, 3)):
        plain = K.AugmentationSequential(*ops(), random_apply=random_apply)
        one = fused(*ops(), random_apply=random_apply)
        assert torch.equal(call_seeded(one, image), call_seeded(plain, image))


def test_gradients() -> None:
    image = picture(2, size=(10, 12), dtype=torch.float64).requires_grad_()
    container = fused(*chain()[:2], K.RandomContrast((0.5, 0.9)), K.RandomGamma((0.6, 0.9)))
    params = container.forward_parameters(image.shape)
    assert torch.autograd.gradcheck(lambda x: container(x * 0.8 + 0.1, params=params), image)


# --------------------------------------------------------------------------------------------------------------- colour


def colours() -> list[nn.Module]:
    return [
        K.RandomBrightness((0.7, 1.3), p=0.6),
        K.RandomContrast((0.7, 1.3), p=0.6),
        K.RandomGamma((0.6, 1.5), (0.8, 1.2), p=0.6),
        K.RandomRGBShift(p=0.6),
        K.RandomPlanckianJitter(p=0.6),
        K.RandomInvert([0.9, 1.0, 0.8], p=0.6),
        K.RandomSolarize(p=0.6),
        K.RandomPosterize((2, 8), p=0.6),
        K.Denormalize([0.1, 0.0, 0.05], [0.9, 1.0, 0.8], p=0.6),
    ]


def mixed() -> list[nn.Module]:
    return [
        K.RandomSaturation((0.5, 1.5), p=0.6),
        K.RandomAutoContrast(p=0.6),
        K.ColorJitter(0.3, 0.3, 0.3, 0.2, p=0.6),
        K.Denormalize([0.1, 0.0, 0.05], [0.9, 1.0, 0.8], p=0.6),
        K.RandomChannelShuffle(p=0.6),
        K.RandomChannelDropout(2, 0.3, p=0.6),
        K.ColorJiggle(0.3, 0.3, 0.3, 0.2, order=(3, 1, 0, 2), p=0.6),
        K.RandomHue((-0.3, 0.3), p=0.6),
        K.RandomGrayscale(p=0.6),
        K.RandomPhotometricDistort(p=0.6),
        K.ColorJiggle(0.3, 0.3, 0.3, 0.2, p=0.6),
        K.RandomSnow(p=0.6),
    ]


@pytest.mark.parametrize("ops", [colours, mixed])
def test_floats_of_a_run_are_those_of_its_ops(ops: Any) -> None:
    image = picture(16, size=(12, 14), dtype=torch.float64)
    assert runs(*ops()) == [list(range(len(ops())))]
    for seed in range(4):
        one, plain = (call_seeded(K.AugmentationSequential(*ops(), fuse=f), image, seed=seed) for f in (True, False))
        assert_close(one, plain, atol=1e-9, rtol=0)


@pytest.mark.parametrize("end", [[], [K.Normalize(MEAN, STD)]])
@pytest.mark.parametrize("ops", [colours, mixed])
def test_bytes_are_rounded_once(ops: Any, end: list[nn.Module]) -> None:
    """A run on bytes gives what it gives on their values in float64, rounded at the end or, normalised, not at all."""
    image = picture(16, size=(12, 14), dtype=torch.uint8)
    steps = (K.RandomPosterize, K.RandomSolarize)  # where float32 may fall to the other side

    def run() -> K.AugmentationSequential:
        return fused(*(op for op in ops() if not isinstance(op, steps)), *end)

    for seed in range(4):
        got = call_seeded(run(), image, seed=seed)
        exact = call_seeded(run(), image.double() / 255, seed=seed)
        if end:
            assert got.dtype == torch.float32
            assert (got - exact).abs().max() < 1e-4
        else:
            assert got.dtype == torch.uint8
            assert (got - exact.clamp(0, 1) * 255).abs().max() < 0.5 + 1e-2


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("jitter", [K.ColorJitter, K.ColorJiggle, K.RandomPhotometricDistort])
def test_channels_are_blended_behind_a_jitter(jitter: Any, channels: int) -> None:
    """Blends and normalisation in one go give what they give one by one, gates of all kinds included."""
    given = {} if jitter is K.RandomPhotometricDistort else {"brightness": 0.3, "contrast": 0.3, "hue": 0.2, "p": 0.5}
    gray = K.RandomGrayscale([0.5, 0.2, 0.1][:channels], p=0.5)
    pairs = K.Normalize(0.5, 0.25, p=0.5), K.Denormalize([0.3, 0.0, 0.1][:channels], [0.9, 1.0, 0.8][:channels], p=0.5)
    image = picture(12, channels, size=(9, 11))
    for ops in ((gray,), pairs, (pairs[0], gray, pairs[1])):
        for x in (image, (image * 255).round().byte()):
            if any(isinstance(op, K.Normalize) for op in ops) and x.dtype == torch.uint8:
                continue
            one, plain = (
                call_seeded(K.AugmentationSequential(jitter(**given), *ops, fuse=f), x, seed=4) for f in (True, False)
            )
            assert one.dtype == plain.dtype
            # bytes are rounded twice unfused, and weights of 0.8 in all carry half a level on
            assert_close(one.double(), plain.double(), atol=1 if x.dtype == torch.uint8 else 1e-6, rtol=0)


@pytest.mark.parametrize("op", [K.ColorJitter, K.RandomBrightness, K.RandomContrast, K.RandomPhotometricDistort])
def test_gradients_of_bounds_through_bytes(op: Any) -> None:
    """Normalised bytes teach a bound what their values in [0, 1] would."""
    image, found = picture(4, dtype=torch.uint8), []
    for x in (image, image.float() / 255):
        bounds = nn.Parameter(torch.tensor([0.8, 1.2]))
        container = fused(op(bounds, p=0.8), K.Normalize(MEAN, STD))
        call_seeded(container, x).square().sum().backward()
        assert bounds.grad is not None
        found.append(bounds.grad)
    assert_close(found[0], found[1], atol=1e-2, rtol=1e-3)
    assert found[0].abs().min() > 1


def test_a_channel_without_a_share_adds_nothing() -> None:
    image = picture(2)
    image[:, 1] = torch.nan
    jitter, gray = K.ColorJitter(0.3, p=0.0), K.RandomGrayscale([1.0, 0.0, 0.0], p=1.0)
    assert torch.equal(fused(jitter, gray)(image), image[:, :1].expand(-1, 3, -1, -1))
    assert not fused(jitter, K.RandomGrayscale([0.0, 0.0, 0.0], p=1.0))(image).any()


def test_closed_gates_and_values_out_of_range() -> None:
    image = picture(4)
    image[0, 0, 0, 0], image[0, 1, 2, 3] = torch.nan, 7
    for ops in (colours(), mixed()):
        for op in ops:
            op.p = 0.0
        assert torch.equal(fused(*ops)(image).nan_to_num(9), image.nan_to_num(9))
        bytes = picture(4, dtype=torch.uint8)
        assert torch.equal(fused(*ops)(bytes), bytes)


def test_labels_follow_closed_ops_that_change_the_size() -> None:
    """Two closed transpositions of an oblong give its centred window, back in the size that it had."""
    image = torch.arange(36.0 * 41).view(1, 1, 36, 41)
    points = torch.tensor([[[18.0, 17.0]]])
    results = []
    for fuse in (True, False):
        ops = (K.RandomTranspose(p=0.0), K.RandomTranspose(p=0.0))
        container = K.AugmentationSequential(*ops, data_keys=["image", "keypoints"], fuse=fuse)
        output, moved = container(image, points)
        x, y = moved[0, 0].long().tolist()
        assert output[0, 0, y, x] == image[0, 0, 17, 18]
        results.append(moved)
    assert torch.equal(*results)


def test_shapes_are_checked_in_a_run() -> None:
    with pytest.raises(ValueError, match="RandomSaturation: input: expected 1 or 3 channels, got 4"):
        fused(K.RandomBrightness(), K.RandomSaturation())(torch.rand(2, 4, 8, 8))
    with pytest.raises(ValueError, match="Normalize: mean: expected"):
        fused(K.RandomBrightness(), K.Normalize([0.1, 0.2], 1.0))(torch.rand(2, 3, 8, 8))
    with pytest.raises(ValueError, match="RandomCrop: size: expected at most"):
        fused(K.Resize(8), K.RandomCrop((9, 9)))(torch.rand(2, 3, 20, 20))
    with pytest.raises(TypeError, match="fuse"):
        K.AugmentationSequential(K.RandomHorizontalFlip(), fuse=1)


# ------------------------------------------------------------------------------------------------------------- compiled


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
@pytest.mark.parametrize("name", ["geometry", "colours", "mixed"])
def test_dynamo_run(name: str, dtype: torch.dtype, optimizer: str) -> None:
    ends = {"geometry": lambda: [K.RandomHorizontalFlip(), *chain()], "colours": colours, "mixed": mixed}
    last = [] if name == "geometry" else [K.Normalize(MEAN, STD)]  # which would make a level of a byte a large step
    container = fused(*ends[name](), *last, data_keys=KEYS)
    assert_compiled_is_eager(container, values(4, dtype), optimizer)
