"""One number of threads for every library, set before any of them is imported."""

import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def pin(argv: Sequence[str]) -> int:
    """Read --threads from a command line (1 without it) and set the variables that libraries read when they load."""
    threads = "1"
    for at, word in enumerate(argv):
        if word == "--threads" and at + 1 < len(argv):
            threads = argv[at + 1]
        elif word.startswith("--threads="):
            threads = word.partition("=")[2]
    if threads.isdigit() and int(threads) > 0:
        os.environ.update(dict.fromkeys(VARIABLES, threads))
        return int(threads)
    return 1  # the parser of the command will say what is wrong


def leave_quietly() -> None:
    """Make Ctrl-C end the process without a traceback, as long as libraries load and there is nothing to keep."""

    def leave(*_: Any) -> None:
        os.write(2, b"\ninterrupted before anything was measured\n")
        os._exit(130)

    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, leave)


def listen() -> None:
    """Raise KeyboardInterrupt when asked to stop; a shell's background job ignores Ctrl-C by default."""
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.default_int_handler)


def limit(threads: int) -> None:
    """Set what only a call can set: torch's pools, and OpenCV's (0 is its word for no threads of its own)."""
    import torch

    torch.set_num_threads(threads)
    if torch.get_num_interop_threads() != threads:
        torch.set_num_interop_threads(threads)
    try:
        import cv2
    except ImportError:
        return
    cv2.setNumThreads(0 if threads == 1 else threads)


def effective() -> dict[str, Any]:
    """Give the numbers of threads that the loaded libraries say they use."""
    import torch

    found: dict[str, Any] = {
        "torch": torch.get_num_threads(),
        "torch between ops": torch.get_num_interop_threads(),
        **{name: os.environ.get(name) for name in VARIABLES},
    }
    if "cv2" in sys.modules:
        found["opencv"] = sys.modules["cv2"].getNumThreads()
    return found
