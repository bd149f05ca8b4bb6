"""Tell shapes apart: ``python -m augment.examples.classification``, or, with a process for each half of the data,
``torchrun --nproc-per-node=2 -m augment.examples.classification``.
"""

import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

import augment as K
from augment.examples.training import NORMALIZE, parse, shrinking, train


def make_data(count: int, seed: int, size: int = 32) -> tuple[Tensor, Tensor]:
    """Draw a disc, a square, a cross or a ring on each image: (n, 3, H, W) uint8, and which it is, (n,)."""
    rng = torch.Generator().manual_seed(seed)
    labels = torch.randint(4, (count,), generator=rng)
    centre = size / 2 + (torch.rand(count, 2, 1, 1, generator=rng) - 0.5) * size / 3
    radius = (0.15 + 0.15 * torch.rand(count, 1, 1, generator=rng)) * size
    place = torch.arange(size) + 0.5
    dx, dy = (place - centre[:, 0]).abs() / radius, (place.view(-1, 1) - centre[:, 1]).abs() / radius
    far, near, round_ = torch.maximum(dx, dy), torch.minimum(dx, dy), (dx**2 + dy**2).sqrt()
    shapes = torch.stack([round_ < 1, far < 0.9, (far < 1) & (near < 0.3), (round_ < 1) & (round_ > 0.6)], 1)
    shape = shapes[torch.arange(count), labels].unsqueeze(1)
    back, front = torch.rand(2, count, 3, 1, 1, generator=rng) * 0.5
    images = torch.where(shape, front + 0.5, back) + 0.1 * torch.randn(count, 3, size, size, generator=rng)
    return (images.clamp(0, 1) * 255).byte(), labels


def make_model() -> nn.Module:
    """Build a small network."""
    return nn.Sequential(*shrinking(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 4))


def make_pipeline() -> K.AugmentationSequential:
    """Build the augmentation."""
    return K.AugmentationSequential(
        K.RandomHorizontalFlip(),
        K.RandomAffine(15.0, translate=(0.1, 0.1), scale=(0.8, 1.2)),
        K.ColorJitter(0.2, 0.2, 0.2, 0.1),
        K.RandomErasing(scale=(0.02, 0.1), p=0.3),
        NORMALIZE,
    )


def main(argv: list[str] | None = None) -> float:
    """Train, and give the accuracy on images that were not trained on."""
    args = parse(argv, __doc__, epochs=12, images=2048, batch=64)
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if world > 1:
        dist.init_process_group("gloo")

    torch.manual_seed(rank)  # every process shuffles by itself
    images, labels = (values[rank::world] for values in make_data(args.images, seed=0))
    test_images, test_labels = make_data(512, seed=1)
    network = make_model()
    model = DistributedDataParallel(network) if world > 1 else network
    pipeline = make_pipeline()
    pipeline.generator = torch.Generator().manual_seed(rank)  # and augments by itself
    augment = torch.compile(pipeline, fullgraph=True, backend=args.backend)

    def loss_of(rows: Tensor) -> Tensor:
        return F.cross_entropy(model(augment(images[rows])), labels[rows], label_smoothing=0.1)

    def scores_of() -> dict[str, float]:
        right = network(NORMALIZE(test_images)).argmax(1) == test_labels
        return {"accuracy": right.float().mean().item()}

    accuracy = train(args, model, len(images), loss_of, scores_of, world=world, quiet=rank > 0)
    drawn = dict(K.plain(pipeline._params))  # of the last batch
    angles = " ".join(f"{angle:.3f}" for angle in drawn["RandomAffine_1"]["angle"][:3].tolist())
    print(f"rank {rank}: last angles {angles}", flush=True)
    if world > 1:
        dist.destroy_process_group()
    return accuracy


if __name__ == "__main__":
    main()
