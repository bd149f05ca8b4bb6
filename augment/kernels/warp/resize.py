"""Resizing of the whole frame and windows of it, the same for every row: linear, and led back by their transposes."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..kernel import Backend, Kernel
from . import c as in_c
from . import maths
from .permutation import overlap

Open = Tensor | None
upsample, upsample_backward = torch.ops.aten.upsample_bilinear2d, torch.ops.aten.upsample_bilinear2d_backward


def _planes(image: Tensor) -> Tensor:
    """Images as single channels: PyTorch's kernel for a few turns them inwards and back."""
    return image.flatten(0, 1).unsqueeze(1)


def _resize(image: Tensor, h: int, w: int, corners: bool) -> Tensor:
    resized = F.interpolate(_planes(image), (h, w), mode="bilinear", align_corners=corners)
    return resized.view(*image.shape[:2], h, w)


def _resize_all(image: Tensor, out: Tensor, open: Open, h: int, w: int, corners: bool) -> None:
    upsample.out(_planes(image), (h, w), corners, None, None, out=_planes(out))


def _spread(gradient: Tensor, height: int, width: int, corners: bool) -> Tensor:
    planes = _planes(gradient)
    spread = upsample_backward(planes, gradient.shape[-2:], (len(planes), 1, height, width), corners)
    return spread.view(*gradient.shape[:2], height, width)


def _spread_all(gradient: Tensor, out: Tensor, open: Open, height: int, width: int, corners: bool) -> None:
    out.copy_(_spread(gradient, height, width, corners))


FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
_resized = Kernel(
    "resize(Tensor image, SymInt h, SymInt w, bool corners)",
    maths=_resize,
    backends=[in_c.resize, Backend(_resize_all, dtypes=FLOATS)],
    size=lambda image, h, w, corners: (h, w),
    transpose=lambda gradient, size, h, w, corners: _spreading(gradient, *size, corners),
)
_spreading = Kernel(
    "spread(Tensor gradient, SymInt height, SymInt width, bool corners)",
    maths=_spread,
    backends=[Backend(_spread_all)],
    values="own",
    size=lambda gradient, height, width, corners: (height, width),
    transpose=lambda gradient, size, height, width, corners: _resized(gradient, *size, corners),
)


def resize(
    image: Tensor,  # (B, C, H, W), floating or uint8
    size: tuple[int, int],
    align_corners: bool,
) -> Tensor:  # (B, C, *size)
    """Resize linearly; ``align_corners`` brings the centres of the corner pixels together, not their edges."""
    return _resized(image, *size, align_corners)


def _place_all(image: Tensor, out: Tensor, open: Open, top: int, left: int, h: int, w: int, fill: list[float]) -> None:
    rows, source_rows = overlap(1, top, image.shape[-2], h)
    columns, source_columns = overlap(1, left, image.shape[-1], w)
    out[..., rows, columns] = image[..., source_rows, source_columns]
    if (rows, columns) != (slice(0, h), slice(0, w)):
        level = maths.per_channel(fill, image)
        out[..., : rows.start, :] = level
        out[..., rows.stop :, :] = level
        out[..., rows, : columns.start] = level
        out[..., rows, columns.stop :] = level


def _place(image: Tensor, *window: Any) -> Tensor:
    output = _placed.empty(image, *window)
    _place_all(image, output, None, *window)
    return output


_placed = Kernel(
    "place(Tensor image, SymInt top, SymInt left, SymInt h, SymInt w, float[] fill)",
    maths=_place,
    backends=[Backend(_place_all)],
    values="own",
    size=lambda image, top, left, h, w, fill: (h, w),
    transpose=lambda gradient, size, top, left, h, w, fill: _placed(gradient, -top, -left, *size, [0.0]),
)


def cut_window(
    image: Tensor,  # (B, C, H, W), any dtype
    corner: tuple[int, int],
    size: tuple[int, int],
    fill: list[float],
) -> Tensor:  # (B, C, *size)
    """Cut the window whose top left pixel is at ``corner`` (y, x); beside the image it holds ``fill``."""
    return _placed(image, *corner, *size, fill)
