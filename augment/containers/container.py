"""What all containers share: the draw for their children, and the way of targets through them and back."""

import functools
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from ..common.tracing import own_forward
from ..common.types import Flags, Params
from ..kinds.augmentation import Augmentation
from ..kinds.call import Call
from ..sampling.copies import repeat_rows
from ..sampling.draw import Draw, Drawing, Stream, as_device
from ..sampling.items import CHOSEN, ParamItem, as_items, given_shape
from ..sampling.params import SHAPE, repeated_shape
from ..targets import samples
from ..targets.target import Target
from . import fuse
from .merging import check_chosen, merged, merged_matrix
from .modules import believed_size
from .selection import Selection
from .steps import Asked, Later, Node, Step, draw_each, step_of

Size = tuple[int, int]


class Container(Drawing, Node):
    """Base class of the containers.

    Args:
        *args: ops, containers, or other modules, as ``AugmentationSequential`` takes them.
        selection: which of them run for a row; None for all, one after the other.

    Attributes:
        extra_args: options by data key, for the ops inside.
        transformation_matrix_mode: see ``AugmentationSequential``.
        same_on_batch: share the choice of ops among the rows.
        if_unsupported_ops: see ``ImageSequential``.
        fuse: see ``AugmentationSequential``.
        clips: whether it takes videos.
    """

    def __init__(self, *args: nn.Module, selection: Selection | None = None) -> None:
        for i, child in enumerate(args):
            if not isinstance(child, nn.Module):
                raise TypeError(f"args[{i}]: expected a module, got {child!r}")
            if any(child is other for other in args[:i]):
                raise ValueError(f"args[{i}]: expected each module once, got {type(child).__name__} again; copy it")
        super().__init__(OrderedDict((f"{type(child).__name__}_{i}", child) for i, child in enumerate(args)))
        self.selection = selection
        self.extra_args: dict[str, Flags] = {}
        self.transformation_matrix_mode = "silent"
        self.same_on_batch = False
        self.if_unsupported_ops = "skip"
        self.fuse = False
        self._plan = fuse.Plan()
        self.clips = any(isinstance(child, Container) and child.clips for child in args)
        for i, child in enumerate(args):
            images = isinstance(child, Augmentation) or (isinstance(child, Container) and not child.clips)
            if self.clips and images:
                raise ValueError(
                    f"args[{i}]: expected what takes videos beside a VideoSequential, got {type(child).__name__}; "
                    "put it into a VideoSequential"
                )
        self._params: list[ParamItem] | None = None
        self._given_shape: Sequence[int] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own_forward(cls)

    def forward_parameters(
        self,
        batch_shape: Sequence[int],
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        after: Sequence[Tensor] = (),
        rows: Tensor | None = None,
    ) -> list[ParamItem]:
        """Draw the parameters of all children for a batch (B, C, H, W), or for videos, one after the other.

        Modules that are no ops are taken to keep the size. Args and Returns as of an op; ``rows`` are those that a
        container around has chosen.
        """
        return self.draw(batch_shape, Asked(generator, device, after, rows))

    def draw(self, shape: Sequence[int], asked: Asked) -> list[ParamItem]:
        """Draw what ``forward_parameters`` gives."""
        if self.selection is not None:
            return self._draw_choice(self.selection, shape, asked)
        batches = []
        for step in self._children():
            batches.append((step, shape, asked.rows))
            shape = (*shape[:-2], *step.output_size((shape[-2], shape[-1])))
        return draw_each(batches, asked)

    def _children(self) -> list[Step]:
        return [step_of(name, child) for name, child in self.named_children()]

    def _draw_choice(self, selection: Selection, shape: Sequence[int], asked: Asked) -> list[ParamItem]:
        """Draw which children run, and their parameters for every round."""
        self._output((shape[-2], shape[-1]))
        device, rows = as_device(asked.device), asked.rows
        stream = self._stream if asked.generator is None else Stream(asked.generator)
        draw = Draw(shape, device, selection.columns, stream, self.same_on_batch, asked.after, selection.p)
        chosen = selection(draw.u) & draw.gate.view(-1, 1, 1)
        chosen = chosen if rows is None else chosen & rows.view(-1, 1, 1)
        head = ParamItem(CHOSEN, {CHOSEN: chosen, SHAPE: torch.tensor(list(shape))})
        batches = [(step, shape, chosen[place]) for step, place in self._places()]
        return [head, *draw_each(batches, replace(asked, device=device, after=[*draw.drawn, chosen]))]

    def output_size(self, size: Size) -> Size:
        """The (h, w) that comes out of an (H, W) input."""
        return self._output(size)

    def keeps_size(self, size: Size) -> bool:
        """Whether no op changes the size of an (H, W) input, not even on the way."""
        return self._keeps(size)

    def _output(self, size: Size) -> Size:
        """The size that comes out of what the children get."""
        sizes = {}
        for step in self._children():
            sizes[step.name] = step.output_size(size)
            size = size if self.selection is not None else sizes[step.name]
        if self.selection is None or not sizes:
            return size
        name, kept = type(self).__name__, self._keeps(size)
        if not (kept or self.selection.single):
            raise ValueError(f"{name}: expected ops that keep the size {size}, or a choice of one; got sizes {sizes}")
        if len(set(sizes.values())) > 1:
            raise ValueError(f"{name}: expected ops that give one size; from {size} they give {sizes}")
        return next(iter(sizes.values()))

    def _keeps(self, size: Size) -> bool:
        return all(step.keeps_size(size) for step in self._children())

    @property
    def draws_late(self) -> bool:
        """Whether children are drawn for one by one, since a module that is no op may change what comes to an op."""
        return self.selection is None and any(step.draws_late for step in self._children())

    def transform_targets(self, targets: list[Target], params: Sequence[ParamItem] | Later, call: Call) -> list[Target]:
        """Apply all children to all targets."""
        head, steps = self._steps(params, call.where)
        if head is not None and self.selection is not None:
            shape, _ = samples.shape_of(targets, lambda: (given_shape(head), head[CHOSEN].device))
            self._given_shape, call = shape, replace(call, gated=True, still=True)
            if call.handed_in:
                check_chosen(head, self.selection, shape[0], call.where)
        used = []

        def run(step: Step, targets: list[Target]) -> list[Target]:
            targets, data = step.ahead(targets, call).run(targets, call)
            used.append(ParamItem(step.name, data))
            return targets

        def run_fused(group: list[Step], targets: list[Target]) -> list[Target]:
            targets, data = fuse.transform(group, targets, call)
            used.extend(ParamItem(step.name, own) for step, own in zip(group, data, strict=True))
            return targets

        if head is not None and self._merges(self._given_shape):
            runs = [lambda t, s=s: run(s, t) for s in steps]
            targets = merged(targets, runs, head[CHOSEN], self._holds(self._given_shape))
        else:
            believed = None
            for group in self._runs(steps, call.options):
                first = group[0]
                believed = believed_size(first.data, first.where, targets, believed) if call.handed_in else None
                targets = run(first, targets) if len(group) == 1 else run_fused(group, targets)
        self._params = used if head is None else [ParamItem(CHOSEN, head), *used]
        return targets

    def invert_targets(
        self, targets: list[Target], params: Sequence[ParamItem], options: Mapping[str, Flags], where: str
    ) -> list[Target]:
        """Lead all targets back through all children; ``where`` is the path to the container."""
        head, steps = self._steps(params, where)
        self._refuse_plain()
        if head is not None and self._merges(shape := self._shape_then(params)):
            backwards = [lambda t, s=s: s.lead_back(t, options) for s in steps]
            return merged(targets, backwards, head[CHOSEN], self._holds(shape))
        for run in reversed(self._runs(steps, options)):
            one = len(run) == 1
            targets = run[0].lead_back(targets, options) if one else fuse.lead_back(run, targets, options)
        return targets

    def _runs(self, steps: Sequence[Step], options: Mapping[str, Flags]) -> list[list[Step]]:
        """The steps that are done as one together."""
        if not self.fuse:
            return [[step] for step in steps]
        return fuse.grouped(steps, self._plan.runs([step.child for step in steps], options))

    def plan(self, options: Mapping[str, Flags]) -> None:
        """Make the plan of ``fuse=True`` for calls with these options, and those of the containers inside.

        A call would make it as well, but what a call keeps, the compiler takes for a change and compiles again.
        """
        if self.fuse:
            self._plan.runs([step.child for step, _ in self._places()], options)
        for child in self.children():
            if isinstance(child, Container):
                child.plan({**options, **child.extra_args})

    def _refuse_plain(self) -> None:
        """Refuse to lead back through modules that cannot, if they are not to be skipped."""
        for step in self._children():
            if self.if_unsupported_ops == "raise" and step.plain:
                raise NotImplementedError(
                    f"{type(self).__name__}: inverse: {step.name} has none; if_unsupported_ops='skip' leaves it applied"
                )

    def repeated(
        self, params: Sequence[ParamItem], copies: int, block: int = 1, rows: Tensor | None = None
    ) -> list[ParamItem]:
        """The parameters of a call for copies of its rows; see ``sampling.params.repeated_params``."""
        head, steps = self._steps(params, type(self).__name__)
        items = []
        if head is not None:
            chosen = repeat_rows(head[CHOSEN], copies, block)
            chosen = chosen if rows is None else chosen & rows.view(-1, 1, 1)
            items.append(ParamItem(CHOSEN, {CHOSEN: chosen, SHAPE: repeated_shape(head[SHAPE], copies)}))
        return [*items, *(ParamItem(step.name, step.repeated(copies, block, rows)) for step in steps)]

    # ------------------------------------------------------------------------------------------------------- choices

    def _places(self) -> Iterator[tuple[Step, Any]]:
        """Every child in every round, with its place in what was chosen, (B, rounds, count)."""
        rounds = 1 if self.selection is None else self.selection.rounds
        for k in range(rounds):
            for i, step in enumerate(self._children()):
                yield step, (slice(None), k, i)

    def _steps(self, params: Sequence[ParamItem] | Later, where: str) -> tuple[Params | None, list[Step]]:
        """What was chosen, None where nothing is, and every child that runs with its parameters."""
        places, head = list(self._places()), [] if self.selection is None else [CHOSEN]
        names = [*head, *(step.name for step, _ in places)]
        late = isinstance(params, Later)
        items = [ParamItem(name, params) for name in names] if late else as_items(params, names, where)
        steps = [
            replace(step, where=f"{where}[{place[2]}].{type(step.child).__name__}", data=item.data)
            for (step, place), item in zip(places, items[len(head) :], strict=True)
        ]
        chosen = items[0].data if head else None
        if head and not isinstance(chosen, dict):
            raise TypeError(f"{where}: params[{CHOSEN!r}]: expected a dict of tensors, got {chosen!r:.80}")
        return chosen, steps

    def _merges(self, shape: Sequence[int]) -> bool:
        """Whether children change the size, so that each has to see what came in."""
        self._output(size := (shape[-2], shape[-1]))
        return not self._keeps(size)

    def _holds(self, shape: Sequence[int]) -> bool:
        """Whether as large comes out as came in."""
        return self._output(size := (shape[-2], shape[-1])) == size

    def _shape_then(self, params: Sequence[ParamItem]) -> Sequence[int]:
        """The shape of the images for which a choice was drawn."""
        return self._given_shape if params is self._params else given_shape(params[0][1])

    # ------------------------------------------------------------------------------------------------------- reading

    @property
    def transform_matrix(self) -> Tensor | None:
        """The matrix (B, 3, 3) of the last call from input pixels to output pixels; None before the first."""
        return None if self._params is None else self.matrix_of(self._params)

    def matrix_of(self, params: Sequence[ParamItem]) -> Tensor | None:
        """The matrix (B, 3, 3) of a call by its parameters; None where no op has one."""
        head, steps = self._steps(params, type(self).__name__)
        if self.transformation_matrix_mode == "skip":
            return None
        matrices = [step.matrix(self.transformation_matrix_mode == "rigid") for step in steps]
        if head is not None and self._merges(shape := self._shape_then(params)):
            return merged_matrix(matrices, head[CHOSEN], self._holds(shape))
        found = [matrix for matrix in matrices if matrix is not None]
        return functools.reduce(lambda before, matrix: matrix @ before, found) if found else None

    def _drawing(self) -> "Iterator[Augmentation | Container]":
        """The ops and the containers inside, and this one."""
        return (m for m in self.modules() if isinstance(m, (Augmentation, Container)))

    def _apply(self, fn: Any, recurse: bool = True) -> "Container":
        super()._apply(fn, recurse)
        if self.selection is not None and isinstance(self.selection.p, Tensor):
            self.selection.p = fn(self.selection.p)
        return self
