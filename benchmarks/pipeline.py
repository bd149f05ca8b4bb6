"""Compare whole pipelines: from uint8 HWC arrays, as a loader gives them, to a normalised float tensor.

    python benchmarks/pipeline.py --quick
    python benchmarks/pipeline.py --batches 8,32 --json out.json --markdown out.md --plot pictures

Stacking, conversion and normalisation are inside the timed region of every library. Boxes and masks are moved with
the image where a pipeline has them. --compare and --resume as in all_libraries.py.
"""

import argparse
import functools
import itertools
import sys
import warnings
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from harness import threads

THREADS = threads.pin(sys.argv)  # before the libraries below load
if __name__ == "__main__":
    threads.leave_quietly()

from harness import command, results  # noqa: E402
from harness.backends import Regime, photographs  # noqa: E402
from harness.pipelines import backends, load, pipelines  # noqa: E402
from harness.run import group, plan  # noqa: E402

LIBRARIES = ("augment", "kornia", "torchvision", "albumentations")


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line; what it names has to exist."""
    parser = command.Parser(__doc__)
    command.options(parser, "last_pipelines.json", LIBRARIES)
    command.listed(parser, "pipelines", list(pipelines(256)), None)
    args = parser.parse_args(argv)
    command.check(parser, args)
    return args


def rows(name: str, regime: Regime, args: argparse.Namespace, tell: Callable[[str], None]) -> list[dict[str, Any]]:
    """Measure a pipeline with every library."""
    loaded = load(list(photographs(regime.batch, regime.side)))
    described = {**asdict(regime), "strides": [n // loaded["image"][0].itemsize for n in loaded["image"][0].strides]}
    found = backends(name, regime.side, loaded, command.modes(args), regime.device)
    return group(name, described, found, plan(args.quick, args.threads), tell)


def run(args: argparse.Namespace) -> tuple[results.Results, bool]:
    """Measure everything; give the results, and whether nothing cut it off."""
    skipped = command.present(args)
    threads.limit(args.threads)
    batches = args.batches or [8 if args.quick else 32]
    asked = [Regime(batch, args.size, "uint8", device) for device in args.device for batch in batches]
    flags = {"size": args.size, "threads": args.threads, "quick": args.quick, "modes": command.modes(args)}
    flags |= {"pipelines": args.pipelines and sorted(args.pipelines), "regimes": [str(regime) for regime in asked]}
    store = results.Results(args.json, "pipelines", flags, "cuda" if "cuda" in args.device else "cpu", skipped)
    work = [
        (name, str(regime), functools.partial(rows, name, regime, args))
        for regime, name in itertools.product(asked, args.pipelines or pipelines(args.size))
    ]
    return store, command.run(store, args, work)


def main(argv: list[str] | None = None) -> int:
    """Run what the command line asks for; give the exit status."""
    args = parse(argv)
    warnings.filterwarnings("ignore")
    return command.main("pipeline.py", args, lambda: run(args))


if __name__ == "__main__":
    sys.exit(main())
