"""Classes that users wrote for kornia, with only the import replaced; and nests of anything."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close

import augment as K
from augment.maps.composition import Collage
from tests.support.helpers import assert_labels_follow, call_seeded, graphs, picture

H, W = 12, 16


def classes(library: Any) -> dict[str, type[nn.Module]]:
    """Define the same bodies over the base classes of a library."""

    class Gamma(library.IntensityAugmentationBase2D):
        def __init__(self, low: float = 0.5, high: float = 2.0, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.low, self.high = low, high

        def generate_parameters(self, batch_shape):
            return {"gamma": torch.rand(batch_shape[0]) * (self.high - self.low) + self.low}

        def apply_transform(self, input, params, flags, transform=None):
            return input.clamp(0, 1) ** params["gamma"].to(input).view(-1, 1, 1, 1)

    class Invert(library.IntensityAugmentationBase2D):
        def apply_transform(self, input, params, flags, transform=None):
            return 1 - input

    class Roll(library.GeometricAugmentationBase2D):
        """Shift right by one, what leaves comes back in on the left."""

        def generate_parameters(self, batch_shape):
            return {}

        def compute_transformation(self, input, params, flags):
            shift = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], device=input.device)
            return shift.expand(input.shape[0], 3, 3)

        def apply_transform(self, input, params, flags, transform=None):
            return torch.roll(input, 1, -1)

    class Shift(library.GeometricAugmentationBase2D):
        """Shift right, sampled by the matrix that is handed over, and in the mode that the flags say."""

        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.flags = {"resample": "bilinear"}

        def generate_parameters(self, batch_shape):
            return {"shift": torch.rand(batch_shape[0]) * 3}

        def compute_transformation(self, input, params, flags):
            matrix = self.identity_matrix(input)
            matrix[:, 0, 2] = params["shift"].to(matrix)
            return matrix

        def apply_transform(self, input, params, flags, transform=None):
            theta = self.identity_matrix(input)[:, :2].to(input)
            theta[:, 0, 2] = -transform[:, 0, 2].to(input) * 2 / input.shape[-1]
            grid = F.affine_grid(theta, list(input.shape), align_corners=False)
            mode = getattr(flags["resample"], "name", flags["resample"]).lower()  # kornia has an enum for masks
            return F.grid_sample(input, grid, mode=mode, align_corners=False)

    return {cls.__name__: cls for cls in (Gamma, Invert, Roll, Shift)}


class Sideways(K.GeometricAugmentationBase2D):
    """Only say where pixels go."""

    def generate_parameters(self, batch_shape):
        return {"shift": torch.rand(batch_shape[0]) * 3}

    def compute_transformation(self, input, params, flags):
        matrix = self.identity_matrix(input)
        matrix[:, 0, 2] = params["shift"]
        return matrix


OURS = {**classes(K), "Sideways": Sideways}
GEOMETRIC = ("Roll", "Shift", "Sideways")

each = pytest.mark.parametrize("name", OURS)


def shifted(image: Tensor, by: int) -> Tensor:
    return F.pad(image, [by, 0])[..., : image.shape[-1]]


# -------------------------------------------------------------------------------------------------------------- parity


@pytest.mark.parametrize("p", [1.0, 0.5])
@pytest.mark.parametrize("name", classes(K))
def test_same_as_over_kornia(name: str, p: float) -> None:
    theirs = classes(pytest.importorskip("kornia.augmentation"))[name](p=p)
    ours, image = OURS[name](p=p), picture(5, size=(H, W))
    torch.manual_seed(2)
    expected = theirs(image)
    params = {key: value.clone() for key, value in theirs._params.items()}
    assert_close(ours(image, params=params), expected, atol=1e-6, rtol=0)
    assert params.keys() == ours.forward_parameters(image.shape).keys()
    assert_close(theirs(image, params=call_seeded(ours.forward_parameters, image.shape)), call_seeded(ours, image))
    if name in GEOMETRIC:
        theirs(image, params=params)
        ours(image, params=params)
        assert_close(ours.transform_matrix, theirs.transform_matrix)


@pytest.mark.parametrize("name", ["Roll", "Shift"])
def test_same_as_over_kornia_in_a_container(name: str) -> None:
    kornia = pytest.importorskip("kornia.augmentation")
    image, points = picture(4, size=(H, W)), torch.rand(4, 3, 2) * 9
    mask = torch.randint(4, (4, 1, H, W)).float()
    theirs = kornia.AugmentationSequential(classes(kornia)[name](p=0.5), data_keys=["input", "mask", "keypoints"])
    ours = K.AugmentationSequential(OURS[name](p=0.5), data_keys=["input", "mask", "keypoints"])
    torch.manual_seed(1)
    expected = theirs(image, mask, points)
    params = [K.ParamItem(f"{name}_0", dict(theirs._params[0].data))]
    for new, old in zip(ours(image, mask, points, params=params), expected, strict=True):
        assert_close(new, old, atol=1e-5, rtol=0)


# ------------------------------------------------------------------------------------------------------------ one call


@each
def test_gate(name: str) -> None:
    op, image = OURS[name](p=0.5), picture(16, size=(H, W))
    output = call_seeded(op, image)
    closed = op._params["batch_prob"] == 0
    assert 0 < closed.sum() < 16
    changed = (output != image).flatten(1).any(1)
    assert torch.equal(changed, ~closed)
    assert torch.equal(OURS[name](p=0.0)(image), image)
    assert (OURS[name](p=1.0)(image) != image).flatten(1).any(1).all()
    assert torch.equal(op(image, params=op._params), output)
    assert op(image[0]).shape == (1, 3, H, W) and OURS[name](keepdim=True)(image[0]).shape == (3, H, W)
    if name != "Shift":  # torch has no grid for an empty batch
        assert op(image[:0]).shape == (0, 3, H, W)


@each
def test_dtypes(name: str) -> None:
    op, image = OURS[name](p=0.5), picture(4, size=(H, W), dtype=torch.uint8)
    output = op(image)
    expected = op(image.float() / 255, params=op._params)
    assert output.dtype == torch.uint8
    assert_close(output.float(), expected * 255, atol=0.51, rtol=0)
    for dtype, tolerance in ((torch.float16, 1e-3), (torch.bfloat16, 8e-3), (torch.float64, 1e-6)):
        half = op((image.float() / 255).to(dtype), params=op._params)
        assert half.dtype == dtype
        assert_close(half.float(), expected, atol=tolerance, rtol=0)


def test_values() -> None:
    image = picture(3, size=(H, W))
    op = OURS["Gamma"](p=1.0)
    output = op(image)
    assert_close(output, image ** op._params["gamma"].view(-1, 1, 1, 1))
    assert ((op._params["gamma"] >= 0.5) & (op._params["gamma"] <= 2)).all()
    assert_close(OURS["Invert"](p=1.0)(image), 1 - image)
    assert torch.equal(OURS["Roll"](p=1.0)(image), image.roll(1, -1))
    for op in (OURS["Shift"](p=1.0), Sideways(p=1.0)):
        params = {**op.forward_parameters(image.shape), "shift": torch.tensor([1.0, 2.5, 0.0])}
        output = op(image, params=params)
        assert_close(output[0], shifted(image[0], 1))
        assert_close(output[1], (shifted(image[1], 2) + shifted(image[1], 3)) / 2)
        assert_close(output[2], image[2])


# --------------------------------------------------------------------------------------------------------- containers


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64, torch.bool, torch.float32], ids=str)
@each
def test_labels_follow(name: str, dtype: torch.dtype) -> None:
    """#4481: image, keypoints and boxes move by the matrix of a user's class, and masks with them."""
    op = OURS[name](p=0.5)
    container = K.AugmentationSequential(op, data_keys=["image", "mask", "mask", "keypoints", "bbox_xyxy"])
    image = torch.zeros(8, 1, H, W)
    image[..., 4:7, 5:9] = 1
    mask = torch.where(image > 0, 2**40 + 3 if dtype == torch.int64 else 1, 0).to(dtype)
    points, box = torch.tensor([[[6.0, 5.0]]]).expand(8, 1, 2), torch.tensor([[[5.0, 4.0, 9.0, 7.0]]]).expand(8, 1, 4)
    _, moved, rows, at, edges = container(image, mask, list(mask), points, box)
    by = op._params.get("shift", torch.ones(8)) * op._params["batch_prob"] * (name in GEOMETRIC)
    assert_close(at[:, 0], points[:, 0] + torch.stack([by, by * 0], 1))
    assert_close(edges[:, 0], box[:, 0] + torch.stack([by, by * 0] * 2, 1))
    assert moved.dtype == dtype and torch.equal(torch.stack(rows), moved)
    for i in range(8):
        assert torch.equal(moved[i], shifted(mask[i], int(by[i] + 0.5)))
    assert_close(op.transform_matrix[:, 0, 2], by)
    back = container.inverse(at, edges, data_keys=["keypoints", "bbox_xyxy"])
    assert_close(back, [points, box], atol=1e-5, rtol=0)


def test_inverse() -> None:
    image = picture(2, size=(H, W))
    op = Sideways(p=1.0)
    params = {**op.forward_parameters(image.shape), "shift": torch.tensor([1.0, 2.0])}
    back = op.inverse(op(image, params=params))
    assert_close(back[0, ..., :-1], image[0, ..., :-1])
    assert_close(back[1, ..., :-2], image[1, ..., :-2])
    roll = OURS["Roll"](p=1.0)
    assert_close(roll.inverse(roll(image))[..., :-1], image[..., :-1])  # by the matrix: what came round is lost

    class Back(OURS["Roll"]):
        def inverse_transform(self, input, flags, transform=None, size=None):
            return torch.roll(input, -1, -1)

    container = K.AugmentationSequential(Back(p=1.0))
    assert torch.equal(container.inverse(container(image)), image)


def test_other_modules_see_images() -> None:
    twice = nn.Conv2d(1, 1, 1, bias=False).requires_grad_(False)
    twice.weight.fill_(2.0)
    values = [torch.rand(2, 1, H, W), torch.randint(5, (2, 1, H, W)), torch.rand(2, 3, 2), torch.arange(2)]
    container = K.AugmentationSequential(
        twice, K.RandomHorizontalFlip(p=1.0), nn.Sequential(twice), data_keys=["image", "mask", "keypoints", "class"]
    )
    output = container(*values)
    assert_close(output[0], values[0].flip(-1) * 4)
    assert torch.equal(output[1], values[1].flip(-1)) and torch.equal(output[3], values[3])
    assert [item.data is None for item in container._params] == [True, False, True]
    assert torch.equal(container(*values, params=container._params)[0], output[0])
    assert torch.equal(container.inverse(*output)[1], values[1])


class Halves(K.Mix):
    """A user's mix: the right half is that of another row."""

    params = (K.Param("others", rows=True),)
    columns = 1

    def sample(self, draw):
        return {"others": self.partners(draw.u[:, 0])}

    def compose(self, params, like, gate, flags, targets):
        h, w = like.shape[-2:]
        own = torch.arange(len(gate), device=gate.device)
        source = torch.where(gate, params["others"], own).unsqueeze(1)
        place = torch.tensor([w // 2, 0, w, h], device=gate.device) * gate.unsqueeze(1)  # of no area where closed
        return Collage(torch.cat([source, place, place[:, :2] * 0], 1).unsqueeze(1), (h, w), base=True)


def test_a_users_mix_moves_every_label(optimizer: str) -> None:
    image, keys = picture(4, size=(H, W)), ["image", "mask", "bbox_xyxy", "keypoints", "class"]
    boxes = torch.tensor([[[2.0, 1.0, 12.0, 9.0]]]).repeat(4, 1, 1) + torch.arange(4.0).view(4, 1, 1)
    given = [image, (image[:, :1] * 9).long(), boxes, boxes[..., 2:] - 1, torch.arange(4)]
    op = Halves(data_keys=keys, num_classes=4)
    for call in (op, torch.compile(op, fullgraph=True, backend=optimizer)):
        output, mask, moved, points, shares = call_seeded(call, *given)
        other = op._params["others"]
        assert torch.equal(output[..., :8], image[..., :8]) and torch.equal(output[..., 8:], image[other][..., 8:])
        assert torch.equal(mask[..., 8:], given[1][other][..., 8:])
        assert_close(moved[:, 0], boxes[:, 0].clamp(max=torch.tensor([99.0, 99.0, 8.0, 99.0])))
        assert_close(moved[:, 1], boxes[other, 0].clamp(min=torch.tensor([8.0, 0.0, 0.0, 0.0])))
        assert op.valid["keypoints"].tolist() == [[False, True]] * 4  # x is 11 to 14
        assert torch.equal(points[:, 1], given[3][other, 0])
        assert_close(shares, (F.one_hot(given[4], 4) + F.one_hot(other, 4)) / 2)


# ------------------------------------------------------------------------------------------------------------ compiled


@pytest.mark.parametrize("p", [0.5, 1.0])
@each
def test_dynamo_subclass(name: str, p: float, optimizer: str) -> None:
    op, image = OURS[name](p=p), picture(4, size=(H, W))
    compiled = torch.compile(op, fullgraph=True, backend=optimizer)
    for seed in range(3):
        output = call_seeded(compiled, image, seed=seed)
        params = op._params
        assert_close(output, op(image, params=params), atol=1e-5, rtol=1e-4)
        if p == 0.5:  # the gate is our own draw; torch.rand of a user may follow another stream when compiled
            call_seeded(op, image, seed=seed)
            assert torch.equal(params["batch_prob"], op._params["batch_prob"])
        assert graphs() == 1


@pytest.mark.parametrize("name", ["Gamma", "Roll", "Sideways"])
def test_dynamo_subclass_in_a_container(name: str, optimizer: str) -> None:
    container = K.AugmentationSequential(
        K.RandomVerticalFlip(), OURS[name](p=0.5), data_keys=["image", "mask", "keypoints", "bbox_xyxy"]
    )
    values = [picture(4, size=(H, W)), torch.randint(9, (4, 1, H, W)), torch.rand(4, 2, 2) * 9, torch.rand(4, 2, 4) * 9]
    compiled = torch.compile(container, fullgraph=True, backend=optimizer)
    for seed in range(3):
        output = call_seeded(compiled, *values, seed=seed)
        expected = container(*values, params=container._params)
        assert_close(output[0], expected[0], atol=1e-5, rtol=1e-4)
        assert (output[1] != expected[1]).sum() <= 0.01 * output[1].numel()
        assert_close(output[2:], expected[2:], atol=1e-5, rtol=0)
        assert graphs() == 1


# ------------------------------------------------------------------------------------------------------- random nests

LEAVES: Mapping[str, Callable[[], nn.Module]] = {
    "flip": lambda: K.RandomHorizontalFlip(),
    "turn over": lambda: K.RandomVerticalFlip(p=1.0),
    "affine": lambda: K.RandomAffine(10.0, (0.05, 0.05), (0.9, 1.1), p=0.7),
    "rotation": lambda: K.RandomRotation(15.0),
    "brightness": lambda: K.RandomBrightness((0.9, 1.0)),
    "crop": lambda: K.RandomCrop((34, 46), padding=2, pad_if_needed=True, p=0.7),
    "centre": lambda: K.CenterCrop((32, 44)),
    "resize": lambda: K.Resize((44, 60)),
    "subclass": lambda: Sideways(p=0.5),
    "sampled": lambda: OURS["Shift"](p=0.5),
    "module": lambda: nn.Identity(),
}
NESTS = st.recursive(
    st.sampled_from(sorted(LEAVES)), lambda inner: st.lists(inner, min_size=1, max_size=3), max_leaves=5
)


def build(tree: Any, **options: Any) -> nn.Module:
    return LEAVES[tree]() if isinstance(tree, str) else K.AugmentationSequential(*map(build, tree), **options)


@given(tree=NESTS, seed=st.integers(0, 2**16))
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_points_follow_pixels_through_any_nest(tree: Any, seed: int) -> None:
    assert_labels_follow(build([tree], data_keys=["image", "mask", "keypoints", "bbox_xyxy"]), seed)


class Turned(K.RandomRotation):
    """A user's class of an op, which asks the one above for its matrix."""

    def compute_transformation(self, input, params, flags):
        return super().compute_transformation(input, params, flags)


class TurnedAgain(Turned):
    def compute_transformation(self, input, params, flags):
        return super().compute_transformation(input, params, flags)


def test_hooks_that_ask_the_class_above_change_nothing() -> None:
    image = picture(3)
    expected = call_seeded(K.RandomRotation(30.0, p=1.0), image)
    for op in (Turned(30.0, p=1.0), TurnedAgain(30.0, p=1.0)):
        assert torch.equal(call_seeded(op, image), expected)


class MixesAsKornia(K.RandomMixUpV2):
    def generate_parameters(self, batch_shape):
        return super().generate_parameters(batch_shape)


def test_a_users_draw_keeps_what_the_op_declares_of_rows() -> None:
    """The frames of a clip are mixed with those of one other clip."""
    frames = torch.tensor([[0.0, 1.0], [10.0, 11.0]]).view(2, 2, 1, 1, 1).expand(2, 2, 3, 4, 4)
    op = MixesAsKornia(lambda_val=torch.tensor([0.5, 0.5]), p=1.0)
    mixed = K.VideoSequential(op, data_format="BTCHW")(frames)
    assert mixed[:, :, 0, 0, 0].tolist() == [[5.0, 6.0], [5.0, 6.0]]


class HalfDeclared(K.IntensityAugmentationBase2D):
    params = (K.Param("share", neutral=0.0), K.Param("other"))
    columns = 1

    def sample(self, draw):
        return {"share": draw.u[:, 0]}


class Undeclared(K.IntensityAugmentationBase2D):
    columns = 1

    def sample(self, draw):
        return {"share": draw.u[:, 0]}

    def apply_transform(self, input, params, flags, transform=None):
        return input * params["share"].view(-1, 1, 1, 1)


def test_what_is_declared_has_to_be_drawn() -> None:
    message = r"HalfDeclared: sample: expected a value for each of params; missing \['other'\]"
    with pytest.raises(ValueError, match=message):
        HalfDeclared(p=1.0)(picture())
    op = Undeclared(p=1.0)
    assert torch.equal(op(picture()), op(picture(), params=op._params))


@pytest.mark.parametrize(("build", "name"), [(lambda: K.ColorJitter(foo=1), "ColorJitter"), (K.Normalize, "Normalize")])
def test_an_error_of_arguments_names_the_op(build, name) -> None:
    with pytest.raises(TypeError, match=rf"^{name}\.__init__\(\)"):
        build()
