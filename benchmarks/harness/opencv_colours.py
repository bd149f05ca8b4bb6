"""What a loader written by hand does to colours, with OpenCV: a method gives the function of an image."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .peers import Arguments, factors

Image = Any  # (H, W, C) array
Transform = Callable[[Image], Image]


class Colours:
    """Builders of transforms of images whose brightest value is `white`."""

    def __init__(self, white: float) -> None:
        import cv2

        self.cv2, self.white = cv2, white
        self.rng = np.random.default_rng(0)

    def brightness(self, a: Arguments) -> Transform:
        """Add the factor less one."""
        low, high = factors(a["brightness"])

        def apply(image: Image) -> Image:
            added = self.cv2.add(image, np.full(4, (self.rng.uniform(low, high) - 1) * self.white))
            return added if image.dtype == np.uint8 else np.clip(added, 0, 1, out=added)

        return apply

    def normalize(self, a: Arguments) -> Transform:
        """Subtract the mean and divide by the deviation, to float32."""
        mean, scale = (np.array([*t.tolist(), 0]) for t in (a["mean"] * self.white, 1 / (a["std"] * self.white)))
        return lambda image: self.cv2.multiply(self.cv2.subtract(image, mean, dtype=self.cv2.CV_32F), scale)

    def equalize(self, a: Arguments) -> Transform:
        """Equalize each channel."""
        return lambda image: self.cv2.merge([self.cv2.equalizeHist(plane) for plane in self.cv2.split(image)])

    def contrast(self, a: Arguments) -> Transform:
        """Multiply by the factor."""
        low, high = factors(a["contrast"])

        def apply(image: Image) -> Image:
            scaled = self.cv2.multiply(image, (self.rng.uniform(low, high),) * 4)
            return scaled if image.dtype == np.uint8 else np.clip(scaled, 0, 1, out=scaled)

        return apply

    def gamma(self, a: Arguments) -> Transform:
        """Raise to a power, bytes by a table."""

        def apply(image: Image) -> Image:
            power = self.rng.uniform(*a["gamma"])
            if image.dtype != np.uint8:
                return self.cv2.pow(image, power)
            return self.cv2.LUT(image, np.rint(255 * (np.arange(256) / 255) ** power).astype(np.uint8))

        return apply

    def posterize(self, a: Arguments) -> Transform:
        """Clear the low bits of bytes."""
        low, high = a["bits"]

        def apply(image: Image) -> Image:
            if image.dtype != np.uint8:
                raise NotImplementedError("OpenCV has bits of bytes alone")
            return self.cv2.bitwise_and(image, (256 - 2.0 ** (8 - self.rng.integers(low, high + 1)),) * 4)

        return apply

    def solarize(self, a: Arguments) -> Transform:
        """Invert what is at least as bright as the threshold."""
        bounds = a["thresholds"]

        def apply(image: Image) -> Image:
            threshold = self.rng.uniform(*bounds) * self.white
            if image.dtype != np.uint8:
                return np.where(image < threshold, image, self.white - image)
            levels = np.arange(256, dtype=np.uint8)
            return self.cv2.LUT(image, np.where(levels < threshold, levels, 255 - levels))

        return apply

    def hue(self, a: Arguments) -> Transform:
        """Turn the hue, in the space that has it."""
        bounds = a["hue"]

        def change(planes: list[Any]) -> None:
            if planes[0].dtype == np.uint8:  # of 256 steps a turn, and so bytes wrap by themselves
                planes[0] = planes[0] + np.uint8(round(self.rng.uniform(*bounds) * 256) % 256)
            else:
                planes[0] = (planes[0] + np.float32(self.rng.uniform(*bounds) * 360)) % np.float32(360)

        return self.in_hsv(change)

    def saturation(self, a: Arguments) -> Transform:
        """Scale the saturation, in the space that has it."""
        bounds = a["saturation"]

        def change(planes: list[Any]) -> None:
            planes[1] = self.cv2.min(self.cv2.multiply(planes[1], self.rng.uniform(*bounds)), (self.white,) * 4)

        return self.in_hsv(change)

    def in_hsv(self, change: Callable[[list[Any]], None]) -> Transform:
        """Go there, change planes, and come back."""

        def apply(image: Image) -> Image:
            planes = list(self.cv2.split(self.cv2.cvtColor(image, self.cv2.COLOR_RGB2HSV_FULL)))
            change(planes)
            return self.cv2.cvtColor(self.cv2.merge(planes), self.cv2.COLOR_HSV2RGB_FULL)

        return apply

    def clahe(self, a: Arguments) -> Transform:
        """Equalize tiles of each channel."""

        def apply(image: Image) -> Image:
            equalizer = self.cv2.createCLAHE(self.rng.uniform(*a["clip_limit"]), (8, 8))
            return self.cv2.merge([equalizer.apply(plane) for plane in self.cv2.split(image)])

        return apply

    def grey(self, a: Arguments) -> Transform:
        """Take the colour away and keep three channels."""
        there, back = self.cv2.COLOR_RGB2GRAY, self.cv2.COLOR_GRAY2RGB
        return lambda image: self.cv2.cvtColor(self.cv2.cvtColor(image, there), back)
