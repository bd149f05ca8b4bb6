"""Tables that the levels of an image of bytes decide."""

from torch import Tensor

from .. import built

MOST_CHANNELS = 16  # as in csrc/histogram/histogram.h


def _fits(image: Tensor, out: Tensor) -> bool:
    return built.fits(image, out) and image.numel() > 0 and len(image) <= MOST_CHANNELS


def equalize(
    image: Tensor,  # (C, H, W), uint8
    out: Tensor,  # (C, H, W), uint8, where to write
) -> bool:
    """Flatten the histogram of every channel."""
    return _fits(image, out) and built.library.equalize(built.address(image), built.address(out))


def equalize_tiles(
    image: Tensor,  # (C, H, W), uint8
    limit: float,  # most of a level in a tile, as a multiple of an even share; 0 for no limit
    height: int,  # tiles along each axis
    width: int,
    out: Tensor,  # (C, H, W), uint8, where to write
) -> bool:
    """Flatten the histogram of every tile, and blend the tables of the four tiles around each pixel."""
    return _fits(image, out) and built.library.clahe(built.address(image), built.address(out), height, width, limit)
