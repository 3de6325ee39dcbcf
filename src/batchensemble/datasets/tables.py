"""The five tables of the study: two that scikit-learn ships, three from a folder of files."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes

from batchensemble.datasets.files import File
from batchensemble.words import one_of


@dataclass(frozen=True)
class Table:
    """Features as a data frame or array, and the target of every row."""

    name: str
    task: Literal["regression", "classification"]
    X: Any
    y: NDArray[Any]


def _embedded(load: Callable[..., Any]) -> Callable[[str], tuple[Any, NDArray[Any]]]:
    def read(dataset: str) -> tuple[Any, NDArray[Any]]:
        bunch = load()
        return bunch.data, np.asarray(bunch.target)

    return read


TABLES: dict[str, tuple[str, Callable[[str], tuple[Any, NDArray[Any]]]]] = {
    "adult": (
        "classification",
        File(
            "adult.csv.gz",
            "020e937679cdc52788c5245ee380b93586fdfdcbd89503550194edbfa5a35831",
            "income",
        ).read,
    ),
    "breast_cancer": ("classification", _embedded(load_breast_cancer)),
    "phoneme": (
        "classification",
        File(
            "phoneme.csv",
            "1164b55bd5b1bd1de191cc586fc47cdeba990b48a9d67a4acb3b8a9bb105ca6b",
            "Class",
        ).read,
    ),
    "california": (
        "regression",
        File(
            "california_housing.csv.gz",
            "642053bb90f69c5c2d2c5c8733481383d80c045f0731a0dd9a1cc21fb2299fb1",
            "MedHouseVal",
        ).read,
    ),
    "diabetes": ("regression", _embedded(load_diabetes)),
}


def load_table(name: str) -> Table:
    """One of the tables: "adult", "breast_cancer", "phoneme", "california" or "diabetes"."""
    task, read = TABLES[one_of(name, TABLES, "dataset")]
    X, y = read(name)
    return Table(name, task, X, y)  # type: ignore[arg-type]
