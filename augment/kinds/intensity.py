"""Intensity ops, which change values and move nothing."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from .. import kernels
from ..common.dtypes import load, store
from ..common.opaque import by_rows
from ..common.types import Flags, Params
from ..maps.warp import Warp
from .augmentation import Augmentation


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
        """The matrix (B, 3, 3) of the op, which is the identity."""
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
        work = load(image, unit=True)
        output = self.computed(work, image, params, flags)
        if output.shape != image.shape:
            name, expected = type(self).__name__, tuple(image.shape)
            raise ValueError(f"{name}: apply_transform: expected shape {expected}, got {tuple(output.shape)}")
        dtype = self.output_dtype(image.dtype)
        if dtype == torch.uint8:
            del work
            return self.stored_planes(list(output.unbind(1)), image, gate)
        output = store(output, dtype, unit=True)
        return self.select(gate, output, image if dtype == image.dtype else work.to(dtype))

    def computed(self, work: Tensor, image: Tensor, params: Params, flags: Flags) -> Tensor:
        """The image of a call from its floating values, which stay as they are."""
        return self.apply_transform(work, params, flags)

    def transform_bytes(self, image: Tensor, params: Params, flags: Flags, gate: Tensor | None) -> Tensor:
        """Compute the image of a call from bytes, gate included; by default by tables."""
        tables = self.tables(image, params, flags, gate)
        return kernels.look_up(image, tables) if tables.dtype == torch.uint8 else kernels.look_up_floats(image, tables)

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
        """What an op multiplies the channels by, and what it adds then, where it does nothing else."""
        raise NotImplementedError(f"{type(self).__name__}: linear is not written")

    def mixture(self, flags: Flags, channels: int) -> list[list[float]]:
        """The shares that each channel gets of all of them, and what is added, where an op does nothing else."""
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
        """What comes out for each byte in each channel (B, C, 256)."""
        ramp = torch.arange(256, dtype=torch.uint8).view(1, 1, 16, 16).expand(*image.shape[:2], -1, -1)
        work, dtype = load(ramp, unit=True), self.output_dtype(torch.uint8)
        output = store(self.apply_transform(work, params, flags), dtype, unit=True)
        return self.select(gate, output, ramp if dtype == torch.uint8 else work).flatten(2)

    def output_dtype(self, dtype: torch.dtype) -> torch.dtype:
        """The dtype that comes out for the input's."""
        return dtype

    def matrix_of(self, params: Params, rigid: bool) -> Tensor | None:
        gate = params["batch_prob"]
        return torch.eye(3, device=gate.device).repeat(len(gate), 1, 1)

    @property
    def transform_matrix(self) -> Tensor | None:
        """The matrix (B, 3, 3) of the last call, which is the identity; None before the first."""
        if self._input_shape is None:
            return None
        return torch.eye(3, device=self._params["batch_prob"].device).repeat(self._input_shape[0], 1, 1)


IntensityAugmentationBase2D = Intensity
