"""Forecast and score: one row for each dataset and method, appended to a CSV file.

    python benchmarks/quality/series/measure.py --out FILE [--datasets NAME ...]
        [--methods NAME ...]

`default`, `fast`, `best` and `recurrent` are our presets and run in `.venv`; the others run in
`.venv-peers`. `calibrated` and `static` are the default with calibrated 80 % intervals, which adapt
or not, in place of the first and last decile, for series that are long enough. What the file holds
is skipped.
"""

import argparse
import csv
import time
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from windows import DATASETS, LEVELS, Array, Dataset, known, load, truth

CALIBRATED = {"calibrated": {"calibrate": True}, "static": {"calibrate": True, "adapt": False}}
OURS = ("default", "fast", "best", "recurrent", *CALIBRATED)
PEERS = ("snaive", "theta", "ets", "mean", "arima", "deepar", "patchtst", "nhits")
COLUMNS = ["dataset", "method", "mase", "wql", "coverage", "cpu_seconds"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--datasets", nargs="+", choices=DATASETS, default=list(DATASETS))
    parser.add_argument("--methods", nargs="+", choices=OURS + PEERS, default=["default"])
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
    quantiles, seconds = timed(name, method)
    frame = series(name, method)
    values = scores(*truth(frame, DATASETS[name]), quantiles) | {"cpu_seconds": seconds}
    return {key: f"{value:.5g}" for key, value in values.items()}


def series(name: str, method: str) -> pd.DataFrame:
    """All, or those that can spare rows to calibrate with."""
    frame, task = load(name), DATASETS[name]
    if method not in CALIBRATED:
        return frame
    fewest = 3 * task.horizon + (task.n_windows - 1) * task.step + 1
    return frame.groupby("unique_id").filter(lambda own: len(own) >= fewest)


@cache
def timed(name: str, method: str) -> tuple[Array, float]:
    """The quantiles, and the CPU-seconds of fitting and forecasting."""
    if method == "mean":
        (theta, theta_seconds), (ets, ets_seconds) = timed(name, "theta"), timed(name, "ets")
        return (theta + ets) / 2, theta_seconds + ets_seconds
    frame = series(name, method)
    start = time.process_time()
    quantiles = forecast(frame, DATASETS[name], method)
    return quantiles, time.process_time() - start


def forecast(frame: pd.DataFrame, task: Dataset, method: str) -> Array:
    """(series, windows, horizon, levels)."""
    if method in OURS:
        return ours(frame, task, method)
    if method in ("deepar", "patchtst", "nhits"):
        import neural

        return getattr(neural, method)(frame, task)
    import statistical

    if method == "arima":
        return statistical.arima(frame, task)
    return statistical.refitted(frame, task, method)


def scores(y: Array, scales: Array, quantiles: Array) -> dict[str, float]:
    """MASE of the median, weighted quantile loss of the nine deciles, coverage of the 80 %."""
    below = y[..., None] - quantiles
    loss = 2 * np.maximum(LEVELS * below, (LEVELS - 1) * below)
    inside = (quantiles[..., 0] <= y) & (y <= quantiles[..., 8])
    return {
        "mase": float(np.mean(np.abs(y - quantiles[..., 4]).mean(-1) / scales)),
        "wql": float(loss.sum((0, 1, 2)).mean() / np.abs(y).sum()),
        "coverage": float(inside.mean()),
    }


def ours(frame: pd.DataFrame, task: Dataset, preset: str) -> Array:
    """Fitted once, to what precedes all windows."""
    import torch

    from batchensemble import Forecaster

    torch.set_num_threads(1)
    calibration = CALIBRATED.get(preset, {})
    model = Forecaster(
        preset="default" if calibration else preset,
        horizon=task.horizon,
        season=task.season,
        random_state=0,
        device="cpu",
    ).fit(known(frame, task, 0), **calibration)
    past = model.backtest(frame, n_windows=task.n_windows, step_size=task.step, refit="never")
    columns = past.columns(level=[80], quantiles=LEVELS.tolist())
    by_level = [columns[f"{past.alias}-q-{100 * level:g}"] for level in LEVELS]
    if calibration:
        by_level[0], by_level[-1] = (columns[f"{past.alias}-{end}-80"] for end in ("lo", "hi"))
    return np.stack(by_level, -1).reshape(-1, task.n_windows, task.horizon, len(LEVELS))


if __name__ == "__main__":
    main()
