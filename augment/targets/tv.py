"""torchvision's types of tensors, known without torchvision."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..common.dtypes import load
from . import boxes as bx
from .keys import KEYS, key_in_dict

KINDS = {"Image": "image", "Video": "video", "Mask": "mask", "BoundingBoxes": "bbox", "KeyPoints": "keypoints"}


def kind(value: Any) -> str | None:
    """The name of torchvision's type that a value has; None for any other value."""
    if not isinstance(value, Tensor) or type(value) is Tensor or type(value) is nn.Parameter:
        return None
    module: Any = sys.modules.get("torchvision.tv_tensors")  # not there: nothing can be of its types
    if module is None or not isinstance(value, module.TVTensor):
        return None
    return next((name for name in KINDS if hasattr(module, name) and isinstance(value, getattr(module, name))), None)


def found(value: Any, name: str | None = None) -> bool:
    """Whether there is one of torchvision's types, or the one of a name, in lists, tuples and dicts."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return any(found(part, name) for part in value)
    own = kind(value)
    return own is not None and name in (None, own)


FORMATS = {"XYXY": "bbox_xyxy", "XYWH": "bbox_xywh", "CXCYWH": "bbox_xyxy"}  # the key; bbox for the rotated ones
Run = Callable[..., Any]


def refuse_clips(values: Any, clips: bool) -> None:
    """Refuse torchvision's videos where a container takes plain ones, in a format that it was told."""
    if clips and found(values, "Video"):
        raise TypeError(
            "Video: expected a plain tensor in the data_format of the VideoSequential; use as_subclass(Tensor)"
        )


@dataclass(frozen=True)
class Part:
    """One value of a call that follows the ops, as it came: its key, and the value, a tensor or a list."""

    key: str
    value: Any

    @property
    def like(self) -> Any:
        """The tensor, or the first one of a list."""
        return self.value[0] if isinstance(self.value, list) and self.value else self.value

    @property
    def format(self) -> str | None:
        """The name of the format of boxes; None for what are no boxes of torchvision's."""
        return self.like.format.name if kind(self.like) == "BoundingBoxes" else None

    def check_canvas(self, size: tuple[int, int], what: str) -> None:
        """Require that labels say the size of the image."""
        canvas = tuple(getattr(self.like, "canvas_size", size)) if kind(self.like) else size
        if canvas != size:
            raise ValueError(f"{type(self.like).__name__}: expected the canvas_size {size} of {what}, got {canvas}")

    def enter(self, single: bool) -> tuple[list[str], list[Any]]:
        """The keys and the values, as a batch, that are handed to a container."""
        if self.key == "class":
            return ["class"], [self.value]
        if isinstance(self.value, list):
            return [self._key], [[self._inner(_bare(entry)) for entry in self.value]]
        value = _bare(self.value)
        if self.key == "video":
            frames = list((value.unsqueeze(0) if single else value).unbind(1))
            return ["image"] * len(frames), frames
        if self.key == "keypoints":
            return ["keypoints"], [value.reshape(1 if single or value.ndim == 2 else len(value), -1, 2)]
        return [self._key], [self._inner(value[(None,) * self._added(single)])]

    def leave(self, outputs: list[Any], single: bool, size: tuple[int, int]) -> Any:
        """Give what came out the type and the rank of what went in."""
        if self.key == "class":
            return outputs[0]
        if isinstance(self.value, list):
            return [_wrap(self._outer(new), old, size) for new, old in zip(outputs[0], self.value, strict=True)]
        if self.key == "video":
            output = torch.stack(outputs, 1)
            return _wrap(output[0] if single else output, self.value, size)
        if self.key == "keypoints":
            same = outputs[0].numel() == self.value.numel()
            alone = single or self.value.ndim == 2
            output = outputs[0].view(self.value.shape) if same else outputs[0][0] if alone else outputs[0]
            return _wrap(output, self.value, size)
        return _wrap(self._outer(outputs[0][(0,) * self._added(single)]), self.value, size)

    @property
    def _key(self) -> str:
        return self.key if self.format is None else FORMATS.get(self.format, "bbox")

    def _added(self, single: bool) -> int:
        """Give how many dimensions a value lacks to be a batch; a mask of a batch may lack that of channels."""
        key = KEYS.get(self.key)
        most = 3 if self.format else 4 if key is None else key.ranks[1]
        labels = self.format is not None or (key is not None and key.placed)
        return max(most - self.value.ndim, 0) if single or labels else 0

    def _inner(self, value: Tensor) -> Tensor:
        """Give boxes in the form of the key."""
        if self.format in (None, "XYXY", "XYWH"):
            return value
        value = load(value)
        if self.format == "CXCYWH":
            return bx.from_centres(value)
        return value.unflatten(-1, (4, 2)) if self.format == "XYXYXYXY" else bx.corners(value, self.format == "CXCYWHR")

    def _outer(self, value: Tensor) -> Tensor:
        """Give boxes in their own format and dtype."""
        if self.format in (None, "XYXY", "XYWH"):
            return value
        if self.format == "CXCYWH":
            value = bx.to_centres(value)
        elif self.format == "XYXYXYXY":
            value = bx.clockwise(value).flatten(-2)
        else:
            value = bx.rotated(value, self.format == "CXCYWHR")
        dtype = self.like.dtype
        return value.to(dtype) if dtype.is_floating_point else value.round().to(dtype)


def _bare(value: Tensor) -> Tensor:
    return value.as_subclass(Tensor) if kind(value) else value


def _wrap(output: Tensor, like: Tensor, size: tuple[int, int]) -> Tensor:
    """Give an output the type of an input, what that says of itself, and the size of the image as its canvas."""
    if kind(like) is None:
        return output
    wrapped = output.as_subclass(type(like))
    for name, value in vars(like).items():
        setattr(wrapped, name, size if name == "canvas_size" else value)
    return wrapped


# --------------------------------------------------------------------------------------------------------- structures


def _collect(value: Any, name: Any, place: str | None, parts: list[Part]) -> Any:
    """Take the parts out of a value, by its name in a dict, or as what its place says, and give it with them inside."""
    if isinstance(value, Mapping):
        return {key: _collect(part, key, None, parts) for key, part in value.items()}
    if isinstance(value, (list, tuple)) and not _is_batch(value) and (found(value) or name is None):
        return _like(value, [_collect(part, None, None, parts) for part in value])
    key = _key_of(value, name, place)
    if key is None:
        return value
    parts.append(Part(key, value))
    return parts[-1]


def _filled(form: Any, outputs: Iterator[Any]) -> Any:
    """Give lists, tuples and dicts with an output in the place of each part."""
    if isinstance(form, Part):
        return next(outputs)
    if isinstance(form, Mapping):
        return {key: _filled(part, outputs) for key, part in form.items()}
    return _like(form, [_filled(part, outputs) for part in form]) if isinstance(form, (list, tuple)) else form


def _like(value: Any, parts: list[Any]) -> Any:
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def _is_batch(value: Any) -> bool:
    """Whether a list holds the labels of one kind for each image of a batch."""
    kinds = {kind(part) for part in value} if isinstance(value, list) else set()
    return len(kinds) == 1 and next(iter(kinds)) in ("Mask", "BoundingBoxes", "KeyPoints")


def _key_of(value: Any, name: Any, given: str | None) -> str | None:
    """What a value is: by its type, or by its place or name; None to hand it through."""
    named = kind(value[0]) if isinstance(value, list) and _is_batch(value) else kind(value)
    if named is not None:
        return KINDS[named]
    return given if name is None else key_in_dict(name, value)


def _is_single(parts: Sequence[Part]) -> bool:
    """Whether a call is about one image, without a dimension for a batch."""
    most = {"image": 3, "video": 4, "mask": 3}
    frames = [p for key in most for p in parts if p.key == key and isinstance(p.value, Tensor)]
    if frames:
        return frames[0].value.ndim <= most[frames[0].key]
    return not any(isinstance(p.value, list) or p.value.ndim > 2 for p in parts if p.key in ("bbox", "keypoints"))


def call(run: Run, args: Sequence[Any], data_keys: Sequence[str] | None = None, **options: Any) -> Any:
    """Unwrap the values of a call, run it, and wrap what comes out.

    Args:
        run: takes values and ``data_keys``, as ``AugmentationSequential`` does.
        args: the arguments: values, or lists, tuples and dicts of them; what is not known is handed through.
        data_keys: what positional values without one of torchvision's types are.
        **options: handed on.

    Returns:
        As ``run`` does for values, or the lists, tuples and dicts of the arguments with new values.
    """
    given = data_keys if data_keys is not None and len(data_keys) == len(args) else [None] * len(args)
    parts: list[Part] = []
    forms = [_collect(arg, None, place, parts) for arg, place in zip(args, given, strict=True)]
    outputs = _outputs(run, parts, _is_single(parts), options)
    results = [_filled(form, outputs) for form in forms]
    return results[0] if len(results) == 1 else results


def _outputs(run: Run, parts: Sequence[Part], single: bool, options: Mapping[str, Any]) -> Iterator[Any]:
    """Run a call of parts; where there is no image and no mask, an empty mask says the size."""
    entered = [part.enter(single) for part in parts]
    keys = [key for names, _ in entered for key in names]
    values = [value for _, several in entered for value in several]
    frames = [v for k, v in zip(keys, values, strict=True) if k in ("image", "mask") and isinstance(v, Tensor)]
    if not frames:
        size = next(tuple(part.like.canvas_size) for part in parts if kind(part.like))
        keys, values = [*keys, "mask"], [*values, torch.zeros(len(values[0]), 1, *size, dtype=torch.uint8)]
        values[-1] = values[-1].to(parts[0].like.device)
    like = (frames or values[-1:])[0]
    size = (like.shape[-2], like.shape[-1])
    for part in parts:
        part.check_canvas(size, "the image" if frames else "all labels")
    outputs = run(*values, data_keys=keys, **options)
    outputs = [outputs] if len(values) == 1 else list(outputs)
    framed = next(v for k, v in zip(keys, outputs, strict=True) if k in ("image", "mask") and isinstance(v, Tensor))
    canvas = (framed.shape[-2], framed.shape[-1])
    moved = iter(outputs)
    for part, (names, _) in zip(parts, entered, strict=True):
        yield part.leave([next(moved) for _ in names], single, canvas)
