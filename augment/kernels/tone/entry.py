"""Curves of brightness."""

from torch import Tensor

from ..kernel import Kernel, Out
from . import maths


def _gamma(image: Tensor, exponent: Tensor, gain: Tensor) -> Tensor:
    return maths.gamma(image, exponent.view(-1, 1, 1, 1), gain.view(-1, 1, 1, 1))


def _gamma_row(image: Tensor, exponent: Tensor, gain: Tensor, out: Out) -> Tensor:
    return maths.gamma_row(image, exponent.item(), gain.item(), out)


gamma = Kernel(
    "gamma(Tensor image, Tensor exponent, Tensor gain)",
    maths=_gamma,
    row=_gamma_row,
    opens=lambda image, exponent, gain: (exponent != 1) | (gain != 1),
    values="unit",
)
"""Raise every value to a power (B,), and multiply it by a gain (B,)."""
