"""The base class: one ``forward`` for every op.

A call goes through these steps: the input becomes a batch; parameters are drawn or checked; rows with a closed gate get
neutral parameters; the image is computed; the parameters are recorded; the input's rank is restored.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..common.arguments import FLAGS, Check, image_batch, probability, switch
from ..common.dtypes import full_precision, load, store
from ..common.tracing import own_forward
from ..common.types import Flags, Params
from ..maps.warp import Warp
from ..sampling import params as replay
from ..sampling.draw import Draw, Stream
from ..sampling.ranges import Range
from ..targets import tv
from .recorded import Recorded

HOOKS = (
    "generate_parameters",
    "compute_transformation",
    "apply_transform",
    "apply_planes",
    "apply_values",
    "apply_wide",
    "linear",
    "mixture",
    "apply_transform_mask",
    "transform_image",
    "transform_mask",
    "inverse_transform",
)


class Augmentation(Recorded, nn.Module):
    """Base class of all ops.

    Args:
        p: probability that a row is changed; a tensor can be set anew without a recompile.
        p_batch: probability that a batch is looked at at all.
        same_on_batch: share one draw among the rows.
        keepdim: give the output the rank of the input, instead of a batch.

    Attributes:
        rank: spatial dimensions of an image.
        param_names: the parameters that ``sample`` gives; empty where they are those of ``self.ranges``.
        shared_params: those among them that hold for the whole batch.
        param_shapes: the shape of a row of those that are not one number a row, None in it where any length will do;
            None for all of it where a row is as large as the image, whose values are not checked.
        bool_params: those that are masks.
        late_params: those that only a call with all its targets adds.
        neutral: the value of a parameter that changes nothing, given to rows with a closed gate.
        own_dtype: see ``Intensity``.
        columns: how many uniforms a row of ``sample`` needs; 0 for one a range.
        kind: the base class that says what the op changes.
        overrides: the hooks that the op has of its own, compared with its kind.
        own: whether the op is this package's, and leaves its inputs alone.
        flags: configuration that a call may override by keyword.
        flag_checks: the checks of flags that are not those of ``arguments.FLAGS``.
        spelling: what the constructor calls a flag, where it is not its name.
        ranges: what ``sample`` draws from.
    """

    rank: ClassVar[int] = 2
    param_names: ClassVar[Sequence[str]] = ()
    shared_params: ClassVar[Sequence[str]] = ()
    param_shapes: ClassVar[Mapping[str, tuple[int | None, ...] | None]] = {}
    bool_params: ClassVar[Sequence[str]] = ()
    late_params: ClassVar[Sequence[str]] = ()
    neutral: ClassVar[Mapping[str, float]] = {}
    own_dtype: bool = False
    columns: int = 0
    overrides: ClassVar[frozenset[str]] = frozenset()
    kind: ClassVar[type[nn.Module]]
    own: ClassVar[bool] = True
    flag_checks: ClassVar[Mapping[str, Check]] = {}
    spelling: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls, kind: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own_forward(cls)
        if kind:
            cls.kind = cls
        cls.own = cls.__module__.partition(".")[0] == __name__.partition(".")[0]
        cls.overrides = frozenset(
            hook for hook in HOOKS if getattr(cls, hook, None) is not getattr(cls.kind, hook, None)
        )

    def __init__(
        self, p: float | Tensor = 0.5, p_batch: float = 1.0, same_on_batch: bool = False, keepdim: bool = False
    ) -> None:
        super().__init__()
        self.p = probability(p, "p")
        self.p_batch = float(probability(p_batch, "p_batch"))
        self.same_on_batch = switch(same_on_batch, "same_on_batch")
        self.keepdim = switch(keepdim, "keepdim")
        self.flags: Flags = {}
        self.checked: frozenset[str] = frozenset()
        self.ranges = {}
        self.device, self.dtype = torch.device("cpu"), torch.get_default_dtype()  # what kornia's subclasses draw with
        self._param_generator: nn.Module | None = None
        self._stream: Stream | None = None
        self._own_stream: Stream | None = None
        self._params: Params = {}
        self._input_shape: tuple[int, ...] | None = None
        self._last_flags: Flags | None = None

    def accept(self, **flags: Any) -> None:
        """Set the flags of the op, each in the form that its check gives it, in a call as well."""
        self.checked = frozenset(flags)
        self.flags = {key: self.check_flag(key, value, self.spelling.get(key, key)) for key, value in flags.items()}

    # ------------------------------------------------------------------------------------------------ what an op says

    def sample(self, draw: Draw) -> Params:
        """Turn uniforms into named parameters; the default draws one column for each of ``self.ranges``."""
        return {name: bounds(draw.u[:, i]) for i, (name, bounds) in enumerate(self.ranges.items())}

    def generate_parameters(self, batch_shape: Sequence[int]) -> Params:
        """Draw the parameters of a batch, without the gate. Subclasses may override it as in kornia."""
        return self.sample(self._draw(batch_shape, torch.get_default_device(), self._stream, ()))

    def validate(self, params: Params, gate: Tensor) -> None:
        """Check parameter values of the open rows with ``check``; by default, that they lie in their domains."""
        for name, bounds in self.ranges.items():
            if name in params:
                bounds.check(params[name], gate, name)

    def output_size(self, size: tuple[int, int]) -> tuple[int, int]:
        """Give the (h, w) that comes out of an (H, W) input."""
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
        """Give (B, 3, 3) identities for a batch."""
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
            return tv.through(self, input, params, generator=generator, **overrides)
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
        if not isinstance(device, torch.device):
            device = torch.get_default_device() if device is None else torch.device(device)
        draw = self._draw(batch_shape, device, self._stream if generator is None else Stream(generator), after)
        if rows is not None:
            draw.gate = draw.gate & rows
        if "generate_parameters" in self.overrides:
            params = replay.on_device(self.generate_parameters(batch_shape), device)
        elif self._param_generator is not None:  # one of kornia's
            params = replay.on_device(self._param_generator(batch_shape, self.same_on_batch), device)
        else:
            params = self.sample(draw)
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

    # -------------------------------------------------------------------------------------------------------- checks

    def as_batch(self, input: Tensor) -> Tensor:
        """View the input as (B, C, H, W), and refuse what is no image."""
        return image_batch(input, self.rank, type(self).__name__)

    def check_shape(self, shape: Sequence[int], flags: Flags) -> None:
        """Refuse the shape (B, C, H, W) of a batch that the op cannot work on, before anything is drawn."""

    def check_flag(self, key: str, value: Any, name: str) -> Any:
        """Give a flag in the form that kernels know, called ``name`` in messages; a user's class has its own."""
        return (self.flag_checks.get(key) or FLAGS[key])(value, name) if key in self.checked else value

    def override_flags(self, overrides: Mapping[str, Any]) -> Flags:
        """Give the flags of a call."""
        if not overrides:
            return self.flags
        name, flags = type(self).__name__, dict(self.flags)
        for key, value in overrides.items():
            if key not in flags:
                raise TypeError(f"{name}: unknown keyword {key!r}; expected one of {sorted(flags)}")
            flags[key] = self.check_flag(key, value, f"{name}: {key}")
        return flags

    def checked_params(
        self, params: Params, shape: Sequence[int], device: torch.device, where: str | None = None
    ) -> Params:
        """Refuse params that do not fit the op, at ``where`` in a container, or the batch; without a gate all apply."""
        self.check_shape(shape, self.flags)
        replay.check_forms(self, params, shape, device, where or type(self).__name__)
        if "batch_prob" not in params:
            params = {**params, "batch_prob": torch.ones(shape[0], device=device)}
        if self.known_params is not None:
            self.check_values(params)
        return params

    @property
    def known_params(self) -> Sequence[str] | None:
        """The names of what the op draws; None where a user's class or a generator of kornia's draws."""
        drawn_elsewhere = "generate_parameters" in self.overrides or self._param_generator is not None
        return None if drawn_elsewhere else self.param_names or tuple(self.ranges)

    def check_values(self, params: Params) -> None:
        """Require of the open rows what every op does, and what this one does."""
        replay.check_values(self, params)
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
        """Give the rows (B,) bool that the parameters of a call say to change."""
        return params["batch_prob"] > 0.5

    def guarded(self, work: Tensor, input: Tensor) -> Tensor:
        """Copy what a user's class is given, if it is the input itself, for it may be written over."""
        return work.clone() if work is input and not self.own else work

    def row(self, params: Params, gate: Tensor | None, i: int) -> tuple[Params, Tensor | None]:
        """Give the parameters and the gate of one row, as a batch of one."""
        whole = (*self.shared_params, "forward_input_shape")
        rows = {name: value if name in whole else value[i : i + 1] for name, value in params.items()}
        return rows, None if gate is None else gate[i : i + 1]

    def neutralise(self, params: Params, gate: Tensor | None) -> Params:
        """Give rows with a closed gate the parameters that change nothing."""
        if gate is None or not self.neutral:
            return params
        safe = dict(params)
        for name, value in self.neutral.items():
            rows = gate.view(-1, *(1 for _ in params[name].shape[1:]))
            safe[name] = torch.where(rows, params[name], value)
        return safe

    def _draw(self, shape: Sequence[int], device: torch.device, stream: Stream | None, after: Sequence[Tensor]) -> Draw:
        count = self.columns or len(self.ranges)
        return Draw(shape, device, count, stream, self.shares_draw, after, self.p, self.p_batch)

    # ------------------------------------------------------------------------------------------------------- hygiene

    @property
    def generator(self) -> torch.Generator | None:
        """Where the op draws from, eager and compiled; None for the default generator of the image's device."""
        return None if self._stream is None else self._stream.generator

    @generator.setter
    def generator(self, generator: torch.Generator | None) -> None:
        if generator is not None:
            self._own_stream = Stream.renewed(self._own_stream, generator)
        self._stream = None if generator is None else self._own_stream

    @property
    def ranges(self) -> dict[str, Range]:
        """What ``sample`` draws from, by name."""
        return self._ranges

    @ranges.setter
    def ranges(self, ranges: dict[str, Range]) -> None:
        self._ranges = ranges
        for name, bounds in ranges.items():
            if isinstance(bounds.bounds, nn.Parameter):
                self.register_parameter(f"{name}_bounds", bounds.bounds)

    @property
    def learns(self) -> bool:
        """Whether any range is a tensor, whose values may change."""
        return any(bounds.learns for bounds in self.ranges.values())

    def _apply(self, fn: Any, recurse: bool = True) -> "Augmentation":
        super()._apply(fn, recurse)
        if isinstance(self.p, Tensor):
            self.p = fn(self.p)
        for bounds in self.ranges.values():
            if isinstance(bounds.bounds, Tensor) and not isinstance(bounds.bounds, nn.Parameter):
                bounds.bounds = fn(bounds.bounds)
        return self

    def extra_repr(self) -> str:
        fields = {name: str(bounds) for name, bounds in self.ranges.items()}
        fields |= {name: repr(value) for name, value in self.flags.items()}
        fields |= {name: repr(getattr(self, name)) for name in ("p", "p_batch", "same_on_batch", "keepdim")}
        return ", ".join(f"{name}={value}" for name, value in fields.items())


Augmentation.kind = Augmentation
AugmentationBase2D = Augmentation
