"""Forecast and score: one row for each dataset and method, appended to a CSV file.

    python benchmarks/quality/series/measure.py --out FILE [--datasets NAME ...]
        [--methods NAME ...]

`default`, `fast`, `best` and `recurrent` are our presets and run in `.venv`; `snaive`, `theta`,
`ets` and `arima` are statsforecast's and run in `.venv-peers`. What the file holds is skipped.
"""

import argparse
import csv
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

LEVELS = np.arange(1, 10) / 10
OURS = ("default", "fast", "best", "recurrent")
COLUMNS = ["dataset", "method", "mase", "wql", "coverage", "cpu_seconds"]


class Dataset(NamedTuple):
    """Official test parts are one window; `last` is how many values the peers may see."""

    horizon: int
    season: int
    n_windows: int
    step: int
    freq: Any = 1
    last: int | None = None


DATASETS = {
    "m3_monthly": Dataset(18, 12, 1, 1),
    "m3_quarterly": Dataset(8, 4, 1, 1),
    "australian_tourism": Dataset(4, 4, 3, 4),
    "us_gasoline": Dataset(13, 52, 20, 13, "W-FRI", 520),
    "exchange_rate": Dataset(30, 1, 5, 30, 1, 500),
    "ny_taxi": Dataset(48, 48, 20, 48, "30min", 672),
    "etth1": Dataset(48, 24, 5, 48, "h", 672),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS))
    parser.add_argument("--methods", nargs="+", default=["default"])
    args = parser.parse_args()
    there = set()
    if args.out.exists():
        with args.out.open() as file:
            there = {(row["dataset"], row["method"]) for row in csv.DictReader(file)}
    with args.out.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if not there:
            writer.writeheader()
        for name in args.datasets:
            for method in args.methods:
                if (name, method) not in there:
                    row = {"dataset": name, "method": method, **measure(name, method)}
                    writer.writerow(row)
                    file.flush()
                    print(row, flush=True)


def measure(name: str, method: str) -> dict[str, str]:
    task, frame = DATASETS[name], load(name)
    forecast: Callable[..., NDArray[np.float64]] = ours if method in OURS else peers
    start = time.process_time()
    quantiles = forecast(frame, task, method)
    seconds = time.process_time() - start
    values = scores(*truth(frame, task), quantiles) | {"cpu_seconds": seconds}
    return {key: f"{value:.5g}" for key, value in values.items()}


def load(name: str) -> pd.DataFrame:
    path = Path(os.environ["BATCHENSEMBLE_DATA"]) / "quality" / f"{name}.csv.gz"
    frame = pd.read_csv(path)[["unique_id", "ds", "y"]]
    if not isinstance(DATASETS[name].freq, int):
        frame["ds"] = pd.to_datetime(frame["ds"])
    return frame


def known(frame: pd.DataFrame, task: Dataset, window: int) -> pd.DataFrame:
    """What precedes a window, the last of which is the end of the series."""
    back = task.horizon + (task.n_windows - 1 - window) * task.step
    return frame[frame.groupby("unique_id").cumcount(ascending=False) >= back]


def truth(frame: pd.DataFrame, task: Dataset) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(series, windows, horizon), and the mean absolute seasonal difference before each."""
    values, scales = [], []
    for _, series in frame.groupby("unique_id", sort=False):
        y = series["y"].to_numpy(float)
        cuts = len(y) - task.horizon - np.arange(task.n_windows)[::-1] * task.step
        values.append([y[cut : cut + task.horizon] for cut in cuts])
        scales.append(
            [np.abs(y[task.season : cut] - y[: cut - task.season]).mean() for cut in cuts]
        )
    return np.array(values), np.array(scales)


def scores(
    y: NDArray[np.float64], scales: NDArray[np.float64], quantiles: NDArray[np.float64]
) -> dict[str, float]:
    """MASE of the median, weighted quantile loss of the nine deciles, coverage of the 80 %."""
    below = y[..., None] - quantiles
    loss = 2 * np.maximum(LEVELS * below, (LEVELS - 1) * below)
    inside = (quantiles[..., 0] <= y) & (y <= quantiles[..., 8])
    return {
        "mase": float(np.mean(np.abs(y - quantiles[..., 4]).mean(-1) / scales)),
        "wql": float(loss.sum((0, 1, 2)).mean() / np.abs(y).sum()),
        "coverage": float(inside.mean()),
    }


def ours(frame: pd.DataFrame, task: Dataset, preset: str) -> NDArray[np.float64]:
    """Fitted once, to what precedes all windows."""
    import torch

    from batchensemble import Forecaster

    torch.set_num_threads(1)
    model = Forecaster(
        preset=preset, horizon=task.horizon, season=task.season, random_state=0, device="cpu"
    ).fit(known(frame, task, 0))
    past = model.backtest(frame, n_windows=task.n_windows, step_size=task.step, refit="never")
    columns = past.columns(quantiles=LEVELS.tolist())
    by_level = [columns[f"{past.alias}-q-{100 * level:g}"] for level in LEVELS]
    return np.stack(by_level, -1).reshape(-1, task.n_windows, task.horizon, len(LEVELS))


def peers(frame: pd.DataFrame, task: Dataset, method: str) -> NDArray[np.float64]:
    """Fitted anew to what precedes each window."""
    from statsforecast import StatsForecast, models

    names = {"snaive": "SeasonalNaive", "theta": "AutoTheta", "ets": "AutoETS"}
    model = getattr(models, names.get(method, "AutoARIMA"))(season_length=task.season, alias="m")
    columns = [f"m-lo-{level}" for level in (80, 60, 40, 20)] + ["m"]
    columns += [f"m-hi-{level}" for level in (20, 40, 60, 80)]
    order = frame["unique_id"].unique()
    windows = []
    for window in range(task.n_windows):
        past = known(frame, task, window)
        if task.last:
            past = past.groupby("unique_id", sort=False).tail(task.last)
        forecaster = StatsForecast(models=[model], freq=task.freq, n_jobs=1)
        found = forecaster.forecast(df=past, h=task.horizon, level=[20, 40, 60, 80])
        found = found.set_index("unique_id").loc[order]
        windows.append(found[columns].to_numpy().reshape(len(order), task.horizon, len(LEVELS)))
    return np.stack(windows, 1)


if __name__ == "__main__":
    main()
