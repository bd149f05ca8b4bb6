"""Displacements of bytes, in C."""

import torch
from torch import Tensor

from ..built import backend, run, samples, sampling
from ..warp.maths import MODES
from . import maths

Open = Tensor | None
LINEAR = MODES["bilinear"]


def _displace(
    image: Tensor, out: Tensor, open: Open, field: Tensor, mode: int, padding: int, fill: list[float]
) -> None:
    run("displace", image, out, open, field.float(), sampling(image, padding, fill))


def _lines(image: Tensor, out: Tensor, open: Open, lines: Tensor, mode: int, padding: int, fill: list[float]) -> None:
    columns, rows = maths.lines_offsets(lines.float(), *image.shape[-2:])
    run("displace_lines", image, out, open, torch.cat([columns, rows], 1), sampling(image, padding, fill))


displace = backend(_displace, lambda image, field, mode, padding, fill: mode == LINEAR and samples(image, fill))
displace_lines = backend(_lines, lambda image, lines, mode, padding, fill: mode == LINEAR and samples(image, fill))
