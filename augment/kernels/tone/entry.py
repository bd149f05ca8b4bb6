"""Curves of brightness and look-up tables."""

from typing import NamedTuple

import torch
from torch import Tensor

from ...common.dtypes import load, store
from ...common.opaque import by_rows, define
from .. import built
from ..rowop import Out, RowOp, Rows, keep_rows
from . import c as in_c
from . import maths


class Tables(NamedTuple):
    """What the tables of a row say.

    Attributes:
        shift: what they add to every byte, cut to 0..255; None for anything else.
        inverts_from: the first byte that they invert, where they do that and nothing else; None for anything else.
        alike: whether all channels have the same.
        entries: the tables themselves, where there are kernels for them.
    """

    shift: int | None
    inverts_from: int | None
    alike: bool
    entries: bytes = b""


def _read_tables(image: Tensor, tables: Tensor) -> list[Tables]:
    if built.ready():
        return _read_entries_of_bytes(tables.to(torch.uint8))
    shift = tables[:, :1, 128:129] - 128
    ramp = torch.arange(maths.LEVELS, device=image.device)
    shifts = (tables == (ramp + shift).clamp(0, maths.LEVELS - 1)).flatten(1).all(1)
    threshold = (tables[:, :1] == ramp).sum(-1, keepdim=True)
    inverts = (tables == torch.where(ramp < threshold, ramp, maths.LEVELS - 1 - ramp)).flatten(1).all(1)
    alike = (tables == tables[:, :1]).flatten(1).all(1)
    found = zip(*(x.flatten().tolist() for x in (shifts, shift, inverts, threshold, alike)), strict=True)
    return [Tables(int(by) if a else None, start if b else None, c) for a, by, b, start, c in found]


def _read_entries_of_bytes(tables: Tensor) -> list[Tables]:
    same = (tables == torch.arange(maths.LEVELS, dtype=torch.uint8)).flatten(1).all(1).tolist()
    alike = [True] * len(tables) if tables.shape[1] == 1 else (tables == tables[:, :1]).flatten(1).all(1).tolist()
    chosen = [table[:1] if a else table for table, a in zip(tables, alike, strict=True)]
    found = zip(same, alike, chosen, strict=True)
    return [Tables(0 if s else None, None, a, b"" if s else table.numpy().tobytes()) for s, a, table in found]


def _look_up_row(image: Tensor, tables: Tensor, read: Tables, out: Out = None) -> Tensor:
    output = torch.empty_like(image) if out is None else out
    if read.entries and in_c.look_up(image, read.entries, output):
        return output
    if read.inverts_from is not None:
        maths.invert_from(image, read.inverts_from, output)
    elif read.shift is not None:
        maths.linear_levels(image, 1, read.shift, output)
    elif not output.is_contiguous():
        output.copy_(_look_up_row(image.contiguous(), tables, read))
    elif read.alike:
        maths.look_up(image, tables[0].to(torch.uint8), output)
    else:
        for plane, table, target in zip(image, tables.to(torch.uint8), output, strict=True):
            maths.look_up(plane, table, target)
    return output


def _are_ramps(image: Tensor, tables: Tensor, read: list[Tables], *_: object) -> list[bool]:
    return [row.shift == 0 for row in read]


_look_up = RowOp("look_up", "", _look_up_row, _are_ramps, raw=True, read=_read_tables, keeps_format=True).op


def look_up(
    image: Tensor,  # (B, C, H, W), uint8
    tables: Tensor,  # (B, C or 1, 256), uint8
) -> Tensor:  # (B, C, H, W), uint8
    """Give every byte its entry in the table of its channel."""
    return _look_up(image, tables.to(torch.float32))


FAR = 2.0**14  # levels beyond all of an image


def _linear_row(image: Tensor, lines: Tensor, numbers: Rows, out: Out = None) -> Tensor:
    output = torch.empty_like(image) if out is None else out
    if in_c.linear_levels(image, numbers, output):
        return output
    alike = numbers.count(numbers[0]) == len(numbers)
    parts = [(image, numbers[0], output)] if alike else zip(image, numbers, output, strict=True)
    for part, (scale, shift), target in parts:
        maths.linear_levels(part, scale, shift, target)
    return output


_linear = RowOp(
    "linear_levels",
    "",
    _linear_row,
    lambda image, lines, numbers: [all(scale == 1 and not round(shift) for scale, shift in row) for row in numbers],
    raw=True,
    keeps_format=True,
).op


def linear_levels(
    image: Tensor,  # (B, C, H, W), uint8
    scale: Tensor,  # (B, C or 1), not negative
    shift: Tensor,  # (B, C or 1), on the scale of [0, 1]
) -> Tensor:  # (B, C, H, W), uint8
    """Multiply the bytes of every channel and add to them, rounded once and cut."""
    added = (shift.detach().double() * (maths.LEVELS - 1)).clamp(-FAR, FAR)
    lines = torch.stack(torch.broadcast_tensors(scale.detach().double(), added), 2)
    return _linear(image, lines.expand(-1, image.shape[1], -1))


class Entries(NamedTuple):
    """What the table of a row's channels says.

    Attributes:
        lines: of each channel slope, intercept, least and most, where its table is a line that is cut; None elsewhere.
        places: memory to work in.
    """

    lines: list[list[float] | None]
    places: Tensor


def _read_entries(image: Tensor, tables: Tensor) -> list[Entries]:
    lines, error = maths.lines(tables.detach().double())
    eps = torch.finfo(tables.dtype).eps
    straight = (error <= 8 * eps * tables.detach().abs().amax(-1)).tolist()
    places = image.new_empty(image.shape[-2:].numel(), dtype=torch.int32)
    found = zip(lines.tolist(), straight, strict=True)
    return [Entries([line if fits else None for line, fits in zip(*row, strict=True)], places) for row in found]


def _look_up_floats_row(image: Tensor, tables: Tensor, read: Entries | None, out: Out = None) -> Tensor:
    if out is None:
        return tables.gather(1, image.flatten(1).long()).view(image.shape)
    if in_c.look_up_floats(image, tables, out):
        return out
    read = _read_entries(image[None], tables[None])[0] if read is None else read
    for plane, table, line, target in zip(image, tables, read.lines, out, strict=True):
        if line is None:
            torch.index_select(table, 0, read.places.view(plane.shape).copy_(plane).flatten(), out=target.view(-1))
        else:
            slope, intercept, least, most = line
            target.copy_(plane).mul_(slope).add_(intercept).clamp_(least, most)
    return out


_look_up_floats = RowOp(
    "look_up_floats",
    "",
    _look_up_floats_row,
    lambda image, tables, *_: [False] * len(image),
    raw=True,
    read=lambda image, tables: [None] * len(image) if built.ready() else _read_entries(image, tables),
    dtype=lambda image, tables: tables.dtype,
).op


def look_up_floats(
    image: Tensor,  # (B, C, H, W), uint8
    tables: Tensor,  # (B, C, 256), floating
) -> Tensor:  # (B, C, H, W), the tables' dtype
    """Give every byte its entry in the table of its channel."""
    return _look_up_floats(image, tables)


def _gamma_row(image: Tensor, params: Tensor, numbers: list[float], out: Out = None) -> Tensor:
    if out is None:
        return maths.gamma(load(image), *params.unbind())
    work = load(image)
    return maths.gamma_row(work, numbers[0], numbers[1], out if out.dtype == work.dtype else None)


# loops over bytes that the compiler writes are not vectorised, or by eight at a time
_keep_bits = define(
    "keep_bits",
    "(Tensor image, Tensor mask) -> Tensor",
    lambda image, mask: image & mask,
    lambda image, mask: torch.empty_like(image),
)
_flip_bits = define(
    "flip_bits",
    "(Tensor image, Tensor mask) -> Tensor",
    lambda image, mask: image ^ mask,
    lambda image, mask: torch.empty_like(image),
)


def invert_bytes(
    image: Tensor,  # (B, C, H, W), uint8
    gate: Tensor,  # (B,) bool, the rows to invert
) -> Tensor:  # (B, C, H, W), uint8
    """Subtract bytes from 255, which turns all their bits."""
    mask = gate.view(-1, 1, 1, 1).to(torch.uint8) * 255
    return _flip_bits(image, mask) if by_rows(image) else image ^ mask


def posterize(
    image: Tensor,  # (B, C, H, W)
    bits: Tensor,  # (B,)
) -> Tensor:  # (B, C, H, W)
    """Keep the upper bits; rows that keep all eight stay as they are."""
    bits = bits.view(-1, 1, 1, 1)
    if image.dtype == torch.uint8:
        mask = maths.posterize_mask(bits)
        return _keep_bits(image, mask) if by_rows(image) else image & mask
    return torch.where(bits == 8, image, store(maths.posterize(load(image), bits), image.dtype))


def _is_linear(image: Tensor, params: Tensor, numbers: Rows) -> list[bool]:
    return [row == [1, 1] for row in numbers]


_gamma = RowOp("gamma", "", _gamma_row, _is_linear, raw=True).op


def gamma(
    image: Tensor,  # (B, C, H, W)
    exponent: Tensor,  # (B,)
    gain: Tensor,  # (B,)
) -> Tensor:  # (B, C, H, W)
    """Raise every value to a power and multiply it."""
    if by_rows(image) and image.dtype == torch.uint8:
        tables = maths.gamma_tables(exponent.detach().float(), gain.detach().float())
        return look_up(image, tables.unsqueeze(1))
    if by_rows(image):
        return _gamma(image, torch.stack([exponent, gain], 1))
    columns = (exponent.view(-1, 1, 1, 1), gain.view(-1, 1, 1, 1))
    output = store(maths.gamma(load(image, unit=True), *columns), image.dtype, unit=True)
    return keep_rows((exponent == 1) & (gain == 1), image, output)
