"""Containers that choose, and what goes through them, for several test files."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

import augment as K
from tests.support.helpers import assert_params_close, call_seeded, graphs, picture

KEYS = ["image", "mask", "bbox_xyxy", "keypoints"]


def values(b: int = 4, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    """Give a value for each of KEYS, 12 x 16."""
    points = torch.rand(b, 3, 2, generator=torch.Generator().manual_seed(2)) * torch.tensor([10.0, 7.0]) + 2
    mask = torch.randint(5, (b, 1, 12, 16), generator=torch.Generator().manual_seed(3))
    return [picture(b, 3, (12, 16), dtype), mask, torch.cat([points, points + 3], -1), points]


def assert_compiled_is_eager(container: K.AugmentationSequential, given: list[Tensor], optimizer: str) -> None:
    """Require one graph for twenty draws that are not all alike, and of compiled calls what eager ones give."""
    compiled, seen = torch.compile(container, fullgraph=True, backend=optimizer), []
    for seed in range(20):
        outputs = call_seeded(compiled, *given, seed=seed)
        params, valid = container._params, container.valid
        seen.append(outputs[0])
        assert graphs() == 1
        if seed < 4:
            expected = call_seeded(container, *given, seed=seed)
            assert_params_close(params, container._params)
            assert all(torch.equal(valid[key], container.valid[key]) for key in container.valid)
            for new, old in zip(outputs, expected, strict=True):
                assert (new.shape, new.dtype) == (old.shape, old.dtype)
                if new.dtype in (torch.uint8, torch.int64):  # rounding may bring one to the other side of a border
                    assert (new != old).sum() <= 0.01 * new.numel()
                else:
                    assert_close(new, old, atol=2e-4, rtol=1e-4)
    assert any(not torch.equal(seen[0], other) for other in seen[1:])


def many(**options: Any) -> dict[str, Callable[[], K.AugmentationSequential]]:
    """Give choices of ops that are open whenever they are chosen."""

    def ops() -> list[nn.Module]:
        return [K.RandomAffine(40.0, (0.2, 0.2), p=1.0), K.RandomEqualize(p=1.0), K.RandomVerticalFlip(p=1.0)]

    return {
        "one": lambda: K.OneOf(*ops(), p=0.6, **options),
        "some": lambda: K.SomeOf(*ops(), n=(0, 2), weights=(3, 2, 1), **options),
        "again": lambda: K.SomeOf(*ops(), n=(0, 2), replace=True, **options),
        "order": lambda: K.RandomOrder(*ops(), p=0.6, **options),
        "apply": lambda: K.RandomApply(ops(), **options),
        "kornia": lambda: K.AugmentationSequential(*ops(), random_apply=(0, 2), **options),
        "sized": lambda: K.OneOf(K.RandomCrop((9, 11)), K.Resize((9, 11)), **options),
        "inner": lambda: K.RandomApply([K.Resize((24, 20)), K.RandomErasing(p=1.0), K.Resize((12, 16))], **options),
        "nested": lambda: K.AugmentationSequential(
            K.RandomOrder(K.OneOf(*ops()), K.RandomHorizontalFlip(), K.RandomApply(ops()[:1])),
            K.OneOf(K.RandomResizedCrop((9, 11)), K.AugmentationSequential(K.Resize((20, 22)), K.CenterCrop((9, 11)))),
            **options,
        ),
    }


each = pytest.mark.parametrize("name", many())
