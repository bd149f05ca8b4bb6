"""The values of a call, as batches or as lists with an entry a row."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from .keys import KEYS, Key, Value, is_image


@dataclass(frozen=True)
class Target:
    """One value of a call: its key, the value as a batch or as a list with an entry a row, and how it came."""

    key: str
    value: Value
    rank: int | None = None
    added: int = 0
    watched: bool = False  # by ``visibility``, and no output
    valid: Tensor | None = None  # (B, N) bool, False for padding

    @property
    def kind(self) -> Key:
        """What the key says that it is."""
        return KEYS[self.key]

    def restore(self, keepdim: bool) -> Value:
        """The value back in the shape it came in; a missing batch dimension stays only without ``keepdim``."""
        if self.rank is None or self.added == 0:
            return self.value
        if self.added < 0:  # a mask (B, H, W) next to a batch of images
            return self.value.squeeze(1)
        return self.value[(0,) * self.added] if keepdim else self.value


def as_target(name: str, value: Value, image_rank: int | None) -> Target:
    """A value as a batch."""
    key = KEYS[name]
    if name == "class":
        return Target(name, value)
    if isinstance(value, (list, tuple)):
        return Target(name, _entries(name, value))
    if not isinstance(value, Tensor):
        raise TypeError(f"{name}: expected a tensor, got {type(value).__name__}")
    if name == "image" and not is_image(value):
        raise TypeError(f"{name}: expected a floating or uint8 image, got {value.dtype}")
    if name == "mask" and value.ndim == 3 and image_rank == 4:
        return Target(name, value.unsqueeze(1), 3, -1)
    (least, most), tail = key.ranks, key.tail
    if not least <= value.ndim <= most or (tail and tuple(value.shape[-len(tail) :]) != tail):
        form = f", the last being {tail}" if tail else ""
        raise ValueError(f"{name}: expected {least} to {most} dimensions{form}; got shape {tuple(value.shape)}")
    added = most - value.ndim
    return Target(name, value[(None,) * added], value.ndim, added)


def _entries(name: str, value: Sequence[Value]) -> list[Tensor]:
    """The entries of a list, one for each row, (N, *tail) where they are labels."""
    key = KEYS[name]
    if not key.listed or not all(isinstance(v, Tensor) for v in value):
        expected = "a tensor, or a list of them or of arrays" if key.listed else "a tensor, or a list of arrays"
        foreign = next((v for v in value if not key.listed or not isinstance(v, Tensor)), None)
        raise TypeError(f"{name}: expected {expected}; got a list with {type(foreign).__name__}")
    foreign = [tuple(entry.shape) for entry in value if key.placed and entry.shape[1:] != key.tail]
    if foreign:
        raise ValueError(f"{name}: expected entries (N, ...), the last being {key.tail}; got shape {foreign[0]}")
    return list(value)


def as_targets(values: Sequence[Value], keys: Sequence[str]) -> list[Target]:
    """Take the values of a call, one for each key, as batches of one number of rows."""
    ranks = [v.ndim for k, v in zip(keys, values, strict=True) if k == "image" and isinstance(v, Tensor)]
    return checked([as_target(k, v, ranks[0] if ranks else 4) for k, v in zip(keys, values, strict=True)])


def checked(targets: list[Target]) -> list[Target]:
    """The targets of a call, which have to fit the first image or mask."""
    like = frame(targets)
    if like is not None:
        check_batch(targets, len(like), (like.shape[-2], like.shape[-1]), like.device)
    return targets


def label_names(targets: Sequence[Target]) -> list[str]:
    """Name boxes and keypoints by their keys, the second of a kind by ``_1`` and so on."""
    keys = [target.key for target in targets if target.kind.placed]
    counts = [keys[:i].count(key) for i, key in enumerate(keys)]
    return [f"{key}_{count}" if count else key for key, count in zip(keys, counts, strict=True)]


def known(targets: Sequence[Target], keepdim: bool) -> list[Tensor | None]:
    """Give of the boxes and keypoints of a call which ones are no padding, None where nothing says so."""
    placed = (t for t in targets if t.kind.placed)
    return [None if t.valid is None else replace(t, value=t.valid).restore(keepdim) for t in placed]


def frame(targets: Sequence[Target]) -> Tensor | None:
    """The first image or mask that is a batch, which tells the rows and the size; None without."""
    return next((t.value for t in targets if t.kind.framed and isinstance(t.value, Tensor)), None)


def marked(target: Target, name: str, valid: Any) -> Target:
    """Give boxes or keypoints with the mask that says which of them are no padding."""
    if isinstance(target.value, list):
        raise TypeError(f"valid[{name!r}]: expected only beside a padded tensor, and {name} came as a list")
    if not isinstance(valid, Tensor) or valid.dtype != torch.bool:
        got = valid.dtype if isinstance(valid, Tensor) else type(valid).__name__
        raise TypeError(f"valid[{name!r}]: expected a bool tensor, got {got}")
    batch = valid[(None,) * target.added]
    dims = target.value.ndim - len(target.kind.tail)
    if batch.shape != target.value.shape[:dims]:
        shape = tuple(target.value.shape[target.added : dims])
        raise ValueError(f"valid[{name!r}]: expected shape {shape}, as {name} has; got {tuple(valid.shape)}")
    return replace(target, valid=batch)


def pick(rows: Tensor, new: Target, old: Target, dims: int = 1) -> Target:
    """Take of two values the new one where the mask ``rows``, of the first ``dims`` dimensions, is open."""

    def among(open: Tensor, one: Tensor, other: Tensor) -> Tensor:
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            raise ValueError(
                f"{new.key}: expected one shape and dtype, whichever op a row gets; got "
                f"{tuple(one.shape)} {one.dtype} and {tuple(other.shape)} {other.dtype}"
                f"{'; mixes give one form with num_classes' if new.key == 'class' else ''}"
            )
        return torch.where(open, one, other)

    if new.value is old.value:
        return new
    if new.valid is not old.valid:  # rows were mixed
        mixed = [v for v in (new.valid, old.valid) if v is not None]
        one, other = (torch.ones_like(mixed[0]) if v is None else v for v in (new.valid, old.valid))
        new = replace(new, valid=among(rows.view(-1, *(1 for _ in one.shape[1:])), one, other))
    if isinstance(new.value, list):
        pairs = enumerate(zip(new.value, old.value, strict=True))
        return replace(new, value=[among(rows[i], one, other) for i, (one, other) in pairs])
    mask = rows.view(*rows.shape, *(1 for _ in new.value.shape[dims:]))
    return replace(new, value=among(mask, new.value, old.value))


def check_batch(
    targets: Sequence[Target], rows: int, size: tuple[int, int] | None, device: torch.device | None = None
) -> None:
    """Require that all targets have as many rows as the image, and masks and further images its size."""
    for target in targets:
        if target.key == "class":
            continue
        parts = target.value if isinstance(target.value, list) else [target.value]
        if device is not None and parts and parts[0].device.type != device.type:
            raise ValueError(f"{target.key}: expected on {device}, as the image is; got {parts[0].device}")
        if len(target.value) != rows:
            raise ValueError(f"{target.key}: expected {rows} rows, as the image has; got {len(target.value)}")
        for part in parts:
            if target.kind.framed and size is not None and tuple(part.shape[-2:]) != size:
                raise ValueError(
                    f"{target.key}: expected the image's height and width {size}, got shape {tuple(part.shape)}"
                )
