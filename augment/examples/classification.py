"""Tell shapes apart: ``python -m augment.examples.classification``, or, with a process for each half of the data,
``torchrun --nproc-per-node=2 -m augment.examples.classification``.
"""

import argparse
import os
from collections.abc import Iterable

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

import augment as K

NORMALIZE = K.Normalize(mean=0.5, std=0.3)


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
    layers: list[nn.Module] = []
    for inputs, outputs in ((3, 16), (16, 32), (32, 64)):
        layers += [nn.Conv2d(inputs, outputs, 3, 2, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 4))


def make_pipeline() -> K.AugmentationSequential:
    """Build the augmentation."""
    return K.AugmentationSequential(
        K.RandomHorizontalFlip(),
        K.RandomAffine(15.0, translate=(0.1, 0.1), scale=(0.8, 1.2)),
        K.ColorJitter(0.2, 0.2, 0.2, 0.1),
        K.RandomErasing(scale=(0.02, 0.1), p=0.3),
        NORMALIZE,
    )


def train(model: nn.Module, optimizer: torch.optim.Optimizer, batches: Iterable[tuple[Tensor, Tensor]]) -> float:
    """Go once through the data, and give the mean loss."""
    losses = []
    for image, label in batches:
        loss = F.cross_entropy(model(image), label, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--images", type=int, default=2048)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--backend", default="inductor", help="of torch.compile")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> float:
    """Train, and give the accuracy on images that were not trained on."""
    args = parse(argv)
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
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

    accuracy, steps = 0.0, args.images // world // args.batch  # as many in every process
    for epoch in range(args.epochs):
        batches = torch.randperm(len(images))[: steps * args.batch].split(args.batch)
        loss = train(model.train(), optimizer, ((augment(images[rows]), labels[rows]) for rows in batches))
        with torch.no_grad():
            right = network.eval()(NORMALIZE(test_images)).argmax(1) == test_labels
        accuracy = right.float().mean().item()
        if rank == 0:
            print(f"epoch {epoch + 1}: loss {loss:.3f}, accuracy {accuracy:.3f}", flush=True)
    drawn = dict(K.plain(pipeline._params))  # of the last batch
    angles = " ".join(f"{angle:.3f}" for angle in drawn["RandomAffine_1"]["angle"][:3].tolist())
    print(f"rank {rank}: last angles {angles}", flush=True)
    if world > 1:
        dist.destroy_process_group()
    return accuracy


if __name__ == "__main__":
    main()
