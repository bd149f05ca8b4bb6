"""What comes of a choice: the rows and the matrices of the children that were chosen."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ..common.types import Params
from ..sampling.copies import repeat_rows
from ..sampling.items import CHOSEN
from ..targets import target as tg
from ..targets.target import Target
from .selection import Selection


def check_chosen(head: Params, selection: Selection, rows: int, where: str) -> None:
    """Require of handed-in parameters one choice for every row, round and child."""
    chosen, expected = head.get(CHOSEN), (rows, selection.rounds, selection.count)
    if not isinstance(chosen, Tensor) or chosen.dtype != torch.bool or tuple(chosen.shape) != expected:
        got = (tuple(chosen.shape), chosen.dtype) if isinstance(chosen, Tensor) else chosen
        raise ValueError(f"{where}: params[{CHOSEN!r}]: expected a bool tensor of shape {expected}, got {got}")


def merged(
    targets: list[Target], steps: Sequence[Callable[..., list[Target]]], chosen: Tensor, keeps: bool
) -> list[Target]:
    """Run every step on what came in, and take for each row what the chosen one gives; without, as it came.

    Where they do not keep the size, a row without any is what the first step makes of a row with a closed gate.
    """
    output = targets if keeps else None
    for i, step in enumerate(steps):
        moved, rows = step(targets), chosen[:, 0, i]
        pairs = [] if output is None else zip(moved, output, strict=True)
        output = moved if output is None else [tg.pick(rows, new, old) for new, old in pairs]
    return targets if output is None else output


def merged_matrix(matrices: Sequence[Tensor | None], chosen: Tensor, keeps: bool) -> Tensor:
    """Give for each row the matrix of the chosen child, as ``merged`` gives the targets."""
    rows = max([len(chosen), *(len(matrix) for matrix in matrices if matrix is not None)])
    chosen = repeat_rows(chosen, rows // max(len(chosen), 1))  # a clip has a row for each frame
    eye = torch.eye(3, device=chosen.device).expand(rows, 3, 3)
    found = [eye if matrix is None else matrix for matrix in matrices]
    total = eye if keeps else found[0]
    for i, matrix in enumerate(found):
        total = torch.where(chosen[:, 0, i].view(-1, 1, 1), matrix, total)
    return total
