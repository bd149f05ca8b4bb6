"""Frames brought to a size: padded, resized with their aspect kept, or shrunk onto a canvas."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from ..common.arguments import channel_values, pair, switch, whole, whole_pixel_border
from ..common.types import Flags, Params
from ..kernels.warp import matrices as geometry
from ..kinds.geometric import Geometric
from ..maps.warp import Homography, Letterbox, Window
from ..sampling.draw import Draw
from ..sampling.params import Param
from ..sampling.ranges import Bounds, Range
from .crop import FixedSize, Resize, Size, require_border, rescale

GREY = 114 / 255


class PadTo(Geometric):
    """Pad on the right and at the bottom to a size. Pixels stay exact.

    Args:
        size: (height, width) of the output, or one number for both.
        pad_mode: ``"constant"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        pad_value: value of a constant border, on the scale of [0, 1], one or one a channel.
        crop_if_exceeds: cut an axis that is longer; otherwise it stays as long as it is.
        p: accepted for compatibility: a frame is padded whether the gate is open or closed.

    Shape:
        (B, C, H, W) to (B, C, h, w).

    Raises:
        ValueError: if a reflection is to be longer than the image less one pixel, or a circular border than the image.
    """

    whole_pixels = True
    pads = True
    flag_checks = {"padding_mode": whole_pixel_border, "fill": channel_values}
    spelling = {"padding_mode": "pad_mode", "fill": "pad_value"}

    def __init__(
        self,
        size: int | Size,
        pad_mode: str = "constant",
        pad_value: float | Sequence[float] = 0,
        keepdim: bool = False,
        crop_if_exceeds: bool = True,
        p: float | Tensor = 1.0,
    ) -> None:
        super().__init__(p=p, keepdim=keepdim)
        self.size = pair(size, "size")
        self.crop_if_exceeds = switch(crop_if_exceeds, "crop_if_exceeds")
        self.accept(padding_mode=pad_mode, fill=pad_value)

    def output_size(self, size: Size) -> Size:
        if self.crop_if_exceeds:
            return self.size
        return max(size[0], self.size[0]), max(size[1], self.size[1])

    def check_shape(self, shape: Sequence[int], flags: Flags) -> None:
        height, width = self.output_size((shape[-2], shape[-1]))
        require_border("PadTo: size", shape, (height - shape[-2], width - shape[-1]), flags["padding_mode"])

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Window:
        size = (input.shape[-2], input.shape[-1])
        return Window(params["batch_prob"], (0, 0), size, self.output_size(size))


class MaxSize(Resize):
    """Base class of the resizes to a length of one side, which keep the aspect.

    Attributes:
        side: which side, ``"long"`` or ``"short"``.
    """

    side: str

    def __init__(
        self,
        max_size: int,
        resample: Any = "BILINEAR",
        align_corners: bool = True,
        p: float | Tensor = 1.0,
        keepdim: bool = False,
        antialias: bool = False,
    ) -> None:
        length = whole(max_size, "max_size", 1)
        super().__init__(length, self.side, resample, align_corners, antialias, p, keepdim)
        self.max_size = length


class LongestMaxSize(MaxSize):
    """Resize the whole frame so that its longer side has a length, and keep the aspect.

    Args:
        max_size: length of the longer side; the other is rounded down.
        resample, align_corners, antialias, p: as in ``Resize``.

    Shape:
        (B, C, H, W) to (B, C, h, w).

    Params:
        src, dst: (B, 4, 2), corner pixels of the input and of the output. input_size, output_size: (B, 2).
    """

    side = "long"


class SmallestMaxSize(MaxSize):
    """Resize the whole frame so that its shorter side has a length, and keep the aspect.

    Args:
        max_size: length of the shorter side; the other is rounded down.
        resample, align_corners, antialias, p: as in ``Resize``.

    Shape:
        (B, C, H, W) to (B, C, h, w).

    Params:
        src, dst: (B, 4, 2), corner pixels of the input and of the output. input_size, output_size: (B, 2).
    """

    side = "short"


class LetterBox(FixedSize):
    """Resize the whole frame into a size with its aspect kept, and fill evenly what is left on two sides.

    The sides are those of Ultralytics' YOLO: lengths are rounded, and an odd pixel goes to the right or the bottom.

    Args:
        size: (height, width) of the output, or one number for both.
        fill: value of the bars, on the scale of [0, 1], one or one a channel.
        scale_up: enlarge a frame that is smaller than the output.
        resample: ``"bilinear"``, ``"nearest"`` or ``"bicubic"``.
        antialias: widen the filter when the image shrinks, as torchvision and PIL do.
        p: accepted for compatibility: a frame is fitted whether the gate is open or closed.

    Shape:
        (B, C, H, W) to (B, C, h, w).
    """

    composes = False

    def __init__(
        self,
        size: int | Size,
        fill: float | Sequence[float] = GREY,
        scale_up: bool = True,
        resample: Any = "BILINEAR",
        antialias: bool = False,
        p: float | Tensor = 1.0,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, keepdim=keepdim)
        self.size = pair(size, "size")
        self.scale_up = switch(scale_up, "scale_up")
        self.accept(resample=resample, align_corners=False, antialias=antialias, fill=fill)

    def fitted(self, size: Size) -> Size:
        """The (h, w) of the resized frame of an (H, W) input."""
        ratio = min(self.size[0] / size[0], self.size[1] / size[1])
        ratio = ratio if self.scale_up else min(ratio, 1.0)
        return max(round(size[0] * ratio), 1), max(round(size[1] * ratio), 1)

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Letterbox:
        inner = self.fitted((input.shape[-2], input.shape[-1]))
        corner = (-((self.size[0] - inner[0]) // 2), -((self.size[1] - inner[1]) // 2))
        window = Window(params["batch_prob"], corner, inner, self.size)
        return Letterbox(rescale(input, params, flags, inner), window)


class RandomZoomOut(Geometric):
    """Shrink the image and put it at a random place of a canvas of the same size.

    The zoom of SSD (W. Liu et al., "SSD: Single shot multibox detector", 2016, arXiv 1512.02325) in the form of
    torchvision, whose canvas grows instead: here it is brought back to the size of the input.

    Args:
        fill: value of the canvas, on the scale of [0, 1], one or one a channel.
        side_range: (low, high) of the canvas's side as a multiple of the image's, within 1..1e6.
        resample: ``"bilinear"``, ``"nearest"`` or ``"bicubic"``.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        side: (B,). left, top: (B,), pixels of the output beside the image.
    """

    pads = True
    columns = 3
    params = (Param("side"), Param("left"), Param("top"))

    def __init__(
        self,
        fill: float | Sequence[float] = 0.0,
        side_range: Bounds = (1.0, 4.0),
        p: float | Tensor = 0.5,
        resample: Any = "BILINEAR",
        same_on_batch: bool = False,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {"side": Range(side_range, "side_range", None, (1.0, 1e6))}
        self.accept(resample=resample, fill=fill)

    def sample(self, draw: Draw) -> Params:
        height, width = draw.shape[-2:]
        side = self.ranges["side"](draw.u[:, 0])
        room = 1 - 1 / side
        return {"side": side, "left": draw.u[:, 1] * room * width, "top": draw.u[:, 2] * room * height}

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Homography:
        scale = 1 / params["side"]
        edge = (scale - 1) / 2  # of the first pixel
        matrix = geometry.scaling(scale, scale, params["left"] + edge, params["top"] + edge, scale)
        return Homography(matrix, (input.shape[-2], input.shape[-1]), projective=False)
