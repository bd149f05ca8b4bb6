"""What is expected of the geometric ops, as in ``references.py`` and ``test_parity.py``."""

from collections.abc import Callable, Mapping
from typing import Any

from references import Reference

REFERENCES: Mapping[str, Reference] = {}
MORE: Mapping[str, list[dict[str, Any]]] = {}
INTENDED: Mapping[str, tuple[Callable[[Any], None], str]] = {}
