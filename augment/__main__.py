"""The command line: ``preview`` draws the ops, ``list`` names them, ``info`` says what is installed."""

import argparse
import importlib.metadata
import inspect
import os
import platform
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

import torch

from . import __version__
from .kernels.built import library
from .testing import mixes, ops

HEADINGS = ("Op", "Kind", "Constructor", "What it does")
PACKAGES = {"PIL": "pillow", "skimage": "scikit-image", "tqdm": "tqdm"}  # of the extra "demo", by what is imported


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and give the exit status: 0, 1 for files that could not be read, 2 for nothing done."""
    args = parser().parse_args(argv)
    try:
        status = args.command(args)
        print(end="", flush=True)
        return status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever reads has seen enough; nothing may be flushed to it at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def parser() -> argparse.ArgumentParser:
    """What the command line understands."""
    whole = argparse.ArgumentParser(prog="python -m augment", description="Image augmentations for PyTorch.")
    whole.add_argument("--version", action="version", version=f"augment {__version__}")
    commands = whole.add_subparsers(metavar="COMMAND", required=True)

    command = commands.add_parser(
        "preview",
        help="draw photographs before and after each op",
        description="Draw photographs before and after each op, with a mask, boxes and keypoints, into one picture.",
    )
    command.add_argument(
        "images",
        nargs="*",
        metavar="IMAGE",
        help="files, or folders of them; without any, photographs that scikit-image carries",
    )
    command.add_argument("--ops", nargs="+", metavar="OP", help="the ops to show; without it, all (see list)")
    command.add_argument("--out", default="preview.png", metavar="FILE", help="where to write (default: %(default)s)")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="what to draw (default: %(default)s)")
    command.set_defaults(command=preview)

    command = commands.add_parser("list", help="print the table of ops", description="Print the table of ops.")
    command.add_argument("--markdown", action="store_true", help="print it in Markdown")
    command.set_defaults(command=show_list)

    command = commands.add_parser(
        "info",
        help="print what a bug report needs",
        description="Print versions, kernels, threads and devices, to be pasted into a bug report.",
    )
    command.set_defaults(command=show_info)
    return whole


def preview(args: argparse.Namespace) -> int:
    """Draw the picture; the packages it needs are only looked for here."""
    try:
        from .gallery import preview as drawing

        try:
            return drawing.run(args.images, args.ops, args.out, args.seed, complain)
        except drawing.Refusal as refusal:
            return complain(str(refusal))
    except ModuleNotFoundError as error:
        if error.name not in PACKAGES:
            raise
        return complain(f'preview needs {PACKAGES[error.name]}, which is not installed: pip install ".[demo]"')


def complain(message: str) -> int:
    """Print one line to stderr, and give the exit status for nothing done."""
    print("augment:", " ".join(message.split()), file=sys.stderr)
    return 2


def show_list(args: argparse.Namespace) -> int:
    """Print the table of ops."""
    print(markdown(table()) if args.markdown else columns(table(), shutil.get_terminal_size((120, 0)).columns))
    return 0


def show_info(args: argparse.Namespace) -> int:
    """Print versions, kernels, threads and devices."""
    facts = info()
    width = max(map(len, facts))
    print("\n".join(f"{name:{width}}  {fact}" for name, fact in facts.items()))
    return 0


def info() -> dict[str, str]:
    """Name what a bug report needs: versions, kernels in C, threads and devices."""
    return {
        "augment": f"{__version__} in {os.path.dirname(os.path.abspath(__file__))}",
        "torch": torch.__version__,
        "torchvision": version("torchvision"),
        "numpy": version("numpy"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "kernels in C": kernels(),
        "threads": f"{torch.get_num_threads()} of PyTorch on {os.cpu_count()} processors",
        "devices": ", ".join(devices()),
    }


def version(package: str) -> str:
    """Name the version of a package that need not be there, without importing it."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def kernels() -> str:
    """Name the instruction sets that there are kernels for; the last one is in use unless a test chose another."""
    sets = library.sets() if library else []
    return f"for {', '.join(sets)}; in use: {sets[-1]}" if sets else "not built"


def devices() -> list[str]:
    """Name what PyTorch can compute on."""
    found = [f"cuda:{i} {torch.cuda.get_device_name(i)}" for i in range(torch.cuda.device_count())]
    return ["cpu", *found, *["mps"] * torch.backends.mps.is_available()]


def table() -> list[tuple[str, ...]]:
    """Give name, kind, constructor and first sentence of every op, and behind them of every mix."""
    every = {**ops(), **{case.name: case.op for case in mixes()}}
    return [
        (name, op.kind.__name__.lower(), signature(op), first_sentence(op.__doc__ or "")) for name, op in every.items()
    ]


def signature(op: type) -> str:
    """The call that makes an op, with defaults and without types."""
    whole = inspect.signature(op)
    bare = [
        p.replace(annotation=p.empty, default=p.empty if p.default is p.empty else _rounded(p.default))
        for p in whole.parameters.values()
    ]
    return f"{op.__name__}{whole.replace(parameters=bare, return_annotation=whole.empty)}"


def _rounded(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_rounded(v) for v in value)
    return round(value, 4) if isinstance(value, float) else value


def first_sentence(text: str) -> str:
    """What a docstring says up to its first full stop outside of parentheses."""
    words = text.strip().partition("\n\n")[0].replace("``", "`").split()
    for i, word in enumerate(words):
        said = " ".join(words[: i + 1])
        if word.endswith(".") and said.count("(") == said.count(")"):
            return said
    return " ".join(words)


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Set a table in Markdown, with the constructors as code."""
    lines = [f"| {' | '.join(HEADINGS)} |", f"|{' --- |' * len(HEADINGS)}"]
    for name, what, call, text in rows:
        cells = (cell.replace("|", "\\|") for cell in (name, what, f"`{call}`", text))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def columns(rows: Sequence[Sequence[str]], width: int) -> str:
    """Set a table in columns of plain text; the last two share what is left of the width, and wrap."""
    # the op's name stands in the first column already
    rows = [HEADINGS, *((name, what, call.removeprefix(name), text) for name, what, call, text in rows)]
    first, second = (max(len(row[i]) for row in rows) for i in (0, 1))
    left = max(width - first - second - 3 * 2, 40)
    widths = (first, second, left * 11 // 20, left - left * 11 // 20)
    rule = "  ".join("-" * w for w in widths)
    lines = []
    for row in rows:
        wrapped = [textwrap.wrap(cell, w, break_on_hyphens=False) for cell, w in zip(row, widths, strict=True)]
        for k in range(max(map(len, wrapped))):
            parts = (part[k] if k < len(part) else "" for part in wrapped)
            lines.append("  ".join(part.ljust(w) for part, w in zip(parts, widths, strict=True)).rstrip())
        lines += [rule] if row is HEADINGS else []
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
