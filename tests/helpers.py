"""What several test files need."""

import math
from collections.abc import Callable
from typing import Any

import torch
from PIL import Image, ImageChops, ImageStat
from torch import Tensor, nn
from torch._dynamo.utils import counters
from torch.testing import assert_close

import augment as K
from augment.base import Augmentation
from augment.testing import Case, cases

CASES = cases()
SIZE = (17, 23)
SAME_SHAPE = [case for case in CASES if case().output_size(SIZE) == SIZE]
GEOMETRIC = [case for case in CASES if case.geometric]
LABELS = ["image", "mask", "bbox_xyxy", "bbox_xywh", "bbox", "keypoints"]


def picture(b: int = 3, c: int = 3, size: tuple[int, int] = SIZE, dtype: torch.dtype = torch.float32) -> Tensor:
    """Give images in [0, 1] in which no two pixels are equal; uint8 ones hold every level."""
    image = torch.rand(b, c, *size, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    return (image * 255).round().to(dtype) if dtype == torch.uint8 else image.to(dtype)


def ramp(*shape: int) -> Tensor:
    """Count the pixels."""
    return torch.arange(math.prod(shape), dtype=torch.float32).view(shape)


def labels(b: int, n: int, size: tuple[int, int]) -> list[Tensor]:
    """Give a value for each of LABELS."""
    points = torch.rand(b, n, 2) * torch.tensor([size[1] - 1.0, size[0] - 1.0])
    corners = torch.rand(b, n, 4, 2) * 6
    mask = torch.randint(9, (b, 4, *size))
    return [picture(b, 3, size), mask, torch.cat([points, points + 3], -1), torch.rand(b, n, 4) * 6, corners, points]


def seq(*ops: nn.Module, keys: str = "image", **options: Any) -> K.AugmentationSequential:
    """Build a container for keys that are written with blanks between them."""
    return K.AugmentationSequential(*ops, data_keys=keys.split(), **options)


def with_gate(op: Augmentation, shape: Any, gate: list[int]) -> dict[str, Tensor]:
    """Draw parameters for all rows, and open the gate of some."""
    p, op.p = op.p, 1.0
    params = op.forward_parameters(shape)
    op.p = p
    params["batch_prob"] = torch.tensor(gate, dtype=torch.float32)
    return params


def distance(one: Image.Image, other: Image.Image) -> float:
    """Give the mean difference of two pictures, in 0..255."""
    return sum(ImageStat.Stat(ImageChops.difference(one, other)).mean) / 3


def graphs() -> int:
    """Count the graphs compiled since the last reset."""
    return counters["stats"]["unique_graphs"]


def assert_params_close(a: Any, b: Any) -> None:
    """Require params, nested or not, to be equal to 1e-6."""
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_close(a[key], b[key], atol=1e-6, rtol=1e-6)
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_params_close(x, y)
    else:
        assert a == b


def call_seeded(op: Callable[..., Any], *args: Any, seed: int = 7, **kwargs: Any) -> Any:
    """Call with the default generator seeded."""
    torch.manual_seed(seed)
    return op(*args, **kwargs)


__all__ = [
    "CASES",
    "GEOMETRIC",
    "LABELS",
    "SAME_SHAPE",
    "SIZE",
    "Case",
    "assert_params_close",
    "call_seeded",
    "distance",
    "graphs",
    "labels",
    "picture",
    "ramp",
    "seq",
    "with_gate",
]
