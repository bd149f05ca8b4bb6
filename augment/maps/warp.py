"""Warp: the one object that moves images, masks, points and boxes, so that labels cannot drift from pixels.

Points are positions in pixel centres. Boxes are regions with edges: (0, 0, W, H) covers an image, and an edge at e lies
at the pixel coordinate e - 0.5.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from .. import kernels
from ..common.dtypes import load, store
from ..common.vocabulary import WHOLE_PIXELS
from ..kernels.warp import maths as resample
from ..kernels.warp import matrices as geometry

Size = tuple[int, int]


class Warp(ABC):
    """A mapping of the pixels of each image of a batch.

    Attributes:
        input_size: (H, W) of what goes in.
        size: (H, W) of what comes out.
    """

    input_size: Size
    size: Size

    @abstractmethod
    def image(
        self, image: Tensor, resample: str = "bilinear", padding_mode: str = "zeros", fill: Sequence[float] = (0.0,)
    ) -> Tensor:
        """Resample an image (B, C, H, W) once; ``fill`` is in the image's own units, one value or one a channel."""

    @abstractmethod
    def points(self, points: Tensor) -> Tensor:
        """Move points (B, N, 2)."""

    @abstractmethod
    def sources(self, points: Tensor) -> Tensor:
        """The points (B, N, 2) of the input that end up at points of the output."""

    @abstractmethod
    def gated(self, gate: Tensor) -> "Warp":
        """The warp that leaves rows alone where the gate (B,) is closed."""

    @abstractmethod
    def inverse(self) -> "Warp":
        """The warp that leads back."""

    @abstractmethod
    def __getitem__(self, row: int) -> "Warp":
        """The warp of one row, as a batch of one."""

    @property
    @abstractmethod
    def matrix(self) -> Tensor:
        """The homography (B, 3, 3) from input pixels to output pixels."""

    def mask(
        self, mask: Tensor, resample: str = "nearest", padding_mode: str = "zeros", fill: Sequence[float] = (0.0,)
    ) -> Tensor:
        """Resample a mask (B, C, H, W) of any dtype; with the default no label arises that was not there."""
        if mask.dtype == torch.bool:
            return self.image(mask.to(torch.uint8), resample, padding_mode, fill).to(torch.bool)
        if resample == "nearest" or mask.is_floating_point() or mask.dtype == torch.uint8:
            return self.image(mask, resample, padding_mode, fill)
        return self.image(mask.double(), resample, padding_mode, fill).round().to(mask.dtype)

    def boxes(self, boxes: Tensor) -> Tensor:
        """The boxes (B, N, 4), as x1, y1, x2, y2, that enclose the moved ones."""
        x1, y1, x2, y2 = boxes.unbind(-1)
        outline = self.outline(torch.stack([x1, y1, x2, y1, x2, y2, x1, y2], -1).unflatten(-1, (4, 2)))
        moved = self.corners(outline)
        enclosing = torch.cat([moved.amin(-2), moved.amax(-2)], -1)
        return enclosing

    def outline(self, corners: Tensor) -> Tensor:
        """The points (B, N, K, 2) to follow of boxes by their corners (B, N, 4, 2)."""
        return corners

    def corners(self, corners: Tensor) -> Tensor:
        """Move points (B, N, K, 2) of boxes, which lie on pixel edges."""
        return self.points(corners.flatten(1, 2) - 0.5).unflatten(1, corners.shape[1:3]) + 0.5

    def then(self, following: "Warp") -> "Warp":
        """The warp that does this one and then another, with one resampling."""
        if self.size != following.input_size:
            raise ValueError(f"following: expected a warp of size {self.size}, got {following.input_size}")
        return Chain(self, following)


class Homography(Warp):
    """A projective map: rotation, affine, perspective, resized crop.

    Args:
        matrix: (B, 3, 3), input pixel -> output pixel.
        input_size: (H, W) of the input.
        size: (H, W) of the output; None for the input's.
        projective: whether the last row may differ from (0, 0, 1).

    Attributes:
        filtered: whether an image that shrinks is filtered, so that nothing between the pixels taken is lost.
    """

    filtered: bool = False

    def __init__(self, matrix: Tensor, input_size: Size, size: Size | None = None, projective: bool = True) -> None:
        self._matrix = matrix
        self.input_size = input_size
        self.size = input_size if size is None else size
        self.projective = projective

    @property
    def matrix(self) -> Tensor:
        return self._matrix

    def _like(self, matrix: Tensor) -> "Homography":
        return type(self)(matrix, self.input_size, self.size, self.projective)

    def neutral(self) -> Tensor:
        """The matrix of a closed gate: the identity, or the whole frame resized where the size changes."""
        if self.size == self.input_size:
            return torch.eye(3, dtype=self.matrix.dtype, device=self.matrix.device)
        (height, width), (h, w) = self.input_size, self.size
        one = self.matrix.new_ones(1)
        return geometry.scaling(w / width, h / height, (w / width - 1) / 2, (h / height - 1) / 2, one)

    def gated(self, gate: Tensor) -> "Homography":
        return self._like(torch.where(gate.view(-1, 1, 1), self.matrix, self.neutral()))

    def image(
        self, image: Tensor, resample: str = "bilinear", padding_mode: str = "zeros", fill: Sequence[float] = (0.0,)
    ) -> Tensor:
        back = geometry.invert(self.matrix)
        return kernels.warp_homography(
            image, back, self.size, resample, padding_mode, list(fill), self.projective, self.filtered
        )

    def points(self, points: Tensor) -> Tensor:
        still = kernels.identity_rows(self.matrix).view(-1, 1, 1)
        precise = self.matrix.to(torch.promote_types(points.dtype, torch.float32))
        return torch.where(still, points, geometry.transform_points(precise, points.to(precise.dtype)).to(points.dtype))

    def inverse(self) -> "Homography":
        inverse = self._like(geometry.invert(self.matrix))
        inverse.input_size, inverse.size = self.size, self.input_size
        return inverse

    def sources(self, points: Tensor) -> Tensor:
        return self.inverse().points(points)

    def then(self, following: Warp) -> Warp:
        if not isinstance(following, Homography) or self.size != following.input_size:
            return super().then(following)
        kind = Permutation if isinstance(self, Permutation) and isinstance(following, Permutation) else Homography
        matrix = geometry.product(following.matrix, self.matrix)
        return kind(matrix, self.input_size, following.size, self.projective or following.projective)

    def __getitem__(self, row: int) -> "Homography":
        return self._like(self.matrix[row : row + 1])


class Fused(Homography):
    """A homography that stands for several, one after the other."""

    filtered = True


class Permutation(Homography):
    """A map of whole pixels onto whole pixels: flip, quarter turn, transpose, crop, pad. Nothing is interpolated."""

    def __init__(self, matrix: Tensor, input_size: Size, size: Size | None = None, projective: bool = False) -> None:
        super().__init__(matrix, input_size, size, projective)

    def neutral(self) -> Tensor:
        """The matrix of a closed gate: the identity, or the centred window where the size changes."""
        if self.size == self.input_size:
            return super().neutral()
        left = (self.input_size[1] - self.size[1]) // 2
        top = (self.input_size[0] - self.size[0]) // 2
        return geometry.translation(-left, -top, self.matrix.new_ones(1))

    def image(
        self, image: Tensor, resample: str = "bilinear", padding_mode: str = "zeros", fill: Sequence[float] = (0.0,)
    ) -> Tensor:
        border = WHOLE_PIXELS.get(padding_mode, padding_mode)
        return kernels.permute(image, self.matrix, self.size, border, list(fill))


class Window(Permutation):
    """A window of whole pixels, the same for every row whether its gate is open or closed.

    Args:
        rows: any tensor (B,), for the number of rows and the device.
        corner: (top, left) of the window in the input; what it has beside the input is filled.
        input_size: (H, W) of the input.
        size: (h, w) of the window.
    """

    def __init__(self, rows: Tensor, corner: Size, input_size: Size, size: Size) -> None:
        self.corner = corner
        super().__init__(geometry.translation(-corner[1], -corner[0], rows), input_size, size)

    def _like(self, matrix: Tensor) -> Permutation:
        return Permutation(matrix, self.input_size, self.size)

    def gated(self, gate: Tensor) -> "Window":
        return self

    def image(
        self, image: Tensor, resample: str = "bilinear", padding_mode: str = "zeros", fill: Sequence[float] = (0.0,)
    ) -> Tensor:
        if padding_mode not in ("zeros", "constant"):
            return super().image(image, resample, padding_mode, fill)
        if len(fill) > 1 or not image.is_floating_point():  # the compiler makes a scalar loop of padded bytes
            return kernels.cut_window(image, self.corner, self.size, list(fill))
        (top, left), (height, width), (h, w) = self.corner, self.input_size, self.size
        sides = [-left, w - width + left, -top, h - height + top]
        if max(sides) <= 0:
            window = image[..., top : top + h, left : left + w]
            return window.clone(memory_format=torch.contiguous_format)
        return F.pad(image, sides, value=fill[0])


class Rescale(Homography):
    """A resize of the whole frame, the same for every row; ``antialias`` widens the filter when it shrinks."""

    def __init__(self, matrix: Tensor, input_size: Size, size: Size, align_corners: bool, antialias: bool) -> None:
        super().__init__(matrix, input_size, size, projective=False)
        self.align_corners, self.antialias = align_corners, antialias

    def _like(self, matrix: Tensor) -> "Rescale":
        return Rescale(matrix, self.input_size, self.size, self.align_corners, self.antialias)

    def gated(self, gate: Tensor) -> "Rescale":
        return self

    def inverse(self) -> Homography:
        return Homography(geometry.invert(self.matrix), self.size, self.input_size, projective=False)

    def image(
        self, image: Tensor, resample: str = "bilinear", padding_mode: str = "zeros", fill: Sequence[float] = (0.0,)
    ) -> Tensor:
        if resample == "nearest":
            return super().image(image, resample, padding_mode, fill)
        work, corners = load(image), self.align_corners
        if resample == "bilinear" and not self.antialias:
            return store(kernels.resize(work, self.size, corners), image.dtype)
        resized = F.interpolate(work, self.size, mode=resample, align_corners=corners, antialias=self.antialias)
        return store(resized, image.dtype)


class Letterbox(Homography):
    """A resize of the whole frame onto a part of the output, the same for every row; the rest is filled.

    Args:
        frame: the resize.
        window: what takes the resized frame to the output.
    """

    def __init__(self, frame: Rescale, window: Homography) -> None:
        super().__init__(geometry.product(window.matrix, frame.matrix), frame.input_size, window.size, projective=False)
        self.frame, self.window = frame, window

    def _like(self, matrix: Tensor) -> Homography:
        return Homography(matrix, self.input_size, self.size, projective=False)

    def gated(self, gate: Tensor) -> "Letterbox":
        return self

    def image(
        self, image: Tensor, resample: str = "bilinear", padding_mode: str = "zeros", fill: Sequence[float] = (0.0,)
    ) -> Tensor:
        return self.window.image(self.frame.image(image, resample), fill=fill)

    def __getitem__(self, row: int) -> "Letterbox":
        return Letterbox(
            self.frame._like(self.frame.matrix[row : row + 1]), self.window._like(self.window.matrix[row : row + 1])
        )


def resampled(warp: Warp, image: Tensor, mode: str, padding_mode: str, fill: Sequence[float]) -> Tensor:  # (B, C, h, w)
    """Take every output pixel of a warp from where its ``sources`` say."""
    h, w = warp.size
    x, y = resample.pixel_grid(h, w, torch.empty((), device=image.device))
    pixels = torch.stack([x.expand(1, h, w), y.expand(1, h, w)], -1).flatten(1, 2).expand(len(image), -1, -1)
    field = (warp.sources(pixels) - pixels).transpose(1, 2).unflatten(2, (h, w))
    return kernels.displace(image, field, mode, padding_mode, list(fill))


class Chain(Warp):
    """Two warps of which at least one is a deformation."""

    def __init__(self, first: Warp, second: Warp) -> None:
        self.first, self.second = first, second
        self.input_size, self.size = first.input_size, second.size

    @property
    def matrix(self) -> Tensor:
        return geometry.product(self.second.matrix, self.first.matrix)

    def gated(self, gate: Tensor) -> "Chain":
        return Chain(self.first.gated(gate), self.second.gated(gate))

    def image(
        self, image: Tensor, resample: str = "bilinear", padding_mode: str = "zeros", fill: Sequence[float] = (0.0,)
    ) -> Tensor:
        return resampled(self, image, resample, padding_mode, fill)

    def points(self, points: Tensor) -> Tensor:
        return self.second.points(self.first.points(points))

    def sources(self, points: Tensor) -> Tensor:
        return self.first.sources(self.second.sources(points))

    def outline(self, corners: Tensor) -> Tensor:
        return self.second.outline(self.first.outline(corners))

    def inverse(self) -> "Chain":
        return Chain(self.second.inverse(), self.first.inverse())

    def __getitem__(self, row: int) -> "Chain":
        return Chain(self.first[row], self.second[row])
