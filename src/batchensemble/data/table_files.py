"""A table in files that may be larger than memory: read in passes, and known by a random sample.

The first rows decide what the columns are, as `recognition` does for a whole file; a later cell of
another kind is an error that names it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import dropwhile, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from batchensemble.data.arrow import ArrowDataset
from batchensemble.data.columns import Kind
from batchensemble.data.durations import durations_in
from batchensemble.data.file_lists import list_files
from batchensemble.data.file_options import AS_FOUND, FileOptions
from batchensemble.data.file_parts import Parts, with_later
from batchensemble.data.notation import PLAIN, Notation
from batchensemble.data.reading import TableFile, is_table, open_table
from batchensemble.data.recognition import Recognised, check_words, known_as_words, recognise
from batchensemble.data.row_sample import Ints, Sample, draw_sample
from batchensemble.data.tables import FileTable
from batchensemble.data.text import read_as, with_zone
from batchensemble.words import one_of

BATCH = 2**16  # rows read at a time
HEAD_ROWS = 2**15  # that decide what the columns are
MOST_NOTES = 3  # about files
SAMPLE_ROWS, SAMPLE_CELLS = 2**18, 2**25


def is_in_files(X: Any) -> bool:
    """Whether X names a table in files, instead of holding it."""
    return isinstance(X, str | Path | TableFiles) or _is_dataset(X) or _is_list_of_files(X)


def _is_list_of_files(X: Any) -> bool:
    if not isinstance(X, list | tuple) or not X:
        return False
    return all(isinstance(one, str | Path) and is_table(Path(one)) for one in X)


def _is_dataset(X: Any) -> bool:
    """A `pyarrow.dataset.Dataset`, without importing pyarrow."""
    return any(
        (c.__module__, c.__name__) == ("pyarrow._dataset", "Dataset") for c in type(X).__mro__
    )


@dataclass(frozen=True, eq=False)
class TableFiles:
    """The rows of some files, or of a dataset of pyarrow, in order and as often as wanted.

    columns    how each column is read, the target's among them
    sources    the files, or one dataset
    known      all columns that a file may have: those of the first, and dropped ones
    skip_gaps  whether rows without a target are passed over; otherwise they are an error
    left_out   numbers of rows that are not read, counted from 0 over those with a target
    durations  columns of durations and times of day, which are read as seconds
    nameless   columns without a name, which are left out
    notes      what was guessed about the files, as far as they were read
    """

    name: str
    sources: tuple[Any, ...]
    target: str
    columns: dict[str, Recognised]
    known: frozenset[str]
    options: FileOptions = AS_FOUND
    skip_gaps: bool = False
    left_out: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    seed: int = 0
    durations: frozenset[str] = frozenset()
    nameless: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def kinds(self) -> dict[str, Kind]:
        return {name: column.kind for name, column in self.columns.items()}

    @property
    def notations(self) -> Mapping[str, Notation]:
        return {name: column.notation for name, column in self.columns.items()}

    def spans(self, names: Sequence[str]) -> list[bool]:
        """Which of these columns, that were read as numbers, were durations."""
        return [name in self.durations for name in names]

    def select(self, names: Collection[str]) -> "TableFiles":
        """With these columns and the target."""
        order = [*(n for n in self.columns if n in names and n != self.target), self.target]
        sample = replace(self.sample, frame=self.sample.frame[order])
        return self._with(sample, columns={name: self.columns[name] for name in order})

    def without(self, n_rows: int, seed: int) -> tuple["TableFiles", pd.DataFrame]:
        """The table without so many random rows, and these rows; they are of the sample."""
        sample = self.sample
        numbers = np.random.default_rng([seed, 3]).choice(sample.random_rows, n_rows, replace=False)
        taken = sample.frame.loc[np.sort(numbers)]
        rest = Sample(
            sample.frame.drop(index=taken.index),
            np.setdiff1d(sample.random_rows, numbers),
            sample.n_rows - n_rows,
            sample.n_without_target,
        )
        return self._with(rest, left_out=np.sort(numbers)), taken

    def _with(self, sample: Sample, **changes: Any) -> "TableFiles":
        changed = replace(self, **changes)
        changed.__dict__["sample"] = sample  # which is known already
        return changed

    @cached_property
    def sample(self) -> Sample:
        """Rows that stand for all: one pass over the files, at the first time."""
        n = max(1, min(SAMPLE_ROWS, SAMPLE_CELLS // len(self.columns)))
        numbers = [name for name, kind in self.kinds.items() if kind == "number"]
        sample = draw_sample(self.counted_batches(), numbers, self.target, n, self.seed)
        if not sample.n_rows:
            raise ValueError(
                f"{self.name}: the target {self.target!r} is empty in every row; choose another"
            )
        return replace(sample, frame=known_as_words(sample.frame, self.kinds))

    def batches(self) -> Iterator[pd.DataFrame]:
        """All rows, the target in the last column; the index numbers them from 0."""
        return (frame for frame, _ in self.counted_batches())

    def counted_batches(self) -> Iterator[tuple[pd.DataFrame, int]]:
        """The same, and how many rows without a target were passed over."""
        start = 0
        zoned = {name: bool(column.zone) for name, column in self.columns.items()}
        first = str(self.sources[0]) if len(self.sources) > 1 else self.name
        parts = Parts(first, self.kinds, self.known, zoned)
        order = [*(name for name in self.columns if name != self.target), self.target]
        for source in self.sources:
            with opened(source, self.options) as file:
                parts.check_names(file)
                for rows in file.batches(BATCH):
                    read = read_as(rows, self.kinds, file, self.notations, codes=False)
                    parts.check_cells(rows, read, file)
                    frame = self._with_target(read[order], file)
                    frame = frame.set_axis(pd.RangeIndex(start, start + len(frame)))
                    start += len(frame)
                    kept = frame[~np.isin(frame.index, self.left_out)]
                    yield self._in_zones(kept), len(rows) - len(frame)
                told = dict.fromkeys([*self.notes, *file.notes, *file.found.words])
                self.notes[:] = told

    def _with_target(self, frame: pd.DataFrame, file: TableFile) -> pd.DataFrame:
        gaps = frame[self.target].isna()
        if not gaps.any():
            return frame
        if not self.skip_gaps:
            raise ValueError(
                f"{file.name}, {file.unit} {frame.index[gaps][0]}: expected a target in every row, "
                f"got a gap in {self.target!r}; drop such rows"
            )
        return frame[~gaps]

    def _in_zones(self, frame: pd.DataFrame) -> pd.DataFrame:
        zoned = [n for n, c in self.columns.items() if c.zone and c.kind == "date"]
        return with_zone(frame, zoned)


def open_files(
    where: Any,
    target: Any,
    *,
    words: Collection[str] = (),
    drop: Collection[str] = (),
    options: FileOptions = AS_FOUND,
    skip_gaps: bool = False,
    with_plain: bool = False,
    seed: int = 0,
) -> TableFiles:
    """The table in a file, a folder, files that match a pattern or are listed, or a dataset.

    In the columns `words` everything is a word; what columns to `drop` hold does not matter. Plain
    numbers that a typed file has as texts are words too, as in a data frame, unless `with_plain`.
    """
    if isinstance(where, TableFiles):
        return where
    sources = (where,) if _is_dataset(where) else tuple(list_files(where))
    if not isinstance(target, str):
        raise TypeError(
            f"expected the name of the target's column as y, since X names files, got "
            f'{type(target).__name__}; call fit("{where}", "column")'
        )
    if len(sources) > 1:
        sources = (*dropwhile(lambda source: not has_rows(source, options), sources),) or sources
    with opened(sources[0], options) as file:
        one_of(target, file.names, f"the target column of {file.name}")
        head = next(file.batches(HEAD_ROWS), None)
        if head is None or not len(head):
            raise ValueError(f"expected {file.name} to have rows and columns, got no rows")
        later = _rows_after(file, sources[1:], HEAD_ROWS - len(head))
        if file.is_text and len(sources) > 1:
            head = pd.concat(
                rows.set_axis([f"{line} of {part.name}" for line in rows.index])
                for part, rows in [(file, head), *later]
            )
        name = str(where) if len(sources) > 1 and isinstance(where, str | Path) else file.name
        known = frozenset([*file.names, *drop])
        names = file.names if len(known) == len(file.names) else _all_names(sources, options)
        for dropped in drop:
            one_of(dropped, names, f"the --drop column of {name}")
        head = head.drop(columns=list(drop), errors="ignore")
        columns = recognise(head, file, with_plain=with_plain)
        if not file.is_text:
            columns = with_later(columns, head, later, target, with_plain=with_plain)
        check_words(words, columns, head, file)
    if len(columns) < 2:
        raise ValueError(
            f"{name}: expected a column besides the target {target!r}, got none; add columns to "
            "learn from"
        )
    columns = {
        n: Recognised("category") if n in words else replace(c, numbers=None)
        for n, c in columns.items()
    }
    facts: Any = {"durations": durations_in(head, file), "nameless": file.nameless, "seed": seed}
    return TableFiles(name, sources, target, columns, known, options, skip_gaps, **facts)


def _rows_after(
    first: TableFile, sources: tuple[Any, ...], n: int
) -> Iterator[tuple[TableFile, pd.DataFrame]]:
    """So many rows of files that follow, as long as they are written like the first."""
    for source in sources if n > 0 else ():
        with opened(source, first.options) as file:
            rows = next(file.batches(n), None)
            is_alike = (file.is_text, file.separator) == (first.is_text, first.separator)
            if rows is None or not is_alike or not {*first.names} <= {*file.names}:
                return
            yield file, rows[first.names]
            n -= len(rows)
        if n <= 0:
            return


def _all_names(sources: tuple[Any, ...], options: FileOptions) -> list[str]:
    names: dict[str, None] = {}
    for source in sources:
        with opened(source, options) as file:
            names |= dict.fromkeys(file.names)
    return [*names]


def has_rows(source: Any, options: FileOptions) -> bool:
    """Programs that write a table in parts may leave some empty."""
    with opened(source, options) as file:
        return any(len(rows) for rows in islice(file.batches(HEAD_ROWS), 1))


def opened(source: Any, options: FileOptions) -> AbstractContextManager[TableFile]:
    """A file or a dataset, to be read once."""
    return nullcontext(ArrowDataset(source)) if _is_dataset(source) else open_table(source, options)


def sampled(files: TableFiles) -> FileTable:
    """The sample of a table, as if it were all of it."""
    columns, frame, notes = files.columns, files.sample.frame, files.notes
    more = len(notes) - MOST_NOTES
    return FileTable(
        files.name,
        "row",
        {name: column.zone for name, column in columns.items() if column.zone},
        frame,
        files.kinds,
        {name: column.note for name, column in columns.items() if column.note},
        (*notes[:MOST_NOTES], *([f"and {more:,} more such notes"] if more > 0 else [])),
        files.nameless,
        {name: c.notation for name, c in columns.items() if c.notation != PLAIN},
        {name: c.example for name, c in columns.items() if c.example},
        files.durations,
    )
