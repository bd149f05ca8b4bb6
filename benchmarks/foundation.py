"""Time every op against kornia, eager and compiled, in one process on one thread, and hold it to its targets.

    python benchmarks/foundation.py [--ops RandomAffine ...] [--seconds 1] [--json out.json]

The backends of an op are timed in turn, round by round, so that drift of the machine hits all alike. Parameters are
drawn inside the timed region; every library draws them per image.
"""

import argparse
import json
import platform
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import kornia.augmentation as kornia
import torch
from torch import Tensor
from tqdm import tqdm

import augment

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
JITTER = {"brightness": 0.2, "contrast": 0.2, "saturation": 0.2, "hue": 0.1, "p": 1.0}


@dataclass(frozen=True)
class Row:
    """An op with its arguments, the same for both libraries, and how many times faster than kornia it has to be."""

    op: str
    arguments: dict[str, Any] = field(default_factory=dict)
    target: float = 1 / 1.1
    ours: dict[str, Any] = field(default_factory=dict)
    label: str = ""


ROWS = [
    Row("RandomHorizontalFlip", {"p": 0.5}),
    Row("RandomVerticalFlip", {"p": 0.5}),
    Row("RandomRotation", {"degrees": 30.0, "p": 0.5}, 3),
    Row("RandomAffine", {"degrees": 30.0, "translate": (0.1, 0.1), "scale": (0.8, 1.2), "shear": 10.0, "p": 0.5}, 3),
    Row("RandomPerspective", {"distortion_scale": 0.5, "p": 0.5}, 3),
    Row("RandomCrop", {"size": (224, 224)}),
    Row("RandomResizedCrop", {"size": (224, 224)}, 1.5),
    Row("CenterCrop", {"size": (224, 224)}),
    Row("Resize", {"size": (224, 224)}),
    Row("RandomElasticTransform", {"p": 0.5}, 5),
    Row("ColorJitter", JITTER, 8),
    # kornia has no compiled random order; its eager one is the yardstick for the fixed order too
    Row("ColorJitter", JITTER, 30, {"order": (0, 1, 2, 3)}, "ColorJitter, fixed order"),
    Row("RandomBrightness", {"brightness": (0.8, 1.2), "p": 0.5}),
    Row("RandomGrayscale", {"p": 0.5}),
    Row("RandomGaussianBlur", {"kernel_size": (5, 5), "sigma": (0.1, 2.0), "p": 0.5}, 2.5),
    Row("RandomEqualize", {"p": 0.5}, 2),
    Row("RandomErasing", {"p": 0.5}),
    Row("RandomGaussianNoise", {"std": 0.1, "p": 0.5}, 1.5),
    Row("Normalize", {"mean": torch.tensor(MEAN), "std": torch.tensor(STD)}),
    Row("Denormalize", {"mean": torch.tensor(MEAN), "std": torch.tensor(STD)}),
]


def backends(row: Row, image: Tensor) -> dict[str, Callable[[], Any] | str]:
    """Give what can be timed for a row, warm; a backend that fails is its message."""
    torch._dynamo.reset()
    built = {
        "augment": getattr(augment, row.op)(**row.arguments, **row.ours),
        "kornia": getattr(kornia, row.op)(**row.arguments),
    }
    found: dict[str, Callable[[], Any] | str] = {}
    for name, op in built.items():
        for mode, call in (("eager", op), ("compiled", torch.compile(op, fullgraph=True))):
            key = f"{name} {mode}"
            try:
                for _ in range(3):
                    call(image)
                found[key] = lambda call=call: call(image)
            except Exception as error:
                found[key] = f"{type(error).__name__}: {str(error).splitlines()[0][:80]}"
    return found


def measure(found: dict[str, Callable[[], Any] | str], seconds: float) -> dict[str, dict[str, float]]:
    """Time backends in turn; give median and quartiles in milliseconds."""
    times: dict[str, list[float]] = {key: [] for key, call in found.items() if not isinstance(call, str)}
    end = time.perf_counter() + seconds * len(times)
    while time.perf_counter() < end or min(map(len, times.values())) < 7:
        for key in times:
            start = time.perf_counter()
            found[key]()  # type: ignore[operator]
            times[key].append((time.perf_counter() - start) * 1e3)
    return {key: _summary(values) for key, values in times.items()}


def _summary(values: list[float]) -> dict[str, float]:
    low, middle, high = statistics.quantiles(values, n=4)
    return {"median": middle, "q1": low, "q3": high, "repeats": len(values)}


def report(row: Row, found: dict[str, Any], timed: dict[str, dict[str, float]]) -> dict[str, Any]:
    """Give the figures of a row, and whether they hold."""
    peer = min((v["median"] for k, v in timed.items() if k.startswith("kornia")), default=float("nan"))
    eager, compiled = timed["augment eager"]["median"], timed["augment compiled"]["median"]
    return {
        "op": row.label or row.op,
        "times": timed,
        "errors": {k: v for k, v in found.items() if isinstance(v, str)},
        "speedup": peer / compiled,
        "target": row.target,
        "compiled_over_eager": compiled / eager,
        "holds": peer / compiled >= row.target and compiled <= 1.15 * eager,
    }


def table(results: list[dict[str, Any]]) -> str:
    """Format results as Markdown."""
    lines = [
        "| op | augment eager | augment compiled | kornia eager | kornia compiled | compiled / own eager |"
        " faster than kornia's better | target | holds |",
        "|---|--:|--:|--:|--:|--:|--:|--:|:-:|",
    ]
    for result in results:
        cells = []
        for key in ("augment eager", "augment compiled", "kornia eager", "kornia compiled"):
            t = result["times"].get(key)
            cells.append("fails" if t is None else f"{t['median']:.2f} ({t['q1']:.2f}-{t['q3']:.2f})")
        lines.append(
            f"| {result['op']} | {' | '.join(cells)} | {result['compiled_over_eager']:.2f} | {result['speedup']:.2f}x |"
            f" {result['target']:.2f}x | {'yes' if result['holds'] else '**no**'} |"
        )
    return "\n".join(lines)


def main() -> int:
    """Run the benchmark; the exit status is 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", nargs="*", help="names of ops; all by default")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each backend of each op")
    parser.add_argument("--json", help="file to write all figures to")
    args = parser.parse_args()
    rows = [row for row in ROWS if not args.ops or row.op in args.ops]
    if not rows:
        parser.error(f"--ops: expected some of {sorted({row.op for row in ROWS})}, got {args.ops}")
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    image = torch.rand(args.batch, 3, args.size, args.size)
    results = []
    progress = tqdm(rows, file=sys.stderr)
    for row in progress:
        progress.set_description(row.label or row.op)
        found = backends(row, image)
        results.append(report(row, found, measure(found, args.seconds)))
    print(f"torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, {platform.processor()}, ", end="")
    print(f"{torch.get_num_threads()} thread, batch {tuple(image.shape)} float32, milliseconds: median (quartiles)\n")
    print(table(results))
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"torch": torch.__version__, "shape": list(image.shape), "results": results}, file, indent=1)
    return int(not all(result["holds"] for result in results))


if __name__ == "__main__":
    sys.exit(main())
