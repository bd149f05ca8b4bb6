"""The third kind of ops: mixes, which put every row together from several rows of the batch, labels included."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from .. import kernels
from ..common.arguments import choice, whole
from ..common.checks import check
from ..common.dtypes import full_precision
from ..common.types import Flags, Params
from ..kernels.mixing import maths as mx
from ..maps.composition import Composition
from ..targets import target as tg
from ..targets import tv
from ..targets.keys import Value, labels_of, read_keys
from ..targets.ragged import listed_masks, stacked_classes, stacked_masks
from ..targets.target import Target
from .augmentation import Augmentation
from .call import Call, Ready
from .mixed_labels import classes_of_labels, dense, made_by_a_mix, mixed_labels

MODES = ("elem", "pair", "batch")


class Mix(Augmentation, kind=True):
    """Base class of the ops that combine rows of a batch.

    An op says which ``Composition`` it is; images, masks, boxes, keypoints and classes follow. What it takes from
    another row is that row as it came in. Boxes and keypoints of all rows that one is put together from stand side by
    side, always the same number, the row's own first: those that are not seen are zeros, and False in ``valid``. With
    p = 0, a number, rows stay as they are, whatever parameters are handed in, and labels keep their number.

    Args:
        p: probability that a unit of ``mode`` is changed.
        p_batch: probability that a batch is looked at at all.
        same_on_batch: as ``mode="batch"``; partners stay by row.
        keepdim: give the outputs the ranks of the inputs.
        data_keys: what the inputs of a direct call are; None for the image alone.
        mode: what shares a draw of the gate and of the amount: ``"elem"``, every row for itself; ``"pair"``, two rows
            that are mixed with each other; ``"batch"``.
        num_classes: give classes as shares of that many, (B, num_classes), in place of the op's rows of numbers.

    Attributes:
        valid: (B, N) bool for the boxes and keypoints of the last direct call, by data key (the second of a kind by
            ``bbox_xyxy_1``): which of them are seen. In a container, its own attribute says so.
        least_area: the area in square pixels that has to be left of a box.
    """

    least_area: float = 0.0
    draws_units = True
    alone: ClassVar[bool] = False  # a row is put together from itself alone

    def __init__(
        self,
        p: float | Tensor = 1.0,
        p_batch: float = 1.0,
        same_on_batch: bool = False,
        keepdim: bool = False,
        data_keys: Sequence[Any] | None = None,
        mode: str = "elem",
        num_classes: int | None = None,
    ) -> None:
        super().__init__(p=p, p_batch=p_batch, same_on_batch=same_on_batch, keepdim=keepdim)
        self.data_keys = read_keys(["image"] if data_keys is None else data_keys)
        self.mode = choice(mode, "mode", MODES)
        self.num_classes = None if num_classes is None else whole(num_classes, "num_classes", 1)
        self.valid: dict[str, Value] = {}

    # ------------------------------------------------------------------------------------------------- what a mix says

    def compose(
        self, params: Params, like: Tensor, gate: Tensor, flags: Flags, targets: Sequence[Target]
    ) -> Composition:
        """What every row of a call is put together from.

        Args:
            params: the parameters of the call.
            like: the image (B, C, H, W), or a mask.
            gate: (B,) bool; the composition of the other rows shows the row itself.
            flags: configuration.
            targets: all that the call moves.
        """
        raise NotImplementedError(f"{type(self).__name__}: compose is not written")

    def class_rows(self, labels: Tensor, params: Params, gate: Tensor, composition: Composition) -> Tensor:
        """Give kornia's form of mixed classes (B,), which are floating."""
        name = type(self).__name__
        raise ValueError(
            f"{name}: class: expected labels (B, N) of boxes, or num_classes where the op has it; "
            f"got shape {tuple(labels.shape)}"
        )

    def mask_to_mix(self, mask: Tensor) -> Tensor:
        """A mask in the form in which it can be mixed."""
        return mask

    # ------------------------------------------------------------------------------------------------------- one call

    def forward(
        self,
        *args: Value,
        params: Params | None = None,
        data_keys: Sequence[Any] | None = None,
        generator: torch.Generator | None = None,
        **overrides: Any,
    ) -> Any:
        """Mix a batch.

        Args:
            *args: a value for each data key, as in ``AugmentationSequential``.
            params: parameters to use instead of drawing them.
            data_keys: the keys of this call.
            generator: where to draw from in this call (eager only; set ``op.generator`` for compiled calls).
            **overrides: values for entries of ``op.flags`` in this call.

        Returns:
            The one value, or a list of them.
        """
        keys = self.data_keys if data_keys is None else read_keys(data_keys)
        if tv.found(args):
            return tv.call(self.forward, args, keys, params=params, generator=generator, **overrides)
        flags = self.override_flags(overrides)
        name = type(self).__name__
        if len(keys) != len(args):
            raise ValueError(f"{name}: args: expected one value for each of data_keys {keys}, got {len(args)}")
        targets = tg.as_targets(args, keys)
        like = tg.frame(targets)
        if like is None:
            raise ValueError(f"{name}: data_keys: expected an image or a mask among them, got {keys}")
        params, _ = self.resolve(params, like.shape, like.device, generator)
        params = self.complete(params, targets, Call(name))
        with full_precision(like.device):
            moved = self.move_targets(targets, Ready(self, params, flags, self.gate(params)), {})
        self.record(params, like.shape, flags)
        self.valid = dict(zip(tg.label_names(targets), tg.known(moved, self.keepdim), strict=True))
        outputs = [t.restore(self.keepdim) for t in moved]
        return outputs[0] if len(outputs) == 1 else outputs

    def move_targets(self, targets: Sequence[Target], ready: Ready, options: Mapping[str, Flags]) -> list[Target]:
        like, (_, params, flags, gate) = tg.frame(targets), ready
        if like is None:
            raise ValueError(f"{type(self).__name__}: data_keys: expected an image or a mask to mix by")
        gate = self.gate(params) if gate is None else gate
        composition = self.compose(params, like, gate, flags, targets)
        rows = gate if composition.size == (like.shape[-2], like.shape[-1]) else torch.ones_like(gate)

        def mixed(target: Target) -> Value:
            key, value = target.key, target.value
            if key == "class":
                return self._classes(value, targets, params, gate, composition)
            if key == "image":
                return composition.image(value, gate)
            mask = self.mask_to_mix(self.mask_of(target))
            found = composition.mask(mask, gate)
            found = found[:, : mask.shape[1]] if self.never_open else found
            return listed_masks(found, value, self.alone) if isinstance(value, list) else found

        def labels(target: Target) -> Target:
            found = mixed_labels(target, composition, rows, self.least_area, self.never_open)
            if options.get(target.key, {}).get("clip") and not target.watched:
                found = replace(found, value=labels_of(target.key).clip(found.value, composition.size))
            return replace(found, value=list(found.value.unbind(0))) if isinstance(target.value, list) else found

        return [labels(t) if t.kind.placed else replace(t, value=mixed(t)) for t in targets]

    def matrix_of(self, params: Params, rigid: bool) -> Tensor | None:
        return self.transform_matrix if rigid and not self.never_open else None  # which refuses

    def lead_back(
        self, targets: Sequence[Target], params: Params, options: Mapping[str, Flags], where: str
    ) -> list[Target]:
        return list(targets) if self.never_open else self.inverse()

    def mask_of(self, target: Target) -> Tensor:
        """A mask target as one tensor (B, C, H, W)."""
        masks = target.value
        return stacked_masks(masks, type(self).__name__, self.alone) if isinstance(masks, list) else masks

    def labelled(self, targets: Sequence[Target]) -> Target | None:
        """What a row has several of that can have a class each: the first boxes or keypoints; None without."""
        return next((t for t in targets if t.kind.placed and not t.watched), None)

    def counts(self, targets: Sequence[Target]) -> list[int]:
        """The numbers of what a row has that can have a class of its own."""
        return [dense(t).value.shape[1] for t in targets if t.kind.placed and not t.watched]

    # --------------------------------------------------------------------------------------------------------- labels

    def _classes(
        self, value: Value, targets: Sequence[Target], params: Params, gate: Tensor, composition: Composition
    ) -> Value:
        """Mixed labels: of images, (B,) or shares (B, num_classes); or of boxes or keypoints, (B, N) or a list."""
        k, counted = self.num_classes, self.counts(targets)
        if isinstance(value, (list, tuple)):
            padded = self._stacked(value, targets, len(gate), counted)
            return list(self._classes(padded, targets, params, gate, composition).unbind(0))
        if not isinstance(value, Tensor):
            raise TypeError(f"{type(self).__name__}: class: expected a tensor, got {type(value).__name__}")
        if self.alone and value.ndim > 1 and len(gate) in value.shape[:2] and value.shape[1] not in counted[:1]:
            return value.clone()  # of images, in whichever form a mix before left them
        self._check_classes(value, len(gate), counted)
        if k is None and value.ndim == 2:
            return classes_of_labels(value, composition, gate, self.never_open)
        if k is None:
            image = next((t.value for t in targets if t.key == "image"), value)
            exact = torch.float64 if image.dtype == torch.float64 else torch.float32
            return self.class_rows(value.to(exact), params, gate, composition)
        own = self._one_hot(value, k)
        mixed = (composition.spread(own) * composition.shares().to(own.dtype).unsqueeze(-1)).sum(1)
        return torch.where(gate.view(-1, 1), mixed, own)

    def _check_classes(self, value: Tensor, rows: int, counted: Sequence[int]) -> None:
        """Refuse classes that are of no form that the op mixes, whose labels are as many as ``counted``."""
        name, k, again = type(self).__name__, self.num_classes, made_by_a_mix(value)
        if value.ndim == 0 or len(value) != rows:
            got = f"got {tuple(value.shape)}{again}"
            raise ValueError(f"{name}: class: expected {rows} rows, as the image has; {got}")
        of_labels = k is None and value.ndim == 2 and value.shape[1] in counted[:1]
        if not of_labels and value.ndim != 1 and (k is None or tuple(value.shape[1:]) != (k,)):
            forms = "(B,)" if k is None else f"(B,) or (B, {k})"
            forms += f", or (B, {counted[0]}) for {counted[0]} labels" if counted and k is None else ""
            raise ValueError(f"{name}: class: expected shape {forms}; got {tuple(value.shape)}{again}")

    def _stacked(self, value: Sequence[Any], targets: Sequence[Target], rows: int, counted: Sequence[int]) -> Tensor:
        """A list of the labels of boxes or keypoints, an entry a row, as one tensor (B, N)."""
        name, like = type(self).__name__, self.labelled(targets)
        for entry in value:
            if not isinstance(entry, Tensor):
                got = f"{type(value).__name__} of {type(entry).__name__}"
                raise TypeError(f"{name}: class: expected a tensor, got {got}; a list has to be of tensors")
        if len(value) != rows:
            raise ValueError(f"{name}: class: expected {rows} entries, as the image has rows; got {len(value)}")
        if self.num_classes is not None or like is None:
            raise ValueError(
                f"{name}: class: expected a tensor; a list has an entry for each row with the classes of its boxes or "
                "keypoints, which have to come as well, and is for ops without num_classes"
            )
        lengths = [len(entry) for entry in like.value] if isinstance(like.value, list) else None
        return stacked_classes(value, lengths, counted[0], name)

    def _one_hot(self, labels: Tensor, k: int) -> Tensor:
        if labels.ndim == 2:
            return labels if labels.is_floating_point() else labels.float()
        name = type(self).__name__
        labels = kernels.whole_labels(labels.detach(), name) if labels.is_floating_point() else labels
        inside = (labels >= 0) & (labels < k)
        check(inside, None, f"{name}: class: expected labels in 0..{k - 1}, for num_classes={k}")
        return (labels.unsqueeze(1) == torch.arange(k, device=labels.device)).float()

    # ---------------------------------------------------------------------------------------------------------- draws

    @property
    def shares_draw(self) -> bool:
        """Whether ``same_on_batch`` shares all uniforms: here ``shared`` does, for partners are drawn by row."""
        return False

    def shared(self, values: Tensor, partner: Tensor | None = None) -> Tensor:
        """Give values (B, ...) that were drawn by row as the mode shares them."""
        if self.same_on_batch or self.mode == "batch":
            return values[:1].expand_as(values)
        if self.mode == "pair" and partner is not None:
            return values[torch.minimum(partner, torch.arange(len(partner), device=partner.device))]
        return values

    def partners(self, u: Tensor) -> Tensor:
        """Draw the row (..., B) int64 that each is mixed with, by uniforms (..., B)."""
        return mx.mate_of(u) if self.mode == "pair" else mx.next_of(u)

    def validate(self, params: Params, gate: Tensor) -> None:
        super().validate(params, gate)
        for param in self.params:
            if param.rows:
                self.check_rows(params, param.name, gate, param.dim or 0)

    def check_rows(self, params: Params, name: str, gate: Tensor, dim: int = 0) -> None:
        """Require that a parameter, of which ``dim`` is the batch, names rows of the batch."""
        value = params[name]
        if value.is_floating_point():
            raise TypeError(f"{type(self).__name__}: params[{name!r}]: expected whole numbers, got {value.dtype}")
        inside = ((value >= 0) & (value < len(gate))).movedim(dim, 0)
        inside = inside.flatten(1).all(1) if inside.ndim > 1 else inside
        check(inside, gate, f"{name}: expected rows of the batch")

    def checked_params(
        self, params: Params, shape: Sequence[int], device: torch.device, where: str | None = None
    ) -> Params:
        if isinstance(params, Mapping):  # kornia's hold the image's dtype
            params = {name: value for name, value in params.items() if name != "dtype"}
        return super().checked_params(params, shape, device, where)

    @property
    def never_open(self) -> bool:
        """Whether the gate is closed, whatever is drawn or handed in."""
        return self.p_batch == 0 or (not isinstance(self.p, Tensor) and self.p == 0)

    @property
    def always_open(self) -> bool:
        return False  # a row without another to be mixed with stays as it is

    def gate(self, params: Params) -> Tensor:
        gate = super().gate(params)
        return torch.zeros_like(gate) if self.never_open else gate

    @property
    def transform_matrix(self) -> Tensor:
        """Refused: a row comes from several, which no one matrix says."""
        raise RuntimeError(f"{type(self).__name__}: transform_matrix: a mix of rows has none")

    def inverse(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: what was covered or blended is not there any more."""
        raise RuntimeError(f"{type(self).__name__}: inverse: a mix of rows cannot be undone")
