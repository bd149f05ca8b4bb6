"""Rain."""

import torch
from torch import Tensor

from ..functional import weather
from ..opaque import rowwise
from .rows import Out


def _drop_value(image: Tensor) -> float:
    return weather.RAIN if image.is_floating_point() else round(weather.RAIN * 255)


def _rain_row(image: Tensor, params: Tensor, numbers: list[float], out: Out = None) -> Tensor:
    count, height, width = map(int, numbers)
    start = params.detach()[3 : 3 + 2 * count].unflatten(0, (count, 2))
    sizes = torch.tensor([[height], [width]], device=image.device)
    h, w = image.shape[1:]
    pixels = weather.drop_pixels(start, sizes[0], sizes[1], max(height, abs(width)), h, w).flatten()
    if out is None:
        return image.flatten(1).index_fill(1, pixels, _drop_value(image)).view(image.shape)
    out.copy_(image).view(len(image), -1).index_fill_(1, pixels, _drop_value(image))
    return out


_rain = rowwise(
    "rain",
    "",
    _rain_row,
    lambda image, params, numbers: [row[0] < 1 for row in numbers],
    raw=True,
    read=lambda image, params: params[:, :3].tolist(),
)


def rain(
    image: Tensor,  # (B, C, H, W), floating or uint8
    count: Tensor,  # (B,), drops to draw, at most D
    heights: Tensor,  # (B,), pixels, 1 to H
    widths: Tensor,  # (B,), pixels, -W to W
    start: Tensor,  # (B, D, 2), y and x as fractions of the places where a drop fits
    longest: int,
) -> Tensor:  # (B, C, H, W)
    """Draw drops of rain: straight lines of one value, which have no gradient."""
    if image.is_cpu:
        sizes = torch.stack([count, heights, widths], 1).to(start.dtype)
        return _rain(image, torch.cat([sizes, start.flatten(1)], 1))
    h, w = image.shape[-2:]
    pixels = weather.drop_pixels(start, heights.unsqueeze(1), widths.unsqueeze(1), longest, h, w)
    drawn = torch.arange(start.shape[1], device=start.device) < count.unsqueeze(1)
    pixels = torch.where(drawn.unsqueeze(2), pixels, h * w)  # a place behind the image
    wet = torch.zeros((len(image), h * w + 1), dtype=torch.bool, device=image.device)
    wet = wet.scatter(1, pixels.flatten(1), True)[:, : h * w].view(-1, 1, h, w)
    return torch.where(wet, _drop_value(image), image)
