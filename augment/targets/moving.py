"""How a warp moves the values that travel with the image."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ..common.arguments import label_values
from ..common.dtypes import load
from ..common.types import Flags
from ..maps.warp import Warp
from .keys import Boxes, Labels, Value, as_dtype, labels_of
from .target import Target, frame, pick


def moved_by(
    warp: Warp | None,
    targets: Sequence[Target],
    gate: Tensor | None,
    options: Mapping[str, Flags],
    image: Callable[[Tensor], Tensor],
    mask: Callable[[Tensor, int | None, Flags], Tensor],
    by_center: bool = False,
) -> list[Target]:
    """All targets of a call, moved by one warp.

    Args:
        warp: the warp, neutral where the gate is closed; None leaves labels where they are.
        targets: what to move.
        gate: (B,) bool; None where all rows are open.
        options: the ``extra_args`` of the containers around, by data key.
        image: what images become.
        mask: what masks (B, C, H, W) become, by their options; those of one row of a list, by its number.
        by_center: whether a box that is watched is lost with its centre.
    """

    def moved(target: Target) -> Value:
        key, value, chosen = target.key, target.value, options.get(target.key, {})
        if key == "image":
            return image(value)
        if key == "mask":
            return each_mask(value, lambda m, row: mask(m, row, fitting(chosen, m)))
        if warp is None or not target.kind.placed:
            return value
        return watched_by(target, warp, gate, by_center) if target.watched else move(key, value, warp, gate, chosen)

    return [replace(target, value=moved(target)) for target in targets]


def each_mask(value: Value, fn: Callable[[Tensor, int | None], Tensor]) -> Value:
    """Masks, as a batch or as a list of (..., H, W), through a function of (B, C, H, W) and the row of a list."""
    if not isinstance(value, list):
        return fn(value, None)
    found = []
    for i, mask in enumerate(value):
        batch = mask.reshape(1, -1, *mask.shape[-2:])
        output = fn(batch, i)
        found.append(mask if output is batch else output.reshape(*mask.shape[:-2], *output.shape[-2:]))
    return found


def fitting(options: Flags, mask: Tensor) -> Flags:
    """The options of a mask (B, C, H, W), with a fill that it can hold."""
    if "fill" in options:
        label_values(options["fill"], mask, "extra_args['mask']['fill']")
    return options


def move(key: str, value: Value, warp: Warp, gate: Tensor | None, options: Flags) -> Value:
    """Boxes or points behind a warp; other precisions and integers are worked on in float32.

    A row with a closed gate stays as it is, bit for bit, where the op keeps the size.
    """
    if isinstance(value, list):
        gates = [None if gate is None else gate[i : i + 1] for i in range(len(value))]
        return [move(key, v.unsqueeze(0), warp[i], gates[i], options).squeeze(0) for i, v in enumerate(value)]
    work = load(value)
    moved = as_dtype(labels_of(key).moved(work, warp, bool(options.get("clip"))), value.dtype)
    if gate is None or warp.size != warp.input_size:
        return moved
    return torch.where(gate.view(-1, *(1 for _ in value.shape[1:])), moved, value)


def watched_by(target: Target, warp: Warp, gate: Tensor | None, by_center: bool) -> Value:
    """What is watched behind a warp, without what it cuts off; by centres only in the rows that it changes."""
    value, kind = move(target.key, target.value, warp, gate, {}), labels_of(target.key)
    seen = each(value, lambda v: kind.cut(v, warp.size))
    if not by_center:
        return seen
    held = each(value, lambda v: kind.cut(v, warp.size, True))
    return held if gate is None else pick(gate, replace(target, value=held), replace(target, value=seen)).value


def all_boxes(targets: Sequence[Target]) -> Tensor | None:
    """All boxes of a call as (B, N, 4), x1, y1, x2, y2, rows of a list filled up with empty ones; None without."""
    boxes = []
    for target in targets:
        kind = target.kind
        if isinstance(kind, Boxes) and not target.watched:
            value = pad_sequence(target.value, True) if isinstance(target.value, list) else target.value
            upright = kind.shown(value)
            known = target.valid
            boxes.append(upright if known is None else torch.where(known.unsqueeze(-1), upright, 0))
    return torch.cat([b.to(boxes[0].dtype) for b in boxes], 1) if boxes else None


def watch(targets: Sequence[Target]) -> list[Target]:
    """Targets that go through the ops beside the boxes and keypoints of a call, to tell what is still seen."""
    watched, like = [], frame(targets)
    for target in targets:
        kind = target.kind
        if not isinstance(kind, Labels):
            continue
        value = each(target.value, kind.watch)
        if like is not None:
            value = each(value, partial(labels_of(kind.watched).cut, size=(like.shape[-2], like.shape[-1])))
        watched.append(replace(target, key=kind.watched, value=value, watched=True))
    return watched


def verdicts(watched: Sequence[Target], least: float) -> list[Target]:
    """What of watched targets is still seen, (B, N) bool or a list of (N,)."""
    found = []
    for target in watched:
        seen, known = each(target.value, partial(labels_of(target.key).seen, least=least)), target.valid
        if known is not None:
            seen = [v & k for v, k in zip(seen, known, strict=True)] if isinstance(seen, list) else seen & known
        found.append(replace(target, value=seen))
    return found


def each(value: Value, fn: Callable[[Tensor], Tensor]) -> Value:
    """A value, or the entries of a list, through a function."""
    return [fn(v) for v in value] if isinstance(value, list) else fn(value)
