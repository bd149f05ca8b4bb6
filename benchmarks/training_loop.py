"""Train a small network from JPEGs on disk, once for each library, and see what its augmentation costs the loop.

    python benchmarks/training_loop.py [--libraries augment,kornia ...] [--recipe affine] [--json out.json] [--quick]

Workers read and decode. torchvision and albumentations augment there, image by image; augment and kornia augment the
batch in the main process; ``none`` only resizes and normalises the batch; ``decode`` takes the batches and does
nothing with them, which is as fast as the workers get. All see the same files in the same order and start from the same
weights.

The libraries take turns, an epoch each, so that drift of the machine hits all alike. Workers live through the run and
idle when it is not their turn. An epoch is timed from the end of its first step to the end of its last: filling the
queue at its start is not counted, and neither are warm-up, compilation (in an empty cache) and validation.

The classes are photographs that scikit-image and scikit-learn carry. Examples are square crops: those for training lie
in the outer parts of the photograph, those for validation in the middle strip, which training never sees. Accuracy
comes from one run of one seed: a few percent more or less mean nothing.
"""

import argparse
import os
import sys

if __name__ == "__main__":  # libraries read these when they are imported
    _early = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    _early.add_argument("--threads", nargs="?", const="1", default="1")
    _threads = _early.parse_known_args()[0].threads
    for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[_name] = _threads if _threads.isdigit() else "1"

import contextlib
import datetime
import importlib.metadata
import importlib.util
import json
import platform
import random
import statistics
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm

try:
    import cv2
except ImportError:
    cv2 = None

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
PHOTOGRAPHS = {  # folders inside the packages; files are read directly, the packages' functions may want to download
    ("skimage", "data"): (
        "astronaut.png",
        "chelsea.png",
        "coffee.png",
        "hubble_deep_field.jpg",
        "ihc.png",
        "motorcycle_left.png",
        "retina.jpg",
        "rocket.jpg",
    ),
    ("sklearn", "datasets", "images"): ("china.jpg", "flower.jpg"),
}
STORED, QUALITY = 256, 90  # pixels of a side, of JPEG
SIDES = 96, 200  # of a crop, in pixels of the photograph
STRIP = 0.35, 0.65  # of the width, for validation
HELD_OUT = 0.2  # share of the JPEGs, for validation
NEEDS = {"kornia": "kornia", "torchvision": "torchvision", "albumentations": "albumentations"}
LIBRARIES = ("augment", "augment-compiled", "kornia", "torchvision", "albumentations", "none", "decode")
RECIPES = ("classification", "affine")
DEFAULTS = {"images": 2000, "epochs": 10, "batch": 32, "size": 128}
QUICK = {"images": 400, "epochs": 2, "batch": 16, "size": 64}
SEED = 0
PACKAGES = ["torch", "augment", "kornia", "torchvision", "albumentations", "opencv-python-headless", "numpy", "pillow"]

Transform = Callable[..., Any]
Box = tuple[int, int, int, int]  # left, top, right, bottom


# --------------------------------------------------------------------------------------------------------------- data


def photographs() -> dict[str, Path]:
    """Find the photographs that are installed, by name."""
    found = {}
    for (package, *inside), names in PHOTOGRAPHS.items():
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations if spec else None) or ():
            paths = [Path(folder, *inside, name) for name in names]
            found.update({path.stem: path for path in paths if path.is_file()})
    return found


def crop_box(size: tuple[int, int], held_out: bool, draw: random.Random) -> Box:
    """Draw a square inside the strip for validation, or beside it."""
    width, height = size
    left, right = (round(width * edge) for edge in STRIP)
    low, high = (left, right) if held_out else draw.choice([(0, left), (right, width)])
    most = min(SIDES[1], high - low, height)
    side = draw.randint(min(SIDES[0], most), most)
    x, y = draw.randint(low, high - side), draw.randint(0, height - side)
    return x, y, x + side, y + side


def plan(sources: dict[str, Path], images: int) -> dict[str, list[dict[str, Any]]]:
    """Choose the crops of both splits, the photographs in turn."""
    draw, classes = random.Random(SEED), sorted(sources)
    sizes = {name: Image.open(sources[name]).size for name in classes}
    valid = max(round(images * HELD_OUT), 1)
    entries: dict[str, list[dict[str, Any]]] = {"train": [], "valid": []}
    for part, count in (("train", images - valid), ("valid", valid)):
        for i in range(count):
            name = classes[i % len(classes)]
            box = crop_box(sizes[name], part == "valid", draw)
            file = f"{part}/{name}/{i:05}.jpg"
            entries[part].append({"file": file, "label": classes.index(name), "photo": name, "box": box})
    return entries


def write_data(root: Path, sources: dict[str, Path], images: int) -> Path:
    """Write the JPEGs and give their folder; one that is there and complete is used again."""
    wanted = {
        "classes": sorted(sources),
        "stored": STORED,
        "quality": QUALITY,
        "sides": SIDES,
        "strip": STRIP,
        "seed": SEED,
        "files": plan(sources, images),
    }
    folder = root / f"{images}-of-{len(sources)}"
    if is_complete(folder, wanted):
        return folder
    (folder / "manifest.json").unlink(missing_ok=True)
    photos = {name: Image.open(path).convert("RGB") for name, path in sources.items()}
    for entry in tqdm([*wanted["files"]["train"], *wanted["files"]["valid"]], desc="writing JPEGs", file=sys.stderr):
        path = folder / entry["file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        crop = photos[entry["photo"]].crop(entry["box"])
        crop.resize((STORED, STORED), Image.Resampling.BICUBIC).save(path, quality=QUALITY)
    write(folder / "manifest.json", json.dumps(wanted))  # last: it says that all is there
    return folder


def is_complete(folder: Path, wanted: dict[str, Any]) -> bool:
    """Say whether a folder holds just these JPEGs."""
    try:
        found = json.loads((folder / "manifest.json").read_text())
    except (OSError, ValueError):
        return False
    entries = [entry for part in wanted["files"].values() for entry in part]
    return found == json.loads(json.dumps(wanted)) and all((folder / entry["file"]).is_file() for entry in entries)


def decode(path: Path) -> np.ndarray:  # (H, W, 3) uint8
    """Read a JPEG, with the same decoder for all libraries."""
    if cv2 is None:
        return np.array(Image.open(path).convert("RGB"))
    return cv2.cvtColor(cv2.imread(str(path), cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)


def as_tensor(image: np.ndarray) -> Tensor:
    """View a decoded image as (3, H, W)."""
    return torch.from_numpy(image).permute(2, 0, 1)


@dataclass
class Photos(Dataset):
    """Decoded images with their labels, after a transform."""

    files: list[Path]
    labels: list[int]
    transform: Transform

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, i: int) -> tuple[Tensor, int]:
        return self.transform(decode(self.files[i])), self.labels[i]


def split(folder: Path, name: str, transform: Transform) -> Photos:
    """Give the images of a written folder for ``train`` or ``valid``."""
    entries = json.loads((folder / "manifest.json").read_text())["files"][name]
    return Photos([folder / entry["file"] for entry in entries], [entry["label"] for entry in entries], transform)


def start_worker(_: int) -> None:
    """Keep a worker to one thread, and seed albumentations, which does not draw from torch."""
    if cv2 is not None:
        cv2.setNumThreads(0)
    info = torch.utils.data.get_worker_info()
    compose = getattr(info.dataset.transform, "compose", None) if info else None
    if compose is not None:
        compose.set_random_seed(torch.initial_seed() % 2**32)


def loader(data: Photos, batch: int, workers: int) -> DataLoader:
    """Make a loader that gives every library the same order."""
    return DataLoader(
        data,
        batch,
        shuffle=True,
        drop_last=True,
        num_workers=workers,
        persistent_workers=workers > 0,
        worker_init_fn=start_worker,
        generator=torch.Generator().manual_seed(SEED),
    )


# ------------------------------------------------------------------------------------------------------------ recipes


def plain(images: Tensor, size: int) -> Tensor:
    """Resize a uint8 batch and normalise it."""
    small = nn.functional.interpolate(images, (size, size), mode="bilinear", antialias=True)
    mean, std = (torch.tensor(values).view(3, 1, 1) for values in (MEAN, STD))
    return (small.float() / 255 - mean) / std


def on_batch(library: Any, recipe: str, size: int) -> nn.Module:
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
    return library.AugmentationSequential(*ops, library.Normalize(mean=MEAN, std=STD), data_keys=["input"])


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

    pipeline = on_batch(augment, recipe, size)
    return as_tensor, torch.compile(pipeline, fullgraph=True) if name == "augment-compiled" else pipeline


# ------------------------------------------------------------------------------------------------------------ network


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


# ----------------------------------------------------------------------------------------------------------- the loop


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
        lines = str(error).strip().splitlines() or [""]
        backend.error = f"{type(error).__name__}: {lines[0]}"[:160]


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


def run(
    backends: Sequence[Backend], epochs: int, valid: tuple[Tensor, Tensor], save: Callable[[], None] = lambda: None
) -> None:
    """Warm all libraries up, and let them take turns."""

    def turn(backend: Backend, epoch: int) -> None:
        done = train(backend, epoch)
        if backend.trainer is not None:
            done.accuracy = backend.trainer.accuracy(*valid)
        backend.epochs.append(done)

    with tqdm(total=len(backends) * (epochs + 1), file=sys.stderr) as progress:
        for epoch in range(-1, epochs):
            for backend in backends:
                what = "warm-up" if epoch < 0 else f"epoch {epoch + 1}"
                progress.set_description(f"{what}, {backend.name}")
                if backend.error is None:
                    attempt(backend, lambda b=backend, e=epoch: warm_up(b) if e < 0 else turn(b, e))
                    save()
                progress.update()


def validation(folder: Path, size: int) -> tuple[Tensor, Tensor]:
    """Give all images for validation, resized and normalised, and their labels."""
    data = split(folder, "valid", as_tensor)
    images = [plain(image[None], size) for image, _ in (data[i] for i in range(len(data)))]
    return torch.cat(images), torch.tensor(data.labels)


# ------------------------------------------------------------------------------------------------------------- report


def rows(backends: Sequence[Backend]) -> list[dict[str, Any]]:
    """Give the figures of all libraries, also in comparison with ``none``, turn by turn: drift cancels there."""
    found = [row(backend) for backend in backends]
    base = next((r["epochs"] for r in found if r["library"] == "none"), [])
    for r in found:
        pairs = zip(r["epochs"], base, strict=False)
        ratios = [one["images_per_second"] / other["images_per_second"] for one, other in pairs]
        r["of_none"] = statistics.median(ratios) if ratios else None
    return found


def row(backend: Backend) -> dict[str, Any]:
    """Give the figures of a library: medians over the epochs, the last loss and accuracy."""
    found: dict[str, Any] = {"library": backend.name, "augments_in": backend.where, "error": backend.error}
    found["first_call_s"] = backend.first_call
    if backend.epochs:
        rates = [epoch.images_per_second for epoch in backend.epochs]
        found.update(images_per_second=statistics.median(rates), slowest=min(rates), fastest=max(rates))
        for share in ("waiting", "augmenting", "stepping"):
            found[share] = statistics.median(getattr(epoch, share) for epoch in backend.epochs)
        found.update(loss=backend.epochs[-1].loss, accuracy=backend.epochs[-1].accuracy)
    found["epochs"] = [asdict(epoch) for epoch in backend.epochs]
    return found


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Format rows as Markdown."""
    heads = "library, augments in, images/s, of none, waiting for data, augmenting, step, first call, loss, accuracy"
    lines = [f"| {heads.replace(', ', ' | ')} |", "|---|---|" + "--:|" * 8]
    for found in rows:
        start = f"| {found['library']} | {found['augments_in']} |"
        if found["error"] or not found["epochs"]:
            lines.append(f"{start} {(found['error'] or 'not run').replace('|', '/')} |" + " |" * 7)
            continue
        rate = f"{found['images_per_second']:.0f} ({found['slowest']:.0f}-{found['fastest']:.0f})"
        ratio = "-" if found["of_none"] is None else f"{found['of_none']:.2f}x"
        shares = [f"{found[key]:.0%}" for key in ("waiting", "augmenting", "stepping")]
        first = "-" if found["first_call_s"] is None else f"{found['first_call_s']:.2f} s"
        learnt = ["-", "-"]
        if found["loss"] is not None:
            learnt = [f"{found['loss']:.2f}", f"{found['accuracy']:.1%}"]
        lines.append(f"{start} {' | '.join([rate, ratio, *shares, first, *learnt])} |")
    return "\n".join(lines)


def disturbed(rows: Sequence[dict[str, Any]], threads: int) -> str:
    """Say which libraries had to share the core of their main process; the empty text if none had to."""
    found = []
    for row in rows:
        shares = [epoch["on_core"] for epoch in row["epochs"] if epoch["loss"] is not None]
        if shares and threads == 1 and statistics.median(shares) < 0.95:
            found.append(f"{row['library']} {statistics.median(shares):.0%}")
    return f"Other processes took cores from this run: share left to the main process: {', '.join(found)}" * bool(found)


def surroundings(args: argparse.Namespace, classes: Sequence[str]) -> dict[str, Any]:
    """Say what was measured, when, with what and on what."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        **commit(),
        "cpu": cpu(),
        "cores": os.cpu_count(),
        "versions": versions,
        "decoder": "pillow" if cv2 is None else "opencv",
        "classes": list(classes),
        "flags": {name: str(value) if isinstance(value, Path) else value for name, value in vars(args).items()},
    }


def commit() -> dict[str, Any]:
    """Give the commit of the checkout, and whether it has changes."""

    def git(*words: str) -> str:
        folder = Path(__file__).resolve().parent
        return subprocess.run(("git", *words), cwd=folder, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return {"commit": git("rev-parse", "HEAD"), "dirty": bool(git("status", "--porcelain"))}
    except (OSError, subprocess.CalledProcessError):
        return {"commit": "unknown", "dirty": None}


def cpu() -> str:
    """Give the processor's name."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def write(path: Path, text: str) -> None:
    """Write a file at once or not at all."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def heading(about: dict[str, Any]) -> str:
    """Say in two lines what was measured."""
    flags, versions = about["flags"], ", ".join(f"{name} {value}" for name, value in about["versions"].items())
    return (
        f"{flags['recipe']}, {flags['images']} JPEGs of {len(about['classes'])} classes, {STORED}x{STORED} to "
        f"{flags['size']}x{flags['size']}, batch: {flags['batch']}, epochs: {flags['epochs']}, workers: "
        f"{flags['workers']}, threads: {flags['threads']}, {about['cpu']}\n{versions}; "
        "medians over epochs (slowest-fastest)"
    )


# ------------------------------------------------------------------------------------------------------- command line


class Parser(argparse.ArgumentParser):
    """A parser that says in one line what is wrong."""

    def error(self, message: str) -> NoReturn:
        """Exit with status 2."""
        self.exit(2, f"{self.prog}: {' '.join(message.split())}\n")


def libraries(text: str) -> list[str]:
    """Read names of libraries, parted by commas."""
    found = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in found if name not in LIBRARIES]
    if unknown or not found:
        raise argparse.ArgumentTypeError(f"expected some of {','.join(LIBRARIES)}; got {','.join(unknown) or text!r}")
    return list(dict.fromkeys(found))


def at_least(least: int) -> Callable[[str], int]:
    """Make a reader of whole numbers."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"expected a whole number from {least} on, got {text!r}")
        return number

    return read


def parser() -> Parser:
    """Say what the command line understands."""
    found = Parser("training_loop.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--libraries", type=libraries, default=list(LIBRARIES), help=f"some of {','.join(LIBRARIES)}")
    found.add_argument("--recipe", choices=RECIPES, default=RECIPES[0])
    found.add_argument("--images", type=at_least(20), help="JPEGs, of which a fifth is for validation")
    found.add_argument("--epochs", type=at_least(1))
    found.add_argument("--batch", type=at_least(2))
    found.add_argument("--size", type=at_least(32), help="pixels of a side, for the network")
    found.add_argument("--workers", type=at_least(0), default=1)
    found.add_argument("--threads", type=at_least(1), default=1, help="of the main process; a worker has one")
    found.add_argument("--json", type=Path, metavar="FILE", help="where to write all figures, after every epoch")
    found.add_argument("--markdown", type=Path, metavar="FILE", help="where to write the table")
    found.add_argument("--quick", action="store_true", help="small and short; other flags still hold")
    default = Path(tempfile.gettempdir(), "augment-training-loop")
    found.add_argument("--data", type=Path, metavar="DIR", default=default, help="where JPEGs are kept (%(default)s)")
    return found


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line, and refuse what would fail later."""
    reader = parser()
    args = reader.parse_args(argv)
    for name, value in (QUICK if args.quick else DEFAULTS).items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    most = (args.images - max(round(args.images * HELD_OUT), 1)) // 2
    if args.batch > most:
        reader.error(f"argument --batch: expected at most {most}, half of the images for training; got {args.batch}")
    for flag in ("json", "markdown"):
        path = getattr(args, flag)
        if path is not None:
            if path.is_dir():
                reader.error(f"argument --{flag}: expected a file, got the folder {path}")
            refuse_unwritable(reader, flag, path.parent)
    refuse_unwritable(reader, "data", args.data, make=True)
    if args.threads + args.workers > (os.cpu_count() or 1):
        print("more threads and workers than cores: they hinder each other, and figures mean little", file=sys.stderr)
    return args


def refuse_unwritable(reader: Parser, flag: str, folder: Path, make: bool = False) -> None:
    """Exit if no file can be made in a folder."""
    try:
        if make:
            folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        reader.error(f"argument --{flag}: cannot write to {folder}: {error.strerror}")


def available(names: Sequence[str]) -> list[str]:
    """Leave out the libraries that are not installed, and say so."""
    found = []
    for name in names:
        if name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
            print(f"{name}: skipped, it is not installed", file=sys.stderr)
        else:
            found.append(name)
    return found


def found_photographs() -> dict[str, Path]:
    """Find the photographs, say if some are missing, and exit if there are no two classes."""
    found, most = photographs(), sum(map(len, PHOTOGRAPHS.values()))
    if len(found) < 2:
        parser().error("no photographs found; expected scikit-image or scikit-learn to be installed")
    if len(found) < most:
        print(f"{len(found)} of {most} photographs found; scikit-image and scikit-learn carry them", file=sys.stderr)
    return found


@contextlib.contextmanager
def empty_cache() -> Iterator[None]:
    """Let the compiler start from nothing, so that the time it takes means something."""
    before = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
        try:
            yield
        finally:
            os.environ.pop("TORCHINDUCTOR_CACHE_DIR")
            if before is not None:
                os.environ["TORCHINDUCTOR_CACHE_DIR"] = before


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit status is 1 if a library failed, 2 if nothing could be done, 130 after Ctrl-C."""
    args, sources = parse(argv), found_photographs()
    torch.set_num_threads(args.threads)
    warnings.filterwarnings("ignore")
    about, backends, status = surroundings(args, sorted(sources)), [], 0

    def save(complete: bool = False) -> None:
        if args.json:
            write(args.json, json.dumps({**about, "complete": complete, "rows": rows(backends)}, indent=1))

    try:
        with empty_cache():
            folder = write_data(args.data, sources, args.images)
            backends += [build(name, folder, args) for name in available(args.libraries)]
            run(backends, args.epochs, validation(folder, args.size), save)
        status = int(any(backend.error for backend in backends))
    except KeyboardInterrupt:
        print("interrupted; what is done so far:", file=sys.stderr)
        status = 130
    save(complete=status != 130)
    report = f"{heading(about)}\n\n{table(rows(backends))}\n\n{disturbed(rows(backends), args.threads)}".rstrip()
    print(report)
    if args.markdown:
        write(args.markdown, f"{report}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
