"""Would groups be fitted faster as one bank? `OMP_NUM_THREADS=1 python benchmarks/group_banks.py`.

CPU-seconds for models of groups fitted one by one, as `fit --by` does, and for the same networks
trained as one bank, which needs groups of the same shape and settings.
"""

import argparse
import time

import numpy as np
import torch

from batchensemble import Regressor
from batchensemble.estimators import base
from batchensemble.training.engines import Data
from batchensemble.training.models import Rows, fit_models


def timed(call):
    start = time.process_time()
    return call(), time.process_time() - start


def one_by_one(preset, groups):
    """CPU-seconds, and what each group's networks were trained with and became."""
    calls = []

    def kept(*arguments, **more):
        trained, seconds = timed(lambda: fit_models(*arguments, **more))
        calls.append((arguments, more["rows"], trained[0], seconds))
        return trained

    base.fit_models = kept
    _, seconds = timed(lambda: [Regressor(preset=preset, random_state=0).fit(*g) for g in groups])
    base.fit_models = fit_models
    return seconds, calls


def together(calls):
    """The bank of all groups, and CPU-seconds."""
    method, make, loss, _, training = calls[0][0]
    every = [arguments[3] for arguments, *_ in calls]
    data = Data(torch.cat([one.x for one in every]), torch.cat([one.y for one in every]))
    starts = np.cumsum([0, *[len(one.x) for one in every]]).tolist()
    rows = [
        Rows(fold.seed, fold.train + start, fold.held_out + start)
        for (_, folds, *_), start in zip(calls, starts, strict=False)
        for fold in folds
    ]
    (bank, _), seconds = timed(lambda: fit_models(method, make, loss, data, training, rows=rows))
    return bank, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=20)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--columns", type=int, default=6)
    how = parser.parse_args()
    torch.set_num_threads(1)
    random = np.random.default_rng(0)
    tables = [random.normal(size=(how.rows, how.columns)) for _ in range(how.groups)]
    groups = [(x, x[:, 0] ** 2 + x[:, 1] + 0.3 * random.normal(size=how.rows)) for x in tables]
    for preset in ("fast", "default"):
        one_by_one(preset, groups[:1])  # compiles
        seconds, calls = one_by_one(preset, groups)
        bank, in_bank = together(calls)
        alone = torch.cat([each.theta for _, _, each, _ in calls])
        training = sum(spent for *_, spent in calls)
        print(
            f"{preset}: one by one {seconds:.1f} s, of which training {training:.1f} s; in one "
            f"bank {in_bank:.1f} s; all in all {seconds / (seconds - training + in_bank):.2f} "
            f"times as fast; the same bits: {torch.equal(alone, bank.theta)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
