"""Compare mixes, policies and a short container with the libraries that have them, and print a table.

    python benchmarks/mixes_and_policies.py
    python benchmarks/mixes_and_policies.py --batch 8 --rounds 3 --rows RandAugment

Ours are compiled whole and take bytes. kornia takes floats, as it refuses bytes, and its container is timed eager and
compiled; torchvision's policies go over the images one by one, as on a batch they choose once for all of it. What is
timed is the processor's time, so that other work on the machine disturbs less; the calls take turns.
"""

import argparse
import functools
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from harness import threads

THREADS = threads.pin(sys.argv)  # before the libraries below load

import torch  # noqa: E402
from harness import measure  # noqa: E402
from harness.backends import photographs  # noqa: E402

import augment  # noqa: E402

Call = Callable[[], Any]
CLASSES = 1000
ENOUGH = 0.2  # seconds


class Given(NamedTuple):
    """A batch of images as bytes and as floats, and their classes."""

    levels: torch.Tensor
    floats: torch.Tensor
    classes: torch.Tensor


def mix(name: str, given: Given) -> dict[str, Call]:
    """Give the calls of a mix of images and classes, with p = 1: kornia's p is that of the whole batch."""
    import kornia.augmentation as kornia

    ours = torch.compile(getattr(augment, name)(data_keys=["image", "class"]), fullgraph=True)
    theirs = getattr(kornia, name)(data_keys=["input", "class"])
    return {
        "ours": lambda: ours(given.levels, given.classes),
        "kornia eager": lambda: theirs(given.floats, given.classes),
    }


def policy(name: str, given: Given, *args: Any) -> dict[str, Call]:
    """Give the calls of a policy."""
    from torchvision.transforms import v2

    ours = torch.compile(getattr(augment, name)(*args), fullgraph=True)
    theirs = getattr(v2, name)(*args)
    return {
        "ours": lambda: ours(given.levels),
        "torchvision loop": lambda: torch.stack([theirs(image) for image in given.levels]),
    }


def container(given: Given, p: float) -> dict[str, Call]:
    """Give the calls of a flip, an affine warp and a brightness, one after the other."""
    import kornia.augmentation as kornia

    def build(library: Any) -> Any:
        return library.AugmentationSequential(
            library.RandomHorizontalFlip(p=0.5),
            library.RandomAffine(30.0, (0.1, 0.1), (0.8, 1.2), 10.0, p=p),
            library.RandomBrightness((0.8, 1.2), p=p),
            data_keys=["input"],
        )

    ours, eager = torch.compile(build(augment), fullgraph=True), build(kornia)
    compiled = torch.compile(build(kornia))
    return {
        "ours": lambda: ours(given.levels),
        "kornia eager": lambda: eager(given.floats),
        "kornia compiled": lambda: compiled(given.floats),
    }


ROWS: dict[str, Callable[[Given], dict[str, Call]]] = {
    "RandomMixUpV2": lambda given: mix("RandomMixUpV2", given),
    "RandomCutMixV2": lambda given: mix("RandomCutMixV2", given),
    "RandAugment(2, 9)": lambda given: policy("RandAugment", given, 2, 9),
    "TrivialAugmentWide": lambda given: policy("TrivialAugmentWide", given),
    "AutoAugment": lambda given: policy("AutoAugment", given),
    "AugMix": lambda given: policy("AugMix", given),
    "flip, affine, brightness, p = 1": functools.partial(container, p=1.0),
    "flip, affine, brightness, p = 0.5": functools.partial(container, p=0.5),
}


def line(name: str, given: Given, rounds: int) -> str:
    """Time the calls of a row in turns, and give it as a line of the table."""
    torch._dynamo.reset()
    calls = ROWS[name](given)
    with torch.no_grad():
        for call in calls.values():
            measure.warm(call)
            measure.warm(call)
        times: dict[str, list[float]] = {who: [] for who in calls}
        for _ in range(rounds):
            for who, call in calls.items():
                times[who].append(milliseconds(call))
    ours = times.pop("ours")
    best = min(times, key=lambda who: statistics.median(times[who]))
    ratios = [theirs / own for theirs, own in zip(times[best], ours, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    each = ", ".join(f"{who} {statistics.median(found):.1f}" for who, found in times.items())
    return f"| {name} | {statistics.median(ours):.1f} | {each} | {middle:.1f}x ({low:.1f}-{high:.1f}) |"


def milliseconds(call: Call) -> float:
    """Give the mean of the runs that a fifth of a second holds."""
    start, runs = time.process_time(), 0
    while (spent := time.process_time() - start) < ENOUGH:
        call()
        runs += 1
    return spent / runs * 1e3


def main() -> None:
    """Print the table of the rows that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rows", nargs="*", default=[""], help="parts of the names of rows")
    args = parser.parse_args()
    threads.limit(args.threads)
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    levels = torch.from_numpy(photographs(args.batch, args.size)).permute(0, 3, 1, 2).contiguous()
    given = Given(levels, levels / 255, torch.randint(CLASSES, (args.batch,)))
    print("| what | ours, ms | peers, ms | peer / ours (quartiles of the rounds) |\n|---|--:|---|--:|")
    for name in ROWS:
        if any(part in name for part in args.rows):
            print(line(name, given, args.rounds), flush=True)


if __name__ == "__main__":
    main()
