"""Values of videos: as they come, with a dimension of frames, and as batches in which every frame is a row."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ..sampling.copies import repeat_rows
from . import target as tg
from .grids import same
from .keys import KEYS, is_image
from .target import Target, Value

FORMATS = ("BTCHW", "BCTHW")


def as_targets(values: Sequence[Value], keys: Sequence[str]) -> list[Target]:
    """Take the values of a call, one for each key, as they come."""
    return tg.checked([_as_target(key, value) for key, value in zip(keys, values, strict=True)])


def _as_target(key: str, value: Any) -> Target:
    if key == "class":
        return Target(key, value)
    listed = isinstance(value, (list, tuple))
    parts = list(value) if listed else [value]
    if not all(isinstance(part, Tensor) for part in parts) or (listed and key == "image"):
        raise TypeError(f"{key}: expected a tensor{'' if key == 'image' else ', or a list of them'}, got {value!r:.80}")
    if key == "image" and not is_image(parts[0]):
        raise TypeError(f"{key}: expected a floating or uint8 image, got {parts[0].dtype}")
    tail = KEYS[key].tail
    ranks = {"image": (5,), "mask": (3, 4) if listed else (4, 5)}.get(key, (len(tail) + (2 if listed else 3),))
    for part in parts:
        if part.ndim not in ranks or tuple(part.shape[part.ndim - len(tail) :]) != tail:
            known, form = " or ".join(map(str, ranks)), f", the last being {tail}" if tail else ""
            raise ValueError(
                f"{key}: expected a video: {known} dimensions{' in each entry' if listed else ''}, one of them that of "
                f"frames{form}; got shape {tuple(part.shape)}"
            )
    return Target(key, parts if listed else value)


def frames_of(targets: Sequence[Target], data_format: str) -> int:
    """The number of frames, which all targets have to share."""
    counts = {}
    for i, target in enumerate(targets):
        value = target.value
        if target.key != "class":
            listed = isinstance(value, list)
            counts[i] = [len(entry) for entry in value] if listed else [value.shape[_dim(target, data_format)]]
    numbers = [number for found in counts.values() for number in found]
    for i, found in counts.items():
        if any(number != numbers[0] for number in found):
            raise ValueError(
                f"{targets[i].key}: expected {numbers[0]} frames, as {targets[0].key} has in {data_format}; "
                f"got {next(number for number in found if number != numbers[0])}"
            )
    if 0 in numbers:
        raise ValueError(f"{targets[0].key}: expected at least one frame in {data_format}, got none")
    return numbers[0] if numbers else 1


def _dim(target: Target, data_format: str) -> int:
    """The dimension of frames of a tensor."""
    return 2 if target.kind.framed and target.value.ndim == 5 and data_format == "BCTHW" else 1


def apart(target: Target, data_format: str) -> Target:
    """A value of a video with every frame as a row; classes stay as they are."""
    value = target.value
    if target.key == "class":
        return target
    valid = None if target.valid is None else target.valid.flatten(0, 1)
    if isinstance(value, list):
        return replace(target, value=[frame for entry in value for frame in entry.unbind(0)], valid=valid)
    rows = value.transpose(1, _dim(target, data_format)).flatten(0, 1)
    if target.key == "mask" and value.ndim == 4:
        rows = rows.unsqueeze(1)
    return replace(target, value=rows, valid=valid)


def together(rows: Target, start: Target, given: Target, data_format: str, frames: int) -> Target:
    """A value as a video again; ``start`` is what ``given`` was as rows, and comes back itself if it still is."""
    if same(rows.value, start.value) and rows.valid is start.valid:
        return given

    def clip(value: Tensor) -> Tensor:
        return value.unflatten(0, (value.shape[0] // frames, frames))

    value, valid = rows.value, given.valid
    if rows.valid is not start.valid:
        valid = None if rows.valid is None else clip(rows.valid)
    if isinstance(value, list):
        return replace(given, value=_stacked(value, frames), valid=valid)
    video = clip(value)
    if rows.key == "mask" and given.value.ndim == 4:
        return replace(given, value=video.squeeze(2), valid=valid)
    return replace(given, value=video.transpose(1, _dim(given, data_format)), valid=valid)


def classes_apart(target: Target, frames: int) -> Target:
    """The classes that a mix shall mix with every frame as a row: those of clips, or of frames (B, T, ...)."""
    value = target.value
    if isinstance(value, (list, tuple)) and all(isinstance(entry, Tensor) and entry.ndim for entry in value):
        return replace(target, value=[row for entry in value for row in _by_frame(entry, frames)])
    if not isinstance(value, Tensor) or value.ndim == 0:
        return target
    if _of_clips(value):
        return replace(target, value=repeat_rows(value, frames))
    if value.shape[1] != frames:
        raise ValueError(f"class: expected (B,), or (B, {frames}, ...) for frames; got shape {tuple(value.shape)}")
    return replace(target, value=value.flatten(0, 1))


def classes_together(rows: Target, given: Target, frames: int, same: bool) -> Target:
    """Give mixed classes by clip: as those of its first frame where all are the ``same``, else for every frame."""
    value, b = rows.value, len(given.value)
    if isinstance(value, list):
        pairs = zip(_stacked(value, frames), given.value, strict=True)
        return replace(given, value=[new[0] if same and old.ndim == 1 else new for new, old in pairs])
    dim = 0 if value.shape[0] == b * frames else 1  # rows of several rectangles stand first
    value = value.unflatten(dim, (b, frames))
    return replace(given, value=value.select(dim + 1, 0) if same and _of_clips(given.value) else value)


def _stacked(rows: list[Tensor], frames: int) -> list[Tensor]:
    return [torch.stack(rows[i : i + frames]) for i in range(0, len(rows), frames)]


def _by_frame(classes: Tensor, frames: int) -> Sequence[Tensor]:
    """The classes (n,) of what is in a clip, or (T, n), for every frame."""
    if classes.ndim == 1:
        return [classes] * frames
    if len(classes) != frames:
        raise ValueError(f"class: expected entries (n,), or ({frames}, n) for frames; got shape {tuple(classes.shape)}")
    return classes.unbind(0)


def _of_clips(value: Tensor) -> bool:
    return value.ndim == 1 or (value.ndim == 2 and value.is_floating_point())


def of_clips(boxes: Tensor | None, frames: int) -> Tensor | None:
    """Show every frame (B * T, N, 4) the boxes of all frames of its clip."""
    if boxes is None or frames == 1:
        return boxes
    clips = boxes.unflatten(0, (boxes.shape[0] // frames, frames)).flatten(1, 2)
    return clips.repeat_interleave(frames, 0)
