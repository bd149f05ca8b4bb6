"""Pictures of the ratios: one a regime, a bar a peer, on a logarithmic scale."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .report import PEERS, Ratio, ratios

AXIS = "peer's time / ours, each in its better mode; right of the line ours is faster (~: noisy)"
BAR, LINES = 0.125, 90  # inches of a bar, and bars from the top of a panel to its bottom
COLOURS = dict(zip(PEERS, ("#0072b2", "#e69f00", "#cc79a7", "#009e73", "#56b4e9"), strict=True))


def plots(data: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draw the regimes of a results file into a folder; give the files."""
    every = ratios(data["rows"])
    where = data["environment"]
    paths = []
    for regime in dict.fromkeys(r.regime for r in every):
        path = folder / f"{regime.replace(' ', '_')}.png"
        draw(
            [r for r in every if r.regime == regime],
            f"{regime}\n{where['cpu']}, {data['flags']['threads']} thread(s)",
            path,
        )
        paths.append(path)
    return paths


def draw(found: list[Ratio], title: str, path: Path) -> None:
    """Draw the ratios of one regime: to the right of 1 ours is faster."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    peers = [peer for peer in PEERS if any(r.peer == peer for r in found)]
    parts = panels(found)
    tall = max(map(sum, (map(height, part) for part in parts)))
    size = (7.5 * len(parts), 1.7 + BAR * tall)
    figure, row = plt.subplots(1, len(parts), figsize=size, sharex=True, squeeze=False, layout="constrained")
    for axes, part in zip(row[0], parts, strict=True):
        panel(axes, part, tall)
    figure.suptitle(f"{title}\n{AXIS}", fontsize=10)
    handles = [plt.Rectangle((0, 0), 1, 1, color=COLOURS[peer]) for peer in peers]
    figure.legend(handles, peers, loc="outside lower center", ncols=len(peers), fontsize=10)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def height(bars: list[Ratio]) -> float:
    """Give the lines that an op takes: its bars and a gap."""
    return len(bars) + 0.8


def panels(found: list[Ratio]) -> list[list[list[Ratio]]]:
    """Deal the bars out to panels of about the same height, those of an op together."""
    by_op: dict[str, list[Ratio]] = {}
    for r in found:
        by_op.setdefault(r.label, []).append(r)
    whole = sum(map(height, by_op.values()))
    number = min(len(by_op), math.ceil(whole / LINES))
    parts: list[list[list[Ratio]]] = [[] for _ in range(number)]
    before = 0.0
    for bars in by_op.values():
        parts[int((before + height(bars) / 2) * number / whole)].append(bars)
        before += height(bars)
    return [part for part in parts if part]


def panel(axes: Any, ops: list[list[Ratio]], tall: float) -> None:
    """Draw the bars of some ops from the top down."""
    line, ticks = 0.0, []
    for bars in ops:
        at = [line + i for i in range(len(bars))]
        colours = [COLOURS[r.peer] for r in bars]
        drawn = axes.barh(at, [r.value - 1 for r in bars], 0.92, 1, color=colours)
        axes.bar_label(drawn, [str(r) for r in bars], padding=2, fontsize=7)
        ticks.append(line + (len(bars) - 1) / 2)
        line += height(bars)
    axes.set_xscale("log")
    axes.margins(x=0.14)
    axes.set_ylim(tall - 0.5, -1)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_yticks(ticks, [bars[0].label for bars in ops], fontsize=8)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}x")
    low, high = axes.get_xlim()
    named = ("2", "5") if high < 100 * low else ()  # within two decades whole powers of ten are too few
    axes.xaxis.set_minor_formatter(lambda value, _: f"{value:g}x" if f"{value:e}"[0] in named else "")
    axes.grid(axis="x", which="major", alpha=0.3)
    axes.set_axisbelow(True)
