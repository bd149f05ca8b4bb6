"""Colours of pixels, and whole channels: which goes where, which is lost, and blends of them."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

Factor = float | Tensor


def take(
    image: Tensor,  # (B, C, H, W)
    source: Tensor,  # (B, C), int64
) -> Tensor:  # (B, C, H, W)
    """Give every channel of the output the values of the channel that the source names for it."""
    rows = torch.arange(image.shape[0], device=image.device).unsqueeze(1)
    return image[rows, source]


def fill(
    image: Tensor,  # (B, C, H, W)
    lost: Tensor,  # (B, C), bool
    value: float,
) -> Tensor:  # (B, C, H, W)
    """Put a value in the place of whole channels."""
    return image.masked_fill(lost.view(*lost.shape, 1, 1), value)


def line(image: Tensor, scale: Factor | None, shift: Factor | None, cut: bool) -> Tensor:
    """Multiply an image and add to it, where there is anything to; ``cut`` cuts to [0, 1] before and after."""
    output = image.clamp(0, 1) if cut else image
    if scale is not None:
        output = output.mul_(scale) if cut else output * scale
    if shift is not None:
        output = output + shift if output is image else output.add_(shift)
    return output.clamp_(0, 1) if cut else output


def blend(
    image: Tensor,  # (B, C, H, W), floating
    shares: Tensor,  # (B, C, C + 1): what each channel gets of all of them, and what is added; (B, C, 2): of itself
) -> Tensor:  # (B, C, H, W)
    """Blend the channels of each row; one without a share adds nothing, whatever it holds."""
    *factors, added = shares.unsqueeze(3).unsqueeze(4).unbind(2)
    if len(factors) == 1:
        return image * factors[0] + added
    parts = [torch.where(f == 0, 0, plane.unsqueeze(1) * f) for plane, f in zip(image.unbind(1), factors, strict=True)]
    return sum(parts, added)


def blend_row(
    image: Tensor,  # (C, H, W), floating
    shares: Sequence[Sequence[float]],  # C of C + 1 numbers, or of 2
    out: Tensor,  # (C, H, W), where to write; the image itself only where a channel gets of itself alone
) -> None:
    """Do what ``blend`` does to one row."""
    for c, (target, (*factors, added)) in enumerate(zip(out, shares, strict=True)):
        if c and shares[c] == shares[c - 1] and len(factors) > 1:
            target.copy_(out[c - 1])
            continue
        planes = image if len(factors) > 1 else image[c : c + 1]
        used = [(plane, f) for plane, f in zip(planes, factors, strict=True) if f]
        if used:
            torch.mul(*used[0], out=target)
        else:
            target.zero_()
        for plane, share in used[1:]:
            target.add_(plane, alpha=share)
        if added:
            target.add_(added)


Planes = Sequence[Tensor]
Outs = Sequence[Tensor | None]
Cut = Callable[..., Tensor]

FRESH = (None, None, None)  # results go to memory of their own

LUMA = (0.299, 0.587, 0.114)  # ITU-R BT.601
BRIGHTNESS, CONTRAST, SATURATION, HUE = range(4)
NEUTRAL = (1.0, 1.0, 1.0, 0.0)


def cut(plane: Tensor, top: Factor = 1, out: Tensor | None = None) -> Tensor:
    """Cut to [0, top]."""
    return torch.clamp(plane, 0, top, out=out) if not isinstance(top, Tensor) else plane.clamp(min=0).minimum(top)


def lean_cut(plane: Tensor, top: Factor = 1, out: Tensor | None = None) -> Tensor:
    """Cut to [0, top] by two relus, whose compiled code is half as long: each bound of a clamp also passes NaN on.

    It rounds once, and unlike a clamp it has no gradient at the bounds themselves.
    """
    return (top - plane).relu_().neg_().add_(top).relu_()


def plus(base: Tensor, plane: Tensor, factor: Factor, out: Tensor | None = None) -> Tensor:
    """Give ``base + plane * factor``, in one pass where the factor is a number."""
    return (plane * factor).add_(base) if isinstance(factor, Tensor) else torch.add(base, plane, alpha=factor, out=out)


def gray(
    planes: Planes,  # C planes (..., H, W)
    weights: Sequence[float],
) -> Tensor:  # (..., H, W)
    """Blend channels into one."""
    total = planes[0] * weights[0]
    for plane, weight in zip(planes[1:], weights[1:], strict=True):
        total.add_(plane, alpha=weight)
    return total


def luma_weights(channels: int) -> list[float]:
    """The weights of the luma of an RGB image, or of the plain mean of any other number of channels."""
    return list(LUMA) if channels == 3 else [1 / channels] * channels


def luma(planes: Planes) -> Tensor:
    """Blend channels into luma."""
    return gray(planes, luma_weights(len(planes)))


def scale_brightness(planes: Planes, factor: Factor, cut: Cut = cut, outs: Outs = FRESH) -> list[Tensor]:
    """Cut to [0, 1], multiply, and cut again, at once: the product of what was above 1 is above the factor."""
    top = factor.clamp(max=1) if isinstance(factor, Tensor) else min(factor, 1.0)
    return [cut(torch.mul(p, factor, out=o), top, out=o) for p, o in zip(planes, outs[: len(planes)], strict=True)]


def add_brightness(planes: Planes, factor: Factor, cut: Cut = cut, outs: Outs = FRESH) -> list[Tensor]:
    """Add the factor less one, and cut to [0, 1]."""
    return [cut(torch.add(p, factor - 1, out=o), out=o) for p, o in zip(planes, outs[: len(planes)], strict=True)]


def blend_contrast(planes: Planes, factor: Factor, cut: Cut = cut, outs: Outs = FRESH) -> list[Tensor]:
    """Move away from the mean luma of the image (factor > 1) or towards it, and cut to [0, 1]."""
    offset = luma([plane.mean((-2, -1), keepdim=True) for plane in planes]) * (1 - factor)
    return _blend(planes, offset, factor, cut, outs)


def blend_saturation(planes: Planes, factor: Factor, cut: Cut = cut, outs: Outs = FRESH) -> list[Tensor]:
    """Move every pixel away from its luma (factor > 1) or towards it, and cut to [0, 1]."""
    if len(planes) == 1:
        return list(planes)
    return _blend(planes, luma(planes).mul_(1 - factor), factor, cut, outs)


def _blend(planes: Planes, offset: Tensor, factor: Factor, cut: Cut, outs: Outs) -> list[Tensor]:
    return [cut(plus(offset, p, factor, out=o), out=o) for p, o in zip(planes, outs[: len(planes)], strict=True)]


def scale_saturation(planes: Planes, factor: Factor, cut: Cut = cut, outs: Outs = FRESH) -> list[Tensor]:
    """Multiply the saturation of the HSV model, which is chroma over value, up to 1; hue and value stay.

    That moves every channel away from the value by the factor, but no further than the lowest can go to reach 0.
    """
    if len(planes) == 1:
        return list(planes)
    r, g, b = planes
    value = torch.maximum(torch.maximum(r, g), b)
    chroma = value - torch.minimum(torch.minimum(r, g), b)
    furthest = value / chroma.add_(torch.finfo(value.dtype).tiny ** 0.5)
    del chroma
    reach = furthest.minimum(factor) if isinstance(factor, Tensor) else furthest.clamp_(max=factor)
    del furthest
    return [torch.addcmul(value, p - value, reach, out=o) for p, o in zip(planes, outs[: len(planes)], strict=True)]


def rotate_hue(planes: Planes, turns: Factor, cut: Cut = cut, outs: Outs = FRESH) -> list[Tensor]:
    """Turn the hue of the HSV hexagon model (A. R. Smith, "Color gamut transform pairs", SIGGRAPH 1978).

    Value and chroma stay, and HSV is never built. Both ways do without comparisons, which would be slow one by one.
    """
    if len(planes) == 1:
        return list(planes)
    r, g, b = planes
    low = torch.minimum(torch.minimum(r, g), b)
    chroma = torch.maximum(torch.maximum(r, g), b) - low
    held = [[r - low, g - low, b - low]]
    del planes, r, g, b
    if isinstance(turns, Tensor):
        return _turned_by_angle(held.pop(), low, chroma, turns, cut)
    return _turned_by_sextants(held.pop(), low, chroma, turns, outs)


def _turned_by_angle(above: Planes, low: Tensor, chroma: Tensor, turns: Tensor, cut: Cut) -> list[Tensor]:
    """Find the hue from which channel is the highest, and each channel from the turned hue.

    A channel is the lowest value plus the chroma times ``6 |frac(hue + offset) - 1/2| - 1``, cut to [0, 1].
    """
    # the highest channel shall reach 1 in spite of rounding, and gray divide by no zero
    limits = torch.finfo(low.dtype)
    per_chroma = (1 + 4 * limits.eps) / (chroma + limits.tiny**0.5)
    r, g, b = above[0].mul_(per_chroma), above[1].mul_(per_chroma), above[2].mul_(per_chroma)
    del above, per_chroma
    sextant = (r - g).add_(4)
    sextant.addcmul_(g.floor(), (b - r).add_(2).sub_(sextant))
    sextant.addcmul_(r.floor(), (g - b).sub_(sextant))
    del r, g, b
    turned = []
    for offset in (1, 5 / 3, 4 / 3):  # a whole turn more, so that frac sees no negative numbers
        phase = (sextant * (1 / 6)).add_(turns + offset).frac_()
        turned.append(torch.addcmul(low, chroma, cut(phase.sub_(0.5).abs_().mul_(6).sub_(1))))
    return turned


def _turned_by_sextants(above: Planes, low: Tensor, chroma: Tensor, turns: float, outs: Outs) -> list[Tensor]:
    """Permute the channels for every third of a turn, and let them rise and fall for the rest, at most a sextant.

    While the hue moves on by a part of a sextant, a channel falls once the next one is within that part of the top, and
    rises as long as the next one is within it of the bottom and the one before is up.
    """
    thirds = round(turns * 3)
    part = turns * 6 - 2 * thirds
    step = 1 if part >= 0 else -1
    reach = chroma * abs(part)
    rest = chroma - reach
    turned = []
    for i, out in enumerate(outs[:3]):
        c = i - thirds
        channel, following, before = above[c % 3], above[(c + step) % 3], above[(c - step) % 3]
        kept = (channel - (following - rest).relu_()).relu_()
        gained = torch.minimum(before, (reach - following).relu_())
        turned.append(torch.add(torch.minimum(kept + gained, chroma), low, out=out))
    return turned


JITTER = (scale_brightness, blend_contrast, blend_saturation, rotate_hue)
JIGGLE = (add_brightness, scale_brightness, scale_saturation, rotate_hue)  # a contrast that keeps black is a product
STEPS = {"jitter": JITTER, "jiggle": JIGGLE}
CONTRAST_BEFORE, CONTRAST_AFTER = (0, 1, 2, 3), (0, 2, 3, 1)


def jitter(
    planes: Planes,  # 1 or 3 planes (..., H, W)
    factors: Sequence[Factor],  # brightness, contrast, saturation, and hue in turns; tensors broadcast over planes
    order: Sequence[int],
    outs: Outs = FRESH,  # planes to write over, in which all steps then work
    kind: str = "jitter",  # what the steps are, of STEPS
) -> Planes:
    """Cut to [0, 1] and apply the four adjustments, or some of them, in the given order."""
    tensors = [f for f in factors if isinstance(f, Tensor)]
    lean = len(tensors) > 0 and not any(t.requires_grad for t in (*planes, *tensors))
    chosen = lean_cut if lean else cut
    steps = [(STEPS[kind][i], factors[i]) for i in order if isinstance(factors[i], Tensor) or factors[i] != NEUTRAL[i]]
    if not steps or steps[0][0] is not scale_brightness:  # which cuts what it gets
        planes = [chosen(p, out=o) for p, o in zip(planes, outs[: len(planes)], strict=True)]
    held = [planes]
    del planes  # so that a step, which alone has them, can let go of its planes
    for step, factor in steps:
        held.append(step(held.pop(), factor, chosen, outs))
    return held.pop()


def jitter_any_order(
    image: Tensor,  # (B, C, H, W), C 1 or 3
    factors: Tensor,  # (B, 4)
    order: Tensor,  # (n,), or (B, n) with an order for each row
    kind: str = "jitter",
) -> Tensor:
    """Apply the four adjustments in an order that is only known on the device.

    At each position all four are applied, with neutral factors but for the one whose turn it is.
    """
    planes: Planes = image.clamp(0, 1).unbind(1)
    for turn in order.unbind(-1):
        for step, apply in enumerate(STEPS[kind]):
            factor = torch.where(turn == step, factors[:, step], NEUTRAL[step])
            planes = apply(planes, factor.view(-1, 1, 1))
    return torch.stack(tuple(planes), 1)
