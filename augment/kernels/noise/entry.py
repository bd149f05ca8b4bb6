"""Noise of image size, added to the rows that are open."""

import torch
from torch import Tensor

from ...common.opaque import define
from ..kernel import Kernel, Out, gate_of
from . import maths

add_noise = Kernel(
    "add_noise(Tensor image, Tensor gate, Tensor noise)",
    maths=lambda image, gate, noise: image + noise.to(image.dtype),
    row=lambda image, gate, noise, out: torch.add(image, noise.to(image.dtype), out=out),
    opens=gate_of,
    values="unit",
)
"""Add noise (B, C, H, W), on the scale of [0, 1], to the rows of a gate (B,) bool."""


def _shot(image: Tensor, photons: Tensor, noise: Tensor) -> Tensor:
    return maths.shot(image, photons, noise.to(image.dtype))


def _shot_row(image: Tensor, photons: Tensor, noise: Tensor, out: Out) -> Tensor:
    counted = maths.shot(image[None], photons.view(1), noise[None].to(image.dtype), None if out is None else out[None])
    return counted[0] if out is None else out


shot_noise = Kernel(
    "shot_noise(Tensor image, Tensor photons, Tensor noise)",
    maths=_shot,
    row=_shot_row,
    opens=lambda image, photons, noise: photons != 0,
    values="unit",
)
"""Count photons (B,), which a white pixel does on average, by noise (B, C, H, W), standard normal; 0 counts none."""


def _sensor(image: Tensor, intensity: Tensor, colour_shift: Tensor, noise: Tensor) -> Tensor:
    return maths.sensor(image, colour_shift, intensity, noise.to(image.dtype))


sensor_noise = Kernel(
    "sensor_noise(Tensor image, Tensor intensity, Tensor colour_shift, Tensor noise)",
    maths=_sensor,
    row=lambda image, *params, out: _sensor(image[None], *(p[None] for p in params))[0],
    opens=lambda image, intensity, *others: intensity != 0,
    values="unit",
)
"""Add the noise of a sensor to images of 1 or 3 channels: an intensity (B,), of which 0 leaves the row alone, a shift
of colours (B,), and noise (B, 2, H, W), standard normal."""


def _salt(image: Tensor, gate: Tensor, salt: Tensor, pepper: Tensor) -> Tensor:
    return image.masked_fill(salt, 255 if image.dtype == torch.uint8 else 1).masked_fill(pepper, 0)


def _salt_row(image: Tensor, gate: Tensor, salt: Tensor, pepper: Tensor, out: Tensor) -> Tensor:
    out.copy_(image)
    for mask, value in ((salt, 255 if image.dtype == torch.uint8 else 1), (pepper, 0)):
        _set_few(out, mask, value)
    return out


def _set_few(image: Tensor, mask: Tensor, value: float) -> None:
    """Set the pixels of a mask (C, H, W), which are found once where the channels share it: most pixels are not."""
    if mask.stride(0) == 0:
        image.view(image.shape[0], -1).index_fill_(1, mask[0].flatten().nonzero().flatten(), value)
    else:
        image.masked_fill_(mask, value)


salt_and_pepper = Kernel(
    "salt_and_pepper(Tensor image, Tensor gate, Tensor salt, Tensor pepper)",
    maths=_salt,
    row=_salt_row,
    opens=gate_of,
    values="own",
)
"""Set the pixels of two masks (B, C, H, W) to white and to black in the rows of a gate (B,) bool."""


def _salt_masks(noise: Tensor, salt: Tensor, pepper: Tensor) -> tuple[Tensor, Tensor]:
    white = noise >= salt.view(-1, 1, 1, 1)
    return white, (noise >= pepper.view(-1, 1, 1, 1)).bitwise_and_(~white)


salt_masks = define(
    "salt_masks",
    "(Tensor noise, Tensor salt, Tensor pepper) -> (Tensor, Tensor)",
    _salt_masks,
    lambda noise, salt, pepper: (torch.empty_like(noise, dtype=torch.bool), torch.empty_like(noise, dtype=torch.bool)),
)
