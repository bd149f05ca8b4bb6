"""Light that varies over the image: ramps, spots and fractal maps of it."""

import torch
from torch import Tensor

TOP_DOWN, BOTTOM_UP, LEFT_RIGHT, RIGHT_LEFT = range(4)


def _ramps(n: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Give n values that rise from 0 to 1, and n that fall from 1 to 0."""
    options = {"device": like.device, "dtype": like.dtype}
    return torch.linspace(0, 1, n, **options), torch.linspace(1, 0, n, **options)


def _outer_sum(along_y: Tensor, along_x: Tensor) -> Tensor:
    """Add (B, h) and (B, w) to (B, 1, h, w)."""
    return (along_y.unsqueeze(2) + along_x.unsqueeze(1)).unsqueeze(1)


def linear_gradient(
    height: Tensor,  # (B,), value at the bright end
    direction: Tensor,  # (B,), TOP_DOWN, ...: where the gradient rises to
    h: int,
    w: int,
) -> Tensor:  # (B, 1, h, w)
    """Rise from 0 at one side of the image to ``height`` at the other."""
    direction, height = direction.unsqueeze(1), height.unsqueeze(1)
    along = []
    for n, rising, falling in ((h, TOP_DOWN, BOTTOM_UP), (w, LEFT_RIGHT, RIGHT_LEFT)):
        up, down = _ramps(n, height)
        along.append(height * torch.where(direction == rising, up, torch.where(direction == falling, down, 0.0)))
    return _outer_sum(*along)


def corner_gradient(
    height: Tensor,  # (B,), value at the bright corner
    corner: Tensor,  # (B,), the bright one: 0 bottom right, 1 bottom left, 2 top right, 3 top left
    h: int,
    w: int,
) -> Tensor:  # (B, 1, h, w)
    """Rise linearly from 0 at one corner of the image to ``height`` at the opposite one."""
    corner, height = corner.unsqueeze(1), height.unsqueeze(1)
    share = 0.5 if h > 1 and w > 1 else 1.0  # an axis of one pixel has no ramp
    along = []
    for n, rises in ((h, corner < 2), (w, (corner == 0) | (corner == 2))):
        up, down = _ramps(n, height)
        along.append(height * (share * torch.where(rises, up, down) if n > 1 else torch.zeros_like(up)))
    return _outer_sum(*along)


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
    return (image.clamp(0, 1) + light).clamp(0, 1)


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
    return ((image.clamp(0, 1) - 0.5) * (plasma * 4) + 0.5).clamp(0, 1)


def plasma_shadow(
    image: Tensor,  # (B, C, H, W), [0, 1]
    plasma: Tensor,  # (B, 1 or C, H, W), [0, 1]
    shade: Tensor,  # (B, 1, 1, 1)
    quantity: Tensor,  # (B, 1, 1, 1)
) -> Tensor:  # (B, C, H, W), [0, 1]
    """Add ``shade``, which is negative for a shadow, where a map is below ``quantity``."""
    return illuminate(image, torch.where(plasma < quantity, shade, 0.0))
