"""Names of types."""

from typing import Any

from torch import Tensor

Params = dict[str, Tensor]
Flags = dict[str, Any]
