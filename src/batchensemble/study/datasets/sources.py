"""A dataset from the first of four sources that has it.

What scikit-learn ships; the folder that BATCHENSEMBLE_DATA names; the user's cache; a download
from the public origin, which fills the cache.
"""

import hashlib
import os
import sys
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import pandas as pd

from batchensemble.study.datasets.canonical import Check, Kind, canonical, read_csv
from batchensemble.study.datasets.origins import Origin, reason

FOLDER = "BATCHENSEMBLE_DATA"
CACHE = "BATCHENSEMBLE_CACHE"
OFFLINE = "BATCHENSEMBLE_OFFLINE"
Task = Literal["regression", "classification", "forecasting"]


class DatasetMissing(FileNotFoundError):
    """No source has the dataset; the message is one line and says where to put it."""


@dataclass(frozen=True)
class Shipped:
    """A table that a dependency brings along."""

    name: str
    task: Task
    read: Callable[[], pd.DataFrame]
    check: Check


@dataclass(frozen=True)
class Public:
    """A dataset that lies in a file, here or at its origin."""

    name: str
    task: Task
    kinds: Mapping[str, Kind]  # its columns, the target last
    file: str
    sha256: str  # of that file in the data folder
    check: Check  # of the canonical table, from any source
    origin: Origin
    aliases: Mapping[str, str] = field(default_factory=dict)  # the origin's names of columns

    def read(self, path: Path) -> pd.DataFrame:
        table = canonical(read_csv(path).rename(columns=self.aliases), self.kinds)
        self.check(table)
        return table


Dataset = Shipped | Public

_failed: dict[tuple[str, str], str] = {}  # the message by dataset and origin: tried only once


def find(dataset: Dataset) -> tuple[str, pd.DataFrame] | None:
    """The name of the first source that has the dataset, and its table; no download."""
    if isinstance(dataset, Shipped):
        table = dataset.read()
        dataset.check(table)
        return "shipped with scikit-learn", table
    folder = os.environ.get(FOLDER)
    if folder and (path := Path(folder) / dataset.file).is_file():
        return f"folder {folder}", _from_folder(path, dataset)
    path = cache_folder() / dataset.file
    if path.is_file():
        try:
            return f"cache {path.parent}", dataset.read(path)
        except (ValueError, OSError, EOFError, zlib.error):
            return None  # a damaged copy: the next download replaces it
    return None


def load(
    dataset: Dataset, *, download: bool = True, again: bool = False, verbose: bool = False
) -> pd.DataFrame:
    """The canonical table. A download that failed is tried anew only if `again`."""
    here = find(dataset)
    if here is not None:
        return here[1]
    assert isinstance(dataset, Public)
    is_offline = os.environ.get(OFFLINE, "0") not in ("", "0")
    if not download or is_offline:
        forbidden = f", which {OFFLINE} forbids" if is_offline else ""
        way = f"or let it be downloaded from {dataset.origin}{forbidden}"
        raise DatasetMissing(_needs(dataset, way))
    tried = (dataset.name, str(dataset.origin))
    if tried in _failed and not again:
        raise DatasetMissing(_failed[tried])
    try:
        return _download(dataset, verbose)
    except Exception as error:  # whatever a fetcher may raise: the dataset is not here
        failure = f"the download from {dataset.origin} failed: {reason(error)}"
        _failed[tried] = _needs(dataset, f"{failure}; all else works without it")
        raise DatasetMissing(_failed[tried]) from error


def cache_folder() -> Path:
    """BATCHENSEMBLE_CACHE, or a folder of ours where the system keeps a user's caches."""
    if named := os.environ.get(CACHE):
        return Path(named)
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local) / "batchensemble" / "Cache"
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "batchensemble"


def _download(dataset: Public, verbose: bool) -> pd.DataFrame:
    """Fetched into a temporary folder, checked, and only then moved to its place."""
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    if verbose:
        print(f"{dataset.name}: downloading from {dataset.origin} to {cache}", file=sys.stderr)
    with TemporaryDirectory(prefix=".download-", dir=cache) as temporary:
        path = Path(temporary) / dataset.file
        dataset.origin.fetch(path)
        table = dataset.read(path)
        os.replace(path, cache / dataset.file)
    return table


def _from_folder(path: Path, dataset: Public) -> pd.DataFrame:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != dataset.sha256:
        raise ValueError(
            f"expected {path} to have the sha256 {dataset.sha256}, got {found}; "
            "the file is damaged or another version: replace it"
        )
    return dataset.read(path)


def _needs(dataset: Public, rest: str) -> str:
    folder = os.environ.get(FOLDER)
    where = (
        f"put it into {folder}, the folder of {FOLDER}"
        if folder
        else f"put it into a folder and name that folder in the environment variable {FOLDER}"
    )
    return f"the dataset {dataset.name!r} needs the file {dataset.file}: {where}; {rest}"
