"""Params and pipelines as plain values, text and tensors, which can be saved and read again."""

from .params import from_json, plain, to_json
from .pipelines import from_dict, from_yaml, to_dict, to_yaml

__all__ = ["from_dict", "from_json", "from_yaml", "plain", "to_dict", "to_json", "to_yaml"]
