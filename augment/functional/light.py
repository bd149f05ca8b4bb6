"""Light that varies over the image: ramps, spots and fractal maps of it."""

import torch
from torch import Tensor

from .resample import pixel_grid

TOP_DOWN, BOTTOM_UP, LEFT_RIGHT, RIGHT_LEFT = range(4)


def _plane(
    start: Tensor,  # (B,), the value of the top left pixel
    rise_y: Tensor,  # (B,), from the first row to the last
    rise_x: Tensor,
    h: int,
    w: int,
) -> Tensor:  # (B, 1, h, w)
    """Rise linearly along y and x."""
    x, y = pixel_grid(h, w, start)
    start, slope_y, slope_x = (n.view(-1, 1, 1) for n in (start, rise_y / max(h - 1, 1), rise_x / max(w - 1, 1)))
    return ((start + slope_y * y) + slope_x * x).unsqueeze(1)


def linear_gradient(
    height: Tensor,  # (B,), value at the bright end
    direction: Tensor,  # (B,), TOP_DOWN, ...: where the gradient rises to
    h: int,
    w: int,
) -> Tensor:  # (B, 1, h, w)
    """Rise from 0 at one side of the image to ``height`` at the other."""
    up, left = direction == BOTTOM_UP, direction == RIGHT_LEFT
    rise_y = torch.where(up, -height, torch.where(direction == TOP_DOWN, height, 0.0))
    rise_x = torch.where(left, -height, torch.where(direction == LEFT_RIGHT, height, 0.0))
    return _plane(torch.where(up | left, height, 0.0), rise_y, rise_x, h, w)


def corner_gradient(
    height: Tensor,  # (B,), value at the bright corner
    corner: Tensor,  # (B,), the bright one: 0 bottom right, 1 bottom left, 2 top right, 3 top left
    h: int,
    w: int,
) -> Tensor:  # (B, 1, h, w)
    """Rise linearly from 0 at one corner of the image to ``height`` at the opposite one."""
    share = 0.5 if h > 1 and w > 1 else 1.0  # an axis of one pixel has no ramp
    rise_y = torch.where(corner < 2, height, -height) * (share if h > 1 else 0.0)
    rise_x = torch.where((corner == 0) | (corner == 2), height, -height) * (share if w > 1 else 0.0)
    start = -torch.where(rise_y * height < 0, rise_y, 0.0) - torch.where(rise_x * height < 0, rise_x, 0.0)
    return _plane(start, rise_y, rise_x, h, w)


def gaussian_gradient(
    height: Tensor,  # (B,), value at the brightest pixel
    center: Tensor,  # (B, 2), x and y as fractions of the image between its edges
    sigma: Tensor,  # (B, 2), x and y as fractions of the image
    h: int,
    w: int,
) -> Tensor:  # (B, 1, h, w)
    """Rise from 0 at the darkest pixel to ``height`` at the brightest along a Gaussian."""
    bells = []
    for n, c, s in zip((w, h), center.unbind(1), sigma.unbind(1), strict=True):
        pixel = torch.arange(n, device=height.device, dtype=height.dtype)
        distance = ((pixel - (c * n - 0.5).unsqueeze(1)) ** 2) / (2 * (s * n) ** 2).clamp(min=1e-12).unsqueeze(1)
        bells.append(torch.exp(distance.amin(1, keepdim=True) - distance))
    along_x, along_y = bells
    lowest = along_x.amin(1, keepdim=True) * along_y.amin(1, keepdim=True)
    scale = height.unsqueeze(1) / (1 - lowest).clamp(min=1e-6)
    return (along_y * scale).unsqueeze(-1).unsqueeze(1) * along_x[:, None, None, :] - (lowest * scale)[..., None, None]


def illuminate(
    image: Tensor,  # (B, C, H, W), [0, 1]
    light: Tensor,  # (B, 1 or C, H, W)
) -> Tensor:  # (B, C, H, W), [0, 1]
    """Add light, and cut to [0, 1] before and after."""
    return image.clamp(0, 1).add_(light).clamp_(0, 1)


def plasma_brightness(
    image: Tensor,  # (B, C, H, W), [0, 1]
    plasma: Tensor,  # (B, 1 or C, H, W), [0, 1]
    intensity: Tensor,  # (B, 1, 1, 1)
) -> Tensor:  # (B, C, H, W), [0, 1]
    """Brighten where a map is above a half, darken where it is below, by ``intensity`` at its ends."""
    return illuminate(image, (plasma - 0.5) * (2 * intensity))


def plasma_contrast(
    image: Tensor,  # (B, C, H, W), [0, 1]
    plasma: Tensor,  # (B, 1 or C, H, W), [0, 1]
) -> Tensor:  # (B, C, H, W), [0, 1]
    """Multiply the difference from middle grey by four times a map."""
    return image.clamp(0, 1).sub_(0.5).mul_(plasma).mul_(4).add_(0.5).clamp_(0, 1)


def plasma_shadow(
    image: Tensor,  # (B, C, H, W), [0, 1]
    plasma: Tensor,  # (B, 1 or C, H, W), [0, 1]
    shade: Tensor,  # (B, 1, 1, 1)
    quantity: Tensor,  # (B, 1, 1, 1)
) -> Tensor:  # (B, C, H, W), [0, 1]
    """Add ``shade``, which is negative for a shadow, where a map is below ``quantity``."""
    return illuminate(image, torch.where(plasma < quantity, shade, 0.0))
