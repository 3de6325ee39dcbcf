"""The two series of the study, from a folder of files."""

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


SERIES = {
    # Industrial production of electricity and gas, monthly.
    "electric": File(
        "Electric_Production.csv",
        "6351731ea360932f0b155b28fe9891cd3ca3fd4f7c6cf4ad3fec820d146bfe17",
        "IPG2211A2N",
    ),
    # Daily minimum in Melbourne; the last days of 1984 and 1988 are absent.
    "temperature": File(
        "daily-min-temperatures.csv",
        "a29a71f38cf548a0b12bee44ceb510919a8cef450e19019261d534208c884fa2",
        "Temp",
    ),
}


def load_series(name: str) -> Series:
    """One of the series: "electric" or "temperature"."""
    dates, values = SERIES[one_of(name, SERIES, "series")].read(name)
    return Series(name, pd.DatetimeIndex(dates.iloc[:, 0]), values.astype(np.float64))
