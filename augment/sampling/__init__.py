"""Random draws and the parameters that come of them."""

from ..common.checks import checks

__all__ = ["checks"]
