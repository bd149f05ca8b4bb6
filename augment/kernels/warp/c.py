"""Geometry in C: of bytes where pixels are blended, and of any dtype where whole ones move."""

import struct

import torch
from torch import Tensor

from ...common.vocabulary import BORDERS
from .. import built
from ..built import MOST_PIXELS, backend, run, samples, sampling
from ..kernel import Backend
from . import maths

Open = Tensor | None
LINEAR = maths.MODES["bilinear"]


def _permute(
    image: Tensor, out: Tensor, open: Open, matrix: Tensor, h: int, w: int, border: str, fill: list[float]
) -> None:
    level, size = b"", image.element_size()
    if border == "constant" and any(fill):
        values = maths.per_channel(fill, image).flatten().view(-1, 1).view(torch.uint8).tolist()
        level = b"".join(bytes(value).ljust(16, b"\0") for value in values)
        level *= image.shape[1] if len(values) == 1 else 1
    head = struct.pack("2i", (*BORDERS, "symmetric").index(border), size)
    run("permute", image, out, open, matrix.double(), head + level.ljust(16 * image.shape[1], b"\0"))


def _resize(image: Tensor, out: Tensor, open: Open, h: int, w: int, corners: bool) -> None:
    run("resize", image, out, open, None, struct.pack("i", corners))


def _warp(
    image: Tensor,
    out: Tensor,
    open: Open,
    matrix: Tensor,
    h: int,
    w: int,
    mode: int,
    padding: int,
    fill: list[float],
    projective: bool,
    filtered: bool,
) -> None:
    numbers = matrix.flatten(1).double()
    if filtered:
        numbers = torch.cat([numbers, maths.levels_of(matrix, h, w)], 1)
    run("warp", image, out, open, numbers, sampling(image, padding, fill, projective, filtered))


permute = Backend(_permute, lambda image, *args: built.library is not None and image.numel() > 0)
resize = backend(_resize, lambda image, *args: 0 < image.shape[2] * image.shape[3] <= MOST_PIXELS)
warp = backend(_warp, lambda image, matrix, h, w, mode, padding, fill, *args: mode == LINEAR and samples(image, fill))
