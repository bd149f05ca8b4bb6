"""Intensity ops, which change values and move nothing."""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..common.types import Flags, Params
from ..maps.recolour import Recolour
from ..maps.warp import Warp
from . import kornia_style
from .augmentation import Augmentation


class Intensity(Augmentation, kind=True):
    """Base class of the ops that change values and move nothing.

    An op that looks at a pixel alone says its ``recolour``, from which come floats, bytes and what is fused. One that
    looks at others says ``apply_transform``, with ``own_dtype`` if a kernel computes it: then it gets the image as it
    came, and gives rows with neutral parameters back bit for bit; else the image is floating, uint8 brought to [0, 1].

    Attributes:
        channels: the numbers of channels that the op takes; empty for any.
        recolours: whether the class says a ``recolour``, and none below it an ``apply_transform``.
    """

    channels: ClassVar[Sequence[int]] = ()
    recolours: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        saying = (name for base in cls.__mro__ for name in ("apply_transform", "recolour") if name in vars(base))
        cls.recolours = next(saying) == "recolour" and cls is not Intensity

    def check_shape(self, shape: Sequence[int], flags: Flags) -> None:
        if self.channels and shape[1] not in self.channels:
            known = " or ".join(map(str, self.channels))
            raise ValueError(f"{type(self).__name__}: input: expected {known} channels, got {shape[1]}")

    def compute_transformation(self, input: Tensor, params: Params, flags: Flags) -> Tensor:
        """The matrix (B, 3, 3) of the op, which is the identity."""
        return self.identity_matrix(input)

    def recolour(self, input: Tensor, params: Params, flags: Flags) -> Recolour:
        """What becomes of the colours of a batch (B, C, H, W), of which only shape, dtype and device count."""
        raise NotImplementedError(f"{type(self).__name__}: neither recolour nor apply_transform is written")

    def recoloured(self, input: Tensor, params: Params, flags: Flags, gate: Tensor | None) -> Recolour:
        """The same in the rows of a gate (B,) bool."""
        self.check_shape(input.shape, flags)
        return self.recolour(input, params, flags).gated(gate)

    def transform_image(
        self, image: Tensor, params: Params, flags: Flags, gate: Tensor | None, warp: Warp | None = None
    ) -> Tensor:
        if self.recolours:
            return self.recoloured(image, params, flags, gate).image(image)
        self.check_shape(image.shape, flags)
        params = self.neutralise(params, gate)
        if self.own_dtype:
            return self.apply_transform(image, params, flags)
        return kornia_style.intensity_image(self, image, params, flags, gate)

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        return self.recolour(input, params, flags).image(input)

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
