"""Random calls of every op on bytes, with kernels that were compiled with a sanitizer.

``python -m tests.sanitizers address`` or ``thread`` compiles the sources by ``$CC`` into a copy of the package, and
runs this file there under the sanitizer's library. What it finds ends the run with an error.
"""

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
FLAGS = {"address": "-fsanitize=address,undefined -DSANITIZED", "thread": "-fsanitize=thread"}
LIBRARIES = {"address": "libasan.so", "thread": "libtsan.so"}
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:exitcode=66:ignore_noninstrumented_modules=1",
}


def build(sanitizer: str, folder: Path) -> dict[str, str]:
    """Compile the kernels into a copy of the package; the environment that they run in."""
    compiler = os.environ.get("CC", "gcc")
    shutil.copytree(ROOT / "augment", folder / "augment", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    sources = [folder / "augment/csrc" / f"{name}.c" for name in ("module", "batch", "base", "avx2")]
    target = folder / "augment" / f"_kernels{sysconfig.get_config_var('EXT_SUFFIX')}"
    flags = ["-O1", "-g", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all", "-ffp-contract=off", "-pthread"]
    flags += ["-DWORTH_A_THREAD=1", "-DLEAST_LINES=2"]  # small work is shared out as well
    include = f"-I{sysconfig.get_path('include')}"
    subprocess.run(
        [compiler, "-shared", "-fPIC", *flags, *FLAGS[sanitizer].split(), include, *sources, "-o", target], check=True
    )
    found = subprocess.run([compiler, f"-print-file-name={LIBRARIES[sanitizer]}"], capture_output=True, check=True)
    path = os.path.realpath(found.stdout.decode().strip())
    return {**os.environ, **OPTIONS, "LD_PRELOAD": path, "PYTHONPATH": str(folder), "PYTHONMALLOC": "malloc"}


def call_at_random(calls: int, seed: int) -> None:
    """Call ops on small bytes of random shapes that lie in memory in any way, on several threads."""
    import torch

    from augment.kernels import built
    from augment.testing import cases, mixes

    assert built.library is not None, "the kernels were not built"
    torch.set_num_threads(1)  # PyTorch's own threads are not looked at
    torch.get_num_threads = lambda: 3
    ops, refused = [*cases(), *mixes()], 0
    for number in range(calls):
        torch.manual_seed(seed + number)
        b, c, height, width = (int(torch.randint(*ends, ())) for ends in ((1, 6), (1, 5), (1, 60), (1, 60)))
        c, height = (3 if c == 4 else c), height * (10 if number % 7 == 0 else 1)
        image = torch.randint(0, 256, (b, c, height, 2 * width), dtype=torch.uint8)
        image = [image[..., ::2], image[..., :width], image[..., :width].mT.contiguous().mT][number % 3]
        image = image.contiguous(memory_format=torch.channels_last) if number % 5 == 0 else image
        case = ops[number % len(ops)]
        built.library.use(built.library.sets()[number // len(ops) % len(built.library.sets())])
        try:
            case(p=0.8)(image)
        except (ValueError, RuntimeError):  # an image that is too small for an op, or has other channels
            refused += 1
    print(f"{calls} calls, of which ops refused {refused}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.sanitizers", description=__doc__)
    parser.add_argument("sanitizer", choices=FLAGS)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        call_at_random(args.calls, args.seed)
        return
    with tempfile.TemporaryDirectory() as name:
        environment = build(args.sanitizer, Path(name))
        command = [sys.executable, "-m", "tests.sanitizers", args.sanitizer, "--inside"]
        command = [*command, f"--calls={args.calls}", f"--seed={args.seed}"]
        if shutil.which("setarch"):  # a random layout of memory is none that every sanitizer can read
            command = ["setarch", "-R", *command]
        sys.exit(subprocess.run(command, cwd=name, env=environment, check=False).returncode)


if __name__ == "__main__":
    main()
