"""What the tests of policies share."""

from typing import Any

import torch
from torch import Tensor

import augment as K
from augment.policies import OPERATIONS, table
from augment.policies.table import Magnitudes

SPACES = {"RandAugment": table.RAND, "TrivialAugmentWide": table.WIDE, "AutoAugment": table.AUTO, "AugMix": table.MIX}


def fixed(name: str, magnitude: float, b: int = 1, **options: Any) -> tuple[K.RandAugment, dict[str, Tensor]]:
    """Give a policy of one step, and parameters that say which."""
    params = {
        "operation": torch.full((b, 1), OPERATIONS.index(name)),
        "magnitude": torch.full((b, 1), magnitude),
    }
    return K.RandAugment(n=1, **options), params


def level_of(name: str, space: dict[str, table.Entry], bins: int, i: int, size: tuple[int, int]) -> float:
    """Give the magnitude of a bin, with the positive sign."""
    entry = list(space).index(name)
    magnitudes = Magnitudes(list(space.items()), bins)
    operation, magnitude = magnitudes(torch.tensor([entry]), torch.tensor([i]), torch.tensor([0.9]), size)
    assert OPERATIONS[int(operation)] == name
    return magnitude.item()
