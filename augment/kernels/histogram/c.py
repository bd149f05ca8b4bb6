"""Tables that the levels of an image of bytes decide."""

import struct

import torch
from torch import Tensor

from .. import built

Open = Tensor | None
MOST_TILES = 2**12


def _tiles(image: Tensor, out: Tensor, open: Open, gate: Tensor, limit: Tensor, height: int, width: int) -> None:
    built.run("clahe", image, out, open, limit.to(torch.float64), struct.pack("2i", height, width))


equalize = built.backend(lambda image, out, open, gate: built.run("equalize", image, out, open))
equalize_tiles = built.backend(
    _tiles, lambda image, gate, limit, height, width: height >= 1 <= width and height * width <= MOST_TILES
)
