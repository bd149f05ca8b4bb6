"""Rows put together from rows: whole ones, and rectangles of them."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ...common.checks import check
from ...common.opaque import by_rows, define, differentiate
from ..warp.maths import pixel_grid

Tile = Sequence[int]


def _differentiate_once(op: Any, vjp: Any) -> None:
    """Give an op of an image and a tensor of indices its backward, which is an op as well."""

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        image, index, *ctx.config = inputs
        ctx.shape = image.shape
        ctx.save_for_backward(index)

    def autograd(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        return vjp(gradient, *ctx.saved_tensors, list(ctx.shape), *ctx.config), None, *(None for _ in ctx.config)

    def refuse(ctx: Any, *gradients: Tensor) -> Any:
        raise RuntimeError(f"{op._schema.name} can be differentiated once, not twice")

    differentiate(op, autograd, setup_context)
    differentiate(vjp, refuse)


_take = define(
    "take_rows",
    "(Tensor image, Tensor index) -> Tensor",
    lambda image, index: image.index_select(0, index),
    lambda image, index: image.new_empty((index.shape[0], *image.shape[1:])),
)
_take_backward = define(
    "take_rows_backward",
    "(Tensor gradient, Tensor index, SymInt[] shape) -> Tensor",
    lambda gradient, index, shape: gradient.new_zeros(shape).index_add_(0, index, gradient),
    lambda gradient, index, shape: gradient.new_empty(shape),
)
_differentiate_once(_take, _take_backward)


def take_rows(
    image: Tensor,  # (B, ...)
    index: Tensor,  # (M,) int64
) -> Tensor:  # (M, ...)
    """Take rows of a batch."""
    return _take(image, index) if by_rows(image) else image.index_select(0, index)


def _windows(tile: Tile, own: Sequence[int]) -> tuple[int, tuple[Any, ...], tuple[Any, ...]] | None:
    """The row that a tile is taken from, its window there and its place; None for an empty one."""
    source, left, top, right, bottom, x, y = tile
    if right <= left or bottom <= top:
        return None
    inside = left - x >= 0 and right - x <= own[1] and top - y >= 0 and bottom - y <= own[0]
    if not inside:
        raise ValueError(f"tiles: expected windows inside the image of size {tuple(own)}, got {tile}")
    here = (slice(None), slice(top, bottom), slice(left, right))
    return source, (slice(None), slice(top - y, bottom - y), slice(left - x, right - x)), here


def _collage_forward(image: Tensor, tiles: Tensor, h: int, w: int, base: bool) -> Tensor:
    output = image.new_empty((*image.shape[:2], h, w))
    for out, own, row in zip(output, image, tiles.tolist(), strict=True):
        found = [window for tile in row if (window := _windows(tile, own.shape[-2:])) is not None]
        if base:
            out.copy_(own)
        elif sum(max(right - left, 0) * max(bottom - top, 0) for _, left, top, right, bottom, _, _ in row) < h * w:
            out.zero_()
        for source, there, here in found:
            out[here] = image[source][there]
    return output


def _collage_backward(gradient: Tensor, tiles: Tensor, shape: Sequence[int], h: int, w: int, base: bool) -> Tensor:
    total = gradient.new_zeros(shape)
    for i, row in enumerate(tiles.tolist()):
        rest = gradient[i].clone()
        for tile in reversed(row):
            window = _windows(tile, shape[-2:])
            if window is not None:
                source, there, here = window
                total[source][there] += rest[here]
                rest[here] = 0
        if base:
            total[i] += rest
    return total


_collage = define(
    "collage",
    "(Tensor image, Tensor tiles, SymInt h, SymInt w, bool base) -> Tensor",
    _collage_forward,
    lambda image, tiles, h, w, base: image.new_empty((*image.shape[:2], h, w)),
)
_vjp = define(
    "collage_backward",
    "(Tensor gradient, Tensor tiles, SymInt[] shape, SymInt h, SymInt w, bool base) -> Tensor",
    _collage_backward,
    lambda gradient, tiles, shape, h, w, base: gradient.new_empty(shape),
)
_differentiate_once(_collage, _vjp)


def collage(
    image: Tensor,  # (B, C, H, W), any dtype
    tiles: Tensor,  # (B, T, 7) int64: row, place x1, y1, x2, y2 in the output, and its shift from there in x and y
    h: int,
    w: int,
    base: bool,
) -> Tensor:  # (B, C, h, w)
    """Put rectangles of rows one over the other, on a row itself, or on zeros; those without an area are left out."""
    if by_rows(image):
        return _collage(image, tiles, h, w, base)
    return collage_of_pixels(image, tiles, h, w, base)


def collage_of_pixels(image: Tensor, tiles: Tensor, h: int, w: int, base: bool) -> Tensor:
    """Do what ``collage`` does by an index for every pixel."""
    x, y = (axis.expand(1, h, w) for axis in pixel_grid(h, w, tiles))
    row = torch.arange(len(image), device=image.device).view(-1, 1, 1).expand(-1, h, w)
    there_x, there_y, found = x.expand_as(row), y.expand_as(row), torch.full_like(row, base, dtype=torch.bool)
    for source, left, top, right, bottom, by_x, by_y in (tile[..., None, None].unbind(1) for tile in tiles.unbind(1)):
        inside = (x >= left) & (x < right) & (y >= top) & (y < bottom)
        row = torch.where(inside, source, row)
        there_x, there_y = torch.where(inside, x - by_x, there_x), torch.where(inside, y - by_y, there_y)
        found = found | inside
    there_x, there_y = there_x.clamp(0, image.shape[-1] - 1), there_y.clamp(0, image.shape[-2] - 1)
    output = image.permute(0, 2, 3, 1)[row, there_y, there_x].permute(0, 3, 1, 2)
    return torch.where(found.unsqueeze(1), output, torch.zeros_like(output))


def _pick_forward(mask: Tensor, u: Tensor, excluded: Sequence[float]) -> tuple[Tensor, Tensor]:
    labels, found = torch.zeros_like(mask[:, 0]), torch.zeros(len(mask), dtype=torch.bool)
    for i, row in enumerate(mask):
        known = row.unique()
        for label in excluded:
            known = known[known != label]
        if len(known):
            labels[i], found[i] = known[min(int(u[i] * len(known)), len(known) - 1)], True
    return labels, found


_pick = define(
    "pick_labels",
    "(Tensor mask, Tensor u, float[] excluded) -> (Tensor, Tensor)",
    _pick_forward,
    lambda mask, u, excluded: (mask.new_empty(mask.shape[0]), torch.empty_like(u, dtype=torch.bool)),
)


def pick_labels(
    mask: Tensor,  # (B, P), any real dtype
    u: Tensor,  # (B,), in [0, 1)
    excluded: Sequence[float],
) -> tuple[Tensor, Tensor]:  # (B,) labels, and (B,) bool, whether there was any
    """Choose one of the different values of a row, each with the same share whatever its area."""
    mask = mask.detach()
    return _pick(mask, u, list(excluded)) if by_rows(mask) else pick_by_sorting(mask, u, excluded)


def pick_by_sorting(mask: Tensor, u: Tensor, excluded: Sequence[float]) -> tuple[Tensor, Tensor]:
    """Do what ``pick_labels`` does for the whole batch at once."""
    known = (mask.byte() if mask.dtype == torch.bool else mask).sort(1).values
    first = torch.cat([torch.ones_like(known[:, :1], dtype=torch.bool), known[:, 1:] != known[:, :-1]], 1)
    for label in excluded:
        first = first & (known != label)
    count = first.sum(1)
    wanted = torch.minimum((u * count).long(), (count - 1).clamp(min=0)) + 1
    place = ((first.cumsum(1) == wanted.unsqueeze(1)) & first).int().argmax(1, keepdim=True)
    labels = torch.where(count > 0, known.gather(1, place).squeeze(1), 0)
    return labels.to(mask.dtype), count > 0


def _whole_forward(labels: Tensor, name: str) -> Tensor:
    broken = labels[labels != labels.round()]
    if len(broken):
        raise ValueError(
            f"{name}: class: expected whole numbers (B,), or shares (B, num_classes); got {broken[0].item():g}"
        )
    return labels.long()


_whole = define(
    "whole_labels",
    "(Tensor labels, str name) -> Tensor",
    _whole_forward,
    lambda labels, name: labels.new_empty(labels.shape, dtype=torch.int64),
)


def whole_labels(
    labels: Tensor,  # (B,), floating
    name: str,
) -> Tensor:  # (B,) int64
    """Give labels as whole numbers, and refuse others; a device is not waited for, and says so later."""
    if by_rows(labels):
        return _whole(labels, name)
    check(labels == labels.round(), None, f"{name}: class: expected whole numbers (B,), or shares (B, num_classes)")
    return labels.long()
