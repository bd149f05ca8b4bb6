"""Params of a call: plain, saved, written as JSON, and replayed bit for bit."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import augment as K
from augment.saving import params as saving
from augment.testing import Case, mixes
from tests.support.choices import KEYS, many, values
from tests.support.helpers import CASES, graphs, picture, seq
from tests.support.mixing import sample


def whole() -> K.AugmentationSequential:
    """Give a pipeline with everything in it that draws."""
    return K.AugmentationSequential(
        K.RandomOrder(K.OneOf(K.RandomAffine(20.0, p=0.7), K.RandomInvert()), K.RandomHorizontalFlip()),
        K.SomeOf(K.RandomEqualize(), K.RandomGaussianNoise(), nn.Identity(), n=(0, 2), replace=True),
        K.RandomApply([K.RandomRotation(10.0), nn.Identity()]),
        K.RandAugment(),
        K.AugMix(),
        K.RandomMixUpV2(p=0.5, mask_classes=5),
        K.RandomCutMixV2(p=0.5),
        K.AugmentationSequential(K.RandomVerticalFlip(), K.RandomContrast((0.6, 1.4)), random_apply=(0, 2)),
        data_keys=KEYS,
    )


PIPELINES: dict[str, Callable[[], K.AugmentationSequential]] = {"whole": whole, **many(data_keys=KEYS)}
each = pytest.mark.parametrize("name", PIPELINES)


def assert_plain(params: Any) -> None:
    assert type(params) in (list, dict, str, torch.Tensor, type(None))
    for part in params.values() if type(params) is dict else params if type(params) is list else []:
        assert_plain(part)


def assert_same(a: Any, b: Any) -> None:
    assert type(a) is type(b)
    if isinstance(a, torch.Tensor):
        assert (a.dtype, a.shape) == (b.dtype, b.shape) and a.numpy().tobytes() == b.numpy().tobytes()
    elif isinstance(a, dict):
        assert a.keys() == b.keys()
        for name in a:
            assert_same(a[name], b[name])
    elif isinstance(a, list):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            assert_same(one, other)
    else:
        assert a == b


@each
def test_a_pipeline_is_saved_written_and_replayed(name: str) -> None:
    container, given = PIPELINES[name](), values(4)
    output = container(*given)
    params = K.plain(container._params)
    assert_plain(params)
    file = io.BytesIO()
    torch.save(params, file)
    file.seek(0)
    loaded, read = torch.load(file, weights_only=True), saving.from_json(saving.to_json(params))
    assert_same(loaded, params)
    assert_same(read, params)
    for saved in (loaded, read):
        again = PIPELINES[name]()(*given, params=saved)
        assert all(torch.equal(new, old) for new, old in zip(again, output, strict=True))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_op_is_read_back(case: Case) -> None:
    op, image = case(p=0.7), picture(4, 3, (16, 24))
    output = op(image)
    read = saving.from_json(saving.to_json(op._params))
    assert_same(read, saving.plain(op._params))
    torch.testing.assert_close(op(image, params=read), output, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("case", mixes(), ids=str)
def test_every_mix_is_read_back(case: Case) -> None:
    op, given = case(p=0.7, data_keys=KEYS), sample(case)
    output = op(*given)
    read = saving.from_json(saving.to_json(op._params))
    assert_same(read, saving.plain(op._params))
    assert all(torch.equal(new, old) for new, old in zip(op(*given, params=read), output, strict=True))


@pytest.mark.parametrize("name", ["one", "order", "nested"])
def test_plain_params_lead_back(name: str) -> None:
    container, given = PIPELINES[name](), values(4)
    moved = container(*given)
    params, back = K.plain(container._params), container.inverse(*moved)
    fresh = PIPELINES[name]()
    assert all(torch.equal(a, b) for a, b in zip(fresh.inverse(*moved, params=params), back, strict=True))
    assert torch.equal(fresh.matrix_of(params), container.transform_matrix)


def test_plain_params_compile_once(optimizer: str) -> None:
    container, given = PIPELINES["nested"](), values(4)
    compiled = torch.compile(PIPELINES["nested"](), fullgraph=True, backend=optimizer)
    for _ in range(3):
        output = container(*given)
        again = compiled(*given, params=K.plain(container._params))
        torch.testing.assert_close(again, output, atol=1e-5, rtol=1e-5)
    assert graphs() == 1


def test_plain_params_are_copies_without_a_graph() -> None:
    op = K.RandomBrightness(nn.Parameter(torch.tensor([0.5, 1.5])), p=1.0)
    op(picture())
    kept = saving.plain(op._params)
    assert not any(value.requires_grad for value in kept.values())
    assert kept["brightness_factor"].data_ptr() != op._params["brightness_factor"].data_ptr()


@pytest.mark.parametrize("dtype", saving.DTYPES)
def test_tensors_of_every_dtype_come_back(dtype: str) -> None:
    bits = torch.randint(0, 256, (2, 3, 8), dtype=torch.uint8)
    kind = saving.DTYPES[dtype]
    tensor = bits.bool() if kind == torch.bool else bits.view(kind)
    tensor = torch.where(tensor.isnan(), 1, tensor) if kind.is_floating_point else tensor
    for value in (tensor, tensor[:0], tensor[0, 0, 0]):
        read = saving.from_json(saving.to_json({"v": value}))["v"]
        assert (read.dtype, read.shape) == (value.dtype, value.shape)
        assert torch.equal(read.view(torch.uint8), value.view(torch.uint8)) if value.ndim else torch.equal(read, value)


def test_what_is_not_finite_and_minus_zero_come_back() -> None:
    tensor = torch.tensor([torch.inf, -torch.inf, -0.0, 1e-45, torch.nan])
    text = saving.to_json({"v": tensor})
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    read = saving.from_json(text)["v"]
    assert torch.equal(read[:4].view(torch.int32), tensor[:4].view(torch.int32)) and read[4].isnan()


def test_json_reads_like_the_pipeline() -> None:
    container = seq(K.RandomHorizontalFlip(p=1.0))
    container(picture(2))
    flip = {
        "batch_prob": {"dtype": "float32", "shape": [2], "values": [1.0, 1.0]},
        "forward_input_shape": {"dtype": "int64", "shape": [4], "values": [2, 3, 17, 23]},
    }
    assert json.loads(saving.to_json(container._params)) == [["RandomHorizontalFlip_0", flip]]


def nest() -> K.AugmentationSequential:
    return seq(K.RandomInvert(), K.OneOf(K.RandomAffine(20.0), K.RandomGaussianBlur(3, (0.5, 1.0))))


def test_misfits_name_the_path() -> None:
    container = nest()
    image = container(picture(4))
    params = K.plain(container._params)
    affine = params[1][1][1][1]
    where = r"AugmentationSequential\[1\]\.OneOf\[0\]\.RandomAffine: params"
    affine["angle"] = affine["angle"][:3]
    for call in (container, container.inverse):
        with pytest.raises(ValueError, match=rf"^{where}\['angle'\]: expected 4 rows.*got shape \(3,\)"):
            call(image, params=params)
    affine["angle"] = torch.zeros(4, 2)
    with pytest.raises(ValueError, match=rf"^{where}\['angle'\]: expected shape \(4,\), got \(4, 2\)"):
        container(image, params=params)
    affine["angle"] = 3.0
    with pytest.raises(TypeError, match=rf"^{where}\['angle'\]: expected a tensor, got float"):
        container(image, params=params)
    del affine["angle"]
    with pytest.raises(ValueError, match=rf"^{where}: expected keys .* missing \['angle'\]"):
        container(image, params=params)
    params[1][1][1] = ["RandomShear_0", affine]
    with pytest.raises(ValueError, match=r"^AugmentationSequential\[1\]\.OneOf: params: expected items for \['chosen'"):
        container(image, params=params)
    params[1][1][0][1]["chosen"] = torch.ones(4, 1, 3, dtype=torch.bool)
    params[1][1][1][0] = "RandomAffine_0"
    with pytest.raises(ValueError, match=r"^AugmentationSequential\[1\]\.OneOf: params\['chosen'\]: expected a bool"):
        container(image, params=params)
    params[1][1][0][1] = None
    with pytest.raises(TypeError, match=r"^AugmentationSequential\[1\]\.OneOf: params\['chosen'\]: expected a dict"):
        container(image, params=params)
    params[1] = "OneOf_1"
    with pytest.raises(TypeError, match=r"^AugmentationSequential: params: expected ParamItem or pairs"):
        container(image, params=params)
    with pytest.raises(TypeError, match="^AugmentationSequential: params: expected a list of ParamItem, got {"):
        container(image, params={})


def test_what_is_no_params_is_refused() -> None:
    with pytest.raises(TypeError, match="params: expected those of a call, got None"):
        K.plain(nest()._params)
    with pytest.raises(TypeError, match=r"params\[1\]: expected a pair"):
        saving.plain([["a", None], "b"])
    with pytest.raises(TypeError, match=r"params\[0\]\.a\['x'\]: expected a tensor under a name, got 3"):
        saving.plain([["a", {"x": 3}]])
    with pytest.raises(ValueError, match="text: expected JSON"):
        saving.from_json("{")
    value = '{"dtype": "bool", "shape": [], "values": [true]}'
    with pytest.raises(ValueError, match="text: expected each key once, got 'x' again"):
        saving.from_json(f'[["a", {{"x": {value}, "y": {value}, "x": {value}}}]]')
    with pytest.raises(ValueError, match=r"params\[0\]\.a\['x'\]: expected one of the dtypes"):
        saving.from_json('[["a", {"x": {"dtype": "float31", "shape": [], "values": [1]}}]]')
    with pytest.raises(ValueError, match=r"params\['x'\]: expected the values of a tensor of shape \[2\]"):
        saving.from_json('{"x": {"dtype": "float32", "shape": [2], "values": [1]}}')
    with pytest.raises(TypeError, match=r"params: expected the dtypes|expected one of the dtypes"):
        saving.to_json({"x": torch.zeros(1, dtype=torch.complex64)})
