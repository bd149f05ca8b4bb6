"""What is expected of the geometric ops, as in ``references.py`` and ``test_parity.py``."""

from collections.abc import Callable, Mapping
from typing import Any

import cv2
import numpy as np
import torch
from references import PAD, Array, Reference, about, places, resize, sample, shift, warp

import augment as K

# ---------------------------------------------------------------------------------------------------------- references


def shear(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    matrices = []
    for center, sx, sy in zip(*(params[n].astype(float) for n in ("center", "shear_x", "shear_y")), strict=True):
        along_x, along_y = np.eye(3), np.eye(3)
        along_x[0, 1], along_y[1, 0] = -np.tan(np.deg2rad(sx)), -np.tan(np.deg2rad(sy))
        matrices.append(about(*center, along_y @ along_x))
    return warp(op, image, matrices)


def translate(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    shifts = zip(params["translate_x"].astype(float), params["translate_y"].astype(float), strict=True)
    return warp(op, image, [shift(x, y) for x, y in shifts])


def rotation90(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    """Turn a square frame; of another, turn the canvas of zeros that has room for both."""
    height, width = image.shape[-2:]
    side = max(height, width)
    top, left = (side - height) // 2, (side - width) // 2  # even differences only
    square = np.pad(image, [(0, 0), (0, 0), (top, top), (left, left)])
    turned = np.stack([np.rot90(row, int(k), (1, 2)) for row, k in zip(square, params["times"], strict=True)])
    return turned[..., top : top + height, left : left + width]


def d4(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    rows = []
    for row, symmetry in zip(image, params["symmetry"], strict=True):
        if symmetry & 4 and row.shape[1] == row.shape[2]:
            row = row.swapaxes(1, 2)
        row = row[:, :, ::-1] if symmetry & 1 else row
        rows.append(row[:, ::-1] if symmetry & 2 else row)
    return np.stack(rows)


def transpose(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    return image.swapaxes(2, 3)


def pad_to(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    lack = [wanted - old for wanted, old in zip(op.size, image.shape[-2:], strict=True)]
    right, bottom = max(lack[1], 0), max(lack[0], 0)
    mode = PAD[op.flags["padding_mode"]]
    options = {"constant_values": op.flags["fill"][0]} if mode == "constant" else {}
    padded = np.pad(image, [(0, 0), (0, 0), (0, bottom), (0, right)], mode=mode, **options)
    return padded[..., : op.size[0], : op.size[1]] if op.crop_if_exceeds else padded


def iou_crop(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    """Without boxes the first window of an allowed aspect is taken, and for an overlap of 1 the frame."""
    height, width = image.shape[-2:]
    h, w = op.size or (height, width)
    rows = []
    for row, windows, overlaps in zip(image, params["candidates"].astype(float), params["overlaps"], strict=True):
        windows = [window for window in windows if window[2] > window[0]]
        x1, y1, x2, y2 = windows[0] if windows and overlaps[0] < 1 else (0, 0, width, height)
        grid = np.meshgrid(places(x1, x2 - x1, w, False), places(y1, y2 - y1, h, False))
        rows.append(sample(row, *grid, "nearest"))
    return np.stack(rows)


class Sized:
    """An op as ``resize`` asks for it."""

    def __init__(self, op: Any, size: tuple[int, int]) -> None:
        self.flags, self.size = op.flags, size


def max_size(longest: bool) -> Reference:
    def reference(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
        height, width = image.shape[-2:]
        side, aspect = op.max_size, width / height
        tall = (height >= width) == longest
        size = (side, int(side * aspect)) if tall else (int(side / aspect), side)
        return resize(Sized(op, size), image, params)

    return reference


def letter_box(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    """Follow Ultralytics: fit, round, and halve what is left."""
    (height, width), (h, w) = image.shape[-2:], op.size
    ratio = min(h / height, w / width)
    ratio = ratio if op.scale_up else min(ratio, 1.0)
    inner_h, inner_w = round(height * ratio), round(width * ratio)
    spare_y, spare_x = (h - inner_h) / 2, (w - inner_w) / 2
    top, left = round(spare_y - 0.1), round(spare_x - 0.1)
    output = np.full((*image.shape[:2], h, w), op.flags["fill"][0])
    part = output[..., top : top + inner_h, left : left + inner_w]
    part[:] = [
        [cv2.resize(plane, (inner_w, inner_h), interpolation=cv2.INTER_LINEAR) for plane in row] for row in image
    ]
    return output


def zoom_out(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    """Put the image on the canvas of SSD, and take the canvas at the pixels of the output."""
    height, width = image.shape[-2:]
    rows = []
    for row, side, left, top in zip(image, *(params[n].astype(float) for n in ("side", "left", "top")), strict=True):
        x = places(-left * side, side * width, width, False)
        y = places(-top * side, side * height, height, False)
        rows.append(sample(row, *np.meshgrid(x, y), "grid-constant", op.flags["fill"][0]))
    return np.stack(rows)


REFERENCES: Mapping[str, Reference] = {
    "LetterBox": letter_box,
    "LongestMaxSize": max_size(True),
    "PadTo": pad_to,
    "RandomD4": d4,
    "RandomIoUCrop": iou_crop,
    "RandomRotation90": rotation90,
    "RandomShear": shear,
    "RandomTranslate": translate,
    "RandomTranspose": transpose,
    "RandomZoomOut": zoom_out,
    "SmallestMaxSize": max_size(False),
}

# -------------------------------------------------------------------------------------------------------------- parity

MORE: Mapping[str, list[dict[str, Any]]] = {
    "LongestMaxSize": [
        {"max_size": 60},
        {"max_size": 20, "resample": "nearest"},
        {"max_size": 20, "resample": "bicubic"},
    ],
    "PadTo": [
        {"size": (40, 48), "pad_value": 0.3},
        {"size": (20, 50)},
        {"size": (20, 50), "crop_if_exceeds": False},
        {"size": (40, 50), "pad_mode": "reflect"},
        {"size": (40, 50), "pad_mode": "replicate"},
        {"size": (40, 50), "pad_mode": "circular"},
    ],
    "RandomRotation90": [{"times": (-3, 3)}, {"times": (2, 2), "resample": "nearest"}],
    "RandomShear": [
        {"shear": 20.0},
        {"shear": (10.0, 30.0), "padding_mode": "border"},
        {"shear": (-10.0, 10.0, -20.0, -10.0), "padding_mode": "reflection", "align_corners": False},
        {"shear": 15.0, "resample": "bicubic"},
        {"shear": 15.0, "resample": "nearest"},
    ],
    "RandomTranslate": [
        {"translate_x": (0.1, 0.3)},
        {"translate_y": (-0.3, 0.3), "padding_mode": "border"},
        {"translate_x": (-0.2, 0.2), "padding_mode": "reflection", "align_corners": False},
        {"translate_x": (-0.2, 0.2), "translate_y": (0.0, 0.2), "resample": "bicubic"},
    ],
    "SmallestMaxSize": [{"max_size": 60}, {"max_size": 20, "resample": "nearest"}],
}


def turns_are_whole_numbers(kornia: Any) -> None:
    for library, share in ((K, 1 / 3), (kornia, 1 / 2)):
        drawn = library.RandomRotation90((-1, 1), p=1.0).forward_parameters((30000, 1, 4, 4))["times"].round()
        assert abs((drawn == 0).float().mean().item() - share) < 0.015


def pad_to_leads_back_to_the_size_of_its_input(kornia: Any) -> None:
    image = torch.rand(1, 1, 6, 8)
    ours, theirs = K.PadTo((4, 12), pad_value=0.5), kornia.PadTo((4, 12), pad_value=0.5)
    back = ours.inverse(ours(image))
    assert torch.equal(back[..., :4, :], image[..., :4, :]) and back[..., 4:, :].eq(0.5).all()
    assert theirs.inverse(theirs(image)).shape == (1, 1, 4, 8)


INTENDED: Mapping[str, tuple[Callable[[Any], None], str]] = {
    "RandomRotation90 times": (
        turns_are_whole_numbers,
        "every number of turns is as likely as the others; kornia rounds a draw, and the ends get half a share",
    ),
    "PadTo inverse": (
        pad_to_leads_back_to_the_size_of_its_input,
        "the size of the input comes back, and what was cut is filled; kornia gives the cut image back",
    ),
}
