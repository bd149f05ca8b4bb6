"""What goes into a container and comes out: positional values or a dict, as targets and back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from . import target as tg
from . import videos as clips
from .keys import KEYS, key_in_dict
from .target import Target, Value

Valid = Mapping[str, Tensor]


def read(
    args: Sequence[Value], keys: Sequence[str] | None, videos: bool = False, required: Sequence[str] = ()
) -> list[Target]:
    """Take the values of a call as targets; one dict says its keys itself, and has to have those ``required``."""
    if is_dict(args):
        named = [(key_in_dict(name, value), value) for name, value in args[0].items()]
        keys, values = [key for key, _ in named if key], [value for key, value in named if key]
        for key in required:
            if keys.count(key) < list(required).count(key):
                raise ValueError(
                    f"data_keys: expected entries for {list(required)} in the dict, and found too few for {key!r}; "
                    f"got the names {list(args[0])}"
                )
    else:
        values = list(args)
        if keys is None or len(keys) != len(values):
            raise ValueError(f"args: expected one value for each of data_keys {keys}, got {len(values)}")
    return clips.as_targets(values, keys) if videos else tg.as_targets(values, keys)


def mark(targets: Sequence[Target], names: Sequence[str], valid: Valid) -> list[Target]:
    """The boxes and keypoints of a call, which have names, the masks that say which of them are no padding."""
    if not isinstance(valid, Mapping):
        raise TypeError(f"valid: expected a dict of masks by name, got {type(valid).__name__}")
    foreign = [name for name in valid if name not in names]
    if foreign:
        raise ValueError(f"valid: expected names out of {list(names)}, got {foreign}")
    marked, named = [], iter(names)
    for target in targets:
        name = next(named) if target.kind.placed else ""
        marked.append(tg.marked(target, name, valid[name]) if name in valid else target)
    return marked


def write(args: Sequence[Value], given: Sequence[Target], targets: Sequence[Target], keepdim: bool) -> Any:
    """What came of a call in the form of its arguments."""
    fresh = [_fresh(new, old, keepdim) for new, old in zip(targets, given, strict=True)]
    if is_dict(args):
        outputs = iter(fresh)
        return {name: next(outputs) if key_in_dict(name, value) else value for name, value in args[0].items()}
    return fresh[0] if len(fresh) == 1 else fresh


def labels(args: Sequence[Value], targets: Sequence[Target]) -> list[str]:
    """Name the boxes and keypoints of a call: as in its dict, or by their keys, the second by ``_1`` and so on."""
    if is_dict(args):
        named = [(name, key_in_dict(name, value)) for name, value in args[0].items()]
        return [name for name, key in named if key and KEYS[key].placed]
    return tg.label_names(targets)


def is_dict(args: Sequence[Value]) -> bool:
    """Whether a call has a dict in place of values."""
    return len(args) == 1 and isinstance(args[0], Mapping)


def _fresh(target: Target, given: Target, keepdim: bool) -> Value:
    """An output that shares no memory with its input, and in which padding is as it was."""
    if isinstance(target.value, list):
        pairs = zip(target.value, given.value, strict=True)
        rows = [new.clone() if new is old and isinstance(new, Tensor) else new for new, old in pairs]
        if target.valid is None:
            return rows
        counts = map(len, given.value)
        return [_added(row, known, n) for row, known, n in zip(rows, target.valid, counts, strict=True)]
    if given.valid is not None and target.valid is given.valid:
        target = tg.pick(given.valid, target, given, given.valid.ndim)
    elif target.valid is not None:
        n = given.value.shape[target.valid.ndim - 1]
        target = replace(target, value=_added(target.value, target.valid, n, given.valid))
    output = target.restore(keepdim)
    return output.clone() if isinstance(output, Tensor) and target.value is given.value else output


def _added(labels: Tensor, known: Tensor, n: int, real: Tensor | None = None) -> Tensor:
    """Give labels (..., N, *) to which a mix has added some behind the first n, with zeros where none is seen.

    Of the first n, those that are ``real`` stay as they are, which are all without it.
    """
    own = torch.ones_like(known[..., :n]) if real is None else real
    there = torch.cat([own, known[..., n:]], -1)
    return torch.where(there.view(*there.shape, *(1,) * (labels.ndim - there.ndim)), labels, 0)


def shape_of(
    targets: Sequence[Target], then: Callable[[], tuple[Sequence[int], torch.device]] | None = None
) -> tuple[Sequence[int], torch.device]:
    """The shape and device of the batch: of the first image, or of a mask, or else what ``then`` says."""
    like = [t.value for key in ("image", "mask") for t in targets if t.key == key and isinstance(t.value, Tensor)]
    if like:
        return like[0].shape, like[0].device
    if then is None:
        raise ValueError("data_keys: expected an image or a mask, or params, to know the size from")
    return then()
