"""Blurs."""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from .. import kernels
from ..common.arguments import number, odd_pair, pair
from ..common.checks import check
from ..common.types import Flags, Params
from ..kernels.blur import maths as filters
from ..kinds.intensity import Intensity
from ..sampling.draw import Draw
from ..sampling.params import Param
from ..sampling.ranges import Bounds, Range, whole_numbers, whole_pair


class Blur(Intensity):
    """Base class of the blurs by a kernel.

    Raises:
        ValueError: if the border needs more pixels than the image has.
    """

    own_dtype = True

    def largest(self, flags: Flags) -> tuple[int, int]:
        """The (height, width) of the largest kernel of a call."""
        return flags["kernel_size"]

    def check_shape(self, shape: Sequence[int], flags: Flags) -> None:
        kernel, border = self.largest(flags), flags.get("border_type", "reflect")
        least = [k // 2 + (border == "reflect") if border in ("reflect", "circular") else 1 for k in kernel]
        if shape[-2] < least[0] or shape[-1] < least[1]:
            raise ValueError(
                f"{type(self).__name__}: input: expected at least {tuple(least)} pixels for kernel_size {kernel} and "
                f"border {border!r}, got {tuple(shape[-2:])}"
            )


class RandomGaussianBlur(Blur):
    """Blur with a Gaussian of random width.

    Args:
        kernel_size: size (height, width) of the kernel, odd, or one number for both.
        sigma: (low, high) of the standard deviation in pixels.
        border_type: ``"constant"`` (zeros), ``"reflect"``, ``"replicate"`` or ``"circular"``.
        separable: accepted for compatibility; the filter is always separated.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        sigma: (B,).
    """

    params = (Param("sigma", neutral=0.0),)

    def __init__(
        self,
        kernel_size: int | tuple[int, int],
        sigma: Bounds,
        border_type: Any = "reflect",
        separable: bool = True,
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {"sigma": Range(sigma, "sigma", None, (0, float("inf")))}
        self.accept(kernel_size=kernel_size, separable=separable, border_type=border_type)

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        along_y, along_x = (filters.gaussian_weights(params["sigma"], k) for k in flags["kernel_size"])
        return kernels.separable_filter(input, along_y, along_x, flags["border_type"])


class RandomBoxBlur(Blur):
    """Blur with the mean of a window.

    A window of an even size reaches a pixel further to the right and down than to the left and up.

    Args:
        kernel_size: size (height, width) of the window, or one number for both.
        border_type: ``"constant"`` (zeros), ``"reflect"``, ``"replicate"`` or ``"circular"``.
        normalized: accepted for compatibility; the filter is always separated, and always a mean.

    Shape:
        (B, C, H, W) to (B, C, H, W).
    """

    flag_checks: ClassVar = {"kernel_size": pair}

    def __init__(
        self,
        kernel_size: tuple[int, int] = (3, 3),
        border_type: Any = "reflect",
        normalized: bool = True,
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.accept(kernel_size=kernel_size, border_type=border_type, normalized=normalized)

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        return kernels.box_blur(input, self.gate(params), *flags["kernel_size"], flags["border_type"])


class RandomMedianBlur(Blur):
    """Take the median of a window, the image mirrored about the centres of its edge pixels.

    Args:
        kernel_size: size (height, width) of the window, odd, or one number for both.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Raises:
        ValueError: if the window reaches further beyond an edge than the image is large.
    """

    def __init__(
        self,
        kernel_size: tuple[int, int] = (3, 3),
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.accept(kernel_size=kernel_size)

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        return kernels.median_blur(input, self.gate(params), *flags["kernel_size"])


class RandomMotionBlur(Blur):
    """Blur along a line of random angle, as a moving camera does.

    Args:
        kernel_size: length of the line in pixels, odd, or a (low, high) range of it; one is drawn for the whole batch.
        angle: (low, high) in degrees, counter-clockwise, or one number for both signs.
        direction: (low, high) within [-1, 1], or one number for both signs: 0 weighs the line evenly, 1 its left end
            most and its right end not at all, before it is turned.
        border_type: ``"constant"`` (zeros), ``"reflect"``, ``"replicate"`` or ``"circular"``.
        resample: how the line is turned: ``"nearest"``, ``"bilinear"`` or ``"bicubic"``.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        ksize_factor: (B,), int32, the length of the line.
        angle_factor: (B,), degrees.
        direction_factor: (B,).
        idx: (1,), int64, a row of the batch, kept for compatibility: each row has its own length.
    """

    params = (
        Param("ksize_factor", neutral=1),
        Param("angle_factor"),
        Param("direction_factor"),
        Param("idx", dim=None),
    )
    columns = 4

    def __init__(
        self,
        kernel_size: int | tuple[int, int],
        angle: Bounds,
        direction: Bounds,
        border_type: Any = "CONSTANT",
        resample: Any = "NEAREST",
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        if isinstance(kernel_size, int):
            odd_pair(kernel_size, "kernel_size")
            self.halves = kernel_size // 2, kernel_size // 2
        else:
            low, high = whole_pair(kernel_size, "kernel_size", 1)
            self.halves = low // 2, (high - 1) // 2
            if self.halves[0] > self.halves[1]:
                raise ValueError(f"kernel_size: expected a range with an odd number in it, got {kernel_size!r}")
        self.ranges = {
            "angle_factor": Range(angle, "angle", 0.0, (-360, 360)),
            "direction_factor": Range(direction, "direction", 0.0, (-1, 1)),
        }
        self.accept(border_type=border_type, resample=resample)

    @property
    def canvas(self) -> int:
        """The size of the kernel that every line fits into."""
        return 2 * self.halves[1] + 1

    def largest(self, flags: Flags) -> tuple[int, int]:
        return self.canvas, self.canvas

    def sample(self, draw: Draw) -> Params:
        rows, shared = draw.shape[0], draw.u[:1]
        size = 2 * whole_numbers(shared[:, 2], *self.halves) + 1
        return {
            "ksize_factor": size.to(torch.int32).expand(rows),
            "angle_factor": self.ranges["angle_factor"](draw.u[:, 0]),
            "direction_factor": self.ranges["direction_factor"](draw.u[:, 1]),
            "idx": (shared[:, 3] * rows).long(),
        }

    def validate(self, params: Params, gate: Tensor) -> None:
        super().validate(params, gate)
        size, most = params["ksize_factor"], self.canvas
        check((size > 0) & (size % 2 == 1) & (size <= most), gate, f"ksize_factor: expected odd numbers up to {most}")

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        size, angle, direction = (params[param.name] for param in self.params[:3])
        weights = filters.motion_weights(size, angle, direction, self.canvas, flags["resample"])
        return kernels.filter2d(input, weights, flags["border_type"])


class RandomDefocus(Blur):
    """Blur as a lens out of focus does: average over a disk with softened edges.

    Defined as the defocus blur of ImageNet-C (D. Hendrycks and T. Dietterich, "Benchmarking neural network robustness
    to common corruptions and perturbations", ICLR 2019, arXiv 1903.12261): the mean of the pixels within the radius,
    then a Gaussian of 3 by 3 pixels, or 5 by 5 for a radius above 8.

    Args:
        radius: (low, high) of the radius in whole pixels, or the largest, with 1 as the smallest.
        alias_blur: (low, high) of the Gaussian's standard deviation in pixels, or the largest.
        border_type: ``"constant"`` (zeros), ``"reflect"``, ``"replicate"`` or ``"circular"``.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        radius: (B,), int64.
        alias_blur: (B,).
    """

    params = (Param("radius", neutral=0), Param("alias_blur", neutral=0.0))
    columns = 2

    def __init__(
        self,
        radius: int | tuple[int, int] = (3, 10),
        alias_blur: Bounds = (0.1, 0.5),
        border_type: Any = "reflect",
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.radius = whole_pair(radius, "radius", 1, single=True)
        self.ranges = {"alias_blur": Range(alias_blur, "alias_blur", 0.0, (0, float("inf")))}
        self.accept(border_type=border_type)

    @property
    def canvas(self) -> int:
        """The size of the largest kernel."""
        return 2 * self.radius[1] + filters.alias_size(self.radius[1])

    def largest(self, flags: Flags) -> tuple[int, int]:
        return self.canvas, self.canvas

    def sample(self, draw: Draw) -> Params:
        return {
            "radius": whole_numbers(draw.u[:, 0], *self.radius).long(),
            "alias_blur": self.ranges["alias_blur"](draw.u[:, 1]),
        }

    def validate(self, params: Params, gate: Tensor) -> None:
        super().validate(params, gate)
        radius, most = params["radius"], self.radius[1]
        check((radius >= 0) & (radius <= most), gate, f"radius: expected whole numbers up to {most}")

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        return kernels.defocus(input, params["radius"], params["alias_blur"], self.radius[1], flags["border_type"])


class RandomZoomBlur(Intensity):
    """Blur as a zoom during the exposure does: average over zooms about the image's centre.

    Defined after the zoom blur of ImageNet-C (D. Hendrycks and T. Dietterich, "Benchmarking neural network robustness
    to common corruptions and perturbations", ICLR 2019, arXiv 1903.12261), with a fixed number of zooms, evenly spaced
    from none to the largest, each interpolated linearly.

    Args:
        max_factor: (low, high) of the largest zoom, at least 1, or its upper bound.
        steps: how many images are averaged.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        max_factor: (B,).
    """

    params = (Param("max_factor", neutral=1.0),)
    own_dtype = True

    def __init__(
        self,
        max_factor: Bounds = (1.0, 1.31),
        steps: int = 11,
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        single = isinstance(max_factor, (int, float)) and not isinstance(max_factor, bool)
        bounds = (1.0, number(max_factor, "max_factor")) if single else max_factor
        self.ranges = {"max_factor": Range(bounds, "max_factor", None, (1, float("inf")))}
        self.accept(steps=steps)

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        return kernels.zoom_blur(input, params["max_factor"], flags["steps"])


class RandomSharpness(Intensity):
    """Blend with a smoothed copy, or away from it, as ``PIL.ImageEnhance.Sharpness`` does.

    Values are cut to [0, 1], before and after. Pixels at the edges stay as they are, and with them an image of less
    than three pixels a side.

    Args:
        sharpness: (low, high) of the factor, or its upper bound: 0 is the smoothed copy, 1 the image, and more is
            sharper.

    Shape:
        (B, C, H, W) to (B, C, H, W).

    Params:
        sharpness: (B,).
    """

    params = (Param("sharpness", neutral=1.0),)
    own_dtype = True

    def __init__(
        self,
        sharpness: Bounds = 0.5,
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {"sharpness": Range(sharpness, "sharpness", 0.0, (0, float("inf")))}

    def apply_transform(self, input: Tensor, params: Params, flags: Flags, transform: Tensor | None = None) -> Tensor:
        return kernels.sharpen(input, params["sharpness"])
