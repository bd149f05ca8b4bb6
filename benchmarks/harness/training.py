"""The libraries in the training loop: their recipes, the network that each trains, and the time of an epoch."""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from .backends import message
from .recipes import MEAN, STD
from .training_data import SEED, Transform, as_tensor, loader, split

NEEDS = {"kornia": "kornia", "torchvision": "torchvision", "albumentations": "albumentations"}
LIBRARIES = ("augment", "augment-compiled", "kornia", "torchvision", "albumentations", "none", "decode")
RECIPES = ("classification", "affine")


def plain(images: Tensor, size: int) -> Tensor:
    """Resize a uint8 batch and normalise it."""
    small = nn.functional.interpolate(images, (size, size), mode="bilinear", antialias=True)
    mean, std = (torch.tensor(values).view(3, 1, 1) for values in (MEAN, STD))
    return (small.float() / 255 - mean) / std


def on_batch(library: Any, recipe: str, size: int, **options: bool) -> nn.Module:
    """Write a recipe with augment or kornia, whose constructors are the same."""
    ops = {
        "classification": lambda: (
            library.RandomResizedCrop((size, size)),
            library.RandomHorizontalFlip(),
            library.ColorJitter(0.2, 0.2, 0.2, 0.1),
        ),
        "affine": lambda: (
            library.Resize((size, size)),
            library.RandomHorizontalFlip(),
            library.RandomAffine(15.0, (0.1, 0.1), (0.8, 1.2), p=1.0),
            library.RandomBrightness((0.8, 1.2)),
        ),
    }[recipe]()
    return library.AugmentationSequential(*ops, library.Normalize(mean=MEAN, std=STD), data_keys=["input"], **options)


def with_torchvision(recipe: str, size: int) -> Transform:
    """Write a recipe for one image with torchvision."""
    from torchvision.transforms import InterpolationMode, v2

    ops = {
        "classification": (
            v2.RandomResizedCrop(size),
            v2.RandomHorizontalFlip(),
            v2.ColorJitter(0.2, 0.2, 0.2, 0.1),
        ),
        "affine": (
            v2.Resize((size, size)),
            v2.RandomHorizontalFlip(),
            v2.RandomAffine(15.0, (0.1, 0.1), (0.8, 1.2), interpolation=InterpolationMode.BILINEAR),
            v2.ColorJitter(brightness=0.2),
        ),
    }[recipe]
    last = (v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD), v2.ToPureTensor())
    return v2.Compose([v2.ToImage(), *ops, *last])


@dataclass
class WithAlbumentations:
    """Give the image that a composition of albumentations makes."""

    compose: Any

    def __call__(self, image: np.ndarray) -> Tensor:
        return self.compose(image=image)["image"]


def with_albumentations(recipe: str, size: int) -> Transform:
    """Write a recipe for one image with albumentations."""
    os.environ["NO_ALBUMENTATIONS_UPDATE"] = "1"  # it asks a server for its newest version otherwise
    import albumentations as library

    shift = {"x": (-0.1, 0.1), "y": (-0.1, 0.1)}
    ops = {
        "classification": (
            library.RandomResizedCrop((size, size)),
            library.HorizontalFlip(),
            library.ColorJitter((0.8, 1.2), (0.8, 1.2), (0.8, 1.2), (-0.1, 0.1), p=1.0),
        ),
        "affine": (
            library.Resize(size, size),
            library.HorizontalFlip(),
            library.Affine(scale=(0.8, 1.2), translate_percent=shift, rotate=(-15, 15), keep_ratio=True, p=1.0),
            library.RandomBrightnessContrast((-0.2, 0.2), (0.0, 0.0), p=1.0),
        ),
    }[recipe]
    return WithAlbumentations(library.Compose([*ops, library.Normalize(MEAN, STD), library.ToTensorV2()], seed=SEED))


def transforms(name: str, recipe: str, size: int) -> tuple[Transform, Transform | None]:
    """Give what a library does to an image in a worker, and what to a batch in the main process."""
    if name == "torchvision":
        return with_torchvision(recipe, size), None
    if name == "albumentations":
        return with_albumentations(recipe, size), None
    if name == "decode":
        return as_tensor, None
    if name == "none":
        return as_tensor, lambda images: plain(images, size)
    if name == "kornia":
        import kornia.augmentation as kornia

        pipeline = on_batch(kornia, recipe, size)
        return as_tensor, lambda images: pipeline(images.float() / 255)
    import augment

    pipeline = on_batch(augment, recipe, size, fuse=True)
    return as_tensor, torch.compile(pipeline, fullgraph=True) if name == "augment-compiled" else pipeline


class Block(nn.Module):
    """Add two convolutions to their input."""

    def __init__(self, inside: int, outside: int) -> None:
        super().__init__()
        stride = outside // inside
        self.way = nn.Sequential(
            nn.Conv2d(inside, outside, 3, stride, 1, bias=False),
            nn.BatchNorm2d(outside),
            nn.ReLU(),
            nn.Conv2d(outside, outside, 3, 1, 1, bias=False),
            nn.BatchNorm2d(outside),
        )
        shrink = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))
        self.shortcut = nn.Identity() if inside == outside else shrink

    def forward(self, input: Tensor) -> Tensor:
        """Compute the block."""
        return torch.relu(self.way(input) + self.shortcut(input))


def network(classes: int, width: int = 16) -> nn.Module:
    """Make a ResNet of four blocks, with the same weights every time."""
    torch.manual_seed(SEED)
    stem = (nn.Conv2d(3, width, 7, 4, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU())
    blocks = (Block(width, width), Block(width, 2 * width), Block(2 * width, 4 * width), Block(4 * width, 8 * width))
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8 * width, classes))


class Trainer:
    """A network with its optimiser and schedule."""

    def __init__(self, classes: int, steps: int) -> None:
        self.classes, self.steps = classes, steps
        self.model = network(classes)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), weight_decay=0.01)
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(self.optimizer, max_lr=4e-3, total_steps=steps)

    def fresh(self) -> "Trainer":
        """Give one that has learnt nothing."""
        return Trainer(self.classes, self.steps)

    def step(self, images: Tensor, labels: Tensor) -> float:
        """Learn from a batch and give its loss."""
        loss = nn.functional.cross_entropy(self.model(images), labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.schedule.step()
        return loss.item()

    def accuracy(self, images: Tensor, labels: Tensor) -> float:
        """Give the share of images that are recognised."""
        self.model.eval()
        with torch.no_grad():
            right = [(self.model(x).argmax(1) == y) for x, y in zip(images.split(64), labels.split(64), strict=True)]
        self.model.train()
        return torch.cat(right).float().mean().item()


@dataclass
class Epoch:
    """What an epoch took, in images a second and shares of its time, and what it brought."""

    images_per_second: float
    waiting: float
    augmenting: float
    stepping: float
    on_core: float  # CPU time in a second of augmenting and stepping: below the threads' number, others took the core
    loss: float | None = None
    accuracy: float | None = None


@dataclass
class Backend:
    """A library in the loop."""

    name: str
    batches: DataLoader | None = None
    augment: Transform | None = None  # what is left to do to a batch in the main process
    trainer: Trainer | None = None
    first_call: float | None = None  # seconds, with compilation
    epochs: list[Epoch] = field(default_factory=list)
    error: str | None = None

    @property
    def where(self) -> str:
        """Say which process augments."""
        if self.name == "decode" or self.batches is None:
            return "-"
        return "main" if self.augment or not self.batches.num_workers else "workers"

    def augmented(self, images: Tensor) -> Tensor:
        """Augment a batch, unless the workers have."""
        if self.augment is None:
            return images
        with torch.no_grad():
            return self.augment(images)


def attempt(backend: Backend, action: Callable[[], None]) -> None:
    """Do something with a library; if it fails, remember with which message."""
    try:
        action()
    except Exception as error:
        backend.error = message(error)


def build(name: str, folder: Path, args: argparse.Namespace) -> Backend:
    """Set up a library: its loader, its transform, and a network of its own."""
    backend = Backend(name)

    def set_up() -> None:
        on_image, backend.augment = transforms(name, args.recipe, args.size)
        data = split(folder, "train", on_image)
        backend.batches = loader(data, args.batch, args.workers)
        iter(backend.batches)  # workers start here, before the compiler and autograd have threads, which forks break
        if name != "decode":
            backend.trainer = Trainer(len(set(data.labels)), args.epochs * len(backend.batches))

    attempt(backend, set_up)
    return backend


def warm_up(backend: Backend, batches: int = 3) -> None:
    """Compile, and take steps with a network that is thrown away."""
    spare = backend.trainer and backend.trainer.fresh()
    torch.manual_seed(SEED)
    iterator = iter(backend.batches)
    for _ in range(min(batches, len(backend.batches))):
        images, labels = next(iterator)
        start = time.perf_counter()
        images = backend.augmented(images)
        if backend.augment and backend.first_call is None:
            backend.first_call = time.perf_counter() - start
        if spare is not None:
            spare.step(images, labels)


def train(backend: Backend, epoch: int) -> Epoch:
    """Go through the data once; the clock starts after the first batch."""
    torch.manual_seed(SEED + 1 + epoch)
    spent, losses, images = [0.0, 0.0, 0.0], [], torch.empty(0)
    iterator = iter(backend.batches)
    began, cpu_began = time.perf_counter(), time.process_time()
    for i in range(len(backend.batches)):
        start = time.perf_counter()
        images, labels = next(iterator)
        waited = time.perf_counter()
        images = backend.augmented(images)
        augmented = time.perf_counter()
        if backend.trainer is not None:
            losses.append(backend.trainer.step(images, labels))
        end = time.perf_counter()
        if i == 0:
            began, cpu_began = end, time.process_time()
            continue
        for k, seconds in enumerate((waited - start, augmented - waited, end - augmented)):
            spent[k] += seconds
    seconds, on_core = time.perf_counter() - began, (time.process_time() - cpu_began) / (spent[1] + spent[2])
    rate = len(images) * (len(backend.batches) - 1) / seconds
    return Epoch(rate, *(part / seconds for part in spent), on_core, statistics.fmean(losses) if losses else None)


def validation(folder: Path, size: int) -> tuple[Tensor, Tensor]:
    """Give all images for validation, resized and normalised, and their labels."""
    data = split(folder, "valid", as_tensor)
    images = [plain(image[None], size) for image, _ in (data[i] for i in range(len(data)))]
    return torch.cat(images), torch.tensor(data.labels)
