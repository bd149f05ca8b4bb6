"""Compare every op with kornia, torchvision v2, albumentations and OpenCV, on the same images and the same work.

    python benchmarks/all_libraries.py --quick
    python benchmarks/all_libraries.py --json out.json --markdown out.md --plot pictures
    python benchmarks/all_libraries.py --ops RandomAffine,ColorJitter --batches 8,32 --dtype float32,uint8
    python benchmarks/all_libraries.py --compare before.json after.json
    python benchmarks/all_libraries.py --check-eager HEAD~1 .

Without --batches and --dtype the full run measures batch 32 in float32 and uint8; the quick run has batch 8. Rows are
on disk as soon as they are measured; --resume goes on with a file that was cut off.
How to read the tables: benchmarks/README.md.
"""

import argparse
import functools
import itertools
import sys
import warnings
from collections.abc import Callable
from typing import Any

from harness import threads

THREADS = threads.pin(sys.argv)  # before the libraries below load
if __name__ == "__main__":
    threads.leave_quietly()

from harness import backends, command, compare, results  # noqa: E402
from harness.backends import Images, Regime  # noqa: E402
from harness.recipes import Recipe, always, recipes  # noqa: E402
from harness.run import group, plan  # noqa: E402

import augment.testing  # noqa: E402

DTYPES = ("float32", "uint8", "float16")
FULL = [(32, "float32"), (32, "uint8")]
QUICK = [(8, "float32")]


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line; what it names has to exist."""
    parser = command.Parser(__doc__)
    command.options(parser, "last.json")
    command.listed(parser, "ops", list(augment.testing.ops()), None)
    command.listed(parser, "dtype", DTYPES, None)
    parser.add_argument("--check-eager", nargs=2, metavar="CHECKOUT", help="two folders or git revisions")
    args = parser.parse_args(argv)
    command.check(parser, args)
    return args


def regimes(args: argparse.Namespace) -> list[Regime]:
    """Give what is asked for; named batches and dtypes are crossed."""
    pairs = QUICK if args.quick else FULL
    if args.batches or args.dtype:
        pairs = list(itertools.product(args.batches or ([8] if args.quick else [32]), args.dtype or ["float32"]))
    return [Regime(batch, args.size, dtype, device) for device in args.device for batch, dtype in pairs]


@functools.lru_cache(maxsize=1)
def images_of(regime: Regime) -> Images:
    """Give the images of a regime; those of one are held at a time."""
    return Images(regime)


def rows(recipe: Recipe, regime: Regime, args: argparse.Namespace, tell: Callable[[str], None]) -> list[dict[str, Any]]:
    """Measure a recipe in a regime with every library."""
    images = images_of(regime)
    described = backends.described(regime, images)
    recipe = always(recipe) if regime.batch == 1 else recipe
    found = backends.backends(recipe, images, command.modes(args))
    return group(recipe.label, described, found, plan(args.quick, args.threads), tell, images.renew)


def run(args: argparse.Namespace) -> tuple[results.Results, bool]:
    """Measure everything; give the results, and whether nothing cut it off."""
    skipped = command.present(args)
    threads.limit(args.threads)
    asked = regimes(args)
    flags = {"size": args.size, "threads": args.threads, "quick": args.quick, "modes": command.modes(args)}
    flags |= {"ops": args.ops and sorted(args.ops), "regimes": [str(regime) for regime in asked]}
    store = results.Results(args.json, "ops", flags, "cuda" if "cuda" in args.device else "cpu", skipped)
    chosen = [recipe for recipe in recipes(args.size) if not args.ops or recipe.op in args.ops]
    work = [
        (recipe.label, str(regime), functools.partial(rows, recipe, regime, args))
        for regime, recipe in itertools.product(asked, chosen)
    ]
    return store, command.run(store, args, work)


def main(argv: list[str] | None = None) -> int:
    """Run what the command line asks for; give the exit status."""
    args = parse(argv)
    warnings.filterwarnings("ignore")
    if not args.check_eager:
        return command.main("all_libraries.py", args, lambda: run(args))
    threads.listen()
    try:
        text, wrong = compare.check_eager(*args.check_eager)
    except ValueError as error:
        print(f"all_libraries.py: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    print(text)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
