"""Params of a call as lists, dicts, text and tensors, which can be saved, written as JSON, and handed in again."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from ..sampling.params import SHAPE

NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "bfloat16", "float16", "float32", "float64")
DTYPES: dict[str, torch.dtype] = {name: getattr(torch, name) for name in NAMES}


def plain(params: Any) -> Any:
    """The params of a call as plain lists, dicts, text and tensors, copied and without a graph.

    Args:
        params: ``_params`` of an op, a container or a dispatcher, after a call.

    Returns:
        For an op its dict of tensors; for a container a list of pairs [name, params of the child], where those of a
        module that draws nothing are None; for a dispatcher a list of what its containers have.
        ``torch.load(..., weights_only=True)`` reads what ``torch.save`` wrote of it, and ``params=`` takes it.
    """
    if params is None:
        raise TypeError("params: expected those of a call, got None, as before the first")
    return _each_op(params, "the params of a call", _copied)


def _is_several(params: Any) -> bool:
    """Whether params are those of a dispatcher: of each container a list, which starts with a pair, or is empty."""
    parts = params if isinstance(params, (list, tuple)) else []
    firsts = [part[:1] for part in parts if isinstance(part, (list, tuple))]
    several = all(isinstance(pair, (list, tuple)) for first in firsts for pair in first)
    return len(parts) > 0 and len(firsts) == len(parts) and several


def _each_op(params: Any, expected: str, fn: Callable[[Any, str], Any]) -> Any:
    """Params with those of every op, and the path to them, through a function; ``expected`` is for messages."""

    def read(params: Any, where: str) -> Any:
        if params is None:
            return None
        if isinstance(params, Mapping):
            return fn(params, where)
        if not isinstance(params, (list, tuple)):
            raise TypeError(f"{where}: expected {expected}, got {params!r:.80}")
        pairs = []
        for i, item in enumerate(params):
            if not isinstance(item, (list, tuple)) or len(item) != 2 or not isinstance(item[0], str):
                raise TypeError(f"{where}[{i}]: expected a pair [name, params], got {item!r:.80}")
            pairs.append([item[0], read(item[1], f"{where}[{i}].{item[0]}")])
        return pairs

    several = _is_several(params)
    return [read(items, f"params[{i}]") for i, items in enumerate(params)] if several else read(params, "params")


def _copied(params: Mapping[Any, Any], where: str) -> dict[str, Tensor]:
    for name, value in params.items():
        if not isinstance(name, str) or not isinstance(value, Tensor):
            raise TypeError(f"{where}[{name!r}]: expected a tensor under a name, got {value!r:.80}")
    return {name: value.detach().clone() for name, value in params.items()}


def to_json(params: Any, indent: int | None = None) -> str:
    """Write the params of a call as JSON, from which ``from_json`` reads them bit-equal.

    Args:
        params: as of ``plain``, or what it gives.
        indent: how far nested lines stand in; None for one line.
    """
    written = _each_op(plain(params), "", lambda op, _: {name: tensor_to_dict(value) for name, value in op.items()})
    return json.dumps(written, indent=indent, allow_nan=False)


def tensor_to_dict(value: Tensor) -> dict[str, Any]:
    """Write a tensor as its dtype, its shape and its values; those that no JSON number can be are text."""
    dtype = str(value.dtype).removeprefix("torch.")
    if dtype not in DTYPES:
        raise TypeError(f"params: expected one of the dtypes {list(DTYPES)}, got {value.dtype}")
    values = value.detach().flatten().tolist()
    if value.is_floating_point():
        values = [v if math.isfinite(v) else str(v) for v in values]
    return {"dtype": dtype, "shape": list(value.shape), "values": values}


def from_json(text: str, device: torch.device | str | None = None) -> Any:
    """Read params that ``to_json`` wrote.

    Args:
        text: JSON.
        device: where the tensors shall be, as the images of the call; None for the CPU.
    """
    try:
        params = json.loads(text, object_pairs_hook=_each_once)
    except json.JSONDecodeError as error:
        raise ValueError(f"text: expected JSON, got {text!r:.80} ({error})") from None

    def read(op: Mapping[str, Any], where: str) -> dict[str, Tensor]:
        places = {name: None if name == SHAPE else device for name in op}  # the shape is the host's
        return {name: tensor_from_dict(value, f"{where}[{name!r}]", places[name]) for name, value in op.items()}

    return _each_op(params, "a list, a dict or null", read)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Take the entries of a JSON object, of which reading it would take the last of two."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"text: expected each key once, got {name!r} again among {[key for key, _ in pairs]}")
        found[name] = value
    return found


def tensor_from_dict(value: Any, where: str, device: torch.device | str | None = None) -> Tensor:
    """Read a tensor that ``tensor_to_dict`` wrote; ``where`` names it in messages."""
    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "values"}:
        raise TypeError(f"{where}: expected a dict of dtype, shape and values, got {value!r:.80}")
    if value["dtype"] not in DTYPES:
        raise ValueError(f"{where}: expected one of the dtypes {list(DTYPES)}, got {value['dtype']!r}")
    dtype = DTYPES[value["dtype"]]
    exact = dtype if dtype == torch.bool else torch.float64 if dtype.is_floating_point else torch.int64
    try:
        numbers = [float(v) if isinstance(v, str) else v for v in value["values"]]
        return torch.tensor(numbers, dtype=exact).to(dtype).view(value["shape"]).to(device or "cpu")
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(
            f"{where}: expected the values of a tensor of shape {value['shape']}, got {value!r:.80}"
        ) from None
