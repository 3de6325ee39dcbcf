"""The tables and their splits, from the folder `quality` in the one BATCHENSEMBLE_DATA names."""

import gzip
import json
import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

REGRESSION = ["autompg", "airfoil", "sml", "pol", "elevators", "keggdirected", "diamonds"]
CLASSES = ["pima", "vehicle", "titanic", "german", "spambase", "magic", "letter"]
UCI = ["uci_yacht", "uci_boston", "uci_energy", "uci_concrete", "uci_winered", "uci_kin8nm"]
UCI += ["uci_power", "uci_naval", "uci_protein"]
GROUPS = {
    "regression": REGRESSION,
    "classes": CLASSES,
    "choosing": REGRESSION + CLASSES,
    "uci": UCI,
    "all": REGRESSION + CLASSES + UCI,
}
CHOOSING_SPLITS = 10


class Table(NamedTuple):
    X: pd.DataFrame
    y: NDArray[np.float64] | NDArray[np.int64]
    n_classes: int  # 0: the target is a number


def folder() -> Path:
    place = os.environ.get("BATCHENSEMBLE_DATA")
    if place is None:
        raise SystemExit("BATCHENSEMBLE_DATA is not set; set it to the folder that holds quality/")
    return Path(place) / "quality"


@cache
def load(name: str) -> Table:
    """Columns that are not numbers are objects, with NaN for gaps; classes are 0, 1, ..."""
    frame = pd.read_csv(folder() / f"{name}.csv.gz")
    X, y = frame.drop(columns="target"), frame["target"].to_numpy()
    words = X.select_dtypes(exclude="number").columns
    X = X.astype(dict.fromkeys(words, object) | dict.fromkeys(X.columns.difference(words), float))
    if name not in CLASSES:
        return Table(X, y.astype(float), 0)
    classes, labels = np.unique(y, return_inverse=True)
    return Table(X, labels.astype(np.int64), len(classes))


@cache
def _uci_splits() -> dict[str, list[list[int]]]:
    with gzip.open(folder() / "uci_splits.json.gz", "rt") as file:
        splits: dict[str, list[list[int]]] = json.load(file)
    return {f"uci_{name}": tests for name, tests in splits.items()}


def n_splits(name: str) -> int:
    return len(_uci_splits()[name]) if name in UCI else CHOOSING_SPLITS


def split(name: str, i: int, n_rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row numbers for training and for testing."""
    if name in UCI:
        test = np.array(_uci_splits()[name][i])
    else:
        test = np.random.default_rng(1000 + i).permutation(n_rows)[: max(n_rows // 10, 50)]
    return np.setdiff1d(np.arange(n_rows), test), test
