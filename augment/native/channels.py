"""Copies of whole channels."""

import torch
from torch import Tensor

from ..functional import channels
from ..opaque import by_rows, rowwise
from .rows import Out, Rows


def _take_row(image: Tensor, source: Tensor, numbers: list[float], out: Out = None) -> Tensor:
    planes = [image[round(c)] for c in numbers]
    return torch.stack(planes) if out is None else torch.stack(planes, out=out)


def _is_in_place(image: Tensor, source: Tensor, numbers: Rows) -> list[bool]:
    return [row == list(range(len(row))) for row in numbers]


_take = rowwise("take_channels", "", _take_row, _is_in_place, raw=True)


def take_channels(
    image: Tensor,  # (B, C, H, W)
    source: Tensor,  # (B, C), int64, which channel comes where
) -> Tensor:  # (B, C, H, W)
    """Move whole channels."""
    return _take(image, source.to(torch.float32)) if by_rows(image) else channels.take(image, source)


def _fill_row(image: Tensor, lost: Tensor, numbers: list[float], value: float, out: Out = None) -> Tensor:
    if out is None:
        kept = [torch.full_like(p, value) if gone else p for p, gone in zip(image, numbers, strict=True)]
        return torch.stack(kept)
    if not out.is_contiguous():  # whole pixels are copied faster than channels of them
        out.copy_(image)
    for plane, source, gone in zip(out, image, numbers, strict=True):
        if gone:
            plane.fill_(value)
        elif out.is_contiguous():
            plane.copy_(source)
    return out


def _loses_nothing(image: Tensor, lost: Tensor, numbers: Rows, value: float) -> list[bool]:
    return [not any(row) for row in numbers]


def _fill_all(image: Tensor, lost: Tensor, numbers: Rows, value: float) -> tuple[Tensor, list[bool]]:
    """Copy the batch at once: to copy what is filled as well takes less time than a call for each plane that is not."""
    output = image.clone()
    for out, row in zip(output.unbind(), numbers, strict=True):
        for c, gone in enumerate(row):
            if gone:
                out[c].fill_(value)
    return output, [True] * len(numbers)


_fill = rowwise("fill_channels", "float value", _fill_row, _loses_nothing, raw=True, keeps_format=True, whole=_fill_all)


def fill_channels(
    image: Tensor,  # (B, C, H, W)
    lost: Tensor,  # (B, C), bool, the channels to fill
    value: float,  # in the image's own range
) -> Tensor:  # (B, C, H, W)
    """Fill whole channels with a value."""
    return _fill(image, lost.to(torch.float32), value) if by_rows(image) else channels.fill(image, lost, value)
