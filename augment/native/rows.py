"""What the opaque ops share."""

import torch
from torch import Tensor

from ..opaque import store

Rows = list[list[float]]
Out = Tensor | None


def keep_rows(keep: Tensor, image: Tensor, output: Tensor, unit: bool = False) -> Tensor:
    """Give the image's own dtype to the output of a whole batch, and put the unchanged rows back."""
    output = store(output, image.dtype, unit)
    return torch.where(keep.view(-1, 1, 1, 1), image, output) if output.shape == image.shape else output


def widened(image: Tensor, params: Tensor, *config: object) -> torch.dtype:
    """Give the dtype that comes out where the last of the static arguments says whether bytes become floats."""
    return torch.float32 if config[-1] and image.dtype == torch.uint8 else image.dtype


def read_nothing(image: Tensor, params: Tensor, *_: object) -> list[None]:
    """Leave the params of the rows where they are."""
    return [None] * len(params)
