"""What the tests of the ops that combine rows share."""

import numpy as np
import torch

import augment as K
from augment.testing import Case
from tests.support.helpers import picture

KEYS = ["image", "mask", "bbox_xyxy", "keypoints"]
SIZE = (16, 24)


def sample(
    case: Case, b: int = 4, dtype: torch.dtype = torch.float32, size: tuple[int, int] = SIZE
) -> list[torch.Tensor]:
    """Give an image with a mask that suits an op, boxes and keypoints."""
    generator = torch.Generator().manual_seed(3)
    points = torch.rand(b, 2, 2, generator=generator) * torch.tensor([size[1] - 8.0, size[0] - 7.0]) + 1
    boxes = torch.cat([points, points + torch.tensor([6.0, 5.0])], -1)
    mask = torch.randint(4, (b, 1, *size), generator=generator)
    if case.op is K.RandomCopyPaste:
        mask = torch.zeros(b, 2, *size, dtype=torch.uint8)
        for (i, n, *_), (x1, y1, x2, y2) in zip(np.ndindex(b, 2), boxes.flatten(0, 1).round().int(), strict=True):
            mask[i, n, y1:y2, x1:x2] = 1
    return [picture(b, 3, size, dtype), mask, boxes, points]


def ids(b: int = 5) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Give images of which the pixels say whose they are: boxes that do not touch, and the point in each."""
    boxes = torch.tensor([[1, 2, 7, 9], [9, 1, 21, 6], [10, 8, 15, 15], [17, 9, 23, 14]]).float()
    points = (boxes[:, :2] + boxes[:, 2:]).div(2).floor()
    image = torch.zeros(b, 1, *SIZE)
    for i, n in np.ndindex(b, 4):
        x1, y1, x2, y2 = boxes[n].int()
        image[i, 0, y1:y2, x1:x2] = 1 + 4 * i + n
    return image, boxes.repeat(b, 1, 1), points.repeat(b, 1, 1)


def around(pixels: np.ndarray) -> list[float]:
    y, x = pixels.nonzero()
    return [x.min(), y.min(), x.max() + 1, y.max() + 1]
