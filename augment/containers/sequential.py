"""AugmentationSequential: several ops, one call, every target."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..common.arguments import choice, number, switch
from ..kinds.augmentation import Augmentation
from ..kinds.call import Call
from ..sampling.items import ParamItem
from ..targets import arrays, samples, tv
from ..targets import moving as mv
from ..targets import target as tg
from ..targets.keys import read_keys
from ..targets.target import Target, Value
from . import fuse as fusing
from .container import Container
from .options import options_for
from .selection import Selection, how_many, weights_for
from .steps import Later

IMAGE = ("image",)  # not asked for by anyone, so that a dict need not have one


class AugmentationSequential(Container):
    """Apply ops one after the other to images, and to the masks, boxes and keypoints that belong to them.

    Args:
        *args: ops, nested containers, or other modules, which see the images alone, and may change their size where no
            labels would have to follow.
        data_keys: what the positional inputs are: ``image`` (or ``input``), ``mask``, ``bbox`` (four corners),
            ``bbox_xyxy``, ``bbox_xywh``, ``keypoints``, ``class`` (which only mixes change). What is given
            here has to be in a dict, which may hold more; None asks for nothing.
        same_on_batch: set on all ops; None leaves each as it is.
        keepdim: give every output the rank of its input; None or False gives batches.
        random_apply: how many of the ops, drawn for every row, run in a random order: a number, a pair (least, most) or
            (least,), or True for all; with more than there are, ops repeat. False for all in their order.
        random_apply_weights: of the ops in that draw, not negative; None for equal ones.
        transformation_matrix_mode: what ``transform_matrix`` does about deformations and mixes, which have none:
            ``"silent"`` leaves them out, ``"rigid"`` raises; ``"skip"`` gives None in place of any matrix. Containers
            inside answer for their own ops.
        extra_args: options by data key: for ``mask`` ``resample``, ``padding_mode`` and ``fill``; for boxes and
            keypoints ``clip``, to cut them to the image; for ``image`` flags of the ops.
        min_visibility: the share of a box's area that has to be seen, in 0..1; with it, every call says in ``valid``
            which boxes and keypoints are still there. None to leave that out.
        fuse: do runs of ops as one, which ``print`` shows. Ops that move pixels without bending lines are one warp:
            an image is resampled once, and what is cut off on the way comes back where a later op looks beyond it.
            They have to interpolate alike, and to fill alike what they uncover. Where that warp shrinks, the image is
            filtered first, whatever their ``antialias``. Ops that change colours are one pass, in floats from the first
            to the last: bytes are rounded once. Runs with saturation, hue, automatic contrast or moved channels are
            faster compiled, and slower eager. Anything else ends a run.

    Attributes:
        valid: with ``min_visibility``, (B, N) bool for the boxes and keypoints of the last call, by data key (the
            second of a kind by ``bbox_xyxy_1``, and so on) or by the name in a dict: whether a keypoint lay on the
            image after every op, and whether of a box an area is left, and at least that share. Without, those of a
            call in which rows were mixed, and otherwise what was handed in.

    Shape:
        image: (B, C, H, W), (C, H, W) or (H, W). mask: the same, or (B, H, W), of any dtype, or a list, a mask a row.
        bbox: (B, N, 4, 2); bbox_xyxy, bbox_xywh: (B, N, 4); keypoints: (B, N, 2); each also without B, or a list.
        With a ``VideoSequential`` inside, they are those of videos, as it says.

    Example:
        >>> augment = AugmentationSequential(RandomHorizontalFlip(), data_keys=["image", "mask"])
        >>> image, mask = augment(torch.rand(2, 3, 8, 8), torch.zeros(2, 1, 8, 8, dtype=torch.long))
    """

    def __init__(
        self,
        *args: nn.Module,
        data_keys: Sequence[Any] | None = IMAGE,
        same_on_batch: bool | None = None,
        keepdim: bool | None = None,
        random_apply: bool | int | tuple[int, int] = False,
        random_apply_weights: Sequence[float] | None = None,
        transformation_matrix_mode: str = "silent",
        extra_args: Mapping[Any, Mapping[str, Any]] | None = None,
        min_visibility: float | None = None,
        fuse: bool = False,
    ) -> None:
        super().__init__(*args, selection=_random_apply(random_apply, random_apply_weights, len(args)))
        self.data_keys = None if data_keys is None else read_keys(data_keys)
        self._required = [] if data_keys is IMAGE else self.data_keys or []
        self.keepdim = keepdim is not None and switch(keepdim, "keepdim")
        mode = "silent" if transformation_matrix_mode == "silence" else transformation_matrix_mode
        self.transformation_matrix_mode = choice(mode, "transformation_matrix_mode", ("silent", "rigid", "skip"))
        self.extra_args = options_for(extra_args)
        self.min_visibility = None if min_visibility is None else number(min_visibility, "min_visibility", 0.0, 1.0)
        self.fuse = switch(fuse, "fuse")
        self.valid: dict[str, Value] = {}
        ops = [module for module in self.modules() if isinstance(module, Augmentation)]
        known = {"resample", "padding_mode", "fill"} | {flag for op in ops for flag in op.flags}
        foreign = sorted(set(self.extra_args.get("image", {})) - known)
        if foreign:
            raise TypeError(f"extra_args['image']: expected flags of the ops, {sorted(known)}; got {foreign}")
        for op in ops:
            op.flags_for(self.extra_args)
        if same_on_batch is not None:
            for module in self._drawing():
                module.same_on_batch = switch(same_on_batch, "same_on_batch")
        self.plan(self.extra_args)

    def extra_repr(self) -> str:
        children = self._children()
        lengths = fusing.Plan().runs([step.child for step in children], self.extra_args) if self.fuse else []
        runs = fusing.grouped(children, lengths)
        return "\n".join(f"as one: {', '.join(step.name for step in run)}" for run in runs if len(run) > 1)

    def forward(
        self,
        input: Value,
        *args: Value,
        params: Sequence[ParamItem] | None = None,
        data_keys: Sequence[Any] | None = None,
        generator: torch.Generator | None = None,
        valid: samples.Valid | None = None,
    ) -> Any:
        """Augment a sample.

        Args:
            input: the value of the first data key, or one dict, whose entries are known by their names (``mask``, or
                ``mask_left``); others are handed through.
            *args: the values of the other data keys. torchvision's types say by themselves what they are, and come
                out with the rank they had; with them, values may stand in lists, tuples and dicts of any depth.
                NumPy arrays become tensors: an image is (H, W, C), a batch of images a list of such of one shape, or
                of (H, W), or one array (B, H, W, C); masks may be lists of (H, W) or (H, W, C), or such batches.
            params: parameters to use instead of drawing them, such as ``container._params`` of an earlier call, or the
                lists and dicts that ``saving.plain`` makes of them.
            data_keys: the keys of this call, which a dict has to have.
            generator: where to draw from in this call (eager only; set ``container.generator`` for compiled calls).
            valid: (B, N) bool by the names that the attribute ``valid`` has: which of the boxes and keypoints of a
                tensor are no padding. Padding stays as it is, and is neither looked at nor ever valid.

        Returns:
            The one value; a list of values; or a new dict with the same keys.
        """
        given: Sequence[Value] = (input, *args)
        keys = self.data_keys if data_keys is None else read_keys(data_keys)
        if tv.found(given):
            tv.refuse_clips(given, self.clips)
            return tv.call(self.forward, given, keys, params=params, generator=generator, valid=valid)
        return self.augment(given, params, data_keys, generator, valid)

    def augment(
        self,
        args: Sequence[Value],
        params: Sequence[ParamItem] | None = None,
        data_keys: Sequence[Any] | None = None,
        generator: torch.Generator | None = None,
        valid: samples.Valid | None = None,
        after: Sequence[Tensor] = (),
    ) -> Any:
        """Augment a sample as ``forward`` does, with draws that come after those that ``after`` holds."""
        args = arrays.read(args, self.data_keys if data_keys is None else read_keys(data_keys), self.clips)
        targets, names = self._targets(args, data_keys, valid, self._required)
        used: Any = params
        if params is None:
            shape, device = samples.shape_of(targets)
            late = self.draws_late
            used = Later(generator, after) if late else self.forward_parameters(shape, generator, device, after)
        least = self.min_visibility
        watched = [] if least is None else mv.watch(targets)
        call = Call(type(self).__name__, self.extra_args, params is not None)
        moved = self.transform_targets([*targets, *watched], used, call)
        moved, watched = moved[: len(targets)], moved[len(targets) :]
        seen = [] if least is None else [t.restore(self.keepdim) for t in mv.verdicts(watched, least)]
        known = zip(names, tg.known(moved, self.keepdim) if least is None else seen, strict=True)
        self.valid = {name: value for name, value in known if value is not None}
        return samples.write(args, targets, moved, self.keepdim)

    def inverse(
        self,
        *args: Value,
        params: Sequence[ParamItem] | None = None,
        data_keys: Sequence[Any] | None = None,
        valid: samples.Valid | None = None,
    ) -> Any:
        """Lead outputs back through the geometric ops; the others changed no place.

        Args:
            *args: as in ``forward``.
            params: the parameters of the call; None for the last one.
            data_keys: the keys of this call, which a dict has to have; it need not have those of the constructor.
            valid: as in ``forward``.
        """
        params = self._params if params is None else params
        if params is None:
            raise ValueError(f"{type(self).__name__}: params: expected a call before, or the params of one")
        keys = self.data_keys if data_keys is None else read_keys(data_keys)
        if tv.found(args):
            tv.refuse_clips(args, self.clips)
            return tv.call(self.inverse, args, keys, params=params, valid=valid)
        given = arrays.read(args, keys, self.clips)
        targets, _ = self._targets(given, data_keys, valid)
        moved = self.invert_targets(targets, params, self.extra_args, type(self).__name__)
        return samples.write(given, targets, moved, self.keepdim)

    def _targets(
        self,
        args: Sequence[Value],
        data_keys: Sequence[Any] | None,
        valid: samples.Valid | None,
        required: Sequence[str] = (),
    ) -> tuple[list[Target], list[str]]:
        keys = self.data_keys if data_keys is None else read_keys(data_keys)
        required = required if data_keys is None else keys or []
        targets = samples.read(args, keys, self.clips, required)
        names = samples.labels(args, targets)
        return samples.mark(targets, names, {} if valid is None else valid), names


def _random_apply(asked: Any, weights: Any, count: int) -> Selection | None:
    """Read kornia's ``random_apply``: more ops than there are to draw from are drawn with replacement."""
    if asked is False:
        if weights is not None:
            raise ValueError(f"random_apply_weights: expected None where random_apply is False, got {weights!r}")
        return None
    n = (count, count) if asked is True else how_many(asked, count, "random_apply")
    checked = weights_for(weights, count, "random_apply_weights")
    most = sum(map(bool, checked)) if checked else count
    if n[1] > 0 and count == 0:
        raise ValueError(f"random_apply: expected ops to choose from, got none for {asked!r}")
    return Selection(count, n, checked, replace=n[1] > most, shuffled=True)
