"""What a closed gate costs: one image of ten is changed, against all ten.

The parameters of one call are used for both, so that the open row does the same work.
"""

import argparse
import functools
import time
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from augment.testing import cases

ROWS = 10


def milliseconds(calls: Sequence[Callable[[], object]], rounds: int = 9, least: float = 0.03) -> list[float]:
    """Give the processor's time of each call, the least of some rounds in which they take turns."""
    counts, times = [], [[] for _ in calls]
    for call in calls:
        call()
        start = time.process_time()
        call()
        counts.append(max(1, int(least / (time.process_time() - start + 1e-6))))
    for _ in range(rounds):
        for call, count, found in zip(calls, counts, times, strict=True):
            start = time.process_time()
            for _ in range(count):
                call()
            found.append((time.process_time() - start) / count)
    return [1e3 * min(found) for found in times]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--ops", nargs="*", help="names of cases, such as RandomAffine or ColorJiggle[order]; all by default"
    )
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--size", type=int, default=256)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    image = F.avg_pool2d(torch.rand(ROWS, 3, args.size, args.size), 5, 1, 2)
    print(f"| op | all of {ROWS} open, ms | one open, ms | ratio |\n|---|--:|--:|--:|")
    print(f"| a copy | {milliseconds([image.clone])[0]:.2f} | | |")
    for case in cases():
        op = case()
        if args.ops and case.name not in args.ops:
            continue
        op.p = 1.0
        op(image)
        gate: Tensor = torch.zeros(ROWS)
        gate[ROWS // 2] = 1
        everything, one = op._params, {**op._params, "batch_prob": gate}
        call = torch.compile(op, fullgraph=True) if args.compiled else op
        full, part = milliseconds([functools.partial(call, image, p) for p in (everything, one)])
        print(f"| {case.name} | {full:.2f} | {part:.2f} | {part / full:.2f} |", flush=True)
        torch.compiler.reset()


if __name__ == "__main__":
    main()
