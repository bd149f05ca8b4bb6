"""A run of ops that change the colours of pixels, as one pass over an image."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .. import native
from ..functional.resample import per_channel
from ..kinds import Intensity
from ..opaque import by_rows, load, store
from .call import Turn


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
        changed = op.apply_values(values, params, flags, slice(None))
        values = changed if gate is None else torch.where(gate.view(-1, 1, 1, 1), changed, values)
    return values


def _through_table(image: Tensor, turns: Sequence[Turn], dtype: torch.dtype) -> Tensor:
    """Look up in one table a channel what becomes of each byte."""
    ramp = torch.arange(256, dtype=torch.float32, device=image.device).div_(255).view(1, 1, 16, 16)
    table = store(_values(ramp.expand(*image.shape[:2], -1, -1), turns), dtype, unit=True).flatten(2)
    return native.look_up(image, table) if dtype == torch.uint8 else native.look_up_floats(image, table)


def _through_planes(image: Tensor, turns: Sequence[Turn], dtype: torch.dtype) -> Tensor:
    """Let ops change the planes of the channels, one op after the other; one that computes whole rows has them."""
    planes, rest = [], list(turns)
    while rest:
        turn = rest.pop(0)
        if turn.op.own_dtype and "apply_wide" in turn.op.overrides:
            after = []
            while rest and "linear" in rest[0].op.overrides:
                after.append(rest.pop(0))
            image = torch.stack(planes, 1) if planes else image
            image = turn.op.apply_wide(image, turn.params, turn.flags, _linear(after, image))
            planes = list(image.unbind(1)) if rest else []
            continue
        planes = planes or [load(plane, unit=True) for plane in image.unbind(1)]
        planes = [_chosen(turn.gate, *pair) for pair in zip(_changed(turn, planes), planes, strict=True)]
    return torch.stack([store(p, dtype, unit=True) for p in planes], 1) if planes else store(image, dtype, unit=True)


def _linear(turns: Sequence[Turn], image: Tensor) -> tuple[Tensor, Tensor]:
    """Give what ops multiply by and add together, (B, C) each."""
    dtype = torch.float64 if image.dtype == torch.float64 else torch.float32
    scale, shift = (torch.full(image.shape[:2], x, dtype=dtype, device=image.device) for x in (1, 0))
    for op, _, flags, gate in turns:
        by, plus = (per_channel(values, scale).flatten() for values in op.linear(flags, slice(None)))
        by, plus = (
            (by, plus) if gate is None else (torch.where(gate.view(-1, 1), x, y) for x, y in ((by, 1), (plus, 0)))
        )
        scale, shift = scale * by, shift * by + plus
    return scale, shift


def _changed(turn: Turn, planes: list[Tensor]) -> Sequence[Tensor]:
    op, params, flags, _ = turn
    if "apply_planes" in op.overrides:
        return op.apply_planes(planes, params, flags)
    parts = [(plane.unsqueeze(1), slice(c, c + 1)) for c, plane in enumerate(planes)]
    return [op.apply_values(values, params, flags, channel).squeeze(1) for values, channel in parts]


def _chosen(gate: Tensor | None, changed: Tensor, plane: Tensor) -> Tensor:
    return changed if gate is None else torch.where(gate.view(-1, 1, 1), changed, plane)
