"""Labels of rows that are put together from several: boxes, keypoints and classes."""

from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ..kernels.mixing import maths as mx
from ..maps.composition import Composition
from ..targets.boxes import area
from ..targets.keys import Boxes, labels_of
from ..targets.target import Target


def mixed_labels(target: Target, composition: Composition, gate: Tensor, least_area: float, never_open: bool) -> Target:
    """The boxes or keypoints of all slots side by side, as a tensor, and which of them are seen.

    ``least_area`` in square pixels has to be left of a box. Where the gate (B,) is ``never_open``, as nothing can be
    mixed, labels keep their number.
    """
    target = dense(target)
    if not target.watched or not isinstance(target.kind, Boxes):
        return _side_by_side(target, composition, gate, least_area, never_open)
    entire, rest = target.value.chunk(2, 1)
    mixed = _side_by_side(replace(target, value=rest), composition, gate, least_area, never_open)
    entire = composition.move(composition.spread(entire)).flatten(1, 2)[:, : mixed.value.shape[1]]
    return replace(mixed, value=torch.cat([entire, mixed.value], 1))


def _side_by_side(
    target: Target, composition: Composition, gate: Tensor, least_area: float, never_open: bool
) -> Target:
    value, kind, n = target.value, labels_of(target.key), target.value.shape[1]
    known = torch.ones(value.shape[:2], dtype=torch.bool, device=value.device)
    known = composition.spread(known if target.valid is None else target.valid)
    slots = composition.spread(kind.shown(value))
    own = torch.arange(slots.shape[1], device=gate.device).view(1, -1, 1) == 0
    boxes = isinstance(kind, Boxes)
    if boxes:
        moved = composition.boxes(composition.move(slots))
        seen = known & mx.has_area(moved) & (area(moved) >= least_area)
        held = known & own & mx.has_area(slots)
    else:
        moved = composition.place(slots)
        seen, held = known & composition.points(moved), known & own
    seen = torch.where(gate.view(-1, 1, 1), seen, held)
    empty = torch.nan if target.watched else 0.0
    moved = torch.where(seen.unsqueeze(-1), moved, empty)
    if not boxes and composition.single:  # a point is in one slot or in none
        moved = torch.where(seen.unsqueeze(-1), moved, 0).sum(1, keepdim=True)
        seen = seen.any(1, keepdim=True)
        moved = torch.where(seen.unsqueeze(-1), moved, empty)
    output, seen = (v.flatten(1, 2)[:, : n if never_open else None] for v in (moved, seen))
    output = kind.of_shown(output, value.dtype)
    kept = torch.cat([value, torch.full_like(output[:, n:], empty)], 1)
    rows = gate.view(-1, *(1 for _ in value.shape[1:]))
    return replace(target, value=torch.where(rows, output, kept), valid=seen)


def classes_of_labels(classes: Tensor, composition: Composition, gate: Tensor, never_open: bool) -> Tensor:
    """The classes (B, N) of labels as (B, slots * N), those of all slots side by side."""
    n = classes.shape[1]
    slots = composition.spread(classes).flatten(1, 2)
    slots = slots[:, :n] if never_open else slots
    kept = torch.cat([classes, torch.zeros_like(slots[:, n:])], 1)
    return torch.where(gate.view(-1, 1), slots, kept)


def made_by_a_mix(classes: Tensor) -> str:
    """What to do about classes that a mix before has made rows of (label, other label, share), for a message."""
    if classes.ndim < 2 or classes.shape[-1] != 3 or not classes.is_floating_point():
        return ""
    return "; rows that a mix gave cannot be mixed again: give num_classes, how many classes there are, to every mix"


def dense(target: Target) -> Target:
    """The labels of a list, an entry a row, as one tensor with the mask of what is no padding."""
    if not isinstance(target.value, list):
        return target
    doubled = target.watched and isinstance(target.kind, Boxes)  # what is seen of boxes stands behind the whole ones
    parts = [entry.chunk(2, 0) for entry in target.value] if doubled else None
    entries = target.value if parts is None else [part[0] for part in parts]
    value = pad_sequence(entries, True)
    n = torch.tensor([len(entry) for entry in entries], device=value.device)
    inside = torch.arange(value.shape[1], device=value.device) < n.unsqueeze(1)
    if parts is not None:
        value = torch.cat([value, pad_sequence([part[1] for part in parts], True)], 1)
    return replace(target, value=value, valid=inside if target.valid is None else target.valid)
