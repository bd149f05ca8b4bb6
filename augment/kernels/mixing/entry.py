"""Rows put together from rows: whole ones, and rectangles of them."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ...common.checks import check
from ...common.opaque import define, differentiate
from ..kernel import Backend, Kernel
from ..warp.maths import pixel_grid

Tile = Sequence[int]

take_rows = define(
    "take_rows",
    "(Tensor image, Tensor index) -> Tensor",
    lambda image, index: image.index_select(0, index),
    lambda image, index: image.new_empty((index.shape[0], *image.shape[1:])),
)
"""Take rows of a batch by an index (M,) int64."""
_put_rows = define(
    "take_rows_backward",
    "(Tensor gradient, Tensor index, SymInt[] shape) -> Tensor",
    lambda gradient, index, shape: gradient.new_zeros(shape).index_add_(0, index, gradient),
    lambda gradient, index, shape: gradient.new_empty(shape),
)


def _remember(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
    ctx.shape = inputs[0].shape
    ctx.save_for_backward(inputs[1])


def _refuse(ctx: Any, *gradients: Tensor) -> Any:
    raise RuntimeError("augment::take_rows can be differentiated once, not twice")


differentiate(take_rows, lambda ctx, g: (_put_rows(g, *ctx.saved_tensors, list(ctx.shape)), None), _remember)
differentiate(_put_rows, _refuse)


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


def _collage(image: Tensor, output: Tensor, _: None, tiles: Tensor, h: int, w: int, base: bool) -> None:
    for out, own, row in zip(output, image, tiles.tolist(), strict=True):
        found = [window for tile in row if (window := _windows(tile, own.shape[-2:])) is not None]
        if base:
            out.copy_(own)
        elif sum(max(right - left, 0) * max(bottom - top, 0) for _, left, top, right, bottom, _, _ in row) < h * w:
            out.zero_()
        for source, there, here in found:
            out[here] = image[source][there]


def _pull_collage(gradient: Tensor, image: Tensor, tiles: Tensor, h: int, w: int, base: bool) -> Tensor:
    total = gradient.new_zeros(image.shape)
    for i, row in enumerate(tiles.tolist()):
        rest = gradient[i].clone()
        for tile in reversed(row):
            window = _windows(tile, image.shape[-2:])
            if window is not None:
                source, there, here = window
                total[source][there] += rest[here]
                rest[here] = 0
        if base:
            total[i] += rest
    return total


def collage_of_pixels(image: Tensor, tiles: Tensor, h: int, w: int, base: bool) -> Tensor:
    """A collage by an index for every pixel."""
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


collage = Kernel(
    "collage(Tensor image, Tensor tiles, SymInt h, SymInt w, bool base)",
    maths=collage_of_pixels,
    pulls=_pull_collage,
    backends=[Backend(_collage)],
    values="own",
    size=lambda image, tiles, h, w, base: (h, w),
)
"""Put rectangles of rows one over the other, on a row itself (``base``), or on zeros, (B, C, h, w). The tiles (B, T, 7)
int64 are a row, the place x1, y1, x2, y2 in the output, and its shift from there in x and y; those without an area are
left out."""


def pick_by_sorting(mask: Tensor, u: Tensor, excluded: Sequence[float]) -> tuple[Tensor, Tensor]:
    """Labels (B,), and whether there was any (B,) bool, for the whole batch at once."""
    known = (mask.byte() if mask.dtype == torch.bool else mask).sort(1).values
    first = torch.cat([torch.ones_like(known[:, :1], dtype=torch.bool), known[:, 1:] != known[:, :-1]], 1)
    for label in excluded:
        first = first & (known != label)
    count = first.sum(1)
    wanted = torch.minimum((u * count).long(), (count - 1).clamp(min=0)) + 1
    place = ((first.cumsum(1) == wanted.unsqueeze(1)) & first).int().argmax(1, keepdim=True)
    labels = torch.where(count > 0, known.gather(1, place).squeeze(1), 0)
    return labels.to(mask.dtype), count > 0


def _pick(mask: Tensor, u: Tensor, excluded: Sequence[float]) -> Tensor:
    labels, found = pick_by_sorting(mask.squeeze(1), u, excluded)
    return torch.stack([labels, found.to(mask.dtype)], 1).unsqueeze(1)


def _pick_row(mask: Tensor, u: Tensor, excluded: Sequence[float], out: Tensor) -> Tensor:
    known = mask.unique()
    for label in excluded:
        known = known[known != label]
    out.zero_()
    if len(known):
        out[0, 0], out[0, 1] = known[min(int(u * len(known)), len(known) - 1)], 1
    return out


_picked = Kernel(
    "pick_labels(Tensor mask, Tensor u, float[] excluded)",  # (B, 1, P) to (B, 1, 2)
    maths=_pick,
    row=_pick_row,
    values="own",
    size=lambda mask, u, excluded: (2,),
)


def pick_labels(
    mask: Tensor,  # (B, P), any real dtype
    u: Tensor,  # (B,), in [0, 1)
    excluded: Sequence[float],
) -> tuple[Tensor, Tensor]:  # (B,) labels, and (B,) bool, whether there was any
    """Choose one of the different values of a row, each with the same share whatever its area."""
    labels, found = _picked(mask.detach().unsqueeze(1), u, list(excluded)).squeeze(1).unbind(1)
    return labels, found != 0


def _whole(labels: Tensor, name: str) -> Tensor:
    check(labels == labels.round(), None, f"{name}: class: expected whole numbers (B,), or shares (B, num_classes)")
    return labels.long()


def _whole_now(labels: Tensor, out: Tensor, _: None, name: str) -> None:
    broken = labels[labels != labels.round()]
    if len(broken):
        raise ValueError(
            f"{name}: class: expected whole numbers (B,), or shares (B, num_classes); got {broken[0].item():g}"
        )
    out.copy_(labels)


whole_labels = Kernel(
    "whole_labels(Tensor labels, str name)",
    maths=_whole,
    backends=[Backend(_whole_now)],
    values="own",
    size=lambda labels, name: (),
    dtype=lambda labels, name: torch.int64,
)
"""Floating labels (B,) as whole numbers; others are refused, which a device that is not waited for says later."""
