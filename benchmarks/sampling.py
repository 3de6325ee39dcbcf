"""Ancestral sampling: the context read once for all paths, against once for every path.

    python benchmarks/sampling.py

Prints the ratio for 64 windows x 2,000 paths x 5 steps of the study's network, after a warm-up, as
the median of repeats in one run; and the largest difference of the paths.
"""

import statistics
import time

import torch
from torch import Generator, Tensor

from batchensemble.training.bank import Bank
from batchensemble.training.losses import GaussianNLL
from batchensemble.training.networks import Recurrent

WINDOWS, MEMBERS, PATHS, CONTEXT, HORIZON, REPEATS = 64, 10, 200, 12, 5, 7


def main() -> None:
    torch.set_num_threads(1)
    source = Generator().manual_seed(0)
    network = Recurrent(
        0,
        (1, 1),
        draw=GaussianNLL((-10.0, 0.0)).draw,
        context=CONTEXT,
        horizon=HORIZON,
        n_members=MEMBERS,
        generator=source,
    )
    folded = Bank([network]).folded()
    x = torch.rand(WINDOWS, CONTEXT + HORIZON, 1, generator=source)
    noise = torch.randn(WINDOWS, PATHS, MEMBERS, HORIZON, generator=source)

    def shared() -> Tensor:
        return folded.simulate(x, noise)

    def tiled() -> Tensor:
        paths = folded.simulate(x.repeat_interleave(PATHS, 0), noise.flatten(0, 1).unsqueeze(1))
        return paths.view(noise.shape)

    with torch.inference_mode():
        difference = float((shared() - tiled()).abs().max())
        times: dict[str, list[float]] = {"shared": [], "tiled": []}
        for _ in range(REPEATS):
            for name, sample in (("shared", shared), ("tiled", tiled)):
                start = time.perf_counter()
                sample()
                times[name].append(time.perf_counter() - start)
    ratios = [slow / quick for quick, slow in zip(times["shared"], times["tiled"], strict=True)]
    print(
        f"tiling the context takes {statistics.median(ratios):.1f} times as long "
        f"({min(ratios):.1f} to {max(ratios):.1f}); largest difference of paths {difference:.1e}"
    )


if __name__ == "__main__":
    main()
