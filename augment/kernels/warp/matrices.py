"""Homographies as (B, 3, 3) matrices from input pixels to output pixels. x right, y down, pixel centres at integers."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ...common.constants import Kept

Entry = float | int | Tensor
LAST_ROW = Kept(torch.tensor([[0.0, 0.0, 1.0]]))


def matrix3(entries: Sequence[Entry], like: Tensor) -> Tensor:
    """Stack nine entries, numbers or (B,) tensors, into matrices (B, 3, 3), B and the rest as in ``like`` (B,)."""
    like = like.to(torch.promote_types(like.dtype, torch.float32))
    zero, one = torch.zeros_like(like), torch.ones_like(like)

    def column(entry: Entry) -> Tensor:
        if isinstance(entry, Tensor):
            return entry.to(like.dtype)
        return zero if entry == 0 else one if entry == 1 else torch.full_like(like, entry)

    return torch.stack([column(entry) for entry in entries], -1).unflatten(-1, (3, 3))


def product(a: Tensor, b: Tensor) -> Tensor:
    """Multiply matrices (B, 3, 3) entry by entry: exact under autocast, and small enough to fuse."""
    return (a.unsqueeze(-1) * b.unsqueeze(-3)).sum(-2)


def adjugate(m: Tensor) -> Tensor:
    """The adjugate of matrices (B, 3, 3)."""
    twice = torch.cat([m, m], -2)
    return torch.linalg.cross(twice[..., 1:4, :], twice[..., 2:5, :]).mT


def invert(m: Tensor) -> Tensor:
    """Invert homographies (B, 3, 3); the identity and whole-pixel permutations come out exact."""
    adj = adjugate(m)
    determinant = (m[..., :1, :] * adj.mT[..., :1, :]).sum(-1, keepdim=True)
    return adj / determinant


def transform_points(
    matrix: Tensor,  # (B, 3, 3)
    points: Tensor,  # (B, N, 2)
) -> Tensor:  # (B, N, 2)
    """Map points through homographies."""
    x, y = points.unsqueeze(-2).unbind(-1)  # (B, N, 1)
    a, b, c = matrix.unsqueeze(1).unbind(-1)  # (B, 1, 3)
    mapped = a * x + b * y + c
    return mapped[..., :2] / mapped[..., 2:]


def shrinkage(
    matrix: Tensor,  # (B, 3, 3), output pixel -> input pixel
    h: int,
    w: int,
) -> Tensor:  # (B, 2)
    """How many pixels of the input along x and y one pixel in the middle of an h by w output spans."""
    mapped = matrix[..., 0] * ((w - 1) / 2) + matrix[..., 1] * ((h - 1) / 2) + matrix[..., 2]
    place, weight = mapped[:, :2] / mapped[:, 2:], mapped[:, 2:, None]
    return ((matrix[:, :2, :2] - place.unsqueeze(-1) * matrix[:, 2:, :2]) / weight).norm(dim=-1)


def translation(x: Entry, y: Entry, like: Tensor) -> Tensor:
    """Shift by x and y."""
    return matrix3([1, 0, x, 0, 1, y, 0, 0, 1], like)


def scaling(x: Entry, y: Entry, offset_x: Entry, offset_y: Entry, like: Tensor) -> Tensor:
    """Scale each axis, then shift."""
    return matrix3([x, 0, offset_x, 0, y, offset_y, 0, 0, 1], like)


def rotation(
    degrees: Tensor,  # (B,), counter-clockwise as one sees the image
    center_x: Entry,
    center_y: Entry,
) -> Tensor:  # (B, 3, 3)
    """Rotate about a centre."""
    angle = torch.deg2rad(degrees)
    cos, sin = angle.cos(), angle.sin()
    shift_x = center_x - cos * center_x - sin * center_y
    shift_y = center_y + sin * center_x - cos * center_y
    return matrix3([cos, sin, shift_x, -sin, cos, shift_y, 0, 0, 1], degrees)


def affine(
    angle: Tensor,  # (B,), degrees, clockwise as one sees the image
    translations: Tensor,  # (B, 2), pixels
    scale: Tensor,  # (B, 2)
    shear_x: Tensor,  # (B,), degrees
    shear_y: Tensor,  # (B,), degrees
    center: Tensor,  # (B, 2)
) -> Tensor:  # (B, 3, 3)
    """Shear, scale and rotate about a centre, then shift: the composition that kornia's ``RandomAffine`` defines.

    The shear maps (x, y) to (x - tan(sx) y, -tan(sy) x + (1 + tan(sx) tan(sy)) y) around the centre.
    """
    turn, tangents = torch.deg2rad(angle), torch.deg2rad(torch.stack([shear_x, shear_y], 1)).tan()
    cos, sin, tan_x, tan_y = turn.cos(), turn.sin(), tangents[:, :1], tangents[:, 1:]
    turned = torch.stack([cos, sin, -sin, cos], 1).view(-1, 2, 2)
    first, second = (turned * scale.unsqueeze(2)).unbind(1)  # the columns of a rotation
    columns = first - second * tan_y, second * (1 + tan_x * tan_y) - first * tan_x
    shift = center - (columns[0] * center[:, :1] + columns[1] * center[:, 1:]) + translations
    rows = torch.stack([*columns, shift], 2).to(torch.promote_types(angle.dtype, torch.float32))
    return torch.cat([rows, LAST_ROW.on(rows.device).to(rows.dtype).expand(len(rows), 1, 3)], 1)


def shear(
    shear_x: Tensor,  # (B,), degrees
    shear_y: Tensor,  # (B,), degrees
    center: Tensor,  # (B, 2)
) -> Tensor:  # (B, 3, 3)
    """Shear about a centre, as ``affine`` does."""
    x, y = center.to(shear_x.dtype).unbind(1)
    tan_x, tan_y = torch.deg2rad(shear_x).tan(), torch.deg2rad(shear_y).tan()
    entries = [1, -tan_x, tan_x * y, -tan_y, 1 + tan_x * tan_y, tan_y * (x - tan_x * y), 0, 0, 1]
    return matrix3(entries, shear_x)


def square_symmetry(
    transposed: Tensor,  # (B,), 0 or 1
    flipped_x: Tensor,  # (B,), 0 or 1
    flipped_y: Tensor,  # (B,), 0 or 1
    height: int,
    width: int,
) -> Tensor:  # (B, 3, 3)
    """Swap x and y about the centre, then flip: every symmetry of a square, and exact on pixels of one.

    On other rectangles a transposition keeps the centre, and leads whole pixels onto whole pixels where height and
    width differ by an even number.
    """
    sign_x, sign_y = 1 - 2 * flipped_x, 1 - 2 * flipped_y
    a, b, c, d = sign_x * (1 - transposed), sign_x * transposed, sign_y * transposed, sign_y * (1 - transposed)
    center_x, center_y = (width - 1) / 2, (height - 1) / 2
    shift_x = center_x - a * center_x - b * center_y
    shift_y = center_y - c * center_x - d * center_y
    return matrix3([a, b, shift_x, c, d, shift_y, 0, 0, 1], transposed)


def square_to_quad(
    corners: Tensor,  # (B, 4, 2), in order around the quadrilateral
) -> Tensor:  # (B, 3, 3)
    """Map the unit square (0,0), (1,0), (1,1), (0,1) to four corners.

    Closed form of P. Heckbert, "Fundamentals of Texture Mapping and Image Warping", 1989, section 2.2.3.
    """
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = (c.unbind(1) for c in corners.unbind(1))
    sum_x, sum_y = x0 - x1 + x2 - x3, y0 - y1 + y2 - y3
    dx1, dy1, dx2, dy2 = x1 - x2, y1 - y2, x3 - x2, y3 - y2
    determinant = dx1 * dy2 - dx2 * dy1
    g = (sum_x * dy2 - dx2 * sum_y) / determinant
    h = (dx1 * sum_y - sum_x * dy1) / determinant
    return matrix3([x1 - x0 + g * x1, x3 - x0 + h * x3, x0, y1 - y0 + g * y1, y3 - y0 + h * y3, y0, g, h, 1], x0)


def perspective(
    start: Tensor,  # (B, 4, 2), in order around the quadrilateral
    end: Tensor,  # (B, 4, 2)
) -> Tensor:  # (B, 3, 3)
    """Map four points to four points."""
    matrix = product(square_to_quad(end), adjugate(square_to_quad(start)))
    return matrix / matrix[:, 2:, 2:]


def spreads(points: Tensor) -> Tensor:  # (B, n, 2) to (B,) bool
    """Where points do not lie on one line, nor all in one place: to a part in a hundred thousand of their extent.

    That is asked of the points themselves, in float64, so that no rounding of what is computed from them decides.
    """
    centred = points.double() - points.double().mean(1, keepdim=True)
    scatter = centred.transpose(1, 2) @ centred  # its determinant is the product of the squared axes
    area = scatter[:, 0, 0] * scatter[:, 1, 1] - scatter[:, 0, 1] * scatter[:, 1, 0]
    return area > 1e-10 * (scatter[:, 0, 0] + scatter[:, 1, 1]).square()


def apart(points: Tensor) -> Tensor:  # (B, n, 2) to (B,) bool
    """Where no two points lie in one place, to a part in a hundred thousand of their extent."""
    exact = points.double()
    squared = (exact.unsqueeze(1) - exact.unsqueeze(2)).square().sum(-1)
    near = squared <= 1e-10 * squared.amax((1, 2), keepdim=True)
    return near.flatten(1).sum(1) == points.shape[1]  # each with itself alone


def rectangle(
    x: Tensor,  # (B,)
    y: Tensor,
    width: Entry,
    height: Entry,
) -> Tensor:  # (B, 4, 2)
    """The corner pixels of windows: top left, top right, bottom right, bottom left."""
    right, bottom = x + (width - 1), y + (height - 1)
    return torch.stack([x, y, right, y, right, bottom, x, bottom], 1).unflatten(1, (4, 2))


def window_to_frame(
    window: Tensor,  # (B, 4), x, y, width and height in input pixels
    size: tuple[int, int],
    align_corners: bool,
) -> Tensor:  # (B, 3, 3)
    """Map a window to a whole output of (h, w).

    Either the centres of the corner pixels meet (``align_corners``) or the edges do. An axis of one pixel, in the
    window or in the output, has no two centres to meet, and its edges do.
    """
    x, y, width, height = window.unbind(1)
    entries: list[tuple[Tensor, Tensor]] = []
    for first, extent, n in ((x, width, size[1]), (y, height, size[0])):
        scale = n / extent
        offset = (scale - 1) / 2
        if align_corners and n > 1:
            several = extent > 1
            corners = (n - 1) / (extent - 1).clamp(min=1)
            scale, offset = torch.where(several, corners, scale), torch.where(several, 0.0, offset)
        entries.append((scale, offset - scale * first))
    (scale_x, offset_x), (scale_y, offset_y) = entries
    return scaling(scale_x, scale_y, offset_x, offset_y, x)
