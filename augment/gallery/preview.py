"""The picture of ``python -m augment preview``: photographs and their labels, before and after each op."""

import difflib
import os
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path

import torch
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from torch import Tensor
from tqdm import tqdm

from ..containers import AugmentationSequential
from ..testing import Case, cases
from .photographs import HEIGHT, WIDTH, Sample, batch, carried, gather

COLUMNS = 6  # ops side by side, at most
MARGIN, GAP, HEAD = 20, 6, 44  # of the sheet, between thumbnails, and above each band of them

PAPER, EMPTY, INK, FAINT = "#ffffff", "#eaeef2", "#1f2328", "#656d76"
MASK, BOX, SHADE = "#00e5ff", "#ffe94a", "#101418"
POINTS = ("#ff3b30", "#2fbf4f", "#0a84ff", "#ff9500", "#bf5af2")

# What a person can see on a photograph, where the registry's arguments are made for small images.
ARGUMENTS = {
    "CenterCrop": {"size": (176, 176)},
    "ColorJiggle": {"brightness": 0.3, "contrast": 0.4, "saturation": 0.6, "hue": 0.2},
    "ColorJitter": {"brightness": 0.4, "contrast": 0.4, "saturation": 0.6, "hue": 0.2},
    "Denormalize": {"mean": (0.5, 0.4, 0.3), "std": (0.2, 0.25, 0.3)},
    "LetterBox": {"size": (WIDTH, WIDTH)},
    "LongestMaxSize": {"max_size": WIDTH // 2},
    "Normalize": {"mean": (0.5, 0.4, 0.3), "std": (0.2, 0.25, 0.3)},
    "PadTo": {"size": (HEIGHT + 60, WIDTH + 60), "pad_value": 0.4},
    "RandomBoxBlur": {"kernel_size": (15, 15)},
    "RandomBrightness": {"brightness": (0.7, 1.7)},
    "RandomCoarseDropout": {
        "num_holes_range": (4, 8),
        "hole_height_range": (0.15, 0.3),
        "hole_width_range": (0.15, 0.3),
        "fill": "noise",
    },
    "RandomClahe": {"clip_limit": (3.0, 6.0)},
    "RandomContrast": {"contrast": (0.4, 0.6)},
    "RandomCrop": {"size": (165, 220)},
    "RandomDefocus": {"radius": (5, 9)},
    "RandomDownscale": {"scale_range": (0.1, 0.2)},
    "RandomElasticTransform": {"kernel_size": (101, 101), "sigma": (20.0, 20.0), "alpha": (4.5, 4.5)},
    "RandomGamma": {"gamma": (0.4, 0.6)},
    "RandomGaussianBlur": {"kernel_size": 31, "sigma": (3.0, 6.0)},
    "RandomGaussianIllumination": {"gain": (0.5, 0.7), "sigma": (0.2, 0.3)},
    "RandomGaussianNoise": {"std": 0.25},
    "RandomIoUCrop": {"max_scale": 0.8, "sampler_options": (0.0, 0.3)},
    "RandomGridDistortion": {"distort_limit": 0.6},
    "RandomISONoise": {"color_shift": (0.1, 0.2), "intensity": (0.5, 1.0)},
    "RandomLinearCornerIllumination": {"gain": (0.5, 0.7)},
    "RandomLinearIllumination": {"gain": (0.5, 0.7)},
    "RandomJPEG": {"jpeg_quality": (3.0, 12.0)},
    "RandomMedianBlur": {"kernel_size": (11, 11)},
    "RandomMotionBlur": {"kernel_size": 25, "angle": 90.0, "direction": 0.5, "border_type": "reflect"},
    "RandomPerspective": {"distortion_scale": 0.6},
    "RandomPlasmaBrightness": {"intensity": (0.6, 0.8)},
    "RandomPlasmaShadow": {"shade_intensity": (-0.5, -0.4), "shade_quantity": (0.5, 0.6)},
    "RandomRain": {"drop_height": (10, 20), "drop_width": (-7, 7)},
    "RandomHue": {"hue": (0.2, 0.5)},
    "RandomPhotometricDistort": {"p_step": 0.8},
    "RandomPosterize": {"bits": (2, 3)},
    "RandomResizedCrop": {"size": (224, 224), "scale": (0.2, 0.6)},
    "RandomSaltAndPepperNoise": {"amount": (0.05, 0.2)},
    "RandomShotNoise": {"scale": (4.0, 12.0)},
    "RandomThinPlateSpline": {"scale": 0.3},
    "RandomRotation": {"degrees": (-50.0, 20.0)},
    "RandomShear": {"shear": (-30.0, -15.0, 10.0, 20.0)},
    "RandomTranslate": {"translate_x": (-0.4, 0.4), "translate_y": (-0.3, 0.3)},
    "RandomZoomOut": {"side_range": (1.5, 2.5), "fill": 0.4},
    "RandomSnow": {"snow_coefficient": (0.6, 0.7), "brightness": (2.0, 2.5)},
    "RandomSaturation": {"saturation": (1.8, 2.5)},
    "RandomSharpness": {"sharpness": (4.0, 8.0)},
    "RandomZoomBlur": {"max_factor": (1.2, 1.4)},
    "Resize": {"size": (HEIGHT, WIDTH // 2)},
    "SmallestMaxSize": {"max_size": HEIGHT // 2},
}


class Refusal(Exception):
    """Why no picture is written, in a line for the user."""


def run(
    images: Sequence[str], names: Sequence[str] | None, out: str, seed: int, complain: Callable[[str], object]
) -> int:
    """Write the picture and give the exit status: 0, or 1 when some of the images could not be read."""
    chosen = choose(names)
    path, file_format = target(out, images)
    photos, total, problems = gather(images, path) if images else carried()
    if not photos:
        raise Refusal(f"no image to show: {'; '.join(problems)}")
    for problem in problems:
        complain(problem)
    sample = batch(photos)
    columns = []
    with tqdm(chosen, unit="op", leave=False) as bar:
        for case in bar:
            bar.set_description(case.name)
            columns.append(thumbnails(augmented(case, sample, seed)))
    titles = [(case.name, "geometric" if case.geometric else "intensity") for case in chosen]
    picture = sheet(thumbnails(sample), titles, columns)
    write(picture, path, file_format)
    shown = f"{len(photos)}{f' of {total}' if total > len(photos) else ''}"
    print(f"{out}: {picture.width} x {picture.height} pixels, ops: {len(chosen)}, photographs: {shown}")
    return 1 if problems else 0


# ------------------------------------------------------------------------------------------------- what the user asks


def choose(names: Sequence[str] | None) -> list[Case]:
    """The ops of these names, or all, with arguments for a photograph."""
    known = {case.name: case for case in cases(variants=False)}
    wrong = [f"{name!r} is not an op{_nearest(name, list(known))}" for name in names or () if name not in known]
    if wrong:
        raise Refusal("; ".join(wrong))
    chosen = known.values() if names is None else [known[name] for name in names]
    return [Case(case.name, case.op, ARGUMENTS.get(case.name, case.arguments)) for case in chosen]


def _nearest(name: str, known: Sequence[str]) -> str:
    lower = {k.lower(): k for k in known}
    near = difflib.get_close_matches(name.lower(), lower, cutoff=0.5) or [k for k in lower if name.lower() in k][:3]
    if near:
        return f"; did you mean {' or '.join(lower[k] for k in near)}?"
    return "; images go before --ops" if os.path.exists(name) else "; python -m augment list names them all"


def target(out: str, images: Sequence[str]) -> tuple[Path, str]:
    """The file to write and its format, after a look whether it can be written."""
    path = Path(os.path.realpath(out))
    file_format = Image.registered_extensions().get(path.suffix.lower())
    try:
        Image.new("RGB", (8, 8)).save(BytesIO(), file_format or "")
    except (KeyError, OSError, ValueError):
        raise Refusal(f"--out {out}: expected the name of a picture, such as preview.png") from None
    if not path.parent.is_dir():
        raise Refusal(f"--out {out}: there is no folder {path.parent}")
    if path.is_dir() or (path.exists() and not os.access(path, os.W_OK)):
        raise Refusal(f"--out {out}: cannot be written over")
    if str(path) in map(os.path.realpath, images):
        raise Refusal(f"--out {out}: is one of the images")
    try:
        with open(_partial(path), "xb"):
            pass
        os.unlink(_partial(path))
    except OSError as error:
        raise Refusal(f"--out {out}: {error.strerror}") from None
    return path, file_format or ""


def _partial(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}")


def write(picture: Image.Image, path: Path, file_format: str) -> None:
    """Write a picture whole or not at all."""
    try:
        encoded = BytesIO()
        picture.save(encoded, file_format, quality=90)
        _partial(path).write_bytes(encoded.getbuffer())
        os.replace(_partial(path), path)
    except (OSError, ValueError) as error:
        raise Refusal(f"--out {path}: {error}") from None
    finally:
        _partial(path).unlink(missing_ok=True)


def augmented(case: Case, sample: Sample, seed: int) -> Sample:
    """Apply an op to every photograph and its labels."""
    pipeline = AugmentationSequential(case(p=1.0), data_keys=["image", "mask", "bbox_xyxy", "keypoints"])
    pipeline.generator = torch.Generator().manual_seed(seed % 2**63)
    return Sample(*pipeline(*sample))


# ------------------------------------------------------------------------------------------------------------ drawing


def thumbnails(sample: Sample) -> list[Image.Image]:
    """Draw every photograph with its labels."""
    image = sample.image
    if image.is_floating_point():
        low, high = image.min().clamp(max=0), image.max().clamp(min=1)
        image = ((image - low) / (high - low) * 255).round().to(torch.uint8)
    rows = zip(image, sample.mask * 255, sample.boxes.tolist(), sample.points.tolist(), strict=True)
    return [thumbnail(_picture(i, "RGB"), _picture(m, "L"), boxes, points) for i, m, boxes, points in rows]


def _picture(tensor: Tensor, mode: str) -> Image.Image:
    height, width = tensor.shape[-2:]
    return Image.frombytes(mode, (width, height), bytes(tensor.permute(1, 2, 0).flatten().tolist()))


def thumbnail(
    photo: Image.Image, mask: Image.Image, boxes: Sequence[Sequence[float]], points: Sequence[Sequence[float]]
) -> Image.Image:
    """Draw a photograph of any size with its labels; the thumbnail is drawn in twice its size, for smooth lines."""
    zoom = min(WIDTH / photo.width, HEIGHT / photo.height)
    size = (max(round(photo.width * zoom), 1), max(round(photo.height * zoom), 1))
    drawn, mask = photo.resize(size, Image.Resampling.BICUBIC), mask.resize(size, Image.Resampling.NEAREST)
    drawn.paste(Image.blend(drawn, Image.new("RGB", size, MASK), 0.4), mask=mask)
    rim = Image.composite(Image.new("L", size), mask.filter(ImageFilter.MaxFilter(5)), mask)
    drawn.paste(MASK, mask=rim)
    draw = ImageDraw.Draw(drawn)
    for box in boxes:
        x1, y1, x2, y2 = (min(max(round(edge * zoom), 0), size[i % 2]) for i, edge in enumerate(box))
        if min(x2 - x1, y2 - y1) >= 4:
            draw.rectangle((x1, y1, x2 - 1, y2 - 1), outline=SHADE, width=6)
            draw.rectangle((x1 + 1, y1 + 1, x2 - 2, y2 - 2), outline=BOX, width=4)
    for (x, y), colour in zip(points, POINTS, strict=True):
        x, y = (x + 0.5) * zoom, (y + 0.5) * zoom
        if 0 <= x <= size[0] and 0 <= y <= size[1]:
            for radius, ink in ((10, SHADE), (9, PAPER), (6.5, colour)):
                draw.ellipse([c - 0.5 + r for r in (-radius, radius) for c in (x, y)], fill=ink)
    cell = Image.new("RGB", (WIDTH, HEIGHT), EMPTY)
    cell.paste(drawn, ((WIDTH - size[0]) // 2, (HEIGHT - size[1]) // 2))
    return cell.reduce(2)


def place(column: int, band: int, rows: int, row: int = 0) -> tuple[int, int]:
    """The top left corner of a thumbnail; column 0 is before, the ops follow."""
    top = MARGIN + band * (HEAD + rows * (HEIGHT // 2 + GAP) + GAP) + HEAD
    return MARGIN + column * (WIDTH // 2 + GAP) + (2 * GAP if column else 0), top + row * (HEIGHT // 2 + GAP)


def sheet(
    before: Sequence[Image.Image], titles: Sequence[tuple[str, str]], after: Sequence[Sequence[Image.Image]]
) -> Image.Image:
    """Set bands of columns: what was there before, and what each op makes of it."""
    bands = -(-len(titles) // COLUMNS)
    across, rows = -(-len(titles) // bands), len(before)
    right, bottom = place(across + 1, 0, rows)[0], place(0, bands, rows)[1] - HEAD
    picture = Image.new("RGB", (right - GAP + MARGIN, bottom - 2 * GAP + MARGIN), PAPER)
    draw = ImageDraw.Draw(picture)
    names = [name for name, _ in titles]
    fonts = (ImageFont.load_default(size) for size in (16, 15, 14, 13, 12, 11, 10, 9, 8))
    font = next((f for f in fonts if max(map(f.getlength, names)) <= WIDTH // 2), ImageFont.load_default(7))
    small = ImageFont.load_default(12)
    for band in range(bands):
        part = slice(band * across, (band + 1) * across)
        heads = [("before", "mask, boxes, keypoints"), *titles[part]]
        for column, ((name, what), cells) in enumerate(zip(heads, [before, *after[part]], strict=True)):
            x, y = place(column, band, rows)
            draw.text((x, y - 25), name, INK, font, "ls")
            draw.text((x, y - 9), what, FAINT, small, "ls")
            for row, cell in enumerate(cells):
                picture.paste(cell, place(column, band, rows, row))
    return picture
