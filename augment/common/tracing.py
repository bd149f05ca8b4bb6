"""What the compiler needs from a class."""

import types
from typing import Any

from torch import nn


def own_forward(cls: type[nn.Module]) -> None:
    """Give a class a ``forward`` of its own: Dynamo keeps the graphs of a code object together and allows eight."""
    if "forward" not in cls.__dict__:
        base: Any = cls.forward
        code = base.__code__.replace(co_name=f"{cls.__name__}_forward")
        forward = types.FunctionType(code, base.__globals__, "forward", base.__defaults__, base.__closure__)
        forward.__kwdefaults__, forward.__doc__ = base.__kwdefaults__, base.__doc__
        cls.forward = forward
