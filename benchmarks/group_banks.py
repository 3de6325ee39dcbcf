"""What it brings to train groups as one bank: `OMP_NUM_THREADS=1 python benchmarks/group_banks.py`.

CPU-seconds (on a GPU, seconds) for the fits of groups one by one and together, as `fit --by` makes
them.
"""

import argparse
import time
from functools import partial

import numpy as np
import torch

from batchensemble import Regressor
from batchensemble.training.together import fit_together


def timed(call):
    clock = time.perf_counter if torch.cuda.is_initialized() else time.process_time
    start = clock()
    return call(), clock() - start


def fit(settings, x, y):
    return Regressor(**settings, random_state=0).fit(x, y)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=20)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--most-rows", type=int, help="groups have from --rows to so many rows")
    parser.add_argument("--columns", type=int, default=6)
    parser.add_argument("--device", default="cpu")
    how = parser.parse_args()
    torch.set_num_threads(1)
    random = np.random.default_rng(0)
    sizes = np.linspace(how.rows, how.most_rows or how.rows, how.groups).astype(int)
    tables = [random.normal(size=(n, how.columns)) for n in sizes]
    groups = [(x, x[:, 0] ** 2 + x[:, 1] + 0.3 * random.normal(size=len(x))) for x in tables]
    for preset in ("fast", "default"):
        fits = [partial(fit, {"preset": preset, "device": how.device}, *group) for group in groups]
        fits[0]()  # compiles
        alone, one_by_one = timed(lambda fits=fits: [fit() for fit in fits])
        together, seconds = timed(lambda fits=fits: fit_together(fits))
        thetas = [
            [model.model_.ensemble.bank.theta for model in each] for each in (alone, together)
        ]
        n_same = sum(map(torch.equal, *thetas))
        print(
            f"{preset}: one by one {one_by_one:.1f} s, together {seconds:.1f} s: "
            f"{one_by_one / seconds:.2f} times as fast; {n_same} of {how.groups} models have the "
            "same bits",
            flush=True,
        )


if __name__ == "__main__":
    main()
