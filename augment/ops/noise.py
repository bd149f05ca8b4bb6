"""Noise."""

from typing import ClassVar

from torch import Tensor

from ..arguments import number
from ..base import Flags, Params
from ..kinds import Intensity
from ..sampling import Draw


class RandomGaussianNoise(Intensity):
    """Add normal noise, drawn for every value. The result is not cut, but for uint8.

    Args:
        mean: mean of the noise, on the scale of [0, 1].
        std: its standard deviation.
        same_on_batch: share one noise among the rows.
        p: probability that a row is changed.
        keepdim: give the output the rank of the input.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        gaussian_noise: (B, C, H, W), float32.
    """

    param_names = ("gaussian_noise",)
    param_shapes: ClassVar = {"gaussian_noise": None}

    def __init__(
        self,
        mean: float = 0.0,
        std: float = 1.0,
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.mean, self.std = number(mean, "mean"), number(std, "std", 0)

    def sample(self, draw: Draw) -> Params:
        return {"gaussian_noise": draw.normal(draw.shape[1:], self.mean, self.std)}

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        noise = params["gaussian_noise"]
        if noise.shape[1:] != input.shape[1:]:
            raise ValueError(
                f"RandomGaussianNoise: params['gaussian_noise']: expected the image's shape {tuple(input.shape)}, "
                f"got {tuple(noise.shape)}"
            )
        return input + noise.to(input.dtype)
