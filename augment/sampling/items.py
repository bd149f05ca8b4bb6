"""The parameters of a container: plain nested lists that can be saved, read and handed in again."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor


class ParamItem(NamedTuple):
    """The parameters of one child of a container: its name, and its dict, a nested list, or None."""

    name: str
    data: Any


CHOSEN = "chosen"

torch.serialization.add_safe_globals([ParamItem])


def drawn(data: Any) -> list[Tensor]:
    """All tensors of the parameters of a child but the shapes."""
    if isinstance(data, dict):
        values = [value for name, value in data.items() if name != "forward_input_shape"]
        return [value.detach() if value.requires_grad else value for value in values]
    return [] if data is None else [value for item in data for value in drawn(item.data)]


def as_items(params: Any, names: Sequence[str], where: str) -> list[ParamItem]:
    """Read the params of a container, items or pairs [name, data]; one for each of the names, in their order."""
    if not isinstance(params, (list, tuple)):
        raise TypeError(f"{where}: params: expected a list of ParamItem, got {params!r:.80}")
    items = []
    for item in params:
        pair = isinstance(item, (list, tuple)) and len(item) == 2
        if not pair or not isinstance(item[0], str):
            raise TypeError(f"{where}: params: expected ParamItem or pairs [name, data], got {item!r:.80}")
        items.append(ParamItem(item[0], item[1]))
    given = [item.name for item in items]
    if given != list(names):
        raise ValueError(f"{where}: params: expected items for {list(names)}, got {given}")
    return items


def given_shape(choice: Mapping[str, Any]) -> list[int]:
    """The shape (B, C, H, W), or of videos, of the batch that a choice was drawn for, as it says."""
    chosen = choice.get(CHOSEN)
    if not isinstance(chosen, Tensor):
        raise ValueError(f"params: expected those of a call, with {CHOSEN!r}; got {list(choice)}")
    _, *size = stated_shape(choice)
    return [len(chosen), *size]


def stated_shape(data: Mapping[str, Any]) -> list[int]:
    """The shape that parameters say they were drawn for."""
    shape = data.get("forward_input_shape")
    if not isinstance(shape, Tensor) or tuple(shape.shape) not in ((4,), (5,)):
        raise ValueError(f"params: expected those of a call, with 'forward_input_shape'; got {list(data)}")
    return shape.tolist()
