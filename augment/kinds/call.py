"""How an op is called: by what, and with what."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torch import Tensor

from ..common.types import Flags, Params


@dataclass(frozen=True)
class Call:
    """How the parameters of a call are used.

    Args:
        where: the path to what is called, for messages.
        options: the ``extra_args`` of the containers around, by data key.
        handed_in: the parameters were not drawn in this call, and are checked.
        gated: gates may be closed where no op closes them.
        frames: how many rows, one after the other, are a clip that moves as one.
        still: modules that are no ops have to keep the shape of images.
    """

    where: str
    options: Mapping[str, Flags] = field(default_factory=dict)
    handed_in: bool = False
    gated: bool = False
    frames: int = 1
    still: bool = False


class Ready(NamedTuple):
    """An op in a call, with all that its kernel asks for."""

    op: Any
    params: Params
    flags: Flags
    gate: Tensor | None
