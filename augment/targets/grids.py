"""Patches: how a grid lies on images, and values cut into patches, each a row of a batch, and put together again."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ..common.types import Flags
from ..maps.warp import Window
from . import moving as mv
from . import target as tg
from .target import Target

Size = tuple[int, int]


@dataclass(frozen=True)
class Frame:
    """The part of images (H, W) that a grid covers.

    Args:
        size: (H, W).
        grid: (rows, columns) of patches.
        fills: whether the covered part is larger than the image, where the grid does not divide it, and not smaller.
    """

    size: Size
    grid: Size
    fills: bool

    @property
    def inner(self) -> Size:
        """(h, w) of what the grid covers."""
        height, width = ((s + (g - 1 if self.fills else 0)) // g * g for s, g in zip(self.size, self.grid, strict=True))
        return height, width

    @property
    def patch(self) -> Size:
        """(h, w) of a patch."""
        return self.inner[0] // self.grid[0], self.inner[1] // self.grid[1]

    @property
    def output(self) -> Size:
        """(h, w) of what comes out."""
        return self.size if self.fills else self.inner

    @property
    def corner(self) -> Size:
        """(top, left) of the covered part in the image."""
        top, left = (abs(s - i) // 2 for s, i in zip(self.size, self.inner, strict=True))
        return (-top, -left) if self.fills else (top, left)

    def cover(self, target: Target, size: Size, options: Flags) -> Target:
        """Cut or fill what is of the covered part, an input or an output to lead back, from its own size."""
        return _through(target, self.corner, size, self.inner, options)

    def uncover(self, target: Target, size: Size, options: Flags) -> Target:
        """Bring the covered part to the size of an input or an output."""
        return _through(target, (-self.corner[0], -self.corner[1]), self.inner, size, options)

    def split(self, target: Target) -> Target:
        """Cut the covered part of images or masks into patches."""
        if isinstance(target.value, list):
            rows = [self._split(entry.reshape(1, -1, *self.inner)) for entry in target.value]
            shapes = [(*entry.shape[:-2], *self.patch) for entry in target.value]
            parts = [part.reshape(shape) for row, shape in zip(rows, shapes, strict=True) for part in row]
            return replace(target, value=parts)
        return replace(target, value=self._split(target.value))

    def _split(self, image: Tensor) -> Tensor:  # (B, C, H, W) to (B * N, C, h, w)
        (rows, columns), (h, w) = self.grid, self.patch
        return image.unflatten(3, (columns, w)).unflatten(2, (rows, h)).permute(0, 2, 4, 1, 3, 5).flatten(0, 2)

    def join(self, target: Target) -> Target:
        """Put patches together."""
        value, n = target.value, self.grid[0] * self.grid[1]
        for part in value if isinstance(value, list) else [value]:
            if tuple(part.shape[-2:]) != self.patch:
                raise ValueError(
                    f"{target.key}: expected patches to keep the size {self.patch}, got shape {tuple(part.shape)}"
                )
        if not isinstance(value, list):
            return replace(target, value=self._join(value))
        entries = []
        for i in range(0, len(value), n):
            patches = torch.stack([part.reshape(-1, *self.patch) for part in value[i : i + n]])
            entries.append(self._join(patches).reshape(*value[i].shape[:-2], *self.inner))
        return replace(target, value=entries)

    def _join(self, patches: Tensor) -> Tensor:  # (B * N, C, h, w) to (B, C, H, W)
        (rows, columns), count = self.grid, len(patches) // (self.grid[0] * self.grid[1])
        return patches.unflatten(0, (count, rows, columns)).permute(0, 3, 1, 4, 2, 5).flatten(4, 5).flatten(2, 3)


def _through(target: Target, corner: Size, size: Size, output: Size, options: Flags) -> Target:
    """Move one value by a window of whole pixels, the same in all rows."""
    if size == output or target.key == "class":
        return target
    value: Any = target.value
    first = value[0] if isinstance(value, list) and value else value
    device = first.device if isinstance(first, Tensor) else None
    warp: Any = Window(torch.zeros(len(value), device=device), corner, size, output)
    if target.key == "image":
        return replace(target, value=warp.image(value))
    if target.key == "mask":
        return replace(target, value=mv.each_mask(value, lambda m, i: (warp if i is None else warp[i]).mask(m)))
    if target.watched:
        return replace(target, value=mv.watched_by(target, warp, None, False))
    return replace(target, value=mv.move(target.key, value, warp, None, options))


def at(targets: Sequence[Target], place: int, count: int) -> list[Target]:
    """Give of patches those at one place of all images."""
    values: list[Any] = [target.value for target in targets]
    rows = [v[place::count] if isinstance(v, list) else v.unflatten(0, (-1, count))[:, place] for v in values]
    return [replace(target, value=value) for target, value in zip(targets, rows, strict=True)]


def gathered(places: Sequence[Sequence[Target]], starts: Sequence[Sequence[Target]], whole: Target, i: int) -> Target:
    """Give patches that were worked on place by place as a batch again; ``whole`` itself if none was changed."""
    values = [targets[i].value for targets in places]
    if all(same(value, targets[i].value) for value, targets in zip(values, starts, strict=True)):
        return whole
    if isinstance(whole.value, list):
        return replace(whole, value=[row for rows in zip(*values, strict=True) for row in rows])
    if len({value.dtype for value in values}) > 1:
        raise ValueError(f"{whole.key}: expected one dtype from all patches, got {[v.dtype for v in values]}")
    return replace(whole, value=torch.stack(values, 1).flatten(0, 1))


def same(one: tg.Value, other: tg.Value) -> bool:
    """Whether two values, tensors or lists of them, are the same objects."""
    if isinstance(one, list):
        return all(a is b for a, b in zip(one, other, strict=True))
    return one is other
