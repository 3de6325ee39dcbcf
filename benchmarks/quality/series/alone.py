"""Coverage and quantile loss where each series is fitted alone: most users have one.

    OMP_NUM_THREADS=1 python benchmarks/quality/series/alone.py [--series 90] [--jobs 1]

So many series of each dataset without dates, drawn at random, the last window of each: the coverage
of 80 % intervals and the weighted quantile loss of each series, means over the series.
"""

import argparse
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pandas as pd
from measure import ours, scores
from windows import DATASETS, Dataset, load, truth

NAMES = ("m3_monthly", "m3_quarterly", "australian_tourism")


def measure(job: tuple[pd.DataFrame, Dataset]) -> tuple[float, float]:
    warnings.simplefilter("ignore")
    frame, task = job
    found = scores(*truth(frame, task), ours(frame, task, "default"))
    return found["coverage"], found["wql"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--series", type=int, default=90)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    with ProcessPoolExecutor(args.jobs) as pool:
        for name in NAMES:
            frame, task = load(name), DATASETS[name]._replace(n_windows=1)
            ids = np.random.default_rng(0).permutation(frame["unique_id"].unique())[: args.series]
            parts = [(frame[frame["unique_id"] == each], task) for each in ids]
            covered, loss = np.mean([*pool.map(measure, parts)], axis=0)
            print(f"{name}: {covered:.0%} of 80 %, quantile loss {loss:.4f}", flush=True)


if __name__ == "__main__":
    main()
