"""Our forecasts of the peers' series, with the default preset.

    python benchmarks/peers/ours.py FOLDER [--only NAME ...] [--method WORD ...]
        [--feedback WORD ...] [--seeds 3]

Reads what `series.py export` wrote, and writes beside the rivals' forecasts. Only what the rivals
are told too is told: the horizon, and the season of the sun.
"""

import argparse
import itertools
import time
from pathlib import Path

import numpy as np
import torch
from series import NAMES, load, save

from batchensemble import Forecaster

DRAWS = 500
SEASONS = {"sunspots": 11}  # the others follow from the frequency
NAMES_OF_METHODS = {"batch_ensemble": "batchensemble", "deep_ensemble": "gru-ensemble"}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", default=NAMES)
    parser.add_argument("--method", nargs="+", default=["batch_ensemble"])
    parser.add_argument("--feedback", nargs="+", default=["teacher"])
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    everything = itertools.product(range(args.seeds), args.feedback, args.method, args.only)
    for seed, feedback, method, name in everything:
        word = NAMES_OF_METHODS.get(method, method)
        word += "" if feedback == "teacher" else f"-fed-{feedback}"
        rival = f"{word}-seed{seed}"
        if not (args.folder / "forecasts" / name / f"{rival}.npz").exists():
            forecast(args.folder, name, rival, method=method, feedback=feedback, seed=seed)


def forecast(folder: Path, name: str, rival: str, *, method: str, feedback: str, seed: int) -> None:
    dataset = load(name, folder)
    model = Forecaster(
        method,
        preset="recurrent",
        horizon=dataset.horizon,
        season=SEASONS.get(name),
        feedback=feedback,
        n_paths=DRAWS,
        random_state=seed,
        device="cpu",
    )
    start = time.monotonic()
    model.fit(dataset.train)
    fitted = time.monotonic()
    dist = model.cross_validation_dist(
        dataset.frame, n_windows=dataset.n_windows, step_size=dataset.step_size, refit="never"
    )
    done = time.monotonic()
    paths = np.asarray(dist.paths).reshape(len(dist), -1, dataset.horizon)
    save(folder, dataset, rival, paths, fitted - start, done - fitted)
    print(f"{name} {rival}: fitted in {fitted - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
