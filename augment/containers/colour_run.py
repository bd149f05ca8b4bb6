"""A run of ops that change the colours of pixels, as one pass over an image."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .. import kernels
from ..common.constants import constant
from ..common.dtypes import load, store
from ..common.opaque import by_rows
from ..common.types import Flags
from ..kinds.call import Ready
from ..kinds.intensity import Intensity


def fits(op: nn.Module) -> bool:
    """Whether an op can be in a run: this package's, which sees a pixel at a time, or statistics of a channel."""
    return isinstance(op, Intensity) and op.own and bool({"apply_values", "apply_planes", "apply_wide"} & op.overrides)


def apply(image: Tensor, ops: Sequence[Ready]) -> Tensor:  # (B, C, H, W)
    """Compute an image through a run: in floats from the first op to the last, and rounded once if at all."""
    dtype = image.dtype
    for ready in ops:
        ready.op.check_shape(image.shape, ready.flags)
        dtype = ready.op.output_dtype(dtype)
    ops = [ready._replace(params=ready.op.neutralise(ready.params, ready.gate)) for ready in ops]
    if all("apply_values" in ready.op.overrides for ready in ops):
        if image.dtype == torch.uint8 and by_rows(image):
            return _through_table(image, ops, dtype)
        return store(_values(load(image, unit=True), ops), dtype, unit=True)
    return _through_planes(image, ops, dtype)


def _values(values: Tensor, ops: Sequence[Ready]) -> Tensor:
    """Let ops change the values of all channels, one op after the other."""
    for op, params, flags, gate in ops:
        values = _chosen(gate, op.apply_values(values, params, flags, slice(None)), values)
    return values


def _through_table(image: Tensor, ops: Sequence[Ready], dtype: torch.dtype) -> Tensor:
    """Look up in one table a channel what becomes of each byte."""
    ramp = torch.arange(256, dtype=torch.float32, device=image.device).div_(255).view(1, 1, 16, 16)
    table = store(_values(ramp.expand(*image.shape[:2], -1, -1), ops), dtype, unit=True).flatten(2)
    return kernels.look_up(image, table) if dtype == torch.uint8 else kernels.look_up_floats(image, table)


def _through_planes(image: Tensor, ops: Sequence[Ready], dtype: torch.dtype) -> Tensor:
    """Let ops change the planes of the channels, one op after the other; one that computes whole rows has them."""
    planes, rest = [], list(ops)
    while rest:
        ready = rest.pop(0)
        if ready.op.own_dtype and "apply_wide" in ready.op.overrides:
            after = []
            while rest and {"linear", "mixture"} & rest[0].op.overrides:
                after.append(rest.pop(0))
            image = torch.stack(planes, 1) if planes else image
            wide = len(rest) > 0 or dtype.is_floating_point
            image = ready.op.apply_wide(image, ready.params, ready.flags, _shares(after, image), wide)
            planes = list(image.unbind(1)) if rest else []
            continue
        planes = planes or [load(plane, unit=True) for plane in image.unbind(1)]
        planes = [_chosen(ready.gate, *pair) for pair in zip(_changed(ready, planes), planes, strict=True)]
    return torch.stack([store(p, dtype, unit=True) for p in planes], 1) if planes else store(image, dtype, unit=True)


def _shares(ops: Sequence[Ready], image: Tensor) -> Tensor | None:  # (B, C, C + 1), or (B, C, 2)
    """What each channel gets of all of them, or of itself, and what is added, after one op and the next."""
    if not ops:
        return None
    n, dtype = image.shape[1], torch.float64 if image.dtype == torch.float64 else torch.float32
    whole = torch.eye(n + 1, dtype=dtype, device=image.device)
    total = whole.expand(len(image), -1, -1)
    for op, _, flags, gate in ops:
        lines = [x for line in _lines(op, flags, n) for x in line]
        change = torch.cat([constant(lines, dtype, image.device).view(n, n + 1), whole[n:]])
        change = change if gate is None else torch.where(gate.view(-1, 1, 1), change, whole)
        total = (change.unsqueeze(-1) * total.unsqueeze(-3)).sum(-2)
    if any("mixture" in ready.op.overrides for ready in ops):
        return total[:, :n]
    return torch.stack([total.diagonal(0, 1, 2)[:, :n], total[:, :n, n]], 2)


def _lines(op: Intensity, flags: Flags, n: int) -> list[list[float]]:
    if "mixture" in op.overrides:
        return op.mixture(flags, n)
    factors, added = (values * n if len(values) == 1 else values for values in op.linear(flags, slice(None)))
    return [[*(factors[c] * (k == c) for k in range(n)), added[c]] for c in range(n)]


def _changed(ready: Ready, planes: list[Tensor]) -> Sequence[Tensor]:
    op, params, flags, _ = ready
    if "apply_planes" in op.overrides:
        return op.apply_planes(planes, params, flags)
    parts = [(plane.unsqueeze(1), slice(c, c + 1)) for c, plane in enumerate(planes)]
    return [op.apply_values(values, params, flags, channel).squeeze(1) for values, channel in parts]


def _chosen(gate: Tensor | None, changed: Tensor, before: Tensor) -> Tensor:
    return changed if gate is None else torch.where(gate.view(-1, *[1] * (before.ndim - 1)), changed, before)
