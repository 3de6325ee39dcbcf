"""A whole file as one table, and its target as numbers or classes."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.data.columns import MOST_EXACT, Column, Kind
from batchensemble.data.durations import durations_in
from batchensemble.data.file_options import AS_FOUND, FileOptions
from batchensemble.data.notation import PLAIN, Notation
from batchensemble.data.reading import open_table
from batchensemble.data.recognition import check_words, read_recognised, recognise
from batchensemble.words import one_of

Task = Literal["regression", "classification"]
TASKS: tuple[Task, ...] = ("regression", "classification")
FEWEST_COUNTS = 5  # different numbers
FEW = 20
_CODE = re.compile(r"\+|[^eE]*\d[eE]\d")  # +1 and 1E5; programs write the number as 1e+05


@dataclass(frozen=True)
class Table:
    """Features as a data frame or array, and the target of every row."""

    name: str
    task: Task
    X: Any
    y: NDArray[Any]


@dataclass(frozen=True)
class FileTable:
    """All of a file: every column read as its kind, the index numbering rows as the file does.

    `unit` is what the index counts, "line" or "row". Times are in UTC; `zoned` are the zones of
    those that have some in the file. `notes` are doubts about columns, by their names, and
    `file_notes` those about the file; `nameless` counts the columns that were left out because they
    have no name. `notations` are those of columns that are not written plainly, and `examples`
    cells of them.
    """

    name: str
    unit: str
    zoned: dict[str, str]
    frame: pd.DataFrame
    kinds: dict[str, Kind]
    notes: dict[str, str]
    file_notes: tuple[str, ...]
    nameless: int
    notations: dict[str, Notation]
    examples: dict[str, str]
    durations: frozenset[str] | None = None  # columns of them or of times of day, if that is known

    @property
    def zoned_dates(self) -> list[str]:
        return [name for name in self.zoned if self.kinds[name] == "date"]


def read_file(
    path: Path,
    *,
    names: Collection[str | None] = (),
    words: Collection[str] = (),
    drop: Collection[str] = (),
    options: FileOptions = AS_FOUND,
) -> FileTable:
    """A file of any format that `open_table` knows, whole.

    In the columns `names`, which name things, all but whole numbers are words, even true and dates,
    and so are numbers too long to be told apart; in the columns `words` everything is. What columns
    to `drop` hold does not matter.
    """
    with open_table(path, options) as file:
        batches = list(file.batches())
        if not batches or not file.names:
            raise ValueError(f"expected {file.name} to have rows and columns, got no rows")
        known = [one_of(name, file.names, f"the --drop column of {file.name}") for name in drop]
        whole = pd.concat(batches).drop(columns=known)
        del batches
        columns = recognise(whole, file)
        check_words(words, columns, whole, file)
        kinds: dict[str, Kind] = {
            name: "category"
            if name in words or (name in names and (column.kind != "number" or column.example))
            else column.kind
            for name, column in columns.items()
        }
        read = read_recognised(whole, columns, kinds, file)
        numbers = [name for name in names if name and kinds.get(name) == "number"]
        others = [name for name in numbers if not _counts(read[name], whole[name])]
        if others:
            kinds |= dict.fromkeys(others, "category")
            read = read_recognised(whole, columns, kinds, file)
        named = {*names, *words}
        return FileTable(
            file.name,
            file.unit,
            {name: column.zone for name, column in columns.items() if column.zone},
            read,
            kinds,
            {n: c.note for n, c in columns.items() if c.note and n not in words},
            (*file.notes, *file.found.words),
            file.nameless,
            {n: c.notation for n, c in columns.items() if c.notation != PLAIN and n not in named},
            {n: c.example for n, c in columns.items() if c.example and n not in named},
            durations_in(whole, file),
        )


def _counts(numbers: pd.Series, cells: pd.Series) -> bool:
    """Whether names are whole numbers that can be told apart; 1E5 is a word, 1e+05 is not."""
    is_whole = not (numbers % 1 > 0).any() and not numbers.abs().max() >= MOST_EXACT
    texts = (cell.strip() for cell in cells if isinstance(cell, str))
    return is_whole and not any(map(_CODE.match, texts))


def read_table(path: str | Path, target: str, task: Task | None = None) -> Table:
    """A file as a table of the study, its rows in the file's order.

    Every column but `target` is a feature; an empty cell of a feature is a gap. Unless `task`
    is passed, it is that of `recognise_task`.
    """
    path = Path(path)
    frame = read_file(path).frame.reset_index(drop=True)
    one_of(target, frame.columns, f"the target column of {path.name}")
    if len(frame.columns) < 2:
        raise ValueError(
            f"expected a column besides the target {target!r} in {path}, got none; add columns to "
            "learn from"
        )
    gaps = np.flatnonzero(frame[target].isna())
    if len(gaps):
        raise ValueError(
            f"expected a value of {target!r} in every row of {path}, got {len(gaps)} gaps, the "
            f"first in row {gaps[0] + 1}; drop these rows, or check that the file is complete"
        )
    task = task or recognise_task(frame[target])[0]
    y = read_target(frame[target], task, str(path))
    name = path.name.removesuffix(".gz").rpartition(".")[0]
    return Table(name, task, frame.drop(columns=target), y)


def recognise_task(y: pd.Series) -> tuple[Task, str]:
    """The task that a target without gaps stands for, and why.

    Texts and truth values are classes, and so are whole numbers with at most 20 different values
    that each occur twice on average, unless they look counted; all other numbers make a
    regression.
    """
    n = y.nunique()
    if pd.api.types.is_bool_dtype(y):
        return "classification", f"{y.name} is true or false"
    if not pd.api.types.is_numeric_dtype(y):
        return "classification", f"{y.name} has {n:,} distinct text values"
    if n <= min(FEW, len(y) / 2) and _is_whole(y):
        if _looks_counted(y):
            return "regression", f"{y.name} looks like counts from {y.min():g} to {y.max():g}"
        return "classification", f"{y.name} has only {n} different whole numbers"
    return "regression", f"{y.name} has {n:,} distinct numbers"


def read_target(y: pd.Series, task: str, file: str) -> NDArray[Any]:
    """The target of a task, without gaps, as numbers or as labels."""
    one_of(task, TASKS, "task")
    if task == "classification":
        check_told_apart(y, "classes", file, "shorten them, or put a letter before each")
    if y.nunique() < 2:
        raise ValueError(
            f"expected {y.name!r} to vary in {file}, got one value in all rows; choose another "
            "target"
        )
    if pd.api.types.is_datetime64_any_dtype(y):
        raise ValueError(
            f"expected numbers or classes in the target {y.name!r} of {file}, got dates; "
            "turn them into numbers, such as days since a fixed date"
        )
    is_flag = pd.api.types.is_bool_dtype(y)
    is_number = pd.api.types.is_numeric_dtype(y) and not is_flag
    if task == "classification":
        if is_number and not _is_whole(y):
            broken = y[y != y.round()].iloc[0]
            raise ValueError(
                f"expected classes in the target {y.name!r} of {file}, got numbers such as "
                f"{broken:g}; predict them as numbers (--task regression), or write words"
            )
        labels: NDArray[Any] = y.to_numpy(bool if is_flag else np.int64 if is_number else object)
        return labels
    if not is_number:
        got = "true and false; classify them, or write 1 and 0"
        words = f"words such as {y.iloc[0]!r}; classify them, or correct the column"
        raise ValueError(
            f"expected numbers in the target {y.name!r} of {file}, got {got if is_flag else words}"
        )
    values: NDArray[np.float64] = y.to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        odd = values[~np.isfinite(values)][0]
        raise ValueError(
            f"expected finite numbers in the target {y.name!r} of {file}, got {odd}; correct or "
            "drop such rows"
        )
    return values


def target_values(y: pd.Series, *, is_classes: bool) -> pd.Series:
    """The target as an estimator takes it: numbers, or labels of one type."""
    if pd.api.types.is_datetime64_any_dtype(y):
        raise ValueError(
            f"expected numbers or classes in the target {y.name!r}, got dates; turn them into "
            "numbers, such as days since a fixed date"
        )
    if pd.api.types.is_bool_dtype(y):
        return y.astype(bool if is_classes else np.float64)
    if not pd.api.types.is_numeric_dtype(y):
        return pd.Series(y.to_numpy(dtype=object), y.index, dtype=object, name=y.name)
    if is_classes:
        Column(str(y.name), "number", y.to_numpy(np.float64)).check_told_apart()
    is_whole = is_classes and bool((y == y.round()).all())
    return y.astype(np.int64 if is_whole else np.float64)


def check_told_apart(column: pd.Series, things: str, file: str, cure: str) -> None:
    """Numbers that name things must be small enough for a float to hold every one."""
    is_number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if is_number and column.abs().max() >= MOST_EXACT:
        raise ValueError(
            f"{file}: expected {things} of at most 15 digits in {column.name!r}, since longer ones "
            f"cannot be told apart, got {column.abs().max():.4g}; {cure}"
        )


def _looks_counted(y: pd.Series) -> bool:
    """Whether numbers from 0 or 1 on become rarer on both sides of a peak, the largest by far.

    Numbers of classes have no reason to.
    """
    rows = y.value_counts().sort_index()
    if len(rows) < FEWEST_COUNTS or y.min() not in (0, 1) or 10 * rows.iloc[-1] > rows.max():
        return False
    sizes, peak = rows.to_numpy(), int(rows.to_numpy().argmax())
    slack = 2 * np.sqrt(sizes)  # chance
    falls = sizes[peak + 1 :] <= (sizes + slack)[peak:-1]
    rises = sizes[:peak] <= (sizes + slack)[1 : peak + 1]
    return bool(falls.all() and rises.all())


def _is_whole(y: pd.Series) -> bool:
    return bool((y == y.round()).all())
