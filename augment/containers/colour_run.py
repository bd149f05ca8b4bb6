"""A run of ops that change the colours of pixels, as one pass over an image."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .. import kernels
from ..common.constants import constant
from ..common.dtypes import load, store
from ..common.opaque import by_rows
from ..common.types import Flags
from ..kinds.intensity import Intensity
from .steps import Turn


def fits(op: nn.Module) -> bool:
    """Say whether an op can be in a run: this package's, which sees a pixel at a time, or statistics of a channel."""
    return isinstance(op, Intensity) and op.own and bool({"apply_values", "apply_planes", "apply_wide"} & op.overrides)


def apply(image: Tensor, turns: Sequence[Turn]) -> Tensor:  # (B, C, H, W)
    """Compute an image through a run: in floats from the first op to the last, and rounded once if at all."""
    dtype = image.dtype
    for turn in turns:
        turn.op.check_shape(image.shape, turn.flags)
        dtype = turn.op.output_dtype(dtype)
    turns = [turn._replace(params=turn.op.neutralise(turn.params, turn.gate)) for turn in turns]
    if all("apply_values" in turn.op.overrides for turn in turns):
        if image.dtype == torch.uint8 and by_rows(image):
            return _through_table(image, turns, dtype)
        return store(_values(load(image, unit=True), turns), dtype, unit=True)
    return _through_planes(image, turns, dtype)


def _values(values: Tensor, turns: Sequence[Turn]) -> Tensor:
    """Let ops change the values of all channels, one op after the other."""
    for op, params, flags, gate in turns:
        values = _chosen(gate, op.apply_values(values, params, flags, slice(None)), values)
    return values


def _through_table(image: Tensor, turns: Sequence[Turn], dtype: torch.dtype) -> Tensor:
    """Look up in one table a channel what becomes of each byte."""
    ramp = torch.arange(256, dtype=torch.float32, device=image.device).div_(255).view(1, 1, 16, 16)
    table = store(_values(ramp.expand(*image.shape[:2], -1, -1), turns), dtype, unit=True).flatten(2)
    return kernels.look_up(image, table) if dtype == torch.uint8 else kernels.look_up_floats(image, table)


def _through_planes(image: Tensor, turns: Sequence[Turn], dtype: torch.dtype) -> Tensor:
    """Let ops change the planes of the channels, one op after the other; one that computes whole rows has them."""
    planes, rest = [], list(turns)
    while rest:
        turn = rest.pop(0)
        if turn.op.own_dtype and "apply_wide" in turn.op.overrides:
            after = []
            while rest and {"linear", "mixture"} & rest[0].op.overrides:
                after.append(rest.pop(0))
            image = torch.stack(planes, 1) if planes else image
            wide = len(rest) > 0 or dtype.is_floating_point
            image = turn.op.apply_wide(image, turn.params, turn.flags, _shares(after, image), wide)
            planes = list(image.unbind(1)) if rest else []
            continue
        planes = planes or [load(plane, unit=True) for plane in image.unbind(1)]
        planes = [_chosen(turn.gate, *pair) for pair in zip(_changed(turn, planes), planes, strict=True)]
    return torch.stack([store(p, dtype, unit=True) for p in planes], 1) if planes else store(image, dtype, unit=True)


def _shares(turns: Sequence[Turn], image: Tensor) -> Tensor | None:  # (B, C, C + 1), or (B, C, 2)
    """Give what each channel gets of all of them, or of itself, and what is added, after one op and the next."""
    if not turns:
        return None
    n, dtype = image.shape[1], torch.float64 if image.dtype == torch.float64 else torch.float32
    whole = torch.eye(n + 1, dtype=dtype, device=image.device)
    total = whole.expand(len(image), -1, -1)
    for op, _, flags, gate in turns:
        lines = [x for line in _lines(op, flags, n) for x in line]
        change = torch.cat([constant(lines, dtype, image.device).view(n, n + 1), whole[n:]])
        change = change if gate is None else torch.where(gate.view(-1, 1, 1), change, whole)
        total = (change.unsqueeze(-1) * total.unsqueeze(-3)).sum(-2)
    if any("mixture" in turn.op.overrides for turn in turns):
        return total[:, :n]
    return torch.stack([total.diagonal(0, 1, 2)[:, :n], total[:, :n, n]], 2)


def _lines(op: Intensity, flags: Flags, n: int) -> list[list[float]]:
    if "mixture" in op.overrides:
        return op.mixture(flags, n)
    factors, added = (values * n if len(values) == 1 else values for values in op.linear(flags, slice(None)))
    return [[*(factors[c] * (k == c) for k in range(n)), added[c]] for c in range(n)]


def _changed(turn: Turn, planes: list[Tensor]) -> Sequence[Tensor]:
    op, params, flags, _ = turn
    if "apply_planes" in op.overrides:
        return op.apply_planes(planes, params, flags)
    parts = [(plane.unsqueeze(1), slice(c, c + 1)) for c, plane in enumerate(planes)]
    return [op.apply_values(values, params, flags, channel).squeeze(1) for values, channel in parts]


def _chosen(gate: Tensor | None, changed: Tensor, before: Tensor) -> Tensor:
    return changed if gate is None else torch.where(gate.view(-1, *[1] * (before.ndim - 1)), changed, before)
