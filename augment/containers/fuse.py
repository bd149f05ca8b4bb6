"""Which ops of a container are done as one."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from torch import nn

from ..common.dtypes import full_precision
from ..common.types import Flags
from ..kinds.geometric import Geometric
from ..targets import moving as mv
from ..targets.target import Target
from . import colour_run, geometry_run
from .geometry_run import Look
from .steps import Call, Step, shape_for, turn_of


def runs(ops: Iterable[tuple[nn.Module, Any]], options: Mapping[str, Flags]) -> list[list[Any]]:
    """Put together the entries of ops that follow each other and are done as one; the others stand alone."""
    found: list[list[Any]] = []
    before: Look | str | None = None
    for op, entry in ops:
        own = _way(op, options)
        both = _joined(before, own)
        if both:
            found[-1].append(entry)
        else:
            found.append([entry])
        before = both or own
    return found


def _way(op: nn.Module, options: Mapping[str, Flags]) -> Look | str | None:
    """Say how an op can be one with others; None where it cannot."""
    if isinstance(op, Geometric):
        return geometry_run.look(op, mv.flags_for(op, options))
    return "colour" if colour_run.fits(op) else None


def _joined(before: Look | str | None, own: Look | str | None) -> Look | str | None:
    if isinstance(before, Look) and isinstance(own, Look):
        return before.beside(own)
    return own if own is not None and own == before else None


def transform(steps: list[Step], targets: list[Target], call: Call) -> tuple[list[Target], list[Any]]:
    """Apply a run to all targets, and give with the targets the parameters that each op used."""
    if isinstance(steps[0].child, Geometric):
        return geometry_run.transform(steps, targets, call)
    return _recolour(steps, targets, call)


def invert(steps: list[Step], targets: list[Target], options: Mapping[str, Flags]) -> list[Target]:
    """Lead all targets back through a run; colours stay as they are."""
    return geometry_run.invert(steps, targets, options) if isinstance(steps[0].child, Geometric) else targets


def _recolour(steps: list[Step], targets: list[Target], call: Call) -> tuple[list[Target], list[Any]]:
    shape, device = shape_for(steps[0], targets)
    turns = [turn_of(step, targets, shape, device, call) for step in steps]
    with full_precision(device):
        moved = [replace(t, value=colour_run.apply(t.value, turns)) if t.key == "image" else t for t in targets]
    used = []
    for turn in turns:
        turn.op.record(turn.params, shape, turn.flags)
        used.append(turn.op._params)  # an op may come again, with others
    return moved, used
