"""All datasets by name: the five tables and two series of the paper, and generated ones."""

from collections.abc import Callable
from functools import partial

import pandas as pd
import sklearn.datasets

from batchensemble.data.tables import Table, Task
from batchensemble.datasets import Series, make_seasonal
from batchensemble.study.datasets.ackley import make_ackley
from batchensemble.study.datasets.canonical import Check, Kind, canonical, equals
from batchensemble.study.datasets.origins import Web, california_housing, openml
from batchensemble.study.datasets.sources import Public, load
from batchensemble.words import one_of


def _columns(names: str, kind: Kind) -> dict[str, Kind]:
    return dict.fromkeys(names.split(), kind)


ADULT = (
    _columns("age workclass fnlwgt education education-num marital-status occupation", "text")
    | _columns("relationship race sex capital-gain capital-loss hours-per-week", "text")
    | _columns("native-country", "text")
    | _columns("age fnlwgt education-num capital-gain capital-loss hours-per-week", "int")
    | _columns("income", "label")
)
CALIFORNIA = _columns(
    "MedInc HouseAge AveRooms AveBedrms Population AveOccup Latitude Longitude MedHouseVal", "float"
)
PHONEME = _columns("V1 V2 V3 V4 V5", "float") | _columns("Class", "int")
TEMPERATURE_URL = (
    "https://raw.githubusercontent.com/jbrownlee/Datasets/master/daily-min-temperatures.csv"
)
ELECTRIC_URL = (
    "https://fred.stlouisfed.org/graph/fredgraph.csv?id=IPG2211A2N&cosd=1985-01-01&coed=2018-01-01"
)


def _check_diabetes(table: pd.DataFrame) -> None:
    # scikit-learn computes its columns: the last digits may differ between processors.
    if table.shape != (442, 11) or round(table["target"].mean(), 2) != 152.13:
        raise ValueError("expected scikit-learn's diabetes: 442 x 11, mean of the target 152.13")


def _check_electric(table: pd.DataFrame) -> None:
    """FRED revises the values; these facts hold for every revision."""
    months, values = pd.DatetimeIndex(table.iloc[:, 0]), table.iloc[:, 1]
    if list(months) != list(pd.date_range("1985-01-01", "2018-01-01", freq="MS")):
        raise ValueError(f"expected the 397 months 1985-01 to 2018-01, got {len(months)} dates")
    low, high, mean = values.min(), values.max(), values.mean()
    if not (low > 50 and high < 140 and abs(mean - 88.85) < 5):
        raise ValueError(
            "expected values between 50 and 140 with a mean near 88.85, "
            f"got {low:.1f} to {high:.1f} with the mean {mean:.2f}"
        )


def _shipped(name: str, task: Task, target: Kind, check: Check) -> Table:
    """A table that comes with scikit-learn."""
    frame = getattr(sklearn.datasets, f"load_{name}")(as_frame=True).frame
    kinds: dict[str, Kind] = dict.fromkeys(frame, "float")
    table = canonical(frame, kinds | {"target": target})
    check(table)
    return _table(name, task, table)


def _table(name: str, task: Task, frame: pd.DataFrame) -> Table:
    *features, target = frame
    return Table(name, task, frame[features], frame[target].to_numpy(copy=True))


_CANCER = equals("ddae3e2d45660c839bff1bad843fb22f768b2e89ab8132c6b42fc4b56ece4f56", 569)
SHIPPED: dict[str, Callable[[], Table]] = {
    "breast_cancer": partial(_shipped, "breast_cancer", "classification", "int", _CANCER),
    "diabetes": partial(_shipped, "diabetes", "regression", "float", _check_diabetes),
}
TABLES: dict[str, Public | Callable[[], Table]] = {
    "adult": Public(
        "adult",
        "classification",
        ADULT,
        "adult.csv.gz",
        "020e937679cdc52788c5245ee380b93586fdfdcbd89503550194edbfa5a35831",
        equals("af7787c7d924a366ebe197ff318bcafb8baf6595f83fc44c39cad041662ed325", 48_842),
        openml(1590),
        aliases={"class": "income"},
    ),
    "breast_cancer": SHIPPED["breast_cancer"],
    "phoneme": Public(
        "phoneme",
        "classification",
        PHONEME,
        "phoneme.csv",
        "1164b55bd5b1bd1de191cc586fc47cdeba990b48a9d67a4acb3b8a9bb105ca6b",
        equals("7d24a73b33653888769f6556458a23d8e50192f2b510f77ee9aeebde2195ba2b", 5_404),
        openml(1489),
    ),
    "california": Public(
        "california",
        "regression",
        CALIFORNIA,
        "california_housing.csv.gz",
        "642053bb90f69c5c2d2c5c8733481383d80c045f0731a0dd9a1cc21fb2299fb1",
        equals("7a0d177d28f39a29ed0c40a924c8946a4618bea7391a019070397de04c45ac93", 20_640),
        california_housing(),
    ),
    "diabetes": SHIPPED["diabetes"],
    "ackley_regression": partial(make_ackley, task="regression"),
    "ackley_classification": partial(make_ackley, task="classification"),
}
SERIES: dict[str, Public | Callable[[], Series]] = {
    # Industrial production of electricity and gas, monthly.
    "electric": Public(
        "electric",
        "forecasting",
        {"DATE": "date", "IPG2211A2N": "float"},
        "Electric_Production.csv",
        "6351731ea360932f0b155b28fe9891cd3ca3fd4f7c6cf4ad3fec820d146bfe17",
        _check_electric,
        Web("FRED", ELECTRIC_URL),
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
        Web("GitHub, jbrownlee/Datasets", TEMPERATURE_URL),
    ),
    "seasonal": make_seasonal,
}


def load_table(name: str, *, download: bool = True, verbose: bool = False) -> Table:
    """One of the tables: "adult", "breast_cancer", "phoneme", "california" or "diabetes".

    It comes from scikit-learn, the folder that BATCHENSEMBLE_DATA names, the user's cache
    (BATCHENSEMBLE_CACHE), or, with `download` and unless BATCHENSEMBLE_OFFLINE is set, its public
    origin; `DatasetMissing`, a FileNotFoundError, says where to put it. Its rows are sorted by all
    columns, the target last, so that every source gives the same split.
    """
    entry = TABLES[one_of(name, TABLES, "dataset")]
    if not isinstance(entry, Public):
        return entry()
    assert entry.task != "forecasting"
    return _table(name, entry.task, load(entry, download=download, verbose=verbose))


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
