"""Crops that look at boxes."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..common.arguments import number, pair, whole
from ..common.constants import constant
from ..common.types import Params
from ..kernels.warp import matrices as geometry
from ..sampling.draw import Draw
from ..sampling.params import Param
from ..targets import boxes as bx
from .crop import WINDOW, ResizedWindow, Size, whole_frame

OVERLAPS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)


class RandomIoUCrop(ResizedWindow):
    """Cut a window that overlaps a box enough, and resize it.

    The crop of SSD (W. Liu et al., "SSD: Single shot multibox detector", 2016, arXiv 1512.02325) in the form of
    torchvision, with a fixed number of windows drawn at once. The overlaps are tried in a random order, and for the
    first that a window reaches, the first such window is taken: one that holds the centre of a box, and whose
    intersection with such a box over their union is at least the overlap. An overlap of 1 leaves the frame whole; so
    does a row none of whose boxes fits any window.

    The boxes are those of an ``AugmentationSequential``, after the ops before this one; boxes without an area, such as
    padding, do not count. Without boxes, or with parameters drawn ahead, every window will do. What the container says
    to be ``valid`` are the boxes whose centres are in the window.

    Args:
        min_scale, max_scale: limits of the window's sides as fractions of the image's.
        min_aspect_ratio, max_aspect_ratio: limits of width over height of the window in pixels.
        sampler_options: overlaps, each as likely as the others to be tried first; None for SSD's.
        trials: how many windows are drawn.
        size: (height, width) of the output, or one number for both; None for the input's.
        resample: ``"bilinear"``, ``"nearest"`` or ``"bicubic"``.
        same_on_batch: share the draws among the rows; the boxes of each still decide.

    Shape:
        (B, C, H, W) to (B, C, h, w).

    Params:
        src, dst: (B, 4, 2), corner pixels of the window and of the output. input_size, output_size: (B, 2). candidates:
        (B, trials, 4), x1, y1, x2, y2 of windows, zeros for those of a wrong aspect. overlaps: (B, K), in the order in
        which they are tried.
    """

    params = (*WINDOW, Param("candidates", (None, 4)), Param("overlaps", (None,)))
    looks_at_boxes = True
    keeps_by_center = True

    def __init__(
        self,
        min_scale: float = 0.3,
        max_scale: float = 1.0,
        min_aspect_ratio: float = 0.5,
        max_aspect_ratio: float = 2.0,
        sampler_options: Sequence[float] | None = None,
        trials: int = 40,
        size: int | Size | None = None,
        resample: Any = "BILINEAR",
        same_on_batch: bool = False,
        p: float | Tensor = 1.0,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.scale = _limits(min_scale, max_scale, "scale", 1.0)
        self.aspect = _limits(min_aspect_ratio, max_aspect_ratio, "aspect_ratio")
        options = OVERLAPS if sampler_options is None else sampler_options
        if isinstance(options, str) or not isinstance(options, Sequence):
            raise TypeError(f"sampler_options: expected a sequence of overlaps or None, got {sampler_options!r}")
        self.options = [number(option, "sampler_options", 0.0) for option in options]
        if not self.options:
            raise ValueError(f"sampler_options: expected at least one overlap, got {sampler_options!r}")
        self.trials = whole(trials, "trials", 1)
        self.size = None if size is None else pair(size, "size")
        self.columns = 4 * self.trials + len(self.options)
        self.accept(resample=resample, padding_mode="border")

    def sample(self, draw: Draw) -> Params:
        height, width = draw.shape[-2:]
        low, high = self.scale
        scale_x, scale_y, place_x, place_y = draw.u[:, : 4 * self.trials].unflatten(1, (4, self.trials)).unbind(1)
        w = ((low + (high - low) * scale_x) * width).floor()
        h = ((low + (high - low) * scale_y) * height).floor()
        x, y = ((width - w) * place_x).floor(), ((height - h) * place_y).floor()
        ratio = w / h.clamp(min=1)
        fits = (w >= 1) & (h >= 1) & (ratio >= self.aspect[0]) & (ratio <= self.aspect[1])
        candidates = torch.stack([x, y, x + w, y + h], 2) * fits.unsqueeze(2)
        order = draw.u[:, 4 * self.trials :].argsort(1)
        options = constant(self.options, draw.u.dtype, draw.device)[order]
        params = whole_frame(draw, self.output_size((height, width)))
        return self.choose_by_boxes({**params, "candidates": candidates, "overlaps": options}, None)

    def choose_by_boxes(self, params: Params, boxes: Tensor | None) -> Params:
        candidates = params["candidates"]
        boxes = None if boxes is None else boxes.to(candidates.dtype)
        index, found = bx.first_valid(boxes, candidates, params["overlaps"])
        size = params["input_size"].to(candidates.dtype)
        whole = torch.stack([size[:, 0] * 0, size[:, 0] * 0, size[:, 1], size[:, 0]], 1)
        chosen = candidates.gather(1, index.view(-1, 1, 1).expand(-1, 1, 4)).squeeze(1)
        x1, y1, x2, y2 = torch.where(found.unsqueeze(1), chosen, whole).unbind(1)
        return {**params, "src": geometry.rectangle(x1, y1, x2 - x1, y2 - y1)}


def _limits(low: float, high: float, name: str, most: float = float("inf")) -> tuple[float, float]:
    low, high = number(low, f"min_{name}", 0.0, most), number(high, f"max_{name}", 0.0, most)
    if low > high:
        raise ValueError(f"min_{name}: expected at most max_{name}, got {low} and {high}")
    return low, high
