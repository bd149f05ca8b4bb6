"""Ops of a container that are done as one: a run that moves pixels is one warp, one that changes colours one pass."""

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..common.arguments import channel_values, choice
from ..common.dtypes import full_precision
from ..common.types import Flags
from ..common.vocabulary import BORDER_MODES, RESAMPLE
from ..kinds.augmentation import Augmentation
from ..kinds.call import Call, Ready
from ..kinds.geometric import Geometric
from ..kinds.intensity import Intensity
from ..maps.warp import Fused, Homography, Permutation
from ..targets import moving as mv
from ..targets import target as tg
from ..targets.target import Target
from .modules import check_images
from .steps import Later, OpStep, Step

# how what lies beyond an image comes to be seen, by the names that ops have for it
BEYOND = {"border": "border", "replicate": "border", "reflection": "reflection", "symmetric": "reflection"}
CONSTANT = ("zeros", "constant", "fill")
ASKED = ("resample", "padding_mode", "fill", "antialias", "align_corners")  # flags by which ops may be one


class Plan:
    """Which ops of a container that follow each other are done as one; made anew when what it hangs on changes."""

    def __init__(self) -> None:
        self.made_for: list[Any] | None = None
        self.lengths: list[int] = []

    def runs(self, children: Sequence[nn.Module], options: Mapping[str, Flags]) -> list[int]:
        """How many children each run has; those that stand alone are runs of one."""
        state = [_state(child, options) for child in children]
        if self.made_for != state:
            self.lengths, self.made_for = _lengths(children, options), state
        return self.lengths


def _state(child: nn.Module, options: Mapping[str, Flags]) -> list[Any]:
    """What of a child a plan hangs on."""
    if not isinstance(child, Augmentation):
        return [type(child)]
    flags = child.flags_for(options)
    asked = [list(flag) if isinstance(flag, (list, tuple)) else flag for flag in map(flags.get, ASKED)]
    edges = [child.looks_beyond, child.pads] if isinstance(child, Geometric) else []
    return [type(child), child.always_open, child._param_generator is None, *edges, *asked]


def grouped(steps: Sequence[Step], lengths: Sequence[int]) -> list[list[Step]]:
    """Steps in groups of these lengths."""
    rest = iter(steps)
    return [list(itertools.islice(rest, n)) for n in lengths]


def _lengths(children: Sequence[nn.Module], options: Mapping[str, Flags]) -> list[int]:
    found: list[int] = []
    before: Sampling | str | None = None
    for child in children:
        own = _way(child, options)
        both = _joined(before, own)
        if both:
            found[-1] += 1
        else:
            found.append(1)
        before = both or own
    return found


def _way(op: nn.Module, options: Mapping[str, Flags]) -> "Sampling | str | None":
    """How an op can be one with others; None where it cannot."""
    if isinstance(op, Geometric):
        return sampling_of(op, op.flags_for(options))
    return "colour" if isinstance(op, Intensity) and op.recolours else None


def _joined(before: "Sampling | str | None", own: "Sampling | str | None") -> "Sampling | str | None":
    if isinstance(before, Sampling) and isinstance(own, Sampling):
        return before.beside(own)
    return own if own is not None and own == before else None


class Sampling(NamedTuple):
    """How an op looks at an image: how it interpolates, and what it sees beyond; None where any way will do.

    What ``pads`` puts a frame round what was left of the image before it, and so begins a run.
    """

    resample: str | None
    beyond: tuple[str, tuple[float, ...]] | None
    pads: bool = False

    def beside(self, other: "Sampling") -> "Sampling | None":
        """What holds for both as one; None where they differ."""
        pairs = list(zip(self[:2], other[:2], strict=True))
        if other.pads or any(None not in pair and pair[0] != pair[1] for pair in pairs):
            return None
        if self.beyond and other.beyond and self.beyond[0] == "reflection":  # at the edges of each
            return None
        return Sampling(self.resample or other.resample, self.beyond or other.beyond)


def sampling_of(op: Geometric, flags: Flags) -> Sampling | None:
    """How an op looks at an image; None where it cannot be one with others."""
    if not op.composes or op.looks_at_boxes or op.overrides - {"compute_transformation", "generate_parameters"}:
        return None
    resample = None if op.whole_pixels else _resample(flags)
    if not op.looks_beyond:
        # edges of frames are half a pixel beyond the centres of pixels, and are what closed gates bring together
        edges = flags.get("antialias") or not flags.get("align_corners", True) or not op.always_open
        return Sampling(resample, ("border", ()) if edges and not op.whole_pixels else None)
    mode = _padding(flags)
    if mode not in CONSTANT:
        return Sampling(resample, (BEYOND[mode], ()), op.pads) if mode in BEYOND else None
    fill = channel_values(flags.get("fill") or 0.0, "fill")
    return Sampling(resample, ("zeros", tuple(fill[:1] if len(set(fill)) == 1 else fill)), op.pads)


def _resample(flags: Flags) -> str:
    return choice(flags.get("resample", "bilinear"), "resample", RESAMPLE)


def _padding(flags: Flags) -> str:
    return choice(flags.get("padding_mode", "zeros"), "padding_mode", BORDER_MODES)


# ----------------------------------------------------------------------------------------------------------- one call


def transform(steps: Sequence[Step], targets: list[Target], call: Call) -> tuple[list[Target], list[Any]]:
    """All targets behind a run of ops, and the parameters that each of them used."""
    ops = ahead([step for step in steps if isinstance(step, OpStep)], targets, call)
    return _warped(ops, targets, call) if isinstance(ops[0].child, Geometric) else _recoloured(ops, targets, call)


def ahead(steps: list[OpStep], targets: Sequence[Target], call: Call) -> list[OpStep]:
    """The ops of a run with parameters for what comes to each, where they were left to the call."""
    if not isinstance(steps[0].data, Later):
        return steps
    check_images(targets, steps[0].where)
    (shape, device), ready = steps[0].shape_for(targets), []
    for step in steps:
        ready.append(step.draw_for(shape, device, call))
        shape = (*shape[:-2], *step.output_size((shape[-2], shape[-1])))
    return ready


def _recoloured(steps: Sequence[OpStep], targets: list[Target], call: Call) -> tuple[list[Target], list[Any]]:
    shape, device = steps[0].shape_for(targets)
    ops = [step.ready(targets, shape, device, call) for step in steps]
    with full_precision(device):
        moved = [replace(t, value=_recolour(t.value, ops)) if t.key == "image" else t for t in targets]
    return moved, [_recorded(ready, shape) for ready in ops]


def _recolour(image: Tensor, ops: Sequence[Ready]) -> Tensor:
    """An image behind the recolourings of ops as one."""
    ways = [ready.op.recoloured(image, ready.params, ready.flags, ready.gate) for ready in ops]
    return functools.reduce(lambda one, following: one.then(following), ways).image(image)


def _recorded(ready: Ready, shape: Sequence[int]) -> Any:
    """The parameters of an op, which has recorded them: it may come again, with others."""
    ready.op.record(ready.params, shape, ready.flags)
    return ready.op._params


def _warped(steps: Sequence[OpStep], targets: list[Target], call: Call) -> tuple[list[Target], list[Any]]:
    shape, device = steps[0].shape_for(targets)
    like, warps, ops, used = torch.empty((), device=device), [], [], []
    with full_precision(device):
        for step in steps:
            ops.append(ready := step.ready(targets, shape, device, call))
            warps.append(ready.op.gated_warp(like.expand(shape), *ready[1:]))
            used.append(_recorded(ready, shape))
            shape = (*shape[:-2], *warps[-1].size)
        if not all(isinstance(warp, Homography) for warp in warps):  # whatever their ops said
            return _one_by_one(steps, targets, call)
        moved = _move(ops, targets, warps, fused(warps), call.options, {})
    return moved, used


def lead_back(steps: Sequence[Step], targets: list[Target], options: Mapping[str, Flags]) -> list[Target]:
    """All targets before a run; colours stay as they are."""
    if not isinstance(steps[0].child, Geometric):
        return targets
    ops = [step.earlier(options) for step in steps if isinstance(step, OpStep)]
    warps = [ready.op.last_warp(ready.params) for ready in ops]
    if not all(isinstance(warp, Homography) for warp in warps):
        return functools.reduce(lambda moved, step: step.lead_back(moved, options), steps[::-1], targets)
    warp = fused(warps)
    tg.check_batch(targets, len(ops[0].params["batch_prob"]), warp.size)
    return _move(ops, targets, warps, warp.inverse(), options, {"padding_mode": "zeros"})


def _one_by_one(steps: Sequence[OpStep], targets: list[Target], call: Call) -> tuple[list[Target], list[Any]]:
    used = []
    for step in steps:
        targets, params = step.run(targets, call)
        used.append(params)
    return targets, used


def fused(warps: Sequence[Homography]) -> Homography:
    """Several warps as one: whole pixels stay exact, and what is interpolated is filtered where it shrinks."""
    warp: Any = functools.reduce(lambda one, following: one.then(following), warps)
    return warp if isinstance(warp, Permutation) else Fused(warp.matrix, warp.input_size, warp.size, warp.projective)


def _move(
    ops: Sequence[Ready],
    targets: list[Target],
    warps: Sequence[Homography],
    warp: Homography,
    options: Mapping[str, Flags],
    sampling: Flags,
) -> list[Target]:
    """All targets behind the warp of a run, which samples as its ops do but for ``sampling``.

    A row whose gates are closed stays where it is, unless an op of the run changes the size, which it does to all rows.
    """
    modes = [_resample(ready.flags) for ready in ops if not ready.op.whole_pixels]
    seeing = next((ready for ready in ops if ready.op.looks_beyond), None)
    border = "border" if seeing is None else BEYOND.get(_padding(seeing.flags), "zeros")
    how = {"resample": (*modes, "bilinear")[0], "padding_mode": border, **sampling}

    def image(value: Tensor) -> Tensor:
        filled = {} if seeing is None else seeing.op.interpolation(seeing.flags, value)
        return warp.image(value, **how, fill=filled.get("fill", (0.0,)))

    def mask(value: Tensor, row: Any, chosen: Flags) -> Tensor:  # a number, or None for all rows
        return (warp if row is None else warp[row]).mask(value, **{"padding_mode": how["padding_mode"], **chosen})

    gates = [ready.gate for ready in ops if ready.gate is not None]
    still = len(gates) == len(ops) and all(one.input_size == one.size for one in warps)
    return mv.moved_by(warp, targets, torch.stack(gates).any(0) if still else None, options, image, mask)
