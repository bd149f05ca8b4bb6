"""torchvision's types of tensors round what is compiled, which the compiler cannot look into."""

from collections.abc import Sequence
from typing import Any

from torch import nn

from ..kinds.augmentation import Augmentation
from ..targets.keys import read_keys
from ..targets.tv import call, found


class TVTensors(nn.Module):
    """Lead torchvision's types through a compiled container: unwrapped before, wrapped after it.

    What is not compiled takes them by itself.

    Args:
        pipeline: ``torch.compile(container, fullgraph=True)``.

    Example:
        >>> augment = TVTensors(torch.compile(AugmentationSequential(RandomHorizontalFlip()), fullgraph=True))
        >>> image, target = augment(image, {"boxes": boxes, "labels": labels})
    """

    def __init__(self, pipeline: Any) -> None:
        super().__init__()
        original = getattr(pipeline, "_orig_mod", pipeline)  # of what is compiled
        if not callable(pipeline) or (isinstance(original, Augmentation) and not hasattr(original, "data_keys")):
            raise TypeError(f"pipeline: expected a container, or a mix, compiled or not; got {original!r:.80}")
        self.pipeline = pipeline

    def forward(self, *args: Any, data_keys: Sequence[Any] | None = None, **options: Any) -> Any:
        """Augment a sample, as the container does."""
        if not found(args):
            return self.pipeline(*args, **({} if data_keys is None else {"data_keys": data_keys}), **options)
        keys = getattr(self.pipeline, "data_keys", None) if data_keys is None else read_keys(data_keys)
        return call(self.pipeline, args, keys, **options)
