"""Colours of pixels, and copies of whole channels."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ...common.constants import constant
from ...common.dtypes import load, rounded, store
from ...common.opaque import by_rows
from ..rowop import Out, RowOp, Rows, keep_rows, widened
from . import c as in_c
from . import levels, maths


def _take_row(image: Tensor, source: Tensor, numbers: list[float], out: Out = None) -> Tensor:
    planes = [image[round(c)] for c in numbers]
    return torch.stack(planes) if out is None else torch.stack(planes, out=out)


def _is_in_place(image: Tensor, source: Tensor, numbers: Rows) -> list[bool]:
    return [row == list(range(len(row))) for row in numbers]


_take = RowOp("take_channels", "", _take_row, _is_in_place, raw=True).op


def take_channels(
    image: Tensor,  # (B, C, H, W)
    source: Tensor,  # (B, C), int64, which channel comes where
) -> Tensor:  # (B, C, H, W)
    """Move whole channels."""
    return _take(image, source.to(torch.float32)) if by_rows(image) else maths.take(image, source)


def _fill_row(image: Tensor, lost: Tensor, numbers: list[float], value: float, out: Out = None) -> Tensor:
    if out is None:
        kept = [torch.full_like(p, value) if gone else p for p, gone in zip(image, numbers, strict=True)]
        return torch.stack(kept)
    if not out.is_contiguous():  # whole pixels are copied faster than channels of them
        out.copy_(image)
    for plane, source, gone in zip(out, image, numbers, strict=True):
        if gone:
            plane.fill_(value)
        elif out.is_contiguous():
            plane.copy_(source)
    return out


def _loses_nothing(image: Tensor, lost: Tensor, numbers: Rows, value: float) -> list[bool]:
    return [not any(row) for row in numbers]


def _fill_all(image: Tensor, lost: Tensor, numbers: Rows, value: float) -> tuple[Tensor, list[bool]]:
    """Copy the batch at once: to copy what is filled as well takes less time than a call for each plane that is not."""
    output = image.clone()
    for out, row in zip(output.unbind(), numbers, strict=True):
        for c, gone in enumerate(row):
            if gone:
                out[c].fill_(value)
    return output, [True] * len(numbers)


_fill = RowOp(
    "fill_channels", "float value", _fill_row, _loses_nothing, raw=True, keeps_format=True, whole=_fill_all
).op


def fill_channels(
    image: Tensor,  # (B, C, H, W)
    lost: Tensor,  # (B, C), bool, the channels to fill
    value: float,  # in the image's own range
) -> Tensor:  # (B, C, H, W)
    """Fill whole channels with a value."""
    return _fill(image, lost.to(torch.float32), value) if by_rows(image) else maths.fill(image, lost, value)


NEUTRAL = list(maths.NEUTRAL)


class Jitter(NamedTuple):
    """What a row is adjusted by, in which order, and how its channels are blended then; nothing where they stay."""

    factors: list[float]
    order: list[int]
    shares: list[list[float]]

    @property
    def still(self) -> bool:
        """Whether no step changes anything."""
        return self.factors == NEUTRAL


def _read_jitter(image: Tensor, params: Tensor, *_: object) -> list[Jitter]:
    found = []
    for row in params.tolist():
        factors, order, shares = row[:4], [round(step) for step in row[4:8]], row[8:]
        width = len(shares) // image.shape[1]
        lines = [shares[i : i + width] for i in range(0, len(shares), width or 1)]
        plain = [[float(k == (c if width > 2 else 0)) for k in range(width)] for c in range(len(lines))]
        found.append(Jitter(factors, order, [] if lines == plain else lines))
    return found


def _jitter_row(image: Tensor, params: Tensor, read: Jitter, kind: str, wide: bool, out: Out = None) -> Tensor:
    if params.requires_grad or out is None:
        factors, planes = params[:4].unbind() if params.requires_grad else read.factors, image
        if params.requires_grad or not read.still:  # neutral factors may learn
            planes = torch.stack(tuple(maths.jitter(image.unbind(0), factors, read.order, kind=kind)))
        return maths.blend(planes[None], params[8:].view(1, len(image), -1))[0] if len(params) > 8 else planes
    if not read.still:
        mixed = read.shares and len(read.shares[0]) > 2
        target = torch.empty_like(out) if mixed else out
        maths.jitter(image.unbind(0), read.factors, read.order, target.unbind(0), kind)
        image = target
    if read.shares:
        maths.blend_row(image, read.shares, out)
    return out


def _is_neutral(image: Tensor, params: Tensor, read: list[Jitter], *_: object) -> list[bool]:
    return [row.still and not row.shares for row in read]


def _steps(factors: list[float], order: Sequence[int], kind: str) -> list[tuple[int, float]]:
    """What the factors of ``maths.NEUTRAL`` say as steps, without those that change nothing."""
    steps = in_c.STEPS[kind]
    return [(steps[step], factors[step]) for step in order if factors[step] != maths.NEUTRAL[step]]


def _level_shares(image: Tensor, shares: list[list[float]], wide: bool) -> list[list[float]]:
    """Give how the channels of levels are blended into what comes out: levels, or where it is ``wide``, [0, 1]."""
    unit = 1 / 255 if wide else 1.0  # what a level is in the output
    scaled = [[*(f * unit for f in factors), added if wide else added * 255] for *factors, added in shares]
    return scaled or [[unit, 0.0]] * len(image) if wide else scaled


def _jitter_bytes(image: Tensor, params: Tensor, read: Jitter, kind: str, wide: bool, out: Tensor) -> None:
    shares = _level_shares(image, read.shares, wide)
    if in_c.adjust_colour(image, _steps(read.factors, read.order, kind), shares, out):
        return
    work = levels.jitter(image, read.factors, read.order, kind)
    if wide:
        maths.blend_row(work, shares, out)
    elif shares:
        blended = torch.empty_like(work)
        maths.blend_row(work, shares, blended)
        out.copy_(rounded(blended))
    else:
        out.copy_(work.round_().short())


_jitter = RowOp(
    "colour_jitter",
    "str kind, bool wide",
    _jitter_row,
    _is_neutral,
    unit=True,
    dtype=widened,
    read=_read_jitter,
    on_bytes=_jitter_bytes,
).op


def colour_jitter(
    image: Tensor,  # (B, C, H, W)
    factors: Tensor,  # (B, 4), brightness, contrast, saturation, and hue in turns
    order: Tensor,  # (n,), which step comes when
    kind: str = "jitter",  # what the steps are, of ``maths.STEPS``
    after: Tensor | None = None,  # (B, C, C + 1 or 2), how ``maths.blend`` blends the channels then
    wide: bool = False,
) -> Tensor:  # (B, C, H, W)
    """Adjust brightness, contrast, saturation and hue in an order that is only known at run time.

    ``wide`` gives floats for bytes, not rounded.
    """
    if by_rows(image):
        given = [factors, order.to(factors.dtype).expand(len(image), -1)]
        given += [] if after is None else [after.flatten(1)]
        return _jitter(image, torch.cat(given, 1), kind, wide)
    neutral = (factors == constant(NEUTRAL, factors.dtype, factors.device)).all(1)
    work = load(image, unit=True)
    output = maths.jitter_any_order(work, factors, order, kind)
    if after is None and not wide:
        return keep_rows(neutral, image, store(output, image.dtype, unit=True))
    output = torch.where(neutral.view(-1, 1, 1, 1), work, output)
    output = output if after is None else maths.blend(output, after)
    return output if wide else store(output, image.dtype, unit=True)


def _distort_row(image: Tensor, params: Tensor, numbers: list[float], wide: bool, out: Out = None) -> Tensor:
    planes, source = image.unbind(0), [round(c) for c in numbers[5:]]
    order = maths.CONTRAST_BEFORE if numbers[4] else maths.CONTRAST_AFTER
    if params.requires_grad or out is None:
        planes = maths.jitter(planes, params[:4].unbind() if params.requires_grad else numbers[:4], order)
        return torch.stack([planes[c] for c in source])
    targets = sorted(zip(source, out.unbind(0), strict=True), key=lambda pair: pair[0])
    maths.jitter(planes, numbers[:4], order, [plane for _, plane in targets])
    return out


def _is_undistorted(image: Tensor, params: Tensor, numbers: Rows, wide: bool) -> list[bool]:
    return [row[:4] == NEUTRAL and row[5:] == sorted(row[5:]) for row in numbers]


def _distort_bytes(image: Tensor, params: Tensor, numbers: list[float], wide: bool, out: Tensor) -> None:
    order = maths.CONTRAST_BEFORE if numbers[4] else maths.CONTRAST_AFTER
    source, unit = [round(c) for c in numbers[5:]], 1 / 255 if wide else 1.0
    shares = [[unit * (c == k) for k in range(len(source))] + [0.0] for c in source]
    if in_c.adjust_colour(image, _steps(numbers[:4], order, "jitter"), shares, out):
        return
    distorted = levels.jitter(image, numbers[:4], order, "jitter")
    distorted = distorted.div_(255) if wide else distorted.round_().short()
    for plane, c in zip(out, source, strict=True):
        plane.copy_(distorted[c])


_distort = RowOp(
    "photometric_distort",
    "bool wide",
    _distort_row,
    _is_undistorted,
    unit=True,
    dtype=widened,
    on_bytes=_distort_bytes,
).op


def photometric_distort(
    image: Tensor,  # (B, C, H, W)
    factors: Tensor,  # (B, 4), brightness, contrast, saturation, and hue in turns
    contrast_before: Tensor,  # (B,), whether the contrast comes before saturation and hue
    source: Tensor,  # (B, C), which channel comes where
    wide: bool = False,
) -> Tensor:  # (B, C, H, W)
    """Adjust the four in one of two orders, and permute the channels; ``wide`` gives floats for bytes, not rounded."""
    if by_rows(image):
        columns = [factors, contrast_before.unsqueeze(1).to(factors.dtype), source.to(factors.dtype)]
        return _distort(image, torch.cat(columns, 1), wide)
    both = (maths.CONTRAST_BEFORE, maths.CONTRAST_AFTER)
    orders = [constant(order, torch.int64, image.device) for order in both]
    order = torch.where(contrast_before.unsqueeze(1) != 0, orders[0], orders[1])
    work = load(image, unit=True)
    jittered, image = maths.jitter_any_order(work, factors, order), work if wide else image
    neutral = (factors == constant(NEUTRAL, factors.dtype, factors.device)).all(1).view(-1, 1, 1, 1)
    jittered = torch.where(neutral, image, store(jittered, image.dtype, unit=True))
    return maths.take(jittered, source)


# -------------------------------------------------------------------------------------------------- bytes on the CPU


def _levelwise(
    name: str, config: str, write: Callable[..., None], unchanged: Callable[..., list[bool]]
) -> Callable[..., Tensor]:
    """Register a row op on bytes from a function that writes: ``(image, value, *config, out)``."""

    def row(image: Tensor, params: Tensor, value: float, *config: Any, out: Out = None) -> Tensor:
        output = torch.empty_like(image) if out is None else out
        write(image, value, *config, output)
        return output

    return RowOp(name, config, row, unchanged, raw=True).op


def _write_gray(image: Tensor, _: float, weights: list[float], out: Tensor) -> None:
    if not in_c.adjust_colour(image, [], [[*weights, 0.0]] * len(image), out):
        levels.gray(image, weights, out)


def _write_saturation(image: Tensor, factor: float, out: Tensor) -> None:
    if not in_c.adjust_colour(image, [(in_c.SCALE_SATURATION, factor)], [], out):
        levels.scale_saturation(image, factor, out)


def _write_hue(image: Tensor, turns: float, out: Tensor) -> None:
    if not in_c.adjust_colour(image, [(in_c.ROTATE_HUE, turns)], [], out):
        levels.rotate_hue(image, turns, out)


_gray = _levelwise(
    "gray_levels",
    "float[] weights",
    _write_gray,
    lambda image, gate, numbers, weights: [not g for g in numbers],
)
_saturation = _levelwise(
    "saturation_levels",
    "",
    _write_saturation,
    lambda image, factor, numbers: [f == 1 or image.shape[1] == 1 for f in numbers],
)
_hue = _levelwise(
    "hue_levels",
    "",
    _write_hue,
    lambda image, turns, numbers: [turn == 0 or image.shape[1] == 1 for turn in numbers],
)


def gray_levels(
    image: Tensor,  # (B, C, H, W), uint8
    gate: Tensor,  # (B,) bool, the rows to blend
    weights: list[float],  # one a channel
) -> Tensor:  # (B, C, H, W), uint8
    """Blend the channels of bytes into one, and repeat it."""
    return _gray(image, gate.to(torch.float32), weights)


def saturation_levels(
    image: Tensor,  # (B, C, H, W), uint8, C 1 or 3
    factor: Tensor,  # (B,)
) -> Tensor:  # (B, C, H, W), uint8
    """Multiply the saturation of bytes."""
    return _saturation(image, factor.detach())


def hue_levels(
    image: Tensor,  # (B, C, H, W), uint8, C 1 or 3
    turns: Tensor,  # (B,)
) -> Tensor:  # (B, C, H, W), uint8
    """Turn the hue of bytes."""
    return _hue(image, turns.detach())
