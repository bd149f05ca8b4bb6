"""The operations of augmentation policies, for one image and for a whole batch.

An operation is known by its number in ``OPERATIONS``, and has one magnitude: degrees counter-clockwise (``rotate``), a
slope (``shear_x``, ``shear_y``), pixels (``translate_x``, ``translate_y``), a factor less one (``brightness``,
``color``, ``contrast``, ``sharpness``), bits (``posterize``), a threshold or an addition on the scale of [0, 1]
(``solarize``, ``solarize_add``).
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ...common.dtypes import load, store
from ..blur import maths as filters
from ..colour import maths as colour
from ..colour import program
from ..histogram import maths as histogram
from ..tone import maths as tone
from ..warp import axes
from ..warp import maths as resample
from ..warp import matrices as geometry

GEOMETRIC = ("shear_x", "shear_y", "translate_x", "translate_y", "rotate")
COLOURS = {"brightness": colour.BRIGHTNESS, "color": colour.SATURATION, "contrast": colour.CONTRAST, "sharpness": -1}
OPERATIONS = (
    "identity",
    *GEOMETRIC,
    *COLOURS,
    "posterize",
    "solarize",
    "solarize_add",
    "auto_contrast",
    "equalize",
    "invert",
)
NUMBER = {name: i for i, name in enumerate(OPERATIONS)}
Magnitude = float | Tensor


def matrices(
    operation: Tensor,  # (B, ...)
    magnitude: Tensor,  # (B, ...)
    height: int,
    width: int,
) -> Tensor:  # (B, ..., 3, 3), input pixel -> output pixel
    """The homography of every operation, which is the identity for those that move nothing.

    A shear keeps the corner of the top left pixel, where the edges of the image meet.
    """
    magnitude = magnitude.to(torch.promote_types(magnitude.dtype, torch.float32))
    shear_x, shear_y, shift_x, shift_y, degrees = (
        torch.where(operation == NUMBER[name], magnitude, 0).flatten() for name in GEOMETRIC
    )
    turn = geometry.rotation(degrees, (width - 1) / 2, (height - 1) / 2)
    zero = torch.zeros_like(degrees)
    rest = [zero, -shear_x, shift_x - shear_x / 2, -shear_y, zero, shift_y - shear_y / 2, zero, zero, zero]
    return (turn + geometry.matrix3(rest, degrees)).view(*operation.shape, 3, 3)


# ------------------------------------------------------------------------------------------------- floating, in [0, 1]


def _on_planes(step: Callable[..., list[Tensor]]) -> Callable[[Tensor, Magnitude], Tensor]:
    def apply(image: Tensor, magnitude: Magnitude) -> Tensor:
        factor = 1 + (magnitude.squeeze(-3) if isinstance(magnitude, Tensor) else magnitude)
        planes = image.unbind(-3)
        return torch.stack(step(planes, factor, outs=[None] * len(planes)), -3)

    return apply


def _posterize(image: Tensor, bits: Magnitude) -> Tensor:
    return tone.posterize(image, torch.as_tensor(bits, device=image.device))


def _solarize(image: Tensor, threshold: Magnitude) -> Tensor:
    return torch.where(image < threshold, image, 1 - image)


def _solarize_add(image: Tensor, addition: Magnitude) -> Tensor:
    return tone.solarize(image, image.new_full((), 0.5), torch.as_tensor(addition, device=image.device))


# (..., C, H, W) in [0, 1], and a magnitude that is a number or broadcasts, (..., 1, 1, 1)
FLOATING: dict[str, Callable[[Tensor, Magnitude], Tensor]] = {
    "brightness": _on_planes(colour.scale_brightness),
    "color": _on_planes(colour.blend_saturation),
    "contrast": _on_planes(colour.blend_contrast),
    "sharpness": lambda image, magnitude: filters.sharpen(image, 1 + magnitude),
    "posterize": _posterize,
    "solarize": _solarize,
    "solarize_add": _solarize_add,
    "auto_contrast": lambda image, _: histogram.stretch(image, clip=True),
    "invert": lambda image, _: 1 - image,
}


# ----------------------------------------------------------------------------------------------------- bytes of one row


def _by_op(name: str, image: Tensor, *args: Any) -> Tensor:
    """What an opaque op gives for an image (C, H, W)."""
    return getattr(torch.ops.augment, name)(image.unsqueeze(0), *args)[0]


def _recoloured(image: Tensor, kind: int, size: int, flag: int, numbers: Tensor) -> Tensor:
    """Bytes behind a part of a program: see ``kernels.colour.program``."""
    return _by_op("recolour", image, numbers.view(1, -1), [0, 1, kind, size, flag])


def _bytes(image: Tensor, name: str, magnitude: float) -> Tensor:
    """Apply an operation to bytes (C, H, W)."""
    if name == "sharpness":
        return _by_op("sharpen", image, torch.tensor([1 + magnitude]))
    if name == "equalize":
        return _by_op("equalize", image, torch.ones(1, dtype=torch.bool))
    if name == "auto_contrast":
        return _recoloured(image, program.STRETCH, 0, program.CUT, torch.empty(0))
    if name in COLOURS:
        step = COLOURS[name]
        factors = [1 + magnitude if i == step else neutral for i, neutral in enumerate(colour.NEUTRAL)]
        return _recoloured(image, program.JITTER, 1, 0, torch.tensor([*factors, step]))
    ramp = torch.arange(tone.LEVELS, device=image.device).view(1, 1, -1) / (tone.LEVELS - 1)
    return _recoloured(image, program.TABLE, 1, 0, FLOATING[name](ramp, magnitude))


NOWHERE = torch.empty(0)


class Step(NamedTuple):
    """An operation on one image, and where it moves pixels, how.

    Attributes:
        back: (3, 3), output pixel -> input pixel.
        along_x, along_y: (3, 1, W) and (3, H, 1), what columns and rows add to the place in the input.
    """

    name: str
    magnitude: float
    back: Tensor = NOWHERE
    along_x: Tensor = NOWHERE
    along_y: Tensor = NOWHERE


def apply_row(
    image: Tensor,  # (C, H, W), floating in [0, 1], or uint8
    step: Step,
    mode: int,
    fill: Sequence[float],  # in the image's own units
    out: Tensor | None = None,  # where bytes may be written
) -> Tensor:  # (C, H, W)
    """Apply an operation to one image."""
    if step.name == "identity" or (step.magnitude == 0 and step.name in COLOURS):
        return image
    if step.name in GEOMETRIC:
        return _move_row(image, step, mode, fill, out)
    if image.dtype == torch.uint8:
        return _bytes(image, step.name, step.magnitude)
    return (
        histogram.equalize_row(image.detach())
        if step.name == "equalize"
        else FLOATING[step.name](image, step.magnitude)
    )


def _move_row(image: Tensor, step: Step, mode: int, fill: Sequence[float], out: Tensor | None) -> Tensor:
    height, width = image.shape[-2:]
    if step.name.startswith("translate") and step.magnitude == round(step.magnitude):  # whole pixels
        x, y = (-step.magnitude, 0.0) if step.name == "translate_x" else (0.0, -step.magnitude)
        return axes.shifted(image, x, y, height, width, resample.PADDINGS["zeros"], fill)
    if mode == resample.MODES["nearest"]:
        return resample.sample_row(image, step.along_x[:2] + step.along_y[:2], resample.BORDERS[0], fill, out)
    return _move(image.unsqueeze(0), step.back.unsqueeze(0), mode, fill).squeeze(0)


def _move(image: Tensor, back: Tensor, mode: int, fill: Sequence[float]) -> Tensor:
    height, width = image.shape[-2:]
    if mode == resample.MODES["nearest"]:
        return resample.homography(image, back, height, width, mode, 0, fill, False)
    scaled = resample.normalised(back, height, width)
    return store(resample.homography(load(image), scaled, height, width, mode, 0, fill, False), image.dtype)


# --------------------------------------------------------------------------------------------------------- whole batch


def apply_batch(
    image: Tensor,  # (B, C, H, W), floating in [0, 1], or uint8
    operation: Tensor,  # (B,)
    magnitude: Tensor,  # (B,)
    back: Tensor,  # (B, 3, 3), output pixel -> input pixel
    mode: int,
    fill: Sequence[float],  # in the image's own units
) -> Tensor:  # (B, C, H, W)
    """Apply an operation of its own to each image: all of them to all, for where that is cheaper than to wait."""
    column = magnitude.view(-1, 1, 1, 1)
    chosen = operation.view(-1, 1, 1, 1)
    work = load(image, unit=True)
    below = load(image) < column * (tone.LEVELS - 1 if image.dtype == torch.uint8 else 1)
    results = {name: apply(work, column) for name, apply in FLOATING.items()}
    results["solarize"] = torch.where(below, work, 1 - work)
    output = work
    for name, result in results.items():
        output = torch.where(chosen == NUMBER[name], result, output)
    output = store(output, image.dtype, unit=True)
    output = torch.where(chosen == NUMBER["equalize"], histogram.equalize_batch(image.detach()), output)
    moves = (chosen >= NUMBER[GEOMETRIC[0]]) & (chosen <= NUMBER[GEOMETRIC[-1]])
    output = torch.where(moves, _move(image, back, mode, fill), output)
    colours = (chosen >= NUMBER["brightness"]) & (chosen <= NUMBER["sharpness"])
    return torch.where((chosen == NUMBER["identity"]) | (colours & (column == 0)), image, output)
