"""Before and after a change: what became slower beyond the noise, and what no longer gives the same outputs."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .report import clock, geometric_mean, markdown
from .results import ROOT, group

LEAST = 0.05  # a change smaller than this is none

Key = tuple[str, str, str, str]


def keyed(data: Mapping[str, Any]) -> dict[Key, dict[str, Any]]:
    """Give rows by what they measure."""
    return {(row["label"], row["library"], row["mode"], group(row)): row for row in data["rows"]}


def noise(row: Mapping[str, Any]) -> float:
    """Give half the distance of the quartiles, relative to the median."""
    t = row["time"]
    return (t["q3_ms"] - t["q1_ms"]) / 2 / t["median_ms"]


def drift(before: Mapping[str, Any], after: Mapping[str, Any]) -> float:
    """Give how much slower the machine became: by what did not change, the other libraries and the copy."""
    old, new = keyed(before), keyed(after)
    shared = [key for key in old.keys() & new.keys() if key[1] != "augment" and old[key]["time"] and new[key]["time"]]
    return geometric_mean(new[k]["time"]["median_ms"] / old[k]["time"]["median_ms"] for k in shared) if shared else 1.0


def verdict(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None, machine: float) -> tuple[float | None, str]:
    """Give how much longer it takes, with the machine's drift taken out, and what that means."""
    if old is None or new is None:
        return None, "new" if old is None else "gone"
    if not old["time"] or not new["time"]:
        broke = old["time"] and not new["time"]
        return None, "**fails now**" if broke else "works now" if new["time"] else "fails"
    change = new["time"]["median_ms"] / old["time"]["median_ms"] / machine
    band = max(LEAST, noise(old) + noise(new))
    if change > 1 + band:
        return change, "**slower**"
    return change, "faster" if change < 1 / (1 + band) else "same"


def comparable(before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Require that two results measured the same kind of thing, on the same processor and with as many threads."""
    for what, one, other in (
        ("kind", before["kind"], after["kind"]),
        ("cpu", before["environment"]["cpu"], after["environment"]["cpu"]),
        ("threads", before["flags"]["threads"], after["flags"]["threads"]),
    ):
        if one != other:
            raise ValueError(f"--compare: expected two files with the same {what}, got {one} and {other}")
    if not any(key[1] == "augment" for key in keyed(before).keys() & keyed(after).keys()):
        raise ValueError("--compare: expected rows of augment that both files have, got none")


def compare(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, int]:
    """Give the table of our rows and the number of regressions."""
    comparable(before, after)
    old, new, machine = keyed(before), keyed(after), drift(before, after)
    lines, regressions, changes = [], 0, []
    for key in dict.fromkeys([*old, *new]):
        if key[1] != "augment":
            continue
        change, meaning = verdict(old.get(key), new.get(key), machine)
        regressions += meaning.startswith("**")
        changes += [] if change is None else [change]
        told = "" if change is None else f"{change:.2f}x"
        lines.append([key[0], key[2], key[3], meaning, clock(old.get(key)), clock(new.get(key)), told])
    head = ["op", "mode", "regime", "verdict", "before ms", "after ms", "after / before"]
    mean = f"; ours now take {geometric_mean(changes):.2f}x the time as geometric mean" if changes else ""
    said = (
        f"{regressions} regressions beyond the noise of the two runs{mean}. The other libraries and the copy took "
        f"{machine:.2f}x the time: the machine's drift, taken out of the last column."
    )
    told = "".join(f"**{line}**\n\n" for line in apart(before, after))
    return f"{told}{said}\n\n{markdown(head, lines, 4)}", regressions


def apart(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Say what else than the code is not the same in two results."""
    lines, old, new = [], before["environment"]["packages"], after["environment"]["packages"]
    for name in dict.fromkeys([*old, *new]):
        if name != "augment" and old.get(name) != new.get(name):
            lines.append(f"{name} is {old.get(name)} before and {new.get(name)} after.")
    for when, data in (("before", before), ("after", after)):
        if not data["finished"]:
            lines.append(f"The run {when} was not finished.")
    return lines


# Runs in a process of its own, on the checkout that it is given; must read in every version that is compared.
_DIGEST = """
import hashlib, json, sys, warnings
warnings.filterwarnings("ignore")
sys.path.insert(0, sys.argv[1])
import torch
import augment, augment.testing
assert augment.__file__.startswith(sys.argv[1]), augment.__file__
torch.set_num_threads(1)
found = {}
for case in augment.testing.cases():
    for dtype in ("float32", "uint8"):
        generator = torch.Generator().manual_seed(0)
        image = torch.randint(0, 256, (8, 3, 48, 56), generator=generator, dtype=torch.uint8)
        image = image if dtype == "uint8" else image / 255
        for p in (1.0, 0.5):
            torch.manual_seed(0)
            try:
                out = case(p=p)(image).contiguous()
                told = f"{out.dtype} {tuple(out.shape)} " + hashlib.sha256(out.numpy().tobytes()).hexdigest()
            except Exception as error:
                told = f"error: {type(error).__name__}: {error}"
            found[f"{case.name}, {dtype}, p = {p:g}"] = told
print("digest:" + json.dumps(found))
"""


def digests(folder: Path) -> dict[str, str]:
    """Give a digest of every op's eager output under one seed, in a checkout."""
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", _DIGEST, str(folder)], capture_output=True, text=True, env=clean, cwd=folder
    )
    told = [line for line in done.stdout.splitlines() if line.startswith("digest:")]
    if done.returncode or not told:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise ValueError(f"--check-eager: the ops of {folder} could not be run: {last}")
    return json.loads(told[-1][len("digest:") :])


def checkout(name: str, work: Path) -> Path:
    """Give the folder of a checkout: the name itself, or a git revision laid out under `work`."""
    if Path(name).is_dir():
        folder = Path(name).resolve()
        if not (folder / "augment" / "__init__.py").is_file():
            raise ValueError(f"--check-eager: expected a checkout with the package augment, got {name}")
        return folder
    ask = ["git", "-C", str(ROOT)]
    archive = subprocess.run([*ask, "archive", name], capture_output=True)
    if archive.returncode:
        raise ValueError(f"--check-eager: expected a folder or a git revision, got {name}")
    folder = Path(tempfile.mkdtemp(dir=work))
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder


def check_eager(before: str, after: str) -> tuple[str, int]:
    """Say which ops give other outputs in two checkouts, folders or git revisions, under one seed."""
    with tempfile.TemporaryDirectory() as work:
        old, new = (digests(checkout(name, Path(work))) for name in (before, after))
    shared = old.keys() & new.keys()
    differing = [key for key in old if key in new and old[key] != new[key]]
    raised = [key for key in shared if old[key] == new[key] and old[key].startswith("error: ")]
    lines = [f"{len(shared) - len(differing) - len(raised)} of {len(shared)} outputs are bit-equal."]
    lines += [f"- the same error: {key}: {old[key]}" for key in raised]
    lines += [f"- differs: {key}: {old[key]} before, {new[key]} after" for key in differing]
    lines += [f"- only before: {key}" for key in old if key not in new]
    lines += [f"- only after: {key}" for key in new if key not in old]
    return "\n".join(lines), len(differing) + len(old.keys() - new.keys())
