"""Folded against plain BatchEnsemble layer at inference: which is faster, by width and batch.

    python benchmarks/folding.py

Prints the ratio plain / folded: above 1, folding pays.
"""

import statistics
import time
from collections.abc import Callable

import torch

from batchensemble.nn.linear import BatchEnsembleLinear
from batchensemble.nn.members import expand_members


def seconds(call: Callable[[], object], budget: float = 0.05) -> float:
    call()
    start = time.perf_counter()
    call()
    repeats = max(3, int(budget / (time.perf_counter() - start)))
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    torch.manual_seed(0)
    batches = (1, 8, 64, 512, 4096)
    print("plain / folded     " + "".join(f"{f'batch {b}':>12}" for b in batches))
    for n_members in (4, 10, 32):
        for width in (32, 128, 512, 1024):
            layer = BatchEnsembleLinear(width, width, n_members).eval()
            folded = layer.fold()
            row = []
            for batch in batches:
                x = expand_members(torch.randn(batch, width), n_members).contiguous()
                with torch.inference_mode():
                    row.append(seconds(lambda: layer(x)) / seconds(lambda: folded(x)))  # noqa: B023
            print(f"K={n_members:<3} width {width:<6}" + "".join(f"{r:12.2f}" for r in row))


if __name__ == "__main__":
    main()
