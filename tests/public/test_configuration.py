"""Configurations as dicts and YAML: whole registry, containers, and what is wrong in them."""

import copy
import io
import json
import pickle
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

import augment as K
from augment.kinds.recorded import Recorded
from augment.saving import params as saving
from augment.testing import Case, mixes, ops
from tests.support.choices import KEYS, many, values
from tests.support.helpers import CASES, call_seeded, picture, seq
from tests.support.mixing import sample

POLICIES = {
    "RandAugment": lambda: K.RandAugment(2, 9, policy=[("shear_x", -0.3, 0.3), ("posterize", 4, 8)]),
    "TrivialAugment": lambda: K.TrivialAugment(interpolation="bilinear", fill=(0.1, 0.2, 0.3)),
    "TrivialAugmentWide": lambda: K.TrivialAugmentWide(p=0.7),
    "AutoAugment": lambda: K.AutoAugment("svhn"),
    "AutoAugment[own]": lambda: K.AutoAugment([[("rotate", 0.4, 3), ("equalize", 1.0, None)], [("solarize", 0.5, 2)]]),
    "AugMix": lambda: K.AugMix(severity=5, alpha=0.7),
}
BUILT = {case.name: case for case in CASES} | POLICIES


def again(pipeline: nn.Module, **options: Any) -> Any:
    """Build a pipeline anew from the JSON of its dict."""
    return K.from_dict(json.loads(json.dumps(K.to_dict(pipeline, **options))), **options)


def assert_equal(one: nn.Module, other: nn.Module, *given: Any) -> None:
    """Require two pipelines to be configured alike, and to give the same under one seed."""
    assert type(one) is type(other) and repr(one) == repr(other) and K.to_dict(one) == K.to_dict(other)
    outputs = [call_seeded(pipeline, *given) for pipeline in (one, other)]
    assert_close(outputs[0], outputs[1], rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", BUILT)
def test_every_op_is_built_again(name: str) -> None:
    op, fresh = BUILT[name](), again(BUILT[name]())
    assert_equal(op, fresh, picture(4, 3, (16, 24)))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_settings_are_written(case: Case) -> None:
    op = case(p=0.7, same_on_batch=True, keepdim=True)
    fresh = again(op)
    assert (fresh.p, fresh.same_on_batch, fresh.keepdim) == (op.p, op.same_on_batch, op.keepdim)
    assert_equal(op, fresh, picture(4, 3, (16, 24)))


@pytest.mark.parametrize("case", mixes(), ids=str)
def test_every_mix_is_built_again(case: Case) -> None:
    op = case(data_keys=KEYS, p=0.6)
    assert_equal(op, again(op), *sample(case))


@pytest.mark.parametrize("name", many())
def test_containers_are_built_again(name: str) -> None:
    options = {"min_visibility": 0.1, "extra_args": {"mask": {"fill": 3, "resample": "nearest"}}}
    container = many(data_keys=KEYS, **options)[name]()
    assert_equal(container, again(container), *values())
    assert isinstance(again(container)[0], type(container[0]))


def further() -> dict[str, Callable[[], tuple[nn.Module, torch.Tensor]]]:
    """Give the containers of images, patches and videos, each with what it takes."""
    ops = (K.RandomInvert(p=0.5), K.RandomRotation(20.0))
    images, clips = picture(4, 3, (16, 24)), picture(6, 3, (16, 24)).unflatten(0, (2, 3))
    return {
        "image": lambda: (K.ImageSequential(*ops, random_apply=1), images),
        "patch": lambda: (K.PatchSequential(*ops, grid_size=(1, 2), padding="valid"), images),
        "patches": lambda: (K.PatchSequential(*ops, patchwise_apply=False, random_apply=(0, 1)), images),
        "video": lambda: (K.VideoSequential(*ops, data_format="BTCHW", same_on_frame=False), clips),
        "nest": lambda: (
            K.VideoSequential(
                K.OneOf(*ops), K.PatchSequential(K.RandomInvert(), grid_size=(1, 1)), data_format="BTCHW"
            ),
            clips,
        ),
    }


@pytest.mark.parametrize("name", further())
def test_further_containers_are_built_again_and_replayed(name: str) -> None:
    container, given = further()[name]()
    assert_equal(container, again(container), given)
    output = container(given)
    for params in (saving.from_json(saving.to_json(container._params)), K.plain(container._params)):
        assert torch.equal(container(given, params=params), output)


def test_every_public_class_is_known() -> None:
    built = [
        getattr(K, name)
        for name in K.__all__
        if isinstance(getattr(K, name), type) and issubclass(getattr(K, name), Recorded)
    ]
    named = {type(make()) for make in BUILT.values()} | {case.op for case in mixes()}
    named |= {K.AugmentationSequential, K.OneOf, K.SomeOf, K.RandomOrder, K.RandomApply}
    named |= {type(make()[0]) for make in further().values()}
    named |= {K.ManyToManyAugmentationDispather, K.ManyToOneAugmentationDispather}  # see test_dispatchers
    bases = {K.AugmentationBase2D, K.GeometricAugmentationBase2D, K.IntensityAugmentationBase2D, K.Mix}
    assert set(built) - bases <= named
    assert set(ops().values()) <= named


def test_the_dict_is_what_was_written() -> None:
    pipeline = K.AugmentationSequential(
        K.RandomHorizontalFlip(p=0.3),
        K.OneOf(K.RandomAffine(30.0, scale=(0.8, 1.2)), K.RandomInvert(), weights=(2, 1)),
        K.RandomApply([K.RandomRotation(10)], p=0.2),
        data_keys=["image", "mask"],
    )
    inner = {"AugmentationSequential": {"ops": [{"RandomRotation": {"degrees": 10}}]}}
    expected = [
        {"RandomHorizontalFlip": {"p": 0.3}},
        {
            "OneOf": {
                "ops": [{"RandomAffine": {"degrees": 30.0, "scale": [0.8, 1.2]}}, {"RandomInvert": {}}],
                "weights": [2, 1],
            }
        },
        {"RandomApply": {"ops": inner, "p": 0.2}},
    ]
    entry = {"AugmentationSequential": {"ops": expected, "data_keys": ["image", "mask"]}}
    assert K.to_dict(pipeline) == {"version": 1, "pipeline": entry}
    expected[2]["RandomApply"]["ops"] = inner["AugmentationSequential"]["ops"]  # type: ignore[index]
    assert_equal(K.from_dict({"version": 1, "pipeline": entry}), pipeline, picture(), picture())


def test_what_changed_since_is_written() -> None:
    op = K.RandomAffine(30.0, p=0.5)
    op.p, op.same_on_batch = 0.25, True
    assert K.to_dict(op)["pipeline"] == {"RandomAffine": {"degrees": 30.0, "p": 0.25, "same_on_batch": True}}
    container = K.AugmentationSequential(op, same_on_batch=False)
    container.append(K.RandomInvert())
    assert [list(entry) for entry in K.to_dict(container)["pipeline"]["AugmentationSequential"]["ops"]] == [
        ["RandomAffine"],
        ["RandomInvert"],
    ]
    assert K.to_dict(again(container)) == K.to_dict(container)


def test_tensors_and_what_learns_come_back() -> None:
    bounds = nn.Parameter(torch.tensor([0.1, 0.7], dtype=torch.float64))
    op = K.RandomBrightness(bounds, p=torch.tensor(0.3))
    with torch.no_grad():
        bounds.add_(0.2)
    fresh = again(copy.deepcopy(op))
    (found,) = fresh.parameters()
    assert torch.equal(found, bounds) and found.dtype == torch.float64 and found.requires_grad
    assert isinstance(fresh.p, torch.Tensor) and fresh.p == op.p
    op.p = torch.tensor(0.9)
    assert again(op).p == op.p
    assert list(again(K.RandomBrightness(torch.tensor([0.5, 1.5]))).parameters()) == []


def test_spellings_come_back() -> None:
    class Resample(Enum):
        NEAREST = 0

    op = K.RandomRotation(np.array([-3.0, 4.0]), resample=Resample.NEAREST, same_on_batch=np.bool_(True))
    assert K.to_dict(op)["pipeline"]["RandomRotation"] == {
        "degrees": [-3.0, 4.0],
        "resample": "NEAREST",
        "same_on_batch": True,
    }
    assert_equal(op, again(op), picture())
    some = K.SomeOf(K.RandomInvert(), K.RandomEqualize(), n=range(0, 3))
    assert_equal(some, again(some), picture())


@pytest.mark.parametrize("way", ["pickle", "deepcopy", "save"])
def test_copies_know_their_arguments(way: str) -> None:
    pipeline = seq(K.RandomAffine(nn.Parameter(torch.tensor(30.0))), K.RandomApply(K.RandomInvert()))
    if way == "save":
        file = io.BytesIO()
        torch.save(pipeline, file)
        file.seek(0)
        copied = torch.load(file, weights_only=False)
    else:
        copied = copy.deepcopy(pipeline) if way == "deepcopy" else pickle.loads(pickle.dumps(pipeline))
    assert K.to_dict(copied) == K.to_dict(pipeline)
    with torch.no_grad():
        next(copied.parameters()).fill_(5)
    assert K.to_dict(copied) != K.to_dict(pipeline)


class Faint(K.RandomContrast):
    """A user's op with a constructor of its own."""

    def __init__(self, strength: float, p: float = 1.0) -> None:
        super().__init__((1 - strength, 1 + strength), p=p)


class Loose(K.RandomAffine):
    """A user's op that hands on what it gets."""

    def __init__(self, *args: Any, note: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)


class Recipe(K.AugmentationSequential):
    """A user's container that knows what is in it."""

    def __init__(self, size: int, **options: Any) -> None:
        super().__init__(K.Resize((size, size)), K.RandomHorizontalFlip(), **options)


CLASSES = {"Faint": Faint, "loose": Loose, "Recipe": Recipe}


def test_a_users_classes_are_looked_up() -> None:
    pipeline = K.AugmentationSequential(
        Faint(0.2), Loose(20.0, p=0.7, note="x"), Recipe(12, data_keys=None), data_keys=["image"]
    )
    entry = K.to_dict(pipeline, CLASSES)["pipeline"]["AugmentationSequential"]["ops"]
    assert entry[0] == {"Faint": {"strength": 0.2}} and entry[2] == {"Recipe": {"size": 12, "data_keys": None}}
    assert entry[1] == {"loose": {"args": [20.0], "note": "x", "p": 0.7}}
    fresh = again(pipeline, classes=CLASSES)
    assert torch.equal(call_seeded(fresh, picture()), call_seeded(pipeline, picture()))
    with pytest.raises(ValueError, match=r"^pipeline\.ops\[0\]: expected an op or a container.*got Faint"):
        K.to_dict(pipeline)
    with pytest.raises(ValueError, match=r"^pipeline\.ops\[0\]: unknown class 'Faint'"):
        K.from_dict(K.to_dict(pipeline, CLASSES))
    with pytest.raises(TypeError, match=r"classes\['x'\]: expected a class of ops or containers"):
        K.to_dict(pipeline, {"x": nn.Identity})


def test_a_users_class_goes_before() -> None:
    class RandomInvert(K.RandomInvert):
        pass

    data = {"version": 1, "pipeline": {"RandomInvert": {}}}
    assert type(K.from_dict(data)) is K.RandomInvert
    assert type(K.from_dict(data, {"RandomInvert": RandomInvert})) is RandomInvert


@pytest.mark.parametrize(
    ("entry", "error", "message"),
    [
        ({"RandomAfine": {}}, ValueError, r"^pipeline\.ops\[1\]: unknown class 'RandomAfine'; .*'RandomAffine'"),
        ({"Mix": {}}, ValueError, r"^pipeline\.ops\[1\]: unknown class 'Mix'"),
        ({"os.system": {}}, ValueError, r"^pipeline\.ops\[1\]: unknown class 'os.system'"),
        (
            {"RandomAffine": {"degree": 3}},
            ValueError,
            r"RandomAffine: unknown argument 'degree'; expected some of \['deg",
        ),
        ({"RandomAffine": {}}, ValueError, r"^pipeline\.ops\[1\]\.RandomAffine: missing argument 'degrees'"),
        (
            {"RandomAffine": {"degrees": "x"}},
            TypeError,
            r"^pipeline\.ops\[1\]\.RandomAffine: degrees: expected a number",
        ),
        ({"RandomInvert": {"p": 2}}, ValueError, r"^pipeline\.ops\[1\]\.RandomInvert: p: expected a probability"),
        (
            {"RandomInvert": [1]},
            TypeError,
            r"^pipeline\.ops\[1\]\.RandomInvert: expected a dict of arguments, got \[1\]",
        ),
        ("RandomInvert", TypeError, r"^pipeline\.ops\[1\]: expected a dict of one class name"),
        ({"a": {}, "b": {}}, TypeError, r"^pipeline\.ops\[1\]: expected a dict of one class name"),
        ({"OneOf": {"ops": [{"Rot": {}}]}}, ValueError, r"^pipeline\.ops\[1\]\.ops\[0\]: unknown class 'Rot'"),
        ({"OneOf": {"ops": []}}, ValueError, r"^pipeline\.ops\[1\]\.OneOf: OneOf: ops: expected at least one"),
        ({"OneOf": {"ops": {"RandomInvert": {}}}}, TypeError, r"^pipeline\.ops\[1\]\.OneOf: ops: expected a list"),
        ({"RandomApply": {"ops": 3}}, TypeError, r"^pipeline\.ops\[1\]\.ops\[0\]: expected a dict of one class"),
        (
            {"RandomInvert": {"p": {"tensor": {"dtype": "float32", "shape": [2], "values": [1]}}}},
            ValueError,
            r"^pipeline\.ops\[1\]\.RandomInvert: p: expected the values of a tensor of shape \[2\]",
        ),
    ],
)
def test_wrong_entries_name_the_path(entry: Any, error: type[Exception], message: str) -> None:
    data = {"AugmentationSequential": {"ops": [{"RandomInvert": None}, entry]}}
    with pytest.raises(error, match=message):
        K.from_dict({"version": 1, "pipeline": data})


@pytest.mark.parametrize("version", [0, 2, "1", None, True])
def test_another_version_is_refused(version: Any) -> None:
    with pytest.raises(ValueError, match=f"version: expected 1, .*got {version!r}"):
        K.from_dict({"version": version, "pipeline": {"RandomInvert": {}}})


def test_what_is_no_configuration_is_refused() -> None:
    for data in ([], {"pipeline": {}}, {"version": 1}, {"version": 1, "pipeline": {"RandomInvert": {}}, "more": 1}):
        with pytest.raises(ValueError, match="^data: expected"):
            K.from_dict(data)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^pipeline\.ops\[0\]: expected an op or a container.*got Identity"):
        K.to_dict(seq(nn.Identity()))
    with pytest.raises(TypeError, match=r"^pipeline\.loose: argument 'note': expected numbers, .* got <function"):
        K.to_dict(Loose(3.0, note=picture), CLASSES)  # type: ignore[arg-type]


def test_yaml() -> None:
    pytest.importorskip("yaml")
    for name in BUILT:
        op = BUILT[name]()
        assert K.to_dict(K.from_yaml(K.to_yaml(op))) == K.to_dict(op)
    container = many(data_keys=KEYS)["nested"]()
    assert_equal(container, K.from_yaml(K.to_yaml(container)), *values())
    pipeline = seq(K.RandomAffine(30.0, scale=(0.8, 1.2)), K.RandomHorizontalFlip())
    assert K.to_yaml(pipeline).splitlines() == [
        "version: 1",
        "pipeline:",
        "  AugmentationSequential:",
        "    ops:",
        "    - RandomAffine:",
        "        degrees: 30.0",
        "        scale: [0.8, 1.2]",
        "    - RandomHorizontalFlip: {}",
        "    data_keys: [image]",
    ]
    with pytest.raises(ValueError, match="text: expected YAML"):
        K.from_yaml("a: [")
    with pytest.raises(ValueError, match="text: expected YAML"):
        K.from_yaml("!!python/object/apply:os.getcwd []")


TWICE = {
    "version: 1\nversion: 1\npipeline: {RandomInvert: {}}": r"data: .* got 'version' again in line 2",
    "version: 1\npipeline:\n  RandomInvert: {p: 0.1, p: 0.9}": r"pipeline\.RandomInvert: .* got 'p' again in line 3",
    "version: 1\npipeline:\n  RandomInvert: {p: 0.1}\n  'RandomInvert': {}": "pipeline: .* got 'RandomInvert' again",
    "version: 1\npipeline:\n  OneOf:\n    ops:\n      - RandomInvert: {}\n      - RandomAffine:\n"
    "          degrees: 1\n          p: 0.5\n          degrees: 2": (
        r"pipeline\.OneOf\.ops\[1\]\.RandomAffine: expected each key once, got 'degrees' again in line 9"
    ),
}


@pytest.mark.parametrize("text", TWICE)
def test_a_key_that_is_given_twice_is_refused(text: str) -> None:
    pytest.importorskip("yaml")
    with pytest.raises(ValueError, match=f"^text: {TWICE[text]}"):
        K.from_yaml(text)


def test_anchors_of_yaml_are_read() -> None:
    pytest.importorskip("yaml")
    common = "version: 1\npipeline:\n  OneOf:\n    ops:\n      - RandomInvert: &gate {p: 0.3}\n"
    built = K.from_yaml(f"{common}      - RandomEqualize: *gate\n      - RandomGrayscale: {{<<: *gate, p: 0.4}}")
    assert [op.p for op in built] == [0.3, 0.3, 0.4]
    with pytest.raises(ValueError, match=r"expected"):
        K.from_yaml("")


def test_yaml_without_pyyaml_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    for call in (lambda: K.to_yaml(K.RandomInvert()), lambda: K.from_yaml("a")):
        with pytest.raises(ImportError, match=r'PyYAML; pip install "augment\[yaml\]"'):
            call()
