"""What the commands share: options and their checks, the run with its progress bar, and what is printed at the end."""

import argparse
import gc
import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import torch
from tqdm import tqdm

from . import compare, measure, plot, report, results, threads
from .backends import LIBRARIES, MODES, TRACED, missing

HERE = Path(__file__).parents[1]
Rows = list[dict[str, Any]]
Work = list[tuple[str, str, Callable[[Callable[[str], None]], Rows]]]
"""Recipe, regime, and how to measure it: a function of a function that is told what is at work."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and whose options are written out, as `threads.pin` reads them too."""

    def __init__(self, description: str | None, prog: str | None = None) -> None:
        super().__init__(prog, None, description, allow_abbrev=False)
        self.formatter_class = argparse.RawDescriptionHelpFormatter

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}\n")


def options(parser: argparse.ArgumentParser, default: str, libraries: Sequence[str] = LIBRARIES) -> None:
    """Add the options that every command has."""
    listed(parser, "libraries", libraries, list(libraries))
    listed(parser, "mode", MODES, None)
    listed(parser, "device", ("cpu", "cuda"), ["cpu"])
    parser.add_argument("--batches", type=numbers, metavar="N,...", help="sizes of the batch")
    parser.add_argument("--size", type=int, default=256, help="height and width of the images (256)")
    parser.add_argument("--threads", type=int, default=1, help="for every library (1)")
    parser.add_argument("--quick", action="store_true", help="batch 8, few repeats, kornia eager: does it all run?")
    parser.add_argument("--json", type=Path, default=HERE / "results" / default, help="file of all figures")
    parser.add_argument("--markdown", type=Path, help="file of the tables")
    parser.add_argument("--plot", type=Path, help="folder of the pictures")
    parser.add_argument("--resume", action="store_true", help="go on with the file of --json")
    parser.add_argument("--report", action="store_true", help="measure nothing: tables and pictures of --json")
    parser.add_argument("--compare", type=Path, nargs=2, metavar="FILE", help="two results files, before and after")


def listed(parser: argparse.ArgumentParser, name: str, valid: Sequence[str], default: Any) -> None:
    """Add an option that takes some of a few names, with commas between."""

    def read(text: str) -> list[str]:
        names = [word.strip() for word in text.split(",") if word.strip()]
        unknown = [word for word in names if word not in valid]
        if unknown or not names:
            raise argparse.ArgumentTypeError(
                f"expected some of {', '.join(valid)}, got {', '.join(unknown) or 'nothing'}"
            )
        return list(dict.fromkeys(names))

    parser.add_argument(f"--{name}", type=read, default=default, metavar="NAME,...", help=f"some of {', '.join(valid)}")


def numbers(text: str) -> list[int]:
    """Read numbers above 0, with commas between."""
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and int(word) > 0 for word in words):
        raise argparse.ArgumentTypeError(f"expected numbers of images above 0, got {text}")
    return list(dict.fromkeys(map(int, words)))


def check(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Hold the options against each other and the machine, before anything runs."""
    if args.threads < 1:
        parser.error(f"argument --threads: expected a number above 0, got {args.threads}")
    if args.size < 16:
        parser.error(f"argument --size: expected at least 16 pixels, got {args.size}")
    if "cuda" in args.device and not torch.cuda.is_available():
        parser.error("argument --device: expected a machine with CUDA for cuda, got none")
    if args.report and not args.json.is_file():
        parser.error(f"argument --report: expected the results file {args.json}, which does not exist")
    for name in ("json", "markdown"):
        path = getattr(args, name)
        if path and not args.compare and (problem := results.writable(path)):
            parser.error(f"argument --{name}: {problem}")
    if args.markdown and args.markdown.resolve() == args.json.resolve():
        parser.error(f"argument --markdown: expected another file than that of --json, got {args.markdown}")
    if args.plot and importlib.util.find_spec("matplotlib") is None:
        parser.error("argument --plot: expected matplotlib to be installed")
    if args.plot and (problem := results.creatable(args.plot)):
        parser.error(f"argument --plot: {problem}")


def modes(args: argparse.Namespace) -> dict[str, list[str]]:
    """Give the modes of each library: eager for those that cannot be compiled, whatever is asked for.

    A quick run leaves out kornia's compiling, which takes longer than the rest.
    """
    asked = args.mode or ["eager", "compiled"]
    found = {library: asked if library in TRACED else ["eager"] for library in args.libraries}
    return {**found, "kornia": ["eager"]} if args.quick and not args.mode and "kornia" in found else found


def present(args: argparse.Namespace) -> dict[str, str]:
    """Leave out the libraries that are not installed; give and print why."""
    skipped = missing(args.libraries)
    for library, reason in skipped.items():
        print(f"skipped: {library} is not installed ({reason})", file=sys.stderr)
    args.libraries = [library for library in args.libraries if library not in skipped]
    return skipped


def run(store: results.Results, args: argparse.Namespace, work: Work) -> bool:
    """Measure what is not done yet, each group on disk when it is; tell whether nothing cut it off."""
    if args.resume:
        store.resume()
    done = store.groups()
    work = [item for item in work if item[:2] not in done]
    if not store.path.exists():
        store.write()  # what is there stays until there is a row in its place
    measure.settle_heap()
    try:
        if any(mode != "eager" for named in modes(args).values() for mode in named):
            measure.wake_compiler()
        with tqdm(work, file=sys.stderr, unit="row") as progress:
            for label, regime, rows in progress:

                def tell(what: str, title: str = f"{label}, {regime.partition(' x ')[0]}: ") -> None:
                    progress.set_description(title + what)

                store.add(rows(tell))
                gc.collect()
    except KeyboardInterrupt:
        print(f"\ninterrupted: what is done is in {store.path}, --resume goes on with it", file=sys.stderr)
        return False
    store.write(finished=True)
    return True


def show(data: dict[str, Any], args: argparse.Namespace) -> None:
    """Print the tables, or the summary where a file takes them; draw the pictures."""
    print(report.summary(data) if args.markdown else report.tables(data))
    if args.markdown:
        results.write(args.markdown, report.tables(data))
    if args.plot:
        args.plot.mkdir(parents=True, exist_ok=True)
        print("\n".join(f"picture: {path}" for path in plot.plots(data, args.plot)))


def main(name: str, args: argparse.Namespace, measured: Callable[[], tuple[results.Results, bool]]) -> int:
    """Compare, report or measure, as the options say; give the exit status."""
    threads.listen()
    try:
        if args.compare:
            text, wrong = compare.compare(*(results.read(path) for path in args.compare))
            print(text)
            return int(wrong > 0)
        if args.report:
            show(results.read(args.json), args)
            return 0
        store, whole = measured()
    except ValueError as error:
        print(f"{name}: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    show(store.data, args)
    return 0 if whole else 130
