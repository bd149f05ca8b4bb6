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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from harness import threads

THREADS = threads.pin(sys.argv)  # before the libraries below load
if __name__ == "__main__":
    threads.leave_quietly()

import torch  # noqa: E402
from harness import command, measure, results  # noqa: E402
from harness.backends import photographs  # noqa: E402
from tqdm import tqdm  # noqa: E402

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

    def build(library: Any, **options: bool) -> Any:
        return library.AugmentationSequential(
            library.RandomHorizontalFlip(p=0.5),
            library.RandomAffine(30.0, (0.1, 0.1), (0.8, 1.2), 10.0, p=p),
            library.RandomBrightness((0.8, 1.2), p=p),
            data_keys=["input"],
            **options,
        )

    ours, one_by_one = (torch.compile(build(augment, fuse=fuse), fullgraph=True) for fuse in (True, False))
    eager, compiled = build(kornia), torch.compile(build(kornia))
    return {
        "ours": lambda: ours(given.levels),
        "ours without fuse": lambda: one_by_one(given.levels),
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


def row(name: str, given: Given, rounds: int) -> dict[str, Any]:
    """Time the calls of a row in turns: milliseconds of each round, by who is called."""
    torch._dynamo.reset()
    calls = ROWS[name](given)
    times: dict[str, list[float]] = {who: [] for who in calls}
    with torch.no_grad():
        for call in calls.values():
            measure.warm(call)
            measure.warm(call)
        for _ in range(rounds):
            for who, call in calls.items():
                times[who].append(milliseconds(call))
    return {"name": name, "ms": times}


def table(data: dict[str, Any]) -> str:
    """Give the figures of a run as Markdown."""
    flags, about = data["flags"], data["environment"]
    packages = ", ".join(f"{name} {version}" for name, version in about["packages"].items())
    lines = [
        f"`python benchmarks/{data['command']}`, {about['date']}, commit {about['commit']}, "
        f"{about['cpu']}, {packages}: "
        f"milliseconds of processor time for {flags['batch']} x 3 x {flags['size']} x {flags['size']}, "
        f"threads: {flags['threads']}",
        "",
        "| what | ours, ms | peers, ms | peer / ours (quartiles of the rounds) |",
        "|---|--:|---|--:|",
    ]
    for found in data["rows"]:
        ours, *_ = found["ms"].values()
        peers = dict(list(found["ms"].items())[1:])
        best = min(peers, key=lambda who: statistics.median(peers[who]))
        ratios = [theirs / own for theirs, own in zip(peers[best], ours, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
        each = ", ".join(f"{who} {statistics.median(times):.1f}" for who, times in peers.items())
        cells = [found["name"], f"{statistics.median(ours):.1f}", each, f"{middle:.1f}x ({low:.1f}-{high:.1f})"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def milliseconds(call: Call) -> float:
    """Give the mean of the runs that a fifth of a second holds."""
    start, runs = time.process_time(), 0
    while (spent := time.process_time() - start) < ENOUGH:
        call()
        runs += 1
    return spent / runs * 1e3


def main() -> int:
    """Time the rows that the command line asks for, and print their table; give the exit status."""
    parser = command.Parser(__doc__)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rows", nargs="*", default=[""], metavar="PART", help="parts of the names of rows")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write the figures, after every row")
    parser.add_argument("--report", action="store_true", help="measure nothing: the table of --json")
    args = parser.parse_args()
    for name, least in (("batch", 2), ("size", 16), ("rounds", 2), ("threads", 1)):
        if getattr(args, name) < least:
            parser.error(f"argument --{name}: expected at least {least}, got {getattr(args, name)}")
    chosen = [name for name in ROWS if any(part in name for part in args.rows)]
    if not chosen:
        parser.error(f"argument --rows: expected parts of {', '.join(ROWS)}; got {' '.join(args.rows)}")
    if args.report and not (args.json and args.json.is_file()):
        parser.error(f"argument --report: expected --json with a results file, got {args.json}")
    if args.report:
        print(table(results.read(args.json, results.MIXES)))
        return 0
    if args.json and (problem := results.writable(args.json)):
        parser.error(f"argument --json: {problem}")
    return run(args, chosen)


def run(args: argparse.Namespace, chosen: Sequence[str]) -> int:
    """Time rows, each on disk as soon as it is measured."""
    threads.listen()
    threads.limit(args.threads)
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    levels = torch.from_numpy(photographs(args.batch, args.size)).permute(0, 3, 1, 2).contiguous()
    given = Given(levels, levels / 255, torch.randint(CLASSES, (args.batch,)))
    data: dict[str, Any] = {
        "version": results.VERSION,
        "kind": "mixes",
        "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "environment": results.environment("cpu"),
        "flags": {"batch": args.batch, "size": args.size, "rounds": args.rounds, "threads": args.threads},
        "rows": [],
    }
    status = 0
    try:
        for name in tqdm(chosen, file=sys.stderr):
            data["rows"].append(row(name, given, args.rounds))
            if args.json:
                results.write(args.json, results.dump(data))
    except KeyboardInterrupt:
        print("\ninterrupted; what is done so far:", file=sys.stderr)
        status = 130
    print(table(data))
    return status


if __name__ == "__main__":
    sys.exit(main())
