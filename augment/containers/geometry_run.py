"""A run of ops that move pixels, as one warp: an image is resampled once."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..common.arguments import channel_values, choice
from ..common.dtypes import full_precision
from ..common.types import Flags
from ..common.vocabulary import BORDER_MODES, RESAMPLE
from ..kinds.geometric import Geometric
from ..maps.warp import Fused, Homography, Permutation
from ..targets import moving as mv
from ..targets import target as tg
from ..targets.target import Target
from .steps import Call, Step, Turn, given, shape_for, turn_of

# how what lies beyond an image comes to be seen, by the names that ops have for it
BEYOND = {"border": "border", "replicate": "border", "reflection": "reflection", "symmetric": "reflection"}
CONSTANT = ("zeros", "constant", "fill")


class Look(NamedTuple):
    """How an op looks at an image: how it interpolates, and what it sees beyond; None where any way will do.

    What ``pads`` puts a frame round what was left of the image before it, and so begins a run.
    """

    resample: str | None
    beyond: tuple[str, tuple[float, ...]] | None
    pads: bool = False

    def beside(self, other: "Look") -> "Look | None":
        """Give the look of both as one; None where they differ."""
        pairs = list(zip(self[:2], other[:2], strict=True))
        if other.pads or any(None not in pair and pair[0] != pair[1] for pair in pairs):
            return None
        if self.beyond and other.beyond and self.beyond[0] == "reflection":  # at the edges of each
            return None
        return Look(self.resample or other.resample, self.beyond or other.beyond)


def look(op: Geometric, flags: Flags) -> Look | None:
    """Say how an op looks at an image; None where it cannot be one with others."""
    if not op.composes or op.looks_at_boxes or op.overrides - {"compute_transformation", "generate_parameters"}:
        return None
    special = op.whole_pixels or not op.looks_beyond  # which holds for the warp of the class that says so
    if not _is_own(type(op).warp) or (special and not _is_own(type(op).compute_transformation)):
        return None
    resample = None if op.whole_pixels else _resample(flags)
    if not op.looks_beyond:
        # edges of frames are half a pixel beyond the centres of pixels, and are what closed gates bring together
        edges = flags.get("antialias") or not flags.get("align_corners", True) or not op.always_open
        return Look(resample, ("border", ()) if edges and not op.whole_pixels else None)
    mode = _padding(flags)
    if mode not in CONSTANT:
        return Look(resample, (BEYOND[mode], ()), op.pads) if mode in BEYOND else None
    fill = channel_values(flags.get("fill") or 0.0, "fill")
    return Look(resample, ("zeros", tuple(fill[:1] if len(set(fill)) == 1 else fill)), op.pads)


def _is_own(method: Any) -> bool:
    return method.__module__.partition(".")[0] == __name__.partition(".")[0]


def _resample(flags: Flags) -> str:
    return choice(flags.get("resample", "bilinear"), "resample", RESAMPLE)


def _padding(flags: Flags) -> str:
    return choice(flags.get("padding_mode", "zeros"), "padding_mode", BORDER_MODES)


def transform(steps: Sequence[Step], targets: list[Target], call: Call) -> tuple[list[Target], list[Any]]:
    """Apply a run to all targets, and give with the targets the parameters that each op used."""
    shape, device = shape_for(steps[0], targets)
    like, warps, turns, used = torch.empty((), device=device), [], [], []
    with full_precision(device):
        for step in steps:
            turns.append(turn := turn_of(step, targets, shape, device, call))
            warps.append(turn.op.gated_warp(like.expand(shape), *turn[1:]))
            turn.op.record(turn.params, shape, turn.flags)
            used.append(turn.op._params)  # an op may come again, with others
            shape = (*shape[:-2], *warps[-1].size)
        moved = _move(turns, targets, warps, fused(warps), call.options, {})
    return moved, used


def invert(steps: Sequence[Step], targets: list[Target], options: Mapping[str, Flags]) -> list[Target]:
    """Lead all targets back through a run."""
    turns = [given(step, options) for step in steps]
    warps = [turn.op.last_warp(turn.params) for turn in turns]
    warp = fused(warps)
    tg.check_batch(targets, len(turns[0].params["batch_prob"]), warp.size)
    return _move(turns, targets, warps, warp.inverse(), options, {"padding_mode": "zeros"})


def fused(warps: Sequence[Homography]) -> Homography:
    """Give several warps as one: whole pixels stay exact, and what is interpolated is filtered where it shrinks."""
    warp: Any = functools.reduce(lambda one, following: one.then(following), warps)
    return warp if isinstance(warp, Permutation) else Fused(warp.matrix, warp.input_size, warp.size, warp.projective)


def _move(
    turns: Sequence[Turn],
    targets: list[Target],
    warps: Sequence[Homography],
    warp: Homography,
    options: Mapping[str, Flags],
    sampling: Flags,
) -> list[Target]:
    """Move all targets by the warp of a run, which samples as its ops do but for ``sampling``.

    A row whose gates are closed stays where it is, unless an op of the run changes the size, which it does to all rows.
    """
    modes = [_resample(turn.flags) for turn in turns if not turn.op.whole_pixels]
    seeing = next((turn for turn in turns if turn.op.looks_beyond), None)
    border = "border" if seeing is None else BEYOND.get(_padding(seeing.flags), "zeros")
    how = {"resample": (*modes, "bilinear")[0], "padding_mode": border, **sampling}

    def image(value: Tensor) -> Tensor:
        filled = {} if seeing is None else seeing.op.sampling(seeing.flags, value)
        return warp.image(value, **how, fill=filled.get("fill", (0.0,)))

    gates = [turn.gate for turn in turns if turn.gate is not None]
    still = len(gates) == len(turns) and all(one.input_size == one.size for one in warps)
    changed = torch.stack(gates).any(0) if still else None
    return mv.moved_by(warp, targets, changed, options, image, {"padding_mode": how["padding_mode"]})
