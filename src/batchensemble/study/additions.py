"""Datasets and methods that users add to the study."""

import hashlib
import runpy
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import pandas as pd

from batchensemble.study.datasets import SERIES, TABLES, Series, read_table
from batchensemble.study.datasets.sources import Public

BUILT_IN = frozenset({*TABLES, *SERIES})  # before users add to them


@dataclass(frozen=True)
class Additions:
    """Files that every process of the study reads before it starts.

    plugins   Python files that add to `datasets.TABLES`, `datasets.SERIES` or `methods.METHODS`
    tables    a .csv, .csv.gz or .parquet file each, and the name of its target column
    """

    plugins: tuple[Path, ...] = ()
    tables: tuple[tuple[Path, str], ...] = ()

    def __post_init__(self) -> None:
        """Other processes may have another working directory."""
        tables = tuple((path.absolute(), target) for path, target in self.tables)
        object.__setattr__(self, "plugins", tuple(path.absolute() for path in self.plugins))
        object.__setattr__(self, "tables", tables)

    def register(self) -> list[str]:
        """Run the plugins, add the tables, and return the names of the tables."""
        for plugin in self.plugins:
            run_plugin(plugin)
        return [_add_table(path, target) for path, target in self.tables]


NOTHING = Additions()


def fingerprint(dataset: str) -> str:
    """A checksum of a user's table or series; public datasets have their own checks."""
    entry = {**TABLES, **SERIES}[dataset]
    if dataset in BUILT_IN or isinstance(entry, Public):
        return ""
    made = entry()
    parts = [made.values] if isinstance(made, Series) else [made.X, made.y]
    frames = [pd.DataFrame(part) for part in parts]
    names = [str(column) for frame in frames for column in frame]
    digest = hashlib.sha256("\0".join(names).encode())
    for frame in frames:
        digest.update(pd.util.hash_pandas_object(frame, index=False).to_numpy().tobytes())
    return digest.hexdigest()[:16]


@cache  # once in a process
def run_plugin(plugin: Path) -> None:
    if not plugin.is_file():
        raise ValueError(f"there is no file {plugin}; a plugin is a Python file")
    try:
        runpy.run_path(str(plugin))
    except (Exception, SystemExit) as error:
        raise ValueError(f"the plugin {plugin} fails: {type(error).__name__}: {error}") from error


def _add_table(path: Path, target: str) -> str:
    name = path.name.removesuffix(".gz").rpartition(".")[0]
    load = partial(read_table, path, target)
    known = {**TABLES, **SERIES}.get(name)
    if known is not None and getattr(known, "args", None) != load.args:
        raise ValueError(
            f"there is a dataset {name!r} already; give the file {path.name} another name"
        )
    load()  # a bad file fails before anything is run
    TABLES[name] = load
    return name
