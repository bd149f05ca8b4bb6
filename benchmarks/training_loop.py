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
import importlib.util
import json
import os
import statistics
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness import threads

if __name__ == "__main__":  # before the libraries below load
    threads.pin(sys.argv)
    threads.leave_quietly()

from harness.command import Parser, listed
from harness.measure import empty_cache
from harness.results import TRAINING, VERSION, environment, read, writable, write
from harness.training import LIBRARIES, NEEDS, RECIPES, Backend, attempt, build, train, validation, warm_up
from harness.training_data import HELD_OUT, PHOTOGRAPHS, STORED, cv2, photographs, write_data
from torch import Tensor
from tqdm import tqdm

DEFAULTS = {"images": 2000, "epochs": 10, "batch": 32, "size": 128}
QUICK = {"images": 400, "epochs": 2, "batch": 16, "size": 64}
PACKAGES = ("torch", "augment", "kornia", "torchvision", "albumentations", "opencv-python-headless", "numpy", "pillow")


def run(
    backends: Sequence[Backend], epochs: int, valid: tuple[Tensor, Tensor], save: Callable[[], Any] = lambda: None
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
    return {
        "version": VERSION,
        "kind": "training",
        "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "environment": environment("cpu", PACKAGES),
        "decoder": "pillow" if cv2 is None else "opencv",
        "classes": list(classes),
        "flags": {name: str(value) if isinstance(value, Path) else value for name, value in vars(args).items()},
    }


def report(data: dict[str, Any]) -> str:
    """Give the table of a run, with what was measured above it."""
    about, flags = data["environment"], data["flags"]
    packages = ", ".join(f"{name} {version}" for name, version in about["packages"].items())
    told = [
        f"`python benchmarks/{data['command']}`, {about['date']}, commit {about['commit']}",
        f"{flags['recipe']}, {flags['images']} JPEGs of {len(data['classes'])} classes, {STORED}x{STORED} to "
        f"{flags['size']}x{flags['size']}, batch: {flags['batch']}, epochs: {flags['epochs']}, workers: "
        f"{flags['workers']}, threads: {flags['threads']} (found effective: "
        f"{', '.join(f'{name} {number}' for name, number in about['threads'].items())})",
        f"{about['cpu']}, {about['cores']} cores; Python {about['python']}, {packages}; decoder: {data['decoder']}",
        "Medians over epochs (slowest-fastest); shares of an epoch's time.",
    ]
    if not data["complete"]:
        told.append("**The run was not finished.**")
    shared = disturbed(data["rows"], flags["threads"])
    return "\n\n".join([*told, table(data["rows"]), *[shared] * bool(shared)])


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
    found = Parser(__doc__, "training_loop.py")
    listed(found, "libraries", LIBRARIES, list(LIBRARIES))
    found.add_argument("--recipe", choices=RECIPES, default=RECIPES[0])
    found.add_argument("--images", type=at_least(20), help="JPEGs, of which a fifth is for validation")
    found.add_argument("--epochs", type=at_least(1))
    found.add_argument("--batch", type=at_least(2))
    found.add_argument("--size", type=at_least(32), help="pixels of a side, for the network")
    found.add_argument("--workers", type=at_least(0), default=1)
    found.add_argument("--threads", type=at_least(1), default=1, help="of the main process; a worker has one")
    found.add_argument("--json", type=Path, metavar="FILE", help="where to write all figures, after every epoch")
    found.add_argument("--markdown", type=Path, metavar="FILE", help="where to write the table")
    found.add_argument("--report", action="store_true", help="measure nothing: the table of --json")
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
    if args.report and not (args.json and args.json.is_file()):
        reader.error(f"argument --report: expected --json with a results file, got {args.json}")
    refuse_unwritable(reader, args)
    if args.threads + args.workers > (os.cpu_count() or 1):
        print("more threads and workers than cores: they hinder each other, and figures mean little", file=sys.stderr)
    return args


def refuse_unwritable(reader: Parser, args: argparse.Namespace) -> None:
    """Exit if a file cannot be made; folders are made where they are missing."""
    for flag, path in (("json", args.json), ("markdown", args.markdown), ("data", args.data / "manifest.json")):
        if path and (problem := writable(path)):
            reader.error(f"argument --{flag}: {problem}")


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


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit status is 1 if a library failed, 2 if nothing could be done, 130 after Ctrl-C."""
    args = parse(argv)
    if args.report:
        try:
            return show(read(args.json, TRAINING), args)
        except ValueError as error:
            parser().error(str(error))
    sources = found_photographs()
    threads.limit(args.threads)
    warnings.filterwarnings("ignore")
    about, backends, status = surroundings(args, sorted(sources)), [], 0

    def save(complete: bool = False) -> dict[str, Any]:
        data = {**about, "complete": complete, "rows": rows(backends)}
        if args.json:
            write(args.json, json.dumps(data, indent=1))
        return data

    threads.listen()
    with empty_cache():
        try:
            folder = write_data(args.data, sources, args.images)
            backends += [build(name, folder, args) for name in available(args.libraries)]
            run(backends, args.epochs, validation(folder, args.size), save)
            status = int(any(backend.error for backend in backends))
        except KeyboardInterrupt:  # inside, as the cache keeps its folder where an error leaves it
            print("interrupted; what is done so far:", file=sys.stderr)
            status = 130
    show(save(complete=status != 130), args)
    return status


def show(data: dict[str, Any], args: argparse.Namespace) -> int:
    """Print the table, and write it where it is asked for."""
    text = report(data)
    print(text)
    if args.markdown:
        write(args.markdown, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
