"""VideoSequential: ops on clips, the frames of each moved as one or by themselves."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from torch import nn

from ..common.arguments import choice, switch
from ..common.types import Flags
from ..kinds.call import Call
from ..kinds.mix import Mix
from ..sampling.items import ParamItem
from ..targets import videos
from ..targets.target import Target
from .image import ImageSequential
from .steps import Asked, Later


class VideoSequential(ImageSequential):
    """Apply ops one after the other to videos, and to the masks, boxes and keypoints of every frame.

    The ops inside, choices and other containers among them, see every frame as a row of a batch: their parameters and
    ``transform_matrix`` have B * T rows, those of a clip one after the other. By itself, or with others and modules
    that are no ops in an ``AugmentationSequential`` or a choice, which then takes videos, and chooses by clip.

    Args:
        *args: ops, containers of images, or other modules, which see the frames alone, as (B * T, C, H, W).
        data_format: ``"BTCHW"`` or ``"BCTHW"``.
        same_on_frame: draw once for all frames of a clip; False draws for every frame. An op with ``same_on_batch``
            draws once for all frames of all clips.
        random_apply, random_apply_weights: see ``AugmentationSequential``; with ``same_on_frame`` drawn for every clip.
        if_unsupported_ops: see ``ImageSequential``.
        **options: those of ``AugmentationSequential``, such as ``data_keys``.

    Shape:
        image: (B, T, C, H, W) or (B, C, T, H, W). mask: as the image, or (B, T, H, W), or a list of (T, C, H, W) or (T,
        H, W). bbox: (B, T, N, 4, 2); bbox_xyxy, bbox_xywh: (B, T, N, 4); keypoints: (B, T, N, 2); each also as a list.
        class: handed through; for a mix (B,), shares (B, num_classes), or of frames (B, T, ...); of
        boxes in lists (N,) or (T, N) for each clip.

    Example:
        >>> augment = VideoSequential(RandomCrop((6, 6)), data_format="BCTHW", data_keys=["image", "keypoints"])
        >>> video, points = augment(torch.rand(2, 3, 5, 8, 8), torch.rand(2, 5, 4, 2))
    """

    def __init__(
        self,
        *args: nn.Module,
        data_format: str = "BTCHW",
        same_on_frame: bool = True,
        random_apply: bool | int | tuple[int, int] = False,
        random_apply_weights: Sequence[float] | None = None,
        if_unsupported_ops: str = "raise",
        **options: Any,
    ) -> None:
        super().__init__(
            *args,
            random_apply=random_apply,
            random_apply_weights=random_apply_weights,
            if_unsupported_ops=if_unsupported_ops,
            **options,
        )
        if self.clips:
            raise ValueError("args: expected ops and containers of images, got a VideoSequential inside another")
        known = [name.lower() for name in videos.FORMATS]
        self.data_format = choice(data_format, "data_format", known).upper()
        self.same_on_frame = switch(same_on_frame, "same_on_frame")
        self.clips = True
        self._mixes = any(isinstance(module, Mix) for module in self.modules())

    def extra_repr(self) -> str:
        return f"data_format={self.data_format!r}, same_on_frame={self.same_on_frame}"

    def draw(self, shape: Sequence[int], asked: Asked) -> list[ParamItem]:
        """Draw for all frames of videos of a shape in ``data_format``, or (B, T, H, W), whose rows are clips."""
        if len(shape) not in (4, 5):
            raise ValueError(f"batch_shape: expected that of a video in {self.data_format}, got {tuple(shape)}")
        b, frames, channels = (*shape[:-2], 1)[:3]
        if len(shape) == 5 and self.data_format == "BCTHW":
            frames, channels = channels, frames
        size = (channels, *shape[-2:])
        if self.same_on_frame:
            return self.repeated(super().draw((b, *size), asked), frames)
        return super().draw((b * frames, *size), asked.repeated(frames))

    def transform_targets(self, targets: list[Target], params: Sequence[ParamItem] | Later, call: Call) -> list[Target]:
        frames, rows = self._apart(targets)
        moved = super().transform_targets(rows, params, replace(call, frames=frames if self.same_on_frame else 1))
        return self._together(moved, rows, targets, frames)

    def invert_targets(
        self, targets: list[Target], params: Sequence[ParamItem], options: Mapping[str, Flags], where: str
    ) -> list[Target]:
        frames, rows = self._apart(targets)
        return self._together(super().invert_targets(rows, params, options, where), rows, targets, frames)

    def _apart(self, targets: Sequence[Target]) -> tuple[int, list[Target]]:
        """The number of frames, and all targets with every frame as a row."""
        frames, rows = videos.frames_of(targets, self.data_format), []
        for target in targets:
            mixed = target.key == "class" and self._mixes
            rows.append(videos.classes_apart(target, frames) if mixed else videos.apart(target, self.data_format))
        return frames, rows

    def _together(
        self, moved: Sequence[Target], rows: Sequence[Target], targets: Sequence[Target], frames: int
    ) -> list[Target]:
        found = []
        for new, start, given in zip(moved, rows, targets, strict=True):
            if new.key == "class" and new.value is not start.value:
                found.append(videos.classes_together(new, given, frames, self.same_on_frame))
            else:
                found.append(videos.together(new, start, given, self.data_format, frames))
        return found
