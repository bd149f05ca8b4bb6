"""Parameters for copies of rows: for the frames of a clip, or for the patches of images at one place."""

import torch
from torch import Tensor

from ..common.types import Params
from ..kinds.augmentation import Augmentation
from ..kinds.mix import Mix


def copied(value: Tensor, copies: int, block: int = 1, dim: int = 0) -> Tensor:
    """Give every block of as many rows several times, one after the other."""
    groups = value.unflatten(dim, (value.shape[dim] // block, block)).unsqueeze(dim + 1)
    sizes = [-1] * groups.ndim
    sizes[dim + 1] = copies
    return groups.expand(sizes).flatten(dim, dim + 2)


def copied_shape(shape: Tensor, copies: int) -> Tensor:
    """Give the shape (B, C, H, W) of a batch of copies."""
    return torch.cat([shape[:1] * copies, shape[1:]])


def copied_params(op: Augmentation, params: Params, copies: int, block: int = 1, rows: Tensor | None = None) -> Params:
    """Give the parameters of an op for copies of rows; where they name rows, a copy names those of its own kind.

    Args:
        op: what drew them.
        params: the parameters for B rows.
        copies: how many of each row.
        block: how many rows stay side by side; what they name are rows of one block in all of the copies.
        rows: the copies (B * copies,) bool that a container has chosen; the gate of the others is closed.
    """
    dims = op.batch_dims if isinstance(op, Mix) else {}
    named = op.row_params if isinstance(op, Mix) else ()
    count = len(params["batch_prob"])
    more: Params = {}
    for name, value in params.items():
        dim, shared = dims.get(name, 0), name in op.shared_params and name not in dims
        if name == "forward_input_shape":
            more[name] = copied_shape(value, copies)
        elif shared or value.ndim <= dim or value.shape[dim] != count:  # what a user's class draws may be for all rows
            more[name] = value
        else:
            more[name] = copied(value, copies, block, dim)
        if name in named:
            more[name] = _renamed(more[name], copies, block, dim)
    if rows is not None:
        more["batch_prob"] = more["batch_prob"] * rows
    return more


def _renamed(value: Tensor, copies: int, block: int, dim: int) -> Tensor:
    """Make numbers of rows, which were copied along a dimension, those of the copies that they stand among."""
    copy = torch.arange(value.shape[dim], device=value.device) // block % copies
    copy = copy.view(-1, *(1 for _ in range(value.ndim - dim - 1)))
    return (value // block * copies + copy) * block + value % block
