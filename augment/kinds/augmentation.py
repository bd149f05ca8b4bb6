"""The base class: one ``forward`` for every op.

A call goes through these steps: the input becomes a batch; parameters are drawn or checked; rows with a closed gate get
neutral parameters; the image is computed; the parameters are recorded; the input's rank is restored.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..common.arguments import image_batch
from ..common.checks import check
from ..common.dtypes import full_precision, load, store
from ..common.tracing import own_forward
from ..common.types import Flags, Params
from ..maps.warp import Warp
from ..sampling import params as forms
from ..sampling.draw import Draw, Stream, as_device
from ..sampling.params import Param
from ..targets import moving as mv
from ..targets import samples, tv
from ..targets import target as tg
from ..targets.target import Target
from . import kornia_style
from .call import Call, Ready
from .configured import Configured


class Augmentation(Configured):
    """Base class of all ops.

    Attributes:
        rank: spatial dimensions of an image.
        params: what ``sample`` gives, declared; those of ``self.ranges``, a number a row each, where it is empty.
        own_dtype: see ``Intensity``.
        keeps_by_center: see ``Geometric``.
        columns: how many uniforms a row of ``sample`` needs; 0 for one a range.
        draws_units: whether ``sample`` decides on the gate of several rows as one, before rows are chosen.
        kind: the base class that says what the op changes.
        overrides: see ``kornia_style.adapt``.
    """

    rank: ClassVar[int] = 2
    params: Sequence[Param] = ()
    keeps_by_center: ClassVar[bool] = False
    own_dtype: bool = False
    columns: int = 0
    draws_units: ClassVar[bool] = False
    overrides: ClassVar[frozenset[str]] = frozenset()
    kind: ClassVar[type[nn.Module]]

    def __init_subclass__(cls, kind: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own_forward(cls)
        if kind:
            cls.kind = cls
        kornia_style.adapt(cls)

    # ------------------------------------------------------------------------------------------------ what an op says

    def sample(self, draw: Draw) -> Params:
        """Turn uniforms into named parameters; the default draws one column for each of ``self.ranges``."""
        return {name: bounds(draw.u[:, i]) for i, (name, bounds) in enumerate(self.ranges.items())}

    def drawn(self, draw: Draw, shape: Sequence[int]) -> Params:
        """The parameters of a batch (B, C, H, W), without the gate."""
        if self._param_generator is not None:
            return kornia_style.generated_by_kornia(self, draw, shape)
        return self.sample(draw)

    def generate_parameters(self, batch_shape: Sequence[int]) -> Params:
        """Draw the parameters of a batch, without the gate. Subclasses may override it as in kornia."""
        return self.sample(self._draw(batch_shape, torch.get_default_device(), self._stream, ()))

    def validate(self, params: Params, gate: Tensor) -> None:
        """Check parameter values of the open rows with ``check``; by default, that they lie in their domains."""
        for name, bounds in self.ranges.items():
            if name in params:
                bounds.check(params[name], gate, name)

    def output_size(self, size: tuple[int, int]) -> tuple[int, int]:
        """The (h, w) that comes out of an (H, W) input."""
        return size

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        """Compute the image (B, C, H, W)."""
        raise NotImplementedError(f"{type(self).__name__}: apply_transform is not written")

    def apply_transform_mask(
        self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None
    ) -> Tensor:
        """Compute a mask (B, C, H, W)."""
        return input

    def identity_matrix(self, input: Tensor) -> Tensor:
        """(B, 3, 3) identities for a batch."""
        eye = torch.eye(self.rank + 1, device=input.device, dtype=torch.promote_types(input.dtype, torch.float32))
        return eye.repeat(input.shape[0], 1, 1)

    # ------------------------------------------------------------------------------------------------------ one call

    def forward(
        self, input: Tensor, params: Params | None = None, generator: torch.Generator | None = None, **overrides: Any
    ) -> Tensor:
        """Augment a batch.

        Args:
            input: (H, W), (C, H, W) or (B, C, H, W); floating in [0, 1], or uint8 in 0..255.
            params: parameters to use instead of drawing them, such as ``op._params`` of an earlier call.
            generator: where to draw from in this call (eager only; set ``op.generator`` for compiled calls).
            **overrides: values for entries of ``op.flags`` in this call.

        Returns:
            (B, C, h, w) in the input's dtype, or in the input's rank with ``keepdim``.
        """
        if tv.found(input):
            return tv.call(self.forward_values, [input], params=params, generator=generator, **overrides)
        batch = self.as_batch(input)
        flags = self.override_flags(overrides)
        self.check_shape(batch.shape, flags)
        params, gate = self.resolve(params, batch.shape, batch.device, generator)
        with full_precision(batch.device):
            output = self.transform_image(batch, params, flags, gate)
        self.record(params, batch.shape, flags)
        return self.restore_rank(output, input)

    def forward_parameters(
        self,
        batch_shape: Sequence[int],
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        after: Sequence[Tensor] = (),
        rows: Tensor | None = None,
    ) -> Params:
        """Draw everything that is random in a call.

        Args:
            batch_shape: (B, C, H, W) of the batch.
            generator: where to draw from; None for ``op.generator`` or the device's own.
            device: where the parameters shall be.
            after: tensors that were drawn before, which a compiled draw shall come after.
            rows: the rows (B,) bool that a container has chosen; the gate of the others stays closed.

        Returns:
            The op's parameters, ``batch_prob`` (B,), 1 for the rows to change, and ``forward_input_shape`` (4,).
        """
        self.check_shape(batch_shape, self.flags)
        stream = self._stream if generator is None else Stream(generator)
        draw = self._draw(batch_shape, as_device(device), stream, after)
        if rows is not None and not self.draws_units:
            draw.gate = draw.gate & rows
        params = self.drawn(draw, batch_shape)
        if rows is not None and self.draws_units:
            draw.gate = draw.gate & rows
        samples_itself = type(self).sample is not Augmentation.sample
        declared = self.declared or () if samples_itself else ()
        missing = [param.name for param in declared if param.name not in params and not param.late]
        if missing:
            raise ValueError(f"{type(self).__name__}: sample: expected a value for each of params; missing {missing}")
        params["batch_prob"] = draw.gate.float()
        params["forward_input_shape"] = torch.tensor(list(batch_shape))
        if self.learns:
            self.check_values(params)
        return params

    def resolve(
        self,
        params: Params | None,
        shape: Sequence[int],
        device: torch.device,
        generator: torch.Generator | None = None,
    ) -> tuple[Params, Tensor | None]:
        """Draw parameters or check those handed in, and give with them the gate (B,), None where all rows are open."""
        if params is None:
            params = self.forward_parameters(shape, generator, device)
            return params, None if self.always_open else self.gate(params)
        params = self.checked_params(params, shape, device)
        return params, self.gate(params)

    def transform_image(
        self, image: Tensor, params: Params, flags: Flags, gate: Tensor | None, warp: Warp | None = None
    ) -> Tensor:
        """Compute the image (B, C, H, W) of a call, in its own dtype, with skipped rows as they were."""
        output = store(self.apply_transform(load(image, True), params, flags, None), image.dtype, unit=True)
        return self.select(gate, output, image)

    def transform_mask(
        self, mask: Tensor, params: Params, gate: Tensor | None, flags: Flags, warp: Warp | None, options: Flags
    ) -> Tensor:
        """Compute a mask (B, C, H, W) of any dtype; ``options`` are the container's ``extra_args`` for it."""
        params = self.neutralise(params, gate)
        output = self.apply_transform_mask(mask, params, {**flags, **options})
        return output if output is mask else self.select(gate, output, mask)

    def select(self, gate: Tensor | None, output: Tensor, input: Tensor) -> Tensor:
        """Keep the rows of the input where the gate is closed."""
        if gate is None:
            return output.clone() if output is input else output
        if output.shape != input.shape:
            raise ValueError(
                f"{type(self).__name__}: p: expected 1 for an op that changes the shape on its own, "
                f"from {tuple(input.shape)} to {tuple(output.shape)}"
            )
        return torch.where(gate.view(-1, 1, 1, 1), output, input)

    def record(self, params: Params, shape: Sequence[int], flags: Flags) -> None:
        """Remember a call, for replay and ``transform_matrix``."""
        if self.learns:  # what is kept shall not keep the graph
            params = {name: value.detach() for name, value in params.items()}
        self._params = params
        self._input_shape = tuple(shape)
        self._last_flags = flags

    def restore_rank(self, output: Tensor, input: Tensor) -> Tensor:
        """Drop the dimensions that ``as_batch`` added, where ``keepdim`` asks for it."""
        return output[(0,) * (output.ndim - input.ndim)] if self.keepdim else output

    # ---------------------------------------------------------------------------------------------------- all targets

    def carry(self, targets: Sequence[Target], params: Params, call: Call) -> tuple[list[Target], Params]:
        """All targets of a call, moved by the op, and the parameters that it used."""
        shape, device = samples.shape_of(targets, lambda: self.origin(params, call.where))
        ready = self.ready(params, targets, shape, device, call)
        with full_precision(device):
            moved = self.move_targets(targets, ready, call.options)
        self.record(ready.params, shape, ready.flags)
        return moved, self._params

    def ready(
        self, params: Params, targets: Sequence[Target], shape: Sequence[int], device: torch.device, call: Call
    ) -> Ready:
        """The op with its parameters checked, if they were handed in, its flags, and its gate where one may close."""
        if call.handed_in:
            params = self.checked_params(params, shape, device, call.where)
            tg.check_batch(targets, shape[0], None)
        params = self.complete(params, targets, call)
        open = self.always_open and not (call.handed_in or call.gated)
        return Ready(self, params, self.flags_for(call.options), None if open else self.gate(params))

    def complete(self, params: Params, targets: Sequence[Target], call: Call) -> Params:
        """The parameters with what the targets of a call decide; by default nothing."""
        return params

    def move_targets(self, targets: Sequence[Target], ready: Ready, options: Mapping[str, Flags]) -> list[Target]:
        """The targets of a call, moved by the op."""
        return self.moved_with(None, targets, ready, options)

    def moved_with(
        self, warp: Warp | None, targets: Sequence[Target], ready: Ready, options: Mapping[str, Flags]
    ) -> list[Target]:
        """The targets of a call: images and masks through the op, labels, where there is one, by a warp."""
        _, params, flags, gate = ready

        def mask(value: Tensor, row: Any, chosen: Flags) -> Tensor:  # a number, or None for all rows
            if row is None:
                return self.transform_mask(value, params, gate, flags, warp, chosen)
            return self.transform_mask(value, *self.row(params, gate, row), flags, warp and warp[row], chosen)

        def image(value: Tensor) -> Tensor:
            return self.transform_image(value, params, flags, gate, warp)

        return mv.moved_by(warp, targets, gate, options, image, mask, self.keeps_by_center)

    def matrix_of(self, params: Params, rigid: bool) -> Tensor | None:
        """The matrix (B, 3, 3) of a call of ``params``; None where the op has none, which ``rigid`` may refuse."""
        return None

    def lead_back(
        self, targets: Sequence[Target], params: Params, options: Mapping[str, Flags], where: str
    ) -> list[Target]:
        """All targets of a call of ``params`` where they were before it; what changes no place leaves them alone."""
        return list(targets)

    def forward_values(
        self,
        *values: Any,
        data_keys: Sequence[str],
        params: Params | None = None,
        generator: torch.Generator | None = None,
        **overrides: Any,
    ) -> Any:
        """An image by itself, or the values of several data keys, through the op."""
        if data_keys == ["image"]:
            return self(*values, params, generator, **overrides)
        self.override_flags(overrides)
        targets, handed_in = tg.as_targets(values, data_keys), params is not None
        if params is None:
            shape, device = samples.shape_of(targets)
            params = self.forward_parameters(shape, generator, device)
        moved, _ = self.carry(targets, params, Call(type(self).__name__, {"image": overrides}, handed_in))
        return samples.write(values, targets, moved, False)

    # ------------------------------------------------------------------------------------------------ an earlier call

    def of_call(self, params: Params | None, where: str | None = None) -> tuple[Params, Sequence[int]]:
        """The parameters and the shape (B, C, H, W) of the last call, or of the one that drew ``params``."""
        if params is None or params is self._params:
            if self._input_shape is None:
                raise ValueError(f"{type(self).__name__}: params: expected a call before, or the params of one")
            return self._params, self._input_shape
        shape, device = self.origin(params, where)
        return self.checked_params(params, shape, device, where), shape

    def origin(self, params: Any, where: str | None = None) -> tuple[Sequence[int], torch.device]:
        """The shape (B, C, H, W) and the device of the batch that parameters were drawn for."""
        return forms.origin(params, self.rank + 2, where or type(self).__name__)

    def image_map(self, params: Params, name: str, image: Tensor, channels: Sequence[int] | None = None) -> Tensor:
        """A parameter that is as large as the image (B, C, H, W), of one channel or all of its, or of ``channels``."""
        value, allowed = params[name], channels or (1, image.shape[1])
        if value.ndim != 4 or value.shape[1] not in allowed or value.shape[2:] != image.shape[2:]:
            known = " or ".join(map(str, sorted(set(allowed))))
            raise ValueError(
                f"{type(self).__name__}: params[{name!r}]: expected the image's size {tuple(image.shape[2:])} and "
                f"{known} channels, got shape {tuple(value.shape)}"
            )
        return value

    # -------------------------------------------------------------------------------------------------------- checks

    def as_batch(self, input: Tensor) -> Tensor:
        """View the input as (B, C, H, W), and refuse what is no image."""
        return image_batch(input, self.rank, type(self).__name__)

    def check_shape(self, shape: Sequence[int], flags: Flags) -> None:
        """Refuse the shape (B, C, H, W) of a batch that the op cannot work on, before anything is drawn."""

    def checked_params(
        self, params: Params, shape: Sequence[int], device: torch.device, where: str | None = None
    ) -> Params:
        """Refuse params that do not fit the op, at ``where`` in a container, or the batch; without a gate all apply."""
        self.check_shape(shape, self.flags)
        forms.check_forms(self.declared, params, shape, device, where or type(self).__name__)
        if "batch_prob" not in params:
            params = {**params, "batch_prob": torch.ones(shape[0], device=device)}
        if self.declared is not None:
            self.check_values(params)
        return params

    @property
    def declared(self) -> Sequence[Param] | None:
        """What the op draws; None where a user's class or a generator of kornia's draws what it does not say."""
        count = len(self.params)
        unsaid = type(self).sample is not Augmentation.sample and count == 0
        if unsaid or "generate_parameters" in self.overrides or self._param_generator is not None:
            return None
        return self.params if count else tuple(map(Param, self.ranges))

    def check_values(self, params: Params) -> None:
        """Require what every op does, in closed rows as well, and of the open rows what this one does."""
        for param in (*(self.declared or ()), Param(forms.GATE)):
            if param.name in params:  # else it is a late one
                param.check_values(params[param.name])
        if forms.SHAPE in params:
            check(params[forms.SHAPE][1:] > 0, None, f"{forms.SHAPE}: expected at least one pixel")
        self.validate(params, self.gate(params))

    @property
    def shares_draw(self) -> bool:
        """Whether the rows share all uniforms."""
        return self.same_on_batch

    @property
    def always_open(self) -> bool:
        """Whether no draw can close the gate."""
        return not isinstance(self.p, Tensor) and self.p == 1 and self.p_batch == 1

    def gate(self, params: Params) -> Tensor:
        """The rows (B,) bool that the parameters of a call say to change."""
        return params["batch_prob"] > 0.5

    def row(self, params: Params, gate: Tensor | None, i: int) -> tuple[Params, Tensor | None]:
        """The parameters and the gate of one row, as a batch of one."""
        known = {param.name: param for param in self.params}
        known[forms.SHAPE] = Param(forms.SHAPE, dim=None)
        rows = {name: known.get(name, Param(name)).row(value, i) for name, value in params.items()}
        return rows, None if gate is None else gate[i : i + 1]

    def neutralise(self, params: Params, gate: Tensor | None) -> Params:
        """Give rows with a closed gate the parameters that change nothing."""
        neutral = [] if gate is None else [param for param in self.params if param.neutral is not None]
        if gate is None or not neutral:
            return params
        return {**params, **{param.name: param.neutralised(params[param.name], gate) for param in neutral}}

    def _draw(self, shape: Sequence[int], device: torch.device, stream: Stream | None, after: Sequence[Tensor]) -> Draw:
        count = self.columns or len(self.ranges)
        return Draw(shape, device, count, stream, self.shares_draw, after, self.p, self.p_batch)


Augmentation.kind = Augmentation
AugmentationBase2D = Augmentation
