"""Noise of image size, added to the rows that are open."""

from typing import Any

import torch
from torch import Tensor

from ...common.dtypes import load, store
from ...common.opaque import by_rows, define
from ..rowop import Out, RowOp, keep_rows
from . import maths


def _first_is_zero(image: Tensor, params: Tensor, *_: Any) -> list[bool]:
    return ((params if params.ndim == 1 else params[:, 0]) == 0).tolist()


def _rows_of(image: Tensor, params: Tensor, *noise: Tensor) -> list[tuple[Tensor, ...]]:
    """Each row its own part of the noise."""
    return list(zip(*noise, strict=True))


def _add_row(image: Tensor, gate: Tensor, own: tuple[Tensor], noise: Tensor, out: Out = None) -> Tensor:
    return torch.add(image, own[0].to(image.dtype), out=out)


_add = RowOp("add_noise", "Tensor noise", _add_row, _first_is_zero, unit=True, read=_rows_of).op


def add_noise(
    image: Tensor,  # (B, C, H, W)
    noise: Tensor,  # (B, C, H, W), on the scale of [0, 1]
    gate: Tensor,  # (B,) bool
) -> Tensor:  # (B, C, H, W)
    """Add noise to the open rows."""
    if by_rows(image):
        return _add(image, gate.to(torch.float32), noise)
    work = load(image, unit=True)
    return keep_rows(~gate, image, store(work + noise.to(work.dtype), image.dtype, unit=True))


def _shot_row(image: Tensor, photons: Tensor, own: tuple[Tensor], noise: Tensor, out: Out = None) -> Tensor:
    into = None if out is None else out[None]
    counted = maths.shot(image[None], photons.view(1), own[0][None].to(image.dtype), into)[0]
    return counted if out is None else out


_shot = RowOp("shot_noise", "Tensor noise", _shot_row, _first_is_zero, unit=True, read=_rows_of).op


def shot_noise(
    image: Tensor,  # (B, C, H, W)
    photons: Tensor,  # (B,), what a white pixel counts on average; 0 leaves the row alone
    noise: Tensor,  # (B, C, H, W), standard normal
) -> Tensor:  # (B, C, H, W)
    """Count photons."""
    if by_rows(image):
        return _shot(image, photons, noise)
    work = load(image, unit=True)
    output = maths.shot(work, photons, noise.to(work.dtype))
    return keep_rows(photons == 0, image, store(output, image.dtype, unit=True))


def _sensor_row(image: Tensor, params: Tensor, own: tuple[Tensor], noise: Tensor, out: Out = None) -> Tensor:
    intensity, shift = params[:, None].unbind(0)
    return maths.sensor(image[None], shift, intensity, own[0][None].to(image.dtype))[0]


_sensor = RowOp("sensor_noise", "Tensor noise", _sensor_row, _first_is_zero, unit=True, read=_rows_of).op


def sensor_noise(
    image: Tensor,  # (B, C, H, W), C 1 or 3
    colour_shift: Tensor,  # (B,)
    intensity: Tensor,  # (B,); 0 leaves the row alone
    noise: Tensor,  # (B, 2, H, W), standard normal
) -> Tensor:  # (B, C, H, W)
    """Add the noise of a sensor."""
    if by_rows(image):
        return _sensor(image, torch.stack([intensity, colour_shift], 1), noise)
    work = load(image, unit=True)
    output = maths.sensor(work, colour_shift, intensity, noise.to(work.dtype))
    return keep_rows(intensity == 0, image, store(output, image.dtype, unit=True))


def _salt_row(
    image: Tensor, gate: Tensor, own: tuple[Tensor, Tensor], salt: Tensor, pepper: Tensor, out: Out = None
) -> Tensor:
    white = 255 if image.dtype == torch.uint8 else 1
    if out is None:
        return image.masked_fill(own[0], white).masked_fill(own[1], 0)
    out.copy_(image)
    for mask, value in zip(own, (white, 0), strict=True):
        _set_few(out, mask, value)
    return out


def _set_few(image: Tensor, mask: Tensor, value: float) -> None:
    """Set the pixels of a mask (C, H, W), which are found once where the channels share it: most pixels are not."""
    if mask.stride(0) == 0:
        image.view(image.shape[0], -1).index_fill_(1, mask[0].flatten().nonzero().flatten(), value)
    else:
        image.masked_fill_(mask, value)


_salt = RowOp("salt_and_pepper", "Tensor salt, Tensor pepper", _salt_row, _first_is_zero, raw=True, read=_rows_of).op


def salt_and_pepper(
    image: Tensor,  # (B, C, H, W)
    salt: Tensor,  # (B, C, H, W) bool
    pepper: Tensor,  # (B, C, H, W) bool
    gate: Tensor,  # (B,) bool
) -> Tensor:  # (B, C, H, W)
    """Set pixels of the open rows to white and to black."""
    if by_rows(image):
        return _salt(image, gate.to(torch.float32), salt, pepper)
    white = 255 if image.dtype == torch.uint8 else 1
    gate = gate.view(-1, 1, 1, 1)
    return image.masked_fill(salt & gate, white).masked_fill(pepper & gate, 0)


def _salt_masks(noise: Tensor, salt: Tensor, pepper: Tensor) -> tuple[Tensor, Tensor]:
    white = noise >= salt.view(-1, 1, 1, 1)
    return white, (noise >= pepper.view(-1, 1, 1, 1)).bitwise_and_(~white)


salt_masks = define(
    "salt_masks",
    "(Tensor noise, Tensor salt, Tensor pepper) -> (Tensor, Tensor)",
    _salt_masks,
    lambda noise, salt, pepper: (torch.empty_like(noise, dtype=torch.bool), torch.empty_like(noise, dtype=torch.bool)),
)
