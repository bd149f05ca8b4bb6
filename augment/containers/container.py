"""What all containers share: the draw for their children, and the way of targets through them and back."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from ..common.dtypes import full_precision
from ..common.tracing import own_forward
from ..common.types import Flags, Params
from ..kinds.augmentation import Augmentation
from ..kinds.geometric import Geometric
from ..kinds.intensity import Intensity
from ..kinds.mix import Mix
from ..sampling.copies import copied, copied_shape
from ..sampling.draw import Draw, Stream
from ..sampling.items import CHOSEN, ParamItem, as_items, drawn, given_shape
from ..sampling.params import origin
from ..targets import moving as mv
from ..targets import samples as values
from ..targets import target as tg
from ..targets.target import Target
from ..targets.videos import of_clips
from . import fuse as fusion
from .merging import check_chosen, merged, merged_matrix
from .modules import Later, apply_module, believed_size, check_images, draw_late, draw_run
from .selection import Selection
from .steps import Call, Node, Step, copied_child, draw_child, invert_child, is_other

Size = tuple[int, int]


class Container(Node):
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
        self.clips = any(isinstance(child, Container) and child.clips for child in args)
        if self.clips:
            self._refuse_images(args)
        self._params: list[ParamItem] | None = None
        self._given_shape: Sequence[int] = ()
        self._stream: Stream | None = None
        self._own_stream: Stream | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own_forward(cls)

    def _refuse_images(self, args: Sequence[nn.Module]) -> None:
        """Refuse what takes images beside what takes videos."""
        for i, child in enumerate(args):
            if isinstance(child, Augmentation) or (isinstance(child, Container) and not child.clips):
                raise ValueError(
                    f"args[{i}]: expected what takes videos beside a VideoSequential, got {type(child).__name__}; "
                    "put it into a VideoSequential"
                )

    def forward_parameters(
        self,
        batch_shape: Sequence[int],
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        after: Sequence[Tensor] = (),
        rows: Tensor | None = None,
    ) -> list[ParamItem]:
        """Draw the parameters of all children for a batch (B, C, H, W), one after the other.

        Modules that are no ops are taken to keep the size. Args and Returns as of an op; ``rows`` are those that a
        container around has chosen.
        """
        if self.selection is not None:
            return self._forward_choice(self.selection, batch_shape, generator, device, after, rows)
        items = []
        for name, child in self.named_children():
            data = draw_child(child, batch_shape, generator, device, after, rows)
            after = [*after, *drawn(data)]
            items.append(ParamItem(name, data))
            if isinstance(child, (Augmentation, Container)):
                batch_shape = (*batch_shape[:-2], *child.output_size((batch_shape[-2], batch_shape[-1])))
        return items

    def _forward_choice(
        self,
        selection: Selection,
        shape: Sequence[int],
        generator: torch.Generator | None,
        device: torch.device | str | None,
        after: Sequence[Tensor],
        rows: Tensor | None,
    ) -> list[ParamItem]:
        """Draw which children run, and their parameters for every round."""
        self._output((shape[-2], shape[-1]))
        if not isinstance(device, torch.device):
            device = torch.get_default_device() if device is None else torch.device(device)
        stream = self._stream if generator is None else Stream(generator)
        draw = Draw(shape, device, selection.columns, stream, self.same_on_batch, after, selection.p)
        chosen = selection(draw.u) & draw.gate.view(-1, 1, 1)
        chosen = chosen if rows is None else chosen & rows.view(-1, 1, 1)
        items = [ParamItem(CHOSEN, {CHOSEN: chosen, "forward_input_shape": torch.tensor(list(shape))})]
        after = [*draw.drawn, chosen]
        for name, child, place in self._places():
            data = draw_child(child, shape, generator, device, after, chosen[place])
            after = [*after, *drawn(data)]
            items.append(ParamItem(name, data))
        return items

    def output_size(self, size: Size) -> Size:
        """Give the (h, w) that comes out of an (H, W) input."""
        return self._output(size)

    def keeps_size(self, size: Size) -> bool:
        """Say whether no op changes the size of an (H, W) input, not even on the way."""
        return self._keeps(size)

    def _output(self, size: Size) -> Size:
        """Give the size that comes out of what the children get."""
        sizes = {}
        for name, child in self.named_children():
            sizes[name] = child.output_size(size) if isinstance(child, (Augmentation, Container)) else size
            size = size if self.selection is not None else sizes[name]
        if self.selection is None or not sizes:
            return size
        name, kept = type(self).__name__, self._keeps(size)
        if not (kept or self.selection.single):
            raise ValueError(f"{name}: expected ops that keep the size {size}, or a choice of one; got sizes {sizes}")
        if len(set(sizes.values())) > 1:
            raise ValueError(f"{name}: expected ops that give one size; from {size} they give {sizes}")
        return next(iter(sizes.values()))

    def _keeps(self, size: Size) -> bool:
        ops = [child for child in self.children() if isinstance(child, (Augmentation, Container))]
        return all(op.keeps_size(size) if isinstance(op, Container) else op.output_size(size) == size for op in ops)

    @property
    def draws_late(self) -> bool:
        """Whether children are drawn for one by one, since a module that is no op may change what comes to an op."""
        late = (child.draws_late if isinstance(child, Container) else is_other(child) for child in self.children())
        return self.selection is None and any(late)

    def transform_targets(self, targets: list[Target], params: Sequence[ParamItem] | Later, call: Call) -> list[Target]:
        """Apply all children to all targets."""
        head, steps = self._steps(params, call.where)
        if head is not None and self.selection is not None:
            shape, _ = values.shape_of(targets, lambda: (given_shape(head), head[CHOSEN].device))
            self._given_shape, call = shape, replace(call, gated=True, still=True)
            if call.handed_in:
                check_chosen(head, self.selection, shape[0], call.where)
        used = []

        def run(step: Step, targets: list[Target]) -> list[Target]:
            targets, data = self._run(step.child, targets, step.item.data, replace(call, where=step.where))
            used.append(ParamItem(step.item.name, data))
            return targets

        def run_fused(group: list[Step], targets: list[Target]) -> list[Target]:
            targets, data = fusion.transform(draw_run(group, targets, call), targets, call)
            used.extend(ParamItem(step.item.name, own) for step, own in zip(group, data, strict=True))
            return targets

        if head is not None and self._merges(head, self._given_shape):
            runs = [lambda t, s=s: run(s, t) for s in steps]
            targets = merged(targets, runs, head[CHOSEN], self._holds(self._given_shape))
        else:
            believed = None
            for group in self._runs(steps, call.options):
                believed = believed_size(group[0], targets, believed) if call.handed_in else None
                targets = run(group[0], targets) if len(group) == 1 else run_fused(group, targets)
        self._params = used if head is None else [ParamItem(CHOSEN, head), *used]
        return targets

    def _run(self, child: nn.Module, targets: list[Target], data: Any, call: Call) -> tuple[list[Target], Any]:
        """Apply one child, which is where ``call`` says, and give with the targets the parameters that it used."""
        data = self._drawn(child, targets, data, call)
        if isinstance(child, Container):
            call = replace(call, options={**call.options, **child.extra_args})
            return child.transform_targets(targets, data, call), child._params
        if not isinstance(child, Augmentation):
            return apply_module(child, targets, data, call), data
        if isinstance(child, Geometric) and child.looks_at_boxes and not call.handed_in:
            data = child.settle(data, of_clips(mv.all_boxes(targets), call.frames))
        shape, device = values.shape_of(targets, lambda: origin(child, data, call.where))
        if call.handed_in:
            data = child.checked_params(data, shape, device, call.where)
            tg.check_batch(targets, shape[0], None)
        if isinstance(child, Mix):
            data = child.settle(data, targets)
        gate = child.gate(data) if call.handed_in or call.gated or not child.always_open else None
        flags = mv.flags_for(child, call.options)
        with full_precision(device):
            if isinstance(child, Mix):
                moved = child.transform_targets(targets, data, gate, call.options, flags)
            else:
                moved = mv.transform(child, targets, data, gate, flags, call.options)
        child.record(data, shape, flags)
        return moved, child._params

    def _drawn(self, child: nn.Module, targets: Sequence[Target], data: Any, call: Call) -> Any:
        """Draw for what comes to a child, where that was left to it."""
        if not isinstance(data, Later) or (isinstance(child, Container) and child.draws_late):
            return data
        if is_other(child):
            return None
        check_images(targets, call.where)
        return draw_late(child, *values.shape_of(targets), data, call.frames)

    def invert_targets(
        self, targets: list[Target], params: Sequence[ParamItem], options: Mapping[str, Flags], where: str
    ) -> list[Target]:
        """Lead all targets back through all children; ``where`` is the path to the container."""
        head, steps = self._steps(params, where)
        self._refuse_plain()
        if head is not None and self._merges(head, shape := self._shape_then(params)):
            backwards = [lambda t, s=s: invert_child(s, t, options) for s in steps]
            return merged(targets, backwards, head[CHOSEN], self._holds(shape))
        for run in reversed(self._runs(steps, options)):
            one = len(run) == 1
            targets = invert_child(run[0], targets, options) if one else fusion.invert(run, targets, options)
        return targets

    def _runs(self, steps: Sequence[Step], options: Mapping[str, Flags]) -> list[list[Step]]:
        """Give the steps that are done as one together."""
        return fusion.runs([(step.child, step) for step in steps], options) if self.fuse else [[s] for s in steps]

    def _refuse_plain(self) -> None:
        """Refuse to lead back through modules that cannot, if they are not to be skipped."""
        for name, child in self.named_children():
            if self.if_unsupported_ops == "raise" and not isinstance(child, (Augmentation, Container)):
                raise NotImplementedError(
                    f"{type(self).__name__}: inverse: {name} has none; if_unsupported_ops='skip' leaves it applied"
                )

    def copied(
        self, params: Sequence[ParamItem], copies: int, block: int = 1, rows: Tensor | None = None
    ) -> list[ParamItem]:
        """Give the parameters of a call for copies of its rows; see ``copied_params``."""
        head, steps = self._steps(params, type(self).__name__)
        items = []
        if head is not None:
            chosen = copied(head[CHOSEN], copies, block)
            chosen = chosen if rows is None else chosen & rows.view(-1, 1, 1)
            shape = copied_shape(head["forward_input_shape"], copies)
            items.append(ParamItem(CHOSEN, {CHOSEN: chosen, "forward_input_shape": shape}))
        for step in steps:
            data = copied_child(step.child, step.item.data, copies, block, rows)
            items.append(ParamItem(step.item.name, data))
        return items

    # ------------------------------------------------------------------------------------------------------- choices

    def _places(self) -> Iterator[tuple[str, nn.Module, Any]]:
        """Give every child in every round, with its place in what was chosen, (B, rounds, count)."""
        rounds = 1 if self.selection is None else self.selection.rounds
        for k in range(rounds):
            for i, (name, child) in enumerate(self.named_children()):
                yield name, child, (slice(None), k, i)

    def _steps(self, params: Sequence[ParamItem] | Later, where: str) -> tuple[Params | None, list[Step]]:
        """Give what was chosen, None where nothing is, and every child that runs with its parameters."""
        places, head = list(self._places()), [] if self.selection is None else [CHOSEN]
        names = [*head, *(name for name, _, _ in places)]
        late = isinstance(params, Later)
        items = [ParamItem(name, params) for name in names] if late else as_items(params, names, where)
        steps = [
            Step(child, item, f"{where}[{place[2]}].{type(child).__name__}")
            for (_, child, place), item in zip(places, items[len(head) :], strict=True)
        ]
        chosen = items[0].data if head else None
        if head and not isinstance(chosen, dict):
            raise TypeError(f"{where}: params[{CHOSEN!r}]: expected a dict of tensors, got {chosen!r:.80}")
        return chosen, steps

    def _merges(self, head: Params, shape: Sequence[int]) -> bool:
        """Say whether children change the size, so that each has to see what came in."""
        self._output(size := (shape[-2], shape[-1]))
        return not self._keeps(size)

    def _holds(self, shape: Sequence[int]) -> bool:
        """Say whether as large comes out as came in."""
        return self._output(size := (shape[-2], shape[-1])) == size

    def _shape_then(self, params: Sequence[ParamItem]) -> Sequence[int]:
        """Give the shape of the images for which a choice was drawn."""
        return self._given_shape if params is self._params else given_shape(params[0][1])

    # ------------------------------------------------------------------------------------------------------- reading

    @property
    def transform_matrix(self) -> Tensor | None:
        """The matrix (B, 3, 3) of the last call from input pixels to output pixels; None before the first."""
        return None if self._params is None else self.matrix_of(self._params)

    def matrix_of(self, params: Sequence[ParamItem]) -> Tensor | None:
        """Give the matrix (B, 3, 3) of a call by its parameters; None where no op has one."""
        head, steps = self._steps(params, type(self).__name__)
        if self.transformation_matrix_mode == "skip":
            return None
        matrices = [self._matrix(step.child, step.item.data) for step in steps]
        if head is not None and self._merges(head, shape := self._shape_then(params)):
            return merged_matrix(matrices, head[CHOSEN], self._holds(shape))
        total: Tensor | None = None
        for matrix in matrices:
            if matrix is not None:
                total = matrix if total is None else matrix @ total
        return total

    def _matrix(self, child: nn.Module, data: Any) -> Tensor | None:
        if isinstance(child, Container):
            return child.matrix_of(data)
        if isinstance(child, Mix) and not child.never_open and self.transformation_matrix_mode == "rigid":
            return child.transform_matrix  # which refuses
        if isinstance(child, Intensity):
            gate = data["batch_prob"]
            return torch.eye(3, device=gate.device).repeat(len(gate), 1, 1)
        if not isinstance(child, Geometric):
            return None
        warp = child.last_warp(data)
        try:
            return warp.matrix
        except ValueError:
            if self.transformation_matrix_mode == "rigid":
                raise
            return None

    def _drawing(self) -> Iterator["Augmentation | Container"]:
        """Give all that draws: the ops and the containers inside, and this one."""
        return (m for m in self.modules() if isinstance(m, (Augmentation, Container)))

    @property
    def generator(self) -> torch.Generator | None:
        """Where all ops draw from, eager and compiled; None for the default generator of the image's device."""
        return None if self._stream is None else self._stream.generator

    @generator.setter
    def generator(self, generator: torch.Generator | None) -> None:
        if generator is not None:
            self._own_stream = Stream.renewed(self._own_stream, generator)
        for module in self._drawing():
            module._stream = None if generator is None else self._own_stream

    def _apply(self, fn: Any, recurse: bool = True) -> "Container":
        super()._apply(fn, recurse)
        if self.selection is not None and isinstance(self.selection.p, Tensor):
            self.selection.p = fn(self.selection.p)
        return self
