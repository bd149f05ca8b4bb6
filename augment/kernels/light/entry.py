"""Plasma fractals of the open rows."""

import torch
from torch import Tensor

from ...common.opaque import by_rows, define, differentiate, recording
from .maths import diamond_square

TOGETHER = 2**19  # pixels that are grown at a time: enough to make up for the many small levels, few enough for a cache


def _parts(noise: Tensor, gate: Tensor, h: int, w: int) -> tuple[Tensor, ...]:
    """The indices of the open rows, in parts."""
    return gate.nonzero().flatten().split(max(TOGETHER // (noise.shape[1] * h * w), 1))


def _grow(noise: Tensor, roughness: Tensor, gate: Tensor, h: int, w: int) -> Tensor:
    output = noise.new_zeros((*noise.shape[:2], h, w))
    for rows in _parts(noise, gate, h, w):
        output[rows] = diamond_square(noise[rows], roughness[rows].view(-1, 1, 1, 1), h, w)
    return output


def _grow_backward(gradient: Tensor, noise: Tensor, roughness: Tensor, gate: Tensor) -> Tensor:
    h, w = gradient.shape[-2:]
    grad_roughness = torch.zeros_like(roughness)
    for rows in _parts(noise, gate, h, w):
        leaf = roughness[rows].detach().requires_grad_()
        with torch.enable_grad(), recording():
            output = diamond_square(noise[rows], leaf.view(-1, 1, 1, 1), h, w)
            if output.requires_grad:
                output.backward(gradient[rows])
        if leaf.grad is not None:
            grad_roughness[rows] = leaf.grad
    return grad_roughness


_plasma = define(
    "plasma",
    "(Tensor noise, Tensor roughness, Tensor gate, SymInt h, SymInt w) -> Tensor",
    _grow,
    lambda noise, roughness, gate, h, w: noise.new_empty((*noise.shape[:2], h, w)),
)
_plasma_backward = define(
    "plasma_backward",
    "(Tensor gradient, Tensor noise, Tensor roughness, Tensor gate) -> Tensor",
    _grow_backward,
    lambda gradient, noise, roughness, gate: torch.empty_like(roughness),
)


def _save(ctx: object, inputs: tuple[Tensor, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[:3])  # type: ignore[attr-defined]


differentiate(
    _plasma,
    lambda ctx, gradient: (None, _plasma_backward(gradient, *ctx.saved_tensors), None, None, None),
    _save,
)


def plasma(
    noise: Tensor,  # (B, C, N), in [0, 1]: see ``functional.plasma.noise_size``
    roughness: Tensor,  # (B,)
    gate: Tensor,  # (B,) bool, the rows that are wanted; others may be zeros
    h: int,
    w: int,
) -> Tensor:  # (B, C, h, w)
    """Grow the fractals of a batch; gradients reach the roughness."""
    if by_rows(noise):
        return _plasma(noise, roughness, gate, h, w)
    return diamond_square(noise, roughness.view(-1, 1, 1, 1), h, w)
