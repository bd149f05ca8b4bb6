"""JPEG of bytes."""

import struct
from collections.abc import Sequence

from torch import Tensor

from . import core


def jpeg(
    image: Tensor,  # (3, H, W), uint8
    tables: Sequence[float],  # (2 * 8 * 8), of luma and chroma
    out: Tensor,  # (3, H, W), uint8, where to write
) -> bool:
    """Code and decode an image."""
    if not core.fits(image, out) or len(image) != 3 or image.numel() == 0:
        return False
    return core.built.jpeg(core.place(image), core.place(out), struct.pack("128f", *tables))
