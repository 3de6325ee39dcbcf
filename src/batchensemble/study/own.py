"""What users bring to the study: datasets and methods of their own."""

import hashlib
import runpy
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd

from batchensemble.study.datasets import SERIES, TABLES, Series, Table, read_table
from batchensemble.study.datasets.sources import Dataset

GENERATED = frozenset({*TABLES, *SERIES})  # before anybody adds to them

_done: set[Path] = set()  # in this process


@dataclass(frozen=True)
class Own:
    """Files that every process of the study reads before it works.

    plugins   Python files that add to `datasets.TABLES`, `datasets.SERIES` or `methods.METHODS`
    tables    a .csv, .csv.gz or .parquet file each, and the name of its target column
    """

    plugins: tuple[Path, ...] = ()
    tables: tuple[tuple[Path, str], ...] = ()

    def __post_init__(self) -> None:
        """Other processes may stand in another folder."""
        tables = tuple((path.absolute(), target) for path, target in self.tables)
        object.__setattr__(self, "plugins", tuple(path.absolute() for path in self.plugins))
        object.__setattr__(self, "tables", tables)

    def register(self) -> list[str]:
        """Make all known under their names, and return those of the tables."""
        for plugin in self.plugins:
            if plugin not in _done:
                _run(plugin)
                _done.add(plugin)
        return [_add(path, target) for path, target in self.tables]


def fingerprint(dataset: str) -> str:
    """A checksum of a table or series that a user brings; the study's own have theirs."""
    entry = {**TABLES, **SERIES}[dataset]
    if isinstance(entry, Dataset) or dataset in GENERATED:
        return ""
    made = entry()
    parts = [made.values] if isinstance(made, Series) else [made.X, made.y]
    frames = [pd.DataFrame(part) for part in parts]
    hashes = [pd.util.hash_pandas_object(frame, index=False).to_numpy() for frame in frames]
    names = [str(column) for frame in frames for column in frame]
    digest = hashlib.sha256("\0".join(names).encode())
    for own in hashes:
        digest.update(own.tobytes())
    return digest.hexdigest()[:16]


def _run(plugin: Path) -> None:
    if not plugin.is_file():
        raise ValueError(f"there is no file {plugin}; a plugin is a Python file")
    try:
        runpy.run_path(str(plugin))
    except (Exception, SystemExit) as error:
        raise ValueError(f"the plugin {plugin} fails: {type(error).__name__}: {error}") from error


def _add(path: Path, target: str) -> str:
    name = path.name.removesuffix(".gz").rpartition(".")[0]
    load = partial(read_table, path, target)
    known = TABLES.get(name)
    if name in SERIES or (known is not None and not _is_same(known, load)):
        raise ValueError(
            f"there is a dataset {name!r} already; give the file {path.name} another name"
        )
    load()  # what is wrong with the file is said before anything is run
    TABLES[name] = load
    return name


def _is_same(known: object, load: "partial[Table]") -> bool:
    return isinstance(known, partial) and known.args == load.args
