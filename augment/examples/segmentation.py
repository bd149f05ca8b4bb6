"""Find the pixels of shapes: ``python -m augment.examples.segmentation``."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import augment as K
from augment.examples.training import NORMALIZE, block, parse, train

IGNORED = 255  # the label of what comes in from outside the image


def make_data(count: int, seed: int, size: int = 48) -> tuple[Tensor, Tensor]:
    """Draw a disc and a square on each image: (n, 3, H, W) uint8, and labels 0, 1 and 2, (n, 1, H, W) uint8."""
    rng = torch.Generator().manual_seed(seed)
    place = torch.arange(size) + 0.5
    masks = torch.zeros(count, 1, size, size, dtype=torch.uint8)
    images = (0.5 * torch.rand(count, 3, 1, 1, generator=rng)).expand(-1, -1, size, size)
    for label in (1, 2):
        centre = (0.2 + 0.6 * torch.rand(count, 2, 1, 1, 1, generator=rng)) * size
        radius = (0.12 + 0.13 * torch.rand(count, 1, 1, 1, generator=rng)) * size
        dx, dy = (place - centre[:, 0]).abs(), (place.view(-1, 1) - centre[:, 1]).abs()
        shape = dx**2 + dy**2 < radius**2 if label == 1 else torch.maximum(dx, dy) < radius
        masks = torch.where(shape, label, masks)
        images = torch.where(shape, 0.5 + 0.5 * torch.rand(count, 3, 1, 1, generator=rng), images)
    images = images + 0.1 * torch.randn(count, 3, size, size, generator=rng)
    return (images.clamp(0, 1) * 255).byte(), masks


class Network(nn.Module):
    """A small network that halves the image twice, and doubles it again."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(*block(3, 8))
        self.second = nn.Sequential(*block(8, 16, 2))
        self.third = nn.Sequential(*block(16, 32, 2))
        self.up = nn.Sequential(*block(32 + 16, 16))
        self.top = nn.Sequential(*block(16 + 8, 8))
        self.head = nn.Conv2d(8, 3, 1)

    def forward(self, image: Tensor) -> Tensor:
        """Give scores (B, 3, H, W)."""
        first = self.first(image)
        second = self.second(first)
        third = self.third(second)
        up = self.up(torch.cat([F.interpolate(third, scale_factor=2.0), second], 1))
        return self.head(self.top(torch.cat([F.interpolate(up, scale_factor=2.0), first], 1)))


def mean_iou(found: Tensor, masks: Tensor) -> float:
    """The mean over the labels of the common pixels over all."""
    pairs = [((found == label), (masks == label)) for label in range(3)]
    return sum((((a & b).sum() / (a | b).sum()).item() for a, b in pairs), 0.0) / len(pairs)


def make_pipeline() -> K.AugmentationSequential:
    """Build the augmentation."""
    return K.AugmentationSequential(
        K.RandomHorizontalFlip(),
        K.RandomAffine(30.0, translate=(0.1, 0.1), scale=(0.8, 1.2)),
        K.ColorJitter(0.2, 0.2, 0.2, 0.1),
        K.OneOf(K.RandomGaussianBlur((3, 3), (0.3, 1.0)), K.RandomGaussianNoise(std=0.05), p=0.5),
        NORMALIZE,
        data_keys=["image", "mask"],
        extra_args={"mask": {"fill": IGNORED}},
    )


def main(argv: list[str] | None = None) -> float:
    """Train, and give the mean intersection over union on images that were not trained on."""
    args = parse(argv, __doc__, epochs=8, images=1024, batch=32)

    torch.manual_seed(0)
    images, masks = make_data(args.images, seed=0)
    test_images, test_masks = make_data(128, seed=1)
    model = Network()
    augment = torch.compile(make_pipeline(), fullgraph=True, backend=args.backend)

    def loss_of(rows: Tensor) -> Tensor:
        image, mask = augment(images[rows], masks[rows])
        return F.cross_entropy(model(image), mask.squeeze(1).long(), ignore_index=IGNORED)

    def scores_of() -> dict[str, float]:
        return {"mean IoU": mean_iou(model(NORMALIZE(test_images)).argmax(1), test_masks.squeeze(1))}

    return train(args, model, len(images), loss_of, scores_of, rate=5e-3)


if __name__ == "__main__":
    main()
