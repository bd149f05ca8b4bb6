"""What storing and sending does to images."""

from torch import Tensor

from .. import kernels
from ..common.types import Flags, Params
from ..kernels.compression import jpeg
from ..kinds.intensity import Intensity
from ..sampling.params import Param
from ..sampling.ranges import Bounds, Range


class RandomJPEG(Intensity):
    """Code as JPEG and decode again, differentiably.

    Quantisation rounds softly (C. Reich et al., "Differentiable JPEG", WACV 2024), so that gradients reach the image
    and the quality. RGB is coded as luma and chroma of half the resolution; an image of any other number of channels
    channel by channel with the luma table. Values are cut to [0, 1].

    Args:
        jpeg_quality: (low, high) within [1, 100], or one number for 50 less and plus that number, cut at 1.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        jpeg_quality: (B,).
    """

    own_dtype = True

    def __init__(
        self,
        jpeg_quality: Bounds = 50.0,
        same_on_batch: bool = False,
        p: float | Tensor = 1.0,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {"jpeg_quality": Range(jpeg_quality, "jpeg_quality", 50.0, (1, 100))}

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        return kernels.jpeg(input, self.gate(params), jpeg.quantization_tables(params["jpeg_quality"]))


class RandomDownscale(Intensity):
    """Lose resolution: shrink by a random factor and enlarge to the old size, after albumentations' ``Downscale``.

    The size in between is rounded to whole pixels, at least one. Pixels are laid out from edge to edge: the nearest is
    the one under a centre, ``bilinear`` blends those around it, ``area`` averages over what a pixel covers.

    Args:
        scale_range: (low, high) of the factor, within [0, 1].
        downscale: ``"nearest"``, ``"bilinear"`` or ``"area"``.
        upscale: ``"nearest"`` or ``"bilinear"``.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        scale: (B,).
    """

    params = (Param("scale", neutral=1.0),)
    own_dtype = True

    def __init__(
        self,
        scale_range: Bounds = (0.25, 0.25),
        downscale: str = "nearest",
        upscale: str = "nearest",
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {"scale": Range(scale_range, "scale_range", None, (0, 1))}
        self.accept(downscale=downscale, upscale=upscale)

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        return kernels.downscale(input, params["scale"], flags["downscale"], flags["upscale"])
