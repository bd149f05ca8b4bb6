"""Copies of rows: for the frames of a clip, or for the patches of images at one place."""

import torch
from torch import Tensor


def repeat_rows(value: Tensor, copies: int, block: int = 1, dim: int = 0) -> Tensor:
    """Every block of as many rows several times, one after the other."""
    groups = value.unflatten(dim, (value.shape[dim] // block, block)).unsqueeze(dim + 1)
    sizes = [-1] * groups.ndim
    sizes[dim + 1] = copies
    return groups.expand(sizes).flatten(dim, dim + 2)


def renamed_rows(value: Tensor, copies: int, block: int, dim: int) -> Tensor:
    """Numbers of rows, which were copied along a dimension, as those of the copies that they stand among."""
    copy = torch.arange(value.shape[dim], device=value.device) // block % copies
    copy = copy.view(-1, *(1 for _ in range(value.ndim - dim - 1)))
    return (value // block * copies + copy) * block + value % block
