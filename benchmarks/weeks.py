"""How much history does the default forecaster need to know a week from its days?

    OMP_NUM_THREADS=1 python benchmarks/weeks.py

One generated hourly series: a wave of a day, 20 more on workdays, noise of standard deviation 3.
Forecasts of each of the seven days after the history, 24 hours ahead, by days of history: the ratio
of their root mean squared error to that of repeating the last week, and the coverage of 90 %
intervals; means of the seeds.
"""

import warnings

import numpy as np
import pandas as pd

from batchensemble import BatchEnsembleWarning, Forecaster

DAYS, N_SEEDS = (40, 61, 89, 117, 180), 3


def measure(n_days: int, seed: int) -> tuple[float, float]:
    hours = pd.date_range("2024-01-01", periods=24 * (n_days + 7), freq="h")
    wave, works = np.sin(2 * np.pi * hours.hour / 24), hours.day_of_week < 5
    noise = np.random.default_rng(seed).normal(0, 3, len(hours))
    df = pd.DataFrame({"unique_id": "a", "ds": hours, "y": 100 + 40 * wave + 20 * works + noise})
    model = Forecaster(horizon=24, random_state=seed).fit(df[: 24 * n_days])
    past = model.cross_validation(df, n_windows=7, step_size=24, refit="never", level=[90])
    last_week = df["y"].to_numpy()[-2 * 168 : -168]
    errors = np.square([past["BatchEnsemble"] - past["y"], last_week - past["y"]]).mean(axis=1)
    inside = past["y"].between(past["BatchEnsemble-lo-90"], past["BatchEnsemble-hi-90"])
    return float(np.sqrt(errors[0] / errors[1])), float(inside.mean())


def main() -> None:
    warnings.simplefilter("ignore", BatchEnsembleWarning)
    for n_days in DAYS:
        ratio, held = np.mean([measure(n_days, seed) for seed in range(N_SEEDS)], axis=0)
        print(f"{n_days:4} days: {ratio:.2f} times the error of last week, coverage {held:.0%}")


if __name__ == "__main__":
    main()
