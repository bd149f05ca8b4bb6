"""JPEG, and lost resolution."""

import torch
from torch import Tensor

from ...common.dtypes import load, rounded
from ...common.opaque import by_rows
from ..rowop import Out, RowOp, keep_rows
from . import c as in_c
from . import downscale as sizes
from . import jpeg as codec


def _jpeg_row(image: Tensor, params: Tensor, numbers: list[float], out: Out = None) -> Tensor:
    if not numbers[0]:
        return image  # whatever the tables are
    tables = params[1:].view(2, 8, 8).to(image.dtype)
    return torch.mul(codec.jpeg(image * 255, tables), 1 / 255, out=out)


def _jpeg_bytes(image: Tensor, params: Tensor, numbers: list[float], out: Tensor) -> None:
    if not in_c.jpeg(image, numbers[1:], out):
        out.copy_(codec.jpeg_levels(image, params[1:].view(2, 8, 8)))


_jpeg = RowOp(
    "jpeg",
    "",
    _jpeg_row,
    lambda image, params, numbers: [not row[0] for row in numbers],
    unit=True,
    keeps_format=True,
    on_bytes=_jpeg_bytes,
).op


def jpeg(
    image: Tensor,  # (B, C, H, W)
    gate: Tensor,  # (B,) bool, the rows to code
    tables: Tensor,  # (B, 2, 8, 8), of luma and chroma
) -> Tensor:  # (B, C, H, W)
    """Code and decode each row of the batch with its own quantisation tables."""
    if by_rows(image):
        return _jpeg(image, torch.cat([gate.to(tables.dtype).unsqueeze(1), tables.flatten(1)], 1))
    work = load(image, unit=True) * 255
    return keep_rows(~gate, image, codec.jpeg(work, tables.to(work.dtype)) / 255, unit=True)


def _downscale_row(image: Tensor, scale: Tensor, number: float, down: str, up: str, out: Out = None) -> Tensor:
    small = [int(sizes.small_sizes(scale.detach(), n)) for n in image.shape[-2:]]
    return sizes.downscale_row(image, (small[0], small[1]), down, up, out)


def _downscale_bytes(image: Tensor, scale: Tensor, number: float, down: str, up: str, out: Tensor) -> None:
    small = [min(max(round(number * n), 1), n) for n in image.shape[-2:]]
    if in_c.downscale(image, small, down, up, out):
        return
    exact = down == up == "nearest"
    result = sizes.downscale_row(image if exact else load(image), (small[0], small[1]), down, up)
    out.copy_(result if exact else rounded(result))


def _is_whole(image: Tensor, scale: Tensor, numbers: list[float], down: str, up: str) -> list[bool]:
    return [s == 1 for s in numbers]


_downscale = RowOp("downscale", "str down, str up", _downscale_row, _is_whole, on_bytes=_downscale_bytes).op
_downscale_nearest = RowOp(
    "downscale_nearest", "str down, str up", _downscale_row, _is_whole, raw=True, on_bytes=_downscale_bytes
).op


def downscale(
    image: Tensor,  # (B, C, H, W)
    scale: Tensor,  # (B,)
    down: str,
    up: str,
) -> Tensor:  # (B, C, H, W)
    """Shrink and enlarge each row of the batch; where both are by the nearest pixel, values stay exact."""
    if by_rows(image):
        return (_downscale_nearest if down == up == "nearest" else _downscale)(image, scale, down, up)
    return keep_rows(scale == 1, image, sizes.downscale(load(image), scale, down, up))
