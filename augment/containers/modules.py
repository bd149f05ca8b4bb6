"""Modules that are no ops: what they make of images, and what may stand behind them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from ..common.checks import check
from ..common.types import Params
from ..kernels.mixing import maths as mx
from ..kinds.augmentation import Augmentation
from ..sampling.items import ParamItem, drawn
from ..targets import samples as values
from ..targets import target as tg
from ..targets.keys import is_image
from ..targets.target import Target
from .steps import Call, Step, copied_child, draw_child


@dataclass
class Later:
    """In place of the parameters of a container: they are drawn child by child, for the images that come to each.

    Args:
        generator: where to draw from; None for the default one of the device.
        after: what was drawn before, which every draw comes after.
    """

    generator: torch.Generator | None
    after: Sequence[Tensor]


def apply_module(module: nn.Module, targets: Sequence[Target], data: Params | None, call: Call) -> list[Target]:
    """Apply a module that is no op, and which is where ``call`` says, to the images.

    Where it has a gate, it is applied to the rows that were chosen. Labels cannot follow a change of size.
    """
    moved = [replace(t, value=module(t.value)) if t.key == "image" else t for t in targets]
    for new, old in zip(moved, targets, strict=True):
        if new is not old:
            _check_module(new.value, old.value, targets, call, call.still or data is not None)
    if data is None:
        return moved
    return [tg.pick(data["batch_prob"] > 0.5, new, old) for new, old in zip(moved, targets, strict=True)]


def _check_module(new: Any, old: Tensor, targets: Sequence[Target], call: Call, still: bool) -> None:
    """Refuse what labels, or what stands behind, cannot follow."""
    if not isinstance(new, Tensor):
        raise TypeError(f"{call.where}: expected a module that gives a tensor, got {type(new).__name__}")
    got = f"got {tuple(new.shape)} from {tuple(old.shape)}"
    if still and new.shape != old.shape:
        raise ValueError(
            f"{call.where}: expected a module that keeps the shape of images inside a choice or patches; {got}"
        )
    placed = [t.key for t in targets if t.key not in ("image", "class") and not t.watched]
    rowed = [t.key for t in targets if t.key == "class" and new.shape[:1] != old.shape[:1]]
    if (*new.shape[:1], *new.shape[2:]) != (*old.shape[:1], *old.shape[2:]) and [*placed, *rowed]:
        raise ValueError(
            f"{call.where}: expected a module that keeps the size of images, for {[*placed, *rowed][0]} does not "
            f"follow it; {got}"
        )


def check_images(targets: Sequence[Target], where: str) -> None:
    """Require of what comes to an op to be images still."""
    for target in targets:
        if target.key == "image" and not (target.value.ndim in (4, 5) and is_image(target.value)):
            raise ValueError(
                f"{where}: expected images (B, C, H, W), floating or uint8, from the modules before it; got "
                f"{tuple(target.value.shape)} {target.value.dtype}"
            )


def draw_late(child: nn.Module, shape: Sequence[int], device: torch.device, later: Later, frames: int) -> Any:
    """Draw for what comes to a child, of ``shape``; a clip's first frame draws for all of them."""
    own = draw_child(child, (shape[0] // frames, *shape[1:]), later.generator, device, later.after, None)
    later.after = [*later.after, *drawn(own)]
    return copied_child(child, own, frames, 1, None) if frames > 1 else own


def draw_run(steps: list[Step], targets: Sequence[Target], call: Call) -> list[Step]:
    """Draw for a run of ops what comes to each, where that was left to the call."""
    later, ready = steps[0].item.data, []
    if not isinstance(later, Later):
        return steps
    check_images(targets, steps[0].where)
    shape, device = values.shape_of(targets)
    for step in steps:
        op = step.child
        assert isinstance(op, Augmentation)
        data = draw_late(op, shape, device, later, call.frames)
        ready.append(replace(step, item=ParamItem(step.item.name, data)))
        shape = (*shape[:-2], *op.output_size((shape[-2], shape[-1])))
    return ready


def believed_size(step: Step, targets: Sequence[Target], believed: Sequence[int] | None) -> Sequence[int] | None:
    """Refuse handed-in parameters that were drawn as if the modules before an op had kept the size.

    Args:
        step: what runs next.
        targets: what comes to it.
        believed: the (h, w) that came to the modules just before; None behind an op.

    Returns:
        The same for the step behind.
    """
    like = tg.frame(targets)
    if like is None:
        return None
    size = (like.shape[-2], like.shape[-1])
    shape = _drawn_shape(step.item.data)
    if shape is None:
        return size if believed is None else believed
    if believed is not None and tuple(believed) != size:
        other = (shape[-2:] != mx.sizes(believed, shape.device)).any()
        check(other, None, f"{step.where}: params: expected those drawn for the size that the modules before it give")
    return None


def _drawn_shape(data: Any) -> Tensor | None:
    """Give the shape that the first parameters of a child say they were drawn for."""
    if isinstance(data, dict):
        shape = data.get("forward_input_shape")
        return shape if isinstance(shape, Tensor) and shape.ndim == 1 else None
    parts = data if isinstance(data, (list, tuple)) else []
    shapes = (_drawn_shape(part[1]) for part in parts if isinstance(part, (list, tuple)) and len(part) == 2)
    return next((shape for shape in shapes if shape is not None), None)
