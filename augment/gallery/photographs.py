"""What ``python -m augment preview`` shows: photographs of any kind, and labels for them, as a batch."""

import importlib.util
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, cast

import torch
from PIL import Image, ImageOps
from torch import Tensor

HEIGHT, WIDTH = 264, 352  # of the batch
MOST = 8  # photographs in a batch


class Labels(NamedTuple):
    """What is where on a photograph, in shares of its width and height."""

    mask: tuple[float, ...]  # the ellipse between x1, y1, x2, y2
    boxes: tuple[tuple[float, ...], ...]  # two
    points: tuple[tuple[float, float], ...]  # five


ANYWHERE = Labels(
    (0.32, 0.30, 0.62, 0.78),
    ((0.25, 0.20, 0.69, 0.88), (0.74, 0.12, 0.92, 0.42)),
    ((0.12, 0.15), (0.47, 0.54), (0.83, 0.27), (0.86, 0.80), (0.14, 0.84)),
)
CARRIED = {
    "astronaut.png": Labels(
        (0.55, 0.735, 0.97, 1.27),
        ((0.305, 0.0, 0.59, 0.31), (0.685, 0.03, 0.905, 0.58)),
        ((0.385, 0.10), (0.48, 0.10), (0.435, 0.215), (0.335, 0.84), (0.595, 0.77)),
    ),
    "coffee.png": Labels(
        (0.28, 0.08, 0.68, 0.50),
        ((0.255, 0.04, 0.705, 0.61), (0.55, 0.595, 0.70, 0.82)),
        ((0.285, 0.19), (0.475, 0.38), (0.71, 0.20), (0.36, 0.66), (0.625, 0.70)),
    ),
    "chelsea.png": Labels(
        (0.49, 0.72, 0.69, 0.92),
        ((0.265, 0.275, 0.455, 0.50), (0.665, 0.355, 0.80, 0.56)),
        ((0.37, 0.36), (0.725, 0.445), (0.50, 0.62), (0.86, 0.12), (0.57, 0.91)),
    ),
}
Photos = list[tuple[Image.Image, Labels]]


class Sample(NamedTuple):
    """A batch of photographs and what belongs to them."""

    image: Tensor  # (B, 3, H, W)
    mask: Tensor  # (B, 1, H, W)
    boxes: Tensor  # (B, 2, 4), edges
    points: Tensor  # (B, 5, 2), pixel centres


def carried() -> tuple[Photos, int, list[str]]:
    """The photographs that scikit-image ships, from their files: its own functions may want to download."""
    spec = importlib.util.find_spec("skimage")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(name="skimage")
    folder = Path(spec.submodule_search_locations[0], "data")
    photos = [(read(folder / name), labels) for name, labels in CARRIED.items() if (folder / name).is_file()]
    return photos, len(photos), [f"{folder}: has no photographs; name some of your own"] * (not photos)


def gather(names: Sequence[str], out: Path) -> tuple[Photos, int, list[str]]:
    """The first photographs of files and folders, how many there are, and what is wrong with the others."""
    photos, total, problems = [], 0, []
    for path in (path for name in names for path in _files(name, out)):
        try:
            if os.path.isdir(path):
                problems.append(f"{path}: no files in this folder")
            elif not os.path.isfile(path):
                problems.append(f"{path}: {'not a file' if os.path.exists(path) else 'no such file or folder'}")
            else:
                if total < MOST:
                    photos.append((read(path), ANYWHERE))
                else:
                    Image.open(path).close()
                total += 1
        except PermissionError as error:
            problems.append(f"{path}: {error.strerror}")
        except Exception:  # decoders raise all sorts of errors on broken files
            problems.append(f"{path}: not an image that can be read")
    return photos, total, problems


def _files(name: str, out: Path) -> list[str]:
    """The files of a folder, without hidden ones and the picture itself, or the name where there are none."""
    try:
        entries = sorted(os.listdir(name)) if os.path.isdir(name) else []
    except PermissionError:
        entries = []
    paths = [os.path.join(name, entry) for entry in entries if not entry.startswith(".")]
    return [p for p in paths if not os.path.isdir(p) and os.path.realpath(p) != str(out)] or [name]


def read(path: str | Path) -> Image.Image:
    """An image of any mode upright, on white, in RGB and cut to the batch's size about its centre."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on large or odd files, which come out as they can
        with Image.open(path) as file:
            image = ImageOps.exif_transpose(file)
        if image.mode[0] in "IF":
            image = _to_8_bit(image)
        if image.has_transparency_data:
            image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image.convert("RGBA"))
        return ImageOps.fit(image.convert("RGB"), (WIDTH, HEIGHT), Image.Resampling.LANCZOS)


def _to_8_bit(image: Image.Image) -> Image.Image:
    """Bring 16 bits to 8 by their scale, and numbers that have none by their extremes."""
    sixteen = image.mode.startswith("I;16")
    wide = image.convert("I") if sixteen else image
    low, high = (0.0, 65535.0) if sixteen else cast(tuple[float, float], wide.getextrema())
    scale = 255 / ((high - low) or 1)
    return wide.point(lambda value: value * scale + (0.5 - low * scale)).convert("L")


def batch(photos: Sequence[tuple[Image.Image, Labels]]) -> Sample:
    """Put photographs and their labels into tensors."""
    images = [torch.frombuffer(bytearray(photo.tobytes()), dtype=torch.uint8) for photo, _ in photos]
    y, x = torch.arange(HEIGHT).view(-1, 1) + 0.5, torch.arange(WIDTH) + 0.5
    x1, y1, x2, y2 = (torch.tensor([labels.mask for _, labels in photos]) * _scale(4)).view(-1, 4, 1, 1).unbind(1)
    inside = ((2 * x - x1 - x2) / (x2 - x1)) ** 2 + ((2 * y - y1 - y2) / (y2 - y1)) ** 2 <= 1
    return Sample(
        torch.stack(images).view(-1, HEIGHT, WIDTH, 3).permute(0, 3, 1, 2).contiguous(),
        inside.unsqueeze(1).to(torch.uint8),
        torch.tensor([labels.boxes for _, labels in photos]) * _scale(4),
        torch.tensor([labels.points for _, labels in photos]) * _scale(2) - 0.5,
    )


def _scale(numbers: int) -> Tensor:
    return torch.tensor([WIDTH, HEIGHT] * (numbers // 2))
