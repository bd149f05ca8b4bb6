"""What every eager call gives under one seed, as numbers that are kept: ``golden.json`` beside this file.

They guard against change and prove nothing. ``python -m tests.contract.golden`` writes them anew after a change that
is meant, and ``--digests FILE`` writes a digest of every byte, to compare two checkouts on one machine with.
"""

import argparse
import hashlib
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import augment as K
from augment.testing import Case, cases, mixes

FILE = Path(__file__).with_name("golden.json")
SIZE = (48, 56)
KEYS = ["image", "mask", "bbox_xyxy", "bbox_xywh", "bbox", "keypoints"]
DTYPES = {"float32": torch.float32, "uint8": torch.uint8}
POLICIES = ("AutoAugment", "RandAugment", "TrivialAugment", "TrivialAugmentWide", "AugMix")


def image(dtype: torch.dtype, b: int = 8) -> Tensor:
    """Give images that are smooth and noisy."""
    generator = torch.Generator().manual_seed(0)
    levels = torch.randint(0, 128, (b, 3, *SIZE), generator=generator, dtype=torch.uint8)
    levels += torch.arange(SIZE[1], dtype=torch.uint8) * 2
    return levels if dtype == torch.uint8 else levels / 255


def labelled(dtype: torch.dtype, b: int = 8) -> list[Tensor]:
    """Give a value for each of KEYS."""
    generator = torch.Generator().manual_seed(1)
    points = torch.rand(b, 3, 2, generator=generator) * torch.tensor([30.0, 24.0]) + 4
    ends = points + 4 + 8 * torch.rand(b, 3, 2, generator=generator)
    mask = torch.randint(5, (b, 1, *SIZE), generator=generator)
    x1, y1, x2, y2 = torch.cat([points, ends], -1).unbind(-1)
    corners = torch.stack([x1, y1, x2, y1, x2, y2, x1, y2], -1).unflatten(-1, (4, 2))
    return [
        image(dtype, b),
        mask,
        torch.cat([points, ends], -1),
        torch.cat([points, ends - points], -1),
        corners,
        points,
    ]


def containers() -> dict[str, Callable[[], nn.Module]]:
    """Give containers of every kind, without their data keys."""

    def sequence(**options: Any) -> nn.Module:
        return K.AugmentationSequential(
            K.RandomAffine(30.0, (0.1, 0.1), p=0.7),
            K.RandomHorizontalFlip(),
            K.ColorJiggle(0.2, 0.2, 0.2, 0.1, order=(1, 0, 3, 2)),
            K.RandomPerspective(0.3, p=0.5),
            K.RandomResizedCrop((32, 40)),
            K.RandomSolarize(p=0.5),
            K.Normalize(0.5, 0.25),
            **options,
        )

    def video(**options: Any) -> nn.Module:
        keys = options.pop("data_keys")
        inner = K.VideoSequential(K.RandomAffine(30.0), K.RandomBrightness(0.3), data_keys=keys, **options)
        return Clips(inner)

    return {
        "sequential": sequence,
        "fused": lambda **o: sequence(fuse=True, min_visibility=0.2, **o),
        "deformed": lambda **o: K.AugmentationSequential(
            K.RandomElasticTransform(), K.RandomThinPlateSpline(), K.RandomGridDistortion(), **o),
        "iou": lambda **o: K.AugmentationSequential(K.RandomIoUCrop(p=0.8), K.LetterBox(40), **o),
        "one": lambda **o: K.OneOf(K.RandomRotation(40.0), K.RandomEqualize(p=1.0), K.RandomVerticalFlip(p=1.0), **o),
        "some": lambda **o: K.SomeOf(K.RandomRotation(40.0), K.RandomInvert(), K.RandomErasing(p=1.0), n=(0, 2), **o),
        "order": lambda **o: K.RandomOrder(K.RandomRotation(40.0), K.RandomGaussianBlur(3, (0.5, 1.0)), **o),
        "apply": lambda **o: K.RandomApply([K.RandomRotation(40.0), K.RandomGrayscale()], **o),
        "random_apply": lambda **o: K.AugmentationSequential(
            K.RandomRotation(9.0), K.RandomInvert(), K.RandomHorizontalFlip(), random_apply=(1, 2), **o),
        "nested": lambda **o: K.AugmentationSequential(
            K.RandomOrder(K.OneOf(K.RandomAffine(20.0), K.RandomInvert()), K.RandomHorizontalFlip()),
            K.ImageSequential(K.RandomSharpness(p=1.0), K.CenterCrop(32)), **o),
        "video": video,
    }  # fmt: skip


class Clips(nn.Module):
    """Show eight rows to a container of videos as two clips of four frames."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *values: Tensor) -> Any:
        return self.inner(*(value.unflatten(0, (2, 4)) for value in values))


def calls() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Give every call by name: ops, labels through ops, containers, mixes and policies."""
    for case in cases():
        for name, dtype in DTYPES.items():
            for p in (1.0, 0.5):
                yield f"{case.name}, {name}, p={p:g}", lambda c=case, d=dtype, p=p: c(p=p)(image(d))
        if case.geometric:
            yield (
                f"{case.name}, labels",
                lambda c=case: K.AugmentationSequential(c(p=0.7), data_keys=KEYS)(*labelled(torch.uint8)),
            )
    for key, build in containers().items():
        for name, dtype in DTYPES.items():
            yield f"container {key}, {name}", lambda b=build, d=dtype: b(data_keys=KEYS)(*labelled(d))
    for name, dtype in DTYPES.items():
        yield (
            f"container patches, {name}",
            lambda d=dtype: K.PatchSequential(
                K.RandomBrightness(0.3), K.RandomSolarize(), patchwise_apply=False, grid_size=(3, 4)
            )(image(d)),
        )
    for case in mixes():
        objects = case.name in ("RandomCopyPaste", "RandomTransplantation")  # which mix by masks, one an object
        for name, dtype in DTYPES.items():
            yield f"mix {case.name}, {name}", lambda c=case, d=dtype, o=objects: mixed(c, d, "mask" if o else "")
        keys = "mask bbox_xyxy" if objects else "mask bbox_xyxy keypoints"
        yield f"mix {case.name}, labels", lambda c=case, k=keys: mixed(c, torch.uint8, k)
    for key in POLICIES:
        for name, dtype in DTYPES.items():
            yield f"policy {key}, {name}", lambda k=key, d=dtype: getattr(K, k)()(image(d))


def mixed(case: Case, dtype: torch.dtype, keys: str) -> Any:
    """Mix images, with labels by their keys; what pastes objects has a mask of each."""
    values = dict(zip(KEYS, labelled(dtype), strict=True))
    if case.name == "RandomCopyPaste":
        values["mask"] = torch.stack([values["mask"][:, 0] == i for i in range(3)], 1)
    names = ["image", *keys.split()]
    return case(p=0.8, data_keys=names)(*(values[name] for name in names))


def outputs(call: Callable[[], Any]) -> list[Tensor]:
    """Give the tensors of a call under one seed; an error is a message."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = call()
    values = given if isinstance(given, (list, tuple)) else [given]
    return [value.detach().contiguous() for value in values]


def told(value: Tensor) -> list[Any]:
    """Give of a tensor its dtype, its shape, and sums of its values under weights that no permutation keeps."""
    flat = value.flatten().double()
    place = torch.arange(1, len(flat) + 1, dtype=torch.float64)
    weights = [torch.ones_like(place), (place * 0.7548776662).frac(), (place * 0.5698402910).frac().square()]
    scale = max(len(flat), 1)
    return [str(value.dtype), list(value.shape), *(round(float((flat * w).sum()) / scale, 7) for w in weights)]


def main() -> None:
    """Write the numbers, or digests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--digests", type=Path, metavar="FILE")
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.digests:
        found = {}
        for name, call in calls():
            try:
                parts = [
                    f"{v.dtype} {tuple(v.shape)} {hashlib.sha256(v.numpy().tobytes()).hexdigest()}"
                    for v in outputs(call)
                ]
            except Exception as error:  # which is to be the same in both
                parts = [f"{type(error).__name__}: {error}"]
            found[name] = parts
        args.digests.write_text(json.dumps(found, indent=1))
    else:
        lines = [f"{json.dumps(name)}: {json.dumps([told(v) for v in outputs(call)])}" for name, call in calls()]
        FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
