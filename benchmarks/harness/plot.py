"""Pictures of the ratios: one a regime, a bar a peer, on a logarithmic scale."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .report import PEERS, Ratio, ratios

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

    labels = list(dict.fromkeys(r.label for r in found))[::-1]
    peers = [peer for peer in PEERS if any(r.peer == peer for r in found)]
    thick = 0.82 / len(peers)
    figure, axes = plt.subplots(figsize=(9, 1.6 + 0.16 * len(labels) * len(peers)), layout="constrained")
    for i, peer in enumerate(peers):
        mine = [r for r in found if r.peer == peer]
        at = [labels.index(r.label) + 0.41 - (i + 0.5) * thick for r in mine]
        bars = axes.barh(at, [r.value - 1 for r in mine], thick, 1, color=COLOURS[peer], label=peer)
        axes.bar_label(bars, [str(r) for r in mine], padding=2, fontsize=6)
    axes.set_xscale("log")
    axes.margins(x=0.12, y=0.01)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}x")
    axes.set_xlabel("peer's time / ours, each in its better mode; right of the line ours is faster (~: noisy)")
    axes.set_title(title, fontsize=10)
    figure.legend(loc="outside lower center", ncols=len(peers), fontsize=8)
    axes.grid(axis="x", which="both", alpha=0.25)
    axes.set_axisbelow(True)
    figure.savefig(path, dpi=130)
    plt.close(figure)
