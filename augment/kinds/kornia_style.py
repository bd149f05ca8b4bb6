"""Classes in kornia's style: what serves the hooks that a user's class overrides.

A user's class may override ``generate_parameters``, ``compute_transformation``, ``apply_transform``,
``apply_transform_mask`` and ``inverse_transform``, may have one of kornia's generators as ``_param_generator``, and may
write into what it is given. ``adapt`` gives such a class, when it is defined, the methods that call them; the base
classes know nothing of it.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Any

import torch
from torch import Tensor

from ..common.dtypes import load, store
from ..common.types import Flags, Params
from ..maps.warp import Homography, Warp
from ..sampling.draw import Draw

HOOKS = (
    "generate_parameters",
    "compute_transformation",
    "apply_transform",
    "apply_transform_mask",
    "transform_image",
    "transform_mask",
    "inverse_transform",
)
EXACT_IN_FLOAT32 = (
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.float16,
    torch.bfloat16,
    torch.float32,
)


def adapt(cls: Any) -> None:
    """Give a class the methods that serve the hooks which it overrides.

    A hook is served where no class has said the method itself, as our ops say their warps. ``overrides`` are the hooks
    that differ from those of the kind.
    """
    cls.overrides = frozenset(hook for hook in HOOKS if getattr(cls, hook, None) is not getattr(cls.kind, hook, None))
    for hook, name, method in SERVED[cls.kind.__name__]:
        if hook in cls.overrides and getattr(cls, name) is getattr(cls.kind, name):
            setattr(cls, name, method)


# ------------------------------------------------------------------------------------------------------------- drawing


def generated(self: Any, draw: Draw, shape: Sequence[int]) -> Params:
    """The parameters of a user's ``generate_parameters``, on the device of the image."""
    return on_device(self.generate_parameters(shape), draw.device)


def generated_by_kornia(self: Any, draw: Draw, shape: Sequence[int]) -> Params:
    """The parameters of one of kornia's generators, on the device of the image."""
    return on_device(self._param_generator(shape, self.same_on_batch), draw.device)


def on_device(params: Params | None, device: torch.device) -> Params:
    """Parameters where the image is."""
    return {k: v.to(device) if isinstance(v, Tensor) else v for k, v in (params or {}).items()}


# -------------------------------------------------------------------------------------------------------------- images


def intensity_image(self: Any, image: Tensor, params: Params, flags: Flags, gate: Tensor | None) -> Tensor:
    """The image of a user's ``apply_transform``, which may write over what it is given; skipped rows stay."""
    work = _guarded(load(image, unit=True), image)
    matrix = self.compute_transformation(work, params, flags) if "compute_transformation" in self.overrides else None
    output = self.apply_transform(work, params, flags, matrix)
    if output.shape != image.shape:
        name, expected = type(self).__name__, tuple(image.shape)
        raise ValueError(f"{name}: apply_transform: expected shape {expected}, got {tuple(output.shape)}")
    return self.select(gate, store(output, image.dtype, unit=True), image)


def _guarded(work: Tensor, input: Tensor) -> Tensor:
    return work.clone() if work is input else work


def warp_by_matrix(self: Any, input: Tensor, params: Params, flags: Flags) -> Homography:
    """The warp of a user's ``compute_transformation``."""
    matrix = self.compute_transformation(load(input, unit=True), params, flags)
    size = (input.shape[-2], input.shape[-1])
    matrix = matrix.to(torch.promote_types(matrix.dtype, torch.float32)).expand(input.shape[0], -1, -1)
    return Homography(matrix, size, self.output_size(size))


def geometric_image(
    self: Any, image: Tensor, params: Params, flags: Flags, gate: Tensor | None, warp: Warp | None = None
) -> Tensor:
    """The image of a user's ``apply_transform``, with skipped rows as they were."""
    self.check_shape(image.shape, flags)
    moved: Warp = self.gated_warp(image, params, flags, gate) if warp is None else warp
    work = _guarded(load(image, unit=True), image)
    output = store(self.apply_transform(work, params, flags, moved.matrix), image.dtype, unit=True)
    return self.select(gate, output, image)


def geometric_mask(
    self: Any, mask: Tensor, params: Params, gate: Tensor | None, flags: Flags, warp: Warp | None, options: Flags
) -> Tensor:
    """A mask through a user's ``apply_transform_mask``, or else its ``apply_transform`` with the nearest pixels."""
    moved: Warp = self.gated_warp(mask, params, flags, gate) if warp is None else warp
    mode = flags.get("resample")
    nearest = {**flags, "resample": type(mode)["NEAREST"] if isinstance(mode, Enum) else "nearest", **options}
    exact = mask.dtype in EXACT_IN_FLOAT32
    work, matrix = (mask.float(), moved.matrix.float()) if exact else (mask.double(), moved.matrix.double())
    apply = self.apply_transform_mask if "apply_transform_mask" in self.overrides else self.apply_transform
    output = apply(_guarded(work, mask), params, nearest, matrix)
    output = output if mask.is_floating_point() else output.round()
    return self.select(gate, output.to(mask.dtype), mask)


def image_back(self: Any, image: Tensor, warp: Warp, flags: Flags) -> Tensor:
    """An image through a user's ``inverse_transform``."""
    return store(self.inverse_transform(load(image, True), flags, warp.matrix, warp.size), image.dtype, unit=True)


DRAWN = (("generate_parameters", "drawn", generated),)
SERVED = {  # by the kind of the class: a hook, and the method that is to ask it
    "Augmentation": DRAWN,
    "Intensity": DRAWN,
    "Mix": DRAWN,
    "Geometric": (
        *DRAWN,
        ("compute_transformation", "warp", warp_by_matrix),
        ("apply_transform", "transform_image", geometric_image),
        ("apply_transform", "transform_mask", geometric_mask),
        ("apply_transform_mask", "transform_mask", geometric_mask),
        ("inverse_transform", "image_back", image_back),
    ),
}
