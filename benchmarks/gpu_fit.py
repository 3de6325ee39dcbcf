"""Seconds that the default estimators take on a device, made-up tables and series.

    python benchmarks/gpu_fit.py [--device cuda] [--m3 m3_monthly.csv.gz]

Tables: 50,000 rows of 20 numbers to learn from, 100,000 to predict; and a Parquet file of two
million rows. Series: 400 hourly ones of 900 values, and one of 200,000. --m3 names a long frame of
the monthly series of the M3 competition, with a column `test` that is 1 for the last 18 values.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from scale import new_rows, write

from batchensemble import Classifier, Forecaster, Regressor


def hourly(n_series: int, length: int) -> pd.DataFrame:
    """Days and weeks with noise."""
    random, hour = np.random.default_rng(0), np.arange(length)
    times = pd.date_range("2024-01-01", periods=length, freq="h")
    frames = []
    for i in range(n_series):
        day, week, phase = random.uniform(1, 3), random.uniform(0.5, 1.5), random.uniform(0, 6)
        y = 10 + day * np.sin(hour * np.pi / 12 + phase) + week * np.sin(hour * np.pi / 84)
        y += 0.3 * random.standard_normal(length)
        frames.append(pd.DataFrame({"unique_id": f"s{i}", "ds": times, "y": y}))
    return pd.concat(frames, ignore_index=True)


def timed(words: str, work: Callable[[], Any]) -> Any:
    start = time.perf_counter()
    done = work()
    print(f"{words:44} {time.perf_counter() - start:8.2f} s", flush=True)
    return done


def tables(device: str) -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(150_000, 20)).astype(np.float32)
    y = np.sin(2 * x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] + 0.2 * random.normal(size=len(x))
    train, test = slice(50_000), slice(50_000, None)
    for kind, target in ((Regressor, y), (Classifier, np.digitize(y, [-0.5, 0.5]))):
        model, name = kind(random_state=0, device=device), kind.__name__
        timed(f"{name}: fit, 50,000 rows", lambda m=model, t=target: m.fit(x[train], t[train]))
        timed(f"{name}: predict, 100,000 rows", lambda m=model: m.predict(x[test]))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write(path, 2_000_000)
        model = Regressor(random_state=0, device=device)
        timed("Regressor: fit, a file of 2,000,000 rows", lambda: model.fit(path, "y"))
        rows, truth = new_rows()
        rmse = float(np.sqrt(np.mean((model.predict(rows) - truth) ** 2)))
        print(f"  its RMSE {rmse:.3f}; settings {model.settings_}")


def series(device: str, m3: Path | None) -> None:
    frames = {"400 hourly series of 900": (hourly(400, 900), 48)}
    frames["one series of 200,000"] = (hourly(1, 200_000), 24)
    if m3 is not None:
        frame = pd.read_csv(m3)
        frames["M3 monthly"] = (frame[frame["test"] == 0].drop(columns="test"), 18)
    for name, (frame, horizon) in frames.items():
        model = Forecaster(horizon=horizon, random_state=0, device=device)
        timed(f"Forecaster: fit, {name}", lambda m=model, f=frame: m.fit(f))
        timed("Forecaster: predict", lambda m=model: m.predict(level=[80]))
        some = frame["unique_id"].unique()[:1000]
        if len(some) == 1000:
            of_some = frame[frame["unique_id"].isin(some)]
            words = "Forecaster: 2,000 paths, 1,000 series"
            timed(words, lambda m=model, f=of_some: m.predict_dist(n_paths=2000, df=f))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--m3", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    tables(arguments.device)
    series(arguments.device, arguments.m3)


if __name__ == "__main__":
    main()
