"""Data keys: the names of what a value is."""

from collections.abc import Sequence
from enum import Enum
from typing import Any

import torch
from torch import Tensor

Value = Any
SPATIAL = {"bbox": 4, "bbox_xyxy": 3, "bbox_xywh": 3, "keypoints": 3}  # rank of a batch
TAILS = {"bbox": (4, 2), "bbox_xyxy": (4,), "bbox_xywh": (4,), "keypoints": (2,)}  # last dimensions
KEYS = ("image", "mask", *SPATIAL, "class")
ALIASES = {"input": "image", "label": "class"}


def read_keys(value: Any) -> list[str]:
    """Give the names of several data keys, or of one by itself."""
    if isinstance(value, (str, Enum)):
        return [data_key(value)]
    if not isinstance(value, Sequence):
        raise TypeError(f"data_keys: expected a sequence of names, got {value!r}")
    return [data_key(key) for key in value]


def data_key(value: Any) -> str:
    """Give the name of a data key by name in any case, or by kornia's enum."""
    name = (value.name if isinstance(value, Enum) else value).lower() if isinstance(value, (Enum, str)) else value
    name = ALIASES.get(name, name) if isinstance(name, str) else None
    if name not in KEYS:
        raise ValueError(f"data_keys: expected names out of {[*KEYS, *ALIASES]}, got {value!r}")
    return name


def key_in_dict(name: Any, value: Value) -> str | None:
    """Give the data key of an entry of a sample, by its name up to a ``_`` or ``-``; None to pass it by."""
    key = key_of_name(name)
    whole = key is not None and name.lower() in (*KEYS, *ALIASES)
    return key if key is None or whole or _fits(key, value) else None


def key_of_name(name: Any) -> str | None:
    """Give the data key that a name is, or that it begins with, up to a ``_`` or ``-``; None without."""
    known = sorted([*KEYS, *ALIASES], key=len, reverse=True) if isinstance(name, str) else []
    found = [key for key in known if name.lower() == key or name.lower().startswith((f"{key}_", f"{key}-"))]
    return data_key(found[0]) if found else None


def _fits(key: str, value: Value) -> bool:
    """Whether a value can be what the first part of its name says; an ``image_id`` or ``bbox_labels`` cannot."""
    if key == "class":
        return True
    if isinstance(value, (list, tuple)):
        return key != "image" and all(isinstance(v, Tensor) and _fits(key, v) for v in value)
    if not isinstance(value, Tensor) or value.ndim < 2 or (key == "image" and not is_image(value)):
        return False
    tail = TAILS.get(key, ())
    return value.shape[value.ndim - len(tail) :] == tail


def is_image(value: Tensor) -> bool:
    """Whether a tensor has a dtype that images have."""
    return value.is_floating_point() or value.dtype == torch.uint8
