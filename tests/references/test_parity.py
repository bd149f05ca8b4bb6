"""Parity with kornia 0.9: same arguments, same parameters, same pixels. What differs on purpose is in INTENDED."""

import copy
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import kornia.augmentation as KORNIA
import numpy as np
import pytest
import torch
from kornia.augmentation._2d.base import AugmentationBase2D
from torch import Tensor
from torch.testing import assert_close

import augment as K
from augment.testing import Case, cases, ops
from tests.references import INTENDED as FAMILY_INTENDED
from tests.references import MORE, REFERENCES
from tests.references.common import picture

SHAPE = (4, 3, 32, 40)
SEEDS = range(2)
MARGIN = 2
MEAN = 2e-3
# Both libraries compute coordinates up to 40 in float32, to a few times 4e-6, and noise changes by up to 1 a pixel.
TIGHT = 5e-5


@pytest.fixture(scope="module")
def kornia() -> Any:
    return KORNIA


def shared(name: str, arguments: Mapping[str, Any]) -> bool:
    """Whether kornia has the op, and takes the arguments."""
    return hasattr(KORNIA, name) and arguments.keys() <= inspect.signature(getattr(KORNIA, name)).parameters.keys()


def build(kornia: Any, name: str, arguments: Mapping[str, Any]) -> tuple[Any, Any]:
    """Build kornia's op and ours with the same arguments, always applied."""
    always = {"p": 1.0} if "p" in inspect.signature(getattr(kornia, name)).parameters else {}
    return getattr(kornia, name)(**arguments, **always), ops()[name](**arguments, p=1.0)


def image(seed: int) -> Tensor:
    rows, _, height, width = SHAPE
    return torch.from_numpy(picture(seed, rows, height, width)).float()


def referenced(op: Any, batch: Tensor) -> Tensor:
    """Compute the last call of an op by the reference."""
    params = {name: value.numpy() for name, value in op._params.items()}
    return torch.from_numpy(REFERENCES[type(op).__name__](op, batch.double().numpy(), params)).float()


# ----------------------------------------------------------------------------------------------- intended differences


def resize_antialias(kornia: Any) -> None:
    op = K.Resize((12, 14), antialias=True)
    assert_close(op(image(0)), referenced(op, image(0)), atol=2e-6, rtol=0)


def equalize_rounds(kornia: Any) -> None:
    levels = torch.randint(255, (2, 3, 40, 50), generator=torch.Generator().manual_seed(0))
    image = (levels + 0.25 + 0.5 * (levels % 2)) / 255  # odd levels lie closer to the one above
    ours, theirs = K.RandomEqualize(p=1.0), kornia.RandomEqualize(p=1.0)
    assert_close(ours(image), referenced(ours, image), atol=1e-6, rtol=0)
    assert_close(theirs(image), ours(levels / 255), atol=1e-6, rtol=0)


def reflection_at_edges(kornia: Any) -> None:
    op = K.RandomAffine(0.0, padding_mode="reflection", align_corners=True, p=1.0)
    params = op.forward_parameters(SHAPE)
    params["translations"][:] = torch.tensor([-3.0, 2.0])
    padded = np.pad(image(0).numpy(), [(0, 0), (0, 0), (2, 0), (0, 3)], mode="symmetric")
    assert_close(op(image(0), params=params), torch.from_numpy(padded[..., :-2, 3:].copy()), atol=TIGHT, rtol=0)


def window_in_its_image(kornia: Any) -> None:
    op = K.RandomResizedCrop((50, 60), align_corners=False)
    assert_close(op(image(0)), referenced(op, image(0)), atol=TIGHT, rtol=0)


def cropping_mode_is_free(kornia: Any) -> None:
    for arguments in ({"align_corners": False}, {"resample": "nearest"}):
        one, other = (K.RandomResizedCrop((12, 14), cropping_mode=mode, **arguments) for mode in ("slice", "resample"))
        assert torch.equal(one(image(0)), other(image(0), params=one._params))


def gate_is_always_asked(kornia: Any) -> None:
    theirs, ours = build(kornia, "RandomHorizontalFlip", {})
    params = theirs.forward_parameters(SHAPE)
    params["batch_prob"][0] = 0
    output = ours(image(0), params=params)
    assert torch.equal(output[0], image(0)[0])
    assert torch.equal(output[1:], image(0)[1:].flip(-1))


def closed_gate_keeps_the_size(kornia: Any) -> None:
    assert torch.equal(K.RandomCrop((12, 14), p=0.0)(image(0)), image(0)[..., 10:22, 13:27])
    assert torch.equal(K.CenterCrop((12, 14), p=0.0)(image(0)), image(0)[..., 10:22, 13:27])
    frame = torch.nn.functional.interpolate(image(0), (12, 14), mode="bilinear", align_corners=False)
    for op in (K.RandomResizedCrop((12, 14), p=0.0), K.Resize((12, 14), align_corners=False, p=0.0)):
        assert_close(op(image(0)), frame, atol=TIGHT, rtol=0)


def moved(library: Any, name: str, key: str, value: Tensor, **arguments: Any) -> Tensor:
    """Move labels of an image of 8 by 10."""
    op = library.AugmentationSequential(getattr(library, name)(p=1.0, **arguments), data_keys=["input", key])
    return op(torch.zeros(1, 3, 8, 10), value)[1][0]


BOX = torch.tensor([[[2.0, 1.0, 5.0, 4.0]]])


def boxes_reach_from_edge_to_edge(kornia: Any) -> None:
    quarter = {"degrees": (90.0, 90.0)}
    for key, box in (("bbox_xyxy", [2.0, 4.0, 5.0, 7.0]), ("bbox_xywh", [2.0, 4.0, 3.0, 3.0])):
        value = BOX if key == "bbox_xyxy" else torch.tensor([[[2.0, 1.0, 3.0, 3.0]]])
        # the centre is (5, 4) on edges: x' = 5 + (y - 4), y' = 4 - (x - 5)
        assert_close(moved(K, "RandomRotation", key, value, **quarter), torch.tensor([box]), atol=1e-5, rtol=0)
    assert moved(K, "RandomHorizontalFlip", "bbox_xyxy", BOX).tolist() == [[10 - 5, 1, 10 - 2, 4]]
    twice = moved(K, "RandomAffine", "bbox_xyxy", BOX, degrees=0.0, scale=(2.0, 2.0))
    assert_close(twice, torch.tensor([[-1.0, -2.0, 5.0, 4.0]]), atol=1e-5, rtol=0)
    # positions of pixels have no edges, and agree
    for name, arguments in (("RandomHorizontalFlip", {}), ("RandomRotation", quarter)):
        ours, theirs = (moved(lib, name, "keypoints", BOX[..., :2], **arguments) for lib in (K, kornia))
        assert_close(ours, theirs, atol=1e-5, rtol=0)


def corners_stay_corners(kornia: Any) -> None:
    corners = torch.tensor([[[[2.0, 1.0], [5.0, 1.0], [5.0, 4.0], [2.0, 4.0]]]])
    output = moved(K, "RandomRotation", "bbox", corners, degrees=(90.0, 90.0))
    assert_close(output, torch.tensor([[[2.0, 7.0], [2.0, 4.0], [5.0, 4.0], [5.0, 7.0]]]), atol=1e-5, rtol=0)


def deformation_has_no_matrix(kornia: Any) -> None:
    op = K.RandomElasticTransform(p=1.0)
    op(image(0))
    with pytest.raises(ValueError, match="transform_matrix"):
        _ = op.transform_matrix


def crop_records_its_input(kornia: Any) -> None:
    theirs, ours = build(kornia, "RandomCrop", {"size": (12, 14), "padding": 2})
    assert theirs.forward_parameters(SHAPE)["forward_input_shape"].tolist() == [4, 3, 36, 44]
    assert ours.forward_parameters(SHAPE)["forward_input_shape"].tolist() == list(SHAPE)


def bytes_stay_bytes(kornia: Any) -> None:
    bytes_in = (image(0) * 255).to(torch.uint8)
    assert torch.equal(K.RandomHorizontalFlip(p=1.0)(bytes_in), bytes_in.flip(-1))
    with pytest.raises(TypeError):
        kornia.RandomHorizontalFlip(p=1.0)(bytes_in)


INTENDED: Mapping[str, tuple[Callable[[Any], None], str]] = {
    **FAMILY_INTENDED,
    "Resize[antialias]": (resize_antialias, "the triangle of the PIL and torchvision; kornia blurs, then resizes"),
    "RandomEqualize": (equalize_rounds, "the nearest of 256 levels; kornia truncates to the one below"),
    "reflection": (
        reflection_at_edges,
        "edges are the mirrors; kornia takes the edge pixels' centres with align_corners=True",
    ),
    "RandomResizedCrop window": (
        window_in_its_image,
        "a window is sampled in its image; kornia cuts it out first, and repeats its last pixels half a pixel outwards",
    ),
    "RandomResizedCrop cropping_mode": (
        cropping_mode_is_free,
        "a way to compute, not another result; kornia's 'resample' meets corner pixels whatever the other flags say",
    ),
    "gate": (gate_is_always_asked, "params are obeyed; kornia ignores batch_prob where p is 1"),
    "gate of crops": (closed_gate_keeps_the_size, "the output's shape is static; kornia gives the input's shape back"),
    "boxes": (
        boxes_reach_from_edge_to_edge,
        "a box has edges, as in COCO; kornia moves the centres of its last pixels",
    ),
    "bbox": (corners_stay_corners, "each corner is moved; kornia gives the rectangle around them"),
    "RandomElasticTransform matrix": (deformation_has_no_matrix, "a deformation is no homography"),
    "RandomCrop forward_input_shape": (crop_records_its_input, "the shape of the input; kornia records the padded one"),
    "uint8": (bytes_stay_bytes, "uint8 in gives uint8 out; kornia refuses it"),
}


@pytest.mark.parametrize("name", list(INTENDED))
def test_intended_difference(name: str, kornia: Any) -> None:
    check, _ = INTENDED[name]
    check(kornia)


# -------------------------------------------------------------------------------------------------------------- parity


def pairs() -> list[Any]:
    """List (name, arguments) to compare, with both values of align_corners where a constructor has it."""
    found = [(case.name, case.op.__name__, dict(case.arguments)) for case in cases() if "antialias" not in case.name]
    found += [(f"{name}-{i}", name, more) for name, sides in MORE.items() for i, more in enumerate(sides)]
    listed = []
    for label, name, arguments in found:
        if not shared(name, arguments):
            continue
        free = "align_corners" in inspect.signature(ops()[name]).parameters and "align_corners" not in arguments
        for flag in ({"align_corners": True}, {"align_corners": False}) if free else ({},):
            suffix = "".join(f"-{value}" for value in flag.values())
            listed.append(pytest.param(name, {**arguments, **flag}, id=label + suffix))
    return listed


def compare(ours: Tensor, theirs: Tensor, arguments: Mapping[str, Any]) -> None:
    assert ours.shape == theirs.shape
    inner = (..., slice(MARGIN, -MARGIN), slice(MARGIN, -MARGIN))
    assert_close((ours[inner] - theirs[inner]).abs().mean(), torch.tensor(0.0), atol=MEAN, rtol=0)
    if arguments.get("resample") != "nearest":  # which pixel is nearest to a place between two is a matter of rounding
        assert_close(ours, theirs, atol=TIGHT, rtol=0)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("name", "arguments"), pairs())
def test_ours_applies_kornias_parameters(name: str, arguments: Mapping[str, Any], seed: int, kornia: Any) -> None:
    theirs, ours = build(kornia, name, arguments)
    torch.manual_seed(seed)
    params = theirs.forward_parameters(SHAPE)
    expected = theirs(image(seed), params=copy.deepcopy(params))
    compare(ours(image(seed), params=params), expected, arguments)
    if isinstance(ours, K.GeometricAugmentationBase2D) and not isinstance(ours.last_warp(), K.Deformation):
        assert_close(ours.transform_matrix, theirs.transform_matrix, atol=TIGHT, rtol=1e-5)


ROWWISE = {"order": "drawn for every row, where kornia draws one for the batch; ours takes kornia's as well"}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("name", "arguments"), pairs())
def test_kornia_applies_our_parameters(name: str, arguments: Mapping[str, Any], seed: int, kornia: Any) -> None:
    theirs, ours = build(kornia, name, arguments)
    torch.manual_seed(seed)
    params = ours.forward_parameters(SHAPE)
    params = {key: value[0] if key in ROWWISE else value for key, value in params.items()}
    output = ours(image(seed), params=params)
    compare(output, theirs(image(seed), params=copy.deepcopy(params)), arguments)


CASES = [case for case in cases(variants=False) if shared(case.name, case.arguments)]


def test_every_2d_op_of_kornia_is_here() -> None:
    classes = {name: op for name, op in vars(KORNIA).items() if isinstance(op, type) and not name.endswith("2D")}
    theirs = {name for name, op in classes.items() if issubclass(op, AugmentationBase2D)}
    assert theirs - ops().keys() == {"RandomDissolving"}, "which needs a diffusion model"
    assert {case.name for case in CASES} == theirs & ops().keys()


def test_every_mix_of_kornia_is_here() -> None:
    """#941, PR #1713, #2523, #3664: with kornia's arguments first, and its defaults but where the README says so."""
    mixes = {name: op for name, op in vars(KORNIA).items() if isinstance(op, type) and not name.endswith("3D")}
    mixes = {name: op for name, op in mixes.items() if issubclass(op, KORNIA.MixAugmentationBaseV2)}
    del mixes["MixAugmentationBaseV2"]
    assert len(mixes) == 6
    for name, op in mixes.items():
        ours, theirs = (list(inspect.signature(known).parameters.values()) for known in (getattr(K, name), op))
        pairs = list(zip(ours, theirs, strict=False))
        assert [one.name for one, _ in pairs] == [other.name for other in theirs]
        differing = {one.name for one, other in pairs if _default(one) != _default(other)}
        assert differing <= ({"padding_mode"} if name == "RandomMosaic" else {"data_keys"})


def _default(parameter: inspect.Parameter) -> Any:
    default = parameter.default
    return getattr(default, "name", default)


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_parameters_have_kornias_names_shapes_and_dtypes(case: Case, kornia: Any) -> None:
    theirs, ours = build(kornia, case.name, case.arguments)
    layouts = [
        {
            name: (tuple(value.shape)[(op is ours and name in ROWWISE) :], value.dtype)
            for name, value in op.forward_parameters((4, 3, 256, 320)).items()
        }
        for op in (ours, theirs)
    ]
    assert layouts[0] == layouts[1]


SIZED = [case.name for case in CASES if "output_size" in [param.name for param in case.op.params] and case.name in MORE]


@pytest.mark.parametrize(("name", "arguments"), [(name, more) for name in SIZED for more in MORE[name]])
def test_parameters_without_chance_have_kornias_values(name: str, arguments: Mapping[str, Any], kornia: Any) -> None:
    theirs, ours = build(kornia, name, arguments)
    drawn = {"src"} if name.startswith("Random") else set()
    drawn |= {"forward_input_shape"} if name == "RandomCrop" else set()  # see INTENDED
    for height, width in ((32, 40), (40, 32), (33, 47)):
        fixed = [
            {key: value for key, value in op.forward_parameters((4, 3, height, width)).items() if key not in drawn}
            for op in (ours, theirs)
        ]
        assert_close(fixed[0], fixed[1], atol=0, rtol=0)


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_constructor_takes_kornias_arguments(case: Case, kornia: Any) -> None:
    """Names, order, defaults and kinds; types may be wider, and arguments of our own may follow, with defaults."""
    theirs, ours = (inspect.signature(op).parameters for op in (getattr(kornia, case.name), case.op))
    described = [[(p.name, p.kind, p.default) for p in parameters.values()] for parameters in (theirs, ours)]
    assert described[1][: len(theirs)] == described[0]
    assert all(default is not inspect.Parameter.empty for *_, default in described[1][len(theirs) :])
