"""Bytes that are worked on as whole numbers: they are what the same formula in float64 gives, rounded once."""

from collections.abc import Callable

import torch
from torch import Tensor

from tests.support.helpers import picture

SIZES = [(1, 1), (1, 31), (3, 5), (17, 64), (40, 257)]


def noise(h: int, w: int, channels: int = 3) -> Tensor:
    return torch.randint(0, 256, (channels, h, w), dtype=torch.uint8)


def last(image: Tensor) -> Tensor:
    """Let the channels of a pixel lie side by side."""
    return image.permute(1, 2, 0).contiguous().permute(2, 0, 1)


def written(call: Callable[[Tensor], bool], like: Tensor) -> Tensor:
    """Let a kernel write into the middle of memory, of which it must leave the rest as it is."""
    memory = torch.full((like.numel() + 200,), 7, dtype=like.dtype)
    out = memory[100:-100].as_strided(like.shape, like.stride())
    assert call(out)
    assert (memory[:100] == 7).all() and (memory[-100:] == 7).all()
    return out


LEVELS = picture(1, size=(64, 64), dtype=torch.uint8)[0]
LEVELS[:, :8] = torch.tensor([0, 255, 7], dtype=torch.uint8).view(3, 1, 1)
LEVELS[:, 8:12] = 200
WIDE = LEVELS.double()


def assert_rounded(found: Tensor, exact: Tensor, beyond: float = 1e-4) -> None:
    """Require bytes that are at most a half from what they stand for."""
    assert found.dtype == torch.uint8
    assert (found.double() - exact.clamp(0, 255)).abs().max() <= 0.5 + beyond
