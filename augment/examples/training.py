"""What the training scripts share: a command line, the beginning of a network, and epochs of steps."""

import argparse
from collections.abc import Callable

import torch
from torch import Tensor, nn

import augment as K

NORMALIZE = K.Normalize(mean=0.5, std=0.3)


def parse(argv: list[str] | None, doc: str | None, epochs: int, images: int, batch: int) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=epochs)
    parser.add_argument("--images", type=int, default=images)
    parser.add_argument("--batch", type=int, default=batch)
    parser.add_argument("--backend", default="inductor", help="of torch.compile")
    return parser.parse_args(argv)


def block(inputs: int, outputs: int, stride: int = 1, size: int = 3) -> list[nn.Module]:
    """Build a convolution and what comes behind it."""
    convolution = nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False)
    return [convolution, nn.BatchNorm2d(outputs), nn.ReLU()]


def shrinking() -> list[nn.Module]:
    """Build the layers that make of an image 64 channels of an eighth of its size."""
    return [*block(3, 16, 2), *block(16, 32, 2), *block(32, 64, 2)]


def train(
    args: argparse.Namespace,
    model: nn.Module,
    count: int,
    loss_of: Callable[[Tensor], Tensor],
    scores_of: Callable[[], dict[str, float]],
    rate: float = 3e-3,
    world: int = 1,
    quiet: bool = False,
) -> float:
    """Train, and give the first of the last scores.

    Args:
        args: what ``parse`` gives.
        model: the network.
        count: how many images there are, in this process.
        loss_of: the loss of the rows (B,).
        scores_of: the scores by name on images that are not trained on.
        rate: how fast to learn.
        world: how many processes there are, of which each takes as many steps.
        quiet: whether to print nothing.
    """
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    scores, steps = {"": 0.0}, args.images // world // args.batch
    for epoch in range(args.epochs):
        model.train()
        losses = []
        for rows in torch.randperm(count)[: steps * args.batch].split(args.batch):
            loss = loss_of(rows)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            scores = scores_of()
        if not quiet:
            shown = ", ".join(f"{name} {score:.3f}" for name, score in scores.items())
            print(f"epoch {epoch + 1}: loss {sum(losses) / len(losses):.3f}, {shown}", flush=True)
    return next(iter(scores.values()))
