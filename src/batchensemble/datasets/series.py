"""The two series of the study, from a folder of files, and one that is generated."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.datasets.files import File
from batchensemble.words import one_of


@dataclass(frozen=True)
class Series:
    """One series, in order of time."""

    name: str
    times: pd.DatetimeIndex
    values: NDArray[np.float64]

    @property
    def frame(self) -> pd.DataFrame:
        """As a forecaster reads it: unique_id, ds, y."""
        return pd.DataFrame({"unique_id": self.name, "ds": self.times, "y": self.values})


def _from_file(name: str, file: File) -> Callable[[], Series]:
    def load() -> Series:
        dates, values = file.read(name)
        return Series(name, pd.DatetimeIndex(dates.iloc[:, 0]), values.astype(np.float64))

    return load


def make_seasonal(n: int = 480, *, season: int = 12, seed: int = 0) -> Series:
    """Months of a trend, a season that grows with it, and autocorrelated noise: always here."""
    random = np.random.default_rng(seed)
    noise = np.zeros(n)
    for t in range(1, n):
        noise[t] = 0.6 * noise[t - 1] + random.normal()
    time = np.arange(n)
    level = 50 + 0.05 * time
    values = level * (1 + 0.2 * np.sin(2 * np.pi * time / season)) + 2 * noise
    return Series("seasonal", pd.date_range("1980-01-01", periods=n, freq="MS"), values)


SERIES: dict[str, Callable[[], Series]] = {
    # Industrial production of electricity and gas, monthly.
    "electric": _from_file(
        "electric",
        File(
            "Electric_Production.csv",
            "6351731ea360932f0b155b28fe9891cd3ca3fd4f7c6cf4ad3fec820d146bfe17",
            "IPG2211A2N",
        ),
    ),
    # Daily minimum in Melbourne; the last days of 1984 and 1988 are absent.
    "temperature": _from_file(
        "temperature",
        File(
            "daily-min-temperatures.csv",
            "a29a71f38cf548a0b12bee44ceb510919a8cef450e19019261d534208c884fa2",
            "Temp",
        ),
    ),
    "seasonal": make_seasonal,
}


def load_series(name: str) -> Series:
    """One of the series: "electric", "temperature", or the generated "seasonal"."""
    return SERIES[one_of(name, SERIES, "series")]()
