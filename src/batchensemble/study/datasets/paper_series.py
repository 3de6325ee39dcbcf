"""The two series of the study, and one that is generated."""

from collections.abc import Callable

import pandas as pd

from batchensemble.datasets import Series, make_seasonal
from batchensemble.study.datasets.canonical import equals
from batchensemble.study.datasets.origins import Web
from batchensemble.study.datasets.sources import Public, load
from batchensemble.words import one_of


def _is_electric(table: pd.DataFrame) -> None:
    """Its origin revises the values, so these are facts that every revision shares."""
    months, values = pd.DatetimeIndex(table.iloc[:, 0]), table.iloc[:, 1]
    if list(months) != list(pd.date_range("1985-01-01", "2018-01-01", freq="MS")):
        raise ValueError(f"expected the 397 months 1985-01 to 2018-01, got {len(months)} dates")
    low, high, mean = values.min(), values.max(), values.mean()
    if not (low > 50 and high < 140 and abs(mean - 88.85) < 5):
        raise ValueError(
            "expected values between 50 and 140 with a mean near 88.85, "
            f"got {low:.1f} to {high:.1f} with the mean {mean:.2f}"
        )


SERIES: dict[str, Public | Callable[[], Series]] = {
    # Industrial production of electricity and gas, monthly.
    "electric": Public(
        "electric",
        "forecasting",
        {"DATE": "date", "IPG2211A2N": "float"},
        "Electric_Production.csv",
        "6351731ea360932f0b155b28fe9891cd3ca3fd4f7c6cf4ad3fec820d146bfe17",
        _is_electric,
        Web(
            "FRED",
            "https://fred.stlouisfed.org/graph/fredgraph.csv"
            "?id=IPG2211A2N&cosd=1985-01-01&coed=2018-01-01",
        ),
        aliases={"observation_date": "DATE"},
    ),
    # Daily minimum in Melbourne; the last days of 1984 and 1988 are absent.
    "temperature": Public(
        "temperature",
        "forecasting",
        {"Date": "date", "Temp": "float"},
        "daily-min-temperatures.csv",
        "a29a71f38cf548a0b12bee44ceb510919a8cef450e19019261d534208c884fa2",
        equals("234f42e8704bdbe5064d51a7a0e478712c4c665b492e64c14d90364895f6427b", 3_650),
        Web(
            "GitHub, jbrownlee/Datasets",
            "https://raw.githubusercontent.com/jbrownlee/Datasets/master/daily-min-temperatures.csv",
        ),
    ),
    "seasonal": make_seasonal,
}


def load_series(name: str, *, download: bool = True, verbose: bool = False) -> Series:
    """One of the series: "electric", "temperature", or the generated "seasonal".

    The first two come from the folder that BATCHENSEMBLE_DATA names, the user's cache, or, with
    `download`, their public origin, as in `load_table`. FRED revises Electric: a download has
    the same months, and values that differ a little from the data folder's.
    """
    entry = SERIES[one_of(name, SERIES, "series")]
    if not isinstance(entry, Public):
        return entry()
    frame = load(entry, download=download, verbose=verbose)
    times, values = pd.DatetimeIndex(frame.iloc[:, 0]), frame.iloc[:, 1].to_numpy(copy=True)
    return Series(name, times, values)
