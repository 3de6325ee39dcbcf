"""How much history does the default forecaster need to know a week from its days?

    OMP_NUM_THREADS=1 python benchmarks/weeks.py [generated] [taxi]

`generated`: hourly series with a wave of a day, 20 more on workdays, and noise of standard
deviation 3. `taxi`: half-hours of `quality/ny_taxi.csv.gz` in the folder that `BATCHENSEMBLE_DATA`
names, which end 20, 40 and 65 days before their end. Each day of the last week is forecast by a
model that was fitted to so many days before that week: the ratio of the root mean squared error to
that of repeating the week before, and the coverage of 90 % intervals; means of three.
"""

import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from batchensemble import BatchEnsembleWarning, Forecaster

DAYS = {"generated": (30, 40, 61, 89, 117, 180), "taxi": (30, 45, 70, 90)}
LEFT_OUT = (20, 40, 65)  # days: the first of them are Christmas and New Year


def generated(n_days: int, seed: int) -> pd.DataFrame:
    hours = pd.date_range("2024-01-01", periods=24 * (n_days + 7), freq="h")
    wave, works = np.sin(2 * np.pi * hours.hour / 24), hours.day_of_week < 5
    noise = np.random.default_rng(seed).normal(0, 3, len(hours))
    return pd.DataFrame({"unique_id": "a", "ds": hours, "y": 100 + 40 * wave + 20 * works + noise})


def taxi(n_days: int, seed: int) -> pd.DataFrame:
    path = Path(os.environ["BATCHENSEMBLE_DATA"]) / "quality" / "ny_taxi.csv.gz"
    frame = pd.read_csv(path, parse_dates=["ds"])[["unique_id", "ds", "y"]]
    return frame[: -48 * LEFT_OUT[seed]].tail(48 * (n_days + 7)).reset_index(drop=True)


def measure(df: pd.DataFrame, day: int, seed: int) -> tuple[float, float]:
    model = Forecaster(horizon=day, random_state=seed).fit(df[: -7 * day])
    past = model.cross_validation(df, n_windows=7, step_size=day, refit="never", level=[90])
    last_week = df["y"].to_numpy()[-14 * day : -7 * day]
    errors = np.square([past["BatchEnsemble"] - past["y"], last_week - past["y"]]).mean(axis=1)
    inside = past["y"].between(past["BatchEnsemble-lo-90"], past["BatchEnsemble-hi-90"])
    return float(np.sqrt(errors[0] / errors[1])), float(inside.mean())


def main() -> None:
    warnings.simplefilter("ignore", BatchEnsembleWarning)
    for name in sys.argv[1:] or ["generated"]:
        make, day = {"generated": (generated, 24), "taxi": (taxi, 48)}[name]
        for n_days in DAYS[name]:
            found = [measure(make(n_days, seed), day, seed) for seed in range(3)]
            ratio, held = np.mean(found, axis=0)
            print(
                f"{name}, {n_days:4} days: {ratio:.2f} times the error of last week, coverage "
                f"{held:.0%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
