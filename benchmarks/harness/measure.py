"""The whole cost of a call: time in interleaved rounds, peak memory, cold compilation, graphs and recompiles."""

import contextlib
import ctypes
import signal
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch.utils.benchmark import Timer

DRAWS = 20  # calls after the first compiled ones, over which recompiles are counted
LIMIT = 60.0  # seconds of a compilation, warm-up and draws included
WAIT = 15.0  # seconds of them at most
WARM = 2  # calls before anything is timed
WEIGHED = 4  # calls over which the peak of memory is taken, as a draw may ask for nothing
LEAST, PATIENCE = 3, 4.0  # rounds that every call gets, and seconds of runs after which it gets no more
SLOW = 1.0  # seconds of a call that is run once where others are run several times


def times(
    calls: Mapping[str, Callable[[], Any]],
    rounds: int,
    seconds: float,
    threads: int,
    renew: Callable[[], None] = lambda: None,
) -> dict[str, dict[str, Any]]:
    """Time calls in rounds, each call once a round for about `seconds`, so that drift of the machine hits all alike.

    Returns, by call, in milliseconds: the median and quartiles over all blocks, the median of each round, and the
    number of runs. A block is as many runs as make the clock's own cost invisible. `renew` is called before each round.
    """
    timers = {key: Timer("call()", globals={"call": call}, num_threads=threads) for key, call in calls.items()}
    slow = {key for key, timer in timers.items() if timer.timeit(1).median > SLOW}
    blocks: dict[Any, list[float]] = {key: [] for key in calls}
    medians: dict[Any, list[float]] = {key: [] for key in calls}
    repeats = dict.fromkeys(calls, 0)
    for turn in range(rounds):
        renew()
        for key, timer in timers.items():
            if turn >= LEAST and sum(blocks[key]) > PATIENCE * 1e3:
                continue  # so slow that more rounds would say little
            found = timer.timeit(1) if key in slow else timer.blocked_autorange(min_run_time=seconds)
            blocks[key] += [t * 1e3 for t in found.times]
            medians[key].append(found.median * 1e3)
            repeats[key] += found.number_per_run * len(found.times)
    return {key: {**spread(blocks[key]), "rounds": medians[key], "repeats": repeats[key]} for key in calls}


def mixed(busy: Mapping[str, Any], idle: Mapping[str, Any], share: float) -> dict[str, Any]:
    """Give the expected time of a call that is an idle one for a share of its draws.

    A median over both kinds would be one or the other.
    """
    figures = {key: (1 - share) * busy[key] + share * idle[key] for key in ("median_ms", "q1_ms", "q3_ms")}
    rounds = [(1 - share) * a + share * b for a, b in zip(busy["rounds"], idle["rounds"], strict=False)]
    return {**figures, "rounds": rounds, "repeats": busy["repeats"] + idle["repeats"]}


def spread(values: list[float]) -> dict[str, float]:
    """Give median and quartiles."""
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return {"median_ms": middle, "q1_ms": low, "q3_ms": high}


def peak(call: Callable[[], Any], device: str) -> int | None:
    """Give the bytes that a call needs at its peak beyond what is held before it, its output included.

    On a GPU by the allocator's own account; else by the resident set of the process, whose high-water mark Linux can
    reset, after the heap's free pages were given back. None where there is neither.
    """
    try:
        start, found = time.perf_counter(), 0
        for _ in range(WEIGHED):
            found = max(found, (_on_gpu if device != "cpu" else _on_cpu)(call))
            if time.perf_counter() - start > SLOW:
                break
        return found
    except (OSError, AttributeError):
        return None


def _on_gpu(call: Callable[[], Any]) -> int:
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    held = call()
    torch.cuda.synchronize()
    del held
    return torch.cuda.max_memory_allocated() - before


def _on_cpu(call: Callable[[], Any]) -> int:
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = _resident("VmRSS")
    held = call()
    after = _resident("VmHWM")
    del held
    return max(0, after - before)


def _resident(name: str) -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


def warm(call: Callable[[], Any]) -> None:
    """Call until nothing is done for the first time."""
    start = time.perf_counter()
    for _ in range(WARM):
        call()
        if time.perf_counter() - start > SLOW:
            break


@contextlib.contextmanager
def empty_cache() -> Iterator[None]:
    """Let the compiler find nothing of earlier runs."""
    from torch._inductor import utils

    with utils.fresh_cache() if hasattr(utils, "fresh_cache") else utils.fresh_inductor_cache():
        yield


class Late(BaseException):
    """What ends a compilation from outside; no library takes it for an error of its own."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise RuntimeError where what is inside takes longer; it is asked again and again until it stops."""

    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(*_: Any) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    except Late:
        raise RuntimeError(f"compiling took longer than {seconds:g} seconds, and was stopped") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def settle_heap() -> None:
    """Let the C library keep freed memory, as it does in a process that has had one batch of floats.

    glibc gives memory back to the system until a block of up to 32 MB was freed, and then keeps blocks of that size
    (mallopt(3), M_MMAP_THRESHOLD). Until then a row of bytes would take two or three times as long as after a row of
    floats.
    """
    torch.zeros(31 * 2**20, dtype=torch.uint8)


def wake_compiler() -> None:
    """Pay once for what the first compilation of a process does: load the compiler and precompile its headers."""
    with empty_cache():
        torch.compile(lambda x: x + 1)(torch.zeros(64))


Around = Callable[[Callable[..., Any]], Callable[[], Any]]


def compilation(function: Callable[..., Any], around: Around, mode: str) -> tuple[Callable[[], Any], dict[str, Any]]:
    """Compile a function in an empty cache; give the call that `around` makes of it, and what compiling cost.

    What does not trace whole is compiled with graph breaks, as its users would have to, and `broken` says why.
    """
    facts: dict[str, Any] = {"broken": None}
    around(function)()  # what fails without the compiler is not the compiler's fault
    try:
        call, facts["cold_s"] = _compile(function, around, mode, fullgraph=True)
    except Exception as error:
        facts["broken"] = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
        call, facts["cold_s"] = _compile(function, around, mode, fullgraph=False)
    facts["graphs"] = graphs = _graphs()
    start = time.perf_counter()
    for draw in range(1, DRAWS + 1):
        call()
        facts["draws"] = draw
        if time.perf_counter() - start > WAIT:  # one that compiles anew for every draw has shown it by now
            break
    facts["recompiles"] = _graphs() - graphs
    return call, facts


def settled(facts: Mapping[str, Any]) -> None:
    """Refuse to time what goes on compiling: its calls are compilations, which take seconds and say nothing of it."""
    if facts["draws"] < DRAWS and facts["recompiles"] >= facts["draws"] / 2:
        made = f"{facts['recompiles']} new graphs over {facts['draws']} draws in {WAIT:g} seconds"
        raise RuntimeError(f"compiles anew for new draws, so it was not timed: {made}")


def _compile(
    function: Callable[..., Any], around: Around, mode: str, fullgraph: bool
) -> tuple[Callable[[], Any], float]:
    torch._dynamo.utils.counters.clear()
    call = around(torch.compile(function, fullgraph=fullgraph, mode=None if mode == "compiled" else mode))
    failure = None
    with empty_cache():
        start = time.perf_counter()
        try:
            call()
        except Exception as error:
            failure = error  # the cache keeps its folder where an error leaves it
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        took = time.perf_counter() - start
    if failure is not None:
        raise failure
    return call, took


def _graphs() -> int:
    return int(torch._dynamo.utils.counters["stats"]["unique_graphs"])
