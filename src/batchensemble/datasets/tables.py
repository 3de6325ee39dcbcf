"""The five tables of the study: two that scikit-learn ships, three from a folder of files."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes

from batchensemble.words import one_of

FOLDER = "BATCHENSEMBLE_DATA"


@dataclass(frozen=True)
class Table:
    """Features as a data frame or array, and the target of every row."""

    name: str
    task: Literal["regression", "classification"]
    X: Any
    y: NDArray[Any]


@dataclass(frozen=True)
class _File:
    name: str
    sha256: str
    target: str

    def read(self, dataset: str) -> tuple[Any, NDArray[Any]]:
        import pandas as pd

        path = self._path(dataset)
        # Older versions of pandas round the last digit unless told not to.
        exactly = {"float_precision": "round_trip"} if int(pd.__version__[0]) < 3 else {}
        frame = pd.read_csv(path, keep_default_na=False, **exactly)
        if self.target not in frame:
            raise ValueError(f"expected a column {self.target!r} in {path}, got {list(frame)}")
        return frame.drop(columns=self.target), frame[self.target].to_numpy()

    def _path(self, dataset: str) -> Path:
        folder = os.environ.get(FOLDER)
        if not folder:
            raise FileNotFoundError(
                f"the dataset {dataset!r} needs the file {self.name}: put it into a folder and "
                f"name that folder in the environment variable {FOLDER}"
            )
        path = Path(folder) / self.name
        if not path.is_file():
            raise FileNotFoundError(f"the dataset {dataset!r} needs the file {path}")
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != self.sha256:
            raise ValueError(
                f"expected {path} to have the sha256 {self.sha256}, got {found}; "
                "the file is damaged or another version: replace it"
            )
        return path


def _embedded(load: Callable[..., Any]) -> Callable[[str], tuple[Any, NDArray[Any]]]:
    def read(dataset: str) -> tuple[Any, NDArray[Any]]:
        bunch = load()
        return bunch.data, np.asarray(bunch.target)

    return read


TABLES: dict[str, tuple[str, Callable[[str], tuple[Any, NDArray[Any]]]]] = {
    "adult": (
        "classification",
        _File(
            "adult.csv.gz",
            "020e937679cdc52788c5245ee380b93586fdfdcbd89503550194edbfa5a35831",
            "income",
        ).read,
    ),
    "breast_cancer": ("classification", _embedded(load_breast_cancer)),
    "phoneme": (
        "classification",
        _File(
            "phoneme.csv",
            "1164b55bd5b1bd1de191cc586fc47cdeba990b48a9d67a4acb3b8a9bb105ca6b",
            "Class",
        ).read,
    ),
    "california": (
        "regression",
        _File(
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
