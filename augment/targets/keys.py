"""Data keys: the kinds of values that travel with an image, each a class, and the names they go by.

A kind of box of one's own is a subclass of ``Boxes`` and a line: ``KEYS["bbox_xywhr"] = RotatedBoxes()``.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..common.dtypes import load
from ..maps.warp import Size, Warp
from . import visibility
from .boxes import clipped

Value = Any


class Key:
    """A kind of value.

    Attributes:
        tail: the last dimensions of a value.
        ranks: how many dimensions a value may have; the largest is that of a batch.
        listed: whether it may come as a list with an entry a row.
        placed: whether it is labels (B, N, *tail), of which each has a place in the image.
        framed: whether it has the height and width of the image.
        options: the names of ``extra_args`` that it knows; None for the flags of any op.
    """

    tail: ClassVar[tuple[int, ...]] = ()
    ranks: ClassVar[tuple[int, int]] = (2, 4)
    listed: ClassVar[bool] = True
    placed: ClassVar[bool] = False
    framed: ClassVar[bool] = False
    options: ClassVar[tuple[str, ...] | None] = ()

    def fits(self, value: Value) -> bool:
        """Whether a value can be of this kind, by what it is made of and its last dimensions."""
        if isinstance(value, (list, tuple)):
            return self.listed and all(isinstance(v, Tensor) and self.fits(v) for v in value)
        if not isinstance(value, Tensor) or value.ndim < 2:
            return False
        return value.shape[value.ndim - len(self.tail) :] == self.tail


class Images(Key):
    """Images (B, C, H, W), floating or uint8."""

    listed = False
    framed = True
    options = None

    def fits(self, value: Value) -> bool:
        return super().fits(value) and is_image(value)


class Masks(Key):
    """Masks (B, C, H, W) of any dtype."""

    framed = True
    options = ("resample", "padding_mode", "fill", "align_corners")


class Classes(Key):
    """Classes of images or of labels, in any form."""

    def fits(self, value: Value) -> bool:
        return True


class Labels(Key):
    """Labels (B, N, *tail), of which each has a place in the image.

    Attributes:
        watched: the key of the form in which is watched what an image still shows of them.
    """

    placed = True
    options = ("clip",)
    watched: ClassVar[str]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.ranks = (1 + len(cls.tail), 2 + len(cls.tail))

    def moved(self, value: Tensor, warp: Warp, clip: bool) -> Tensor:
        """The labels behind a warp, cut to its output with ``clip``."""
        raise NotImplementedError(f"{type(self).__name__}: moved is not written")

    def shown(self, value: Tensor) -> Tensor:
        """The labels in the form that is watched."""
        raise NotImplementedError(f"{type(self).__name__}: shown is not written")

    def of_shown(self, value: Tensor, dtype: torch.dtype) -> Tensor:
        """The labels of a form that is watched, which ``shown`` gives, in a dtype."""
        return as_dtype(value, dtype)

    def clip(self, value: Tensor, size: Size) -> Tensor:
        """The labels, cut to an image."""
        raise NotImplementedError(f"{type(self).__name__}: clip is not written")

    def watch(self, value: Tensor) -> Tensor:
        """What goes through the ops beside labels, to tell what is still seen of them."""
        return self.shown(value)

    def cut(self, value: Tensor, size: Size, by_center: bool = False) -> Tensor:
        """What is watched, without what lies outside an image; ``by_center``, without all whose centre does."""
        raise NotImplementedError(f"{type(self).__name__}: cut is not written")

    def seen(self, value: Tensor, least: float) -> Tensor:
        """Which of the labels that are watched are still there, (B, N) bool; ``least`` is a share of a box's area."""
        raise NotImplementedError(f"{type(self).__name__}: seen is not written")


class Keypoints(Labels):
    """Points (B, N, 2), x, y: positions in pixel centres."""

    tail = (2,)
    watched = "keypoints"

    def moved(self, value: Tensor, warp: Warp, clip: bool) -> Tensor:
        points = warp.points(value)
        return self.clip(points, warp.size) if clip else points

    def clip(self, value: Tensor, size: Size) -> Tensor:
        return clipped(value, size, 1)

    def shown(self, value: Tensor) -> Tensor:
        return load(value)

    def cut(self, value: Tensor, size: Size, by_center: bool = False) -> Tensor:
        return visibility.cut_points(value, size)

    def seen(self, value: Tensor, least: float) -> Tensor:
        return value.isfinite().all(-1)


class Boxes(Labels):
    """Boxes (B, N, *tail): regions with edges, of which (0, 0, W, H) covers the image.

    A kind of box says its ``outline`` and how it is made ``of`` one.
    """

    watched = "bbox_xyxy"

    def outline(self, boxes: Tensor) -> Tensor:
        """The corners (..., 4, 2) of boxes (..., *tail), clockwise from the first, floating."""
        raise NotImplementedError(f"{type(self).__name__}: outline is not written")

    def of(self, corners: Tensor) -> Tensor:
        """The boxes (..., *tail) that enclose corners (..., 4, 2)."""
        raise NotImplementedError(f"{type(self).__name__}: of is not written")

    def moved(self, value: Tensor, warp: Warp, clip: bool) -> Tensor:
        boxes = self.of(warp.corners(self.outline(value)))
        return self.clip(boxes, warp.size) if clip else boxes

    def clip(self, value: Tensor, size: Size) -> Tensor:
        corners = self.outline(value)
        return self.of(clipped(corners.flatten(-2), size).view(corners.shape))

    def shown(self, value: Tensor) -> Tensor:
        """The upright boxes (..., 4), x1, y1, x2, y2, that enclose boxes, in float32 or float64."""
        corners = self.outline(load(value))
        return torch.cat([corners.amin(-2), corners.amax(-2)], -1)

    def of_shown(self, value: Tensor, dtype: torch.dtype) -> Tensor:
        x1, y1, x2, y2 = value.unbind(-1)
        corners = torch.stack([x1, y1, x2, y1, x2, y2, x1, y2], -1).unflatten(-1, (4, 2))
        return as_dtype(self.of(corners), dtype)

    def watch(self, value: Tensor) -> Tensor:
        boxes = self.shown(value)
        return torch.cat([boxes, boxes], -2)

    def cut(self, value: Tensor, size: Size, by_center: bool = False) -> Tensor:
        return visibility.cut_boxes(value, size, by_center)

    def seen(self, value: Tensor, least: float) -> Tensor:
        return visibility.seen_boxes(value, least)


class BoxCorners(Boxes):
    """Boxes as their corners (B, N, 4, 2), clockwise from the top left one."""

    tail = (4, 2)

    def outline(self, boxes: Tensor) -> Tensor:
        return boxes

    def of(self, corners: Tensor) -> Tensor:
        return corners


class BoxesXYXY(Boxes):
    """Upright boxes (B, N, 4), x1, y1, x2, y2; where they are turned, the ones that enclose them."""

    tail = (4,)

    def moved(self, value: Tensor, warp: Warp, clip: bool) -> Tensor:
        boxes = warp.boxes(self.shown(value))
        return self.of_shown(clipped(boxes, warp.size) if clip else boxes, boxes.dtype)

    def clip(self, value: Tensor, size: Size) -> Tensor:
        return self.of_shown(clipped(self.shown(value), size), value.dtype)

    def shown(self, value: Tensor) -> Tensor:
        return load(value)

    def of_shown(self, value: Tensor, dtype: torch.dtype) -> Tensor:
        return as_dtype(value, dtype)


class BoxesXYWH(BoxesXYXY):
    """Upright boxes (B, N, 4), x, y, width, height."""

    def shown(self, value: Tensor) -> Tensor:
        boxes = super().shown(value)
        return torch.cat([boxes[..., :2], boxes[..., :2] + boxes[..., 2:]], -1)

    def of_shown(self, value: Tensor, dtype: torch.dtype) -> Tensor:
        return as_dtype(torch.cat([value[..., :2], value[..., 2:] - value[..., :2]], -1), dtype)


KEYS: dict[str, Key] = {
    "image": Images(),
    "mask": Masks(),
    "bbox": BoxCorners(),
    "bbox_xyxy": BoxesXYXY(),
    "bbox_xywh": BoxesXYWH(),
    "keypoints": Keypoints(),
    "class": Classes(),
}
ALIASES = {"input": "image", "label": "class"}


def labels_of(name: str) -> Labels:
    """The kind of labels that a data key names."""
    key = KEYS[name]
    assert isinstance(key, Labels)
    return key


def as_dtype(value: Tensor, dtype: torch.dtype) -> Tensor:
    """Numbers in a dtype, to the nearest where it has whole ones."""
    return value.to(dtype) if dtype.is_floating_point else value.round().to(dtype)


def read_keys(value: Any) -> list[str]:
    """The names of several data keys, or of one by itself."""
    if isinstance(value, (str, Enum)):
        return [data_key(value)]
    if not isinstance(value, Sequence):
        raise TypeError(f"data_keys: expected a sequence of names, got {value!r}")
    return [data_key(key) for key in value]


def data_key(value: Any) -> str:
    """The name of a data key by name in any case, or by kornia's enum."""
    name = (value.name if isinstance(value, Enum) else value).lower() if isinstance(value, (Enum, str)) else value
    name = ALIASES.get(name, name) if isinstance(name, str) else None
    name = next((known for known in KEYS if known.lower() == name), None)
    if name is None:
        raise ValueError(f"data_keys: expected names out of {[*KEYS, *ALIASES]}, got {value!r}")
    if not isinstance(KEYS[name], Key):
        raise TypeError(f"KEYS[{name!r}]: expected a Key, such as an instance of a class of Boxes; got {KEYS[name]!r}")
    return name


def key_in_dict(name: Any, value: Value) -> str | None:
    """The data key of an entry of a sample, by its name up to a ``_`` or ``-``; None to pass it by."""
    key = key_of_name(name)
    whole = key is not None and name.lower() in (*KEYS, *ALIASES)
    return key if key is None or whole or KEYS[key].fits(value) else None


def key_of_name(name: Any) -> str | None:
    """The data key that a name is, or that it begins with, up to a ``_`` or ``-``; None without."""
    known = sorted([*KEYS, *ALIASES], key=len, reverse=True) if isinstance(name, str) else []
    found = [key for key in known if f"{name.lower()}_".replace("-", "_").startswith(f"{key.lower()}_")]
    return data_key(found[0]) if found else None


def is_image(value: Tensor) -> bool:
    """Whether a tensor has a dtype that images have."""
    return value.is_floating_point() or value.dtype == torch.uint8
