"""Modules that are no ops: what they make of images, and what may stand behind them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from ..common.checks import check
from ..common.types import Params
from ..kernels.mixing import maths as mx
from ..kinds.call import Call
from ..sampling.params import GATE, SHAPE
from ..targets import target as tg
from ..targets.keys import is_image
from ..targets.target import Target


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
    return [tg.pick(data[GATE] > 0.5, new, old) for new, old in zip(moved, targets, strict=True)]


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


def believed_size(
    data: Any, where: str, targets: Sequence[Target], believed: Sequence[int] | None
) -> Sequence[int] | None:
    """Refuse handed-in parameters that were drawn as if the modules before an op had kept the size.

    ``data`` and ``targets`` are the parameters of what runs next, and what comes to it; ``believed`` is the (h, w) that
    came to the modules just before, None behind an op. What comes back is the same for the step behind.
    """
    like = tg.frame(targets)
    if like is None:
        return None
    size = (like.shape[-2], like.shape[-1])
    shape = _drawn_shape(data)
    if shape is None:
        return size if believed is None else believed
    if believed is not None and tuple(believed) != size:
        other = (shape[-2:] != mx.sizes(believed, shape.device)).any()
        check(other, None, f"{where}: params: expected those drawn for the size that the modules before it give")
    return None


def _drawn_shape(data: Any) -> Tensor | None:
    """The shape that the first parameters of a child say they were drawn for."""
    if isinstance(data, dict):
        shape = data.get(SHAPE)
        return shape if isinstance(shape, Tensor) and shape.ndim == 1 else None
    parts = data if isinstance(data, (list, tuple)) else []
    shapes = (_drawn_shape(part[1]) for part in parts if isinstance(part, (list, tuple)) and len(part) == 2)
    return next((shape for shape in shapes if shape is not None), None)
