"""OpenCV's side of the recipes: what a loader written by hand calls on each image, draws included."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .opencv_colours import Colours, Image, Transform
from .peers import Arguments, Peer, corner, cut, erased, given, hole, pair


class Loader(Colours):
    """Builders of transforms for images of `side`, whose brightest value is `white`."""

    def __init__(self, side: int, white: float) -> None:
        super().__init__(white)
        self.side = side
        self.corners = np.array([[0, 0], [side - 1, 0], [side - 1, side - 1], [0, side - 1]], np.float32)

    def sometimes(self, build: Callable[[Arguments], Transform], did: str = "exact", **more: Any) -> Peer:
        """Make a transform happen with probability p; an image without it is copied."""

        def wrap(a: Arguments) -> Transform:
            transform, p = build(a), a.get("p", 1.0)
            return lambda image: transform(image) if self.rng.random() < p else image.copy()

        return Peer(wrap, did, **more)

    def turn(self, degrees: float, scale: float = 1.0, shear: float = 0.0, shift: Any = (0.0, 0.0)) -> Any:
        """Give the 2 x 3 matrix about the centre; a positive angle turns counter-clockwise."""
        middle = (self.side - 1) / 2
        about = np.vstack([self.cv2.getRotationMatrix2D((middle, middle), degrees, scale), [0, 0, 1]])
        lean = math.tan(math.radians(shear))
        matrix = about @ np.array([[1, lean, -lean * middle], [0, 1, 0], [0, 0, 1]])
        return matrix[:2] + [[0, 0, shift[0]], [0, 0, shift[1]]]

    def warp(self, image: Image, matrix: Any) -> Image:
        """Move an image, bilinearly."""
        return self.cv2.warpAffine(image, matrix, (self.side, self.side), flags=self.cv2.INTER_LINEAR)

    def rotation(self, a: Arguments) -> Transform:
        """Turn; a positive angle turns counter-clockwise, as in ours."""
        bounds = pair(a["degrees"])
        return lambda image: self.warp(image, self.turn(self.rng.uniform(*bounds)))

    def affine(self, a: Arguments) -> Transform:
        """Turn, scale, shear and shift; the angles of an affine map are clockwise, unlike those of a rotation."""
        degrees, scale, shear = pair(a["degrees"]), a["scale"], pair(a["shear"])
        reach = np.multiply(a["translate"] or (0.0, 0.0), self.side)
        draw = self.rng.uniform

        def apply(image: Image) -> Image:
            return self.warp(image, self.turn(-draw(*degrees), draw(*scale), -draw(*shear), draw(-reach, reach)))

        return apply

    def shear(self, a: Arguments) -> Transform:
        """Lean to the side, then down; the signs are those of ours."""
        middle, draw = (self.side - 1) / 2, self.rng.uniform

        def apply(image: Image) -> Image:
            x, y = (math.tan(math.radians(draw(*bounds))) for bounds in (a["shear"][:2], a["shear"][2:]))
            linear = np.array([[1, -x], [-y, 1 + x * y]])
            return self.warp(image, np.column_stack([linear, middle - linear @ (middle, middle)]))

        return apply

    def translation(self, a: Arguments) -> Transform:
        """Shift."""
        bounds = np.transpose([a["translate_x"], a["translate_y"]]) * self.side
        return lambda image: self.warp(image, np.column_stack([np.eye(2), self.rng.uniform(*bounds)]))

    def quarter_turns(self, a: Arguments) -> Transform:
        """Turn counter-clockwise by quarters."""
        codes = (None, self.cv2.ROTATE_90_COUNTERCLOCKWISE, self.cv2.ROTATE_180, self.cv2.ROTATE_90_CLOCKWISE)

        def apply(image: Image) -> Image:
            code = codes[self.rng.integers(a["times"][0], a["times"][1] + 1) % 4]
            return image.copy() if code is None else self.cv2.rotate(image, code)

        return apply

    def letter_box(self, a: Arguments) -> Transform:
        """Fit and fill with grey."""
        grey = 114 / 255 * self.white

        def apply(image: Image) -> Image:
            ratio = min(n / self.side for n in a["size"])
            inner = round(self.side * ratio)
            spare = [n - inner for n in a["size"]]
            (top, left), (bottom, right) = [n // 2 for n in spare], [n - n // 2 for n in spare]
            resized = self.cv2.resize(image, (inner, inner))
            constant = self.cv2.BORDER_CONSTANT
            return self.cv2.copyMakeBorder(resized, top, bottom, left, right, constant, value=(grey,) * 3)

        return apply

    def pad(self, a: Arguments) -> Transform:
        """Pad on the right and at the bottom."""
        down, right = (n - self.side for n in a["size"])
        return lambda image: self.cv2.copyMakeBorder(image, 0, down, 0, right, self.cv2.BORDER_CONSTANT)

    def perspective(self, a: Arguments) -> Transform:
        """Move every corner inward."""
        reach = a["distortion_scale"] * self.side / 2
        inward = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]], np.float32)

        def apply(image: Image) -> Image:
            return self.project(image, self.corners, self.corners + inward * self.rng.uniform(0, reach, (4, 2)))

        return apply

    def project(self, image: Image, start: Any, end: Any) -> Image:
        """Take four points to four others."""
        matrix = self.cv2.getPerspectiveTransform(start.astype(np.float32), end.astype(np.float32))
        return self.cv2.warpPerspective(image, matrix, (self.side, self.side))

    def place(self, height: int, width: int) -> tuple[int, int]:
        """Draw top and left of a window."""
        return self.rng.integers(0, self.side - height + 1), self.rng.integers(0, self.side - width + 1)

    def patch(self, scale: tuple[float, float], ratio: tuple[float, float]) -> tuple[int, int]:
        """Draw height and width of a window by its share of the area and its aspect ratio."""
        area = self.rng.uniform(*scale) * self.side**2
        aspect = math.exp(self.rng.uniform(*map(math.log, ratio)))
        return min(self.side, round(math.sqrt(area / aspect))), min(self.side, round(math.sqrt(area * aspect)))

    def crop(self, a: Arguments) -> Transform:
        """Cut a window out anywhere."""
        return lambda image: cut(image, self.place(*a["size"]), a["size"])

    def centre(self, a: Arguments) -> Transform:
        """Cut out the middle."""
        corner = tuple((self.side - n) // 2 for n in a["size"])
        return lambda image: cut(image, corner, a["size"])

    def resized_crop(self, a: Arguments) -> Transform:
        """Cut a window out and resize it."""
        bounds = {"scale": (0.08, 1.0), "ratio": (3 / 4, 4 / 3), **given(a, "scale", "ratio")}

        def apply(image: Image) -> Image:
            size = self.patch(**bounds)
            top, left = self.place(*size)
            return self.cv2.resize(image[top : top + size[0], left : left + size[1]], a["size"][::-1])

        return apply

    def erasing(self, a: Arguments) -> Transform:
        """Blacken a rectangle."""

        def apply(image: Image) -> Image:
            size = self.patch((0.02, 0.33), (0.3, 3.3))
            return hole(image, *self.place(*size), *size)

        return apply

    def noise(self, a: Arguments) -> Transform:
        """Add normal noise; bytes saturate."""

        def apply(image: Image) -> Image:
            drawn = self.cv2.randn(np.empty(image.shape, np.float32), 0, a["std"] * self.white)
            return self.cv2.add(image, drawn, dtype=self.cv2.CV_8U if image.dtype == np.uint8 else self.cv2.CV_32F)

        return apply

    def blur(self, a: Arguments) -> Transform:
        """Blur with a drawn width."""
        border = self.cv2.BORDER_REFLECT_101
        return lambda image: self.cv2.GaussianBlur(
            image, a["kernel_size"], self.rng.uniform(*a["sigma"]), borderType=border
        )

    def box(self, a: Arguments) -> Transform:
        """Blur with the mean of a window."""
        return lambda image: self.cv2.blur(image, a["kernel_size"][::-1], borderType=self.cv2.BORDER_REFLECT_101)

    def median(self, a: Arguments) -> Transform:
        """Take the median of a window."""
        return lambda image: self.cv2.medianBlur(image, a["kernel_size"][0])

    def motion(self, a: Arguments) -> Transform:
        """Blur along a line, which is drawn and turned; a positive angle turns counter-clockwise."""
        n, angles, ends = a["kernel_size"], pair(a["angle"]), pair(a["direction"])

        def apply(image: Image) -> Image:
            end = (1 + self.rng.uniform(*ends)) / 2
            line = np.zeros((n, n), np.float32)
            line[n // 2] = np.linspace(end, 1 - end, n)
            turn = self.cv2.getRotationMatrix2D((n // 2, n // 2), self.rng.uniform(*angles), 1)
            line = self.cv2.warpAffine(line, turn, (n, n), flags=self.cv2.INTER_NEAREST)
            return self.cv2.filter2D(image, -1, line / line.sum(), borderType=self.cv2.BORDER_REFLECT_101)

        return apply

    def defocus(self, a: Arguments) -> Transform:
        """Average over a disk with soft edges."""

        def apply(image: Image) -> Image:
            radius, sigma = self.rng.integers(a["radius"][0], a["radius"][1] + 1), self.rng.uniform(*a["alias_blur"])
            soft = 3 if radius <= 8 else 5
            y, x = np.mgrid[-radius - 2 : radius + 3, -radius - 2 : radius + 3]
            disk = (x**2 + y**2 <= radius**2).astype(np.float32)
            disk = self.cv2.GaussianBlur(disk / disk.sum(), (soft, soft), sigma)
            return self.cv2.filter2D(image, -1, disk, borderType=self.cv2.BORDER_REFLECT_101)

        return apply

    def sharpness(self, a: Arguments) -> Transform:
        """Move away from a smoothed copy, but for the edges."""
        smooth = np.array([[1, 1, 1], [1, 5, 1], [1, 1, 1]], np.float32) / 13
        inner = (slice(1, -1), slice(1, -1))

        def apply(image: Image) -> Image:
            kernel = smooth * (1 - (f := self.rng.uniform(*a["sharpness"])))
            kernel[1, 1] += f
            output = image.copy()
            output[inner] = self.cv2.filter2D(image, -1, kernel)[inner]
            return output if image.dtype == np.uint8 else np.clip(output, 0, 1, out=output)

        return apply

    def jpeg(self, a: Arguments) -> Transform:
        """Code and decode; floats become bytes for it."""

        def apply(image: Image) -> Image:
            quality = round(self.rng.uniform(*a["jpeg_quality"]))
            byte = image if image.dtype == np.uint8 else self.cv2.convertScaleAbs(image, alpha=255)
            bgr = self.cv2.cvtColor(byte, self.cv2.COLOR_RGB2BGR)
            file = self.cv2.imencode(".jpg", bgr, (self.cv2.IMWRITE_JPEG_QUALITY, quality))[1]
            output = self.cv2.cvtColor(self.cv2.imdecode(file, self.cv2.IMREAD_COLOR), self.cv2.COLOR_BGR2RGB)
            return output if image.dtype == np.uint8 else output.astype(np.float32) / 255

        return apply

    def downscale(self, a: Arguments) -> Transform:
        """Shrink and enlarge."""
        modes = {"nearest": self.cv2.INTER_NEAREST, "bilinear": self.cv2.INTER_LINEAR, "area": self.cv2.INTER_AREA}
        down, up = modes[a.get("downscale", "nearest")], modes[a.get("upscale", "nearest")]

        def apply(image: Image) -> Image:
            n = max(1, round(self.side * self.rng.uniform(*a["scale_range"])))
            return self.cv2.resize(
                self.cv2.resize(image, (n, n), interpolation=down), image.shape[1::-1], interpolation=up
            )

        return apply


def opencv(side: int, white: float) -> dict[str, Peer]:
    """Give OpenCV's transforms of images of `side`, whose brightest value is `white`, by label."""
    loader = Loader(side, white)
    cv2, often = loader.cv2, loader.sometimes
    return {
        "CenterCrop": often(loader.centre),
        "LetterBox": often(loader.letter_box, "bilinear"),
        "LongestMaxSize": often(lambda a: lambda image: cv2.resize(image, (a["max_size"],) * 2), "bilinear"),
        "Normalize": often(loader.normalize),
        "PadTo": often(loader.pad),
        "RandomAffine": often(loader.affine, "bilinear"),
        "RandomBoxBlur": often(loader.box, "reflect"),
        "RandomBrightness": often(loader.brightness, "adds"),
        "RandomClahe": often(loader.clahe, "tables half a pixel off"),
        "RandomContrast": often(loader.contrast),
        "RandomCrop": often(loader.crop, shown=lambda a, row: lambda image: cut(image, corner(row), a["size"])),
        "RandomDefocus": often(loader.defocus, "reflect"),
        "RandomDownscale": often(loader.downscale, "nearest"),
        "RandomDownscale[area]": often(loader.downscale, "area, bilinear"),
        "RandomEqualize": often(loader.equalize),
        "RandomErasing": often(loader.erasing, shown=lambda a, row: lambda image: hole(image, *erased(row))),
        "RandomGamma": often(loader.gamma),
        "RandomGaussianBlur": often(loader.blur, "reflect"),
        "RandomGaussianNoise": often(loader.noise, "saturates", comparable=False),
        "RandomGrayscale": often(loader.grey),
        "RandomHorizontalFlip": often(lambda a: lambda image: cv2.flip(image, 1)),
        "RandomHue": often(loader.hue),
        "RandomJPEG": often(loader.jpeg, "libjpeg"),
        "RandomMedianBlur": often(loader.median, "replicate"),
        "RandomMotionBlur": often(loader.motion, "reflect"),
        "RandomInvert": often(lambda a: lambda image: cv2.subtract((white,) * 4, image)),
        "RandomPerspective": often(
            loader.perspective,
            "bilinear",
            shown=lambda a, row: lambda x: loader.project(x, row["start_points"].numpy(), row["end_points"].numpy()),
        ),
        "RandomResizedCrop": often(loader.resized_crop, "bilinear"),
        "RandomRotation": often(loader.rotation, "bilinear"),
        "RandomSharpness": often(loader.sharpness),
        "RandomPosterize": often(loader.posterize),
        "RandomRotation90": often(loader.quarter_turns),
        "RandomSaturation": often(loader.saturation),
        "RandomShear": often(loader.shear, "bilinear"),
        "RandomSolarize": often(loader.solarize),
        "RandomTranslate": often(loader.translation, "bilinear"),
        "RandomTranspose": often(lambda a: lambda image: cv2.transpose(image)),
        "RandomVerticalFlip": often(lambda a: lambda image: cv2.flip(image, 0)),
        "Resize": often(lambda a: lambda image: cv2.resize(image, a["size"][::-1]), "bilinear"),
        "SmallestMaxSize": often(lambda a: lambda image: cv2.resize(image, (a["max_size"],) * 2), "bilinear"),
    }
