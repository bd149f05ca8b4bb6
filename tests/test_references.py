"""Every op computes what its name says: against the independent references, and on inputs with a known answer."""

from typing import Any

import numpy as np
import pytest
import torch
from expected import REFERENCES
from references import Array, gaussian, picture
from torch import Tensor
from torch.testing import assert_close

import augment as K
from augment.testing import VARIANTS as TABLE
from augment.testing import Case, cases, ops

# variants that the references know as well
VARIANTS = [name for name in TABLE if "antialias" not in name]
# arguments that tell the axes apart
AXES = [
    Case(
        "RandomAffine[axes]", K.RandomAffine, {"degrees": 20.0, "scale": (0.6, 0.9, 1.1, 1.5), "shear": (-9, 9, 5, 20)}
    ),
    Case("RandomCrop[sides]", K.RandomCrop, {"size": (15, 20), "padding": (1, 2, 3, 4), "padding_mode": "circular"}),
    Case(
        "RandomElastic[axes]",
        K.RandomElasticTransform,
        {"kernel_size": (7, 5), "sigma": (2.0, 1.0), "alpha": (2.0, 1.0)},
    ),
    Case(
        "RandomGaussianBlur[axes]",
        K.RandomGaussianBlur,
        {"kernel_size": (3, 7), "sigma": (0.5, 3.0), "border_type": "constant"},
    ),
    Case("RandomResizedCrop[edges]", K.RandomResizedCrop, {"size": (19, 25), "align_corners": False}),
    Case("Resize[edges]", K.Resize, {"size": (29, 12), "align_corners": False}),
]
CASES = [case for case in cases() if case.name in (*ops(), *VARIANTS)] + AXES
SEEDS = range(3)
DOUBLE = 1e-12


# Known failures, each with its reason.
def tolerance(case: Case) -> float:
    """Give how far float32 may be off.

    Arithmetic on values up to 3 costs a few steps of 2e-7. Sampling works with coordinates up to 23, of which float32
    resolves 2e-6; a matrix inverse and a product cost several such steps, and noise changes by up to 1 a pixel.
    """
    return 2e-5 if case.geometric else 2e-6


def reference(case: Case, op: Any, image: Array) -> Array:
    """Compute the last call of an op on an image in [0, 1]."""
    params = {name: value.numpy() for name, value in op._params.items()}
    return REFERENCES[case.op.__name__](op, image.astype(float), params)


@pytest.mark.parametrize("name", ops())
def test_every_op_has_a_reference(name: str) -> None:
    assert name in REFERENCES, f"{name}: write its reference in tests/references.py"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_float32_is_the_reference(case: Case, seed: int) -> None:
    image = picture(seed, 3, 17, 23).astype(np.float32)
    op = case(p=1.0)
    torch.manual_seed(seed)
    output = op(torch.from_numpy(image))
    expected = torch.from_numpy(reference(case, op, image).copy()).float()
    assert_close(output, expected, atol=tolerance(case), rtol=0)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_float64_is_the_reference_to_its_last_digits(case: Case, seed: int) -> None:
    image = picture(seed, 3, 17, 23)
    op = case(p=1.0)
    torch.manual_seed(seed)
    drawn = op.forward_parameters(image.shape)
    params = {name: value.double() if value.is_floating_point() else value for name, value in drawn.items()}
    output = op(torch.from_numpy(image), params=params)
    assert_close(output, torch.from_numpy(reference(case, op, image).copy()), atol=DOUBLE, rtol=0)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_uint8_is_the_rounded_reference(case: Case, seed: int) -> None:
    image = (picture(seed, 3, 17, 23) * 255).astype(np.uint8)
    op = case(p=1.0)
    torch.manual_seed(seed)
    output = op(torch.from_numpy(image))
    expected = torch.from_numpy(reference(case, op, image / 255).copy())
    if output.dtype == torch.uint8:
        # A level is right where it lies within half a level of the exact value; at a tie, to within the error of
        # float32, both of its neighbours are.
        half = 0.5 + 255 * tolerance(case)
        assert_close(output.double(), (expected * 255).clamp(0, 255), atol=half, rtol=0)
    else:
        assert_close(output, expected.float(), atol=tolerance(case), rtol=0)


# ------------------------------------------------------------------------------------------------------ known answers


def replay(op: Any, image: Tensor, **values: Any) -> Tensor:
    """Apply an op with some of its parameters set, in every row."""
    params = op.forward_parameters(image.shape)
    for name, value in values.items():
        like = params[name]
        params[name] = torch.as_tensor(value, dtype=like.dtype).expand(like.shape).clone()
    return op(image, params=params)


def impulse(height: int, width: int, y: int, x: int) -> Tensor:
    image = torch.zeros(1, 1, height, width)
    image[..., y, x] = 1
    return image


def ramp(height: int, width: int) -> Tensor:
    return torch.arange(height * width, dtype=torch.float32).view(1, 1, height, width) / (height * width)


def test_rotation_turns_counter_clockwise() -> None:
    image = impulse(5, 5, 1, 3)
    output = K.RandomRotation((90.0, 90.0), resample="nearest", p=1.0)(image)
    assert torch.equal(output, impulse(5, 5, 1, 1))
    square = torch.rand(2, 3, 8, 8)
    assert_close(K.RandomRotation((90.0, 90.0), p=1.0)(square), square.rot90(1, (2, 3)), atol=1e-5, rtol=0)


def test_affine_turns_clockwise() -> None:
    output = K.RandomAffine((90.0, 90.0), resample="nearest", p=1.0)(impulse(5, 5, 1, 3))
    assert torch.equal(output, impulse(5, 5, 3, 3))


@pytest.mark.parametrize("size", [(6, 9), (9, 6)])
def test_affine_by_whole_pixels_shifts(size: tuple[int, int]) -> None:
    image = ramp(*size)
    expected = torch.zeros_like(image)
    expected[..., :-1, 2:] = image[..., 1:, :-2]
    assert_close(replay(K.RandomAffine(0.0, p=1.0), image, translations=[2, -1]), expected, atol=1e-6, rtol=0)


def test_affine_scales_about_the_centre() -> None:
    output = replay(K.RandomAffine(0.0, p=1.0, resample="nearest"), impulse(5, 7, 1, 4), scale=2.0)
    assert output[0, 0, 0, 5] == 1  # from (1, -1) off the centre to (2, -2)
    assert output[0, 0, 1, 4] == 0


def test_affine_shears_along_x() -> None:
    output = replay(K.RandomAffine(0.0, p=1.0, resample="nearest"), impulse(5, 5, 1, 2), shear_x=45.0)
    assert torch.equal(output, impulse(5, 5, 1, 3))  # y = -1 off the centre gives x = +1


@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("name", ["RandomRotation", "RandomAffine"])
def test_no_turn_is_the_identity(name: str, align_corners: bool) -> None:
    image = torch.rand(2, 3, 7, 11)
    output = getattr(K, name)((0.0, 0.0), align_corners=align_corners, p=1.0)(image)
    assert torch.equal(output, image)


def test_perspective_moves_the_corners() -> None:
    op = K.RandomPerspective(0.5, p=1.0)
    op(torch.rand(3, 1, 9, 13))
    start = torch.nn.functional.pad(op._params["start_points"], (0, 1), value=1.0)
    moved = start @ op.transform_matrix.mT
    assert_close(moved[..., :2] / moved[..., 2:], op._params["end_points"], atol=1e-4, rtol=0)
    assert start[0, :, :2].tolist() == [[0, 0], [12, 0], [12, 8], [0, 8]]


@pytest.mark.parametrize(
    ("name", "point", "box"),
    [
        ("RandomHorizontalFlip", [12 - 2.0, 3.0], [13 - 5.0, 1.0, 13 - 2.0, 4.0]),
        ("RandomVerticalFlip", [2.0, 8 - 3.0], [2.0, 9 - 4.0, 5.0, 9 - 1.0]),
    ],
)
def test_flips_move_points_between_centres_and_boxes_between_edges(
    name: str, point: list[float], box: list[float]
) -> None:
    op = K.AugmentationSequential(getattr(K, name)(p=1.0), data_keys=["image", "keypoints", "bbox_xyxy", "mask"])
    points, boxes = torch.tensor([[[2.0, 3.0]]]), torch.tensor([[[2.0, 1.0, 5.0, 4.0], [0.0, 0.0, 13.0, 9.0]]])
    mask = torch.zeros(1, 1, 9, 13, dtype=torch.long)
    mask[..., 1:4, 2:5] = 1  # the pixels that the first box covers
    output, points, boxes, mask = op(impulse(9, 13, 3, 2), points, boxes, mask)
    assert points[0, 0].tolist() == point
    assert boxes[0].tolist() == [box, [0, 0, 13, 9]]
    assert output[0, 0, int(point[1]), int(point[0])] == 1
    x1, y1, x2, y2 = map(int, box)
    assert mask[..., y1:y2, x1:x2].all()
    assert mask.sum() == 9


def test_elastic_displaces_by_alpha_in_halves_of_the_size() -> None:
    image = ramp(12, 20)
    noise = torch.zeros(1, 2, 12, 20)
    noise[:, 0] = 1
    op = K.RandomElasticTransform((3, 3), (1.0, 1.0), alpha=(4 / 20, 1.0), p=1.0)
    output = replay(op, image, noise=noise)  # 4/20 of 20/2 pixels: two
    assert_close(output[..., 1:-1, 1:-3], image[..., 1:-1, 3:-1], atol=1e-6, rtol=0)
    assert_close(replay(op, image, noise=0.0), image, atol=0, rtol=0)


def test_crops_take_whole_pixels() -> None:
    image = ramp(7, 9)
    assert torch.equal(K.CenterCrop((3, 4))(image), image[..., 2:5, 2:6])
    output = replay(K.RandomCrop((3, 4)), image, src=[[5, 1], [8, 1], [8, 3], [5, 3]])
    assert torch.equal(output, image[..., 1:4, 5:9])
    padded = replay(K.RandomCrop((3, 4), padding=(1, 2, 0, 0), fill=0.5), image, src=[[0, 0], [3, 0], [3, 2], [0, 2]])
    assert padded[0, 0, :2].eq(0.5).all() and padded[0, 0, 2, 0] == 0.5
    assert torch.equal(padded[..., 2, 1:], image[..., 0, :3])


def test_resized_crop_of_the_whole_frame_is_the_identity() -> None:
    image = torch.rand(2, 3, 7, 11)
    op = K.RandomResizedCrop((7, 11), scale=(1.0, 1.0), ratio=(11 / 7, 11 / 7))
    assert torch.equal(op(image), image)


def test_resize_meets_centres_or_edges() -> None:
    image = torch.tensor([[[[0.0, 1.0]]]])
    centres = K.Resize((1, 4), align_corners=True)(image).flatten()
    edges = K.Resize((1, 4), align_corners=False)(image).flatten()
    assert_close(centres, torch.tensor([0, 1 / 3, 2 / 3, 1]))
    assert_close(edges, torch.tensor([0, 0.25, 0.75, 1]))
    assert K.Resize(8, side="short")(torch.rand(1, 1, 17, 23)).shape[-2:] == (8, 10)
    assert K.Resize(8, side="long")(torch.rand(1, 1, 17, 23)).shape[-2:] == (5, 8)


@pytest.mark.parametrize(("n", "m"), [(40, 20), (6, 1), (36, 6), (384, 64), (20, 50)])
def test_nearest_takes_the_pixel_under_the_centre_and_the_upper_of_two(n: int, m: int) -> None:
    image = torch.arange(n, dtype=torch.float32).view(1, 1, 1, n)
    expected = [(2 * j + 1) * n // (2 * m) for j in range(m)]  # the floor of (j + 1/2) n / m, in whole numbers
    assert K.Resize((1, m), resample="nearest")(image).flatten().tolist() == expected
    op, frame = K.RandomResizedCrop((1, m), resample="nearest"), [[0, 0], [n - 1, 0], [n - 1, 0], [0, 0]]
    assert replay(op, image, src=frame).flatten().tolist() == expected


def test_brightness_adds() -> None:
    image = torch.rand(2, 3, 4, 5) * 0.7
    op = K.RandomBrightness((1.2, 1.2))
    assert_close(op(image), image + 0.2)
    assert op(torch.full((1, 3, 2, 2), 100, dtype=torch.uint8)).eq(151).all()
    assert op(torch.full((1, 3, 2, 2), 230, dtype=torch.uint8)).eq(255).all()


@pytest.mark.parametrize(("channel", "weight"), [(0, 0.299), (1, 0.587), (2, 0.114)])
def test_grayscale_is_luma(channel: int, weight: float) -> None:
    image = torch.zeros(1, 3, 2, 2)
    image[:, channel] = 1
    assert_close(K.RandomGrayscale(p=1.0)(image), torch.full_like(image, weight))
    level = K.RandomGrayscale(p=1.0)((image * 255).to(torch.uint8))
    assert level.eq(round(255 * weight)).all()


def test_jitter_by_one_factor_at_a_time() -> None:
    red = torch.zeros(1, 3, 4, 5)
    red[:, 0] = 0.8
    neutral = {"brightness_factor": 1.0, "contrast_factor": 1.0, "saturation_factor": 1.0, "hue_factor": 0.0}
    op = K.ColorJitter()
    assert_close(replay(op, red, **{**neutral, "brightness_factor": 0.5}), red / 2)
    assert_close(replay(op, red, **{**neutral, "brightness_factor": 2.0}), (red * 2).clamp(max=1))
    assert_close(replay(op, red, **{**neutral, "contrast_factor": 0.0}), torch.full_like(red, 0.8 * 0.299))
    assert_close(replay(op, red, **{**neutral, "saturation_factor": 0.0}), torch.full_like(red, 0.8 * 0.299))
    assert_close(replay(op, red, **{**neutral, "hue_factor": 1 / 3}), red.roll(1, 1), atol=1e-6, rtol=0)


def test_normalize_and_denormalize_undo_each_other() -> None:
    image = torch.rand(2, 3, 5, 6)
    mean, std = (0.5, 0.4, 0.3), (0.2, 0.25, 0.3)
    normal = K.Normalize(mean, std)(image)
    assert_close(normal[:, 1], (image[:, 1] - 0.4) / 0.25)
    assert_close(K.Denormalize(mean, std)(normal), image)
    assert K.Normalize(0.5, 0.5)(torch.tensor([[[[0, 255]]]], dtype=torch.uint8)).flatten().tolist() == [-1, 1]


def test_blur_of_an_impulse_is_the_product_of_kernels() -> None:
    output = replay(K.RandomGaussianBlur((3, 5), (1.0, 1.0), p=1.0), impulse(9, 11, 4, 5), sigma=0.8)
    expected = torch.zeros(9, 11)
    expected[3:6, 3:8] = torch.from_numpy(np.outer(gaussian(3, 0.8), gaussian(5, 0.8))).float()
    assert_close(output[0, 0], expected, atol=1e-7, rtol=0)
    assert_close(output.sum(), torch.tensor(1.0))


def test_erasing_fills_the_region_and_nothing_else() -> None:
    image = torch.rand(2, 3, 7, 9)
    output = replay(K.RandomErasing(value=0.25, p=1.0), image, xs=2, ys=1, widths=4, heights=3)
    expected = image.clone()
    expected[..., 1:4, 2:6] = 0.25
    assert torch.equal(output, expected)
    mask = K.AugmentationSequential(K.RandomErasing(value=0.25, p=1.0), data_keys=["image", "mask"])
    output, kept = mask(torch.full((1, 3, 8, 8), 0.5), torch.ones(1, 1, 8, 8))
    assert torch.equal(output[:, :1] == 0.25, kept == 0)


def test_noise_is_added_and_not_cut() -> None:
    image = torch.rand(2, 3, 4, 5)
    op = K.RandomGaussianNoise(mean=0.5, std=2.0, p=1.0)
    output = op(image)
    assert torch.equal(output, image + op._params["gaussian_noise"])
    assert output.min() < 0 and output.max() > 1


def test_equalize_spreads_two_levels() -> None:
    image = torch.full((1, 1, 20, 40), 0.4)
    image[..., :20] = 0.6
    assert_close(K.RandomEqualize(p=1.0)(image).unique(), torch.tensor([0.0, 1.0]))
    flat = torch.full((1, 1, 20, 40), 0.4)
    assert torch.equal(K.RandomEqualize(p=1.0)(flat), flat)


def test_equalize_of_many_pixels_is_that_of_the_pil() -> None:
    for seed in SEEDS:  # steps of more than one pixel, which the small pictures above have not
        image = (picture(seed, 2, 61, 83) * 255).astype(np.uint8) // 3 * 2
        expected = np.rint(REFERENCES["RandomEqualize"](None, image / 255, {}) * 255).astype(np.uint8)
        assert torch.equal(K.RandomEqualize(p=1.0)(torch.from_numpy(image)), torch.from_numpy(expected))
