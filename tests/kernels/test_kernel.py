"""What all kernels have from their one entry: backends, rows that stay, gradients, threads."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.data import DataLoader, Dataset

import augment as K
from augment import kernels
from augment.kernels import built
from augment.kernels.kernel import KERNELS, Backend, Kernel
from tests.support.helpers import graphs, picture
from tests.support.kernel_images import near, needs_kernels

GATE = torch.tensor([True, False, True])
FACTORS = torch.tensor([0.3, 1.0, 1.8])  # the second leaves a row as it is
FORMATS = [torch.contiguous_format, torch.channels_last]


class Toy:
    """A backend that writes sevens, and counts what it is asked."""

    def __init__(self) -> None:
        self.asked = self.ran = 0

    def takes(self, image: Tensor, *args: Any) -> bool:
        self.asked += 1
        return image.shape[-1] != 9

    def run(self, image: Tensor, out: Tensor, open: Tensor | None, *args: Any) -> None:
        self.ran += 1
        out.copy_(torch.where(open.view(-1, 1, 1, 1), 7, image))


@pytest.fixture
def toy() -> Iterator[Toy]:
    """Put a backend before those of a kernel."""
    toy = Toy()
    kernels.median_blur.backends.insert(0, Backend(toy.run, toy.takes))
    yield toy
    del kernels.median_blur.backends[0]


# ------------------------------------------------------------------------------------------------------------ backends


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_a_backend_from_outside_is_used(toy: Toy, dtype: torch.dtype) -> None:
    image = (picture(3) * 200).to(dtype)
    output = kernels.median_blur(image, GATE, 3, 3)
    assert (output[GATE] == 7).all() and torch.equal(output[1], image[1])
    assert (toy.asked, toy.ran) == (1, 1)


def test_a_backend_that_does_not_take_a_batch_is_passed_by(toy: Toy) -> None:
    image = picture(3, size=(9, 9), dtype=torch.uint8)
    output = kernels.median_blur(image, GATE, 3, 3)
    assert (toy.asked, toy.ran) == (1, 0)
    toy.takes = lambda *args: False
    assert torch.equal(output, kernels.median_blur(image, GATE, 3, 3))


def test_compiled_code_asks_backends_when_it_runs(toy: Toy, optimizer: str) -> None:
    op = K.RandomMedianBlur(p=1.0)
    compiled = torch.compile(op, fullgraph=True, backend=optimizer)
    assert (compiled(picture(3)) == 7).all()
    assert toy.ran == 1 and graphs() == 1


def test_a_device_gets_an_opaque_op_with_its_first_backend(pretended: FakeTensorMode) -> None:
    """What was hung in for CUDA is one node of the graph; without it, the graph holds the maths."""
    found = {}
    backend = Backend(Toy().run, device="cuda")
    for backends in ([], [backend]):
        kernels.median_blur.backends += backends
        with pretended:
            graph = torch.fx.experimental.proxy_tensor.make_fx(lambda *args: kernels.median_blur(*args, 3, 3))
            nodes = graph(torch.zeros(3, 3, 8, 8, device="cuda"), torch.ones(3, dtype=torch.bool, device="cuda"))
        found[len(backends)] = [str(node.target) for node in nodes.graph.nodes]
        for given in backends:
            kernels.median_blur.backends.remove(given)
    assert not any("augment" in name for name in found[0])
    assert [name for name in found[1] if "augment" in name] == ["augment.median_blur.default"]


def test_a_backend_of_another_device_runs_there() -> None:
    """A meta tensor has no values: what comes back has the shape that the backend was handed."""
    toy, seen = Toy(), []
    backend = Backend(lambda image, out, open, *args: seen.append(out.device.type), device="meta")
    kernels.median_blur.backends.append(backend)
    try:
        output = kernels.median_blur(torch.zeros(3, 3, 8, 8, device="meta"), GATE.to("meta"), 3, 3)
    finally:
        kernels.median_blur.backends.remove(backend)
    assert output.device.type == "meta" and output.shape == (3, 3, 8, 8) and toy.ran == 0


# ------------------------------------------------------------------------------------------------------ rows that stay

CALLS = {
    "box_blur": lambda image: kernels.box_blur(image, GATE, 3, 5, "reflect"),
    "median_blur": lambda image: kernels.median_blur(image, GATE, 3, 3),
    "sharpen": lambda image: kernels.sharpen(image, FACTORS),
    "zoom_blur": lambda image: kernels.zoom_blur(image, torch.tensor([1.3, 1.0, 1.6]), 4),
    "equalize": lambda image: kernels.equalize(image, GATE),
    "equalize_tiles": lambda image: kernels.equalize_tiles(image, GATE, torch.tensor([2.0, 3, 4]), 2, 3),
    "fill_rectangles": lambda image: kernels.fill_rectangles(
        image, torch.tensor([[[2.0, 1, 5, 90]], [[4, 4, 0, 9]], [[0, 0, 7, 60]]]), [3.0, 250, 5]
    ),
    "fill_grid": lambda image: kernels.fill_grid(
        image, torch.tensor([[[6.0, 3, 2], [7, 2, 1]], [[5, 0, 0], [5, 2, 0]], [[9, 4, 8], [4.5, 2, 0]]]), [9.0]
    ),
    "erase": lambda image: kernels.erase(
        image, torch.tensor([[2.0, 3, 9, 80], [5, 5, 5, 9], [-4, 5, 2e9, 9]]), torch.tensor([3.0, 5, 255])
    ),
    "add_noise": lambda image: kernels.add_noise(image, GATE, torch.linspace(-1, 1, image.numel()).view(image.shape)),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32, torch.float64])
def test_rows_that_stay_are_copied_bit_for_bit(name: str, dtype: torch.dtype) -> None:
    image = picture(3, size=(40, 50), dtype=torch.uint8).to(dtype)
    if dtype != torch.uint8:
        image = image / 255
        image[1, 0, 0, :3] = torch.tensor([float("nan"), -0.0, float("inf")])
    for given in (image, image.to(memory_format=torch.channels_last), image.repeat(1, 1, 1, 2)[..., ::2]):
        output = CALLS[name](given)
        bits = (torch.uint8 if dtype == torch.uint8 else torch.int64 if dtype == torch.float64 else torch.int32,)
        assert torch.equal(output[1].contiguous().view(*bits), given[1].contiguous().view(*bits))
        assert not torch.equal(output[0], given[0])


def test_bytes_keep_their_memory_format() -> None:
    for name, call in CALLS.items():
        for form in FORMATS:
            image = picture(3, size=(40, 50), dtype=torch.uint8).to(memory_format=form)
            assert call(image).is_contiguous(memory_format=form), name


@pytest.mark.parametrize("shape", [(0, 3, 8, 8), (2, 3, 0, 8), (2, 3, 8, 0), (2, 0, 8, 8)])
def test_nothing_comes_of_empty_images(shape: tuple[int, ...]) -> None:
    gate = torch.ones(shape[0], dtype=torch.bool)
    for dtype in (torch.uint8, torch.float32):
        image = torch.zeros(shape, dtype=dtype)
        for output in (
            kernels.median_blur(image, gate, 3, 3),
            kernels.equalize(image, gate),
            kernels.erase(image, torch.ones(shape[0], 4), torch.ones(shape[0])),
        ):
            assert output.shape == shape and output.dtype == dtype


# ----------------------------------------------------------------------------------------------------------- gradients


@pytest.mark.parametrize(
    ("kernel", "params", "config"),
    [
        (kernels.sharpen, [torch.tensor([1.0, 0.4])], ()),
        (kernels.zoom_blur, [torch.tensor([1.3, 1.05])], (4,)),
        (kernels.separable_filter, [torch.rand(2, 3), torch.rand(2, 5)], ("reflect",)),
        (kernels.shot_noise, [torch.tensor([30.0, 12.0]), torch.randn(2, 3, 6, 7)], ()),
    ],
    ids=lambda value: value.name if isinstance(value, Kernel) else None,
)
def test_gradients_are_those_of_the_maths(kernel: Kernel, params: list[Tensor], config: tuple[Any, ...]) -> None:
    """Also of params in a row that stays: a factor of 1 can be learnt away from."""
    image = (picture(2, size=(6, 7), dtype=torch.float64) * 0.6 + 0.2).requires_grad_()
    params = [p.double().requires_grad_() for p in params]
    output, maths = kernel(image, *params, *config), kernel.maths(image, *params, *config)
    weight = torch.rand_like(maths)
    found, expected = (torch.autograd.grad((o * weight).sum(), [image, *params]) for o in (output, maths))
    torch.testing.assert_close(found[1:], expected[1:])
    changes = torch.ones(2, dtype=torch.bool) if kernel.opens is None else kernel.opens(image, *params, *config)
    torch.testing.assert_close(found[0][changes], expected[0][changes])
    assert torch.equal(found[0][~changes], weight[~changes])


def test_rows_of_policies_and_collages_have_gradients_of_their_own() -> None:
    image = (picture(3, size=(6, 7), dtype=torch.float64) * 0.6 + 0.2).requires_grad_()
    tiles = torch.tensor([[[1, 2, 1, 5, 4, 1, 1]], [[0, 0, 0, 7, 6, 0, 0]], [[2, 1, 1, 1, 3, 0, 0]]])
    assert torch.autograd.gradcheck(lambda x: kernels.collage(x, tiles, 6, 7, True), (image,))
    back = torch.eye(3, dtype=torch.float64).expand(3, 1, 3, 3)
    numbers, amounts = torch.tensor([[6], [0], [15]]), torch.tensor([[0.3], [0], [0]], dtype=torch.float64)
    steps = numbers, amounts, back, "bilinear", [0.0]
    assert torch.autograd.gradcheck(lambda x: kernels.apply_policy(x, *steps), (image,))
    share = torch.tensor([[0.4, 0.6]] * 3, dtype=torch.float64)
    mixed = share, *(t.unsqueeze(1) for t in steps[:3]), *steps[3:]
    assert torch.autograd.gradcheck(lambda x: kernels.mix_policies(x, *mixed), (image,))


def test_a_backward_is_not_differentiated() -> None:
    image, factor = picture(3).requires_grad_(), FACTORS.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(kernels.sharpen(image, factor).sum(), factor, create_graph=True)
    with pytest.raises(RuntimeError, match="sharpen can be differentiated once"):
        gradient.sum().backward()


# --------------------------------------------------------------------------------------------------------------- bytes


@pytest.fixture
def threads() -> Iterator[Any]:
    yield torch.set_num_threads
    torch.set_num_threads(1)


@pytest.mark.parametrize("name", sorted(CALLS))
@pytest.mark.parametrize("form", FORMATS)
def test_threads_and_bands_change_no_bit(instructions: str, threads: Any, name: str, form: torch.memory_format) -> None:
    """A batch is shared out by rows; a few rows that are large, by bands of their lines."""
    for size in ((40, 50), (700, 900)):
        image = torch.randint(0, 256, (3, 3, *size), dtype=torch.uint8).to(memory_format=form)
        found = []
        for count in (1, 2, 3):
            threads(count)
            found.append(CALLS[name](image))
        assert torch.equal(found[0], found[1]) and torch.equal(found[0], found[2])


@needs_kernels
@pytest.mark.parametrize("name", sorted(CALLS))
def test_instruction_sets_agree(name: str) -> None:
    found = []
    for instructions in built.library.sets():
        built.library.use(instructions)
        found.append(CALLS[name](picture(3, size=(61, 90), dtype=torch.uint8)))
    assert all(torch.equal(found[0], other) for other in found)


@needs_kernels
@pytest.mark.parametrize("name", sorted(CALLS))
@pytest.mark.parametrize("channels", [1, 3, 20])
def test_a_build_without_c_gives_the_same_within_rounding(
    monkeypatch: pytest.MonkeyPatch, name: str, channels: int
) -> None:
    image = torch.randint(0, 256, (3, channels, 40, 50), dtype=torch.uint8)
    if name == "fill_rectangles":
        image = image[:, :1].expand(-1, 3, -1, -1)
    found = CALLS[name](image)
    monkeypatch.setattr(built, "library", None)
    expected = CALLS[name](image)
    assert (found.int() - expected.int()).abs().max() <= 1
    assert (found != expected).float().mean() < 2e-3
    near(found[1], expected[1].double())


# ----------------------------------------------------------------------------------------------------------- processes


class Blurred(Dataset[Tensor]):
    """Images that are blurred where they are loaded, by threads; PyTorch's own do not survive a fork."""

    def __init__(self) -> None:
        self.images = torch.randint(0, 256, (4, 3, 500, 600), dtype=torch.uint8)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, i: int) -> Tensor:
        torch.set_num_threads(2)
        output = kernels.median_blur(self.images[i : i + 1], GATE[:1], 5, 5)[0]
        torch.set_num_threads(1)
        return output


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_threads_survive_workers_of_a_data_loader() -> None:
    images = Blurred()
    expected = torch.stack([images[i] for i in range(4)])
    (found,) = DataLoader(images, batch_size=4, num_workers=2, multiprocessing_context="fork", timeout=60)
    assert torch.equal(found, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_threads_survive_a_fork(threads: Any) -> None:
    image, gate = torch.randint(0, 256, (8, 3, 300, 300), dtype=torch.uint8), torch.ones(8, dtype=torch.bool)
    threads(3)
    expected = kernels.median_blur(image, gate, 5, 5)
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        found = kernels.median_blur(image, gate, 5, 5)
        os._exit(0 if found.numpy().tobytes() == expected.numpy().tobytes() else 1)
    assert os.waitpid(child, 0)[1] == 0


HUNGRY = """
import resource, torch
from augment import kernels
torch.set_num_threads(1)
image = torch.zeros(1, 1, 4, 2**26, dtype=torch.uint8)
gate, out = torch.ones(1, dtype=torch.bool), torch.empty_like(image)
backend = kernels.box_blur.backends[0]
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**24, used + 2**24))
try:
    backend.run(image, out, None, gate, 3, 3, "reflect")
except MemoryError:
    print("refused")
"""


@needs_kernels
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the memory of a process")
def test_a_lack_of_memory_is_an_error() -> None:
    found = subprocess.run([sys.executable, "-c", HUNGRY], capture_output=True, text=True, check=False)
    assert found.stdout.strip() == "refused", found.stderr


def test_kernels_know_each_other_by_name() -> None:
    assert all(name == kernel.name for name, kernel in KERNELS.items())
    assert needs_kernels.args[0] or {"median_blur", "equalize", "fill_meetings"} <= set(built.library.names())
