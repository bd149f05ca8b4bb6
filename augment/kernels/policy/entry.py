"""Operations of policies, each row its own."""

from typing import NamedTuple

import torch
from torch import Tensor

from ...common.dtypes import load
from ..kernel import Kernel, Out
from ..warp import maths as resample
from . import maths

Steps = list[maths.Step]


def _read(
    image: Tensor,
    operation: Tensor,  # (B, n), numbers in ``maths.OPERATIONS``
    magnitude: Tensor,  # (B, n)
    back: Tensor,  # (B, n, 3, 3), output pixel -> input pixel of each step
    *config: object,
) -> list[Steps]:
    back = back.detach()
    along_x, along_y = resample.along_axes(back, image.shape[-2], image.shape[-1])
    steps = []
    for i, row in enumerate(zip(operation.tolist(), magnitude.tolist(), strict=True)):
        steps.append([])
        for k, (number, amount) in enumerate(zip(*row, strict=True)):
            name = maths.OPERATIONS[round(number)]
            places = [t[i, k] for t in (back, along_x, along_y)] if name in maths.GEOMETRIC else ()
            steps[-1].append(maths.Step(name, amount, *places))
    return steps


def _row(image: Tensor, steps: Steps, mode: str, fill: list[float], out: Out) -> Tensor:
    if image.dtype != torch.uint8:
        image, out = load(image), None
    for i, step in enumerate(steps):
        image = maths.apply_row(image, step, resample.MODES[mode], fill, out if i == len(steps) - 1 else None)
    return image


def _policy(image: Tensor, operation: Tensor, magnitude: Tensor, back: Tensor, mode: str, fill: list[float]) -> Tensor:
    work = image if image.dtype == torch.uint8 else load(image)
    for step in zip(operation.unbind(1), magnitude.unbind(1), back.unbind(1), strict=True):
        work = maths.apply_batch(work, *step, resample.MODES[mode], fill)
    return work


def _moves(image: Tensor, operation: Tensor, *others: object) -> Tensor:
    return (operation != maths.NUMBER["identity"]).flatten(1).any(1)


apply_policy = Kernel(
    "policy(Tensor image, Tensor operation, Tensor magnitude, Tensor back, str mode, float[] fill)",
    maths=_policy,
    row=_row,
    read=_read,
    opens=_moves,
    values="own",
    row_learns=True,
)
"""Apply n operations one after the other, and to each row its own; bytes are rounded after each. They are numbers (B,
n) in ``maths.OPERATIONS``, with magnitudes (B, n) and the homographies (B, n, 3, 3) from output to input pixels."""


# ------------------------------------------------------------------------------------------------------ mixed chains


class Mixture(NamedTuple):
    """The share of the image and of each chain, and the chains of a row."""

    shares: list[float]
    chains: list[Steps]


def _read_mixture(
    image: Tensor, share: Tensor, operation: Tensor, magnitude: Tensor, back: Tensor, *config: object
) -> list[Mixture]:
    chains = [_read(image, *chain) for chain in zip(*(t.unbind(1) for t in (operation, magnitude, back)), strict=True)]
    return [Mixture(shares, list(own)) for shares, *own in zip(share.tolist(), *chains, strict=True)]


def _mixture_row(image: Tensor, mixture: Mixture, mode: str, fill: list[float], out: Out) -> Tensor:
    total = load(image) * mixture.shares[0]
    for share, steps in zip(mixture.shares[1:], mixture.chains, strict=True):
        total = torch.add(total, load(_row(image, steps, mode, fill, None)), alpha=share)
    return total


def _mixture(
    image: Tensor, share: Tensor, operation: Tensor, magnitude: Tensor, back: Tensor, mode: str, fill: list[float]
) -> Tensor:
    columns = share.to(load(image).dtype).view(*share.shape, 1, 1, 1).unbind(1)
    total = load(image) * columns[0]
    for i, column in enumerate(columns[1:]):
        chain = _policy(image, operation[:, i], magnitude[:, i], back[:, i], mode, fill)
        total = total + load(chain) * column
    return total


mix_policies = Kernel(
    "policies(Tensor image, Tensor share, Tensor operation, Tensor magnitude, Tensor back, str mode, float[] fill)",
    maths=_mixture,
    row=_mixture_row,
    read=_read_mixture,
    opens=lambda image, share, *args: _moves(image, *args),
    values="own",
    row_learns=True,
)
"""Add up the image and W chains of n operations on it, by shares (B, 1 + W): operations and magnitudes (B, W, n), and
homographies (B, W, n, 3, 3)."""
