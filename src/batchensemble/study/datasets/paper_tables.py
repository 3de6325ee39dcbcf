"""The five tables of the study, in canonical order."""

from collections.abc import Callable
from typing import Any

import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes

from batchensemble.data.tables import Table
from batchensemble.study.datasets.canonical import Kind, canonical, equals
from batchensemble.study.datasets.origins import california_housing, openml
from batchensemble.study.datasets.sources import Dataset, Public, Shipped, load
from batchensemble.words import one_of


def _shipped(bunch: Callable[..., Any], target: Kind) -> Callable[[], pd.DataFrame]:
    def read() -> pd.DataFrame:
        frame = bunch(as_frame=True).frame
        kinds: dict[str, Kind] = dict.fromkeys(frame, "float")
        return canonical(frame, kinds | {"target": target})

    return read


def _is_diabetes(table: pd.DataFrame) -> None:
    # scikit-learn computes its columns: the last digits may differ between processors.
    if table.shape != (442, 11) or round(table["target"].mean(), 2) != 152.13:
        raise ValueError("expected scikit-learn's diabetes: 442 x 11, mean of the target 152.13")


ADULT: dict[str, Kind] = {
    "age": "int",
    "workclass": "text",
    "fnlwgt": "int",
    "education": "text",
    "education-num": "int",
    "marital-status": "text",
    "occupation": "text",
    "relationship": "text",
    "race": "text",
    "sex": "text",
    "capital-gain": "int",
    "capital-loss": "int",
    "hours-per-week": "int",
    "native-country": "text",
    "income": "label",
}
CALIFORNIA: dict[str, Kind] = {
    "MedInc": "float",
    "HouseAge": "float",
    "AveRooms": "float",
    "AveBedrms": "float",
    "Population": "float",
    "AveOccup": "float",
    "Latitude": "float",
    "Longitude": "float",
    "MedHouseVal": "float",
}
PHONEME: dict[str, Kind] = {
    "V1": "float",
    "V2": "float",
    "V3": "float",
    "V4": "float",
    "V5": "float",
    "Class": "int",
}

TABLES: dict[str, Dataset | Callable[[], Table]] = {
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
    "breast_cancer": Shipped(
        "breast_cancer",
        "classification",
        _shipped(load_breast_cancer, "int"),
        equals("ddae3e2d45660c839bff1bad843fb22f768b2e89ab8132c6b42fc4b56ece4f56", 569),
    ),
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
    "diabetes": Shipped("diabetes", "regression", _shipped(load_diabetes, "float"), _is_diabetes),
}


def load_table(name: str, *, download: bool = True, verbose: bool = False) -> Table:
    """One of the tables: "adult", "breast_cancer", "phoneme", "california" or "diabetes".

    It comes from scikit-learn, the folder that BATCHENSEMBLE_DATA names, the user's cache
    (BATCHENSEMBLE_CACHE), or, with `download` and unless BATCHENSEMBLE_OFFLINE is set, its public
    origin; `DatasetMissing`, a FileNotFoundError, says where to put it. Its rows are sorted by all
    columns, the target last, so that every source gives the same split.
    """
    entry = TABLES[one_of(name, TABLES, "dataset")]
    if not isinstance(entry, Dataset):
        return entry()
    assert entry.task != "forecasting"
    frame = load(entry, download=download, verbose=verbose)
    *features, target = frame
    return Table(name, entry.task, frame[features], frame[target].to_numpy(copy=True))
