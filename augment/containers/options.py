"""The options of a container for what travels with the image: ``extra_args``."""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from ..common.arguments import Check, channel_values, one_of, switch
from ..common.types import Flags
from ..common.vocabulary import BORDER_MODES, RESAMPLE
from ..targets.keys import KEYS, data_key

OPTION_CHECKS: Mapping[str, Check] = {
    "resample": one_of(*RESAMPLE),
    "padding_mode": one_of(*BORDER_MODES),
    "fill": channel_values,
    "align_corners": switch,
    "clip": switch,
}


def options_for(extra_args: Mapping[Any, Mapping[str, Any]] | None) -> dict[str, Flags]:
    """Check the ``extra_args`` of a container and give them by data key."""
    options: dict[str, Flags] = {}
    if not isinstance(extra_args, (Mapping, type(None))):
        raise TypeError(f"extra_args: expected a dict of options by data key, got {extra_args!r}")
    for key, args in (extra_args or {}).items():
        name = data_key(key)
        allowed = KEYS[name].options
        if not isinstance(args, Mapping):
            raise TypeError(f"extra_args[{name!r}]: expected a dict of options, got {args!r}")
        foreign = [] if allowed is None else [arg for arg in args if arg not in allowed]
        if foreign:
            raise TypeError(f"extra_args[{name!r}]: expected names out of {allowed}, got {foreign}")
        given = {k: v.name.lower() if isinstance(v, Enum) else v for k, v in args.items()}
        if allowed is not None:  # those for images are checked by each op
            given = {k: OPTION_CHECKS[k](v, f"extra_args[{name!r}][{k!r}]") for k, v in given.items()}
        options[name] = given
        if name == "mask":  # nearest takes edges, and the other modes follow the image
            options[name].pop("align_corners", None)
    return options
