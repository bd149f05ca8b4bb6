"""Checks of parameters that are handed in: their names and forms from what the host knows, their values on the device.

Maps as large as the image are checked for shape and dtype alone, for to look at their values takes as long as an op.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..common.checks import check

if TYPE_CHECKING:
    from ..kinds.augmentation import Augmentation

RESERVED = ("batch_prob", "forward_input_shape")


def on_device(params: Mapping[str, Any] | None, device: torch.device) -> dict[str, Any]:
    """Bring parameters of a user's own generator to where the image is."""
    return {k: v.to(device) if isinstance(v, Tensor) else v for k, v in (params or {}).items()}


def check_forms(op: "Augmentation", params: Any, shape: Sequence[int], device: torch.device, name: str) -> None:
    """Refuse parameters by their names, types and shapes; a user's class may have any. ``name`` is the op's path."""
    names = op.known_params
    if not isinstance(params, Mapping):
        raise TypeError(f"{name}: params: expected a dict of tensors, got {type(params).__name__}")
    if names is not None:
        missing = [key for key in names if key not in params and key not in op.late_params]
        foreign = [key for key in params if key not in names and key not in RESERVED]
        if missing or foreign:
            raise ValueError(f"{name}: params: expected keys {sorted(names)}; missing {missing}, foreign {foreign}")
    for key, value in params.items():
        if not isinstance(value, Tensor):
            raise TypeError(f"{name}: params[{key!r}]: expected a tensor, got {type(value).__name__}")
        if key == "forward_input_shape":
            drawn_shape(op, params, name)
        elif key in (*(names or ()), "batch_prob"):
            _check_dtype(op, key, value, device, f"{name}: params[{key!r}]")
            if key not in op.shared_params:
                _check_rows(op, key, value, shape[0], f"{name}: params[{key!r}]")


def drawn_shape(op: "Augmentation", params: Any, name: str | None = None) -> Tensor:
    """Give the shape (B, C, H, W) of the batch that parameters were drawn for, as they say."""
    name = name or type(op).__name__
    shape = params.get("forward_input_shape") if isinstance(params, Mapping) else None
    if not isinstance(shape, Tensor):
        raise ValueError(f"{name}: params: expected those of a call, with a tensor 'forward_input_shape'")
    if tuple(shape.shape) != (op.rank + 2,) or shape.dtype not in (torch.int64, torch.int32):
        raise ValueError(
            f"{name}: params['forward_input_shape']: expected {op.rank + 2} whole numbers, "
            f"got {shape.dtype} {tuple(shape.shape)}"
        )
    return shape


def origin(op: "Augmentation", params: Any, name: str | None = None) -> tuple[Sequence[int], torch.device]:
    """Give the shape (B, C, H, W) and the device of the batch that parameters were drawn for."""
    name = name or type(op).__name__
    _, *size = drawn_shape(op, params, name).tolist()
    drawn = [v for k, v in params.items() if k != "forward_input_shape" and isinstance(v, Tensor) and v.ndim]
    if not drawn:
        raise ValueError(f"{name}: params: expected those of a call, got {list(params)}")
    first = params.get("batch_prob", drawn[0])
    return (len(first), *size), first.device


def of_call(
    op: "Augmentation", params: dict[str, Tensor] | None, name: str | None = None
) -> tuple[dict[str, Tensor], Sequence[int]]:
    """Give the parameters and the shape (B, C, H, W) of the last call, or of the one that drew ``params``."""
    if params is None or params is op._params:
        if op._input_shape is None:
            raise ValueError(f"{type(op).__name__}: params: expected a call before, or the params of one")
        return op._params, op._input_shape
    shape, device = origin(op, params, name)
    return op.checked_params(params, shape, device, name), shape


def _check_dtype(op: "Augmentation", key: str, value: Tensor, device: torch.device, name: str) -> None:
    if value.device.type != device.type:
        raise ValueError(f"{name}: expected on {device}, as the image is; got {value.device}")
    if key in op.bool_params:
        if value.dtype != torch.bool:
            raise TypeError(f"{name}: expected a bool mask, got {value.dtype}")
    elif value.is_complex() or (value.dtype == torch.bool and key != "batch_prob"):
        raise TypeError(f"{name}: expected real numbers, got {value.dtype}")
    elif op.param_shapes.get(key, ()) is None and not value.is_floating_point():
        raise TypeError(f"{name}: expected a floating map, got {value.dtype}")


def _check_rows(op: "Augmentation", key: str, value: Tensor, rows: int, name: str) -> None:
    if value.shape[:1] != (rows,):
        raise ValueError(f"{name}: expected {rows} rows, as the image has; got shape {tuple(value.shape)}")
    tail, found = op.param_shapes.get(key, ()), tuple(value.shape[1:])
    if tail is not None and (
        len(tail) != len(found) or any(n not in (None, m) for n, m in zip(tail, found, strict=True))
    ):
        shown = tuple("any" if n is None else n for n in (rows, *tail))
        raise ValueError(f"{name}: expected shape {shown}, got {tuple(value.shape)}")


def check_values(op: "Augmentation", params: dict[str, Tensor]) -> None:
    """Require finite numbers, in closed rows as well, and a shape of pixels."""
    for key in (*(op.known_params or ()), "batch_prob"):
        if key not in params:  # one of the late ones
            continue
        value, small = params[key], op.param_shapes.get(key, ()) is not None and key not in op.shared_params
        if value.is_floating_point() and small:
            check(value.isfinite(), None, f"{key}: expected finite values")
    if "forward_input_shape" in params:
        check(params["forward_input_shape"][1:] > 0, None, "forward_input_shape: expected at least one pixel")


def image_map(
    op: "Augmentation", params: Mapping[str, Tensor], name: str, image: Tensor, channels: Sequence[int] | None = None
) -> Tensor:
    """Give a map among the parameters, of the image's size, and of one channel or all of its, or of ``channels``."""
    value, allowed = params[name], channels or (1, image.shape[1])
    if value.ndim != 4 or value.shape[1] not in allowed or value.shape[2:] != image.shape[2:]:
        known = " or ".join(map(str, sorted(set(allowed))))
        raise ValueError(
            f"{type(op).__name__}: params[{name!r}]: expected the image's size {tuple(image.shape[2:])} and {known} "
            f"channels, got shape {tuple(value.shape)}"
        )
    return value
