"""What every container inside another has to know of a call."""

from collections.abc import Mapping
from dataclasses import dataclass

from torch import nn

from ..base import Flags
from .params import ParamItem


@dataclass(frozen=True)
class Call:
    """How the parameters of a call are used.

    Args:
        handed_in: they were not drawn in this call, and are checked.
        gated: gates may be closed where no op closes them.
        options: the ``extra_args`` of the containers around, by data key.
        where: the path to the container, for messages.
        still: modules that are no ops have to keep the shape of images.
        frames: how many rows, one after the other, are a clip that moves as one.
    """

    handed_in: bool
    gated: bool
    options: Mapping[str, Flags]
    where: str
    frames: int = 1
    still: bool = False


@dataclass(frozen=True)
class Step:
    """A child in one round, with its parameters and the path to it, for messages."""

    child: nn.Module
    item: ParamItem
    where: str
