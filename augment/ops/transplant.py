"""Mixes that take objects out of one row and put them into another."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .. import kernels
from ..common.arguments import number, probability, whole
from ..common.types import Flags, Params
from ..kinds.call import Call
from ..kinds.mix import Mix
from ..maps.composition import Paste, Stencil
from ..sampling.draw import Draw
from ..sampling.params import Param
from ..targets.ragged import stacked_masks
from ..targets.target import Target


class RandomTransplantation(Mix):
    """Put all pixels of one class of the row before into a row.

    After J. Sellner et al., "Semantic segmentation of surgical hyperspectral images under geometric domain shifts",
    2023. The classes are those of the first mask; a row whose donor has none left stays as it is. All masks follow. Of
    an own box there is the smallest box around its pixels that are not covered, and of one of the donor that around its
    pixels that are taken.

    Args:
        excluded_labels: classes that are not taken.
        p: probability that a row receives something.
        data_keys: what the inputs of a direct call are; None for image and mask.

    Params:
        donor_indices: (B,), the row that is taken from. label_draw: (B,), in 0..1, the place among its classes.
        selected_labels: (B,), the class. selection: (B, H, W), the pixels. The last two are decided by the mask.
    """

    params = (
        Param("donor_indices", rows=True),
        Param("label_draw"),
        Param("selected_labels", late=True),
        Param("selection", (None, None), mask=True, late=True),
    )
    columns = 1

    def __init__(
        self,
        excluded_labels: Sequence[int] | Tensor | None = None,
        p: float | Tensor = 0.5,
        p_batch: float = 1.0,
        data_keys: Sequence[Any] | None = None,
    ) -> None:
        super().__init__(p, p_batch, data_keys=["image", "mask"] if data_keys is None else data_keys)
        given = excluded_labels.tolist() if isinstance(excluded_labels, Tensor) else list(excluded_labels or [])
        if not isinstance(given, list):
            raise ValueError(f"excluded_labels: expected one dimension, got {excluded_labels!r}")
        self.excluded_labels = [number(label, "excluded_labels") for label in given]

    def sample(self, draw: Draw) -> Params:
        draw.gate = self.shared(draw.gate)
        own = torch.arange(draw.shape[0], device=draw.device)
        donor = own.roll(1)
        draw.gate = draw.gate & (donor != own)
        return {"donor_indices": donor, "label_draw": self.shared(draw.u[:, 0])}

    def complete(self, params: Params, targets: Sequence[Target], call: Call) -> Params:
        if "selection" in params:
            return params
        theirs = kernels.take_rows(self._classes_of(targets), params["donor_indices"])
        if "selected_labels" not in params:
            labels, found = kernels.pick_labels(theirs.flatten(1), params["label_draw"], self.excluded_labels)
            params = {**params, "selected_labels": labels, "batch_prob": params["batch_prob"] * found}
        selection = theirs == params["selected_labels"].view(-1, 1, 1).to(theirs.dtype)
        return {**params, "selection": selection & self.gate(params).view(-1, 1, 1)}

    def _classes_of(self, targets: Sequence[Target]) -> Tensor:
        name = type(self).__name__
        masks = [target for target in targets if target.key == "mask"]
        if not masks:
            raise ValueError(f"{name}: mask: expected one to draw from, got keys {[t.key for t in targets]}")
        mask = self.mask_of(masks[0])
        if mask.shape[1] != 1:
            raise ValueError(f"{name}: mask: expected classes (B, 1, H, W), got shape {tuple(mask.shape)}")
        mask = mask.squeeze(1).detach()
        return mask.byte() if mask.dtype == torch.bool else mask

    def compose(self, params: Params, like: Tensor, gate: Tensor, flags: Flags, targets: Sequence[Target]) -> Stencil:
        selection, size = params["selection"], like.shape[-2:]
        if selection.shape[1:] != size:
            raise ValueError(
                f"{type(self).__name__}: params['selection']: expected pixels {tuple(size)}, "
                f"got shape {tuple(selection.shape)}"
            )
        return Stencil(params["donor_indices"], selection)


class RandomCopyPaste(Mix):
    """Paste objects of another row, without a blend at their edges.

    As in G. Ghiasi et al., "Simple copy-paste is a strong data augmentation method for instance segmentation", 2021,
    arXiv 2012.07177. The mask has a channel for each object, (B, N, H, W), empty ones for padding, or comes as a list
    of (n, H, W). Behind a row's own objects stand those of the other, empty where one was not chosen: (B, 2 N, H, W).
    What is covered is taken out of the own masks, and their boxes are cut to what is left; boxes (B, N, 4) and classes
    (B, N) go with the masks.

    Args:
        p_instance: probability that an object is pasted.
        max_instances: the largest N that can come.
        data_keys: what the inputs of a direct call are; None for image and mask.
        mode: as in ``Mix``.

    Params:
        paste_pairs: (B,), the other row. paste_instances: (B, max_instances) bool, its objects that are pasted.
    """

    params = (Param("paste_pairs", rows=True), Param("paste_instances", (None,), mask=True))

    def __init__(
        self,
        p: float | Tensor = 0.5,
        p_instance: float = 0.5,
        max_instances: int = 100,
        same_on_batch: bool = False,
        keepdim: bool = False,
        data_keys: Sequence[Any] | None = None,
        mode: str = "elem",
    ) -> None:
        super().__init__(p, 1.0, same_on_batch, keepdim, ["image", "mask"] if data_keys is None else data_keys, mode)
        self.p_instance = float(probability(p_instance, "p_instance"))
        self.max_instances = whole(max_instances, "max_instances", 1)
        self.columns = 1 + self.max_instances

    def sample(self, draw: Draw) -> Params:
        pairs = self.partners(draw.u[:, 0])
        draw.gate = self.shared(draw.gate, pairs) & (pairs != torch.arange(len(pairs), device=draw.device))
        return {"paste_pairs": pairs, "paste_instances": self.shared(draw.u[:, 1:], pairs) < self.p_instance}

    def compose(self, params: Params, like: Tensor, gate: Tensor, flags: Flags, targets: Sequence[Target]) -> Paste:
        masks, chosen = self._objects(targets), params["paste_instances"]
        n = masks.shape[1]
        if n > chosen.shape[1]:
            raise ValueError(
                f"{type(self).__name__}: mask: expected at most {chosen.shape[1]} objects, max_instances; got {n}"
            )
        for count in super().counts(targets):
            if count != n:
                raise ValueError(
                    f"{type(self).__name__}: bbox: expected one for each of the {n} objects of the mask, got {count}"
                )
        return Paste(params["paste_pairs"], masks, chosen[:, :n] & gate.unsqueeze(1))

    def _objects(self, targets: Sequence[Target]) -> Tensor:
        masks = [self.mask_of(target) for target in targets if target.key == "mask"]
        if len(masks) != 1:
            raise ValueError(
                f"{type(self).__name__}: mask: expected one with a channel for each object, got {len(masks)}"
            )
        return masks[0]

    def mask_of(self, target: Target) -> Tensor:
        masks = target.value
        return stacked_masks(masks, type(self).__name__, True) if isinstance(masks, list) else masks

    def labelled(self, targets: Sequence[Target]) -> Target | None:
        return next((target for target in targets if target.key == "mask"), None)

    def counts(self, targets: Sequence[Target]) -> list[int]:
        return [self._objects(targets).shape[1]]
