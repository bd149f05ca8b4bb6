"""What ops declare of their parameters is what they draw, and what their docstrings say."""

import re
from typing import Any

import pytest
import torch

import augment as K
from augment.sampling.params import RESERVED
from augment.testing import Case, cases, mixes
from tests.support.helpers import call_seeded, picture

POLICIES = [Case(name, getattr(K, name)) for name in ("AugMix", "AutoAugment", "RandAugment", "TrivialAugment")]
CASES = [*cases(), *mixes(), *POLICIES]
NOT_BY_ROW = {  # what has no rows in its first dimension, and why
    ("RandomMotionBlur", "idx"): "kornia's, a number of a row of the batch; it changes nothing",
    ("RandomCutMixV2", "mix_pairs"): "kornia's form (num_mix, B)",
    ("RandomCutMixV2", "crop_src"): "kornia's form (num_mix, B, 4, 2)",
    ("RandomCutMixV2", "image_shape"): "the size of the images, which is not drawn",
}


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_every_parameter_is_declared_and_has_a_row_for_each_image(case: Case) -> None:
    op = case(p=1.0)
    params = op.forward_parameters((5, 3, 24, 32))
    assert params.keys() - RESERVED == {param.name for param in op.declared if not param.late}
    for param in op.declared:
        if (case.op.__name__, param.name) in NOT_BY_ROW:
            assert param.dim != 0
            continue
        assert param.dim == 0, "a parameter without rows needs a reason above"
        if param.late:
            continue
        value = params[param.name]
        assert len(value) == 5
        if not param.image:
            assert value.ndim == 1 + len(param.shape)
            assert all(n in (None, m) for n, m in zip(param.shape, value.shape[1:], strict=True))
        assert param.mask == (value.dtype == torch.bool)


@pytest.mark.parametrize("op", dict.fromkeys(case.op for case in CASES), ids=lambda op: op.__name__)
def test_docstrings_say_them(op: Any) -> None:
    declared = [param.name for param in next(case for case in CASES if case.op is op)().declared]
    found = re.search(r"\n    Params:\n(.*?)(\n\n|$)", op.__doc__ or "", re.DOTALL)
    if not declared:
        assert found is None
        return
    words = set(re.findall(r"\w+", found.group(1))) if found else set()
    assert set(declared) <= words


@pytest.mark.parametrize("name", ["ColorJitter", "ColorJiggle"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
def test_an_order_is_drawn_for_every_row(name: str, dtype: torch.dtype) -> None:
    op = getattr(K, name)(0.4, 0.4, 0.4, 0.1)
    image = picture(64, 3, (6, 7), dtype=dtype)
    output = call_seeded(op, image)
    params, orders = op._params, op._params["order"]
    assert orders.shape == (64, 4) and len(orders.unique(dim=0)) > 12
    assert torch.equal(orders.sort(1).values, torch.arange(4).expand(64, -1))
    for i in (0, 17, 40):  # as that row alone in the order it drew, which kornia gives as (4,)
        row = {key: value[i : i + 1] for key, value in params.items() if key != "forward_input_shape"}
        alone = op(image[i : i + 1], params={**row, "order": orders[i]})
        torch.testing.assert_close(alone[0], output[i], atol=1e-6, rtol=0)


def test_one_order_holds_for_all_rows_in_replay_and_on_request() -> None:
    op, image = K.ColorJitter(0.4, 0.4, 0.4, 0.1), picture(4)
    params = op.forward_parameters(image.shape)
    shared = op(image, params={**params, "order": torch.tensor([3, 1, 0, 2])})
    each = op(image, params={**params, "order": torch.tensor([3, 1, 0, 2]).expand(4, -1)})
    assert torch.equal(shared, each)
    same = K.ColorJitter(0.4, 0.4, 0.4, 0.1, same_on_batch=True).forward_parameters((6, 3, 8, 8))
    assert len(same["order"].unique(dim=0)) == 1
    with pytest.raises(ValueError, match="order"):
        op(image, params={**params, "order": torch.tensor([3, 1, 0])})
    with pytest.raises(ValueError, match="order"):
        op(image, params={**params, "order": torch.tensor([[3, 1, 0, 2]] * 3)})
