"""Whole pipelines, as each library's users write them: from a loader's uint8 HWC arrays to a normalised float tensor.

Every function here takes the list of images, and of boxes or masks where the task has them, and gives a batch:
(B, 3, H, W) float32, with its targets. Stacking, conversion and normalisation are inside.
"""

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

import augment

from .backends import COMPARED, Backend, distance, message
from .peers import factors, given, pair
from .recipes import MEAN, STD

Loaded = dict[str, list[Any]]  # "image": (H, W, 3) arrays, "boxes": (N, 4) edges, "mask": (H, W)
JITTER = {"brightness": 0.2, "contrast": 0.2, "saturation": 0.2, "hue": 0.1}
TURN = {"degrees": 15.0, "translate": (0.1, 0.1), "scale": (0.8, 1.2)}
# What leaves nothing to chance, for the comparison of outputs. Jitter orders its parts at random: one of them acts.
PINNED: Mapping[str, Mapping[str, Any]] = {
    "RandomResizedCrop": {"scale": (1.0, 1.0), "ratio": (1.0, 1.0)},
    "RandomHorizontalFlip": {"p": 1.0},
    "ColorJitter": {"brightness": 0.0, "contrast": 0.0, "saturation": (1.2, 1.2), "hue": 0.0, "p": 1.0},
    "RandomGrayscale": {"p": 1.0},
    "RandomGaussianBlur": {"sigma": (1.5, 1.5), "p": 1.0},
    "RandomSolarize": {"p": 1.0},
    "RandomAffine": {"degrees": (10.0, 10.0), "translate": (0.0, 0.0), "scale": (1.1, 1.1)},
    "RandomBrightness": {"brightness": (1.1, 1.1)},
    "RandomContrast": {"contrast": (0.9, 0.9)},
    "RandomRotation": {"degrees": (10.0, 10.0), "p": 1.0},
}
BILINEAR = dict.fromkeys(("RandomResizedCrop", "RandomAffine", "RandomRotation"), "bilinear")
SHIFTED = {**BILINEAR, "RandomBrightness": "adds", "RandomContrast": "multiplies"}
BLENDED = {"RandomBrightness": "multiplies", "RandomContrast": "blends with mean grey"}
PIXELS = {
    "augment": SHIFTED,
    "kornia": SHIFTED,
    "torchvision": {**BILINEAR, **BLENDED, "RandomResizedCrop": "bilinear, antialias"},
    "albumentations": SHIFTED,
}


@dataclass(frozen=True)
class Step:
    """One op of a pipeline, in kornia's name and arguments."""

    op: str
    arguments: Mapping[str, Any]


def pipelines(side: int) -> dict[str, tuple[str, list[Step]]]:
    """Give the target and the steps of every pipeline for images of `side`."""
    crop = side * 7 // 8
    size = Step("RandomResizedCrop", {"size": (crop, crop)})
    flip = Step("RandomHorizontalFlip", {"p": 0.5})
    jitter = Step("ColorJitter", JITTER)
    affine = Step("RandomAffine", {**TURN, "p": 1.0})
    return {
        "classification": ("", [size, flip, jitter]),
        "self-supervised": (
            "",
            [
                size,
                flip,
                Step("ColorJitter", {"brightness": 0.4, "contrast": 0.4, "saturation": 0.2, "hue": 0.1, "p": 0.8}),
                Step("RandomGrayscale", {"p": 0.2}),
                Step("RandomGaussianBlur", {"kernel_size": (23, 23), "sigma": (0.1, 2.0), "p": 0.5}),
                Step("RandomSolarize", {"thresholds": (0.5, 0.5), "additions": (0.0, 0.0), "p": 0.2}),
            ],
        ),
        "affine": (
            "",
            [
                flip,
                affine,
                Step("RandomBrightness", {"brightness": (0.8, 1.2), "p": 1.0}),
                Step("RandomContrast", {"contrast": (0.8, 1.2), "p": 1.0}),
            ],
        ),
        "detection": ("boxes", [flip, affine, jitter]),
        "segmentation": ("mask", [size, flip, Step("RandomRotation", {"degrees": 15.0, "p": 0.5})]),
    }


def load(images: list[Any]) -> Loaded:
    """Give what a loader gives: images, with boxes and masks."""
    rng = np.random.default_rng(0)
    side = images[0].shape[0]
    corners = rng.uniform(0, 0.6, (len(images), 8, 2)) * side
    boxes = np.concatenate([corners, corners + rng.uniform(0.1, 0.4, corners.shape) * side], -1).astype(np.float32)
    return {"image": images, "boxes": list(boxes), "mask": [(image[..., 0] > 127).astype(np.uint8) for image in images]}


def batched(library: str, target: str, steps: list[Step], device: str) -> torch.nn.Module:
    """Give ours or kornia's pipeline over a batch of bytes."""
    module = augment if library == "augment" else importlib.import_module("kornia.augmentation")
    absent = [step.op for step in steps if not hasattr(module, step.op)]
    if absent:
        raise NotImplementedError(f"{library} has no {', '.join(absent)}")
    keys = {"boxes": ["input", "bbox_xyxy"], "mask": ["input", "mask"]}.get(target, ["input"])
    chosen = [getattr(module, step.op)(**step.arguments) for step in steps]
    normalize = module.Normalize(torch.tensor(MEAN), torch.tensor(STD))
    options = {"fuse": True} if library == "augment" else {}
    return Batched(module.AugmentationSequential(*chosen, normalize, data_keys=keys, **options), library).to(device)


class Batched(torch.nn.Module):
    """A container that is shown HWC bytes as CHW; kornia's takes floats only, and is behind their conversion."""

    def __init__(self, container: torch.nn.Module, library: str) -> None:
        super().__init__()
        self.container, self.library = container, library

    def forward(self, images: Tensor, *targets: Tensor) -> Any:
        """Augment a batch of images, (B, H, W, 3) bytes, and its targets."""
        images = images.permute(0, 3, 1, 2)
        masks = bool(targets) and targets[0].dtype == torch.uint8
        targets = (targets[0].unsqueeze(1),) if masks else targets
        if self.library != "augment":
            images = images.to(torch.float32) / 255
            targets = tuple(target.to(torch.float32) for target in targets)
        return self.container(images, *targets)


def stack(loaded: Loaded, target: str, device: str) -> tuple[Tensor, ...]:
    """Put images and targets into batches."""
    named = ["image", *([target] if target else [])]
    return tuple(torch.from_numpy(np.stack(loaded[name])).to(device) for name in named)


def torchvision(target: str, steps: list[Step]) -> Callable[[Loaded], Any]:
    """Give torchvision's pipeline, called on each image with its targets."""
    from torchvision import tv_tensors
    from torchvision.transforms import InterpolationMode, v2

    bilinear = InterpolationMode.BILINEAR

    def build(step: Step) -> torch.nn.Module:
        a = step.arguments
        made: dict[str, Callable[[], torch.nn.Module]] = {
            "RandomResizedCrop": lambda: v2.RandomResizedCrop(a["size"], **given(a, "scale", "ratio"), antialias=True),
            "RandomHorizontalFlip": lambda: v2.RandomHorizontalFlip(a["p"]),
            "ColorJitter": lambda: v2.ColorJitter(**{k: a[k] for k in JITTER}),
            "RandomGrayscale": lambda: v2.RandomGrayscale(a["p"]),
            "RandomGaussianBlur": lambda: v2.GaussianBlur(a["kernel_size"], a["sigma"]),
            "RandomSolarize": lambda: v2.RandomSolarize(128, a["p"]),
            "RandomAffine": lambda: v2.RandomAffine(a["degrees"], a["translate"], a["scale"], interpolation=bilinear),
            "RandomBrightness": lambda: v2.ColorJitter(brightness=a["brightness"]),
            "RandomContrast": lambda: v2.ColorJitter(contrast=a["contrast"]),
            "RandomRotation": lambda: v2.RandomRotation(a["degrees"], bilinear),
        }
        own = step.op in ("RandomHorizontalFlip", "RandomGrayscale", "RandomSolarize")
        transform = made[step.op]()
        return transform if own or a.get("p", 1.0) == 1.0 else v2.RandomApply([transform], a["p"])

    end = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(list(MEAN), list(STD))]
    transform = v2.Compose([*map(build, steps), *end])

    def one(image: Any, *targets: Any) -> Any:
        args: list[Any] = [tv_tensors.Image(torch.from_numpy(image).permute(2, 0, 1))]
        if target == "boxes":
            box_format = tv_tensors.BoundingBoxFormat.XYXY
            args += [tv_tensors.BoundingBoxes(targets[0], format=box_format, canvas_size=image.shape[:2])]  # type: ignore[call-overload]
        elif target == "mask":
            args += [tv_tensors.Mask(torch.from_numpy(targets[0]))]
        return transform(*args)

    return lambda loaded: collate([one(*item) for item in items(loaded, target)], bool(target))


def items(loaded: Loaded, target: str) -> Iterator[tuple[Any, ...]]:
    """Give the images with their targets, one by one."""
    return zip(*(loaded[name] for name in ["image", *([target] if target else [])]), strict=True)


def collate(done: list[Any], targeted: bool) -> Any:
    """Put images, and targets, of one size into batches."""
    if not targeted:
        return torch.stack(done)
    return tuple(torch.stack([torch.as_tensor(part) for part in parts]) for parts in zip(*done, strict=True))


def albumentations(target: str, steps: list[Step]) -> Callable[[Loaded], Any]:
    """Give albumentations' pipeline, called on each image with its targets."""
    import albumentations as A

    def build(step: Step) -> Any:
        a, p = step.arguments, {"p": step.arguments.get("p", 1.0)}
        made: dict[str, Callable[[], Any]] = {
            "RandomResizedCrop": lambda: A.RandomResizedCrop(a["size"], **given(a, "scale", "ratio")),
            "RandomHorizontalFlip": lambda: A.HorizontalFlip(**p),
            "ColorJitter": lambda: A.ColorJitter(
                *(factors(a[k]) for k in ("brightness", "contrast", "saturation")), pair(a["hue"]), **p
            ),
            "RandomGrayscale": lambda: A.ToGray(**p),
            "RandomGaussianBlur": lambda: A.GaussianBlur(a["kernel_size"], a["sigma"], **p),
            "RandomSolarize": lambda: A.Solarize(a["thresholds"], **p),
            "RandomAffine": lambda: A.Affine(
                a["scale"],
                {axis: pair(part) for axis, part in zip("xy", a["translate"], strict=True)},
                rotate=[-degrees for degrees in reversed(pair(a["degrees"]))],  # clockwise here
                keep_ratio=True,
                **p,
            ),
            "RandomBrightness": lambda: A.RandomBrightnessContrast([x - 1 for x in a["brightness"]], (0.0, 0.0), **p),
            "RandomContrast": lambda: A.RandomBrightnessContrast((0.0, 0.0), [x - 1 for x in a["contrast"]], **p),
            "RandomRotation": lambda: A.Rotate(pair(a["degrees"]), **p),
        }
        return made[step.op]()

    # boxes that leave the image stay, as they do in the batches of the others
    kept = A.BboxParams(format="pascal_voc", label_fields=[], clip=True, min_area=0.0) if target == "boxes" else None
    transform = A.Compose([*map(build, steps), A.Normalize(MEAN, STD), A.ToTensorV2()], bbox_params=kept)
    name = {"boxes": "bboxes"}.get(target, target)

    def one(image: Any, *targets: Any) -> Any:
        done = transform(image=image, **dict(zip([name], targets, strict=False)))
        return done["image"], done.get(name)

    def run(loaded: Loaded) -> Any:
        done = [one(*item) for item in items(loaded, target)]
        images = torch.stack([image for image, _ in done])
        return (images, [found for _, found in done]) if target else images

    return run


def backends(name: str, side: int, loaded: Loaded, modes: Mapping[str, list[str]], device: str) -> Iterator[Backend]:
    """Give every library's way through a pipeline; a failure is a backend with its message."""
    target, steps = pipelines(side)[name]
    floor = {"pixels": "stacking and conversion to floats in 0..1 alone", "layout": "list of HWC"}
    yield Backend("floor", "eager", floor, lambda: Batched(torch.nn.Identity(), "floor")(*stack(loaded, "", device)))
    for library, named in modes.items():
        if library not in PIXELS:
            continue
        traced = library in ("augment", "kornia")
        told = {"pixels": described(library, steps), "dtype": "uint8 in, float32 out", "layout": "list of HWC"}
        told |= {"draw": "per sample", "layout": "list of HWC, stacked"} if traced else {"draw": "per image"}
        told |= {"runs": "fused"} if library == "augment" else {}
        shown = "torchvision loop" if library == "torchvision" else library
        for mode in named if traced else ["eager"] * ("eager" in named):
            try:
                backend = built(library, target, steps, loaded, device)
                backend.library, backend.mode, backend.did = shown, mode, told
                backend.compiles = backend.compiles if mode != "eager" else None
                if mode == "eager" and library != "augment":
                    backend.agreement = agreement(library, name, side, loaded, device)
                yield backend
            except Exception as error:
                yield Backend(shown, mode, told, error=message(error))


def described(library: str, steps: list[Step]) -> str:
    """Say what a library does with pixels in each step."""
    notes = [PIXELS[library].get(step.op) for step in steps]
    return ", ".join(step.op + f" ({note})" * bool(note) for step, note in zip(steps, notes, strict=True))


def built(library: str, target: str, steps: list[Step], loaded: Loaded, device: str) -> Backend:
    """Give a library's way through some steps, as a call, and as what can be compiled."""
    if library in ("torchvision", "albumentations"):
        transform = (torchvision if library == "torchvision" else albumentations)(target, steps)
        return Backend(library, "eager", {}, lambda: transform(loaded))
    module = batched(library, target, steps, device)

    def around(module: Callable[..., Any]) -> Callable[[], Any]:
        return lambda: module(*stack(loaded, target, device))

    return Backend(library, "eager", {}, around(module), module, around)


def agreement(library: str, name: str, side: int, loaded: Loaded, device: str) -> dict[str, Any]:
    """Give the largest and mean difference of ours and a peer's images where nothing is left to chance."""
    target, steps = pipelines(side)[name]
    pinned = [Step(step.op, {**step.arguments, **PINNED[step.op]}) for step in steps]
    few = {key: values[:COMPARED] for key, values in loaded.items()}
    found = []
    for each in ("augment", library):
        call = built(each, target, pinned, few, device).call
        assert call is not None
        done = call()
        image = done[0] if target else done
        found.append(torch.as_tensor(image) * torch.tensor(STD, device=image.device).view(3, 1, 1))
    return distance(*found)
