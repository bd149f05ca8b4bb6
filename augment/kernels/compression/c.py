"""JPEG of bytes, and their loss of resolution, in C."""

import struct

from torch import Tensor

from ..built import backend, run

Open = Tensor | None


def _jpeg(image: Tensor, out: Tensor, open: Open, gate: Tensor, tables: Tensor) -> None:
    run("jpeg", image, out, open, tables.float())


MODES = ("nearest", "bilinear", "area")  # as in csrc/compression/downscale.h


def _downscale(
    image: Tensor, out: Tensor, open: Open, scale: Tensor, down: str = "nearest", up: str = "nearest"
) -> None:
    run("downscale", image, out, open, scale.double(), struct.pack("2i", MODES.index(down), MODES.index(up)))


jpeg = backend(_jpeg, lambda image, *args: image.shape[1] == 3)
downscale = backend(_downscale)
