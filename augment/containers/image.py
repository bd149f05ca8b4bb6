"""ImageSequential: ops and other modules one after the other, on images."""

from collections.abc import Sequence
from typing import Any

from torch import nn

from ..common.arguments import choice, switch
from .sequential import AugmentationSequential


class ImageSequential(AugmentationSequential):
    """Apply ops and other modules one after the other to images.

    It is an ``AugmentationSequential`` for images, that says what ``inverse`` does about modules that are no ops; with
    ``data_keys``, labels follow all ops as well.

    Args:
        *args: ops, nested containers, or other modules, which see the images alone, as (B, C, H, W).
        same_on_batch, keepdim, random_apply, random_apply_weights: see ``AugmentationSequential``.
        if_unsupported_ops: what ``inverse`` does about modules that are no ops: ``"raise"``, before anything is led
            back, or ``"skip"``, which leaves them applied. A container inside answers for its own.
        disable_item_features, disable_sequential_features: accepted; ops and containers take and give tensors alone.
        **options: those of ``AugmentationSequential``, such as ``data_keys``.

    Raises:
        NotImplementedError: by ``inverse``, which is a RuntimeError.

    Example:
        >>> augment = ImageSequential(RandomHorizontalFlip(), nn.AvgPool2d(2))
        >>> image = augment(torch.rand(2, 3, 8, 8))
    """

    def __init__(
        self,
        *args: nn.Module,
        same_on_batch: bool | None = None,
        keepdim: bool | None = None,
        random_apply: bool | int | tuple[int, int] = False,
        random_apply_weights: Sequence[float] | None = None,
        if_unsupported_ops: str = "raise",
        disable_item_features: bool = True,
        disable_sequential_features: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(
            *args,
            same_on_batch=same_on_batch,
            keepdim=keepdim,
            random_apply=random_apply,
            random_apply_weights=random_apply_weights,
            **options,
        )
        self.if_unsupported_ops = choice(if_unsupported_ops, "if_unsupported_ops", ("raise", "skip"))
        switch(disable_item_features, "disable_item_features")
        switch(disable_sequential_features, "disable_sequential_features")
