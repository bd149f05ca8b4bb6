"""Operations of policies, each row its own."""

from typing import NamedTuple

import torch
from torch import Tensor

from ..functional import policy, resample
from ..opaque import load, rowwise, store
from .rows import Out, Rows, keep_rows

WIDTH = 11  # numbers a step: its operation, its magnitude, and the homography from output to input pixels

Steps = list[tuple[str, float]]


def _steps(numbers: Rows) -> Steps:
    return [(policy.OPERATIONS[round(step[0])], step[1]) for step in numbers]


def _apply(image: Tensor, params: Tensor, steps: Steps, mode: int, fill: list[float]) -> Tensor:
    for step, (name, magnitude) in zip(params, steps, strict=True):
        image = policy.apply_row(image, name, magnitude, step[2:].view(3, 3), mode, fill)
    return image


def _read(image: Tensor, params: Tensor, mode: int, fill: list[float]) -> list[Steps]:
    return [_steps(row) for row in params.tolist()]


def _row(image: Tensor, params: Tensor, steps: Steps, mode: int, fill: list[float], out: Out = None) -> Tensor:
    work = image if image.dtype == torch.uint8 else load(image)
    return _apply(work, params.detach(), steps, mode, fill)


def _still(steps: Steps) -> bool:
    return all(name == "identity" for name, _ in steps)


_policy = rowwise(
    "policy",
    "int mode, float[] fill",
    _row,
    lambda image, params, rows, *config: [_still(steps) for steps in rows],
    raw=True,
    read=_read,
)


def apply_policy(
    image: Tensor,  # (B, C, H, W)
    operation: Tensor,  # (B, n), numbers in ``policy.OPERATIONS``
    magnitude: Tensor,  # (B, n)
    back: Tensor,  # (B, n, 3, 3), output pixel -> input pixel of each step
    mode: str,
    fill: list[float],
) -> Tensor:  # (B, C, H, W)
    """Apply n operations one after the other, and to each row its own; bytes are rounded after each."""
    if image.is_cpu:
        return _policy(image, _pack(operation, magnitude, back), resample.MODES[mode], fill)
    work = image if image.dtype == torch.uint8 else load(image)
    for step in range(operation.shape[1]):
        work = policy.apply_batch(
            work, operation[:, step], magnitude[:, step], back[:, step], resample.MODES[mode], fill
        )
    return keep_rows((operation == 0).all(1), image, work)


def _pack(operation: Tensor, magnitude: Tensor, back: Tensor) -> Tensor:
    columns = [operation.unsqueeze(-1).to(back.dtype), magnitude.unsqueeze(-1).to(back.dtype), back.flatten(-2)]
    return torch.cat(columns, -1)


# ------------------------------------------------------------------------------------------------------ mixed chains


class Mixture(NamedTuple):
    """The chains of a row, and the share of the image and of each chain."""

    chains: list[Steps]
    shares: list[float]


def _read_mixture(image: Tensor, params: Tensor, chains: int, mode: int, fill: list[float]) -> list[Mixture]:
    found = []
    for row in params.tolist():
        steps = [row[at : at + WIDTH] for at in range(chains + 1, len(row), WIDTH)]
        depth = len(steps) // chains
        found.append(Mixture([_steps(steps[i * depth : (i + 1) * depth]) for i in range(chains)], row[: chains + 1]))
    return found


def _mixture_row(
    image: Tensor, params: Tensor, mixture: Mixture, chains: int, mode: int, fill: list[float], out: Out = None
) -> Tensor:
    work = image if image.dtype == torch.uint8 else load(image)
    packed = params.detach()[chains + 1 :].view(chains, -1, WIDTH)
    total = load(work) * mixture.shares[0]
    for share, chain, steps in zip(mixture.shares[1:], packed, mixture.chains, strict=True):
        total = torch.add(total, load(_apply(work, chain, steps, mode, fill)), alpha=share)
    return store(total, image.dtype)


_mixture = rowwise(
    "policy_mixture",
    "int chains, int mode, float[] fill",
    _mixture_row,
    lambda image, params, rows, *config: [all(map(_still, row.chains)) for row in rows],
    raw=True,
    read=_read_mixture,
)


def mix_policies(
    image: Tensor,  # (B, C, H, W)
    share: Tensor,  # (B, 1 + W), of the image and of each chain
    operation: Tensor,  # (B, W, n)
    magnitude: Tensor,  # (B, W, n)
    back: Tensor,  # (B, W, n, 3, 3)
    mode: str,
    fill: list[float],
) -> Tensor:  # (B, C, H, W)
    """Add up the image and W chains of operations on it."""
    chains = operation.shape[1]
    if image.is_cpu:
        packed = torch.cat([share.to(back.dtype), _pack(operation, magnitude, back).flatten(1)], 1)
        return _mixture(image, packed, chains, resample.MODES[mode], fill)
    columns = share.to(load(image).dtype).view(*share.shape, 1, 1, 1).unbind(1)
    total = load(image) * columns[0]
    for i in range(chains):
        chain = apply_policy(image, operation[:, i], magnitude[:, i], back[:, i], mode, fill)
        total = total + load(chain) * columns[1 + i]
    return keep_rows((operation == 0).flatten(1).all(1), image, total)
