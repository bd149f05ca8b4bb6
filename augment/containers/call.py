"""What every container inside another has to know of a call."""

from collections.abc import Mapping
from dataclasses import dataclass

from ..base import Flags


@dataclass(frozen=True)
class Call:
    """How the parameters of a call are used.

    Args:
        handed_in: they were not drawn in this call, and are checked.
        gated: gates may be closed where no op closes them.
        options: the ``extra_args`` of the containers around, by data key.
        frames: how many rows, one after the other, are a clip that moves as one.
    """

    handed_in: bool
    gated: bool
    options: Mapping[str, Flags]
    frames: int = 1
