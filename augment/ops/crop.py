"""Crops and resizes."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .. import kernels
from ..common.arguments import channel_values, choice, is_whole, pair, switch, whole_pixel_border
from ..common.checks import check
from ..common.types import Flags, Params
from ..kernels.warp import matrices as geometry
from ..kinds.geometric import Geometric
from ..maps.warp import Homography, Permutation, Rescale, Window
from ..sampling.draw import Draw
from ..sampling.params import Param
from ..sampling.ranges import Bounds, Range

Size = tuple[int, int]
WINDOW = (Param("src", (4, 2)), Param("dst", (4, 2)), Param("input_size", (2,)), Param("output_size", (2,)))
CANDIDATES = 10


def windows(src: Tensor, input_size: Size, size: Size) -> Params:
    """Name the parameters that all crops share, for windows (B, 4, 2) of the input that become the whole output."""
    zero = torch.zeros_like(src[:, 0, 0])
    return {
        "src": src,
        "dst": geometry.rectangle(zero, zero, size[1], size[0]),
        "input_size": same_rows(input_size, zero),
        "output_size": same_rows(size, zero),
    }


def same_rows(numbers: Sequence[int], like: Tensor) -> Tensor:  # (B, n)
    """Give whole numbers for each row, B as in ``like`` (B,)."""
    return torch.stack([torch.full_like(like, n, dtype=torch.long) for n in numbers], 1)


def check_window(params: Params, gate: Tensor) -> None:
    """Require windows of at least one pixel in the frame that they are said to be cut from."""
    first, last = params["src"][:, 0], params["src"][:, 2]
    inside = (first >= 0) & (last >= first) & (last <= params["input_size"].flip(1) - 1)
    check(inside, gate, "src: expected windows of at least one pixel, inside input_size")


def require_border(name: str, shape: Sequence[int], depth: Size, mode: str) -> None:
    """Refuse a border that takes more pixels (y, x) than the image has to reflect or to repeat."""
    least = {"reflect": 1, "circular": 0}.get(mode)
    if least is not None and any(n + least > old for n, old in zip(depth, shape[-2:], strict=True)):
        most = tuple(old - least for old in shape[-2:])
        raise ValueError(f"{name}: expected at most {most} pixels more with a border {mode!r}, got {depth}")


def whole_frame(draw: Draw, size: Size) -> Params:
    """The parameters of a window that is the whole frame."""
    height, width = draw.shape[-2:]
    zero = draw.gate.float() * 0
    return windows(geometry.rectangle(zero, zero, zero + width, zero + height), (height, width), size)


class Frame(Rescale):
    """A resize of the whole frame, of bytes row by row."""

    def _like(self, matrix: Tensor) -> "Frame":
        return Frame(matrix, self.input_size, self.size, self.align_corners, self.antialias)

    def image(
        self, image: Tensor, resample: str = "bilinear", padding_mode: str = "zeros", fill: Sequence[float] = (0.0,)
    ) -> Tensor:
        if image.dtype == torch.uint8 and resample == "bilinear" and not self.antialias:
            return kernels.resize(image, self.size, self.align_corners)
        return super().image(image, resample, padding_mode, fill)


def rescale(input: Tensor, params: Params, flags: Flags, size: Size) -> Rescale:
    """The resize of the whole frame to a size."""
    height, width = input.shape[-2:]
    corners = flags["align_corners"] and not flags["antialias"] and flags["resample"] != "nearest"
    zero = params["batch_prob"].float() * 0
    window = torch.stack([zero, zero, zero + width, zero + height], 1)
    matrix = geometry.window_to_frame(window, size, corners)
    return Frame(matrix, (height, width), size, corners, flags["antialias"])


def side_to_size(size: int | Size, input_size: Size, side: str) -> Size:
    """(h, w) of a resize to a length of one side that keeps the aspect, or to a given size."""
    if not isinstance(size, int):
        return size
    height, width = input_size
    fixed_height = {"vert": True, "horz": False, "short": height < width, "long": height >= width}[side]
    aspect = width / height
    return (size, max(int(size * aspect), 1)) if fixed_height else (max(int(size / aspect), 1), size)


class FixedSize(Geometric):
    """Base class of the ops whose outputs have one size, or that of the input where it is None."""

    size: Any

    def output_size(self, size: Size) -> Size:
        return size if self.size is None else self.size


class WholeFrame(Geometric):
    """Base class of the ops that resize the whole frame to their ``output_size``."""

    looks_beyond = False
    params = WINDOW

    def sample(self, draw: Draw) -> Params:
        return whole_frame(draw, self.output_size((draw.shape[-2], draw.shape[-1])))

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Rescale:
        return rescale(input, params, flags, self.output_size((input.shape[-2], input.shape[-1])))


class ResizedWindow(FixedSize):
    """Base class of the ops that cut a window and resize it to their ``output_size``, edge to edge by default."""

    params: Sequence[Param] = WINDOW

    def validate(self, params: Params, gate: Tensor) -> None:
        check_window(params, gate)

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Homography:
        size = (input.shape[-2], input.shape[-1])
        output = self.output_size(size)
        first, last = params["src"][:, 0], params["src"][:, 2]
        corners = flags.get("align_corners", False) and flags["resample"] != "nearest"
        matrix = geometry.window_to_frame(torch.cat([first, last - first + 1], 1), output, corners)
        return Homography(matrix, size, output, projective=False)


class RandomCrop(FixedSize):
    """Cut a window of fixed size at a random place. Pixels stay exact.

    A row with a closed gate gives the centred window, and its labels follow.

    Args:
        size: (height, width) of the window, or one number for both.
        padding: pixels to add first: one number, (left and right, top and bottom) or (left, top, right, bottom).
        pad_if_needed: add what an image lacks to the window, on either side.
        fill: value of a constant border, on the scale of [0, 1], one or one a channel.
        padding_mode: ``"constant"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        resample, align_corners, cropping_mode: accepted for compatibility; whole pixels are not resampled.

    Shape:
        (B, C, H, W) to (B, C, h, w).

    Params:
        src, dst: (B, 4, 2), corner pixels of the window in the padded image, and of the output. input_size,
        output_size: (B, 2), padded. padding_size: (B, 4), left, right, top, bottom.

    Raises:
        ValueError: if the window is larger than the padded image.
    """

    whole_pixels = True
    columns = 2
    params = (*WINDOW, Param("padding_size", (4,)))
    flag_checks = {"padding_mode": whole_pixel_border, "fill": channel_values}

    def __init__(
        self,
        size: int | Size,
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: float | Sequence[float] = 0,
        padding_mode: str = "constant",
        resample: Any = "BILINEAR",
        same_on_batch: bool = False,
        align_corners: bool = True,
        p: float | Tensor = 1.0,
        keepdim: bool = False,
        cropping_mode: str = "slice",
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.size = pair(size, "size")
        self.padding = _sides(padding)
        self.pad_if_needed = switch(pad_if_needed, "pad_if_needed")
        self.looks_beyond = self.pads = self.pad_if_needed or any(self.padding)
        self.accept(
            padding_mode=padding_mode,
            fill=fill,
            resample=resample,
            align_corners=align_corners,
            cropping_mode=cropping_mode,
        )

    def padding_for(self, size: Size) -> tuple[int, int, int, int]:
        """The padding (left, right, top, bottom) of an image of (H, W)."""
        left, right, top, bottom = self.padding
        if self.pad_if_needed:
            lack_y, lack_x = self.size[0] - size[0], self.size[1] - size[1]
            left, right, top, bottom = max(left, lack_x), max(right, lack_x), max(top, lack_y), max(bottom, lack_y)
        return left, right, top, bottom

    def check_shape(self, shape: Sequence[int], flags: Flags) -> None:
        left, right, top, bottom = self.padding_for((shape[-2], shape[-1]))
        padded = (shape[-2] + top + bottom, shape[-1] + left + right)
        if padded[0] < self.size[0] or padded[1] < self.size[1]:
            raise ValueError(
                f"RandomCrop: size: expected at most the padded image's {padded}, got {self.size}; "
                "pad_if_needed=True adds what is missing"
            )
        require_border("RandomCrop: padding", shape, (max(top, bottom), max(left, right)), flags["padding_mode"])

    def sample(self, draw: Draw) -> Params:
        height, width = draw.shape[-2:]
        left, right, top, bottom = self.padding_for((height, width))
        padded = (height + top + bottom, width + left + right)
        h, w = self.size
        x = (draw.u[:, 0] * (padded[1] - w + 1)).floor()
        y = (draw.u[:, 1] * (padded[0] - h + 1)).floor()
        src = geometry.rectangle(x, y, w, h)
        sides = same_rows((left, right, top, bottom), x)
        return {**windows(src, padded, self.size), "padding_size": sides}

    def validate(self, params: Params, gate: Tensor) -> None:
        check_window(params, gate)
        check(params["padding_size"] >= 0, gate, "padding_size: expected numbers of pixels")

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Permutation:
        x, y = (params["padding_size"][:, ::2] - params["src"][:, 0]).unbind(1)
        return Permutation(geometry.translation(x, y, x), (input.shape[-2], input.shape[-1]), self.size)


def _sides(padding: int | Sequence[int] | None) -> tuple[int, int, int, int]:
    values = [0] if padding is None else list(padding) if isinstance(padding, Sequence) else [padding]
    if len(values) not in (1, 2, 4) or not all(is_whole(v, 0) for v in values):
        raise ValueError(f"padding: expected one, two or four whole numbers >= 0 and < 2**31, got {padding!r}")
    left, top, right, bottom = values * (4 // len(values))
    return left, right, top, bottom


class CenterCrop(FixedSize):
    """Cut the centred window. Pixels stay exact.

    Args:
        size: (height, width) of the window, or one number for both.
        p: accepted for compatibility: the window is the same whether the gate is open or closed.
        resample, align_corners, cropping_mode: accepted for compatibility; whole pixels are not resampled.

    Shape:
        (B, C, H, W) to (B, C, h, w).

    Params:
        src, dst: (B, 4, 2), corner pixels of the window and of the output. input_size, output_size: (B, 2).

    Raises:
        ValueError: if the window is larger than the image.
    """

    whole_pixels = True
    looks_beyond = False
    params = WINDOW

    def __init__(
        self,
        size: int | Size,
        align_corners: bool = True,
        resample: Any = "BILINEAR",
        p: float | Tensor = 1.0,
        keepdim: bool = False,
        cropping_mode: str = "slice",
    ) -> None:
        super().__init__(p=p, keepdim=keepdim)
        self.size = pair(size, "size")
        self.accept(align_corners=align_corners, resample=resample, cropping_mode=cropping_mode)

    def check_shape(self, shape: Sequence[int], flags: Flags) -> None:
        if self.size[0] > shape[-2] or self.size[1] > shape[-1]:
            raise ValueError(f"CenterCrop: size: expected at most the image's {tuple(shape[-2:])}, got {self.size}")

    def sample(self, draw: Draw) -> Params:
        height, width = draw.shape[-2:]
        h, w = self.size
        zero = draw.gate.long() * 0
        src = geometry.rectangle(zero + (width - w) // 2, zero + (height - h) // 2, zero + w, zero + h)
        return windows(src, (height, width), self.size)

    def warp(self, input: Tensor, params: Params, flags: Flags) -> Window:
        (height, width), (h, w) = input.shape[-2:], self.size
        return Window(params["batch_prob"], ((height - h) // 2, (width - w) // 2), (height, width), self.size)


class RandomResizedCrop(ResizedWindow):
    """Cut a window of random area and aspect, and resize it.

    Ten windows are tried, and the first that fits is taken; if none does, the largest whose aspect is allowed
    (C. Szegedy et al., "Going deeper with convolutions", 2015, in the form of torchvision). A row with a closed gate is
    the whole frame, resized edge to edge.

    Args:
        size: (height, width) of the output, or one number for both.
        scale: (low, high) of the window's area as a fraction of the image's.
        ratio: (low, high) of width over height.
        resample: ``"bilinear"``, ``"nearest"`` or ``"bicubic"``.
        align_corners: whether the centres of the corner pixels of window and output meet, or their edges.
        cropping_mode: ``"slice"`` or ``"resample"``, accepted for compatibility; both give the same.

    Shape:
        (B, C, H, W) to (B, C, h, w).

    Params:
        src, dst: (B, 4, 2), corner pixels of the window and of the output. input_size, output_size: (B, 2).
    """

    looks_beyond = False
    columns = 2 * CANDIDATES + 2

    def __init__(
        self,
        size: int | Size,
        scale: Bounds = (0.08, 1.0),
        ratio: Bounds = (3 / 4, 4 / 3),
        resample: Any = "BILINEAR",
        same_on_batch: bool = False,
        align_corners: bool = True,
        p: float | Tensor = 1.0,
        keepdim: bool = False,
        cropping_mode: str = "slice",
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.size = pair(size, "size")
        self.ranges = {
            "scale": Range(scale, "scale", None, (0, math.inf)),
            "ratio": Range(ratio, "ratio", None, (1e-6, math.inf)),
        }
        self.accept(resample=resample, align_corners=align_corners, cropping_mode=cropping_mode, padding_mode="border")

    def sample(self, draw: Draw) -> Params:
        height, width = draw.shape[-2:]
        area = self.ranges["scale"](draw.u[:, :CANDIDATES]) * (height * width)
        low, high = self.ranges["ratio"].scalars(draw.device)
        aspect = torch.exp(torch.lerp(low.log(), high.log(), draw.u[:, CANDIDATES : 2 * CANDIDATES]))
        w, h = (area * aspect).sqrt().round(), (area / aspect).sqrt().round()
        fits = (w > 0) & (w <= width) & (h > 0) & (h <= height)
        first = fits.int().argmax(1, keepdim=True)
        found = fits.any(1)
        w = torch.where(found, w.gather(1, first)[:, 0], (height * high).round().clamp(1, width))
        h = torch.where(found, h.gather(1, first)[:, 0], (width / low).round().clamp(1, height))
        x = (draw.u[:, -2] * (width - w + 1)).floor()
        y = (draw.u[:, -1] * (height - h + 1)).floor()
        return windows(geometry.rectangle(x, y, w, h), (height, width), self.size)


class Resize(WholeFrame):
    """Resize the whole frame.

    Args:
        size: (height, width) of the output, or the length of one side, the other keeping the aspect.
        side: which side one number is for: ``"short"``, ``"long"``, ``"vert"`` or ``"horz"``.
        resample: ``"bilinear"``, ``"nearest"`` or ``"bicubic"``.
        align_corners: whether the centres of the corner pixels of input and output meet, or their edges; ``antialias``
            and ``"nearest"`` always take the edges.
        antialias: widen the filter when the image shrinks, as torchvision and PIL do.
        p: accepted for compatibility: a frame is resized whether the gate is open or closed.

    Shape:
        (B, C, H, W) to (B, C, h, w).

    Params:
        src, dst: (B, 4, 2), corner pixels of the input and of the output. input_size, output_size: (B, 2).
    """

    def __init__(
        self,
        size: int | Size,
        side: str = "short",
        resample: Any = "BILINEAR",
        align_corners: bool = True,
        antialias: bool = False,
        p: float | Tensor = 1.0,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, keepdim=keepdim)
        height, width = pair(size, "size")
        self.size = height if isinstance(size, int) else (height, width)
        self.side = choice(side, "side", ("short", "long", "vert", "horz"))
        self.accept(resample=resample, align_corners=align_corners, antialias=antialias)

    def output_size(self, size: Size) -> Size:
        return side_to_size(self.size, size, self.side)
