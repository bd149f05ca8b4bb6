"""What the figures say: ratios, a summary that names losses first to last, and Markdown tables."""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .measure import DRAWS
from .results import group

Rows = list[dict[str, Any]]
PEERS = ("kornia", "torchvision batch", "torchvision loop", "albumentations", "opencv")
NOISY = 0.25  # relative spread between the rounds, beyond which a ratio is marked
EVEN = 0.05  # a ratio this close to 1 is neither won nor lost
WORST = 10
COUNTS = "Geometric mean of the peer's time over ours, and how many rows are won, even and lost."


class Ratio(NamedTuple):
    """How many times faster ours is than a peer at a recipe in a regime."""

    label: str
    regime: str
    peer: str
    value: float
    noisy: bool

    def __str__(self) -> str:
        return f"{self.value:{'.2f' if self.value > 0.095 else '.1g'}}x{' ~' * self.noisy}"


def best(rows: Iterable[dict[str, Any]], library: str) -> dict[str, Any] | None:
    """Give a library's row with the shortest time."""
    timed = [row for row in rows if row["library"] == library and row["time"]]
    return min(timed, key=lambda row: row["time"]["median_ms"], default=None)


def ratio(ours: dict[str, Any], theirs: dict[str, Any]) -> tuple[float, bool]:
    """Give the ratio of the medians, and whether the rounds disagree about it."""
    value = theirs["time"]["median_ms"] / ours["time"]["median_ms"]
    by_round = [b / a for a, b in zip(ours["time"]["rounds"], theirs["time"]["rounds"], strict=False) if a]
    if len(by_round) < 3:
        return value, True
    low, _, high = statistics.quantiles(by_round, n=4, method="inclusive")
    return value, high - low > NOISY * value


def apart(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    """Whether the quartiles of two rows that were not measured together leave their ratio open."""
    a, b = ours["time"], theirs["time"]
    return b["q3_ms"] / a["q1_ms"] - b["q1_ms"] / a["q3_ms"] > NOISY * b["median_ms"] / a["median_ms"]


def grouped(rows: Rows) -> dict[str, dict[str, Rows]]:
    """Give rows by regime and label."""
    found: dict[str, dict[str, Rows]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        found[group(row)][row["label"]].append(row)
    return found


def ratios(rows: Rows) -> list[Ratio]:
    """Give every comparison: the better mode of ours against the better mode of a peer."""
    found = []
    for regime, by_label in grouped(rows).items():
        for label, members in by_label.items():
            ours = best(members, "augment")
            for peer in PEERS:
                theirs = best(members, peer)
                if ours and theirs:
                    found.append(Ratio(label, regime, peer, *ratio(ours, theirs)))
    return found


def on_its_ground(rows: Rows) -> list[Ratio]:
    """Compare our better dtype with the uint8 loops of albumentations and OpenCV, batch for batch."""
    found = []
    by_key: dict[tuple[str, tuple[Any, ...]], Rows] = defaultdict(list)
    for row in rows:
        regime = row["regime"]
        by_key[row["label"], (regime["batch"], regime["side"], regime["device"])].append(row)
    for (label, (batch, side, device)), members in by_key.items():
        ours = best((r for r in members if r["regime"]["dtype"] in ("float32", "uint8")), "augment")
        for peer in ("albumentations", "opencv"):
            theirs = best((r for r in members if r["regime"]["dtype"] == "uint8"), peer)
            if ours and theirs:
                value = ratio(ours, theirs)[0]
                noisy = apart(ours, theirs)  # their rounds were not the same minutes
                name = f"{batch} x 3 x {side} x {side} on {device}"
                found.append(Ratio(label, name, f"{peer} uint8", value, noisy))
    return found


def geometric_mean(values: Iterable[float]) -> float:
    """Give the geometric mean."""
    return math.exp(statistics.fmean(map(math.log, values)))


def summary(data: Mapping[str, Any]) -> str:
    """Say, for each regime and peer, by how much we win and where we lose."""
    rows = data["rows"]
    every = ratios(rows)
    lines = []
    for regime in dict.fromkeys(r.regime for r in every):
        lines += [f"**{regime}**", ""]
        for peer in PEERS:
            lines += verdict(peer, [r for r in every if (r.regime, r.peer) == (regime, peer)])
        lines.append("")
    ground = on_its_ground(rows) if data["kind"] == "ops" else []
    for regime in dict.fromkeys(r.regime for r in ground):
        lines += [f"**{regime}, our better of float32 and uint8 against the peer's uint8 loop**", ""]
        for peer in ("albumentations uint8", "opencv uint8"):
            lines += verdict(peer, [r for r in ground if (r.regime, r.peer) == (regime, peer)])
        lines.append("")
    worst = sorted(every, key=lambda r: r.value)[:WORST]
    lines += ["**The ten worst rows**" if len(worst) == WORST else "**The worst rows**", ""]
    lines += [f"- {r.label}, {r.regime}, against {r.peer}: {r}" for r in worst] or ["- none: nothing was compared"]
    failed = [row for row in rows if row["error"]]
    lines += ["", f"Rows: {len(rows)}, of which {len(failed)} are failures with a message (below)."]
    lines += [f"Skipped: {library}: {reason}" for library, reason in data["skipped"].items()]
    if not data["finished"]:
        lines.append("**The run was not finished: what is missing is not here.**")
    return "\n".join(lines)


def overview(data: Mapping[str, Any]) -> str:
    """Give the table of the summary's figures: a line a regime, a column a peer."""
    every = ratios(data["rows"])
    regimes = dict.fromkeys(r.regime for r in every)
    every += on_its_ground(data["rows"]) if data["kind"] == "ops" else []
    grounds = {r.regime for r in every} - set(regimes)
    peers = [peer for peer in PEERS if any(r.peer.startswith(peer) for r in every)]
    lines = []
    for regime in [*regimes, *sorted(grounds)]:
        cells = [regime.partition(" on ")[0] + ", better of float32 and uint8" * (regime in grounds)]
        for peer in peers:
            shown = f"{peer} uint8" if regime in grounds else peer
            cells.append(score([r.value for r in every if (r.regime, r.peer) == (regime, shown)]))
        lines.append(cells)
    return markdown(["regime", *peers], lines)


def score(values: list[float]) -> str:
    """Give the geometric mean and how many ratios are won, even and lost."""
    if not values:
        return ""
    won, lost = sum(v > 1 + EVEN for v in values), sum(v < 1 - EVEN for v in values)
    return f"{geometric_mean(values):.2f}x ({won}, {len(values) - won - lost}, {lost})"


def verdict(peer: str, found: list[Ratio]) -> list[str]:
    """Give the line about a peer, its losses named."""
    if not found:
        return []
    lost = sorted((r for r in found if r.value < 1 - EVEN), key=lambda r: r.value)
    won = [r for r in found if r.value > 1 + EVEN]
    named = ": " + ", ".join(f"{r.label} {r}" for r in lost) if lost else ""
    mean = geometric_mean(r.value for r in found)
    even = len(found) - len(won) - len(lost)
    counts = f"{len(won)} won, {even} even, {len(lost)} lost{named}"
    return [f"- {peer}: {mean:.2f}x as geometric mean over {len(found)} rows; {counts}"]


def tables(data: Mapping[str, Any]) -> str:
    """Give everything as Markdown: where it was measured, the summary, and the tables of each regime."""
    parts = [heading(data), "## Summary", COUNTS, overview(data), summary(data)]
    for regime, by_label in grouped(data["rows"]).items():
        parts += [f"## {regime}", "Milliseconds a batch, median (quartiles); `~`: the rounds disagree about a ratio."]
        parts += [
            timing(by_label),
            "### Cost and agreement",
            cost(by_label),
            "### What each library did",
            did(by_label),
        ]
    failures = [row for row in data["rows"] if row["error"]]
    if failures:
        named = [f"- {r['label']}, {r['library']} {r['mode']}, {group(r)}: `{r['error']}`" for r in failures]
        parts += ["## Failures", "\n".join(named)]
    return "\n\n".join(parts) + "\n"


def heading(data: Mapping[str, Any]) -> str:
    """Say what the figures were measured with, and the command."""
    where = data["environment"]
    versions = ", ".join(f"{name} {version}" for name, version in where["packages"].items())
    machine = f"{where['cpu']} ({where['cores']} cores, {where['capability']})" + (
        f", {where['gpu']}" if where["gpu"] else ""
    )
    told = ", ".join(f"{name} {value}" for name, value in where["threads"].items())
    return (
        f"`python benchmarks/{data['command']}`, {where['date']}, commit {where['commit']}, "
        f"{data['seconds'] / 60:.0f} minutes\n\n"
        f"{machine}; Python {where['python']}; {versions}.\n\nThreads found effective: {told}."
    )


def markdown(head: list[str], lines: Iterable[list[str]], left: int = 1) -> str:
    """Lay out a table whose first columns are words and whose others are figures."""
    rule = ["---"] * left + ["--:"] * (len(head) - left)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *lines])


def columns(by_label: Mapping[str, Rows]) -> list[tuple[str, str]]:
    """Give the libraries and modes of a regime that have a time."""
    seen = {(row["library"], row["mode"]) for rows in by_label.values() for row in rows if row["time"]}
    order = ("augment", *PEERS)
    return sorted(
        (key for key in seen if key[0] in order), key=lambda key: (order.index(key[0]), key[1] != "eager", key[1])
    )


def name(key: tuple[str, str]) -> str:
    """Name a column."""
    return " ".join(key) if key[0] in ("augment", "kornia") else key[0]


def timing(by_label: Mapping[str, Rows]) -> str:
    """Give the table of times, of ratios against each peer, and of what a copy costs."""
    keys = columns(by_label)
    peers = [peer for peer in PEERS if any(key[0] == peer for key in keys)]
    lines = []
    for label, rows in by_label.items():
        by_key = {(row["library"], row["mode"]): row for row in rows}
        ours, floor = best(rows, "augment"), best(rows, "floor")
        cells = [label, *(clock(by_key.get(key)) for key in keys)]
        cells.append(f"{ours['time']['median_ms'] / floor['time']['median_ms']:.1f}" if ours and floor else "")
        for peer in peers:
            theirs = best(rows, peer)
            value = Ratio("", "", "", *ratio(ours, theirs)) if ours and theirs else None
            cells.append("" if value is None else f"**{value}**" if value.value < 1 - EVEN else str(value))
        lines.append(cells)
    return markdown(["op", *map(name, keys), "ours / copy", *(f"{peer} / ours" for peer in peers)], lines)


def clock(row: Mapping[str, Any] | None) -> str:
    """Give a cell of time."""
    if row is None:
        return ""
    t = row["time"]
    return "fails" if t is None else "{median_ms:.3g} ({q1_ms:.3g}-{q3_ms:.3g})".format(**t)


def cost(by_label: Mapping[str, Rows]) -> str:
    """Give the table of memory in batches, compile cost, and distance from ours."""
    keys = columns(by_label)
    traced = [key for key in keys if key[1] != "eager"]
    first = {key[0]: key for key in reversed(keys)}  # what says how far it is from ours, and what it did
    apart = [key for key in keys if key[0] != "augment" and first[key[0]] == key]
    head = ["op", *(f"{name(key)}: memory" for key in keys)]
    head += [f"{name(key)}: cold s, graphs, recompiles" for key in traced]
    head += [f"{name(key)}: max, mean difference" for key in apart]
    lines = []
    for label, rows in by_label.items():
        by_key = {(row["library"], row["mode"]): row for row in rows}
        size = bytes_of(rows[0]["regime"])
        cells = [label, *(memory(by_key.get(key), size) for key in keys)]
        cells += [compiled(by_key.get(key)) for key in traced]
        cells += [apartness(by_key.get(key)) for key in apart]
        lines.append(cells)
    note = "Memory: peak beyond what is held before the call, output included, in batches."
    return f"{note}\n\n{markdown(head, lines)}"


def bytes_of(regime: Mapping[str, Any]) -> int:
    """Give the bytes of a batch."""
    return regime["batch"] * 3 * regime["side"] ** 2 * {"uint8": 1, "float16": 2}.get(regime["dtype"], 4)


def memory(row: Mapping[str, Any] | None, size: int) -> str:
    """Give a cell of memory."""
    return "" if row is None or row["peak_bytes"] is None else f"{row['peak_bytes'] / size:.1f}"


def compiled(row: Mapping[str, Any] | None) -> str:
    """Give a cell of compile cost; breaks of the graph are in it."""
    if row is None or not row["compile"]:
        return ""
    facts = row["compile"]
    few = f" in {facts['draws']} draws" if facts.get("draws", DRAWS) < DRAWS else ""
    said = f"{facts['cold_s']:.1f}, {facts['graphs']}, {facts['recompiles']}{few}"
    return said + " (breaks)" * bool(facts["broken"])


def apartness(row: Mapping[str, Any] | None) -> str:
    """Give a cell of agreement."""
    if row is None or not row["agreement"]:
        return ""
    near = row["agreement"]
    if "note" in near:
        return near["note"]
    return ", ".join("NaN" if near[key] is None else f"{near[key]:.1g}" for key in ("max", "mean"))


def did(by_label: Mapping[str, Rows]) -> str:
    """Give the table of what each library did, one line for those that did the same."""
    lines: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for label, rows in by_label.items():
        seen = set()
        for row in rows:
            told = row["did"]
            if row["library"] not in {"floor", *seen} and told:
                seen.add(row["library"])
                key = (row["library"], *(told.get(part, "") for part in ("draw", "pixels", "layout", "dtype")))
                lines[key].append(label)
    listed = [[*key, ", ".join(labels)] for key, labels in sorted(lines.items())]
    note = "Transforms are built outside the timed region; parameters are drawn inside it, by every library."
    return f"{note}\n\n{markdown(['library', 'draw', 'pixels', 'layout', 'dtype', 'ops'], listed, 6)}"
