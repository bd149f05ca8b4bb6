"""What a mix of rows is: which rows every row is put together from, and how images and labels follow.

It is to mixes what a ``Warp`` is to geometric ops. A row has slots, each filled by a row of the batch: for labels the
slots are laid side by side, so that their number is the same for all rows, and each says which of its labels are seen.
"""

import torch
from torch import Tensor

from .. import kernels
from ..common.dtypes import load, store
from ..kernels.dropout import maths as dropout
from ..kernels.mixing import maths as mx


class Composition:
    """Base class: rows put together from others, every one of which is seen whole.

    Args:
        sources: the rows (B, S) int64 in the slots.
        size: (height, width) that comes out.

    Attributes:
        single: whether each label is seen in one slot at most, and no row but the own has a slot.
    """

    single: bool = False

    def __init__(self, sources: Tensor, size: tuple[int, int]) -> None:
        self.sources = sources
        self.size = size

    def image(self, image: Tensor, gate: Tensor | None) -> Tensor:
        """The image (B, C, h, w), as it was in rows with a closed gate."""
        raise NotImplementedError

    def mask(self, mask: Tensor, gate: Tensor | None) -> Tensor:
        """A mask (B, C, h, w); by default, as an image of its dtype."""
        return self.image(mask, gate)

    def place(self, points: Tensor) -> Tensor:
        """Give places (B, S, N, 2) of the slots in what comes out."""
        return points

    def boxes(self, boxes: Tensor) -> Tensor:
        """What is seen of boxes (B, S, N, 4) that were put in their places; what is not has no area."""
        return boxes

    def points(self, points: Tensor) -> Tensor:
        """Which keypoints (B, S, N, 2) that were put in their places are seen, (B, S, N) bool."""
        return torch.ones_like(points[..., 0], dtype=torch.bool)

    def shares(self) -> Tensor:
        """The share (B, S) of what comes out that the slots have."""
        raise NotImplementedError

    def spread(self, labels: Tensor) -> Tensor:
        """Put labels (B, ...) into the slots, (B, S, ...)."""
        return kernels.take_rows(labels, self.sources.flatten()).unflatten(0, self.sources.shape)

    def move(self, corners: Tensor) -> Tensor:
        """Put boxes (B, S, N, 4) in their places."""
        return self.place(corners.unflatten(-1, (2, 2)).flatten(2, 3)).unflatten(2, (-1, 2)).flatten(3)


class Blend(Composition):
    """A weighted mean of two rows.

    Args:
        partner: the rows (B,) int64 to blend with.
        amount: the weight (B,) of the partner.
        size: (height, width).
    """

    def __init__(self, partner: Tensor, amount: Tensor, size: tuple[int, int]) -> None:
        own = torch.arange(partner.shape[0], device=partner.device)
        super().__init__(torch.stack([own, partner], 1), size)
        self.amount = amount

    def image(self, image: Tensor, gate: Tensor | None) -> Tensor:
        other = load(kernels.take_rows(image, self.sources[:, 1]))
        work = load(image)
        output = torch.lerp(work, other, self.amount.to(work.dtype).view(-1, 1, 1, 1))
        # rows are chosen before they are bytes again: a choice among bytes does not vectorise
        return store(output if gate is None else torch.where(gate.view(-1, 1, 1, 1), output, work), image.dtype)

    def mask(self, mask: Tensor, gate: Tensor | None) -> Tensor:
        return self.image(mask if mask.is_floating_point() else mask.float(), gate)

    def shares(self) -> Tensor:
        return torch.stack([1 - self.amount, self.amount], 1)


class Collage(Composition):
    """Rectangles of rows, each over those before it.

    Args:
        tiles: (B, T, 7) int64: the row, the place x1, y1, x2, y2 in what comes out, and the shift to there in x and y.
            One without an area is left out; rows with a closed gate have tiles that show the row itself.
        size: (height, width) that comes out.
        base: lay the tiles on the row itself, which then has the first slot; otherwise on zeros.
        apart: whether no tile covers another.
        single: whether they are all taken from the row itself.
    """

    def __init__(
        self, tiles: Tensor, size: tuple[int, int], base: bool, apart: bool = False, single: bool = False
    ) -> None:
        sources = tiles[:, :, 0]
        own = torch.arange(len(tiles), device=tiles.device).unsqueeze(1)
        super().__init__(torch.cat([own, sources], 1) if base else sources, size)
        self.tiles, self.base, self.apart, self.single = tiles, base, apart, single

    def image(self, image: Tensor, gate: Tensor | None) -> Tensor:
        return kernels.collage(image, self.tiles, *self.size, self.base)

    def place(self, points: Tensor) -> Tensor:
        shift = self.tiles[:, :, 5:]
        shift = torch.cat([torch.zeros_like(shift[:, :1]), shift], 1) if self.base else shift
        return points + shift.unsqueeze(2)

    def _windows(self, like: Tensor) -> list[Tensor]:
        return list(self.tiles[:, :, 1:5].to(like.dtype).unsqueeze(2).unbind(1))

    def boxes(self, boxes: Tensor) -> Tensor:
        windows, slots = self._windows(boxes), list(boxes.unbind(1))
        first = int(self.base)
        seen = slots[:first] + [mx.meet(b, w) for b, w in zip(slots[first:], windows, strict=True)]
        if not self.apart:
            for i in range(len(seen)):
                for window in windows[max(i + 1 - first, 0) :]:
                    seen[i] = mx.without(seen[i], window)
        return torch.stack(seen, 1)

    def points(self, points: Tensor) -> Tensor:
        windows, slots = self._windows(points), list(points.unbind(1))
        first = int(self.base)
        seen = [torch.ones_like(p[..., 0], dtype=torch.bool) for p in slots[:first]]
        seen += [mx.holds(w, p) for p, w in zip(slots[first:], windows, strict=True)]
        if not self.apart:
            for i, p in enumerate(slots):
                for window in windows[max(i + 1 - first, 0) :]:
                    seen[i] = seen[i] & ~mx.holds(window, p)
        return torch.stack(seen, 1)

    def shares(self) -> Tensor:
        windows = self.tiles[:, :, 1:5]
        if self.apart or windows.shape[1] == 1:
            sides = (windows[..., 2:] - windows[..., :2]).clamp(min=0)
            shares = sides.prod(-1) / (self.size[0] * self.size[1])
        else:
            shares = mx.shares_of(windows, self.size)
        return torch.cat([1 - shares.sum(1, keepdim=True), shares], 1) if self.base else shares


class Stencil(Composition):
    """Single pixels of another row over the own.

    Args:
        donor: the rows (B,) int64 that are taken from.
        selection: the pixels (B, H, W) bool that are taken.
    """

    def __init__(self, donor: Tensor, selection: Tensor) -> None:
        own = torch.arange(donor.shape[0], device=donor.device)
        super().__init__(torch.stack([own, donor], 1), (selection.shape[-2], selection.shape[-1]))
        self.selection = selection

    def image(self, image: Tensor, gate: Tensor | None) -> Tensor:
        open = self.selection if gate is None else self.selection & gate.view(-1, 1, 1)
        return torch.where(open.unsqueeze(1), kernels.take_rows(image, self.sources[:, 1]), image)

    def boxes(self, boxes: Tensor) -> Tensor:
        own, donor = boxes.unbind(1)
        hidden = mx.enclosing(self.selection, own)[1] > 0
        rest = mx.enclosing(~self.selection, own)[0]
        return torch.stack([torch.where(hidden.unsqueeze(-1), rest, own), mx.enclosing(self.selection, donor)[0]], 1)

    def points(self, points: Tensor) -> Tensor:
        on = [dropout.covered_points(self.selection.unsqueeze(1), p) for p in points.unbind(1)]
        return torch.stack([~on[0], on[1]], 1)

    def shares(self) -> Tensor:
        share = self.selection.flatten(1).float().mean(1)
        return torch.stack([1 - share, share], 1)


class Paste(Stencil):
    """Whole objects of another row over the own.

    Args:
        donor: the rows (B,) int64 that are taken from.
        masks: the objects (B, N, H, W) of every row; what is not 0 belongs to one.
        chosen: the objects (B, N) bool of the donor that are taken.
    """

    def __init__(self, donor: Tensor, masks: Tensor, chosen: Tensor) -> None:
        self.chosen = chosen
        theirs = kernels.take_rows(masks, donor)
        self.pasted = torch.where(chosen[..., None, None], theirs, torch.zeros_like(theirs))
        super().__init__(donor, (self.pasted != 0).any(1))
        self.kept = torch.where(self.selection.unsqueeze(1), torch.zeros_like(masks), masks)
        self.lost = (self.kept != masks).flatten(2).any(-1)

    def mask(self, mask: Tensor, gate: Tensor | None) -> Tensor:
        if gate is None:
            return torch.cat([self.kept, self.pasted], 1)
        open = gate.view(-1, 1, 1, 1)
        empty = torch.zeros_like(mask)
        return torch.cat([torch.where(open, self.kept, mask), torch.where(open, self.pasted, empty)], 1)

    def boxes(self, boxes: Tensor) -> Tensor:
        own, donor = boxes.unbind(1)
        around, left = mx.bounds_of(self.kept != 0)
        rest = mx.meet(own, around.to(own.dtype)) * left.unsqueeze(-1)
        return torch.stack([torch.where(self.lost.unsqueeze(-1), rest, own), donor * self.chosen.unsqueeze(-1)], 1)
