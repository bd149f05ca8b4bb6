"""The data of the training loop: JPEGs of crops of photographs, and loaders that give all libraries the same order."""

import importlib.util
import json
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm

from .results import write

try:
    import cv2
except ImportError:
    cv2 = None

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
SEED = 0

Transform = Callable[..., Any]
Box = tuple[int, int, int, int]  # left, top, right, bottom


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
