"""Geometric ops, which move pixels and labels."""

from collections.abc import Sequence
from enum import Enum
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..common.arguments import channel_values, choice, one_a_channel
from ..common.dtypes import load, store
from ..common.types import Flags, Params
from ..common.vocabulary import BORDER_MODES, RESAMPLE
from ..maps.warp import Homography, Warp
from ..sampling.params import drawn_shape, of_call
from ..targets import tv
from .augmentation import Augmentation

EXACT_IN_FLOAT32 = (
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.float16,
    torch.bfloat16,
    torch.float32,
)


class Geometric(Augmentation, kind=True):
    """Base class of the ops that move pixels, and with them masks, points and boxes.

    An op says which ``warp`` it is. A subclass in kornia's style says ``compute_transformation`` instead, and may
    compute the image by its own ``apply_transform``.

    Attributes:
        looks_at_boxes: whether a container's call shows its boxes to ``settle``.
        keeps_by_center: whether a box is lost when its centre is cut away, though a part of it may be left.
        composes: whether its warp can be one with others: lines stay straight, and edges are blended as anywhere.
        whole_pixels: whether it takes whole pixels, so that nothing is interpolated.
        looks_beyond: whether what lies beyond the image may come into the output.
        pads: whether it puts a frame round the image.
    """

    looks_at_boxes: ClassVar[bool] = False
    composes: ClassVar[bool] = True
    whole_pixels: ClassVar[bool] = False
    looks_beyond: bool = True
    pads: bool = False
    keeps_by_center: ClassVar[bool] = False

    def settle(self, params: Params, boxes: Tensor | None) -> Params:
        """Choose out of what was drawn, by the boxes (B, N, 4) of a call, x1, y1, x2, y2; by default nothing.

        What is chosen is recorded with the params, and parameters that are handed in are not settled again.
        """
        return params

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Warp:
        """Give the warp of a call from the parameters and the shape of the input (B, C, H, W)."""
        if "compute_transformation" not in self.overrides:
            raise NotImplementedError(f"{type(self).__name__}: neither warp nor compute_transformation is written")
        matrix = self.compute_transformation(load(input, unit=True), params, flags)
        size = (input.shape[-2], input.shape[-1])
        matrix = matrix.to(torch.promote_types(matrix.dtype, torch.float32)).expand(input.shape[0], -1, -1)
        return Homography(matrix, size, self.output_size(size))

    def compute_transformation(self, input: Tensor, params: Params, flags: Flags) -> Tensor:
        """Give the matrix (B, 3, 3) from input pixels to output pixels of a call, gate aside."""
        return self.warp(input, params, flags).matrix

    def gated_warp(self, input: Tensor, params: Params, flags: Flags, gate: Tensor | None) -> Warp:
        """Give the warp of a call, neutral where the gate is closed."""
        warp = self.warp(input, params, flags)
        return warp if gate is None else warp.gated(gate)

    def transform_image(
        self, image: Tensor, params: Params, flags: Flags, gate: Tensor | None, warp: Warp | None = None
    ) -> Tensor:
        self.check_shape(image.shape, flags)
        warp = self.gated_warp(image, params, flags, gate) if warp is None else warp
        if "apply_transform" not in self.overrides:
            return warp.image(image, **self.sampling(flags, image))
        work = self.guarded(load(image, unit=True), image)
        output = store(self.apply_transform(work, params, flags, warp.matrix), image.dtype, unit=True)
        return self.select(gate, output, image)

    def transform_mask(
        self, mask: Tensor, params: Params, gate: Tensor | None, flags: Flags, warp: Warp | None, options: Flags
    ) -> Tensor:
        warp = self.gated_warp(mask, params, flags, gate) if warp is None else warp
        if not {"apply_transform", "apply_transform_mask"} & self.overrides:
            return warp.mask(mask, **{"padding_mode": flags.get("padding_mode", "zeros"), **options})
        mode = flags.get("resample")
        nearest = {**flags, "resample": type(mode)["NEAREST"] if isinstance(mode, Enum) else "nearest", **options}
        exact = mask.dtype in EXACT_IN_FLOAT32
        work, matrix = (mask.float(), warp.matrix.float()) if exact else (mask.double(), warp.matrix.double())
        apply = self.apply_transform_mask if "apply_transform_mask" in self.overrides else self.apply_transform
        output = apply(self.guarded(work, mask), params, nearest, matrix)
        output = output if mask.is_floating_point() else output.round()
        return self.select(gate, output.to(mask.dtype), mask)

    def sampling(self, flags: Flags, image: Tensor) -> Flags:
        """Give the arguments of ``warp.image`` that are among the flags; a fill is on the scale of [0, 1]."""
        args: Flags = {}
        if "resample" in flags:
            args["resample"] = choice(flags["resample"], "resample", RESAMPLE)
        if "padding_mode" in flags:
            args["padding_mode"] = choice(flags["padding_mode"], "padding_mode", BORDER_MODES)
        if flags.get("fill") is not None:
            name = self.spelling.get("fill", "fill") if flags["fill"] == self.flags["fill"] else "fill"
            fill = channel_values(flags["fill"], name)
            fill = one_a_channel(fill, image.shape[1], f"{type(self).__name__}: {name}")
            if image.dtype == torch.uint8:
                if not all(0 <= value <= 1 for value in fill):
                    op, got = type(self).__name__, list(fill)
                    raise ValueError(f"{op}: {name}: expected values in [0, 1], of which 1 is 255 in bytes; got {got}")
                fill = [value * 255 for value in fill]
            args["fill"] = fill
        return args

    @property
    def transform_matrix(self) -> Tensor | None:
        """The matrix (B, 3, 3) of the last call from input pixels to output pixels; None before the first."""
        return None if self._input_shape is None else self.last_warp().matrix

    def last_warp(self, params: Params | None = None, flags: Flags | None = None) -> Warp:
        """Give the warp of the last call, or of the call that drew ``params``."""
        params, shape = of_call(self, params)
        flags = self.then_flags if flags is None else flags
        return self.gated_warp(self.reference(params, shape), params, flags, self.gate(params))

    @property
    def then_flags(self) -> Flags:
        """The flags of the last call; before the first, those that it would have."""
        return self.flags if self._last_flags is None else self._last_flags

    def reference(self, params: Params, shape: Sequence[int] | None = None) -> Tensor:
        """Give a stand-in without memory for the image that parameters were drawn for."""
        device = next(v.device for k, v in params.items() if k != "forward_input_shape")
        return torch.empty((), device=device).expand(shape or drawn_shape(self, params).tolist())

    def inverse(self, input: Tensor, params: Params | None = None, **overrides: Any) -> Tensor:
        """Lead an output back: what the op kept returns to its place, the rest is filled.

        Args:
            input: an output of the op.
            params: the parameters of the call; None for the last one.
            **overrides: values for entries of ``op.flags``.
        """
        if tv.found(input):
            return tv.through(self, input, params, True, **overrides)
        changed = self.override_flags(overrides)
        flags = {**self.then_flags, **{key: changed[key] for key in overrides}}
        batch = self.as_batch(input)
        params, _ = of_call(self, params)
        warp, rows = self.last_warp(params, flags).inverse(), len(params["batch_prob"])
        if (len(batch), batch.shape[-2], batch.shape[-1]) != (rows, *warp.input_size):
            raise ValueError(
                f"{type(self).__name__}: input: expected {rows} rows of the size {warp.input_size} that came out, "
                f"got shape {tuple(input.shape)}"
            )
        if "inverse_transform" in self.overrides:
            output = self.inverse_transform(load(batch, True), flags, warp.matrix, warp.size)
            output = store(output, batch.dtype, unit=True)
        else:
            output = warp.image(batch, **{**self.sampling(flags, batch), "padding_mode": "zeros"})
        return self.restore_rank(output, input)

    def inverse_transform(
        self, input: Tensor, flags: Flags, transform: Tensor | None = None, size: tuple[int, int] | None = None
    ) -> Tensor:
        """Compute the image of an inverse; a subclass that has an ``apply_transform`` of its own may need it."""
        raise NotImplementedError(f"{type(self).__name__}: inverse_transform is not written")


GeometricAugmentationBase2D = Geometric
RigidAffineAugmentationBase2D = Geometric
