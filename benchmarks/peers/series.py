"""The series, their test windows and the file of forecasts that every rival writes.

    BATCHENSEMBLE_DATA=data python benchmarks/peers/series.py export FOLDER

writes `FOLDER/series/<name>.csv` (needs statsforecast, statsmodels and sktime); everything else
here needs only numpy and pandas.
"""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

# name: (frequency, season, horizon, step_size)
SETTINGS = {
    "electric": ("MS", 12, 5, 1),
    "temperature": ("D", 365, 5, 10),
    "airpassengers": ("MS", 12, 12, 1),
    "co2": ("MS", 12, 12, 2),
    "sunspots": ("YS", 11, 5, 1),  # the solar cycle
    "macrodata": ("QS", 4, 8, 5),
    "uschange": ("QS", 4, 4, 3),
}
NAMES = tuple(SETTINGS)
TEST_SHARE = 0.2


@dataclass(frozen=True)
class Window:
    """One forecast to make: `y` follows the first `end` values of the series."""

    unique_id: str
    end: int
    cutoff: pd.Timestamp
    y: np.ndarray
    scale: float


@dataclass(frozen=True)
class Dataset:
    """Equally long series in a long frame (unique_id, ds, y) and how they are to be forecast."""

    name: str
    frame: pd.DataFrame
    freq: str
    season: int
    horizon: int
    n_windows: int
    step_size: int

    @property
    def first_end(self) -> int:
        """The number of values before the first cutoff: what a model may be fitted on."""
        length = len(self.frame) // self.frame["unique_id"].nunique()
        return length - self.horizon - (self.n_windows - 1) * self.step_size

    @property
    def train(self) -> pd.DataFrame:
        """The part of the frame before the first cutoff."""
        return self.frame[self.frame.groupby("unique_id").cumcount() < self.first_end]

    def series(self) -> Iterator[tuple[str, pd.DatetimeIndex, np.ndarray]]:
        """Yield the name, the time stamps and the values of every series."""
        for unique_id, part in self.frame.groupby("unique_id", sort=False):
            yield unique_id, pd.DatetimeIndex(part["ds"]), part["y"].to_numpy(float)

    def windows(self) -> list[Window]:
        """List the windows series by series, each with the MASE scale of its series."""
        out = []
        for unique_id, ds, y in self.series():
            known = y[: self.first_end]
            scale = float(np.abs(known[self.season :] - known[: -self.season]).mean())
            for number in range(self.n_windows):
                end = self.first_end + number * self.step_size
                out.append(Window(unique_id, end, ds[end - 1], y[end : end + self.horizon], scale))
        return out


def load(name: str, folder: str | Path) -> Dataset:
    """Read one exported dataset."""
    freq, season, horizon, step_size = SETTINGS[name]
    path = Path(folder) / "series" / f"{name}.csv"
    frame = pd.read_csv(path, parse_dates=["ds"], dtype={"unique_id": str})
    for unique_id, part in frame.groupby("unique_id"):
        expected = pd.date_range(part["ds"].iloc[0], part["ds"].iloc[-1], freq=freq)
        if not expected.equals(pd.DatetimeIndex(part["ds"])) or part["y"].isna().any():
            raise ValueError(f"{name}: {unique_id} has gaps")
    length = len(frame) // frame["unique_id"].nunique()
    n_windows = (int(TEST_SHARE * length) - horizon) // step_size + 1
    return Dataset(name, frame, freq, season, horizon, n_windows, step_size)


def save(
    folder: str | Path,
    dataset: Dataset,
    rival: str,
    paths: np.ndarray,
    seconds_fit: float,
    seconds_predict: float,
) -> None:
    """Write one rival's sample paths (windows, draws, horizon), in the order of the windows."""
    windows = dataset.windows()
    if paths.shape[::2] != (len(windows), dataset.horizon):
        raise ValueError(f"{dataset.name}: the paths have shape {paths.shape}")
    file = Path(folder) / "forecasts" / dataset.name / f"{rival}.npz"
    file.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        file,
        paths=paths.astype(np.float32),
        y=np.stack([w.y for w in windows]),
        ids=np.array([w.unique_id for w in windows]),
        cutoffs=np.array([w.cutoff.to_datetime64() for w in windows], dtype="datetime64[D]"),
        scale=np.array([w.scale for w in windows]),
        seconds_fit=seconds_fit,
        seconds_predict=seconds_predict,
    )


def long_frame(values: pd.DataFrame | pd.Series) -> pd.DataFrame:
    """Stack the columns of a frame with a time index."""
    wide = pd.DataFrame(values)
    parts = [
        pd.DataFrame({"unique_id": str(column), "ds": wide.index, "y": wide[column].to_numpy()})
        for column in wide.columns
    ]
    return pd.concat(parts, ignore_index=True)


def dated(frame: pd.DataFrame, start: str, freq: str) -> pd.DataFrame:
    """Give a frame without dates its time index."""
    return frame.set_index(pd.date_range(start, periods=len(frame), freq=freq))


def csv_series(file: str, date: str, value: str) -> pd.Series:
    """Read one column of a file in the folder named by BATCHENSEMBLE_DATA."""
    frame = pd.read_csv(Path(os.environ["BATCHENSEMBLE_DATA"]) / file)
    return pd.Series(frame[value].to_numpy(float), pd.to_datetime(frame[date]), name=value)


def export(folder: str | Path) -> None:
    """Write every dataset as a CSV file (unique_id, ds, y)."""
    from sktime.datasets import load_uschange
    from statsforecast.utils import AirPassengers
    from statsmodels.datasets import co2, macrodata, sunspots

    temperature = csv_series("daily-min-temperatures.csv", "Date", "Temp")
    macro = macrodata.load_pandas().data
    spots = sunspots.load_pandas().data[["SUNACTIVITY"]]
    tables = {
        "electric": csv_series("Electric_Production.csv", "DATE", "IPG2211A2N"),
        "temperature": temperature.asfreq("D").interpolate(),
        "airpassengers": dated(pd.DataFrame({"passengers": AirPassengers}), "1949-01-01", "MS"),
        "co2": co2.load_pandas().data["co2"].resample("MS").mean().interpolate(),
        "sunspots": dated(spots, "1700-01-01", "YS"),
        # inflation and the real interest rate are left out: they are computed from the others
        "macrodata": dated(
            macro.drop(columns=["year", "quarter", "infl", "realint"]), "1959-01-01", "QS"
        ),
        "uschange": dated(pd.concat(load_uschange(), axis=1), "1970-01-01", "QS"),
    }
    out = Path(folder) / "series"
    out.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        long_frame(tables[name]).to_csv(out / f"{name}.csv", index=False)
        data = load(name, folder)
        ids = data.frame["unique_id"].nunique()
        print(
            f"{name}: {ids} x {len(data.frame) // ids}, {data.freq}, season {data.season},"
            f" horizon {data.horizon}, {data.n_windows} windows, step {data.step_size}"
        )


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] != "export":
        sys.exit("usage: series.py export FOLDER")
    export(sys.argv[2])
