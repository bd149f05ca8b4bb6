"""Parameters for the opaque ops, a row of which changes nothing."""

import torch

from augment.kernels.blur import maths as filters
from augment.kernels.compression import jpeg
from augment.kernels.field import maths as fields
from augment.kernels.warp import matrices as geometry

B = 3
ANGLES = torch.tensor([0.0, 20.0, -75.0])
ROTATIONS = geometry.invert(geometry.rotation(ANGLES, 11.0, 8.0))
FLIPS = geometry.invert(
    geometry.scaling(
        torch.tensor([-1.0, 1.0, 1.0]),
        torch.tensor([1.0, -1.0, 1.0]),
        torch.tensor([22.0, 0.0, 0.0]),
        torch.tensor([0.0, 16.0, 0.0]),
        ANGLES,
    )
)
FIELD = torch.randn(B, 2, 17, 23, generator=torch.Generator().manual_seed(2)) * torch.tensor([0.0, 1.0, 3.0]).view(
    3, 1, 1, 1
)
WEIGHTS = filters.gaussian_weights(torch.tensor([0.0, 0.8, 2.0]), 5)
FACTORS = torch.tensor([[1.0, 1, 1, 0], [0.8, 1.3, 0.5, 0.2], [1.4, 0.7, 1.6, -0.4]])
ORDER = torch.tensor([2, 0, 3, 1])
GATE = torch.tensor([1.0, 0.0, 1.0])
SIZES = torch.tensor([1, 3, 5], dtype=torch.int32)
MOTIONS = filters.motion_weights(SIZES, ANGLES, torch.tensor([0.0, 0.5, -1.0]), 5, "bilinear")
TABLES = jpeg.quantization_tables(torch.tensor([30.0, 50.0, 80.0]))
SCALES = torch.tensor([1.0, 0.3, 0.75])
POINTS = torch.rand(1, 5, 2, generator=torch.Generator().manual_seed(3)) * 2 - 1
MOVES = torch.tensor([[0.0] * 5, [0.1] * 5, [0.3, -0.2, 0.1, 0.0, 0.2]]).unsqueeze(2)
PLATE = fields.plate_params(
    POINTS.expand(B, -1, -1), fields.plate_weights(POINTS, POINTS + MOVES), (0.1, 0.2), (-1.0, -1.5), (11.0, 8.0)
)
LENS = torch.tensor([[0.0] * 8, [1, 9.3, 8.1, 0.9, 11, 8, 1 / 11, 1 / 8], [1, 14.2, 6.6, 1.5, 11, 8, 1 / 11, 1 / 8]])
EVEN = torch.tensor([-0.5, 7.0, 15.0, 22.5]).expand(B, 2, 4)
LINES = torch.stack([EVEN, EVEN + torch.tensor([[[0.0] * 4]] * 2 + [[[0, 2.0, -1, 0]]])], 2)[[0, 2, 2]]
LINES[1, 1, 1] += 0.7
HOLES = torch.tensor([[[0.0, 0, 0, 5]] * 2, [[3, 4, 5, 6], [5, 1, 3, 9]], [[20, 0, 3, 17], [0, 0, 0, 0]]])
