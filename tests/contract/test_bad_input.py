"""Bad arguments over every op of the registry, a kind at a time: flags, overrides, fills, sizes."""

import inspect
from enum import Enum
from typing import Any

import numpy as np
import pytest
import torch

import augment as K
from augment.kinds.augmentation import Augmentation
from augment.testing import cases
from tests.support.helpers import SIZE, Case, picture

OPS = cases(variants=False)
BOOLS = ("same_on_batch", "keepdim", "align_corners", "antialias", "clip_output", "normalized", "separable")
BOOLS += ("slow_and_differentiable", "random_offset", "pad_if_needed", "crop_if_exceeds", "scale_up")
NO_BOOLS = (0, 1, "no", "True", None, 1.0, torch.tensor(True), [True])
HUGE = (2**31, 10**18, 10**400)
SIZES = ("size", "max_size", "kernel_size", "grid_size", "num_steps", "steps", "trials", "padding", "num_drop_channels")
SIZES += ("num_holes_range", "hole_height_range", "hole_width_range", "unit_size_range", "radius", "number_of_drops")
SIZES += ("drop_height", "drop_width")


class Junk(Enum):
    JUNK = 7


def each(found: list[Case]) -> Any:
    return pytest.mark.parametrize("case", found, ids=repr)


def arguments(case: Case) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(case.op.__init__).parameters)


def flags_of(case: Case) -> list[str]:
    return list(case(p=1.0).flags)


def test_the_lists_above_are_complete() -> None:
    """Every parameter whose default is a bool is among the booleans."""
    for case in OPS:
        for name, parameter in arguments(case).items():
            assert not isinstance(parameter.default, bool) or name in BOOLS, (case, name)


# --------------------------------------------------------------------------------------------------------------- flags


@each(OPS)
def test_booleans_are_booleans_in_constructors(case: Case) -> None:
    for name in set(BOOLS) & set(arguments(case)):
        for value in NO_BOOLS:
            with pytest.raises(TypeError, match=rf"^{name}: expected True or False"):
                case(**{name: value})
        for value in (True, False, np.bool_(True), np.bool_(False)):
            op = case(**{name: value})
            assert (op.flags.get(name, getattr(op, name, None))) is bool(value)


@each(OPS)
def test_booleans_are_booleans_in_calls(case: Case) -> None:
    op, image = case(p=1.0), picture(2)
    container = K.AugmentationSequential(case(p=1.0))
    for name in set(BOOLS) & set(op.flags):
        for value in NO_BOOLS:
            with pytest.raises(TypeError, match=rf"{case.op.__name__}: {name}: expected True or False"):
                op(image, **{name: value})
            with pytest.raises(TypeError, match=rf"{name}: expected True or False"):
                K.AugmentationSequential(case(p=1.0), extra_args={"image": {name: value}})
        op(image, **{name: np.bool_(True)})
    for name in ("same_on_batch", "keepdim"):
        for value in ("no", 0, 1):
            with pytest.raises(TypeError, match=rf"^{name}: expected True or False"):
                K.AugmentationSequential(container[0], **{name: value})


@each(OPS)
def test_calls_refuse_what_constructors_refuse(case: Case) -> None:
    """No value that is plainly none of a flag's reaches a kernel, by keyword or by the options of a container."""
    image = picture(2)
    for name in flags_of(case):
        op = case(p=1.0)
        state = torch.get_rng_state()
        for junk in ("no such", Junk.JUNK, object(), float("nan"), {}, [float("nan"), 1.0], -(10**400), b"zeros"):
            with pytest.raises((TypeError, ValueError), match=name):
                op(image, **{name: junk})
            with pytest.raises((TypeError, ValueError), match=name):
                K.AugmentationSequential(case(p=1.0), extra_args={"image": {name: junk}})
        assert torch.equal(state, torch.get_rng_state())


@each(OPS)
def test_calls_accept_what_the_constructor_set(case: Case) -> None:
    op, image = case(p=1.0), picture(2)
    expected = op(image)
    for name, value in op.flags.items():
        assert torch.equal(op(image, params=op._params, **{name: value}), expected)


@pytest.mark.parametrize(
    ("op", "name", "value"),
    [
        (K.RandomGaussianBlur(3, (1.0, 2.0), p=1.0), "border_type", "zeros"),
        (K.RandomGaussianBlur(3, (1.0, 2.0), p=1.0), "kernel_size", 4),
        (K.RandomGaussianBlur(3, (1.0, 2.0), p=1.0), "kernel_size", 99),
        (K.RandomMedianBlur(p=1.0), "kernel_size", (3, 99)),
        (K.RandomZoomBlur(p=1.0), "steps", 0),
        (K.RandomZoomBlur(p=1.0), "steps", 2.5),
        (K.RandomElasticTransform((5, 5), p=1.0), "sigma", (0.0, 1.0)),
        (K.RandomElasticTransform((5, 5), p=1.0), "alpha", (1.0, 1.0, 1.0)),
        (K.Normalize(0.5, 0.5), "std", 0.0),
        (K.Normalize(0.5, 0.5), "std", (0.1, 0.2)),
        (K.RandomInvert(p=1.0), "max_val", (0.1, 0.2)),
        (K.RandomGrayscale(p=1.0), "rgb_weights", (0.1, 0.2)),
        (K.RandomAffine(10.0, p=1.0), "padding_mode", "circular"),
        (K.RandomAffine(10.0, p=1.0), "fill", (0.1, 0.2)),
        (K.RandomClahe(grid_size=(2, 2), p=1.0), "grid_size", (40, 40)),
        (K.PadTo((20, 25)), "padding_mode", "mirror"),
        (K.RandomDownscale(p=1.0), "downscale", "bicubic"),
    ],
)
def test_overrides_that_reached_kernels(op: Augmentation, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"{type(op).__name__}: {name}|{type(op).__name__}: input: .*{name}"):
        op(picture(2), **{name: value})


def test_overrides_mean_what_arguments_mean() -> None:
    image = picture(2)
    op = K.RandomRotation((45.0, 45.0), p=1.0)
    filled = K.RandomRotation((45.0, 45.0), p=1.0, padding_mode="fill", fill_value=0.5)(image)
    assert torch.equal(op(image, padding_mode="fill", fill=0.5), filled)
    crop = K.RandomCrop(SIZE, padding=3)
    crop(image)
    replicated = K.RandomCrop(SIZE, padding=3, padding_mode="replicate")(image, params=crop._params)
    for mode in ("border", "replicate", 2):
        assert torch.equal(crop(image, params=crop._params, padding_mode=mode), replicated)


def test_one_padding_mode_serves_a_mixed_container() -> None:
    image, mask = picture(2), picture(2, 1)
    ops = (K.RandomAffine((20.0, 20.0), p=1.0), K.RandomCrop((9, 9), padding=4), K.RandomHorizontalFlip())
    for mode in ("zeros", "border", "reflection", "constant", "replicate"):
        options = {"image": {"padding_mode": mode}, "mask": {"padding_mode": mode}}
        K.AugmentationSequential(*ops, data_keys=["image", "mask"], extra_args=options)(image, mask)
    with pytest.raises(ValueError, match="RandomAffine: padding_mode"):
        K.AugmentationSequential(*ops, extra_args={"image": {"padding_mode": "circular"}})
    pipeline = K.AugmentationSequential(
        *ops, data_keys=["image", "mask"], extra_args={"mask": {"padding_mode": "circular"}}
    )
    with pytest.raises(ValueError, match="padding_mode"):
        pipeline(image, mask)


def test_overrides_compile_and_a_bad_one_says_why(optimizer: str) -> None:
    op, image = K.RandomAffine(20.0, p=1.0), picture(2)
    compiled = torch.compile(op, fullgraph=True, backend=optimizer)
    params = op.forward_parameters(image.shape)
    output = compiled(image, params=params, resample="NEAREST", padding_mode="fill", fill=[0.5], align_corners=True)
    assert torch.equal(output, op(image, params=params, resample="nearest", fill=0.5))
    with pytest.raises(Exception, match="align_corners: expected True or False"):
        compiled(image, params=params, align_corners="no")


# ----------------------------------------------------------------------------------------------------- masks and fills


@pytest.mark.parametrize(
    "op",
    [
        K.RandomRotation((30.0, 30.0), p=1.0),
        K.RandomCrop(SIZE, padding=2),
        K.RandomErasing(p=1.0),
        K.RandomCoarseDropout(p=1.0),
        K.RandomGridDropout(p=1.0),
        K.RandomElasticTransform((5, 5), p=1.0),
        K.PadTo((30, 30)),
    ],
    ids=lambda op: type(op).__name__,
)
def test_a_mask_can_hold_its_fill(op: Augmentation) -> None:
    image = picture(2)
    for fill, dtype in (
        (0.5, torch.int64),
        (300, torch.uint8),
        (-1, torch.uint8),
        (2, torch.bool),
        ([1, 2], torch.int64),
        ([0.1, 0.2], torch.float32),
    ):
        pipeline = K.AugmentationSequential(op, data_keys=["image", "mask"], extra_args={"mask": {"fill": fill}})
        mask = torch.zeros(2, 3, *SIZE, dtype=dtype)
        for given in (mask, list(mask)):
            with pytest.raises(ValueError, match=r"extra_args\['mask'\]\['fill'\]"):
                pipeline(image, given)
    fills = ((7, torch.int64), (0.5, torch.float32), ([1, 2, 3], torch.uint8), (-100, torch.int16))
    for fill, dtype in fills:
        pipeline = K.AugmentationSequential(op, data_keys=["image", "mask"], extra_args={"mask": {"fill": fill}})
        _, filled = pipeline(image, torch.zeros(2, 3, *SIZE, dtype=dtype))
        assert filled.any() and filled.dtype == dtype


def test_the_fill_of_a_dropout_is_one_of_the_labels() -> None:
    image, mask = picture(2), torch.ones(2, 1, *SIZE, dtype=torch.int64)
    for op in (K.RandomCoarseDropout(mask_fill=0.5, p=1.0), K.RandomGridDropout(mask_fill=0.5, p=1.0)):
        pipeline = K.AugmentationSequential(op, data_keys=["image", "mask"])
        with pytest.raises(ValueError, match="mask_fill: expected whole numbers"):
            pipeline(image, mask)
        assert pipeline(image, mask.float())[1].unique().tolist() == [0.5, 1.0]


@pytest.mark.parametrize(
    ("op", "name"),
    [
        (K.PadTo((30, 30), pad_value=114), "pad_value"),
        (K.LetterBox(30, fill=114), "fill"),
        (K.RandomCrop(8, padding=2, fill=[0.5, -0.1, 0.5]), "fill"),
        (K.RandomZoomOut(1.5, p=1.0), "fill"),
        (K.RandomAffine(9.0, padding_mode="fill", fill_value=114, p=1.0), "fill_value"),
        (K.RandomElasticTransform((5, 5), padding_mode="fill", fill_value=114, p=1.0), "fill_value"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_fill_of_bytes_is_no_byte(op: Augmentation, name: str) -> None:
    """A fill is on the scale of [0, 1] for bytes too; floats may go beyond, as normalised images do."""
    with pytest.raises(ValueError, match=rf"{type(op).__name__}: {name}: expected values in \[0, 1\].*got \["):
        op(picture(2, 3, SIZE, dtype=torch.uint8))
    op(picture(2, 3, SIZE))


def test_a_unit_larger_than_the_image_is_refused() -> None:
    op = K.RandomGridDropout(unit_size_range=(10, 40), p=1.0)
    with pytest.raises(ValueError, match="RandomGridDropout: unit_size_range: expected at most the 16 pixels.*got 40"):
        op(picture(2, 3, (16, 50)))
    assert op(picture(2, 3, (40, 50))).shape == (2, 3, 40, 50)


@pytest.mark.parametrize(
    ("op", "name"),
    [
        (K.PadTo((30, 30), pad_value=[0.1, 0.2]), "pad_value"),
        (K.LetterBox(30, fill=[0.1, 0.2]), "fill"),
        (K.RandomCrop(8, padding=2, fill=[0.1, 0.2]), "fill"),
        (K.RandomZoomOut([0.1, 0.2], p=1.0), "fill"),
        (K.RandomAffine(9.0, padding_mode="fill", fill_value=[0.1, 0.2], p=1.0), "fill_value"),
        (K.RandomElasticTransform((5, 5), padding_mode="fill", fill_value=[0.1, 0.2], p=1.0), "fill_value"),
        (K.RandomCoarseDropout(fill=[0.1, 0.2], p=1.0), "fill"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_fill_is_called_what_the_user_called_it(op: Augmentation, name: str) -> None:
    with pytest.raises(ValueError, match=rf"{type(op).__name__}: {name}: expected 1 or 3 values"):
        op(picture(2))
    if "fill" in op.flags:
        with pytest.raises(ValueError, match=rf"{type(op).__name__}: fill: expected 1 or 3 values"):
            op(picture(2), fill=[0.1, 0.2, 0.3, 0.4])


def test_data_keys_by_one_name() -> None:
    image = picture(2)
    for keys in ("image", "IMAGE", "input", ["image"], ("image",)):
        assert K.AugmentationSequential(K.CenterCrop(5), data_keys=keys)(image).shape == (2, 3, 5, 5)
    assert K.AugmentationSequential(K.CenterCrop(5))(image, data_keys="image").shape == (2, 3, 5, 5)
    for wrong in ("imag", 3, ["image", 3], [["image"]]):
        with pytest.raises((TypeError, ValueError), match="data_keys: expected"):
            K.AugmentationSequential(data_keys=wrong)


# --------------------------------------------------------------------------------------------------------------- sizes


@each(OPS)
def test_huge_sizes_are_refused_at_construction(case: Case) -> None:
    for name in set(SIZES) & set(arguments(case)):
        for value in HUGE:
            for given in (value, (value, value), (1, value)):
                with pytest.raises((TypeError, ValueError), match=rf"^{name}"):
                    case(**{name: given})


@each(OPS)
def test_huge_numbers_are_refused_at_construction(case: Case) -> None:
    """Integers that no float can hold are values like others."""
    free = {"p", "p_batch", "generator", "self", *BOOLS}
    for name, parameter in arguments(case).items():
        if name in free or parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
            continue
        for value in (10**400, (10**400, 10**400)):
            with pytest.raises((TypeError, ValueError), match=rf"^{name.partition('_scale')[0]}|{name}"):
                case(**{name: value})


@pytest.mark.parametrize(
    ("op", "shape"),
    [
        (K.RandomRain((1, 2), (5, 20), (-5, 5), p=1.0), (2, 3, 17, 23)),
        (K.RandomRain((1, 2), (5, 6), (-9, 5), p=1.0), (2, 3, 17, 8)),
        (K.RandomCrop(18), (2, 3, 17, 23)),
        (K.RandomCrop((19, 4), padding=(0, 0, 0, 1)), (2, 3, 17, 23)),
        (K.RandomCrop(18, padding=17, padding_mode="reflect"), (2, 3, 17, 23)),
        (K.RandomCrop(60, pad_if_needed=True, padding_mode="circular"), (2, 3, 17, 23)),
        (K.CenterCrop((4, 24), p=0.5), (2, 3, 17, 23)),
        (K.PadTo((40, 40), "reflect", p=0.5), (2, 3, 17, 23)),
        (K.RandomCoarseDropout(hole_height_range=(5, 18), p=1.0), (2, 3, 17, 23)),
        (K.RandomCoarseDropout(hole_width_range=(5, 24), p=1.0), (2, 3, 17, 23)),
        (K.RandomChannelDropout(4, p=1.0), (2, 3, 17, 23)),
        (K.RandomClahe(grid_size=(17, 4), p=1.0), (2, 3, 17, 23)),
        (K.RandomGaussianBlur((35, 3), (1.0, 2.0)), (2, 3, 17, 23)),
        (K.RandomGaussianBlur((37, 3), (1.0, 2.0), "circular"), (2, 3, 17, 23)),
        (K.RandomBoxBlur((3, 47)), (2, 3, 17, 23)),
        (K.RandomMedianBlur((35, 3)), (2, 3, 17, 23)),
        (K.RandomMotionBlur(35, 30.0, 0.5, "reflect"), (2, 3, 17, 23)),
        (K.RandomDefocus((1, 16)), (2, 3, 17, 23)),
        (K.RandomHue(0.1), (2, 4, 17, 23)),
        (K.RandomSnow(), (2, 1, 17, 23)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Augmentation) else "",
)
def test_what_cannot_fit_is_refused_before_any_draw(op: Augmentation, shape: tuple[int, ...]) -> None:
    """From the shapes alone, by the op, by one that draws ahead, and in a container."""
    state, image = torch.get_rng_state(), torch.zeros(shape)
    for call in (op, K.AugmentationSequential(op), lambda image: op.forward_parameters(image.shape)):
        with pytest.raises(ValueError, match=type(op).__name__):
            call(image)
        assert torch.equal(state, torch.get_rng_state())


def test_borders_that_need_no_pixels_may_be_wider_than_the_image() -> None:
    image = picture(2, size=(3, 4))
    for border in ("constant", "replicate"):
        for op in (
            K.RandomGaussianBlur(9, (1.0, 2.0), border, p=1.0),
            K.RandomBoxBlur(9, border, p=1.0),
            K.RandomMotionBlur(9, 30.0, 0.5, border, p=1.0),
            K.RandomDefocus((1, 4), border_type=border, p=1.0),
            K.RandomCrop(20, padding=20, padding_mode=border),
        ):
            assert op(image).isfinite().all()
