"""A pipeline's configuration as a dict of plain values, or as YAML, and back."""

import difflib
import importlib
import sys
from collections.abc import Mapping
from enum import Enum
from inspect import Parameter
from typing import Any

from torch import Tensor, nn

from ..containers.container import Container
from ..containers.dispatcher import Dispatcher
from ..kinds.augmentation import Augmentation
from ..kinds.recorded import Recorded, arguments, parameters
from .params import tensor_from_dict, tensor_to_dict

VERSION = 1
SETTINGS = ("p", "p_batch", "same_on_batch", "keepdim")  # what may be set anew on an op
HOLDERS = (Container, Dispatcher)  # what has ops or containers inside
Classes = Mapping[str, type[Any]]


def to_dict(pipeline: nn.Module, classes: Classes | None = None) -> dict[str, Any]:
    """The configuration of an op, a container or a dispatcher as plain values, which ``from_dict`` builds anew.

    Args:
        pipeline: an op, or what holds ops and containers alone. Written are the arguments that it was built with,
            and ``p``, ``p_batch``, ``same_on_batch`` and ``keepdim`` as they are now; no generator, and no params.
        classes: a user's own classes by name.

    Returns:
        ``{"version": 1, "pipeline": {class name: arguments}}``; what is in a container or a dispatcher is the list
        ``ops`` among its arguments.

    Example:
        >>> to_dict(AugmentationSequential(RandomHorizontalFlip(p=0.3)))["pipeline"]
        {'AugmentationSequential': {'ops': [{'RandomHorizontalFlip': {'p': 0.3}}]}}
    """
    return {"version": VERSION, "pipeline": _entry(pipeline, "pipeline", _known(classes))}


def from_dict(data: Mapping[str, Any], classes: Classes | None = None) -> Any:
    """Build the op, container or dispatcher that a dict of ``to_dict`` describes; nothing but its classes is run.

    Args:
        data: what ``to_dict`` gave, or the same written by hand.
        classes: a user's own classes by name, which go before those of this package.
    """
    if not isinstance(data, Mapping) or "version" not in data:
        raise ValueError(f"data: expected a dict with 'version' and 'pipeline', got {data!r:.80}")
    if data["version"] != VERSION or isinstance(data["version"], bool):
        raise ValueError(f"version: expected {VERSION}, as this version of augment writes; got {data['version']!r}")
    if set(data) != {"version", "pipeline"}:
        raise ValueError(f"data: expected the keys 'version' and 'pipeline', got {list(data)}")
    return _built(data["pipeline"], "pipeline", _known(classes))


def to_yaml(pipeline: nn.Module, classes: Classes | None = None) -> str:
    """Write ``to_dict`` as YAML, which needs PyYAML."""
    return _yaml().safe_dump(to_dict(pipeline, classes), sort_keys=False, default_flow_style=None, width=110)


def from_yaml(text: str, classes: Classes | None = None) -> Any:
    """Build what YAML of ``to_yaml``, or written by hand, describes; needs PyYAML."""
    yaml = _yaml()
    try:
        _refuse_twice(yaml.compose(text, yaml.SafeLoader), "", set())
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"text: expected YAML, got {text!r:.80} ({error})") from None
    return from_dict(data, classes)


def _refuse_twice(node: Any, path: str, seen: set[int]) -> None:
    """Refuse a key that a node of YAML has twice, of which reading it would take the last; ``path`` leads to it."""
    if node is None or isinstance(node.value, str) or id(node) in seen:
        return
    seen.add(id(node))  # an alias is the node itself
    if node.id == "sequence":
        for i, part in enumerate(node.value):
            _refuse_twice(part, f"{path}[{i}]", seen)
        return
    found = set()
    for key, value in node.value:
        name = key.value if isinstance(key.value, str) else str(key.start_mark)
        if (key.tag, name) in found:
            line = key.start_mark.line + 1
            raise ValueError(f"text: {path or 'data'}: expected each key once, got {name!r} again in line {line}")
        found.add((key.tag, name))
        _refuse_twice(value, f"{path}.{name}" if path else name, seen)


def _yaml() -> Any:
    try:
        return importlib.import_module("yaml")
    except ImportError:
        raise ImportError('to_yaml and from_yaml: expected PyYAML; pip install "augment[yaml]"') from None


def _known(classes: Classes | None) -> dict[str, type[Any]]:
    """All classes that may be named: those of the package that are no mere bases, and a user's own.

    A class that has two names is written by its own, which comes first.
    """
    package = sys.modules[__name__.partition(".")[0]]
    found = {name: getattr(package, name) for name in package.__all__}
    own = {name: cls for name, cls in found.items() if isinstance(cls, type) and issubclass(cls, Recorded)}
    own = {name: cls for name, cls in own.items() if vars(cls).get("kind") is not cls}
    known: dict[str, type[Any]] = {cls.__name__: cls for cls in own.values()} | own
    for name, cls in (classes or {}).items():
        if not (isinstance(cls, type) and issubclass(cls, Recorded)):
            raise TypeError(f"classes[{name!r}]: expected a class of ops or containers, got {cls!r}")
    return known | dict(classes or {})


# ------------------------------------------------------------------------------------------------------------- writing


def _entry(module: nn.Module, path: str, known: Mapping[str, type[Any]]) -> dict[str, Any]:
    """Give {class name: arguments} of a module; ``path`` leads to it."""
    cls = type(module)
    name = next((name for name, other in known.items() if other is cls), None)
    if name is None or not isinstance(module, Recorded):
        raise ValueError(f"{path}: expected an op or a container of this package or of `classes`, got {cls.__name__}")
    names, where = _argument_names(cls), f"{path}.{name}"
    renamed = {parameter.name: key for key, parameter in names.items()}
    given = {renamed.get(key, key): value for key, value in arguments(module).items()}
    if isinstance(module, HOLDERS):
        given.pop("ops", None)
    written = {key: _plain(value, f"{where}: argument {key!r}") for key, value in given.items()}
    if isinstance(module, Augmentation):
        written |= _settings(module, names, written)
    if isinstance(module, HOLDERS) and "ops" in names:
        held = module.augmentations if isinstance(module, Dispatcher) else module.children()
        ops = [_entry(child, f"{path}.ops[{i}]", known) for i, child in enumerate(held)]
        written = {"ops": ops if names["ops"].kind is Parameter.VAR_POSITIONAL else ops[0], **written}
    return {name: written}


def _argument_names(cls: type[Any]) -> dict[str, Parameter]:
    """The parameters of a constructor by the names in a dict, where what is in a container is ``ops``."""
    inside = Parameter.VAR_POSITIONAL if issubclass(cls, HOLDERS) else None
    return {"ops" if value.kind is inside else name: value for name, value in parameters(cls).items()}


def _settings(op: Augmentation, names: Mapping[str, Parameter], written: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that are other than the constructor was told."""
    changed = {}
    for name in SETTINGS:
        if name in names:
            now = _plain(getattr(op, name), name)
            if now != written.get(name, names[name].default):
                changed[name] = now
    return changed


def _plain(value: Any, where: str) -> Any:
    """An argument in lists, dicts, numbers and text."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, Tensor):
        return {"parameter" if isinstance(value, nn.Parameter) else "tensor": tensor_to_dict(value)}
    if isinstance(value, range):
        return {"range": [value.start, value.stop, value.step]}
    if isinstance(value, Mapping):
        return {_plain(key, where): _plain(part, where) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part, where) for part in value]
    if type(value).__module__ == "numpy":
        return _plain(value.tolist(), where)
    raise TypeError(f"{where}: expected numbers, text, tensors, or lists and dicts of them; got {value!r:.80}")


# ------------------------------------------------------------------------------------------------------------- reading


def _built(entry: Any, path: str, known: Mapping[str, type[Any]]) -> Any:
    """Build what {class name: arguments} describes; ``path`` leads to it."""
    if not isinstance(entry, Mapping) or len(entry) != 1 or not isinstance(next(iter(entry)), str):
        raise TypeError(f"{path}: expected a dict of one class name and its arguments, got {entry!r:.80}")
    ((name, given),) = entry.items()
    if name not in known:
        close = difflib.get_close_matches(name, known, 3) or sorted(known)
        raise ValueError(
            f"{path}: unknown class {name!r}; expected one of this package or of `classes`, such as {close}"
        )
    where, cls, given = f"{path}.{name}", known[name], {} if given is None else given
    if not isinstance(given, Mapping):
        raise TypeError(f"{where}: expected a dict of arguments, got {given!r:.80}")
    names = _argument_names(cls)
    _check_arguments(given, names, where)
    inside = issubclass(cls, HOLDERS)
    values = {
        key: _inside(value, f"{path}.ops", known) if inside and key == "ops" else _value(value, f"{where}: {key}")
        for key, value in given.items()
    }
    args = _positional(values, names, where)
    try:
        return cls(*args, **values)
    except (TypeError, ValueError) as error:
        raise (TypeError if isinstance(error, TypeError) else ValueError)(f"{where}: {error}") from error


def _check_arguments(given: Mapping[str, Any], names: Mapping[str, Parameter], where: str) -> None:
    """Require known arguments, and those without a default; what a user's ``*args`` hold can be any of them."""
    for key in given:
        if key not in names:
            raise ValueError(f"{where}: unknown argument {key!r}; expected some of {list(names)}")
    free = {key for key, parameter in names.items() if parameter.kind is Parameter.VAR_POSITIONAL}
    for key, parameter in names.items():
        needed = parameter.default is Parameter.empty and key not in free
        if needed and key not in given and ("ops" in free or not free & set(given)):
            raise ValueError(f"{where}: missing argument {key!r}; got {list(given)}")


def _inside(value: Any, path: str, known: Mapping[str, type[Any]]) -> Any:
    """Build what is in a container, a list or one alone."""
    if isinstance(value, list):
        return [_built(part, f"{path}[{i}]", known) for i, part in enumerate(value)]
    return _built(value, f"{path}[0]", known)


def _positional(values: dict[str, Any], names: Mapping[str, Parameter], where: str) -> list[Any]:
    """Take out of the arguments those that have to be positional: what is behind ``*args``, and all before."""
    several = next((key for key, parameter in names.items() if parameter.kind is Parameter.VAR_POSITIONAL), None)
    if several is None or several not in values:
        return []
    if not isinstance(values[several], list):
        raise TypeError(f"{where}: {several}: expected a list, got {values[several]!r:.80}")
    before = list(names)[: list(names).index(several)]
    return [*(values.pop(key) for key in before if key in values), *values.pop(several)]


def _value(value: Any, where: str) -> Any:
    """An argument as it was before it was plain."""
    if isinstance(value, list):
        return [_value(part, where) for part in value]
    if not isinstance(value, Mapping):
        return value
    form = next(iter(value)) if len(value) == 1 else None
    if form in ("tensor", "parameter"):
        tensor = tensor_from_dict(value[form], where)
        return tensor if form == "tensor" else nn.Parameter(tensor)
    if form == "range":
        return range(*value[form])
    return {key: _value(part, where) for key, part in value.items()}
