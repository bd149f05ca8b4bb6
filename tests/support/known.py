"""What tests of known answers share: replays with some parameters set, and simple pictures."""

from typing import Any

import pytest
import torch
from torch import Tensor

RED = torch.tensor([0.8, 0.0, 0.0]).view(1, 3, 1, 1).expand(1, 3, 4, 5)


def replay(op: Any, image: Tensor, **values: Any) -> Tensor:
    """Apply an op with some of its parameters set, in every row."""
    params = op.forward_parameters(image.shape)
    for name, value in values.items():
        like = params[name]
        params[name] = torch.as_tensor(value, dtype=like.dtype).expand(like.shape).clone()
    return op(image, params=params)


def pixels(rows: int, height: int, width: int) -> Tensor:
    y, x = torch.meshgrid(torch.arange(float(height)), torch.arange(float(width)), indexing="ij")
    return torch.stack([x, y], -1).flatten(0, 1).expand(rows, -1, -1)


def photograph(height: int = 96, width: int = 128) -> Tensor:
    """Give an RGB photograph in whole levels."""
    data = pytest.importorskip("skimage.data")
    astronaut = data.astronaut()[: 4 * height : 4, 100 : 100 + 4 * width : 4]
    return torch.from_numpy(astronaut.copy()).permute(2, 0, 1)[None]


def impulse(height: int, width: int, y: int, x: int) -> Tensor:
    image = torch.zeros(1, 1, height, width)
    image[..., y, x] = 1
    return image


def slope(height: int, width: int) -> Tensor:
    return torch.arange(height * width, dtype=torch.float32).view(1, 1, height, width) / (height * width)
