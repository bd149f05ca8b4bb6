"""AugmentationSequential: several ops, one call, every target."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from .. import targets as tg
from ..arguments import choice, number, switch
from ..base import Augmentation, Flags, Params
from ..kinds import Geometric
from ..replay import origin
from ..sampling import Stream
from ..targets import Target, Value


class ParamItem(NamedTuple):
    """The parameters of one child of a container: its name, and its dict, a nested list, or None."""

    name: str
    data: Any


torch.serialization.add_safe_globals([ParamItem])


def drawn(data: Any) -> list[Tensor]:
    """Give all tensors of the parameters of a child but the shapes."""
    if isinstance(data, dict):
        return [value.detach() for name, value in data.items() if name != "forward_input_shape"]
    return [] if data is None else [value for item in data for value in drawn(item.data)]


class AugmentationSequential(nn.Sequential):
    """Apply ops one after the other to images, and to the masks, boxes and keypoints that belong to them.

    Args:
        *args: ops, nested containers, or other modules, which see the images alone.
        data_keys: what the positional inputs are: ``image`` (or ``input``), ``mask``, ``bbox`` (four corners),
            ``bbox_xyxy``, ``bbox_xywh``, ``keypoints``, ``class`` (handed through).
        same_on_batch: set on all ops; None leaves each as it is.
        keepdim: give every output the rank of its input; None or False gives batches.
        random_apply: only False; a random choice of ops is not offered here.
        random_apply_weights: only None.
        transformation_matrix_mode: what ``transform_matrix`` does about deformations, which have none: ``"silent"`` and
            ``"skip"`` leave them out, ``"rigid"`` raises.
        extra_args: options by data key: for ``mask`` ``resample``, ``padding_mode`` and ``fill``; for boxes and
            keypoints ``clip``, to cut them to the image; for ``image`` flags of the ops.
        min_visibility: the share of a box's area that has to be seen, in 0..1; with it, every call says in ``valid``
            which boxes and keypoints are still there. None to leave that out.

    Attributes:
        valid: with ``min_visibility``, (B, N) bool for the boxes and keypoints of the last call, by data key (the
            second of a kind by ``bbox_xyxy_1``, and so on) or by the name in a dict: whether a keypoint lay on the
            image after every op, and whether of a box an area is left, and at least that share.

    Shape:
        image: (B, C, H, W), (C, H, W) or (H, W). mask: the same, or (B, H, W), of any dtype, or a list, a mask a row.
        bbox: (B, N, 4, 2); bbox_xyxy, bbox_xywh: (B, N, 4); keypoints: (B, N, 2); each also without B, or a list.

    Example:
        >>> augment = AugmentationSequential(RandomHorizontalFlip(), data_keys=["image", "mask"])
        >>> image, mask = augment(torch.rand(2, 3, 8, 8), torch.zeros(2, 1, 8, 8, dtype=torch.long))
    """

    def __init__(
        self,
        *args: nn.Module,
        data_keys: Sequence[Any] | None = ("image",),
        same_on_batch: bool | None = None,
        keepdim: bool | None = None,
        random_apply: bool | int | tuple[int, int] = False,
        random_apply_weights: Sequence[float] | None = None,
        transformation_matrix_mode: str = "silent",
        extra_args: Mapping[Any, Mapping[str, Any]] | None = None,
        min_visibility: float | None = None,
    ) -> None:
        for i, child in enumerate(args):
            if not isinstance(child, nn.Module):
                raise TypeError(f"args[{i}]: expected a module, got {child!r}")
            if any(child is other for other in args[:i]):
                raise ValueError(f"args[{i}]: expected each module once, got {type(child).__name__} again; copy it")
        super().__init__(OrderedDict((f"{type(child).__name__}_{i}", child) for i, child in enumerate(args)))
        if random_apply is not False or random_apply_weights is not None:
            raise ValueError(f"random_apply: expected False, a random choice is not offered; got {random_apply!r}")
        self.data_keys = None if data_keys is None else tg.data_keys(data_keys)
        self.keepdim = keepdim is not None and switch(keepdim, "keepdim")
        self.transformation_matrix_mode = choice(
            transformation_matrix_mode, "transformation_matrix_mode", ("silent", "rigid", "skip")
        )
        self.extra_args = tg.options_for(extra_args)
        self.min_visibility = None if min_visibility is None else number(min_visibility, "min_visibility", 0.0, 1.0)
        self.valid: dict[str, Value] = {}
        self._params: list[ParamItem] | None = None
        self._own_stream: Stream | None = None
        ops = [module for module in self.modules() if isinstance(module, Augmentation)]
        known = {"resample", "padding_mode", "fill"} | {flag for op in ops for flag in op.flags}
        foreign = sorted(set(self.extra_args.get("image", {})) - known)
        if foreign:
            raise TypeError(f"extra_args['image']: expected flags of the ops, {sorted(known)}; got {foreign}")
        for op in ops:
            tg.flags_for(op, self.extra_args)
            op.same_on_batch = op.same_on_batch if same_on_batch is None else switch(same_on_batch, "same_on_batch")

    def forward(
        self,
        input: Value,
        *args: Value,
        params: Sequence[ParamItem] | None = None,
        data_keys: Sequence[Any] | None = None,
        generator: torch.Generator | None = None,
    ) -> Any:
        """Augment a sample.

        Args:
            input: the value of the first data key, or one dict, whose entries are known by their names (``mask``, or
                ``mask_left``); others are handed through.
            *args: the values of the other data keys.
            params: parameters to use instead of drawing them, such as ``container._params`` of an earlier call.
            data_keys: the keys of this call.
            generator: where to draw from in this call (eager only; set ``container.generator`` for compiled calls).

        Returns:
            The one value; a list of values; or a new dict with the same keys.
        """
        args = (input, *args)
        targets = self._targets(args, data_keys)
        handed_in = params is not None
        if params is None:
            shape, device = self._shape(targets)
            params = self.forward_parameters(shape, generator, device)
        watched = [] if self.min_visibility is None else tg.watch(targets, self._size(targets))
        moved = self.transform_targets([*targets, *watched], params, handed_in, self.extra_args)
        moved, watched = moved[: len(targets)], moved[len(targets) :]
        if self.min_visibility is not None:
            verdicts = [t.restore(self.keepdim) for t in tg.verdicts(watched, self.min_visibility)]
            self.valid = dict(zip(self._names(args, targets), verdicts, strict=True))
        return self._restore(args, targets, moved)

    def forward_parameters(
        self,
        batch_shape: Sequence[int],
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        after: Sequence[Tensor] = (),
    ) -> list[ParamItem]:
        """Draw the parameters of all children for a batch (B, C, H, W), one after the other."""
        items = []
        for name, child in self.named_children():
            data = None
            if isinstance(child, (Augmentation, AugmentationSequential)):
                data = child.forward_parameters(batch_shape, generator, device, after)
                after = [*after, *drawn(data)]
                batch_shape = (*batch_shape[:-2], *child.output_size((batch_shape[-2], batch_shape[-1])))
            items.append(ParamItem(name, data))
        return items

    def output_size(self, size: tuple[int, int]) -> tuple[int, int]:
        """Give the (h, w) that comes out of an (H, W) input."""
        for child in self.children():
            if isinstance(child, (Augmentation, AugmentationSequential)):
                size = child.output_size(size)
        return size

    def transform_targets(
        self, targets: list[Target], params: Sequence[ParamItem], handed_in: bool, options: Mapping[str, Flags]
    ) -> list[Target]:
        """Apply all children to all targets."""
        self._check_params(params)
        used = []
        for item, child in zip(params, self.children(), strict=True):
            data = item.data
            if isinstance(child, AugmentationSequential):
                targets = child.transform_targets(targets, data, handed_in, {**options, **child.extra_args})
                data = child._params
            elif isinstance(child, Augmentation):
                if isinstance(child, Geometric) and child.looks_at_boxes and not handed_in:
                    data = child.settle(data, tg.all_boxes(targets))
                targets = self._transform_by(child, targets, data, handed_in, options)
            else:
                targets = [t if t.key != "image" else Target(t.key, child(t.value), t.rank, t.added) for t in targets]
            used.append(ParamItem(item.name, data))
        self._params = used
        return targets

    def _transform_by(
        self, op: Augmentation, targets: list[Target], params: Params, handed_in: bool, options: Mapping[str, Flags]
    ) -> list[Target]:
        shape, device = self._shape(targets, op, params)
        if handed_in:
            params = op.checked_params(params, shape, device)
            tg.check_batch(targets, shape[0], None)
        gate = op.gate(params) if handed_in or not op.always_open else None
        flags = tg.flags_for(op, options)
        with torch.autocast(device.type, enabled=False):
            moved = tg.transform(op, targets, params, gate, flags, options)
        op.record(params, shape, flags)
        return moved

    def inverse(
        self, *args: Value, params: Sequence[ParamItem] | None = None, data_keys: Sequence[Any] | None = None
    ) -> Any:
        """Lead outputs back through the geometric ops; the others changed no place.

        Args:
            *args: as in ``forward``.
            params: the parameters of the call; None for the last one.
            data_keys: the keys of this call.
        """
        params = self._params if params is None else params
        if params is None:
            raise ValueError("AugmentationSequential: params: expected a call before, or the params of one")
        targets = self._targets(args, data_keys)
        return self._restore(args, targets, self.invert_targets(targets, params, self.extra_args))

    def invert_targets(
        self, targets: list[Target], params: Sequence[ParamItem], options: Mapping[str, Flags]
    ) -> list[Target]:
        """Lead all targets back through all children."""
        self._check_params(params)
        for item, child in reversed(list(zip(params, self.children(), strict=True))):
            if isinstance(child, AugmentationSequential):
                targets = child.invert_targets(targets, item.data, {**options, **child.extra_args})
            elif isinstance(child, Geometric):
                targets = tg.invert(child, targets, item.data, options)
        return targets

    # -------------------------------------------------------------------------------------------------- in and out

    def _targets(self, args: Sequence[Value], data_keys: Sequence[Any] | None) -> list[Target]:
        if len(args) == 1 and isinstance(args[0], Mapping):
            named = [(tg.key_in_dict(name, value), value) for name, value in args[0].items()]
            keys, values = [key for key, _ in named if key], [value for key, value in named if key]
        else:
            keys = self.data_keys if data_keys is None else tg.data_keys(data_keys)
            values = list(args)
            if keys is None or len(keys) != len(values):
                raise ValueError(f"args: expected one value for each of data_keys {keys}, got {len(values)}")
        ranks = [v.ndim for k, v in zip(keys, values, strict=True) if k == "image" and isinstance(v, Tensor)]
        targets = [tg.as_target(k, v, ranks[0] if ranks else 4) for k, v in zip(keys, values, strict=True)]
        like = next((t.value for t in targets if t.key in ("image", "mask") and isinstance(t.value, Tensor)), None)
        if like is not None:
            tg.check_batch(targets, len(like), (like.shape[-2], like.shape[-1]), like.device)
        return targets

    def _restore(self, args: Sequence[Value], given: list[Target], targets: list[Target]) -> Any:
        fresh = [self._fresh(new, old) for new, old in zip(targets, given, strict=True)]
        if len(args) == 1 and isinstance(args[0], Mapping):
            outputs = iter(fresh)
            return {name: next(outputs) if tg.key_in_dict(name, value) else value for name, value in args[0].items()}
        return fresh[0] if len(fresh) == 1 else fresh

    def _fresh(self, target: Target, given: Target) -> Value:
        """Give an output that shares no memory with its input."""
        if isinstance(target.value, list):
            pairs = zip(target.value, given.value, strict=True)
            return [new.clone() if new is old and isinstance(new, Tensor) else new for new, old in pairs]
        output = target.restore(self.keepdim)
        return output.clone() if isinstance(output, Tensor) and target.value is given.value else output

    def _names(self, args: Sequence[Value], targets: Sequence[Target]) -> list[str]:
        """Name the boxes and keypoints of a call, for ``valid``."""
        if len(args) == 1 and isinstance(args[0], Mapping):
            named = [(name, tg.key_in_dict(name, value)) for name, value in args[0].items()]
            return [name for name, key in named if key in tg.SPATIAL]
        names: list[str] = []
        for target in targets:
            if target.key in tg.SPATIAL:
                count = sum(name.partition("#")[0] == target.key for name in names)
                names.append(f"{target.key}#{count}")
        return [name.removesuffix("#0").replace("#", "_") for name in names]

    def _size(self, targets: Sequence[Target]) -> tuple[int, int] | None:
        """Give the height and width of the first image or mask, if there is one."""
        like = next((t.value for t in targets if t.key in ("image", "mask") and isinstance(t.value, Tensor)), None)
        return None if like is None else (like.shape[-2], like.shape[-1])

    def _shape(
        self, targets: Sequence[Target], op: Augmentation | None = None, params: Any = None
    ) -> tuple[Sequence[int], torch.device]:
        """Give the shape and device of the batch: of the first image, or of a mask, or as the parameters tell."""
        like = [t.value for key in ("image", "mask") for t in targets if t.key == key and isinstance(t.value, Tensor)]
        if like:
            return like[0].shape, like[0].device
        if op is None:
            raise ValueError("data_keys: expected an image or a mask, or params, to know the size from")
        return origin(op, params)

    def _check_params(self, params: Sequence[ParamItem]) -> None:
        names = [name for name, _ in self.named_children()]
        try:
            given = [item.name for item in params]
        except (TypeError, AttributeError):
            raise TypeError(f"params: expected a list of ParamItem, got {params!r:.80}") from None
        if given != names:
            raise ValueError(f"params: expected items for {names}, got {given}")

    # ------------------------------------------------------------------------------------------------------- reading

    @property
    def transform_matrix(self) -> Tensor | None:
        """The matrix (B, 3, 3) of the last call from input pixels to output pixels; None before the first."""
        total: Tensor | None = None
        for child in self.children():
            if not isinstance(child, (Geometric, AugmentationSequential)):
                continue
            try:
                matrix = child.transform_matrix
            except ValueError:
                if self.transformation_matrix_mode == "rigid":
                    raise
                continue
            if matrix is not None:
                total = matrix if total is None else matrix @ total
        return total

    @property
    def generator(self) -> torch.Generator | None:
        """Where all ops draw from, eager and compiled; None for the default generator of the image's device."""
        return next((m.generator for m in self.modules() if isinstance(m, Augmentation)), None)

    @generator.setter
    def generator(self, generator: torch.Generator | None) -> None:
        if generator is not None:
            self._own_stream = Stream.renewed(self._own_stream, generator)
        for module in self.modules():
            if isinstance(module, Augmentation):
                module._stream = None if generator is None else self._own_stream
