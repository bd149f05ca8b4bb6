"""Options from the environment: KORNIA_TEST_DEVICE, KORNIA_TEST_DTYPE and KORNIA_TEST_OPTIMIZER, as in kornia."""

import os
from collections.abc import Iterator

# set before anything is imported: no look at the network for a newer version, and room for the expressions of a graph
os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")
os.environ.setdefault("SYMPY_CACHE_SIZE", "100000")

import pytest
import torch
import torch._dynamo
from torch._subclasses.fake_tensor import FakeTensorMode

from augment.kernels import built

torch.set_num_threads(1)

OPTIMIZERS = ("aot_eager", "inductor", "eager")
DTYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32, "float64": torch.float64}


@pytest.fixture(scope="session")
def device() -> torch.device:
    return torch.device(os.environ.get("KORNIA_TEST_DEVICE", "cpu"))


@pytest.fixture(scope="session")
def dtype() -> torch.dtype:
    return DTYPES[os.environ.get("KORNIA_TEST_DTYPE", "float32")]


@pytest.fixture(scope="session")
def optimizer() -> str:
    name = os.environ.get("KORNIA_TEST_OPTIMIZER") or "aot_eager"
    if name not in OPTIMIZERS:
        raise pytest.UsageError(f"KORNIA_TEST_OPTIMIZER: expected one of {OPTIMIZERS}, got {name!r}")
    return name


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch.manual_seed(0)
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()


@pytest.fixture
def pretended() -> FakeTensorMode:
    """Give a mode in which there is a GPU."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    with mode:
        try:
            torch.zeros(1).cuda()
        except RuntimeError:
            pytest.skip("this build of PyTorch asks the driver even for a GPU that is pretended")
    return mode


@pytest.fixture(params=built.library.sets() if built.library else [])
def instructions(request: pytest.FixtureRequest) -> Iterator[str]:
    """Use the kernels in C for each instruction set that this processor has."""
    built.library.use(request.param)
    yield request.param
    built.library.use(built.library.sets()[-1])
