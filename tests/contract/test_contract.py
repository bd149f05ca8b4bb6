"""What every op of the registry has to hold. A new op gets all of it without an edit."""

import copy
import io
import pickle

import pytest
import torch
from torch.testing import assert_close

import augment as K
from tests.support.helpers import CASES, SAME_SHAPE, SIZE, Case, call_seeded, picture, with_gate

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def each(cases: list[Case]):
    return pytest.mark.parametrize("case", cases, ids=repr)


def channels(case: Case) -> tuple[int, ...]:
    """The numbers of channels that an op takes."""
    return tuple(getattr(case.op, "channels", ())) or (1, 2, 3, 4, 13)


@each(CASES)
def test_smoke(case: Case, device: torch.device, dtype: torch.dtype) -> None:
    image = picture(dtype=dtype).to(device)
    output = case(p=1.0)(image)
    assert output.dtype == dtype and output.device == image.device
    assert output.shape[:2] == image.shape[:2] and output.isfinite().all()
    assert repr(case()).startswith(case.op.__name__)


@each(CASES)
@pytest.mark.parametrize("keepdim", [True, False])
@pytest.mark.parametrize("rank", [2, 3, 4])
def test_rank(case: Case, keepdim: bool, rank: int) -> None:
    c = channels(case)[0] if rank > 2 else 1
    image = picture(b=1, c=c)[(0,) * (4 - rank)]
    if c not in channels(case):
        with pytest.raises(ValueError, match="channels"):
            case(keepdim=keepdim)(image)
        return
    output = case(keepdim=keepdim)(image)
    assert output.ndim == (rank if keepdim else 4)


@each(CASES)
def test_changes_image(case: Case) -> None:
    image = picture()
    outputs = [call_seeded(case(p=1.0), image, seed=seed) for seed in range(9)]  # the chance of one may be to stay
    for before, *after in zip(image, *outputs, strict=True):
        assert any(before.shape != row.shape or not torch.equal(before, row) for row in after)


@each(CASES)
@pytest.mark.parametrize("b", [0, 1, 3])
def test_cardinality(case: Case, b: int) -> None:
    for c in channels(case):
        for p in (0.5, 1.0):
            output = case(p=p)(picture(b, c))
            assert output.shape[:2] == (b, c)


@each(CASES)
@pytest.mark.parametrize("size", [(1, 31), (31, 1), (40, 29)])
def test_odd_sizes(case: Case, size: tuple[int, int]) -> None:
    small = {"size": (1, 1), "kernel_size": 1, "padding": 0, "drop_height": (1, 1), "drop_width": (-1, 1)}
    small["unit_size_range"] = (0.2, 0.5)
    known = {**{k: v for k, v in small.items() if k in case.arguments}, "grid_size": (1, 1)}
    output = case(p=1.0, **known)(picture(2, 3, size))
    assert output.isfinite().all()


@each(SAME_SHAPE)
def test_gate(case: Case) -> None:
    op, image = case(p=0.5), picture(5)
    params = with_gate(op, image.shape, [0, 1, 0, 1, 0])
    opened = {**params, "batch_prob": torch.ones(5)}
    image[2] = float("nan")
    image[4] = torch.linspace(-3, 5, image[4].numel()).view_as(image[4])
    output, all_open = op(image, params=params), op(image, params=opened)
    for i in (0, 2, 4):
        assert_close(output[i], image[i], rtol=0, atol=0, equal_nan=True)
    for i in (1, 3):
        assert torch.equal(output[i], all_open[i])


@each(SAME_SHAPE)
def test_gate_handed_in_at_p_one(case: Case) -> None:
    op, image = case(p=1.0), picture(2)
    outputs = [op(image, params=with_gate(op, image.shape, [0, 1])) for _ in range(9)]
    assert all(torch.equal(output[0], image[0]) for output in outputs)
    assert not all(torch.equal(output[1], image[1]) for output in outputs)


@each(SAME_SHAPE)
def test_closed_rows_pass_the_gradient_through(case: Case) -> None:
    op, image = case(p=0.5), picture(3)
    image[1] = torch.linspace(-3, 5, image[1].numel()).view_as(image[1])
    image.requires_grad_()
    weight = torch.randn(image.shape)
    (op(image, params=with_gate(op, image.shape, [1, 0, 0])) * weight).sum().backward()
    assert torch.equal(image.grad[1:], weight[1:])
    assert image.grad.isfinite().all()


@each(SAME_SHAPE)
def test_p_zero_is_the_identity(case: Case) -> None:
    image = picture() * 9 - 4
    output = case(p=0.0)(image)
    assert torch.equal(output, image) and output.data_ptr() != image.data_ptr()


@each(CASES)
@pytest.mark.parametrize("p", [0.25, 0.5, 1.0])
def test_rate(case: Case, p: float) -> None:
    n = 2000
    rate = case(p=p).forward_parameters((n, channels(case)[0], 12, 14))["batch_prob"].mean().item()
    assert abs(rate - p) <= 5 * (p * (1 - p) / n) ** 0.5  # five standard deviations


@each(CASES)
def test_replay(case: Case) -> None:
    op, image = case(p=0.5), picture(4)
    output = op(image)
    file = io.BytesIO()
    torch.save(op._params, file)
    file.seek(0)
    params = torch.load(file)
    torch.manual_seed(99)
    assert torch.equal(op(image, params=params), output)
    assert torch.equal(case(p=0.5)(image, params=params), output)


@each(CASES)
def test_parameters_drawn_ahead(case: Case) -> None:
    op, image = case(p=0.5), picture(4)
    output = call_seeded(op, image)
    params = call_seeded(op.forward_parameters, image.shape)
    assert torch.equal(op(image, params=params), output)


@each(CASES)
def test_row_independence(case: Case) -> None:
    op, image = case(p=0.5), picture(4)
    output = op(image)
    params = op._params
    for i in range(4):
        row, _ = op.row(params, None, i)
        row = {**row, "forward_input_shape": torch.tensor([1, *image.shape[1:]])}
        assert_close(op(image[i : i + 1], params=row)[0], output[i], rtol=1e-6, atol=1e-6)


@each(CASES)
def test_same_on_batch(case: Case) -> None:
    if "same_on_batch" not in case.op.__init__.__code__.co_varnames:
        op = case()
        assert not op.columns and not op.ranges  # only ops that draw nothing do without
        return
    image = picture(1).expand(6, -1, -1, -1)
    for p in (0.5, 1.0):
        for seed in range(5):
            output = call_seeded(case(p=p, same_on_batch=True), image, seed=seed)
            assert all(torch.equal(row, output[0]) for row in output)
    op = case(p=0.5)
    assert any(not torch.equal(row, call_seeded(op, image, seed=seed)[0]) for seed in range(5) for row in op(image))


@each(CASES)
def test_dtype(case: Case) -> None:
    image = picture(4, dtype=torch.float64)
    op = case(p=0.5)
    exact = op(image)
    params = op._params
    tolerance = {torch.float16: 5e-3, torch.bfloat16: 3e-2, torch.float32: 1e-4}
    for dtype in FLOATS[:3]:
        output = op(image.to(dtype), params=params)
        assert output.dtype == dtype
        if case.op.__name__ != "RandomEqualize":  # a value on the other side of a level moves by a step of the table
            error = (output.double() - op(image.to(dtype).double(), params=params)).abs()
            assert error.max() <= tolerance[dtype] * max(1, exact.abs().max().item())


@each(CASES)
def test_autocast(case: Case) -> None:
    image = picture(4)
    op = case(p=0.5)
    expected = op(image)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = op(image, params=op._params)
    assert output.dtype == torch.float32
    assert_close(output, expected, rtol=1e-6, atol=1e-6)


@each(CASES)
def test_uint8(case: Case) -> None:
    image = picture(6, dtype=torch.uint8)
    op = case(p=0.5)
    expected = op(image.float() / 255)
    output = op(image, params=op._params)
    if case.op.__name__ == "Normalize":
        assert output.dtype == torch.float32
        assert_close(output, expected)
        return
    assert output.dtype == torch.uint8
    levels = (expected * 255).clamp(0, 255)
    assert (output - levels).abs().max() <= 0.5 + 1e-2  # one rounding, and no other error


def test_uint8_fill_is_rounded() -> None:
    corner = K.RandomCrop((6, 6), padding=1, fill=0.999)(torch.zeros(8, 1, 6, 6, dtype=torch.uint8))
    assert set(corner.unique().tolist()) == {0, 255}  # 0.999 * 255 = 254.745


@each(CASES)
def test_layout(case: Case) -> None:
    image = picture(4)
    op = case(p=0.5)
    expected = op(image)
    params = op._params
    wide = picture(4, size=(SIZE[0], 2 * SIZE[1]))
    wide[..., ::2] = image
    layouts = [image.contiguous(memory_format=torch.channels_last), wide[..., ::2], image.flip(0).flip(0)]
    layouts.append(image.transpose(2, 3).contiguous().transpose(2, 3))
    for other in layouts:
        before = other.clone()
        assert_close(op(other, params=params), expected, rtol=1e-6, atol=1e-6)
        assert torch.equal(other, before)


@each(CASES)
@pytest.mark.parametrize("p", [0.0, 0.5, 1.0])
def test_aliasing(case: Case, p: float) -> None:
    for image in (picture(4), picture(4, dtype=torch.uint8), picture(4, channels(case)[0]), picture(1)[0]):
        before = image.clone()
        output = case(p=p)(image)
        output.zero_()
        assert torch.equal(image, before)


@each(CASES)
def test_seed(case: Case) -> None:
    op, image = case(p=0.5), picture(8)
    assert torch.equal(call_seeded(op, image), call_seeded(op, image))
    op.generator = torch.Generator().manual_seed(11)
    state = torch.get_rng_state()
    first = op(image)
    assert torch.equal(state, torch.get_rng_state())
    op.generator = torch.Generator().manual_seed(11)
    assert torch.equal(op(image), first)
    op.generator = None
    assert torch.equal(op(image, generator=torch.Generator().manual_seed(11)), first)
    assert torch.equal(state, torch.get_rng_state())


@each([case for case in CASES if case.op.__name__ != "RandomEqualize"])
def test_gradcheck(case: Case) -> None:
    op = case(p=0.5)
    image = picture(2, 3, (5, 4), torch.float64) * 0.8 + 0.1
    small = {"drop_height": (1, 3), "drop_width": (-3, 3)}
    for known in ({"size": (3, 4)}, {"kernel_size": 3}, {"grid_size": (2, 3)}, small):
        if known.keys() <= case.arguments.keys():
            op = case(p=0.5, **known)
    params = with_gate(op, image.shape, [1, 0])
    image.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: op(x, params=params), (image,), atol=1e-4)


@each(CASES)
def test_hygiene(case: Case) -> None:
    image = picture(4)
    op = case(p=0.5)
    op.generator = torch.Generator().manual_seed(3)
    for _ in range(2):  # before a call and after one
        for other in (copy.deepcopy(op), pickle.loads(pickle.dumps(op))):
            assert torch.equal(other(image), copy.deepcopy(op)(image))
        assert op.state_dict() == {}
        op(image)
    converted = op.to(torch.float64)
    assert converted(image).dtype == torch.float32
    assert all(v.dtype != torch.float64 for v in converted._params.values())


@each(CASES)
def test_bad_input(case: Case) -> None:
    op, image = case(p=0.5), picture(2)
    for wrong, error in (
        (torch.rand(5), ValueError),
        (torch.rand(1, 1, 1, 5, 5), ValueError),
        (torch.zeros(2, 3, *SIZE, dtype=torch.int64), TypeError),
        (torch.zeros(2, 3, *SIZE, dtype=torch.bool), TypeError),
        (image.numpy(), TypeError),
    ):
        with pytest.raises(error, match="input"):
            op(wrong)
    with pytest.raises(TypeError, match="generatr"):
        op(image, generatr=1)
    op(image)
    params = op._params
    with pytest.raises(ValueError, match="foreign"):
        op(image, params={**params, "no_such": torch.zeros(2)})
    with pytest.raises(TypeError, match="params"):
        op(image, params=[1])
    with pytest.raises(ValueError, match="batch_prob"):
        op(image, params={**params, "batch_prob": torch.ones(3)})
    for key in set(params) - {"batch_prob", "forward_input_shape"}:
        with pytest.raises(ValueError, match=key):
            op(image, params={k: v for k, v in params.items() if k != key})
        with pytest.raises(TypeError, match=key):
            op(image, params={**params, key: 1.0})
        if next(param for param in op.declared if param.name == key).dim == 0:
            with pytest.raises(ValueError, match=key):
                op(image, params={**params, key: params[key][:1].repeat(3, *(1 for _ in params[key].shape[1:]))})
    with pytest.raises(ValueError, match="p: expected a probability"):
        case(p=1.5)
