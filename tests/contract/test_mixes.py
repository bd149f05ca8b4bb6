"""What every op that combines rows has to hold, and what it refuses."""

import copy
import io
import pickle

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing import assert_close

import augment as K
from augment.testing import Case, mixes
from tests.support.helpers import Log, assert_params_close, call_seeded, graphs, picture, with_gate
from tests.support.mixing import KEYS, SIZE, sample

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
CASES = mixes()
PAIRED = [case for case in CASES if case.op in (K.RandomMixUpV2, K.RandomCutMixV2, K.PatchMix, K.RandomCopyPaste)]
each = pytest.mark.parametrize("case", CASES, ids=repr)


@each
@pytest.mark.parametrize("dtype", [*FLOATS, torch.uint8], ids=str)
def test_smoke(case: Case, dtype: torch.dtype) -> None:
    op, given = case(p=1.0), sample(case, dtype=dtype)
    image, *labels = given
    output = op(*given, data_keys=KEYS)
    assert output[0].dtype == dtype and output[0].shape == image.shape
    assert (output[0] != image).flatten(1).any(1).all()
    assert [new.dtype for new in output[2:]] == [torch.float32] * 2
    assert all(len(new) == len(old) for new, old in zip(output[1:], labels, strict=True))
    assert op.valid["bbox_xyxy"].shape == output[2].shape[:2] and op.valid["keypoints"].shape == output[3].shape[:2]
    assert repr(op).startswith(case.op.__name__)


@each
@pytest.mark.parametrize("b", [0, 1, 3])
def test_cardinality(case: Case, b: int) -> None:
    for p in (0.5, 1.0):
        given = sample(case, b)
        output = case(p=p)(*given, data_keys=KEYS)
        assert output[0].shape == given[0].shape
        alone = case.op not in (K.RandomJigsaw, K.RandomMosaic)
        if b == 1 and alone:  # there is no other row
            assert torch.equal(output[0], given[0]) and torch.equal(output[2][:, :2], given[2])


@each
def test_closed_rows_stay_as_they_are(case: Case) -> None:
    op, given = case(p=0.5), sample(case, 5)
    given[0][3] = float("nan")
    params = with_gate(op, given[0].shape, [0, 1, 0, 0, 1])
    params = {name: value.roll(1, 0) if name == "paste_pairs" else value for name, value in params.items()}
    output = op(*given, data_keys=KEYS, params=params)
    for i in (0, 2, 3):
        assert_close(output[0][i], given[0][i], rtol=0, atol=0, equal_nan=True)
        if case.op is not K.RandomMixUpV2:
            assert torch.equal(output[1][i, : given[1].shape[1]], given[1][i])
        for new, old, name in zip(output[2:], given[2:], KEYS[2:], strict=True):
            assert torch.equal(new[i, :2], old[i]) and not new[i, 2:].any()
            assert op.valid[name][i].tolist() == [True, True] + [False] * (new.shape[1] - 2)


@each
def test_p_zero_is_the_identity(case: Case) -> None:
    given = sample(case)
    opened = call_seeded(case(p=1.0).forward_parameters, given[0].shape)
    for params in (None, opened):
        op = case(p=0.0)
        output = op(*given, data_keys=KEYS, params=params)
        for new, old, name in zip(output, given, KEYS, strict=True):
            assert (name == "mask" and case.op is K.RandomMixUpV2) or torch.equal(new, old)
            assert new.data_ptr() != old.data_ptr()
        assert op.valid["bbox_xyxy"].all()


@each
@pytest.mark.parametrize("p", [0.25, 0.5, 1.0])
def test_rate(case: Case, p: float) -> None:
    n = 2000
    rate = case(p=p).forward_parameters((n, 3, *SIZE))["batch_prob"].mean().item()
    assert abs(rate - p) <= 5 * (p * (1 - p) / n) ** 0.5


@pytest.mark.parametrize("mode", ["elem", "pair", "batch"])
@pytest.mark.parametrize("name", ["RandomMixUpV2", "RandomCutMixV2"])
def test_rows_are_mixed_at_the_rate_p(name: str, mode: str) -> None:
    """Kornia issue 4649: a batch gate and a row gate both used p."""
    op = getattr(K, name)(p=0.5, mode=mode, **({"cut_size": (0.0, 0.9)} if name == "RandomCutMixV2" else {}))
    image = torch.arange(8.0).view(8, 1, 1, 1).expand(-1, 1, 8, 8)
    mixed = torch.stack([(op(image) != image).flatten(1).any(1) for _ in range(1000)])
    # five standard deviations, with the units of the mode that are independent
    units = {"elem": 8, "pair": 4, "batch": 1}[mode] * 1000
    assert abs(mixed.float().mean() - 0.5) <= 5 * (0.25 / units) ** 0.5
    assert (mixed.all(1) | ~mixed.any(1)).all() == (mode == "batch")


@each
def test_replay(case: Case) -> None:
    op, given = case(p=0.5), sample(case)
    output = op(*given, data_keys=KEYS)
    file = io.BytesIO()
    torch.save(op._params, file)
    file.seek(0)
    again = case(p=0.5)(*given, data_keys=KEYS, params=torch.load(file))
    assert all(torch.equal(new, old) for new, old in zip(again, output, strict=True))


@each
def test_parameters_drawn_ahead(case: Case) -> None:
    op, given = case(p=0.5), sample(case)
    output = call_seeded(op, *given, data_keys=KEYS)
    params = call_seeded(op.forward_parameters, given[0].shape)
    assert all(
        torch.equal(new, old) for new, old in zip(op(*given, data_keys=KEYS, params=params), output, strict=True)
    )


@each
def test_container_is_the_direct_call(case: Case) -> None:
    """Kornia issue 4493: labels came out of a container untouched."""
    op, given = case(p=0.5), sample(case)
    direct = call_seeded(op, *given, data_keys=KEYS)
    container = K.AugmentationSequential(op, data_keys=KEYS)
    output = call_seeded(container, *given)
    assert all(torch.equal(new, old) for new, old in zip(output, direct, strict=True))
    assert all(torch.equal(container.valid[name], op.valid[name]) for name in KEYS[2:])
    again = container(*given, params=container._params)
    assert all(torch.equal(new, old) for new, old in zip(again, output, strict=True))


@each
def test_inverse_and_matrix_are_refused(case: Case) -> None:
    """Kornia issue 4693: a container gave back its argument as if it were inverted."""
    op, given = case(p=1.0), sample(case)
    container = K.AugmentationSequential(K.RandomHorizontalFlip(), K.AugmentationSequential(op), data_keys=KEYS)
    output = container(*given)
    with pytest.raises(RuntimeError, match=rf"{case.op.__name__}: inverse: a mix of rows cannot be undone"):
        container.inverse(*output)
    with pytest.raises(RuntimeError, match="inverse"):
        op.inverse(output[0])
    with pytest.raises(RuntimeError, match="transform_matrix"):
        _ = op.transform_matrix


@each
def test_matrices_of_containers(case: Case) -> None:
    """A matrix says nothing of a mix: it is left out, or refused where all has to be rigid."""
    given, flip = sample(case), K.RandomHorizontalFlip(p=1.0)
    found = {}
    for mode in ("silent", "rigid", "skip"):
        container = K.AugmentationSequential(case(p=1.0), flip, data_keys=KEYS, transformation_matrix_mode=mode)
        container(*given)
        found[mode] = container
    assert torch.equal(found["silent"].transform_matrix, flip.transform_matrix)
    assert found["skip"].transform_matrix is None
    with pytest.raises(RuntimeError, match=rf"{case.op.__name__}: transform_matrix: a mix of rows has none"):
        _ = found["rigid"].transform_matrix
    idle = K.AugmentationSequential(case(p=0.0), flip, data_keys=KEYS, transformation_matrix_mode="rigid")
    idle(*given)
    assert torch.equal(idle.transform_matrix, flip.transform_matrix)


def compare_compiled(op, given, optimizer: str, **kwargs) -> None:
    compiled = torch.compile(op, fullgraph=True, backend=optimizer)
    output = call_seeded(compiled, *given, **kwargs)
    params = op._params
    expected = call_seeded(op, *given, **kwargs)
    assert_params_close(params, op._params)
    if given[0].requires_grad:
        weight = torch.randn(output[0].shape)
        assert_close(*(torch.autograd.grad((values[0] * weight).sum(), given[0])[0] for values in (output, expected)))
    for new, old in zip(output, expected, strict=True):
        assert_close(new.double(), old.double(), atol=1 if new.dtype == torch.uint8 else 1e-5, rtol=1e-5)
    once = graphs()
    for seed in range(20):
        call_seeded(compiled, *given, seed=seed, **kwargs)
    assert graphs() == once


@each
@pytest.mark.parametrize(("p", "dtype"), [(1.0, torch.float32), (0.5, torch.uint8)], ids=str)
def test_dynamo(case: Case, p: float, dtype: torch.dtype, optimizer: str) -> None:
    compare_compiled(case(p=p), sample(case, dtype=dtype), optimizer, data_keys=KEYS)


@each
def test_dynamo_container(case: Case, optimizer: str) -> None:
    container = K.AugmentationSequential(
        K.RandomVerticalFlip(), case(p=0.5), K.RandomHorizontalFlip(), data_keys=KEYS, min_visibility=0.2
    )
    image, *others = sample(case)
    compare_compiled(container, [image.requires_grad_(), *others], optimizer)


@pytest.mark.parametrize("case", [*CASES, Case("RandomJigsaw[6]", K.RandomJigsaw, {"grid": (2, 3)})], ids=repr)
@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8], ids=str)
def test_on_a_pretended_gpu(case: Case, dtype: torch.dtype, pretended: FakeTensorMode) -> None:
    """A call waits for nothing and copies nothing from the CPU."""
    op, given = case(p=0.5, alpha=0.4, beta=0.4), sample(case, dtype=dtype)
    container = K.AugmentationSequential(op, data_keys=KEYS, min_visibility=0.1)
    with pretended:
        given = [value.cuda() for value in given]
        with Log() as log:
            output = container(*given)
    assert all(value.is_cuda for value in [*output, *container.valid.values()]) and not +log.copied


@each
def test_work_is_not_done_row_by_row(case: Case) -> None:
    counts = []
    for b in (3, 17):
        op, given = case(p=0.5), sample(case, b)
        with Log() as log:
            op(*given, data_keys=KEYS)
        counts.append(log.calls)
    assert counts[0] == counts[1]


@each
def test_choices_hold_mixes(case: Case) -> None:
    given = sample(case, 6)
    container = K.AugmentationSequential(K.OneOf(case(p=1.0), K.RandomVerticalFlip(p=1.0)), data_keys=KEYS)
    output = container(*given)
    chosen = container._params[0].data[0].data["chosen"][:, 0]
    flipped = given[0].flip(-2)
    for i in range(6):
        assert chosen[i, 0] or torch.equal(output[0][i], flipped[i])
    assert container.valid["bbox_xyxy"].shape == output[2].shape[:2]


@each
def test_gradient(case: Case) -> None:
    """That of compiled ops is compared with that of eager ones in the container above."""
    op, (image, *others) = case(p=0.5), sample(case, size=(8, 12))
    params = with_gate(op, image.shape, [1, 0, 1, 0])
    image = image[:, :1].double().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: op(x, *others, data_keys=KEYS, params=params)[0], image)


def test_gradient_of_learned_bounds() -> None:
    bounds = torch.nn.Parameter(torch.tensor([0.2, 0.4]))
    op, image = K.RandomMixUpV2(bounds), picture(4)
    op(image).square().sum().backward()
    assert bounds.grad is not None and bounds.grad.abs().min() > 0


@each
def test_hygiene(case: Case) -> None:
    op, given = case(p=0.5), sample(case)
    expected = call_seeded(op, *given, data_keys=KEYS)
    for twin in (
        copy.deepcopy(op),
        pickle.loads(pickle.dumps(op)),
        copy.deepcopy(op).double(),
        copy.deepcopy(op).half(),
    ):
        output = call_seeded(twin, *given, data_keys=KEYS)
        assert all(torch.equal(new, old) for new, old in zip(output, expected, strict=True))
    assert not op.state_dict()
    op.generator = torch.Generator().manual_seed(4)
    state = torch.get_rng_state()
    op(*given, data_keys=KEYS)
    assert torch.equal(state, torch.get_rng_state())


@each
@pytest.mark.parametrize("keepdim", [True, False])
def test_ranks(case: Case, keepdim: bool) -> None:
    given = [value[0] for value in sample(case, 1)]
    output = case(p=0.5, keepdim=keepdim)(*given, data_keys=KEYS)
    kept = keepdim and case.op is not K.RandomTransplantation  # whose constructor has no keepdim
    assert [new.ndim for new in output] == [old.ndim + (not kept) for old in given]


@pytest.mark.parametrize("case", PAIRED, ids=repr)
def test_same_on_batch_and_modes(case: Case) -> None:
    name = {"PatchMix": "mix_pairs", "RandomCutMixV2": "mix_pairs", "RandomMixUpV2": "mixup_pairs"}
    name = name.get(case.op.__name__, "paste_pairs")
    amount = {"PatchMix": "patch_coords", "RandomCutMixV2": "crop_src", "RandomMixUpV2": "mixup_lambdas"}
    amount = amount.get(case.op.__name__, "paste_instances")
    own = torch.arange(8)
    for options in ({"same_on_batch": True}, {"mode": "batch"}, {"mode": "pair"}, {}):
        params = call_seeded(case(p=0.5, **options).forward_parameters, (8, 3, *SIZE))
        pairs, values, gate = params[name].flatten(), params[amount], params["batch_prob"]
        values = values[0] if name == "mix_pairs" and amount == "crop_src" else values
        assert (pairs != own).all() and torch.equal(pairs.sort().values, own)
        shared = own * 0 if options and "pair" not in options.values() else own
        shared = torch.minimum(own, pairs) if "pair" in options.values() else shared
        assert torch.equal(values, values[shared]) and torch.equal(gate, gate[shared])
        assert torch.equal(pairs[pairs], own) or "pair" not in options.values()


# ------------------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    "make, keys, value, text",
    [
        (K.RandomMixUpV2, "class", torch.zeros(4, 2), r"class: expected shape \(B,\); got \(4, 2\)"),
        (K.RandomMixUpV2, "class", torch.zeros(3), r"class: expected 4 rows, as the image has; got \(3,\)"),
        (K.RandomMixUpV2, "class", ["a"] * 4, "class: expected a tensor, got list"),
        (lambda: K.RandomCutMixV2(num_classes=3), "class", torch.zeros(4, 2), r"\(B,\) or \(B, 3\); got \(4, 2\)"),
        (K.RandomMosaic, "class", torch.zeros(4), r"class: expected labels \(B, N\) of boxes, or num_classes"),
        (K.RandomTransplantation, "class", torch.zeros(4), "mask: expected one to draw from, got keys"),
        (K.RandomMixUpV2, "mask", torch.zeros(4, 16, 24).long(), "mask: expected floating or bool, or mask_classes"),
        (lambda: K.RandomMixUpV2(mask_classes=3), "mask", torch.zeros(4, 16, 24), "mask: expected labels"),
        (
            K.RandomCutMixV2,
            "mask",
            [torch.zeros(n, 16, 24) for n in (2, 2, 1, 2)],
            r"mask: expected as many masks for every row, .* got \[2, 2, 1, 2\]",
        ),
        (K.RandomCutMixV2, "bbox_xyxy", torch.zeros(4, 3, 5), r"bbox_xyxy: expected .*\(4,\); got shape \(4, 3, 5\)"),
        (K.RandomMosaic, "bbox_xywh", [torch.zeros(3, 5)] * 4, r"bbox_xywh: expected .*\(4,\); got shape \(3, 5\)"),
        (K.RandomMosaic, "bbox", torch.zeros(4, 3, 4), r"bbox: expected .*\(4, 2\); got shape \(4, 3, 4\)"),
        (K.PatchMix, "keypoints", torch.zeros(4, 3, 3), r"keypoints: expected .*\(2,\); got shape \(4, 3, 3\)"),
        (
            K.RandomCopyPaste,
            "mask",
            torch.zeros(4, 101, 16, 24),
            "expected at most 100 objects, max_instances; got 101",
        ),
    ],
)
def test_bad_values_say_which_key(make, keys: str, value, text: str) -> None:
    with pytest.raises((ValueError, TypeError), match=text):
        make()(picture(4, 3, SIZE), value, data_keys=["image", keys])
    with pytest.raises((ValueError, TypeError), match=text):
        K.AugmentationSequential(make(), data_keys=["image", keys])(picture(4, 3, SIZE), value)


def test_bad_calls() -> None:
    image = picture(4, 3, SIZE)
    with pytest.raises(ValueError, match=r"args: expected one value for each of data_keys \['image', 'class'\], got 1"):
        K.RandomMixUpV2(data_keys=["image", "class"])(image)
    with pytest.raises(ValueError, match="data_keys: expected an image or a mask"):
        K.RandomMixUpV2()(torch.zeros(4), data_keys=["class"])
    with pytest.raises(ValueError, match="data_keys: expected names out of"):
        K.RandomMixUpV2(data_keys=["images"])
    with pytest.raises(TypeError, match="unknown keyword 'lambda_'"):
        K.RandomMixUpV2()(image, lambda_=1)
    with pytest.raises(ValueError, match=r"mode: expected one of \['elem', 'pair', 'batch'\], got 'row'"):
        K.RandomCutMixV2(mode="row")
    with pytest.raises(ValueError, match="cut_size: expected a lower limit below 1"):
        K.RandomCutMixV2(cut_size=(1.0, 1.0))
    with pytest.raises(ValueError, match="beta: expected a number above 0"):
        K.RandomCutMixV2(beta=0.0)
    with pytest.raises(ValueError, match="patch_size: expected at most the shorter side"):
        K.PatchMix(patch_size=17)(image)
    with pytest.raises(ValueError, match=r"grid: expected one that divides height and width \(16, 24\), got \(3, 4\)"):
        K.RandomJigsaw((3, 4))(image)
    with pytest.raises(ValueError, match="bbox: expected one for each of the 2 objects of the mask, got 3"):
        K.RandomCopyPaste()(image, torch.zeros(4, 2, 16, 24), torch.zeros(4, 3, 4), data_keys=KEYS[:3])
    op = K.RandomMixUpV2()
    params = {**op.forward_parameters(image.shape), "mixup_pairs": torch.tensor([0, 1, 2, 4])}
    with pytest.raises(RuntimeError, match="mixup_pairs: expected rows of the batch"):
        op(image, params=params)
    cut = K.RandomCutMixV2()
    params = cut.forward_parameters(image.shape)
    with pytest.raises(ValueError, match=r"params\['crop_src'\]: expected \(1, 4, 4, 2\), got \(4, 4, 2\)"):
        cut(image, params={**params, "crop_src": params["crop_src"][0]})


SHARED = [K.RandomMixUpV2, K.RandomCutMixV2, lambda **o: K.PatchMix(patch_size=4, **o), K.RandomMosaic]


@pytest.mark.parametrize("make", SHARED)
def test_labels_that_are_no_classes(make, optimizer: str) -> None:
    """A label keeps its whole share, or is refused: 1.5 is no class, and neither is 3 of three."""
    image, keys = picture(4, 3, SIZE), ["image", "class"]
    op = make(num_classes=3, data_keys=keys, p=1.0)
    name = type(op).__name__
    compiled = torch.compile(op, fullgraph=True, backend=optimizer)
    for call in (op, compiled, K.AugmentationSequential(op, data_keys=keys)):
        whole = call_seeded(call, image, torch.tensor([0, 1, 2, 1]))[1]
        assert_close(whole.sum(1), torch.ones(4))
        assert torch.equal(call_seeded(call, image, torch.tensor([0.0, 1.0, 2.0, 1.0]))[1], whole)
        for label, shown in ((1.5, "1.5"), (float("nan"), "nan"), (-0.25, "-0.25")):
            text = rf"{name}: class: expected whole numbers \(B,\), or shares \(B, num_classes\); got {shown}"
            with pytest.raises(ValueError, match=text):
                call(image, torch.tensor([0.0, 1.0, label, 2.0]))
        for label in (3, -1, 3.0, float("inf")):
            with pytest.raises(RuntimeError, match=rf"{name}: class: expected labels in 0\.\.2, for num_classes=3"):
                call(image, torch.tensor([0, 1, label, 2]))
