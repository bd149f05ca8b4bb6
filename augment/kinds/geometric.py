"""Geometric ops, which move pixels and labels."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..common.arguments import channel_values, choice, one_a_channel
from ..common.types import Flags, Params
from ..common.vocabulary import BORDER_MODES, RESAMPLE
from ..maps.warp import Warp
from ..targets import moving as mv
from ..targets import samples, tv
from ..targets import target as tg
from ..targets.target import Target
from ..targets.videos import of_clips
from .augmentation import Augmentation
from .call import Call, Ready

OF_THE_WARP = ("composes", "whole_pixels", "looks_beyond", "pads")


class Geometric(Augmentation, kind=True):
    """Base class of the ops that move pixels, and with them masks, points and boxes.

    An op says which ``warp`` it is. A subclass in kornia's style says ``compute_transformation`` instead, and may
    compute the image by its own ``apply_transform``.

    Attributes:
        looks_at_boxes: whether a container's call shows its boxes to ``choose_by_boxes``.
        keeps_by_center: whether a box is lost when its centre is cut away, though a part of it may be left.
        composes: whether its warp can be one with others: lines stay straight, and edges are blended as anywhere. This
            and what follows is said of the class's warp: a class below with a warp of its own says it anew.
        whole_pixels: whether it takes whole pixels, so that nothing is interpolated.
        looks_beyond: whether what lies beyond the image may come into the output.
        pads: whether it puts a frame round the image.
    """

    looks_at_boxes: ClassVar[bool] = False
    composes: ClassVar[bool] = True
    whole_pixels: ClassVar[bool] = False
    looks_beyond: bool = True
    pads: bool = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in OF_THE_WARP if "warp" in vars(cls) else ():
            if name not in vars(cls):
                setattr(cls, name, getattr(Geometric, name))

    def choose_by_boxes(self, params: Params, boxes: Tensor | None) -> Params:
        """What is chosen out of what was drawn, by the boxes (B, N, 4) of a call, x1, y1, x2, y2; by default nothing.

        It is recorded with the params, and not chosen again among parameters that are handed in.
        """
        return params

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Warp:
        """The warp of a call from the parameters and the shape of the input (B, C, H, W)."""
        raise NotImplementedError(f"{type(self).__name__}: neither warp nor compute_transformation is written")

    def compute_transformation(self, input: Tensor, params: Params, flags: Flags) -> Tensor:
        """The matrix (B, 3, 3) from input pixels to output pixels of a call, gate aside."""
        return self.warp(input, params, flags).matrix

    def gated_warp(self, input: Tensor, params: Params, flags: Flags, gate: Tensor | None) -> Warp:
        """The warp of a call, neutral where the gate is closed."""
        warp = self.warp(input, params, flags)
        return warp if gate is None else warp.gated(gate)

    def transform_image(
        self, image: Tensor, params: Params, flags: Flags, gate: Tensor | None, warp: Warp | None = None
    ) -> Tensor:
        self.check_shape(image.shape, flags)
        warp = self.gated_warp(image, params, flags, gate) if warp is None else warp
        return warp.image(image, **self.interpolation(flags, image))

    def transform_mask(
        self, mask: Tensor, params: Params, gate: Tensor | None, flags: Flags, warp: Warp | None, options: Flags
    ) -> Tensor:
        warp = self.gated_warp(mask, params, flags, gate) if warp is None else warp
        return warp.mask(mask, **{"padding_mode": flags.get("padding_mode", "zeros"), **options})

    # ---------------------------------------------------------------------------------------------------- all targets

    def complete(self, params: Params, targets: Sequence[Target], call: Call) -> Params:
        if call.handed_in or not self.looks_at_boxes:
            return params
        return self.choose_by_boxes(params, of_clips(mv.all_boxes(targets), call.frames))

    def move_targets(self, targets: Sequence[Target], ready: Ready, options: Mapping[str, Flags]) -> list[Target]:
        like, (_, params, flags, gate) = tg.frame(targets), ready
        warp = self.gated_warp(self.reference(params) if like is None else like, params, flags, gate)
        return self.moved_with(warp, targets, ready, options)

    def matrix_of(self, params: Params, rigid: bool) -> Tensor | None:
        warp = self.last_warp(params)
        try:
            return warp.matrix
        except ValueError:
            if rigid:
                raise
            return None

    def lead_back(
        self, targets: Sequence[Target], params: Params, options: Mapping[str, Flags], where: str
    ) -> list[Target]:
        params, _ = self.of_call(params, where)
        warp = self.last_warp(params).inverse()
        tg.check_batch(targets, len(params["batch_prob"]), None)

        def mask(value: Tensor, row: Any, chosen: Flags) -> Tensor:  # a number, or None for all rows
            return (warp if row is None else warp[row]).mask(value, **chosen)

        return mv.moved_by(warp, targets, self.gate(params), options, lambda image: self.inverse(image, params), mask)

    # ---------------------------------------------------------------------------------------------------------- warps

    def interpolation(self, flags: Flags, image: Tensor) -> Flags:
        """The arguments of ``warp.image`` that are among the flags; a fill is on the scale of [0, 1]."""
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
        """The warp of the last call, or of the call that drew ``params``."""
        params, shape = self.of_call(params)
        flags = self.then_flags if flags is None else flags
        return self.gated_warp(self.reference(params, shape), params, flags, self.gate(params))

    @property
    def then_flags(self) -> Flags:
        """The flags of the last call; before the first, those that it would have."""
        return self.flags if self._last_flags is None else self._last_flags

    def reference(self, params: Params, shape: Sequence[int] | None = None) -> Tensor:
        """A stand-in without memory for the image that parameters were drawn for."""
        device = next(v.device for k, v in params.items() if k != "forward_input_shape")
        return torch.empty((), device=device).expand(shape or self.origin(params)[0])

    def inverse(self, input: Tensor, params: Params | None = None, **overrides: Any) -> Tensor:
        """Lead an output back: what the op kept returns to its place, the rest is filled.

        Args:
            input: an output of the op.
            params: the parameters of the call; None for the last one.
            **overrides: values for entries of ``op.flags``.
        """
        if tv.found(input):
            return tv.call(self.inverse_values, [input], params=params, **overrides)
        changed = self.override_flags(overrides)
        flags = {**self.then_flags, **{key: changed[key] for key in overrides}}
        batch = self.as_batch(input)
        params, _ = self.of_call(params)
        warp, rows = self.last_warp(params, flags).inverse(), len(params["batch_prob"])
        if (len(batch), batch.shape[-2], batch.shape[-1]) != (rows, *warp.input_size):
            raise ValueError(
                f"{type(self).__name__}: input: expected {rows} rows of the size {warp.input_size} that came out, "
                f"got shape {tuple(input.shape)}"
            )
        return self.restore_rank(self.image_back(batch, warp, flags), input)

    def image_back(self, image: Tensor, warp: Warp, flags: Flags) -> Tensor:
        """The image (B, C, h, w) of a call through the warp that leads back."""
        return warp.image(image, **{**self.interpolation(flags, image), "padding_mode": "zeros"})

    def inverse_values(self, *values: Any, data_keys: Sequence[str], params: Params | None, **overrides: Any) -> Any:
        """An image by itself, or the values of several data keys, led back."""
        if data_keys == ["image"]:
            return self.inverse(values[0], params, **overrides)
        self.override_flags(overrides)
        targets, params = tg.as_targets(values, data_keys), self.of_call(params)[0]
        moved = self.lead_back(targets, params, {"image": overrides}, type(self).__name__)
        return samples.write(values, targets, moved, False)

    def inverse_transform(
        self, input: Tensor, flags: Flags, transform: Tensor | None = None, size: tuple[int, int] | None = None
    ) -> Tensor:
        """Compute the image of an inverse; a subclass that has an ``apply_transform`` of its own may need it."""
        raise NotImplementedError(f"{type(self).__name__}: inverse_transform is not written")


GeometricAugmentationBase2D = Geometric
RigidAffineAugmentationBase2D = Geometric
