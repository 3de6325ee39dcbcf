"""The datasets, their test windows and what a method may know before each."""

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

LEVELS = np.arange(1, 10) / 10
Array = NDArray[np.float64]


class Dataset(NamedTuple):
    """Official test parts are one window. `last`: how many values the statistical rivals may see.

    `context`: how many values PatchTST and NHITS read. `period`: the frequency that DeepAR is told.
    """

    horizon: int
    season: int
    n_windows: int
    step: int
    context: int
    period: str
    freq: Any = 1
    last: int | None = None


DATASETS = {
    "m3_monthly": Dataset(18, 12, 1, 1, 36, "M"),
    "m3_quarterly": Dataset(8, 4, 1, 1, 16, "Q"),
    "australian_tourism": Dataset(4, 4, 3, 4, 8, "Q"),
    "us_gasoline": Dataset(13, 52, 20, 13, 156, "W-FRI", "W-FRI", 520),
    "exchange_rate": Dataset(30, 1, 5, 30, 96, "B", 1, 500),
    "ny_taxi": Dataset(48, 48, 20, 48, 672, "30min", "30min", 672),
    "etth1": Dataset(48, 24, 5, 48, 336, "h", "h", 672),
}


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


def truth(frame: pd.DataFrame, task: Dataset) -> tuple[Array, Array]:
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
