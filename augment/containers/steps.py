"""A child of a container in a call: how it is drawn for, called, copied and led back, by what it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..common.types import Flags
from ..kinds.augmentation import Augmentation
from ..kinds.call import Call, Ready
from ..kinds.recorded import Recorded
from ..sampling.copies import repeat_rows
from ..sampling.items import ParamItem, drawn
from ..sampling.params import GATE, repeated_params
from ..targets import samples
from ..targets.target import Target
from .modules import apply_module, check_images

Size = tuple[int, int]


@dataclass
class Later:
    """In place of the parameters of a container: they are drawn child by child, for the images that come to each.

    Args:
        generator: where to draw from; None for the default one of the device.
        after: what was drawn before, which every draw comes after.
    """

    generator: torch.Generator | None
    after: Sequence[Tensor]


@dataclass(frozen=True)
class Asked:
    """What ``forward_parameters`` is asked for beside a shape; its arguments, as of an op."""

    generator: torch.Generator | None = None
    device: torch.device | str | None = None
    after: Sequence[Tensor] = ()
    rows: Tensor | None = None

    def repeated(self, copies: int) -> "Asked":
        """The same for copies of rows."""
        return self if self.rows is None else replace(self, rows=repeat_rows(self.rows, copies))


class Node(Recorded, nn.Sequential):
    """A container as the one around it sees it."""


@dataclass(frozen=True)
class Step:
    """A child in one round, with its parameters and the path to it; here a module that is no op.

    Args:
        name: the child's name in its container.
        child: the module.
        where: the path to it, for messages.
        data: its parameters in a call, or ``Later``.

    Attributes:
        plain: whether it is a module that is no op.
    """

    name: str
    child: Any
    where: str = ""
    data: Any = None
    plain: ClassVar[bool] = True

    @property
    def draws_late(self) -> bool:
        """Whether what comes behind is only known when the child has run."""
        return True

    def output_size(self, size: Size) -> Size:
        """The (h, w) that comes out of an (H, W) input, as far as is known."""
        return size

    def keeps_size(self, size: Size) -> bool:
        """Whether nothing changes the size of an (H, W) input, not even on the way."""
        return True

    def draw(self, shape: Sequence[int], asked: Asked) -> Any:
        """The parameters that are drawn for a batch; of a module that has none, the rows that were chosen."""
        return None if asked.rows is None else {GATE: asked.rows.float()}

    def ahead(self, targets: Sequence[Target], call: Call) -> "Step":
        """The child with parameters for what comes to it, where they were left to the call."""
        return replace(self, data=None) if isinstance(self.data, Later) else self

    def draw_for(self, shape: Sequence[int], device: torch.device, call: Call) -> "Step":
        """The child with parameters that are drawn now, for images of a shape; a clip's first frame draws for all."""
        later, frames = self.data, call.frames
        own = self.draw((shape[0] // frames, *shape[1:]), Asked(later.generator, device, later.after))
        later.after = [*later.after, *drawn(own)]
        step = replace(self, data=own)
        return replace(step, data=step.repeated(frames, 1, None)) if frames > 1 else step

    def repeated(self, copies: int, block: int, rows: Tensor | None) -> Any:
        """The parameters for copies of rows; see ``sampling.params.repeated_params``."""
        if self.data is None:
            return None if rows is None else {GATE: rows.float()}
        open = repeat_rows(self.data[GATE], copies, block)
        return {GATE: open if rows is None else open * rows}

    def run(self, targets: list[Target], call: Call) -> tuple[list[Target], Any]:
        """All targets behind the child, and the parameters that it used."""
        return apply_module(self.child, targets, self.data, replace(call, where=self.where)), self.data

    def lead_back(self, targets: list[Target], options: Mapping[str, Flags]) -> list[Target]:
        """All targets before the child."""
        return targets

    def matrix(self, rigid: bool) -> Tensor | None:
        """The matrix (B, 3, 3) of the child in a call; None where it has none, which ``rigid`` may refuse."""
        return None


class _Drawn(Step):
    """Base class of the steps of what draws."""

    plain = False

    def output_size(self, size: Size) -> Size:
        return self.child.output_size(size)

    def draw(self, shape: Sequence[int], asked: Asked) -> Any:
        return self.child.forward_parameters(shape, asked.generator, asked.device, asked.after, asked.rows)

    def ahead(self, targets: Sequence[Target], call: Call) -> Step:
        if not isinstance(self.data, Later) or self.draws_late:
            return self
        check_images(targets, self.where)
        return self.draw_for(*samples.shape_of(targets), call)


class OpStep(_Drawn):
    """An op in one round."""

    @property
    def draws_late(self) -> bool:
        return False

    def keeps_size(self, size: Size) -> bool:
        return self.child.output_size(size) == size

    def repeated(self, copies: int, block: int, rows: Tensor | None) -> Any:
        return repeated_params(self.child.params, self.data, copies, block, rows)

    def run(self, targets: list[Target], call: Call) -> tuple[list[Target], Any]:
        return self.child.carry(targets, self.data, replace(call, where=self.where))

    def lead_back(self, targets: list[Target], options: Mapping[str, Flags]) -> list[Target]:
        return self.child.lead_back(targets, self.data, options, self.where)

    def matrix(self, rigid: bool) -> Tensor | None:
        return self.child.matrix_of(self.data, rigid)

    # ---------------------------------------------------------------------------------------------- in a run of ops

    def shape_for(self, targets: Sequence[Target]) -> tuple[Sequence[int], torch.device]:
        """The shape (B, C, H, W) and the device of the images that come to the op, if need be by its params."""
        return samples.shape_of(targets, lambda: self.child.origin(self.data, self.where))

    def ready(self, targets: Sequence[Target], shape: Sequence[int], device: torch.device, call: Call) -> Ready:
        """The op as a run needs it for images of a shape (B, C, H, W)."""
        ready = self.child.ready(self.data, targets, shape, device, replace(call, where=self.where))
        self.child.check_shape(shape, ready.flags)
        return ready

    def earlier(self, options: Mapping[str, Flags]) -> Ready:
        """The op as it was in an earlier call."""
        params, _ = self.child.of_call(self.data, self.where)
        return Ready(self.child, params, self.child.flags_for(options), self.child.gate(params))


class NodeStep(_Drawn):
    """A container in one round of the one around it."""

    @property
    def draws_late(self) -> bool:
        return self.child.draws_late

    def keeps_size(self, size: Size) -> bool:
        return self.child.keeps_size(size)

    def repeated(self, copies: int, block: int, rows: Tensor | None) -> Any:
        return self.child.repeated(self.data, copies, block, rows)

    def run(self, targets: list[Target], call: Call) -> tuple[list[Target], Any]:
        call = replace(call, where=self.where, options={**call.options, **self.child.extra_args})
        return self.child.transform_targets(targets, self.data, call), self.child._params

    def lead_back(self, targets: list[Target], options: Mapping[str, Flags]) -> list[Target]:
        return self.child.invert_targets(targets, self.data, {**options, **self.child.extra_args}, self.where)

    def matrix(self, rigid: bool) -> Tensor | None:
        return self.child.matrix_of(self.data)


def step_of(name: str, child: nn.Module) -> Step:
    """The step of a child, by what it is."""
    kind = OpStep if isinstance(child, Augmentation) else NodeStep if isinstance(child, Node) else Step
    return kind(name, child)


def draw_each(batches: Sequence[tuple[Step, Sequence[int], Tensor | None]], asked: Asked) -> list[ParamItem]:
    """Draw for steps one after the other, each for a shape and for rows."""
    items = []
    for step, shape, rows in batches:
        items.append(ParamItem(step.name, step.draw(shape, replace(asked, rows=rows))))
        asked = replace(asked, after=[*asked.after, *drawn(items[-1].data)])
    return items
