"""What a review by strangers found: each fault once, as its kind."""

import copy
from enum import Enum

import pytest
import torch
from torch import nn
from torch.testing import assert_close

import augment as K
from tests.support.helpers import picture


class Mode(Enum):
    NEAREST = 0
    BILINEAR = 1


def test_a_second_derivative_is_refused_rather_than_zero() -> None:
    for op in (K.RandomHorizontalFlip(p=1.0), K.RandomAffine(20.0, p=1.0), K.RandomGaussianBlur(3, (1.0, 1.0), p=1.0)):
        image = picture(2).requires_grad_()
        (gradient,) = torch.autograd.grad(op(image).square().sum(), image, create_graph=True)
        with pytest.raises(RuntimeError, match="once, not twice"):
            gradient.square().sum().backward()


def test_whole_number_params_are_numbers() -> None:
    image = picture(2)
    op = K.RandomRotation(90.0, p=1.0)
    assert_close(
        op(image, params={"degrees": torch.tensor([30, 45])}), op(image, params={"degrees": torch.tensor([30.0, 45])})
    )


def test_inverse_after_a_replay_at_another_size() -> None:
    pipeline = K.AugmentationSequential(K.RandomHorizontalFlip(p=1.0), data_keys=["image", "keypoints"])
    points = torch.tensor([[[3.0, 2.0]]])
    pipeline(picture(1, size=(16, 20)), points)
    small = picture(1, size=(8, 10))
    image, moved = pipeline(small, points, params=pipeline._params)
    assert moved.tolist() == [[[6.0, 2.0]]]  # 10 - 1 - 3
    back, returned = pipeline.inverse(image, moved)
    assert torch.equal(back, small) and torch.equal(returned, points)


def test_a_module_stands_once_in_a_container() -> None:
    flip = K.RandomHorizontalFlip()
    with pytest.raises(ValueError, match=r"args\[1\]: expected each module once"):
        K.AugmentationSequential(flip, flip)


class InPlace(K.IntensityAugmentationBase2D):
    def apply_transform(self, input, params, flags, transform=None):
        return input.mul_(0.5)


class MaskOfItsOwn(K.GeometricAugmentationBase2D):
    def __init__(self) -> None:
        super().__init__(p=1.0)
        self.flags = {"resample": Mode.BILINEAR, "align_corners": True}

    def compute_transformation(self, input, params, flags):
        return self.identity_matrix(input)

    def apply_transform(self, input, params, flags, transform=None):
        assert flags["resample"].name in ("NEAREST", "BILINEAR")
        return input + (flags["resample"] is Mode.BILINEAR)

    def apply_transform_mask(self, input, params, flags, transform=None):
        return self.apply_transform(input, params, flags, transform) * 0 + 5


class FromAGenerator(K.IntensityAugmentationBase2D):
    def __init__(self) -> None:
        super().__init__(p=1.0)
        self._param_generator = Halves()

    def apply_transform(self, input, params, flags, transform=None):
        return input * params["factor"].view(-1, 1, 1, 1)


class Halves(nn.Module):
    def forward(self, batch_shape, same_on_batch=False):
        return {"factor": torch.full((batch_shape[0],), 0.5)}


def test_classes_of_users() -> None:
    image = picture(2)
    before = image.clone()
    op = InPlace(p=0.5)
    output = op(image, params={"batch_prob": torch.tensor([1.0, 0.0])})
    assert torch.equal(image, before)
    assert torch.equal(output[0], before[0] / 2) and torch.equal(output[1], before[1])
    own = K.AugmentationSequential(MaskOfItsOwn(), data_keys=["image", "mask"])
    image, mask = own(picture(2), torch.ones(2, 1, 17, 23, dtype=torch.int64))
    assert torch.equal(image, picture(2) + 1) and mask.unique().tolist() == [5]
    assert torch.equal(FromAGenerator()(before), before / 2)


def test_a_generator_is_exchanged_without_a_recompile(optimizer: str) -> None:
    from tests.support.helpers import graphs

    op, image = K.RandomBrightness((0.5, 1.5), p=0.5), picture(4)
    compiled = torch.compile(op, fullgraph=True, backend=optimizer)
    for seed in range(12):
        op.generator = torch.Generator().manual_seed(seed % 2)
        output = compiled(image)
        op.generator = torch.Generator().manual_seed(seed % 2)
        assert_close(output, op(image))
    assert graphs() == 1
    with pytest.raises(TypeError, match="generator"):
        op.generator = 3


def test_learnable_bounds_are_parameters_and_leave_no_graph() -> None:
    bound = nn.Parameter(torch.tensor([0.8, 1.2]))
    op = K.RandomBrightness(bound, p=1.0)
    assert [p is bound for p in op.parameters()] == [True]
    op(picture(2)).sum().backward()
    assert bound.grad is not None and not any(v.requires_grad for v in op._params.values())
    copied = copy.deepcopy(op)
    assert (
        next(copied.parameters()) is not bound
        and next(copied.parameters()) is copied.ranges["brightness_factor"].bounds
    )


def test_spellings_of_a_call() -> None:
    image = picture(2)
    op = K.RandomRotation(30.0, p=1.0)
    op(image)
    expected = op(image, params=op._params, resample="nearest")
    for mode in ("NEAREST", Mode.NEAREST, 0):
        assert torch.equal(op(image, params=op._params, resample=mode), expected)
    with pytest.raises(ValueError, match="resample"):
        op(image, resample="sharp")


@pytest.mark.parametrize(
    "build, error, name",
    [
        (lambda: K.RandomHorizontalFlip(p="0.5"), TypeError, "p"),
        (lambda: K.RandomHorizontalFlip(p=torch.rand(4)), ValueError, "p"),
        (lambda: K.RandomRotation("30"), TypeError, "degrees"),
        (lambda: K.RandomRotation({1: 2}), TypeError, "degrees"),
        (lambda: K.RandomRotation(float("nan")), ValueError, "degrees"),
        (lambda: K.RandomRotation((30, -30)), ValueError, "degrees"),
        (lambda: K.RandomAffine(1.0, scale=(0, 1)), ValueError, "scale"),
        (lambda: K.RandomAffine(1.0, fill_value=object()), TypeError, "fill_value"),
        (lambda: K.RandomPerspective(distortion_scale=2.0), ValueError, "distortion_scale"),
        (lambda: K.RandomCrop(8, padding=1.5), ValueError, "padding"),
        (lambda: K.RandomCrop(True), ValueError, "size"),
        (lambda: K.RandomErasing(value="x"), TypeError, "value"),
        (lambda: K.RandomGaussianNoise(mean="x"), TypeError, "mean"),
        (lambda: K.RandomGaussianNoise(std=-1.0), ValueError, "std"),
        (lambda: K.RandomGaussianBlur(4, (1.0, 2.0)), ValueError, "kernel_size"),
        (lambda: K.RandomGaussianBlur(3, 1.0), ValueError, "sigma"),
        (lambda: K.RandomElasticTransform(sigma=(float("nan"), 1.0)), ValueError, "sigma"),
        (lambda: K.ColorJitter(order=3), TypeError, "order"),
        (lambda: K.ColorJitter(hue=0.7), ValueError, "hue"),
        (lambda: K.Normalize(float("nan"), 1.0), ValueError, "mean"),
        (lambda: K.Normalize(0.5, 0.0), ValueError, "std"),
        (lambda: K.AugmentationSequential(extra_args={"image": {"resampel": "nearest"}}), TypeError, "extra_args"),
    ],
)
def test_constructors_refuse_by_name(build, error, name) -> None:
    with pytest.raises(error, match=rf"^{name}"):
        build()


def test_calls_refuse_by_name() -> None:
    image, meta = picture(2), torch.zeros(2, 1, 17, 23, device="meta")
    for op in (K.RandomBrightness(), K.CenterCrop(5), K.RandomErasing()):
        pipeline = K.AugmentationSequential(op, data_keys=["image", "mask"])
        with pytest.raises(ValueError, match="mask: expected on cpu"):
            pipeline(image, meta)
    op = K.RandomRotation(30.0, p=1.0)
    op(image)
    for wrong in (torch.zeros(2, 1), torch.zeros(2, device="meta")):
        with pytest.raises(ValueError, match="degrees"):
            op(image, params={"degrees": wrong})
    with pytest.raises(TypeError, match="degrees"):
        op(image, params={"degrees": torch.ones(2, dtype=torch.bool)})
    with pytest.raises(ValueError, match="params"):
        op.inverse(image, params={"degrees": torch.zeros(2)})
    for wrong in (picture(3), picture(2, size=(5, 6))):
        with pytest.raises(ValueError, match="input"):
            op.inverse(wrong)
    for shape in ((2, 0, 5, 5), (2, 3, 0, 5)):
        with pytest.raises(ValueError, match="at least one channel"):
            op(torch.zeros(shape))
    with pytest.raises(ValueError, match="fill"):
        K.RandomCrop(20, padding=4, fill=[0.1, 0.2])(picture(2, size=(20, 20)))
    with pytest.raises(TypeError, match="generator"):
        op(image, generator="cpu")
