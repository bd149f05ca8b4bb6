"""Curves of brightness, given or found from the histogram."""

from collections.abc import Sequence

from torch import Tensor

from .. import kernels
from ..common.types import Flags, Params
from ..kinds.intensity import Intensity
from ..maps.recolours import Stretch
from ..sampling.ranges import Bounds, Range


class RandomEqualize(Intensity):
    """Flatten the histogram of every channel in 256 levels, as ``PIL.ImageOps.equalize`` does.

    Values outside [0, 1] count as its ends; a channel with nothing to equalise stays as it is. The gradient of an
    equalised row is zero.

    Shape:
        (B, C, H, W) to (B, C, H, W).
    """

    own_dtype = True

    def __init__(self, same_on_batch: bool = False, p: float | Tensor = 0.5, keepdim: bool = False) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        return kernels.equalize(input, self.gate(params))


class RandomAutoContrast(Intensity):
    """Stretch every channel, its lowest value to 0 and its highest to 1, as ``PIL.ImageOps.autocontrast`` does.

    A channel of one value stays as it is.

    Args:
        clip_output: cut the result to [0, 1], which only a channel of one value can leave.

    Shape:
        (B, C, H, W) to (B, C, H, W).
    """

    def __init__(
        self,
        clip_output: bool = True,
        same_on_batch: bool = False,
        p: float | Tensor = 1.0,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.accept(clip_output=clip_output)

    def recolour(self, input: Tensor, params: Params, flags: Flags) -> Stretch:
        return Stretch(flags["clip_output"])


class RandomClahe(Intensity):
    """Flatten the histogram of every tile, with a limit on the contrast, and blend between tiles.

    K. Zuiderveld, "Contrast limited adaptive histogram equalization", Graphics Gems IV, 1994, with 256 levels, each
    channel by itself. Tiles that reach over the end of the image see it reflected. The gradient of an equalised row
    is zero.

    Args:
        clip_limit: (low, high) of the limit: the most that a level may take of a tile, in multiples of an even share.
            0 sets no limit.
        grid_size: how many tiles (high, wide).
        slow_and_differentiable: accepted for compatibility; the tables are steps either way.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        clip_limit_factor: (B,).
    """

    own_dtype = True

    def __init__(
        self,
        clip_limit: Bounds = (40.0, 40.0),
        grid_size: tuple[int, int] = (8, 8),
        slow_and_differentiable: bool = False,
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {"clip_limit_factor": Range(clip_limit, "clip_limit", None, (0, float("inf")))}
        self.accept(grid_size=grid_size, slow_and_differentiable=slow_and_differentiable)

    def check_shape(self, shape: Sequence[int], flags: Flags) -> None:
        grid = flags["grid_size"]
        if any(tiles > 1 and size <= tiles for size, tiles in zip(shape[-2:], grid, strict=True)):
            raise ValueError(
                f"RandomClahe: grid_size: expected fewer tiles than the image's {tuple(shape[-2:])} pixels, got {grid}"
            )

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        return kernels.equalize_tiles(input, self.gate(params), params["clip_limit_factor"], *flags["grid_size"])
