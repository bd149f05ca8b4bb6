"""torchvision's types of tensors, known without torchvision."""

import sys
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

KINDS = {"Image": "image", "Video": "video", "Mask": "mask", "BoundingBoxes": "bbox", "KeyPoints": "keypoints"}


def kind(value: Any) -> str | None:
    """Give the name of torchvision's type that a value has; None for any other value."""
    if not isinstance(value, Tensor) or type(value) is Tensor or type(value) is nn.Parameter:
        return None
    module: Any = sys.modules.get("torchvision.tv_tensors")  # not there: nothing can be of its types
    if module is None or not isinstance(value, module.TVTensor):
        return None
    return next((name for name in KINDS if hasattr(module, name) and isinstance(value, getattr(module, name))), None)


def found(value: Any) -> bool:
    """Whether there is one of torchvision's types in lists, tuples and dicts."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return any(found(part) for part in value)
    return kind(value) is not None


def through(op: Any, input: Any, params: Any, inverse: bool = False, generator: Any = None, **flags: Any) -> Any:
    """Call one op, or its inverse, with torchvision's types: an image by itself, or what a container takes."""
    from .containers import AugmentationSequential  # which needs ops, as do calls
    from .wrapping import call

    def run(*values: Tensor, data_keys: list[str]) -> Any:
        if data_keys == ["image"]:
            return op.inverse(*values, params, **flags) if inverse else op(*values, params, generator, **flags)
        container = AugmentationSequential(op, data_keys=data_keys, extra_args={"image": flags} if flags else None)
        used = op._params if inverse and params is None else params
        items = None if used is None else [(f"{type(op).__name__}_0", used)]
        return (
            container.inverse(*values, params=items)
            if inverse
            else container(*values, params=items, generator=generator)
        )

    return call(run, [input])
