"""Parameters of ops: each is declared once, and its checks, copies, rows and neutral values follow.

Names and forms are checked by what the host knows, values on the device. Maps as large as the image are checked for
shape and dtype alone, for to look at their values takes as long as an op.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..common.checks import check
from ..common.types import Params
from .copies import renamed_rows, repeat_rows

GATE, SHAPE = "batch_prob", "forward_input_shape"
RESERVED = (GATE, SHAPE)  # what the params of every op hold beside its own


@dataclass(frozen=True)
class Param:
    """One parameter of an op.

    Args:
        name: its name among the params of a call.
        shape: the shape of a row, None in it where any length will do; () for a number a row.
        neutral: the value that changes nothing, given to rows with a closed gate; None where every value is safe.
        dim: the dimension of the rows; None where there are none, since it holds for the whole batch.
        image: whether a row is as large as the image, floating or a mask.
        mask: whether it is a mask of bools.
        late: whether only a call with all its targets adds it.
        rows: whether its values are numbers of rows.
    """

    name: str
    shape: tuple[int | None, ...] = ()
    neutral: float | None = None
    dim: int | None = 0
    image: bool = False
    mask: bool = False
    late: bool = False
    rows: bool = False

    def check_form(self, value: Tensor, rows: int, device: torch.device, name: str) -> None:
        """Refuse a value by its device, dtype and shape; ``name`` says where it stands."""
        if value.device.type != device.type:
            raise ValueError(f"{name}: expected on {device}, as the image is; got {value.device}")
        if self.mask:
            if value.dtype != torch.bool:
                raise TypeError(f"{name}: expected a bool mask, got {value.dtype}")
        elif value.is_complex() or (value.dtype == torch.bool and self.name != GATE):
            raise TypeError(f"{name}: expected real numbers, got {value.dtype}")
        elif self.image and not value.is_floating_point():
            raise TypeError(f"{name}: expected a floating map, got {value.dtype}")
        if self.dim != 0:
            return
        if value.shape[:1] != (rows,):
            raise ValueError(f"{name}: expected {rows} rows, as the image has; got shape {tuple(value.shape)}")
        found = tuple(value.shape[1:])
        alike = len(self.shape) == len(found) and all(n in (None, m) for n, m in zip(self.shape, found, strict=True))
        if not (self.image or alike):
            shown = tuple("any" if n is None else n for n in (rows, *self.shape))
            raise ValueError(f"{name}: expected shape {shown}, got {tuple(value.shape)}")

    def check_values(self, value: Tensor) -> None:
        """Require finite numbers, in closed rows as well."""
        if value.is_floating_point() and not self.image and self.dim == 0:
            check(value.isfinite(), None, f"{self.name}: expected finite values")

    def row(self, value: Tensor, i: int) -> Tensor:
        """The value of one row, as of a batch of one; what a user's class draws may have no rows."""
        if self.dim is None or value.ndim <= self.dim or value.shape[self.dim] <= i:
            return value
        return value.narrow(self.dim, i, 1)

    def neutralised(self, value: Tensor, gate: Tensor) -> Tensor:
        """The value with what changes nothing in rows whose gate (B,) is closed."""
        if self.neutral is None:
            return value
        rows = gate if value.ndim == 1 else gate.view(-1, *(1 for _ in value.shape[1:]))
        return torch.where(rows, value, self.neutral)

    def repeated(self, value: Tensor, count: int, copies: int, block: int) -> Tensor:
        """The value for copies of rows, of which there were ``count``; see ``repeat_rows``.

        What a user's class draws may have no rows.
        """
        if self.dim is None or value.ndim <= self.dim or value.shape[self.dim] != count:
            return value
        value = repeat_rows(value, copies, block, self.dim)
        return renamed_rows(value, copies, block, self.dim) if self.rows else value


def check_forms(
    declared: Sequence[Param] | None, params: Any, shape: Sequence[int], device: torch.device, name: str
) -> None:
    """Refuse params of a batch of a shape by names, types and shapes; ``name`` is the op's path.

    What a user's class draws, which declares nothing, may have any form.
    """
    if not isinstance(params, Mapping):
        raise TypeError(f"{name}: params: expected a dict of tensors, got {type(params).__name__}")
    if declared is not None:
        names = [param.name for param in declared]
        missing = [param.name for param in declared if param.name not in params and not param.late]
        foreign = [key for key in params if key not in names and key not in RESERVED]
        if missing or foreign:
            raise ValueError(f"{name}: params: expected keys {sorted(names)}; missing {missing}, foreign {foreign}")
    known = {param.name: param for param in (*(declared or ()), Param(GATE))}
    for key, value in params.items():
        if not isinstance(value, Tensor):
            raise TypeError(f"{name}: params[{key!r}]: expected a tensor, got {type(value).__name__}")
        if key == SHAPE:
            drawn_shape(params, len(shape), name)
        elif key in known:
            known[key].check_form(value, shape[0], device, f"{name}: params[{key!r}]")


def drawn_shape(params: Any, rank: int, name: str) -> Tensor:
    """The shape (B, C, *S) of the batch that parameters were drawn for, as they say; ``rank`` counts all of it."""
    shape = params.get(SHAPE) if isinstance(params, Mapping) else None
    if not isinstance(shape, Tensor):
        raise ValueError(f"{name}: params: expected those of a call, with a tensor {SHAPE!r}")
    if tuple(shape.shape) != (rank,) or shape.dtype not in (torch.int64, torch.int32):
        raise ValueError(
            f"{name}: params[{SHAPE!r}]: expected {rank} whole numbers, got {shape.dtype} {tuple(shape.shape)}"
        )
    return shape


def origin(params: Any, rank: int, name: str) -> tuple[Sequence[int], torch.device]:
    """The shape (B, C, *S) and the device of the batch that parameters were drawn for."""
    _, *size = drawn_shape(params, rank, name).tolist()
    drawn = [v for k, v in params.items() if k != SHAPE and isinstance(v, Tensor) and v.ndim]
    if not drawn:
        raise ValueError(f"{name}: params: expected those of a call, got {list(params)}")
    first = params.get(GATE, drawn[0])
    return (len(first), *size), first.device


def repeated_params(
    declared: Sequence[Param], params: Params, copies: int, block: int = 1, rows: Tensor | None = None
) -> Params:
    """The parameters of an op for copies of rows; where they name rows, a copy names those of its own kind.

    Args:
        declared: what they are; the rows of others, of a user's class, stand first.
        params: the parameters for B rows.
        copies: how many of each row.
        block: how many rows stay side by side; what they name are rows of one block in all of the copies.
        rows: the copies (B * copies,) bool that a container has chosen; the gate of the others is closed.
    """
    known = {param.name: param for param in declared}
    count, more = len(params[GATE]), {}
    for name, value in params.items():
        if name == SHAPE:
            more[name] = repeated_shape(value, copies)
        else:
            more[name] = known.get(name, Param(name)).repeated(value, count, copies, block)
    if rows is not None:
        more[GATE] = more[GATE] * rows
    return more


def repeated_shape(shape: Tensor, copies: int) -> Tensor:
    """The shape (B, C, *S) of a batch of copies."""
    return torch.cat([shape[:1] * copies, shape[1:]])
