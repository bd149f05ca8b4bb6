"""Operations of policies, each row its own."""

from typing import NamedTuple

import torch
from torch import Tensor

from ...common.dtypes import load
from ...common.opaque import by_rows
from ..rowop import Out, RowOp, keep_rows
from ..warp import maths as resample
from . import maths

WIDTH = 11  # numbers a step: its operation, its magnitude, and the homography from output to input pixels

Steps = list[maths.Step]


def _steps(image: Tensor, packed: Tensor) -> list[Steps]:
    """Read (B, n, 11) numbers."""
    back = packed[..., 2:].unflatten(-1, (3, 3))
    along_x, along_y = resample.along_axes(back, image.shape[-2], image.shape[-1])
    steps = []
    for i, row in enumerate(packed[..., :2].tolist()):
        steps.append([])
        for k, (number, magnitude) in enumerate(row):
            name = maths.OPERATIONS[round(number)]
            places = [t[i, k] for t in (back, along_x, along_y)] if name in maths.GEOMETRIC else ()
            steps[-1].append(maths.Step(name, magnitude, *places))
    return steps


def _apply(image: Tensor, steps: Steps, mode: int, fill: list[float], out: Out = None) -> Tensor:
    for i, step in enumerate(steps):
        image = maths.apply_row(image, step, mode, fill, out if i == len(steps) - 1 else None)
    return image


def _read(image: Tensor, params: Tensor, mode: int, fill: list[float]) -> list[Steps]:
    return _steps(image, params.detach())


def _row(image: Tensor, params: Tensor, steps: Steps, mode: int, fill: list[float], out: Out = None) -> Tensor:
    if image.dtype == torch.uint8:
        return _apply(image, steps, mode, fill, out)
    return _apply(load(image), steps, mode, fill)


def _still(steps: Steps) -> bool:
    return all(step.name == "identity" for step in steps)


_policy = RowOp(
    "policy",
    "int mode, float[] fill",
    _row,
    lambda image, params, rows, *config: [_still(steps) for steps in rows],
    raw=True,
    read=_read,
).op


def apply_policy(
    image: Tensor,  # (B, C, H, W)
    operation: Tensor,  # (B, n), numbers in ``maths.OPERATIONS``
    magnitude: Tensor,  # (B, n)
    back: Tensor,  # (B, n, 3, 3), output pixel -> input pixel of each step
    mode: str,
    fill: list[float],
) -> Tensor:  # (B, C, H, W)
    """Apply n operations one after the other, and to each row its own; bytes are rounded after each."""
    if by_rows(image):
        return _policy(image, _pack(operation, magnitude, back), resample.MODES[mode], fill)
    work = image if image.dtype == torch.uint8 else load(image)
    for step in range(operation.shape[1]):
        work = maths.apply_batch(
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
    params = params.detach()
    count = (params.shape[1] - chains - 1) // WIDTH
    steps, depth = _steps(image, params[:, chains + 1 :].unflatten(1, (count, WIDTH))), count // chains
    return [
        Mixture([row[i * depth : (i + 1) * depth] for i in range(chains)], shares)
        for row, shares in zip(steps, params[:, : chains + 1].tolist(), strict=True)
    ]


def _mixture_row(
    image: Tensor, params: Tensor, mixture: Mixture, chains: int, mode: int, fill: list[float], out: Out = None
) -> Tensor:
    work = image if image.dtype == torch.uint8 else load(image)
    total = load(work) * mixture.shares[0]
    for share, steps in zip(mixture.shares[1:], mixture.chains, strict=True):
        total = torch.add(total, load(_apply(work, steps, mode, fill)), alpha=share)
    return total


_mixture = RowOp(
    "policy_mixture",
    "int chains, int mode, float[] fill",
    _mixture_row,
    lambda image, params, rows, *config: [all(map(_still, row.chains)) for row in rows],
    raw=True,
    read=_read_mixture,
).op


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
    if by_rows(image):
        packed = torch.cat([share.to(back.dtype), _pack(operation, magnitude, back).flatten(1)], 1)
        return _mixture(image, packed, chains, resample.MODES[mode], fill)
    columns = share.to(load(image).dtype).view(*share.shape, 1, 1, 1).unbind(1)
    total = load(image) * columns[0]
    for i in range(chains):
        chain = apply_policy(image, operation[:, i], magnitude[:, i], back[:, i], mode, fill)
        total = total + load(chain) * columns[1 + i]
    return keep_rows((operation == 0).flatten(1).all(1), image, total)
