"""Modules that know what they were built with."""

import inspect
import types
from collections.abc import Sequence
from typing import Any

from torch import nn


class Recorded:
    """Base class of what keeps the arguments of its constructor, modules aside, as they were given."""

    _given: tuple[list[Any], dict[str, Any]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" not in vars(cls):  # an error of its arguments names the class, not one above
            base: Any = cls.__init__
            own = types.FunctionType(base.__code__, base.__globals__, "__init__", base.__defaults__, base.__closure__)
            own.__qualname__, own.__annotations__ = f"{cls.__name__}.__init__", base.__annotations__
            own.__kwdefaults__, own.__doc__ = base.__kwdefaults__, base.__doc__
            type.__setattr__(cls, "__init__", own)

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        self = super().__new__(cls)
        kept = {name: value for name, value in kwargs.items() if not _has_modules(value)}
        vars(self)["_given"] = ([None if _has_modules(value) else value for value in args], kept)
        return self


def _has_modules(value: Any) -> bool:
    several = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
    return isinstance(value, nn.Module) or (several and any(isinstance(part, nn.Module) for part in value))


def parameters(cls: type[Any]) -> dict[str, inspect.Parameter]:
    """The parameters of a constructor by name; keywords that it hands on are those of its base classes."""
    found: dict[str, inspect.Parameter] = {}
    for base in cls.__mro__:
        if "__init__" not in vars(base):
            continue
        own = list(inspect.signature(vars(base)["__init__"]).parameters.values())[1:]
        handed_on = any(parameter.kind is parameter.VAR_KEYWORD for parameter in own)
        for parameter in own:
            further = bool(found) and parameter.kind is parameter.VAR_POSITIONAL
            if parameter.kind is not parameter.VAR_KEYWORD and not further:
                found.setdefault(parameter.name, parameter)
        if not handed_on:
            break
    return found


def arguments(module: Recorded) -> dict[str, Any]:
    """What a module was built with by name, without defaults; what is behind ``*args`` under their name."""
    args, kwargs = module._given
    bound = inspect.signature(type(module).__init__).bind_partial(module, *args, **kwargs)
    given: dict[str, Any] = {}
    for name, value in list(bound.arguments.items())[1:]:
        handed_on = bound.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
        given.update(value if handed_on else {name: value})
    return given
