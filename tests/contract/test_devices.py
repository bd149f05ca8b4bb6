"""What users of batched augmentations reported in public about devices, compilers and cost: a short test each.

Where no GPU is needed to tell, one is pretended: fake tensors follow shapes and devices, refuse to mix devices, and
raise where a value would have to be waited for.
"""

from typing import Any

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing import assert_close

import augment as K
from augment.kernels.kernel import KERNELS
from augment.kinds.augmentation import Augmentation
from tests.support.helpers import CASES, LABELS, SAME_SHAPE, Case, Log, call_seeded, graphs, labels, picture, seq

each = pytest.mark.parametrize("case", CASES, ids=repr)
SIZE = (40, 50)
STILL = [
    "RandomHorizontalFlip",
    "RandomAffine",
    "RandomElasticTransform",
    "ColorJitter",
    "RandomBrightness",
    "RandomGaussianNoise",
    "RandomEqualize",
    "RandomErasing",
    "RandomMedianBlur",
    "RandomJPEG",
]


def without_backends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave all that kernels compute to the graph, as on a device that nothing was written for."""
    for kernel in KERNELS.values():
        monkeypatch.setattr(kernel, "backends", [])


# ------------------------------------------------------------------------------------------------------------- devices


@pytest.mark.parametrize(("dtype", "p"), [(torch.float32, 0.5), (torch.uint8, 1.0)])
@each
def test_all_is_on_the_device_of_the_image(case: Case, dtype: torch.dtype, p: float, pretended: FakeTensorMode) -> None:
    """#2209, #3704, #3028, PR #3457, #4536, #3066, PR #3842: a module on the CPU takes images of a GPU, and waits for
    nothing."""
    container = seq(case(p=p), keys=" ".join(LABELS), min_visibility=0.1)
    with pretended:
        image, *others = (v.cuda() for v in labels(3, 2, SIZE))
        outputs = container(image.to(dtype), *others)
    params = {k: v for k, v in container._params[0].data.items() if k != "forward_input_shape"}
    assert all(v.is_cuda for v in [*outputs, *params.values(), *container.valid.values()])


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
@each
def test_a_batch_as_a_whole_is_its_rows(case: Case, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a GPU runs as a whole is what a CPU does row by row: the same params, on either way, here."""
    image = picture(4, dtype=dtype)
    op = case(p=0.7)
    torch.manual_seed(3)
    rows = op(image)
    without_backends(monkeypatch)
    whole = op(image, params=op._params)
    assert whole.dtype == rows.dtype
    assert_close(whole.double(), rows.double(), atol=1 if dtype == torch.uint8 else 1e-4, rtol=0)


@pytest.mark.parametrize(("dtype", "p"), [(torch.float32, 0.5), (torch.uint8, 1.0)])
@each
def test_nothing_is_copied_to_the_device(case: Case, dtype: torch.dtype, p: float, pretended: FakeTensorMode) -> None:
    """#4426, #770, PR #3825, PR #3827: on a module that was moved, a call copies nothing from the CPU."""
    container = seq(case(p=p), keys=" ".join(LABELS), min_visibility=0.1)
    with pretended:
        container.cuda()
        image, *others = (v.cuda() for v in labels(3, 2, SIZE))
        image = image.to(dtype)
        with Log() as log:
            container(image, *others)
    assert not +log.copied


def runs() -> K.AugmentationSequential:
    """Give a run of geometry, one of planes and one of values, with a filter between them."""
    return K.AugmentationSequential(
        K.RandomResizedCrop((20, 24), scale=(0.3, 1.0)),
        K.RandomHorizontalFlip(),
        K.RandomAffine(15.0, (0.1, 0.1), (0.5, 1.5), p=0.7),
        K.ColorJitter(0.3, 0.3, 0.3, 0.1, p=0.7),
        K.RandomGrayscale(p=0.3),
        K.RandomGaussianBlur((3, 3), (0.1, 2.0)),
        K.RandomSolarize(p=0.5),
        K.RandomGamma((0.7, 1.4), p=0.7),
        K.Normalize([0.5, 0.4, 0.3], [0.2, 0.25, 0.3]),
        data_keys=LABELS,
        fuse=True,
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
def test_fused_runs_on_a_device(dtype: torch.dtype, pretended: FakeTensorMode) -> None:
    container = runs()
    with pretended:
        container.cuda()
        image, *others = (v.cuda() for v in labels(3, 2, SIZE))
        with Log() as log:
            outputs = container(image.to(dtype), *others)
    assert not +log.copied
    assert all(v.is_cuda for v in outputs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
def test_fused_runs_as_a_whole_are_those_of_rows(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    image, *others = labels(6, 2, SIZE)
    image = picture(6, size=SIZE, dtype=dtype)
    container = runs()
    torch.manual_seed(3)
    rows = container(image, *others)
    without_backends(monkeypatch)
    whole = container(image, *others, params=container._params)
    level = 1 / 255 / 0.2  # of a byte, normalised
    for a, b in zip(whole, rows, strict=True):
        assert_close(a, b, atol=2 * level if dtype == torch.uint8 and a is whole[0] else 1e-4, rtol=0)


# ---------------------------------------------------------------------------------------------------------- a real GPU

gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
PLANS = [pytest.param(case, id=repr(case)) for case in CASES] + [pytest.param(runs, id="fused runs")]


def on_gpu(plan: Any, dtype: torch.dtype) -> tuple[nn.Module, list[Any]]:
    module = runs() if plan is runs else seq(plan(p=0.5), keys=" ".join(LABELS), min_visibility=0.1)
    image, *others = (v.cuda() for v in labels(4, 2, SIZE))
    return module.cuda(), [image.to(dtype), *others]


@gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
@pytest.mark.parametrize("plan", PLANS)
def test_no_call_waits_for_the_gpu(plan: Any, dtype: torch.dtype) -> None:
    module, given = on_gpu(plan, dtype)
    module(*given)  # fixed numbers are sent once
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        module(*given)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@gpu
@pytest.mark.parametrize("plan", PLANS)
def test_compiled_for_cuda_graphs_is_eager(plan: Any) -> None:
    module, given = on_gpu(plan, torch.float32)
    expected = call_seeded(module, *given)
    torch._dynamo.reset()
    compiled = torch.compile(module, mode="reduce-overhead", fullgraph=True)
    for _ in range(3):  # warmed, recorded, replayed
        got = [v.clone() for v in call_seeded(compiled, *given)]
    assert_close(got, [*expected], atol=2e-4, rtol=0)


# -------------------------------------------------------------------------------------------------------- labels' forms


@pytest.mark.parametrize("shear", [10, 10.0, (-5.0, 5.0), (-5.0, 5.0, 1.0, 2.0), torch.tensor([-5.0, 5.0])], ids=repr)
def test_every_form_of_a_shear_goes_to_the_device(shear: Any, pretended: FakeTensorMode) -> None:
    """#4415, #3562: moved or not, however the shear is written."""
    for op in (K.RandomAffine(0.0, shear=shear, p=1.0), K.RandomShear(shear, p=1.0)):
        with pretended:
            image = torch.zeros(2, 3, *SIZE, device="cuda")
            for moved in (op, op.cuda()):
                assert moved(image).is_cuda and moved.transform_matrix.is_cuda


# ------------------------------------------------------------------------------------------------------------ compiled


def test_compiled_whole_at_p_zero(optimizer: str) -> None:
    """PR #3793: no graph break where nothing is applied, and every bit stays; the other gates are in test_compiled."""
    container = seq(*(case(p=0.0) for case in SAME_SHAPE if case.name in STILL))
    image = picture(3) * 3 - 1
    compiled = torch.compile(container, fullgraph=True, backend=optimizer)
    assert torch.equal(compiled(image), image)
    assert graphs() == 1


def test_compiled_pipeline_repeats_under_a_seed(optimizer: str) -> None:
    """#453, #491, #2342: the same seed gives the same bits, eager and compiled."""
    ops = [K.RandomResizedCrop((12, 14)), K.RandomHorizontalFlip(), K.ColorJitter(0.2, 0.2, 0.2, 0.1, p=0.5)]
    pipeline = seq(*ops, K.RandomGaussianNoise(p=0.5))
    for call in (pipeline, torch.compile(pipeline, fullgraph=True, backend=optimizer)):
        first, second, third = (call_seeded(call, picture(8), seed=seed) for seed in (3, 3, 4))
        assert torch.equal(first, second) and not torch.equal(first, third)


@pytest.mark.parametrize("size", [(24, 31), (17, 23), (1, 40)])
def test_compiled_perspective(size: tuple[int, int], optimizer: str) -> None:
    """#3913: compiled as eager, at any size."""
    op, image = K.RandomPerspective(p=0.5), picture(4, size=size)
    compiled = torch.compile(op, fullgraph=True, backend=optimizer)
    for seed in range(3):
        output = call_seeded(compiled, image, seed=seed)
        assert_close(output, op(image, params=op._params), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("op", [K.Resize(12, p=0.5), K.CenterCrop(12, p=0.5), K.RandomResizedCrop(12, p=0.5)], ids=repr)
def test_compiled_ops_of_one_length(op: nn.Module, optimizer: str) -> None:
    """#4452, #4658: a size of one number and a random gate compile once, and windows may move."""
    compiled, image = torch.compile(op, fullgraph=True, backend=optimizer), picture(4)
    for seed in range(12):
        output = call_seeded(compiled, image, seed=seed)
        assert_close(output, op(image, params=op._params), atol=1e-5, rtol=1e-4)
    assert graphs() == 1


@pytest.mark.parametrize("name", ["ColorJiggle[order]", "ColorJitter[order]", "RandomHue", "RandomSaturation"])
def test_compiled_on_one_channel(name: str, optimizer: str) -> None:
    """#1028, PR #3793: colour ops pass gray images by without a graph break, too."""
    (op,) = (case(p=0.5) for case in CASES if case.name == name)
    compiled, image = torch.compile(op, fullgraph=True, backend=optimizer), picture(4, 1)
    assert_close(call_seeded(compiled, image), call_seeded(op, image), atol=1e-5, rtol=1e-4)


def test_sizes_of_a_list(optimizer: str) -> None:
    """#2506: a size that is drawn for each batch from a list costs a graph for each that is in it."""
    ops = [K.RandomResizedCrop(size) for size in (8, 12)]
    compiled = [torch.compile(op, fullgraph=True, backend=optimizer) for op in ops]
    for i in torch.randint(2, (20,)).tolist():
        assert compiled[i](picture(2)).shape[-2:] == ops[i].size
    assert graphs() == 2


# ---------------------------------------------------------------------------------------------------------------- cost


@each
def test_work_is_not_done_row_by_row(case: Case) -> None:
    """#2175: a batch of any size takes as many operations as a small one."""
    counts = []
    for b in (3, 17):
        op, image = case(p=0.5), picture(b, size=SIZE)
        with Log() as log:
            op(image)
        counts.append(log.calls)
    assert counts[0] == counts[1]


def test_a_crop_is_one_gather() -> None:
    """#2175, #4531: of all that a crop computes, one operation is of the image's size."""
    image = picture(64, size=(84, 84))
    op = K.RandomCrop(64, padding=4)
    with Log(large=64 * 3 * 64) as log:
        op(image)
    assert +log.large == {"augment.permute.default": 1}


@pytest.mark.parametrize(
    ("op", "most"),
    [
        (K.RandomHorizontalFlip(p=0.5), 20),
        (K.RandomBrightness((0.8, 1.2), p=0.5), 22),
        (K.RandomCrop(8, padding=2), 45),  # of which 20 are the parameters that kornia has: corners, sizes, padding
    ],
    ids=["flip", "brightness", "crop"],
)
def test_a_call_takes_few_operations(op: Augmentation, most: int) -> None:
    """#4531: what every call does, whatever the size of its images, stays small."""
    image = picture(3)
    with Log() as log:
        op(image)
    assert log.calls <= most


def test_erasing_makes_no_second_image() -> None:
    """PR #3828: of float images, only the output and masks of a quarter of a channel's size are made."""
    image = picture(16, size=(64, 64))
    with Log(large=image.numel()) as log:
        K.RandomErasing(p=1.0)(image)
    assert sum((+log.large).values()) == 1
