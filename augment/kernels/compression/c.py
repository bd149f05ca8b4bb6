"""JPEG of bytes, and their loss of resolution."""

import struct
from collections.abc import Sequence

from torch import Tensor

from .. import built


def jpeg(
    image: Tensor,  # (3, H, W), uint8
    tables: Sequence[float],  # (2 * 8 * 8), of luma and chroma
    out: Tensor,  # (3, H, W), uint8, where to write
) -> bool:
    """Code and decode an image."""
    if not built.fits(image, out) or len(image) != 3 or image.numel() == 0:
        return False
    return built.library.jpeg(built.address(image), built.address(out), struct.pack("128f", *tables))


DOWN = {"nearest": 0, "bilinear": 1, "area": 2}  # as in csrc/compression/downscale.h


def downscale(
    image: Tensor,  # (C, H, W), uint8
    sizes: Sequence[int],
    down: str,
    up: str,
    out: Tensor,  # (C, H, W), uint8, where to write
) -> bool:
    """Shrink an image to a size and enlarge it again; both axes at their full precision."""
    if not (built.fits(image, out) and image.is_contiguous() and out.is_contiguous()):
        return False
    return built.library.downscale(built.address(image), built.address(out), *sizes, DOWN[down], DOWN[up])
