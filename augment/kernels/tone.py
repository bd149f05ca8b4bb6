"""Tables of bytes."""

from torch import Tensor

from . import core


def look_up(
    image: Tensor,  # (C, H, W), uint8
    tables: Tensor,  # (C or 1, 256), uint8
    out: Tensor,  # (C, H, W), uint8, where to write
) -> bool:
    """Give every byte its entry in the table of its channel."""
    if not (core.fits(image, out) and core.dense_alike(image, out)):
        return False
    core.built.look_up(core.place(image), core.place(out), tables.numpy().tobytes())
    return True
