"""Kernels in C for bytes on the CPU: ``augment.kernels`` says what they take."""

from typing import Any

VERSION: int

def __getattr__(name: str) -> Any: ...
