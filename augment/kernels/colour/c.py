"""Recolouring of bytes, in C."""

import struct
from collections.abc import Sequence

from torch import Tensor

from ..built import backend, run
from .program import JIGGLE, JITTER

MOST_CHANNELS, MOST_PARTS = 16, 16  # as in csrc/colour


def _recolour(image: Tensor, out: Tensor, open: Tensor | None, numbers: Tensor, program: Sequence[int]) -> None:
    run("recolour", image, out, open, numbers.float(), struct.pack(f"{len(program)}i", *program))


def _takes(image: Tensor, numbers: Tensor, program: Sequence[int]) -> bool:
    jitters = any(kind in (JITTER, JIGGLE) for kind in program[2::3])
    return program[1] <= MOST_PARTS and image.shape[1] <= MOST_CHANNELS and (not jitters or image.shape[1] in (1, 3))


recolour = backend(_recolour, _takes)
