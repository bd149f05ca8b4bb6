"""How many nodes the compiled graph of every call has, as numbers that are kept: ``nodes.json`` beside this file.

``python -m tests.contract.nodes`` writes them anew; with ``--compare`` it lists the graphs that grew.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch._dynamo
from torch import nn
from torch._dynamo.backends.common import aot_autograd

import augment as K
from augment.testing import cases
from tests.contract.golden import KEYS, POLICIES, containers, image, labelled

FILE = Path(__file__).with_name("nodes.json")
DTYPES = {"float32": torch.float32, "uint8": torch.uint8}


def nodes(module: nn.Module, *args: Any) -> int:
    """Count the operations of the graph of a call."""
    counts = []

    def count(graph: torch.fx.GraphModule, inputs: Any) -> Callable[..., Any]:
        counts.append(sum(node.op == "call_function" for node in graph.graph.nodes))
        return graph.forward

    torch._dynamo.reset()
    torch.compile(module, fullgraph=True, backend=aot_autograd(fw_compiler=count))(*args)
    return sum(counts)


def found() -> dict[str, int]:
    """Give the number of every call by name."""
    numbers = {}
    for case in cases(variants=False):
        for name, dtype in DTYPES.items():
            numbers[f"{case.name}, {name}"] = nodes(case(p=0.5), image(dtype, 4))
    for key, build in containers().items():
        numbers[f"container {key}"] = nodes(build(data_keys=KEYS), *labelled(torch.uint8))
    for key in POLICIES:
        numbers[f"policy {key}"] = nodes(getattr(K, key)(), image(torch.uint8, 4))
    return numbers


def main() -> None:
    """Write the numbers, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compare", action="store_true")
    if not parser.parse_args().compare:
        FILE.write_text(json.dumps(found(), indent=0) + "\n")
        return
    kept = json.loads(FILE.read_text())
    grown = {name: (kept.get(name), count) for name, count in found().items() if count > kept.get(name, 0)}
    print("\n".join(f"{name}: {before} before, {after} now" for name, (before, after) in grown.items()) or "none grew")


if __name__ == "__main__":
    main()
