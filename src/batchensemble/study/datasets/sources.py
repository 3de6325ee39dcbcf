"""A dataset that lies in a file: in the data folder, in the cache, or at its public origin.

The folder is the one that BATCHENSEMBLE_DATA names; a download fills the cache.
"""

import hashlib
import os
import sys
import zlib
from collections.abc import Mapping
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


class DatasetMissing(FileNotFoundError):
    """No source has the dataset; the message is one line and says where to put it."""


@dataclass(frozen=True)
class Public:
    """A dataset that everybody can download.

    kinds     its columns, the target last
    sha256    of its file in the data folder
    check     of its canonical table, from any source
    aliases   names of columns at the origin, and the names they have here
    """

    name: str
    task: Literal["regression", "classification", "forecasting"]
    kinds: Mapping[str, Kind]
    file: str
    sha256: str
    check: Check
    origin: Origin
    aliases: Mapping[str, str] = field(default_factory=dict)

    def read(self, path: Path) -> pd.DataFrame:
        table = canonical(read_csv(path).rename(columns=self.aliases), self.kinds)
        self.check(table)
        return table


_failed: dict[tuple[str, str], str] = {}  # messages by dataset and origin, which are tried once


def find(dataset: Public) -> tuple[str, pd.DataFrame] | None:
    """The first source that has the dataset, in words, and its table; nothing is downloaded."""
    folder = os.environ.get(FOLDER)
    if folder and (path := Path(folder) / dataset.file).is_file():
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        if sha256 != dataset.sha256:
            raise ValueError(
                f"expected {path} to have the sha256 {dataset.sha256}, got {sha256}; "
                "the file is damaged or another version: replace it"
            )
        return f"folder {folder}", dataset.read(path)
    path = cache_folder() / dataset.file
    if path.is_file():
        try:
            return f"cache {path.parent}", dataset.read(path)
        except (ValueError, OSError, EOFError, zlib.error):
            return None  # a damaged copy: the next download replaces it
    return None


def load(
    dataset: Public, *, download: bool = True, again: bool = False, verbose: bool = False
) -> pd.DataFrame:
    """The canonical table. A download that failed is repeated only if `again`."""
    here = find(dataset)
    if here is not None:
        return here[1]
    is_offline = os.environ.get(OFFLINE, "0") not in ("", "0")
    if not download or is_offline:
        forbidden = f", which {OFFLINE} forbids" if is_offline else ""
        raise _missing(dataset, f"or let it be downloaded from {dataset.origin}{forbidden}")
    tried = (dataset.name, str(dataset.origin))
    cause = None
    if again or tried not in _failed:
        try:
            return _download(dataset, verbose)
        except Exception as error:  # a fetcher may raise anything: the dataset is not here
            _failed[tried], cause = reason(error), error
    failure = f"the download from {dataset.origin} failed: {_failed[tried]}"
    raise _missing(dataset, f"{failure}; all else works without it") from cause


def cache_folder() -> Path:
    """BATCHENSEMBLE_CACHE, or our folder among the user's caches."""
    if named := os.environ.get(CACHE):
        return Path(named)
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local) / "batchensemble" / "Cache"
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "batchensemble"


def _download(dataset: Public, verbose: bool) -> pd.DataFrame:
    """Download to a temporary folder, check, and only then move the file to its place."""
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


def _missing(dataset: Public, rest: str) -> DatasetMissing:
    folder = os.environ.get(FOLDER)
    where = (
        f"put it into {folder}, the folder of {FOLDER}"
        if folder
        else f"put it into a folder and name that folder in the environment variable {FOLDER}"
    )
    needs = f"the dataset {dataset.name!r} needs the file {dataset.file}"
    return DatasetMissing(f"{needs}: {where}; {rest}")
