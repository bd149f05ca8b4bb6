"""Find the boxes of discs: ``python -m augment.examples.detection``."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import augment as K
from augment.examples.training import NORMALIZE, block, parse, shrinking, train
from augment.targets.boxes import overlaps

SIZE, CELL, MOST = 64, 8, 3  # of an image and of a cell of the grid, in pixels; and how many discs there are at most


def make_data(count: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Draw one to three discs on each image: (n, 3, H, W) uint8, boxes (n, 3, 4), and which of them there are."""
    rng = torch.Generator().manual_seed(seed)
    place = torch.arange(SIZE) + 0.5
    real = torch.arange(MOST) < torch.randint(1, MOST + 1, (count, 1), generator=rng)
    images = (0.5 * torch.rand(count, 3, 1, 1, generator=rng)).expand(-1, -1, SIZE, SIZE)
    radius = 6 + 7 * torch.rand(count, MOST, 1, generator=rng)
    centre = radius + (SIZE - 2 * radius) * torch.rand(count, MOST, 2, generator=rng)
    for i in range(MOST):
        x, y = centre[:, i, :, None, None].unbind(1)
        inside = (place - x) ** 2 + (place.view(-1, 1) - y) ** 2 < radius[:, i].unsqueeze(-1) ** 2
        inside &= real[:, i].view(-1, 1, 1)
        images = torch.where(inside.unsqueeze(1), 0.5 + 0.5 * torch.rand(count, 3, 1, 1, generator=rng), images)
    images = images + 0.05 * torch.randn(count, 3, SIZE, SIZE, generator=rng)
    boxes = torch.cat([centre - radius, centre + radius], -1)
    return (images.clamp(0, 1) * 255).byte(), boxes * real.unsqueeze(-1), real


def make_model() -> nn.Module:
    """Build a network that gives for each cell whether a box is centred in it, and where its sides are."""
    return nn.Sequential(*shrinking(), *block(64, 64, size=5), nn.Conv2d(64, 5, 1))


def predict(output: Tensor) -> tuple[Tensor, Tensor]:
    """Read the scores (B, cells) and the boxes (B, cells, 4) that a network gives."""
    middle = torch.arange(SIZE // CELL) * CELL + CELL / 2
    y, x = torch.meshgrid(middle, middle, indexing="ij")
    score, *sides = output.flatten(2).unbind(1)
    left, top, right, bottom = (F.softplus(side) * CELL for side in sides)
    x, y = x.flatten(), y.flatten()
    return score, torch.stack([x - left, y - top, x + right, y + bottom], -1)


def loss_of(output: Tensor, boxes: Tensor, keep: Tensor) -> Tensor:
    """Compare with the boxes (B, N, 4) to keep (B, N), each with the cell of its centre."""
    score, found = predict(output)
    cell = ((boxes[..., :2] + boxes[..., 2:]) / 2 / CELL).long().clamp(0, SIZE // CELL - 1)
    cell = cell[..., 1] * (SIZE // CELL) + cell[..., 0]
    taken = torch.zeros_like(score).scatter_reduce(1, cell, keep.float(), "amax")
    apart = F.smooth_l1_loss(found.gather(1, cell.unsqueeze(-1).expand(-1, -1, 4)), boxes, reduction="none").mean(-1)
    return F.binary_cross_entropy_with_logits(score, taken) * 8 + (apart * keep).sum() / keep.sum().clamp(min=1) / 4


def make_pipeline() -> K.AugmentationSequential:
    """Build the augmentation."""
    return K.AugmentationSequential(
        K.RandomHorizontalFlip(),
        K.RandomApply([K.RandomIoUCrop(min_scale=0.7, size=(SIZE, SIZE))], p=0.5),
        K.ColorJitter(0.2, 0.2, 0.2, 0.1),
        NORMALIZE,
        data_keys=["image", "bbox_xyxy"],
        extra_args={"bbox_xyxy": {"clip": True}},
        min_visibility=0.3,
    )


def main(argv: list[str] | None = None) -> float:
    """Train, and give the share of boxes that are found, on images that were not trained on."""
    args = parse(argv, __doc__, epochs=12, images=1024, batch=32)

    torch.manual_seed(0)
    images, boxes, real = make_data(args.images, seed=0)
    test_images, test_boxes, test_real = make_data(256, seed=1)
    model = make_model()
    pipeline = make_pipeline()
    augment = torch.compile(pipeline, fullgraph=True, backend=args.backend)

    def loss_of_rows(rows: Tensor) -> Tensor:
        image, moved = augment(images[rows], boxes[rows], valid={"bbox_xyxy": real[rows]})
        return loss_of(model(image), moved, pipeline.valid["bbox_xyxy"])

    def scores_of() -> dict[str, float]:
        score, found = predict(model(NORMALIZE(test_images)))
        hit = (overlaps(test_boxes, found) > 0.5) & (score > 0).unsqueeze(2) & test_real.unsqueeze(1)
        recall = (hit.any(1).sum() / test_real.sum()).item()
        return {"recall": recall, "precision": (hit.any(2).sum() / (score > 0).sum().clamp(min=1)).item()}

    return train(args, model, len(images), loss_of_rows, scores_of)


if __name__ == "__main__":
    main()
