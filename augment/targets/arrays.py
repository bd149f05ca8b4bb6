"""NumPy arrays, as decoders and loaders give them: images (H, W, C), with the channels of a pixel side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from .keys import ALIASES, KEYS, key_in_dict, key_of_name

try:
    import numpy as np
except ModuleNotFoundError:  # nobody has arrays then
    np = None


def read(args: Sequence[Any], keys: Sequence[str] | None, videos: bool = False) -> Sequence[Any]:
    """The values of a call, or one dict of them, with tensors in place of arrays, which cannot be videos.

    Masks are (H, W), (H, W, 1), batches (B, H, W) and (B, H, W, C), or lists of (H, W) and (H, W, C).
    """
    sample = args[0] if len(args) == 1 and isinstance(args[0], Mapping) else None
    if sample is None and (keys is None or len(keys) != len(args)):
        return args
    if not any(map(_found, args if sample is None else sample.values())):
        return args
    if videos:
        raise TypeError("args: expected tensors for a VideoSequential, in its data_format; got NumPy arrays")
    if sample is None:
        return [_read(key, value) for key, value in zip(keys or [], args, strict=True)]
    found = {name: _read(_key(name, value), value) for name, value in sample.items()}
    return [{name: value if key_in_dict(name, value) else sample[name] for name, value in found.items()}]


def _key(name: Any, value: Any) -> str | None:
    """The key of an entry of a sample; None where its name only begins like one, and no values would fit."""
    key = key_of_name(name)
    if key is None or not _found(value) or (key != "class" and name.lower() in (*KEYS, *ALIASES)):
        return key
    least = {"class": 0, "image": 2, "mask": 2}.get(key, 1)
    arrays = [value] if _is_array(value) else value
    return key if all(array.ndim >= least and _is_numeric(key, array) for array in arrays) else None


def _is_numeric(key: str, array: Any) -> bool:
    try:
        _dtype(key, array)
    except TypeError:
        return False
    return True


def _is_array(value: Any) -> bool:
    return np is not None and isinstance(value, np.ndarray)


def _found(value: Any) -> bool:
    return _is_array(value) or (isinstance(value, (list, tuple)) and len(value) > 0 and all(map(_is_array, value)))


def _read(key: str | None, value: Any) -> Any:
    if key is None or not _found(value):
        return value
    if _is_array(value):
        tensor = _tensor(key, value)
        pixels = tensor.ndim > 2 if key == "image" else key == "mask" and (tensor.ndim == 4 or tensor.shape[2:] == (1,))
        return _channels_first(tensor) if pixels else tensor
    if key not in ("image", "mask"):
        return [_tensor(key, entry) for entry in value]
    assert np is not None
    _check_alike(key, value)
    batch = torch.from_numpy(np.stack(value))
    if batch.ndim == 4:
        return _channels_first(batch)
    return batch.unsqueeze(1) if key == "image" else batch


def _check_alike(key: str, arrays: Sequence[Any]) -> None:
    first, dtype = arrays[0], None
    for array in arrays:
        if array.ndim not in (2, 3):
            raise ValueError(f"{key}: expected arrays (H, W) or (H, W, C), got one of shape {array.shape}")
        if array.shape != first.shape:
            sizes = "" if array.shape[:2] == first.shape[:2] else "; Resize or LetterBox bring each to one size first"
            raise ValueError(
                f"{key}: expected arrays of one shape, to be a batch; got {first.shape} and {array.shape}{sizes}"
            )
        own = _dtype(key, array)
        dtype = dtype or own
        if own != dtype:
            raise ValueError(f"{key}: expected arrays of one dtype, to be a batch; got {dtype} and {own}")


def _dtype(key: str, array: Any) -> torch.dtype:
    """The dtype that a tensor of an array has, for which nothing is read of it."""
    assert np is not None
    return _tensor(key, np.zeros_like(array[..., :0] if array.ndim else array)).dtype


def _tensor(key: str, array: Any) -> Tensor:
    """View an array as a tensor; one that has gaps in memory, or runs backwards, is copied."""
    assert np is not None
    try:
        return torch.from_numpy(np.ascontiguousarray(array))
    except (TypeError, ValueError):
        raise TypeError(f"{key}: expected an array of numbers that a tensor can hold, got {array.dtype}") from None


def _channels_first(image: Tensor) -> Tensor:
    """View (..., H, W, C) as (..., C, H, W), the channels of a pixel still side by side in memory."""
    return image.movedim(-1, -3)
