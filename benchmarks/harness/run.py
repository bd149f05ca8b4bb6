"""From backends to rows: everything about a recipe in a regime, measured in one go."""

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch

from . import measure
from .backends import Backend, message


class Plan(NamedTuple):
    """How long to measure."""

    rounds: int = 7
    seconds: float = 0.04
    threads: int = 1


def plan(quick: bool, threads: int) -> Plan:
    """Give how long to measure; a quick run is there to see that all runs."""
    return Plan(3, 0.02, threads) if quick else Plan(threads=threads)


def group(
    label: str,
    regime: Mapping[str, Any],
    found: Iterable[Backend],
    plan: Plan,
    tell: Callable[[str], None],
    renew: Callable[[], None] = lambda: None,
) -> list[dict[str, Any]]:
    """Measure the backends of a recipe in a regime, interleaved; give a row each."""
    torch._dynamo.reset()
    for seed in (torch.manual_seed, np.random.seed, random.seed):
        seed(0)
    facts: list[tuple[Backend, dict[str, Any]]] = []
    for backend in found:
        tell(f"{backend.library} {backend.mode}")
        facts.append((backend, _ready(backend, str(regime["device"]))))
    tell("timing")
    timed = _timed([backend for backend, _ in facts], plan, renew)
    return [
        {
            "label": label,
            "library": backend.library,
            "mode": backend.mode,
            "regime": dict(regime),
            "did": dict(backend.did),
            "time": timed.get(i),
            "peak_bytes": cost.get("peak"),
            "compile": cost.get("compile"),
            "agreement": dict(backend.agreement),
            "error": backend.error,
        }
        for i, (backend, cost) in enumerate(facts)
    ]


def _timed(found: list[Backend], plan: Plan, renew: Callable[[], None]) -> dict[int, dict[str, Any]]:
    """Time what can be called, in turns; a call that may do nothing counts as often as it does something."""
    calls: dict[Any, Callable[[], Any]] = {i: backend.call for i, backend in enumerate(found) if backend.call}
    calls |= {(i, "idle"): found[i].idle[1] for i in list(calls) if found[i].idle}
    times = measure.times(calls, plan.rounds, plan.seconds, plan.threads, renew)
    for i, backend in enumerate(found):
        if backend.idle and i in times:
            times[i] = measure.mixed(times[i], times.pop((i, "idle")), backend.idle[0])
    return times


def _ready(backend: Backend, device: str) -> dict[str, Any]:
    """Compile, warm and weigh a backend; if it fails, keep its message."""
    facts: dict[str, Any] = {}
    if backend.error:
        return facts
    try:
        if backend.compiles is not None and backend.around is not None:
            with measure.limited(measure.LIMIT):
                backend.call, facts["compile"] = measure.compilation(backend.compiles, backend.around, backend.mode)
            measure.settled(facts["compile"])
        assert backend.call is not None
        measure.warm(backend.call)
        facts["peak"] = measure.peak(backend.call, device)
    except Exception as error:
        backend.call, backend.error = None, message(error)
    return facts
