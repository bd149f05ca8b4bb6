"""What an op is built with: its gate, its flags, its ranges and where it draws from."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..common.arguments import FLAGS, Check, probability, switch
from ..common.types import Flags, Params
from ..sampling.draw import Drawing
from ..sampling.ranges import Range
from .recorded import Recorded


class Configured(Drawing, Recorded, nn.Module):
    """Base class of all ops: their configuration.

    Args:
        p: probability that a row is changed; a tensor can be set anew without a recompile.
        p_batch: probability that a batch is looked at at all.
        same_on_batch: share one draw among the rows.
        keepdim: give the output the rank of the input, instead of a batch.

    Attributes:
        flags: configuration that a call may override by keyword.
        flag_checks: the checks of flags that are not those of ``arguments.FLAGS``.
        spelling: what the constructor calls a flag, where it is not its name.
        ranges: what ``sample`` draws from.
    """

    flag_checks: ClassVar[Mapping[str, Check]] = {}
    spelling: ClassVar[Mapping[str, str]] = {}

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
        self._params: Params = {}
        self._input_shape: tuple[int, ...] | None = None
        self._last_flags: Flags | None = None

    def accept(self, **flags: Any) -> None:
        """Set the flags of the op, each in the form that its check gives it, in a call as well."""
        self.checked = frozenset(flags)
        self.flags = {key: self.check_flag(key, value, self.spelling.get(key, key)) for key, value in flags.items()}

    def check_flag(self, key: str, value: Any, name: str) -> Any:
        """A flag in the form that kernels know, called ``name`` in messages; a user's class has its own."""
        return (self.flag_checks.get(key) or FLAGS[key])(value, name) if key in self.checked else value

    def override_flags(self, overrides: Mapping[str, Any]) -> Flags:
        """The flags of a call."""
        if not overrides:
            return self.flags
        name, flags = type(self).__name__, dict(self.flags)
        for key, value in overrides.items():
            if key not in flags:
                raise TypeError(f"{name}: unknown keyword {key!r}; expected one of {sorted(flags)}")
            flags[key] = self.check_flag(key, value, f"{name}: {key}")
        return flags

    def flags_for(self, options: Mapping[str, Flags]) -> Flags:
        """The flags of a call with the options of containers for images, of which an op knows some."""
        return self.override_flags({k: v for k, v in options.get("image", {}).items() if k in self.flags})

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

    def _apply(self, fn: Any, recurse: bool = True) -> "Configured":
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
