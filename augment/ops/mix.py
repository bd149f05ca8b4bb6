"""Mixes of two rows: blends, and rectangles of one in the other."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..common.arguments import number, switch, whole
from ..common.checks import check
from ..common.constants import Kept
from ..common.types import Flags, Params
from ..kernels.mixing import maths as mx
from ..kernels.warp import matrices as geometry
from ..kinds.mix import Mix
from ..maps.composition import Blend, Collage, Composition
from ..sampling.draw import Draw
from ..sampling.params import Param
from ..sampling.ranges import Bounds, Range
from ..targets.target import Target

UNIT = (0.0, 1.0)


class RandomMixUpV2(Mix):
    """Blend every row with another (H. Zhang et al., "mixup: Beyond empirical risk minimization", 2018).

    The image is ``(1 - lambda) * own + lambda * other``. Masks of classes have to be soft: floating ones are blended as
    they are, ``bool`` ones become float32, and those of labels need ``mask_classes``. Boxes and keypoints of both rows
    stand side by side.

    Args:
        lambda_val: (low, high) of lambda, in 0..1; None for all of it.
        alpha: draw lambda by Beta(alpha, alpha), stretched to ``lambda_val``; None for evenly.
        data_keys, mode: as in ``Mix``.
        num_classes: give classes as shares (B, num_classes); None for rows (B, 3) of the label, the other's and lambda.
        mask_classes: make masks (B, 1, H, W) of labels the shares (B, mask_classes, H, W) of classes, which may come
            as well; a label that is none of them, such as one to ignore, has no share in any.

    Params:
        mixup_pairs: (B,), the other row. mixup_lambdas: (B,), the weight of the other.
    """

    params = (Param("mixup_pairs", rows=True), Param("mixup_lambdas"))
    columns = 2

    def __init__(
        self,
        lambda_val: Bounds | None = None,
        same_on_batch: bool = False,
        p: float | Tensor = 1.0,
        keepdim: bool = False,
        data_keys: Sequence[Any] | None = None,
        alpha: float | None = None,
        mode: str = "elem",
        num_classes: int | None = None,
        mask_classes: int | None = None,
    ) -> None:
        super().__init__(p, 1.0, same_on_batch, keepdim, data_keys, mode, num_classes)
        self.ranges = {"mixup_lambdas": Range(UNIT if lambda_val is None else lambda_val, "lambda_val", None, UNIT)}
        self.alpha = 1.0 if alpha is None else positive(alpha, "alpha")
        self.mask_classes = None if mask_classes is None else whole(mask_classes, "mask_classes", 1)
        self._table = Kept(mx.beta_table(self.alpha))

    def sample(self, draw: Draw) -> Params:
        pairs = self.partners(draw.u[:, 0])
        own = torch.arange(len(pairs), device=draw.device)
        draw.gate = self.shared(draw.gate, pairs) & (pairs != own)
        u = self.shared(draw.u[:, 1], pairs)
        amount = self.ranges["mixup_lambdas"](mx.beta_quantile(u, self.alpha, self._table.on(draw.device)))
        return {"mixup_pairs": pairs, "mixup_lambdas": amount}

    def compose(self, params: Params, like: Tensor, gate: Tensor, flags: Flags, targets: Sequence[Target]) -> Blend:
        own = torch.arange(len(gate), device=gate.device)
        partner = torch.where(gate, params["mixup_pairs"], own)
        amount = torch.where(gate, params["mixup_lambdas"], 0)
        return Blend(partner, amount, (like.shape[-2], like.shape[-1]))

    def mask_to_mix(self, mask: Tensor) -> Tensor:
        if self.mask_classes is not None:
            if mask.is_floating_point() and mask.shape[1] == self.mask_classes:
                return mask
            if mask.is_floating_point() or mask.shape[1] != 1:
                raise ValueError(
                    f"{type(self).__name__}: mask: expected labels (B, 1, H, W) of a whole-number dtype, or shares "
                    f"(B, {self.mask_classes}, H, W), for mask_classes; got {tuple(mask.shape)} {mask.dtype}"
                )
            return (mask == torch.arange(self.mask_classes, device=mask.device).view(1, -1, 1, 1)).float()
        if not (mask.is_floating_point() or mask.dtype == torch.bool):
            raise TypeError(
                f"{type(self).__name__}: mask: expected floating or bool, or mask_classes to make labels soft; "
                f"got {mask.dtype}"
            )
        return mask if mask.is_floating_point() else mask.float()

    def class_rows(self, labels: Tensor, params: Params, gate: Tensor, composition: Composition) -> Tensor:
        return rows_of(labels, composition.sources[:, 1], composition.shares()[:, 1])


class RandomCutMixV2(Mix):
    """Paste a rectangle of another row, from the same place (S. Yun et al., "CutMix", 2019, arXiv 1905.04899).

    The sides are ``sqrt(1 - lambda)`` of the image's, rounded down. Masks are cut with the image. Of every own box
    there is the smallest box around what is not covered, and behind these, of every box of the other row, what is
    pasted.

    Args:
        num_mix: how many rectangles are pasted one after the other.
        cut_size: (low, high) to which lambda is cut, in 0..1; the larger, the smaller the rectangle. None for all.
        beta: draw lambda by Beta(beta, beta); None for 1, which is evenly.
        data_keys, mode: as in ``Mix``.
        use_correct_lambda: give in rows of classes the share of the own image, as the paper does, instead of what is
            pasted.
        num_classes: give classes as exact shares of the area (B, num_classes); None for rows (num_mix, B, 3) of the
            label, the other's, and the share of the rectangle, 0 in rows that are not mixed.

    Params:
        mix_pairs: (num_mix, B), the other rows. crop_src: (num_mix, B, 4, 2), corner pixels of the rectangles.
        image_shape: (2,), height and width.
    """

    params = (Param("mix_pairs", dim=1, rows=True), Param("crop_src", dim=1), Param("image_shape", dim=None))

    def __init__(
        self,
        num_mix: int = 1,
        cut_size: Bounds | None = None,
        beta: float | Tensor | None = None,
        same_on_batch: bool = False,
        p: float | Tensor = 1.0,
        keepdim: bool = False,
        data_keys: Sequence[Any] | None = None,
        use_correct_lambda: bool = False,
        mode: str = "elem",
        num_classes: int | None = None,
    ) -> None:
        super().__init__(p, 1.0, same_on_batch, keepdim, data_keys, mode, num_classes)
        self.num_mix = whole(num_mix, "num_mix", 1)
        limits = Range(UNIT if cut_size is None else cut_size, "cut_size", None, UNIT)
        self.cut_size = [float(v) for v in limits.limits(torch.device("cpu"))]
        if self.cut_size[0] == 1:
            raise ValueError(f"cut_size: expected a lower limit below 1, at which nothing is cut; got {cut_size!r}")
        self.beta = 1.0 if beta is None else positive(beta, "beta")
        self.use_correct_lambda = switch(use_correct_lambda, "use_correct_lambda")
        self.columns = 4 * self.num_mix
        self._table = Kept(mx.beta_table(self.beta))

    def sample(self, draw: Draw) -> Params:
        mate, u, x, y = draw.u.mT.unflatten(0, (4, self.num_mix)).unbind(0)
        pairs = self.partners(mate[:1].expand_as(mate) if self.mode == "pair" else mate)
        own = torch.arange(pairs.shape[1], device=draw.device)
        draw.gate = self.shared(draw.gate, pairs[0]) & (pairs != own).all(0)
        u, x, y = (self.shared(v.mT, pairs[0]).mT for v in (u, x, y))
        kept = mx.beta_quantile(u, self.beta, self._table.on(draw.device)).clamp(*self.cut_size)
        height, width = draw.shape[-2:]
        h, w = (((1 - kept).sqrt() * side).floor() for side in (height, width))
        left = torch.minimum((x * (width - w + 1)).floor(), width - w)
        top = torch.minimum((y * (height - h + 1)).floor(), height - h)
        corners = geometry.rectangle(*(v.flatten() for v in (left, top, w, h))).unflatten(0, left.shape)
        size = mx.sizes([height, width], draw.device).float()
        return {"mix_pairs": pairs, "crop_src": corners, "image_shape": size}

    def validate(self, params: Params, gate: Tensor) -> None:
        name, shape = type(self).__name__, (self.num_mix, len(gate))
        for key, expected in (("mix_pairs", shape), ("crop_src", (*shape, 4, 2))):
            if tuple(params[key].shape) != expected:
                raise ValueError(f"{name}: params[{key!r}]: expected {expected}, got {tuple(params[key].shape)}")
        super().validate(params, gate)
        crop, size = params["crop_src"], params["image_shape"].flip(0)
        inside = (crop >= -1) & (crop < size)  # -1: where a side of no length ends
        check(inside.flatten(2).all(2).all(0), gate, "crop_src: expected rectangles inside the image")

    def compose(self, params: Params, like: Tensor, gate: Tensor, flags: Flags, targets: Sequence[Target]) -> Collage:
        crop, size = params["crop_src"], (like.shape[-2], like.shape[-1])
        corners = torch.cat([crop[:, :, 0], crop[:, :, 2] + 1], -1).long()
        return pasted(params["mix_pairs"].mT, corners.transpose(0, 1), gate, size)

    def class_rows(self, labels: Tensor, params: Params, gate: Tensor, composition: Composition) -> Tensor:
        crop, size = params["crop_src"], params["image_shape"]
        sides = (crop[:, :, 2] - crop[:, :, 0] + 1).clamp(min=0)
        share = sides.prod(-1) / size.prod()
        share = torch.where(gate, 1 - share if self.use_correct_lambda else share, 0)
        others = composition.sources[:, 1:].mT
        return torch.stack([rows_of(labels, other, s) for other, s in zip(others, share, strict=True)])


class PatchMix(Mix):
    """Paste a square of fixed size of another row, from the same place.

    Args:
        alpha: the parameter of Beta(alpha, alpha) by which ``lam`` is drawn, which changes nothing.
        patch_size: the side of the square in pixels, at most the shorter side of the image.
        data_keys, mode: as in ``Mix``.
        num_classes: give classes as shares of the area (B, num_classes); None for rows (B, 3) of the label, the other's
            and the share of the square.

    Params:
        mix_pairs: (B,), the other row. patch_coords: (B, 2), the first pixel x, y. lam: (B,).
    """

    params = (Param("mix_pairs", rows=True), Param("patch_coords", (2,)), Param("lam"))
    columns = 4

    def __init__(
        self,
        alpha: float = 1.0,
        patch_size: int = 16,
        p: float | Tensor = 1.0,
        same_on_batch: bool = False,
        keepdim: bool = False,
        data_keys: Sequence[Any] | None = None,
        mode: str = "elem",
        num_classes: int | None = None,
    ) -> None:
        super().__init__(p, 1.0, same_on_batch, keepdim, data_keys, mode, num_classes)
        self.alpha = positive(alpha, "alpha")
        self.patch_size = whole(patch_size, "patch_size", 1)
        self._table = Kept(mx.beta_table(self.alpha))

    def check_shape(self, shape: Sequence[int], flags: Flags) -> None:
        if self.patch_size > min(shape[-2:]):
            raise ValueError(
                f"{type(self).__name__}: patch_size: expected at most the shorter side of the image "
                f"{tuple(shape[-2:])}, got {self.patch_size}"
            )

    def sample(self, draw: Draw) -> Params:
        pairs = self.partners(draw.u[:, 0])
        draw.gate = self.shared(draw.gate, pairs) & (pairs != torch.arange(len(pairs), device=draw.device))
        u, x, y = (self.shared(v, pairs) for v in draw.u[:, 1:].unbind(1))
        rooms = [side - self.patch_size + 1 for side in (draw.shape[-1], draw.shape[-2])]
        place = [(v * room).floor().clamp(max=room - 1) for v, room in zip((x, y), rooms, strict=True)]
        lam = mx.beta_quantile(u, self.alpha, self._table.on(draw.device))
        return {"mix_pairs": pairs, "patch_coords": torch.stack(place, 1).long(), "lam": lam}

    def compose(self, params: Params, like: Tensor, gate: Tensor, flags: Flags, targets: Sequence[Target]) -> Collage:
        first = params["patch_coords"].long()
        corners = torch.cat([first, first + self.patch_size], 1).unsqueeze(1)
        return pasted(params["mix_pairs"].unsqueeze(1), corners, gate, (like.shape[-2], like.shape[-1]))

    def class_rows(self, labels: Tensor, params: Params, gate: Tensor, composition: Composition) -> Tensor:
        return rows_of(labels, composition.sources[:, 1], composition.shares()[:, 1])


def positive(value: Any, name: str) -> float:
    """A number above 0, also of a tensor of one."""
    checked = number(float(value) if isinstance(value, Tensor) and value.numel() == 1 else value, name, 0.0)
    if checked == 0:
        raise ValueError(f"{name}: expected a number above 0, got {value!r}")
    return checked


def rows_of(labels: Tensor, other: Tensor, share: Tensor) -> Tensor:
    """Give labels (B,), those of other rows, and the share (B,) of these, as rows (B, 3)."""
    return torch.stack([labels, labels[other], share.to(labels.dtype)], 1)


def pasted(
    pairs: Tensor,  # (B, T)
    corners: Tensor,  # (B, T, 4), x1, y1, x2, y2
    gate: Tensor,
    size: tuple[int, int],
) -> Collage:
    """Paste rectangles from the same place; those of rows with a closed gate have no area."""
    open = gate.view(-1, 1)
    limits = mx.sizes([size[1], size[0], size[1], size[0]], corners.device)
    corners = torch.where(open.unsqueeze(2), torch.minimum(corners.clamp(min=0), limits), 0)
    own = torch.arange(len(gate), device=gate.device).unsqueeze(1)
    source = torch.where(open, pairs, own).unsqueeze(2)
    tiles = torch.cat([source, corners, torch.zeros_like(corners[..., :2])], 2)
    return Collage(tiles, size, base=True)
