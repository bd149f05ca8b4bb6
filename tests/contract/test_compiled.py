"""The whole forward, parameter generation included, compiled without a graph break."""

import pytest
import torch
from torch.testing import assert_close

import augment as K
from augment.testing import cases
from tests.support.compiled import compiled_like_eager
from tests.support.helpers import CASES, Case, assert_params_close, call_seeded, graphs, picture

# all variants have the gate of their class, and bytes go through it below
BOTH = [(case, p) for case in CASES for p in (0.5, 1.0) if p == 1 or case in cases(variants=False)]


@pytest.mark.parametrize(("case", "p"), BOTH, ids=repr)
def test_dynamo(case: Case, p: float, optimizer: str, device: torch.device, dtype: torch.dtype) -> None:
    image = picture(4, dtype=dtype).to(device)
    if p < 1 and dtype in (torch.float32, torch.float64):  # as in training; where p is 1 there is no gradient
        image = (image * 0.9 + 0.05).requires_grad_()
    compiled_like_eager(case(p=p), image, optimizer)


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_dynamo_uint8(case: Case, optimizer: str) -> None:
    compiled_like_eager(case(p=0.5), picture(4, dtype=torch.uint8), optimizer)


def test_dynamo_same_on_batch_and_p_batch(optimizer: str) -> None:
    compiled_like_eager(K.RandomHorizontalFlip(p=0.5, p_batch=0.5, same_on_batch=True), picture(4), optimizer)


def test_tensor_p_changes_without_recompile(optimizer: str) -> None:
    op = K.RandomBrightness((1.5, 1.5), p=torch.tensor(0.0))
    compiled = torch.compile(op, fullgraph=True, backend=optimizer)
    image = picture(32) / 4
    assert torch.equal(compiled(image), image)
    once = graphs()
    for p in (1.0, 0.5, 0.25):
        op.p.fill_(p)
        rate = torch.stack([(compiled(image) != image).flatten(1).any(1).float() for _ in range(20)]).mean().item()
        assert abs(rate - p) <= 5 * (p * (1 - p) / 640) ** 0.5
    op.p = torch.tensor(1.0)
    assert_close(compiled(image), image + 0.5)
    assert graphs() == once


def test_generator_is_isolated_when_compiled(optimizer: str) -> None:
    image = picture(8)
    for op in (K.RandomAffine(30.0), K.RandomGaussianNoise(p=0.5)):
        op.generator = torch.Generator().manual_seed(5)
        expected = op(image)
        state = torch.get_rng_state()
        op.generator = torch.Generator().manual_seed(5)
        output = torch.compile(op, fullgraph=True, backend=optimizer)(image)
        assert torch.equal(state, torch.get_rng_state())
        assert_close(output, expected, rtol=1e-4, atol=1e-5)


def test_batch_sizes_share_graphs(optimizer: str) -> None:
    op = K.RandomAffine(30.0, p=0.5)
    compiled = torch.compile(op, fullgraph=True, backend=optimizer)
    for b in (4, 7, 3, 1, 9, 16, 2, 1, 5):
        image = picture(b)
        assert_close(call_seeded(compiled, image), call_seeded(op, image), rtol=1e-4, atol=1e-5)
    assert graphs() <= 3  # static, dynamic, and a batch of one


def test_twelve_ops_fifty_calls(optimizer: str) -> None:
    image = picture(4)
    chosen = cases(variants=False)[:12]
    compiled = [torch.compile(case(p=0.5), fullgraph=True, backend=optimizer) for case in chosen]
    for _ in range(50):
        for call in compiled:
            call(image)
    assert graphs() == len(chosen)


def test_draws_of_a_container_keep_their_order(optimizer: str) -> None:
    ops = [case(p=0.5) for case in cases(variants=False) if case.op.__name__.startswith("Random")]
    container = K.AugmentationSequential(*ops, K.ColorJitter(0.1, 0.1, 0.1, 0.1, p=1.0))
    image = picture(4, size=(40, 50))
    call_seeded(torch.compile(container, fullgraph=True, backend=optimizer), image)
    params = container._params
    call_seeded(container, image)
    for got, expected in zip(params, container._params, strict=True):
        assert_params_close(got.data, expected.data)


def test_runtime_checks_are_kept_when_compiled(optimizer: str) -> None:
    image = picture(4)
    op = K.RandomBrightness((0.8, 1.2), p=1.0)
    params = {**op.forward_parameters(image.shape), "brightness_factor": torch.tensor([1.0, 1.0, 9.0, 1.0])}
    for call in (op, torch.compile(op, fullgraph=True, backend=optimizer)):
        with pytest.raises(RuntimeError, match="brightness_factor: expected values in"):
            call(image, params=params)
        closed = {**params, "batch_prob": torch.tensor([1.0, 1.0, 0.0, 1.0])}
        assert torch.equal(call(image, params=closed), image)


def test_functions_around_an_op_compile_whole(optimizer: str) -> None:
    op = K.RandomRotation(20.0, p=1.0)

    def step(image: torch.Tensor) -> torch.Tensor:
        return (op(image * 2) / 2).mean((2, 3))

    image = picture(4)
    compiled = torch.compile(step, fullgraph=True, backend=optimizer)
    assert_close(call_seeded(compiled, image), call_seeded(step, image), rtol=1e-4, atol=1e-5)


def test_an_image_that_is_a_parameter_compiles(optimizer: str) -> None:
    image = torch.nn.Parameter(picture(4))
    for op in (K.RandomAffine(20.0), K.AugmentationSequential(K.RandomAffine(20.0))):
        compiled_like_eager(op, image, optimizer)
