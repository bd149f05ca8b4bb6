"""A results file: its schema, its writing row by row, and going on with one that was cut off."""

import datetime
import hashlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from . import threads

VERSION = 1
PACKAGES = ("torch", "torchvision", "kornia", "albumentations", "opencv-python-headless", "numpy", "augment")
ROOT = Path(__file__).parents[2]
MEASURED = ("augment", "benchmarks", ":(exclude)benchmarks/results", ":(exclude)*.md")  # what figures depend on

_NUMBER = {"type": "number", "minimum": 0}
_TOOK = {"type": "number", "exclusiveMinimum": 0}
_TIME = {
    "type": "object",
    "required": ["median_ms", "q1_ms", "q3_ms", "rounds", "repeats"],
    "properties": {
        **dict.fromkeys(("median_ms", "q1_ms", "q3_ms"), _TOOK),
        "rounds": {"type": "array", "items": _TOOK, "minItems": 1},
        "repeats": {"type": "integer", "minimum": 1},
    },
}
_REGIME = {
    "type": "object",
    "required": ["batch", "side", "dtype", "device", "strides"],
    "properties": {
        **dict.fromkeys(("batch", "side"), {"type": "integer", "minimum": 1}),
        **dict.fromkeys(("dtype", "device"), {"type": "string"}),
        "strides": {"type": "array", "items": {"type": "integer"}},
    },
}
_ROW = {
    "type": "object",
    "required": ["label", "library", "mode", "regime", "did", "time", "peak_bytes", "compile", "agreement", "error"],
    "properties": {
        **dict.fromkeys(("label", "library", "mode"), {"type": "string", "minLength": 1}),
        "regime": _REGIME,
        "did": {"type": "object", "additionalProperties": {"type": "string"}},
        "time": {"anyOf": [_TIME, {"type": "null"}]},
        "peak_bytes": {"type": ["integer", "null"]},
        "compile": {
            "anyOf": [
                {"type": "null"},
                {"type": "object", "required": ["cold_s", "graphs", "recompiles", "broken"]},
            ]
        },
        "agreement": {
            "type": "object",
            "properties": {**dict.fromkeys(("max", "mean"), {"type": ["number", "null"]}), "note": {"type": "string"}},
        },
        "error": {"type": ["string", "null"]},
    },
    # a row has a time or says why it has none
    "anyOf": [
        {"properties": {"time": {"type": "object"}, "error": {"type": "null"}}},
        {"properties": {"time": {"type": "null"}, "error": {"type": "string"}}},
    ],
    "additionalProperties": False,
}
_ENVIRONMENT = {
    "type": "object",
    "required": ["date", "commit", "cpu", "cores", "capability", "gpu", "python", "packages", "threads"],
    "properties": {
        **dict.fromkeys(("date", "commit", "cpu", "capability", "python"), {"type": "string"}),
        **dict.fromkeys(("packages", "threads"), {"type": "object"}),
    },
}
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["version", "kind", "command", "environment", "flags", "skipped", "finished", "seconds", "rows"],
    "properties": {
        "version": {"const": VERSION},
        "kind": {"enum": ["ops", "pipelines"]},
        "command": {"type": "string"},
        "environment": _ENVIRONMENT,
        "flags": {"type": "object", "required": ["size", "threads", "regimes"]},
        "skipped": {"type": "object", "additionalProperties": {"type": "string"}},
        "finished": {"type": "boolean"},
        "seconds": _NUMBER,
        "rows": {"type": "array", "items": _ROW},
    },
    "additionalProperties": False,
}
_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_EPOCH = {
    "type": "object",
    "required": ["images_per_second", "waiting", "augmenting", "stepping", "on_core", "loss", "accuracy"],
    "properties": {"images_per_second": _TOOK, **dict.fromkeys(("waiting", "augmenting", "stepping"), _SHARE)},
}
TRAINING = {
    "$schema": SCHEMA["$schema"],
    "type": "object",
    "required": ["version", "kind", "command", "environment", "decoder", "classes", "flags", "complete", "rows"],
    "properties": {
        **{name: SCHEMA["properties"][name] for name in ("version", "command")},
        "kind": {"const": "training"},
        "environment": _ENVIRONMENT,
        "decoder": {"enum": ["pillow", "opencv"]},
        "classes": {"type": "array", "items": {"type": "string"}, "minItems": 2},
        "flags": {"type": "object", "required": ["recipe", "images", "epochs", "batch", "size", "workers", "threads"]},
        "complete": {"type": "boolean"},
        "rows": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["library", "augments_in", "error", "first_call_s", "of_none", "epochs"],
                "properties": {
                    **dict.fromkeys(("library", "augments_in"), {"type": "string"}),
                    "error": {"type": ["string", "null"]},
                    "epochs": {"type": "array", "items": _EPOCH},
                },
            },
        },
    },
    "additionalProperties": False,
}
MIXES = {
    "$schema": SCHEMA["$schema"],
    "type": "object",
    "required": ["version", "kind", "command", "environment", "flags", "rows"],
    "properties": {
        **{name: SCHEMA["properties"][name] for name in ("version", "command")},
        "kind": {"const": "mixes"},
        "environment": _ENVIRONMENT,
        "flags": {"type": "object", "required": ["batch", "size", "rounds", "threads"]},
        "rows": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "ms"],
                "properties": {
                    "name": {"type": "string"},
                    "ms": {
                        "type": "object",
                        "required": ["ours"],
                        "minProperties": 2,
                        "additionalProperties": {"type": "array", "items": _TOOK, "minItems": 2},
                    },
                },
            },
        },
    },
    "additionalProperties": False,
}


def environment(device: str, wanted: Sequence[str] = PACKAGES) -> dict[str, Any]:
    """Say where and with what the figures come about."""
    versions = {}
    for package in wanted:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit(),
        "cpu": cpu(),
        "cores": os.cpu_count(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "gpu": torch.cuda.get_device_name() if device != "cpu" else None,
        "python": platform.python_version(),
        "system": platform.system(),
        "packages": versions,
        "threads": threads.effective(),
    }


def git(*words: str) -> str | None:
    """Ask git about this checkout; None where it cannot tell."""
    try:
        return subprocess.run(
            ["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def commit() -> str:
    """Give the commit of this checkout, with a mark where files differ from it."""
    head, changed = git("rev-parse", "--short=12", "HEAD"), git("status", "--porcelain", "--", *MEASURED)
    if head is None or changed is None:
        return "unknown"
    changes = f"{changed}\n{git('diff', 'HEAD', '--', *MEASURED)}"
    return head + (f"+changes.{hashlib.sha1(changes.encode()).hexdigest()[:8]}" if changed else "")


def cpu() -> str:
    """Give the processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


class Results:
    """Rows and what they were measured with, on disk as soon as they are there.

    The file is replaced as a whole, so that it is valid whenever a run is cut off.
    """

    def __init__(self, path: Path, kind: str, flags: dict[str, Any], device: str, skipped: dict[str, str]) -> None:
        self.path = path
        self.data: dict[str, Any] = {
            "version": VERSION,
            "kind": kind,
            "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]),
            "environment": environment(device),
            "flags": flags,
            "skipped": skipped,
            "finished": False,
            "seconds": 0.0,
            "rows": [],
        }
        self.clock = time.perf_counter()

    def resume(self) -> None:
        """Take over the rows of the file, if there is one and it was measured with the same things."""
        if not self.path.exists():
            return
        old = read(self.path)
        ours = self.data
        for what in ("commit", "cpu", "packages", "threads"):
            if old["environment"][what] != ours["environment"][what]:
                raise ValueError(
                    f"--resume: expected {self.path} to be measured with the same {what}, {ours['environment'][what]}, "
                    f"got {old['environment'][what]}"
                )
        if (old["kind"], old["flags"]) != (ours["kind"], ours["flags"]):
            raise ValueError(f"--resume: expected the flags {ours['flags']}, got {old['flags']} in {self.path}")
        ours["rows"], ours["seconds"] = old["rows"], old["seconds"]
        ours["environment"]["date"] = old["environment"]["date"]

    def groups(self) -> set[tuple[str, str]]:
        """Give the recipes and regimes that are done."""
        return {(row["label"], group(row)) for row in self.data["rows"]}

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Keep the rows of a group."""
        self.data["rows"] += rows
        self.write()

    def write(self, finished: bool = False) -> None:
        """Replace the file."""
        now = time.perf_counter()
        self.data["seconds"] += now - self.clock
        self.clock, self.data["finished"] = now, finished
        write(self.path, dump(self.data))


def group(row: dict[str, Any]) -> str:
    """Name the regime of a row."""
    return "{batch} x 3 x {side} x {side} {dtype} on {device}".format(**row["regime"])


def dump(data: dict[str, Any]) -> str:
    """Lay results out with a row to a line, for diffs that can be read."""
    head = json.dumps({**data, "rows": []}, indent=1, allow_nan=False)
    rows = ",\n".join("  " + json.dumps(row, allow_nan=False) for row in data["rows"])
    return head.replace('"rows": []', f'"rows": [\n{rows}\n ]') if rows else head


def write(path: Path, text: str) -> None:
    """Replace a file at once."""
    path = path.resolve()  # a link goes on leading to the file
    beside = path.with_name(path.name + ".part")
    try:
        beside.write_text(text + "\n")
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def writable(path: Path) -> str | None:
    """Say why a file cannot be written, before anything runs."""
    path = path.resolve()
    if path.exists() and not path.is_file():
        return f"expected a file, got {path}, which is {'a folder' if path.is_dir() else 'a device or a pipe'}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(path.name + ".part")
        beside.touch()
        beside.unlink()
    except OSError as error:
        return f"{path} cannot be written: {error.strerror}"
    return None


def creatable(folder: Path) -> str | None:
    """Say why there can be no pictures in a folder, before anything runs."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return f"expected a folder, {folder} cannot be made one: {error.strerror}"
    return None if os.access(folder, os.W_OK) else f"{folder} cannot be written"


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no figure")


def read(path: Path, schema: dict[str, Any] = SCHEMA) -> dict[str, Any]:
    """Read a results file and hold it to its schema; raise ValueError that says what is wrong."""
    try:
        data = json.loads(path.read_text(), parse_constant=_no_number)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    import jsonschema

    try:
        jsonschema.validate(data, schema)
    except jsonschema.ValidationError as error:
        where = "/".join(map(str, error.absolute_path)) or "the file"
        raise ValueError(f"{path} is not a results file: {where}: {error.message[:200]}") from None
    return data
