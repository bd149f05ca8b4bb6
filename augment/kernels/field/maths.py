"""Deformations in closed form. A displacement leads from an output pixel to where its value is taken in the input.

Formulas take the numbers of each row, the first of which is 0 where nothing moves, and positions in pixels: a grid,
(1, 1, w) and (1, h, 1), or points, (B, N, 1).
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from ..warp.maths import pixel_grid

PLATE = 9  # numbers of a thin plate before those of its points
STEP = 0.125  # pixels over which a slope is measured


def fisheye(
    params: Tensor,  # (B, 8): strength, centre x and y, gamma, middle x and y in pixels, pixels to units along x and y
    x: Tensor,
    y: Tensor,
) -> Tensor:  # (B, 2, h, w)
    """Push pixels from the middle of the image by the distance from a centre, in units, to the power of gamma."""
    strength, centre_x, centre_y, gamma, middle_x, middle_y, scale_x, scale_y = params[..., None, None].unbind(1)
    squared = ((x - centre_x) * scale_x) ** 2 + ((y - centre_y) * scale_y) ** 2
    away = squared > 0
    push = strength * torch.where(away, torch.where(away, squared, 1.0) ** (gamma / 2), 0.0)
    return torch.stack([(x - middle_x) * push, (y - middle_y) * push], 1)


def thin_plate(
    params: Tensor,  # (B, 9 + 4 n), see ``plate_params``
    x: Tensor,
    y: Tensor,
) -> Tensor:  # (B, 2, h, w)
    """Bend a thin plate: an affine map, and r^2 log r^2 around each of n points, each times its weight."""
    _, scale_x, scale_y, *affine = params[:, :PLATE, None, None].unbind(1)
    moved = [a + b * x + c * y for a, b, c in (affine[::2], affine[1::2])]
    points = params[:, PLATE:].unflatten(1, (-1, 4))[..., None, None]
    for point in points.unbind(1):
        centre_x, centre_y, *weights = point.unbind(1)
        bend = radial(((x - centre_x) * scale_x) ** 2 + ((y - centre_y) * scale_y) ** 2)
        moved = [m + weight * bend for m, weight in zip(moved, weights, strict=True)]
    return torch.stack(moved, 1)


def plate_bends(
    params: Tensor,  # (9 + 4 n,)
    x: Tensor,
    y: Tensor,
) -> Tensor:  # (n, h, w)
    """What all thin plates with the same points have in common."""
    _, scale_x, scale_y = params[:3].unbind()
    points = params[PLATE:].view(-1, 4)[:, :2, None, None].unbind()
    return torch.cat([radial(((x - cx) * scale_x) ** 2 + ((y - cy) * scale_y) ** 2) for cx, cy in points])


def plate_of_bends(
    params: Tensor,  # (9 + 4 n,)
    bends: Tensor,  # (n, h, w)
    x: Tensor,
    y: Tensor,
) -> Tensor:  # (1, 2, h, w)
    """Bend a thin plate whose ``plate_bends`` are known."""
    offset, along_x, along_y = params[3:PLATE].view(3, 2, 1, 1).unbind()
    weights = params[PLATE:].view(-1, 4)[:, 2:]
    bent = (weights.T @ bends.flatten(1)).view(1, 2, *bends.shape[1:])
    return bent.add_(offset + along_x * x + along_y * y)


FORMULAS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {"fisheye": fisheye, "thin_plate": thin_plate}


def radial(squared: Tensor) -> Tensor:
    """Give r^2 log r^2, which is 0 at 0, of squared distances."""
    return squared * (squared + torch.finfo(squared.dtype).tiny).log()


def plate_weights(
    source: Tensor,  # (B, n, 2)
    target: Tensor,  # (B, n, 2)
) -> Tensor:  # (B, n + 3, 2), the weights of the points, and an affine map of (1, x, y)
    """Solve for the displacement that leads from the targets back to the sources.

    The kernels stand on the sources and the weights are balanced on the targets, as kornia has it. Where there is no
    solution, as for points that coincide or lie on a line, the weights are NaN.
    """
    kernel = radial((target.unsqueeze(2) - source.unsqueeze(1)).square().sum(3))
    flat = torch.cat([torch.ones_like(target[..., :1]), target], 2)
    system = torch.cat([torch.cat([kernel, flat], 2), F.pad(flat.transpose(1, 2), (0, 3))], 1)
    weights, failed = torch.linalg.solve_ex(system, F.pad(source - target, (0, 0, 0, 3)))
    return torch.where((failed == 0).view(-1, 1, 1), weights, torch.nan)


def plate_params(
    source: Tensor,  # (B, n, 2), in units
    weights: Tensor,  # (B, n + 3, 2), in units
    scale: tuple[float, float],  # pixels to units along x and y
    origin: tuple[float, float],  # of the pixels, in units
    reach: tuple[float, float],  # units to pixels along x and y
) -> Tensor:  # (B, 9 + 4 n)
    """Bring a thin plate to pixels.

    The numbers are 1, or 0 where nothing moves; scale; what x and y gain from 1, from x and from y; and of each
    point its place and its weights.
    """
    n = source.shape[1]
    weights = torch.stack([weights[..., i] * reach[i] for i in (0, 1)], -1)
    offset, along_x, along_y = weights[:, n:].unbind(1)
    offset = offset + along_x * origin[0] + along_y * origin[1]
    centre = torch.stack([(source[..., i] - origin[i]) * (1 / scale[i]) for i in (0, 1)], -1)
    scales = torch.stack([torch.full_like(source[:, 0, 0], scale[i]) for i in (0, 1)], -1)
    moves = (weights != 0).flatten(1).any(1, keepdim=True).to(source.dtype)
    points = torch.cat([centre, weights[:, :n]], 2).flatten(1)
    return torch.cat([moves, scales, offset, along_x * scale[0], along_y * scale[1], points], 1)


def between_lines(
    here: Tensor,  # (..., n), rising
    there: Tensor,  # (..., n), rising
    at: Tensor,  # (..., N)
) -> Tensor:  # (..., N)
    """Map positions linearly between lines, and beyond the outer ones as next to them."""
    slopes = (there.diff(dim=-1) / here.diff(dim=-1)).unsqueeze(-1).unbind(-2)
    lines = here.unsqueeze(-1).unbind(-2)
    mapped = there[..., :1] + slopes[0] * (at - lines[0])
    for line, slope, before in zip(lines[1:-1], slopes[1:], slopes[:-1], strict=True):
        mapped = mapped + (slope - before) * (at - line).relu()
    return mapped


def between_all(lines: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:  # (B, 2, 2, n)
    """Where the columns (B, width) and the rows (B, height) of an image are taken."""
    x, y = (at.flatten() for at in pixel_grid(height, width, lines))
    return between_lines(lines[:, 0, 0], lines[:, 0, 1], x), between_lines(lines[:, 1, 0], lines[:, 1, 1], y)


def lines_offsets(lines: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
    """How far columns (B, width) and rows (B, height) of an image are displaced."""
    x, y = (at.flatten() for at in pixel_grid(height, width, lines))
    at_x, at_y = between_all(lines, height, width)
    return at_x - x, at_y - y


def lines_field(lines: Tensor, height: int, width: int) -> Tensor:
    """The displacement (B, 2, height, width) by moved lines."""
    columns, rows = lines_offsets(lines, height, width)
    size = (-1, height, width)
    return torch.stack([columns.unsqueeze(1).expand(size), rows.unsqueeze(2).expand(size)], 1)


def displacement_at(
    name: str,
    params: Tensor,  # (B, K)
    points: Tensor,  # (B, N, 2)
) -> Tensor:  # (B, N, 2)
    """Evaluate a formula at points."""
    x, y = points.to(params.dtype).unsqueeze(2).unbind(3)
    return FORMULAS[name](params, x, y).squeeze(3).transpose(1, 2).to(points.dtype)


def follow(
    displacement: Callable[[Tensor], Tensor],  # (B, N, 2) to (B, N, 2)
    points: Tensor,  # (B, N, 2), in the input
    iterations: int,
    stops: bool = False,
) -> Tensor:  # (B, N, 2), in the output
    """Find where a displacement leads to points from, by Newton's method with steps that shrink until they help.

    It may stop when all are found, where to ask so is worth its wait.
    """
    offsets = points.new_tensor([[0, 0], [STEP, 0], [0, STEP]]).view(3, 1, 2)

    def newton(at: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What is missing at positions, its size, and the step that would make up for it."""
        three = at.unsqueeze(1) + offsets  # (B, 3, N, 2)
        reached = (three + displacement(three.flatten(1, 2)).unflatten(1, (3, -1))).unbind(1)
        missing = points - reached[0]
        a, c = ((reached[1] - reached[0]) / STEP).unbind(-1)
        b, d = ((reached[2] - reached[0]) / STEP).unbind(-1)
        determinant = a * d - b * c
        determinant = torch.where(determinant.abs() < 1e-3, 1e-3, determinant)
        x, y = missing.unbind(-1)
        step = torch.stack([d * x - b * y, a * y - c * x], -1) / determinant.unsqueeze(-1)
        return missing.square().sum(-1, keepdim=True), step, at

    error, step, found = newton(points)
    # a few steps of the coordinates' own resolution; a point that is there stays, whatever the others need
    enough = (points.abs().sum(-1, keepdim=True) * (4 * torch.finfo(points.dtype).eps) + 1e-6).square()
    share = torch.ones_like(error)
    for _ in range(iterations):
        error_next, step_next, trial = newton(found + share * step)
        better = (error_next < error) & (error > enough)
        found, step = torch.where(better, trial, found), torch.where(better, step_next, step)
        error = torch.where(better, error_next, error)
        share = torch.where(better, 1.0, share / 2)
        if stops and not (error > enough).any():
            break
    return found
