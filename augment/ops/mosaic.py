"""Images put together from tiles: of several rows, and of a row's own pieces."""

import itertools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..common.arguments import choice, number, pair, switch
from ..common.checks import check
from ..common.constants import Kept
from ..common.types import Flags, Params
from ..common.vocabulary import CROPPING, RESAMPLE
from ..kernels.mixing import maths as mx
from ..kernels.warp import matrices as geometry
from ..kinds.mix import Mix
from ..maps.composition import Collage, Composition
from ..sampling.draw import Draw
from ..sampling.params import Param
from ..sampling.ranges import Bounds, Range
from ..targets.target import Target

TABLED = 6  # pieces of which all orders are listed


class RandomMosaic(Mix):
    """Lay a row and others side by side, and cut a window (A. Bochkovskiy et al., "YOLOv4", 2020, arXiv 2004.10934).

    Masks, and the boxes and keypoints of all tiles, follow; boxes are cut to what is seen of their tile, and stand tile
    by tile, the row's own first. A row that is not mixed is cut or filled at the right and at the bottom to the
    output's size; its own boxes stay, cut to that size if it is another.

    Args:
        output_size: (height, width); None for the input's.
        mosaic_grid: how many tiles across and down.
        start_ratio_range: (low, high) of where the window starts in x and y, as shares of a tile. The start is a whole
            pixel; what of a window lies behind the last tile is 0.
        min_bbox_size: the area in square pixels that has to be left of a box.
        data_keys: what the inputs of a direct call are.
        padding_mode: ``"constant"``, what the window shows behind the last tile.
        resample, align_corners, cropping_mode: accepted; a window at whole pixels is not resampled.
        num_classes: give classes as shares of the area (B, num_classes); without, they are labels (B, N) of boxes.

    Params:
        permutation: (B, T), the rows of the tiles, column by column, the own first. src, dst: (B, 4, 2), corner pixels
        of the window on the tiles and of the output. batch_shapes: (B, 3).
    """

    params = (
        Param("permutation", (None,), rows=True),
        Param("src", (4, 2)),
        Param("dst", (4, 2)),
        Param("batch_shapes", (3,)),
    )

    def __init__(
        self,
        output_size: int | tuple[int, int] | None = None,
        mosaic_grid: tuple[int, int] = (2, 2),
        start_ratio_range: Bounds = (0.3, 0.7),
        min_bbox_size: float = 0.0,
        data_keys: Sequence[Any] | None = None,
        p: float | Tensor = 0.7,
        keepdim: bool = False,
        padding_mode: str = "constant",
        resample: Any = "BILINEAR",
        align_corners: bool = True,
        cropping_mode: str = "slice",
        num_classes: int | None = None,
    ) -> None:
        super().__init__(p, keepdim=keepdim, data_keys=data_keys, num_classes=num_classes)
        self.given_size = None if output_size is None else pair(output_size, "output_size")
        self.grid = pair(mosaic_grid, "mosaic_grid")
        self.start = Range(start_ratio_range, "start_ratio_range", None, (0.0, 1.0))
        self.least_area = number(min_bbox_size, "min_bbox_size", 0.0)
        choice(padding_mode, "padding_mode", ("constant",))
        choice(resample, "resample", RESAMPLE)
        choice(cropping_mode, "cropping_mode", CROPPING)
        switch(align_corners, "align_corners")
        self.columns = self.grid[0] * self.grid[1] + 1

    def output_size(self, size: tuple[int, int]) -> tuple[int, int]:
        return size if self.given_size is None else self.given_size

    def sample(self, draw: Draw) -> Params:
        b, _, height, width = draw.shape
        draw.gate = self.shared(draw.gate)
        own = torch.arange(b, device=draw.device)
        order = draw.u[:, 2:].mT.flatten().argsort()
        others = order.remainder(max(b, 1)).view(self.grid[0] * self.grid[1] - 1, b)  # each row as often
        start = self.start(self.shared(draw.u[:, :2]))
        x, y = (start[:, 0] * width).floor(), (start[:, 1] * height).floor()
        h, w = self.output_size((height, width))
        zero = torch.zeros_like(x)
        return {
            "permutation": torch.cat([own.unsqueeze(0), others]).mT,
            "src": geometry.rectangle(x, y, zero + w, zero + h),
            "dst": geometry.rectangle(zero, zero, zero + w, zero + h),
            "batch_shapes": mx.sizes(draw.shape[1:], draw.device).repeat(b, 1),
        }

    def validate(self, params: Params, gate: Tensor) -> None:
        count = self.grid[0] * self.grid[1]
        if params["permutation"].shape[1:] != (count,):
            raise ValueError(
                f"{type(self).__name__}: params['permutation']: expected {count} tiles, "
                f"got shape {tuple(params['permutation'].shape)}"
            )
        super().validate(params, gate)

    def compose(self, params: Params, like: Tensor, gate: Tensor, flags: Flags, targets: Sequence[Target]) -> Collage:
        rows = params["permutation"]
        height, width = like.shape[-2:]
        size = self.output_size((height, width))
        across, down = self.grid
        index = torch.arange(across * down, device=rows.device)
        corner = torch.stack([index // down * width, index % down * height], 1)
        shift = corner - params["src"][:, :1].floor().long()  # (B, T, 2)
        shift = torch.where(gate.view(-1, 1, 1), shift, 0)
        limits, sides = mx.sizes(size[::-1], rows.device), mx.sizes([width, height], rows.device)
        shown = (gate.view(-1, 1) | (index == 0)).unsqueeze(2)
        first = shift.clamp(min=0)
        last = torch.where(shown, torch.minimum(shift + sides, limits), 0)
        own = torch.arange(len(gate), device=gate.device).unsqueeze(1)
        source = torch.where(gate.view(-1, 1), rows, own).unsqueeze(2)
        return Collage(torch.cat([source, first, last, shift], 2), size, base=False, apart=True)


class RandomJigsaw(Mix):
    """Cut a row into pieces of one size and lay them in a random order.

    Every keypoint follows its piece, and of a box stands in each piece what is seen there: N boxes become
    N * rows * columns. Classes of images stay.

    Args:
        grid: (rows, columns) of pieces; they have to divide the image.
        data_keys: what the inputs of a direct call are.
        ensure_perm: never draw the order in which the pieces are already; all others are equally likely up to 6 pieces,
            and beyond as good as.

    Params:
        permutation: (B, rows * columns), for the places column by column, the piece, counted row by row.
    """

    alone = True
    params = (Param("permutation", (None,)),)

    def __init__(
        self,
        grid: tuple[int, int] = (4, 4),
        data_keys: Sequence[Any] | None = None,
        p: float | Tensor = 0.5,
        same_on_batch: bool = False,
        keepdim: bool = False,
        ensure_perm: bool = True,
    ) -> None:
        super().__init__(p, same_on_batch=same_on_batch, keepdim=keepdim, data_keys=data_keys)
        self.grid = pair(grid, "grid")
        self.ensure_perm = switch(ensure_perm, "ensure_perm")
        self.columns = self.grid[0] * self.grid[1]
        if ensure_perm and self.columns == 1:
            raise ValueError(f"ensure_perm: expected False for the one piece of grid {grid!r}, got {ensure_perm!r}")
        same = torch.arange(self.columns).view(self.grid).mT.flatten()
        self._same = Kept(same)
        if ensure_perm and self.columns <= TABLED:
            kept = tuple(same.tolist())
            orders = [order for order in itertools.permutations(range(self.columns)) if order != kept]
            self._orders = Kept(torch.tensor(orders))

    def check_shape(self, shape: Sequence[int], flags: Flags) -> None:
        if shape[-2] % self.grid[0] or shape[-1] % self.grid[1]:
            raise ValueError(
                f"{type(self).__name__}: grid: expected one that divides height and width {tuple(shape[-2:])}, "
                f"got {self.grid}"
            )

    def sample(self, draw: Draw) -> Params:
        draw.gate, u = self.shared(draw.gate), self.shared(draw.u)
        if self.ensure_perm and self.columns <= TABLED:
            orders = self._orders.on(draw.device)
            return {"permutation": orders[(u[:, 0] * len(orders)).long().clamp(max=len(orders) - 1)]}
        order = u.argsort(1)
        if self.ensure_perm:
            unchanged = (order == self._same.on(draw.device)).all(1, keepdim=True)
            order = torch.where(unchanged, order.roll(1, 1), order)
        return {"permutation": order}

    def validate(self, params: Params, gate: Tensor) -> None:
        order = params["permutation"]
        if order.shape[1:] != (self.columns,):
            raise ValueError(
                f"{type(self).__name__}: params['permutation']: expected {self.columns} pieces, "
                f"got shape {tuple(order.shape)}"
            )
        every = order.sort(1).values == torch.arange(self.columns, device=order.device)
        check(every, gate, "permutation: expected every piece once")

    def compose(self, params: Params, like: Tensor, gate: Tensor, flags: Flags, targets: Sequence[Target]) -> Collage:
        order, (rows, columns) = params["permutation"], self.grid
        size = (like.shape[-2], like.shape[-1])
        sides = mx.sizes([size[1] // columns, size[0] // rows], order.device)
        place = torch.arange(self.columns, device=order.device)
        first = torch.stack([place // rows, place % rows], 1) * sides
        there = torch.stack([order % columns, order // columns], 2) * sides
        shift, open = first - there, gate.view(-1, 1, 1)
        whole = (place == 0).unsqueeze(1) * mx.sizes([0, 0, size[1], size[0]], order.device)
        windows = torch.where(open, torch.cat([first, first + sides], 1), whole)
        own = torch.arange(len(gate), device=gate.device).view(-1, 1, 1).expand(-1, self.columns, 1)
        tiles = torch.cat([own, windows, torch.where(open, shift, 0)], 2)
        return Collage(tiles, size, base=False, apart=True, single=True)

    def class_rows(self, labels: Tensor, params: Params, gate: Tensor, composition: Composition) -> Tensor:
        return labels.clone()
