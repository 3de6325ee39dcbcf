"""Which datasets are here and where the others come from, as a list and on the screen."""

from collections.abc import Callable
from dataclasses import dataclass

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table as Sheet

from batchensemble.data.tables import Table
from batchensemble.datasets import Series
from batchensemble.study.datasets.registry import SERIES, SHIPPED, TABLES
from batchensemble.study.datasets.sources import FOLDER, DatasetMissing, Public, find, load


@dataclass(frozen=True)
class Entry:
    """One dataset; `shape` counts the target's column, and is None if the dataset is not here."""

    name: str
    task: str
    shape: tuple[int, int] | None
    where: str


def list_datasets() -> list[Entry]:
    """Every dataset by name, and where it is; nothing is downloaded."""
    return [_entry(name, entry) for name, entry in (*TABLES.items(), *SERIES.items())]


def print_datasets(console: Console, *, download: bool = False) -> None:
    """The list as a table, after fetching missing datasets if `download`."""
    failures = _download_missing() if download else []
    sheet = Sheet(box=SIMPLE)
    sheet.add_column("dataset", no_wrap=True)
    sheet.add_column("task", no_wrap=True)
    sheet.add_column("rows x columns", justify="right", no_wrap=True)
    sheet.add_column("where", overflow="fold")
    entries = list_datasets()
    for entry in entries:
        shape = "" if entry.shape is None else f"{entry.shape[0]:,} x {entry.shape[1]}"
        sheet.add_row(entry.name, entry.task, shape, entry.where)
    console.print(sheet)
    for line in failures:
        console.print(f"Not downloaded: {line}", soft_wrap=True, markup=False)
    if any(entry.shape is None for entry in entries) and not download:
        console.print(
            "To get missing datasets: batchensemble datasets --download, or put their files into "
            f"the folder of the environment variable {FOLDER}."
        )


def _entry(name: str, entry: Public | Callable[[], Table | Series]) -> Entry:
    if isinstance(entry, Public):
        try:
            here = find(entry)
        except ValueError as error:
            return Entry(name, entry.task, None, f"damaged: {error}")
        if here is not None:
            return Entry(name, entry.task, here[1].shape, here[0])
        where = f"not here; can be downloaded from {entry.origin.name}"
        return Entry(name, entry.task, None, where)
    try:
        made = entry()
    except (OSError, ValueError) as error:
        return Entry(name, "", None, f"cannot be made: {error}")
    if isinstance(made, Series):
        return Entry(name, "forecasting", (len(made.values), 2), "generated")
    where = "shipped with scikit-learn" if name in SHIPPED else "generated"
    return Entry(name, made.task, (len(made.y), made.X.shape[1] + 1), where)


def _download_missing() -> list[str]:
    """What went wrong, a line for each dataset that could not be downloaded."""
    failures = []
    for entry in (*TABLES.values(), *SERIES.values()):
        if isinstance(entry, Public):
            try:
                load(entry, again=True, verbose=True)
            except (DatasetMissing, ValueError) as error:
                failures.append(str(error))
    return failures
