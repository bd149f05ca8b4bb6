"""How a warp moves the values that travel with the image."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ..common.arguments import label_values
from ..common.types import Flags, Params
from ..kinds.augmentation import Augmentation
from ..kinds.geometric import Geometric
from ..maps.warp import Warp
from ..sampling.params import of_call
from . import visibility
from .keys import SPATIAL, Value
from .target import Target, check_batch, frame, pick


def flags_for(op: Augmentation, options: Mapping[str, Flags]) -> Flags:
    """Give the flags of an op in a call, with the options for images that it knows."""
    return op.override_flags({k: v for k, v in options.get("image", {}).items() if k in op.flags})


def transform(
    op: Augmentation,
    targets: Sequence[Target],
    params: Params,
    gate: Tensor | None,
    flags: Flags,
    options: Mapping[str, Flags],
) -> list[Target]:
    """Apply one op to all targets of a call."""
    warp = None
    if isinstance(op, Geometric):
        like = frame(targets)
        warp = op.gated_warp(op.reference(params) if like is None else like, params, flags, gate)

    def moved(target: Target) -> Value:
        key, value, chosen = target.key, target.value, options.get(target.key, {})
        if key == "image":
            return op.transform_image(value, params, flags, gate, warp)
        if key == "mask" and isinstance(value, list):
            rows = [op.row(params, gate, i) for i in range(len(value))]
            return [
                _as_channels(
                    lambda m, i=i: op.transform_mask(m, *rows[i], flags, warp and warp[i], fitting(chosen, m)), v
                )
                for i, v in enumerate(value)
            ]
        if key == "mask":
            return op.transform_mask(value, params, gate, flags, warp, fitting(chosen, value))
        if warp is None or key not in SPATIAL:
            return value
        if target.watched:
            return watched_after(op, target, warp, gate)
        return move(key, value, warp, gate, chosen)

    return [replace(target, value=moved(target)) for target in targets]


def watched_after(op: Augmentation, target: Target, warp: Warp, gate: Tensor | None) -> Value:
    """Move what is watched, and lose what the op cuts off; by centres only in the rows that it changes."""
    value = move(target.key, target.value, warp, gate, {})
    seen = _each(value, lambda v: visibility.cut(target.key, v, warp.size))
    if not (isinstance(op, Geometric) and op.keeps_by_center):
        return seen
    held = _each(value, lambda v: visibility.cut(target.key, v, warp.size, True))
    return held if gate is None else pick(gate, replace(target, value=held), replace(target, value=seen)).value


def fitting(options: Flags, mask: Tensor) -> Flags:
    """Require a fill that a mask (B, C, H, W) can hold."""
    if "fill" in options:
        label_values(options["fill"], mask, "extra_args['mask']['fill']")
    return options


def invert(
    op: Geometric, targets: Sequence[Target], params: Params, options: Mapping[str, Flags], where: str
) -> list[Target]:
    """Lead all targets of a call back through one op; ``where`` is the path to it."""
    params, _ = of_call(op, params, where)
    warp = op.last_warp(params).inverse()
    check_batch(targets, len(params["batch_prob"]), None)
    return moved_by(warp, targets, op.gate(params), options, lambda image: op.inverse(image, params), {})


def moved_by(
    warp: Warp,
    targets: Sequence[Target],
    gate: Tensor | None,
    options: Mapping[str, Flags],
    image: Callable[[Tensor], Tensor],
    sampling: Flags,
) -> list[Target]:
    """Move all targets by one warp: images by a function, masks with ``sampling``."""

    def mask(value: Tensor, warp: Warp, chosen: Flags) -> Tensor:
        return warp.mask(value, **{**sampling, **fitting(chosen, value)})

    def moved(target: Target) -> Value:
        key, value, chosen = target.key, target.value, options.get(target.key, {})
        if key == "image":
            return image(value)
        if key == "mask" and isinstance(value, list):
            return [_as_channels(lambda m, i=i: mask(m, warp[i], chosen), v) for i, v in enumerate(value)]
        if key == "mask":
            return mask(value, warp, chosen)
        if target.watched:
            return _each(move(key, value, warp, gate, {}), lambda v: visibility.cut(key, v, warp.size))
        return move(key, value, warp, gate, chosen) if key in SPATIAL else value

    return [replace(target, value=moved(target)) for target in targets]


def _as_channels(fn: Callable[[Tensor], Tensor], mask: Tensor) -> Tensor:
    """Apply a function of (1, C, H, W) to a mask of one row, (..., H, W)."""
    batch = mask.reshape(1, -1, *mask.shape[-2:])
    output = fn(batch)
    return mask if output is batch else output.reshape(*mask.shape[:-2], *output.shape[-2:])


def move(key: str, value: Value, warp: Warp, gate: Tensor | None, options: Flags) -> Value:
    """Move boxes or points; other precisions and integers are worked on in float32.

    A row with a closed gate stays as it is, bit for bit, where the op keeps the size.
    """
    if isinstance(value, list):
        gates = [None if gate is None else gate[i : i + 1] for i in range(len(value))]
        return [move(key, v.unsqueeze(0), warp[i], gates[i], options).squeeze(0) for i, v in enumerate(value)]
    work = value if value.dtype == torch.float64 else value.float()
    if key == "keypoints":
        work = warp.points(work)
    elif key == "bbox":
        work = warp.corners(work)
    elif key == "bbox_xyxy":
        work = warp.boxes(work)
    else:
        work = warp.boxes(torch.cat([work[..., :2], work[..., :2] + work[..., 2:]], -1))
    if options.get("clip"):
        work = clip(key, work, warp.size)
    if key == "bbox_xywh":
        work = torch.cat([work[..., :2], work[..., 2:] - work[..., :2]], -1)
    moved = work.to(value.dtype) if value.is_floating_point() else work.round().to(value.dtype)
    if gate is None or warp.size != warp.input_size:
        return moved
    return torch.where(gate.view(-1, *(1 for _ in value.shape[1:])), moved, value)


def as_xyxy(key: str, boxes: Tensor) -> Tensor:
    """Give boxes of any form as (B, N, 4), x1, y1, x2, y2, in float32 or float64."""
    boxes = boxes if boxes.dtype == torch.float64 else boxes.float()
    if key == "bbox":
        return torch.cat([boxes.amin(-2), boxes.amax(-2)], -1)
    if key == "bbox_xywh":
        return torch.cat([boxes[..., :2], boxes[..., :2] + boxes[..., 2:]], -1)
    return boxes


def from_xyxy(key: str, boxes: Tensor, dtype: torch.dtype) -> Tensor:
    """Give boxes (B, N, 4), x1, y1, x2, y2, or keypoints, in the form of a data key and in a dtype."""
    if key == "bbox":
        x1, y1, x2, y2 = boxes.unbind(-1)
        boxes = torch.stack([x1, y1, x2, y1, x2, y2, x1, y2], -1).unflatten(-1, (4, 2))
    elif key == "bbox_xywh":
        boxes = torch.cat([boxes[..., :2], boxes[..., 2:] - boxes[..., :2]], -1)
    return boxes.to(dtype) if dtype.is_floating_point else boxes.round().to(dtype)


def all_boxes(targets: Sequence[Target]) -> Tensor | None:
    """Give all boxes of a call as (B, N, 4), x1, y1, x2, y2, rows of a list filled up with empty ones; None without."""
    found = [t for t in targets if t.key.startswith("bbox") and not t.watched]
    padded = [pad_sequence(t.value, True) if isinstance(t.value, list) else t.value for t in found]
    boxes = [as_xyxy(t.key, value) for t, value in zip(found, padded, strict=True)]
    boxes = [
        b if t.valid is None else torch.where(t.valid.unsqueeze(-1), b, 0) for t, b in zip(found, boxes, strict=True)
    ]
    return torch.cat([b.to(boxes[0].dtype) for b in boxes], 1) if boxes else None


def watch(targets: Sequence[Target]) -> list[Target]:
    """Give targets that go through the ops beside the boxes and keypoints of a call, to tell what is still seen."""
    watched, like = [], frame(targets)
    for target in targets:
        if target.key not in SPATIAL:
            continue
        key = "keypoints" if target.key == "keypoints" else "bbox_xyxy"
        value = _each(target.value, lambda v, key=key, given=target.key: visibility.start(key, as_xyxy(given, v)))
        if like is not None:
            size = (like.shape[-2], like.shape[-1])
            value = _each(value, lambda v, key=key, size=size: visibility.cut(key, v, size))
        watched.append(replace(target, key=key, value=value, watched=True))
    return watched


def verdicts(watched: Sequence[Target], least: float) -> list[Target]:
    """Say of watched targets what is still seen, (B, N) bool or a list of (N,)."""
    found = [replace(t, value=_each(t.value, lambda v, t=t: visibility.verdict(t.key, v, least))) for t in watched]

    def among(target: Target) -> Target:
        if target.valid is None:
            return target
        if isinstance(target.value, list):
            return replace(target, value=[v & k for v, k in zip(target.value, target.valid, strict=True)])
        return replace(target, value=target.value & target.valid)

    return [among(target) for target in found]


def _each(value: Value, fn: Callable[[Tensor], Tensor]) -> Value:
    return [fn(v) for v in value] if isinstance(value, list) else fn(value)


def clip(key: str, value: Tensor, size: tuple[int, int]) -> Tensor:
    """Cut boxes, or points, to the image."""
    inner = 1 if key == "keypoints" else 0
    x, y = value[..., 0::2], value[..., 1::2]
    x, y = x.clamp(0, size[1] - inner), y.clamp(0, size[0] - inner)
    return torch.stack([x, y], -1).flatten(-2).view(value.shape)
