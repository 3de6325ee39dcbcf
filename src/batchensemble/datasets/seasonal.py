"""A generated series: monthly, with a trend, a season and autocorrelated noise."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

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


def make_seasonal(n: int = 480, *, season: int = 12, seed: int = 0) -> Series:
    """Monthly values: a trend, a season that grows with it, and autocorrelated noise."""
    random = np.random.default_rng(seed)
    noise = np.zeros(n)
    for t in range(1, n):
        noise[t] = 0.6 * noise[t - 1] + random.normal()
    time = np.arange(n)
    level = 50 + 0.05 * time
    values = level * (1 + 0.2 * np.sin(2 * np.pi * time / season)) + 2 * noise
    return Series("seasonal", pd.date_range("1980-01-01", periods=n, freq="MS"), values)


def load_series(name: str) -> Series:
    """A series by name; here there is one, "seasonal", of 480 months."""
    one_of(name, ("seasonal",), "series")
    return make_seasonal()
