"""The kinds of ops: intensity ops, which change values, and geometric ops, which move pixels and labels."""

from collections.abc import Sequence
from enum import Enum
from typing import Any, ClassVar

import torch
from torch import Tensor

from . import native, tv
from .arguments import BORDER_MODES, RESAMPLE, channel_values, choice, one_a_channel
from .base import Augmentation, Flags, Params
from .opaque import by_rows, load, store
from .replay import drawn_shape, of_call
from .warp import Homography, Warp

EXACT_IN_FLOAT32 = (
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.float16,
    torch.bfloat16,
    torch.float32,
)


class Intensity(Augmentation, kind=True):
    """Base class of the ops that change values and move nothing.

    ``apply_transform`` computes the image: floating, uint8 brought to [0, 1]. With ``own_dtype`` it gets the image as
    it came, and gives rows with neutral parameters back bit for bit.

    Attributes:
        channels: the numbers of channels that the op takes; empty for any.
        bytewise: whether bytes on the CPU go through ``transform_bytes``.
        pointwise: whether a value comes out by itself and its channel alone, so that a table can do it for bytes.
    """

    channels: ClassVar[Sequence[int]] = ()
    bytewise: bool = False
    pointwise: ClassVar[bool] = False

    def check_shape(self, shape: Sequence[int], flags: Flags) -> None:
        if self.channels and shape[1] not in self.channels:
            known = " or ".join(map(str, self.channels))
            raise ValueError(f"{type(self).__name__}: input: expected {known} channels, got {shape[1]}")

    def compute_transformation(self, input: Tensor, params: Params, flags: Flags) -> Tensor:
        """Give the matrix (B, 3, 3) of the op, which is the identity."""
        return self.identity_matrix(input)

    def transform_image(
        self, image: Tensor, params: Params, flags: Flags, gate: Tensor | None, warp: Warp | None = None
    ) -> Tensor:
        self.check_shape(image.shape, flags)
        params = self.neutralise(params, gate)
        if self.own_dtype:
            return self.apply_transform(image, params, flags)
        if (self.pointwise or self.bytewise) and self.own and image.dtype == torch.uint8 and by_rows(image):
            return self.transform_bytes(image, params, flags, gate)
        if self.own and "apply_planes" in self.overrides:
            return self.transform_planes(image, params, flags, gate)
        work = self.guarded(load(image, unit=True), image)
        matrix = (
            self.compute_transformation(work, params, flags) if "compute_transformation" in self.overrides else None
        )
        output = self.apply_transform(work, params, flags, matrix)
        if output.shape != image.shape:
            name, expected = type(self).__name__, tuple(image.shape)
            raise ValueError(f"{name}: apply_transform: expected shape {expected}, got {tuple(output.shape)}")
        dtype = self.output_dtype(image.dtype)
        if dtype == torch.uint8:
            del work
            return self.stored_planes(list(output.unbind(1)), image, gate)
        output = store(output, dtype, unit=True)
        return self.select(gate, output, image if dtype == image.dtype else work.to(dtype))

    def transform_bytes(self, image: Tensor, params: Params, flags: Flags, gate: Tensor | None) -> Tensor:
        """Compute the image of a call from bytes, gate included; by default by tables."""
        tables = self.tables(image, params, flags, gate)
        return native.look_up(image, tables) if tables.dtype == torch.uint8 else native.look_up_floats(image, tables)

    def transform_planes(self, image: Tensor, params: Params, flags: Flags, gate: Tensor | None) -> Tensor:
        """Compute the image of a call plane by plane, gate and rounding included.

        What comes after a stack would be a pass of its own when compiled.
        """
        outputs = self.apply_planes([load(plane, unit=True) for plane in image.unbind(1)], params, flags)
        return self.stored_planes(list(outputs), image, gate)

    def stored_planes(self, outputs: list[Tensor], image: Tensor, gate: Tensor | None) -> Tensor:
        """Bring computed planes (B, H, W) to the image's dtype, with skipped rows as they were, and stack them.

        Rows are chosen before they are bytes again, as a choice among bytes does not vectorise; and plane by plane, so
        that no more is held than is needed.
        """
        for i, plane in enumerate(image.unbind(1)):
            if gate is not None:
                outputs[i] = torch.where(gate.view(-1, 1, 1), outputs[i], load(plane, unit=True))
            outputs[i] = store(outputs[i], image.dtype, unit=True)
        return torch.stack(outputs, 1)

    def apply_planes(self, planes: Sequence[Tensor], params: Params, flags: Flags) -> Sequence[Tensor]:
        """Compute the image from its channels (B, H, W), floating; an op may say this in place of the whole image."""
        raise NotImplementedError(f"{type(self).__name__}: neither apply_transform nor apply_planes is written")

    def apply_values(self, values: Tensor, params: Params, flags: Flags, channels: slice) -> Tensor:
        """Compute some channels (B, c, H, W) of the image, floating, of which ``channels`` says which they are.

        An op whose values come out by themselves and their channel alone may say this in place of the whole image.
        """
        raise NotImplementedError(f"{type(self).__name__}: apply_values is not written")

    def linear(self, flags: Flags, channels: slice) -> tuple[list[float], list[float]]:
        """Give what an op multiplies the channels by, and what it adds then, where it does nothing else."""
        raise NotImplementedError(f"{type(self).__name__}: linear is not written")

    def mixture(self, flags: Flags, channels: int) -> list[list[float]]:
        """Give the shares that each channel gets of all of them, and what is added, where an op does nothing else."""
        raise NotImplementedError(f"{type(self).__name__}: mixture is not written")

    def apply_wide(self, image: Tensor, params: Params, flags: Flags, after: Tensor | None, wide: bool) -> Tensor:
        """Compute the image (B, C, H, W) from bytes or floats; bytes come out as floats in [0, 1] where it is ``wide``.

        An op that computes whole rows, gate included, may say this, beside ``apply_transform``, to be in a run of ops.
        What comes out is blended as ``channels.blend`` does with ``after``.
        """
        raise NotImplementedError(f"{type(self).__name__}: apply_wide is not written")

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        if "apply_values" in self.overrides:
            return self.apply_values(input, params, flags, slice(None))
        return torch.stack(tuple(self.apply_planes(input.unbind(1), params, flags)), 1)

    def tables(self, image: Tensor, params: Params, flags: Flags, gate: Tensor | None) -> Tensor:
        """Give what comes out for each byte in each channel (B, C, 256)."""
        ramp = torch.arange(256, dtype=torch.uint8).view(1, 1, 16, 16).expand(*image.shape[:2], -1, -1)
        work, dtype = load(ramp, unit=True), self.output_dtype(torch.uint8)
        output = store(self.apply_transform(work, params, flags), dtype, unit=True)
        return self.select(gate, output, ramp if dtype == torch.uint8 else work).flatten(2)

    def output_dtype(self, dtype: torch.dtype) -> torch.dtype:
        """Give the dtype that comes out for the input's."""
        return dtype

    @property
    def transform_matrix(self) -> Tensor | None:
        """The matrix (B, 3, 3) of the last call, which is the identity; None before the first."""
        if self._input_shape is None:
            return None
        return torch.eye(3, device=self._params["batch_prob"].device).repeat(self._input_shape[0], 1, 1)


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


IntensityAugmentationBase2D = Intensity
GeometricAugmentationBase2D = Geometric
RigidAffineAugmentationBase2D = Geometric
