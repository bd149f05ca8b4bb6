"""PatchSequential: ops on the patches of images, each drawn for itself."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from ..common.arguments import choice, pair, switch
from ..common.types import Flags
from ..kernels.warp import matrices as geometry
from ..kinds.augmentation import Augmentation
from ..kinds.call import Call
from ..kinds.intensity import Intensity
from ..sampling.copies import repeat_rows
from ..sampling.items import ParamItem, as_items, drawn, stated_shape
from ..sampling.params import SHAPE, repeated_shape
from ..targets import grids as pt
from ..targets import samples
from ..targets.target import Target
from .container import Size
from .image import ImageSequential
from .steps import Asked, Later, Step, draw_each

IMAGES = "images"


class PatchSequential(ImageSequential):
    """Cut images into a grid of patches, apply ops to every patch, and put them together again.

    After S. Lin et al., "Patch AutoAugment", 2021. The ops inside see every patch as a row of a batch: the patches of
    an image row by row, image after image. They have to keep the size of a patch. Masks follow. Boxes and keypoints
    stay where they are, and where an op moves pixels inside the patches are refused.

    Args:
        *args: ops, containers of images, or other modules, which see the patches of the images alone.
        grid_size: (rows, columns) of patches.
        padding: what of a size that the grid does not divide: ``"same"`` fills it up with zeros around, and cuts them
            off again; ``"valid"`` cuts the rest off, and labels move with the new corner. The larger half of an odd
            number is at the right and at the bottom.
        same_on_batch: share the draws among the images; None leaves each op as it is. Patches at different places share
            theirs only where all ops run on all patches.
        patchwise_apply: True gives every patch an op of its own: that of its place, row by row, of which there have to
            be as many; or with ``random_apply=True`` 1 to 4 of the ops, drawn for it. False applies all ops to all
            patches, or those of ``random_apply``.
        random_apply, random_apply_weights: see ``AugmentationSequential``, with a draw for every patch.
        **options: those of ``AugmentationSequential``, such as ``data_keys``.

    Raises:
        NotImplementedError: for boxes and keypoints where an op moves pixels, which is a RuntimeError.

    Example:
        >>> augment = PatchSequential(RandomInvert(), RandomHorizontalFlip(), grid_size=(1, 2))
        >>> image = augment(torch.rand(2, 3, 8, 8))
    """

    def __init__(
        self,
        *args: nn.Module,
        grid_size: tuple[int, int] = (4, 4),
        padding: str = "same",
        same_on_batch: bool | None = None,
        keepdim: bool | None = None,
        patchwise_apply: bool = True,
        random_apply: bool | int | tuple[int, int] = False,
        random_apply_weights: Sequence[float] | None = None,
        **options: Any,
    ) -> None:
        self_drawn = _drawn_by_patch(patchwise_apply, random_apply)
        super().__init__(
            *args,
            same_on_batch=None if self_drawn else same_on_batch,
            keepdim=keepdim,
            random_apply=(1, 4) if self_drawn else random_apply,
            random_apply_weights=random_apply_weights,
            **options,
        )
        if isinstance(grid_size, int):
            raise ValueError(f"grid_size: expected (rows, columns), got {grid_size!r}")
        self.grid_size = pair(grid_size, "grid_size")
        self.padding = choice(padding, "padding", ("same", "valid"))
        self.patchwise_apply = patchwise_apply
        self.by_place = patchwise_apply and not random_apply
        self.shared_places = self_drawn and same_on_batch is not None and switch(same_on_batch, "same_on_batch")
        self.moves = any(isinstance(m, Augmentation) and not isinstance(m, Intensity) for m in self.modules())
        self._check_children()

    def _check_children(self) -> None:
        if self.clips:
            raise ValueError("args: expected ops and containers of images, got a VideoSequential; put this one into it")
        if self.by_place and len(self) != self.count:
            raise ValueError(
                f"args: expected {self.count}, one for each patch of the grid {self.grid_size}, got {len(self)}; "
                "random_apply=True and patchwise_apply=False take any number"
            )

    def extra_repr(self) -> str:
        return f"grid_size={self.grid_size}, padding={self.padding!r}, patchwise_apply={self.patchwise_apply}"

    @property
    def count(self) -> int:
        """The number of patches of an image."""
        return self.grid_size[0] * self.grid_size[1]

    def frame(self, size: Size) -> pt.Frame:
        """Give how the grid lies on images (H, W)."""
        frame = pt.Frame(size, self.grid_size, self.padding == "same")
        patch, name = frame.patch, type(self).__name__
        if 0 in patch:
            raise ValueError(f"{name}: grid_size: expected at most {size} patches for 'valid', got {self.grid_size}")
        if not self._keeps(patch):
            raise ValueError(f"{name}: args: expected ops that keep the size {patch} of a patch")
        return frame

    def output_size(self, size: Size) -> Size:
        return self.frame(size).output

    def keeps_size(self, size: Size) -> bool:
        return self.output_size(size) == size

    @property
    def draws_late(self) -> bool:
        return False  # patches keep their size

    # --------------------------------------------------------------------------------------------------------- params

    def draw(self, shape: Sequence[int], asked: Asked) -> list[ParamItem]:
        """Draw for all patches of a batch (B, C, H, W), whose rows are images."""
        b, n = shape[0], self.count
        tail = (shape[1], *self.frame((shape[-2], shape[-1])).patch)
        head = ParamItem(IMAGES, {SHAPE: torch.tensor(list(shape))})
        if self.by_place:
            return [head, *draw_each([(step, (b, *tail), asked.rows) for step in self._children()], asked)]
        patches = asked.repeated(n)
        if self.shared_places:
            items = super().draw((n, *tail), replace(asked, rows=None))
            return [head, *super().repeated(items, b, n, patches.rows)]
        return [head, *super().draw((b * n, *tail), patches)]

    def repeated(
        self, params: Sequence[ParamItem], copies: int, block: int = 1, rows: Tensor | None = None
    ) -> list[ParamItem]:
        head, items = self._parts(params, type(self).__name__)
        shape = repeated_shape(head.data[SHAPE], copies)
        head = ParamItem(IMAGES, {SHAPE: shape})
        if self.by_place:
            return [head, *super().repeated(items, copies, block, rows)]
        rows = None if rows is None else repeat_rows(rows, self.count)
        return [head, *super().repeated(items, copies, block * self.count, rows)]

    def _parts(self, params: Any, where: str) -> tuple[ParamItem, list[ParamItem]]:
        """The item that says the images' shape, and those of the ops."""
        (head,) = as_items(params[:1] if isinstance(params, (list, tuple)) else params, [IMAGES], where)
        return head, list(params[1:])

    # ------------------------------------------------------------------------------------------------------- one call

    def transform_targets(self, targets: list[Target], params: Sequence[ParamItem] | Later, call: Call) -> list[Target]:
        head, items = self._parts(params, call.where)
        shape, _ = samples.shape_of(targets, lambda: (stated_shape(head.data), torch.device("cpu")))
        size = (shape[-2], shape[-1])
        frame, call, used = self.frame(size), replace(call, frames=1, still=True), []

        def run(step: Step, rows: list[Target]) -> list[Target]:
            moved, data = step.ahead(rows, call).run(rows, call)
            used.append(ParamItem(step.name, data))
            return moved

        patches = self._patches(targets, frame, size, call.options)
        if self.by_place:
            moved = self._place_by_place(patches, self._steps(items, call.where)[1], run)
        else:
            moved = super().transform_targets(patches, items, call)
            used = self._params or []
        self._params = [head, *used]
        return self._images(targets, moved, patches, frame, (size, frame.output), call.options)

    def invert_targets(
        self, targets: list[Target], params: Sequence[ParamItem], options: Mapping[str, Flags], where: str
    ) -> list[Target]:
        head, items = self._parts(params, where)
        self._refuse_plain()
        height, width = stated_shape(head.data)[-2:]
        frame = self.frame((height, width))
        patches = self._patches(targets, frame, frame.output, options)
        if self.by_place:
            steps = self._steps(items, where)[1]
            moved = self._place_by_place(patches, steps, lambda step, rows: step.lead_back(rows, options))
        else:
            moved = super().invert_targets(patches, items, options, where)
        return self._images(targets, moved, patches, frame, (frame.output, frame.size), options)

    def _patches(
        self, targets: Sequence[Target], frame: pt.Frame, size: Size, options: Mapping[str, Flags]
    ) -> list[Target]:
        """The images and masks (H, W) as patches."""
        for target in targets:
            if self.moves and target.key not in ("image", "mask"):
                raise NotImplementedError(
                    f"{type(self).__name__}: {target.key}: expected images and masks alone where ops move or mix "
                    "patches, for others do not follow"
                )
        found = [target for target in targets if target.key in ("image", "mask")]
        return [frame.split(frame.cover(target, size, options.get(target.key, {}))) for target in found]

    def _images(
        self,
        targets: Sequence[Target],
        moved: Sequence[Target],
        starts: Sequence[Target],
        frame: pt.Frame,
        sizes: tuple[Size, Size],
        options: Mapping[str, Flags],
    ) -> list[Target]:
        """All targets of a call, whose size changes as ``sizes`` say."""
        given, output = sizes
        pairs, results = iter(zip(moved, starts, strict=True)), []
        for target in targets:
            chosen = options.get(target.key, {})
            if target.key in ("image", "mask"):
                new, start = next(pairs)
                unchanged = given == output and pt.same(new.value, start.value)
                results.append(target if unchanged else frame.uncover(frame.join(new), output, chosen))
            elif given == output:
                results.append(target)
            else:
                results.append(frame.uncover(frame.cover(target, given, chosen), output, chosen))
        return results

    def _place_by_place(
        self,
        patches: list[Target],
        steps: Sequence[Step],
        run: Callable[[Step, list[Target]], list[Target]],
    ) -> list[Target]:
        """Run each child on the patches at its place."""
        starts = [pt.at(patches, i, self.count) for i in range(self.count)]
        places = [run(step, start) for step, start in zip(steps, starts, strict=True)]
        return [pt.gathered(places, starts, whole, i) for i, whole in enumerate(patches)]

    def matrix_of(self, params: Sequence[ParamItem]) -> Tensor | None:
        """The matrix (B, 3, 3) of a call by its parameters, of the new corner; None where ops move patches."""
        head, items = self._parts(params, type(self).__name__)
        if self.transformation_matrix_mode == "rigid" and self.moves:
            raise ValueError(f"{type(self).__name__}: transform_matrix: patches that are moved apart have none")
        if self.moves or self.transformation_matrix_mode == "skip":
            return None
        rows, _, height, width = stated_shape(head.data)
        frame = self.frame((height, width))
        top, left = (0, 0) if frame.fills else frame.corner
        device = next((value.device for value in drawn(items)), None)
        return geometry.translation(-left, -top, torch.ones(rows, device=device))


def _drawn_by_patch(patchwise_apply: Any, random_apply: Any) -> bool:
    """Check whether every patch gets ops of its own, and say whether these are drawn."""
    if switch(patchwise_apply, "patchwise_apply") and not isinstance(random_apply, bool):
        raise ValueError(
            f"random_apply: expected True or False with patchwise_apply, got {random_apply!r}; "
            "patchwise_apply=False draws for every patch as well"
        )
    return patchwise_apply and random_apply
