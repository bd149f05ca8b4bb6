"""JPEG coding and decoding as one differentiable function: C. Reich et al., "Differentiable JPEG", WACV 2024.

Values are 0..255. Quantised coefficients are rounded softly, by the nearest whole number plus the cube of what is left,
and the entropy coding, which loses nothing, is left out.
"""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from ...common.constants import Kept, constant

# ITU-T T.81, tables K.1 and K.2
LUMA_TABLE = (
    (16, 11, 10, 16, 24, 40, 51, 61),
    (12, 12, 14, 19, 26, 58, 60, 55),
    (14, 13, 16, 24, 40, 57, 69, 56),
    (14, 17, 22, 29, 51, 87, 80, 62),
    (18, 22, 37, 56, 68, 109, 103, 77),
    (24, 35, 55, 64, 81, 104, 113, 92),
    (49, 64, 78, 87, 103, 121, 120, 101),
    (72, 92, 95, 98, 112, 100, 103, 99),
)
CHROMA_TABLE = (
    (17, 18, 24, 47, 99, 99, 99, 99),
    (18, 21, 26, 66, 99, 99, 99, 99),
    (24, 26, 56, 99, 99, 99, 99, 99),
    (47, 66, 99, 99, 99, 99, 99, 99),
    *(((99,) * 8,) * 4),
)
BLUE, RED = 0.564, 0.713  # chroma is the difference to luma times these, as in kornia: BT.601 to three digits
LUMA = (0.299, 0.587, 0.114)
SHIFT = 128.0  # half of the 8-bit range, taken off before the transform
NEUTRAL = 127.5  # where a chroma of zero lies


def soft_floor(x: Tensor) -> Tensor:
    """Round down, with the cube of the distance from the middle between two whole numbers on top."""
    floor = x.floor()
    return floor + (x - 0.5 - floor) ** 3


def soft_clip(x: Tensor, low: float, high: float, scale: float = 0.02) -> Tensor:
    """Cut to a range, going on exponentially by at most ``scale`` outside."""
    above, below = (x - high).clamp(min=0), (x - low).clamp(max=0)
    inside = x.clamp(low, high)
    return inside + scale * (1 - torch.exp(-above)) + scale * (torch.exp(below) - 1)


def quantization_tables(quality: Tensor) -> Tensor:  # (B,), in [1, 100] -> (B, 2, 8, 8), luma and chroma
    """Scale the standard's tables as libjpeg does, with soft rounding."""
    scale = soft_floor(torch.where(quality < 50, 5000 / quality, 200 - 2 * quality))
    values = [value for table in (LUMA_TABLE, CHROMA_TABLE) for row in table for value in row]
    tables = constant(values, scale.dtype, quality.device).view(2, 8, 8)
    return soft_floor(soft_clip((tables * scale.view(-1, 1, 1, 1) + 50) / 100, 1, 255))


COSINES = Kept(
    torch.tensor(
        [math.cos((2 * x + 1) * u * math.pi / 16) / (2 if u else math.sqrt(8)) for u in range(8) for x in range(8)],
        dtype=torch.float64,
    ).view(8, 8)
)


def cosines(like: Tensor) -> Tensor:  # (8, 8), frequency by place
    """The orthonormal discrete cosine transform of eight samples."""
    return COSINES.on(like.device).to(like.dtype)


def code(
    plane: Tensor,  # (..., H, W), multiples of 8, around zero
    table: Tensor,  # (..., 8, 8)
) -> Tensor:  # (..., H, W)
    """Quantise the cosine transform of every block of 8 by 8."""
    dct = cosines(plane)
    steps = table.tile(plane.shape[-1] // 8).unsqueeze(-3)
    quotient = transform(plane, dct) / steps
    rounded = quotient.round()
    rounded = rounded + (quotient - rounded) ** 3
    return transform(rounded.mul(steps).flatten(-3, -2), dct.mT).flatten(-3, -2)


def transform(plane: Tensor, matrix: Tensor) -> Tensor:  # (..., H, W) -> (..., H / 8, 8, W)
    """Multiply every block of 8 by 8 with a matrix from the left, and with its transpose from the right."""
    across = plane.unflatten(-1, (-1, 8)) @ matrix.mT
    return matrix @ across.flatten(-2).unflatten(-2, (-1, 8))


def halve(plane: Tensor) -> Tensor:  # (..., H, W) -> (..., H / 2, W / 2)
    """Take every other pixel of a Gaussian of standard deviation 0.5 and the mean of two, as kornia does."""
    side = math.exp(-2) / (1 + 2 * math.exp(-2)) / 2
    middle = 0.5 - side
    for dim in (-2, -1):
        pads = [1, 1, 0, 0] if dim == -1 else [0, 0, 1, 1]
        padded = F.pad(plane, pads, mode="reflect")
        parts = [
            padded[..., k : padded.shape[-1] - 2 + k : 2]
            if dim == -1
            else padded[..., k : padded.shape[-2] - 2 + k : 2, :]
            for k in range(4)
        ]
        plane = torch.add((parts[1] + parts[2]) * middle, parts[0] + parts[3], alpha=side)
    return plane


def double(plane: Tensor) -> Tensor:  # (..., C, H, W) -> (..., C, 2 * H, 2 * W)
    """Interpolate linearly between the centres of pixels twice as large."""
    size = [2 * n for n in plane.shape[-2:]]
    flat = plane.flatten(0, -4) if plane.ndim > 3 else plane.unsqueeze(0)
    return F.interpolate(flat, size, mode="bilinear", align_corners=False).view(*plane.shape[:-2], *size)


def jpeg(
    image: Tensor,  # (..., C, H, W), floating, 0..255
    tables: Tensor,  # (..., 2, 8, 8)
) -> Tensor:  # (..., C, H, W)
    """Code and decode an image.

    RGB goes through luma and chroma of half the resolution; channels of any other number are coded each for itself
    with the luma table, as libjpeg codes an unknown colour space.
    """
    h, w = image.shape[-2:]
    channels = image.shape[-3]
    unit = 16 if channels == 3 else 8
    image = F.pad(image.clamp(0, 255), [0, -w % unit, 0, -h % unit], mode="replicate")
    luma_table, chroma_table = tables.unbind(-3)
    if channels != 3:
        output = code(image - SHIFT, luma_table.unsqueeze(-3)) + SHIFT
    else:
        luma, chroma = to_ycc(image.unbind(-3))
        luma, chroma = code(luma, luma_table), code(halve(chroma), chroma_table.unsqueeze(-3))
        output = torch.stack(to_rgb(luma, double(chroma).unbind(-3)), -3)
    return output[..., :h, :w].clamp(0, 255)


def to_ycc(planes: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Give luma (..., H, W) and chroma (..., 2, H, W), both less the shift."""
    r, g, b = planes
    y = LUMA[0] * r + LUMA[1] * g + LUMA[2] * b
    offset = NEUTRAL - SHIFT
    return y - SHIFT, torch.stack([(b - y) * BLUE + offset, (r - y) * RED + offset], -3)


def to_rgb(luma: Tensor, chroma: Sequence[Tensor]) -> list[Tensor]:
    """Invert ``to_ycc``."""
    blue, red = (plane + (SHIFT - NEUTRAL) for plane in chroma)
    y = luma + SHIFT
    r, b = y + red / RED, y + blue / BLUE
    return [r, y - (LUMA[0] / RED * red + LUMA[2] / BLUE * blue) / LUMA[1], b]
