"""Tables in files, read a batch at a time.

The cells of a CSV stay texts; `text` says what they mean. A batch is a pandas frame whose index
numbers the rows as the file does: by its lines in a CSV, from 1 elsewhere.
"""

import csv
import gzip
import io
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import pandas as pd

BATCH = 2**14
SEPARATORS = (",", ";", "\t")
CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
PARQUET = (".parquet", ".pq")
SUFFIXES = (*CSV, *PARQUET, ".feather", ".arrow")
PIPE = Path("-")


class TableFile(Protocol):
    """An open table: its columns by name, its rows in batches, once."""

    name: str
    unit: str  # what numbers its rows: "line" or "row"
    is_text: bool  # whether every cell is a text
    has_comma: bool  # whether a text "1,5" is a number
    names: list[str]
    nameless: int  # columns without a name, which are left out

    def batches(self, n_rows: int = BATCH) -> Iterator[pd.DataFrame]: ...

    def share_read(self) -> float | None:
        """Between 0 and 1, where it is known."""


@contextmanager
def open_table(path: Path) -> Iterator[TableFile]:
    """A CSV, Parquet or Feather file, by its ending; "-" is a CSV from standard input."""
    suffix = check_suffix(path)
    if path.is_dir():
        raise ValueError(f"expected a file, got the folder {path}; name a file inside it")
    if path != PIPE and not path.is_file():
        raise FileNotFoundError(f"there is no file {path}; check the path")
    with ExitStack() as stack:
        table: TableFile
        if suffix in CSV:
            table = _Csv(path, stack, is_packed=suffix.endswith(".gz"))
        else:
            table = _Arrow(path, stack, is_parquet=suffix in PARQUET)
        twice = [repr(name) for name, count in Counter(table.names).items() if count > 1]
        if twice:
            raise ValueError(
                f"{table.name}: expected every column to have a name of its own, got more than "
                f"once: {', '.join(twice)}; rename them"
            )
        yield table


def check_suffix(path: Path) -> str:
    """How the file's name ends, one of those that are known."""
    if path == PIPE:
        return ".csv"
    for suffix in SUFFIXES:
        if path.name.lower().endswith(suffix):
            return suffix
    raise ValueError(
        f"expected a .csv, .csv.gz, .tsv, .parquet or .feather file, got {path}; "
        "save the table as one of these"
    )


def is_table(path: Path) -> bool:
    """Whether the name is that of a table."""
    return path.name.lower().endswith(SUFFIXES)


@contextmanager
def _readable(path: Path, *errors: type[Exception]) -> Iterator[None]:
    """Errors of reading name the file."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{_name(path)} cannot be read: expected text in UTF-8, got the byte "
            f"0x{error.object[error.start]:02x}{_line_of_odd_bytes(path)}; save it as UTF-8 "
            "(`CSV UTF-8` in spreadsheets)"
        ) from error
    except errors as error:
        cause = " ".join(str(error).split())[:200]
        raise ValueError(
            f"{_name(path)} cannot be read: {cause}; it may be cut off or of another format"
        ) from error


def _line_of_odd_bytes(path: Path) -> str:
    """Where text stops being UTF-8; only of plain files, which can be read once more."""
    if path == PIPE or path.name.lower().endswith(".gz"):
        return ""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return f" in line {number}"
    return ""


def _name(path: Path) -> str:
    return "standard input" if path == PIPE else str(path)


class _Csv:
    unit = "line"
    is_text = True

    def __init__(self, path: Path, stack: ExitStack, *, is_packed: bool) -> None:
        self.name = _name(path)
        self._path = path
        self._raw: BinaryIO = sys.stdin.buffer
        if path != PIPE:
            self._raw = stack.enter_context(path.open("rb"))
        self._size = None if path == PIPE else path.stat().st_size
        binary: Any = gzip.GzipFile(fileobj=self._raw) if is_packed else self._raw
        text = io.TextIOWrapper(binary, encoding="utf-8-sig", newline="")
        stack.callback(text.detach)  # so standard input stays open
        with self._readable():
            first = text.readline()
            if not first.strip():
                got = "begins with an empty line" if first else "is empty"
                raise ValueError(
                    f"{self.name} {got}: expected a line of column names, and rows below it"
                )
            separator = max(SEPARATORS, key=lambda mark: len(_cells(first, mark)))
            self.has_comma = separator == ";"
            self._rows = csv.reader(chain([first], text), delimiter=separator, strict=True)
            self._header = [name.strip() for name in next(self._rows)]
        self.names = [name for name in self._header if name]
        self.nameless = len(self._header) - len(self.names)

    def batches(self, n_rows: int = BATCH) -> Iterator[pd.DataFrame]:
        rows = self._numbered()
        while batch := list(islice(rows, n_rows)):
            numbers, cells = zip(*batch, strict=True)
            columns = zip(self._header, zip(*cells, strict=True), strict=True)
            named = {name: list(column) for name, column in columns if name}
            yield pd.DataFrame(named, index=list(numbers), dtype=object)

    def _numbered(self) -> Iterator[tuple[int, list[str]]]:
        """Rows with the number of their first line; blank lines are passed over."""
        width = len(self._header)
        line = self._rows.line_num + 1
        with self._readable():
            try:
                for row in self._rows:
                    if len(row) > 1 or (row and (row[0].strip() or width == 1)):
                        if len(row) < width or any(row[width:]):
                            raise ValueError(
                                f"{self.name}, line {line}: expected {width} cells as in the first "
                                f"line, got {len(row)}; the line may be incomplete, or a value "
                                "that contains the separator needs quotes"
                            )
                        yield line, row[:width]
                    line = self._rows.line_num + 1
            except csv.Error as error:
                raise ValueError(
                    f"{self.name}, line {line}: {error}; perhaps a quote is not closed, or the "
                    "file is incomplete"
                ) from error

    def share_read(self) -> float | None:
        return self._raw.tell() / self._size if self._size else None

    def _readable(self) -> AbstractContextManager[None]:
        return _readable(self._path, csv.Error, gzip.BadGzipFile, EOFError, zlib.error)


def _cells(line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator))
    except csv.Error:
        return []


def import_arrow(path: Path) -> tuple[Any, Any]:
    """pyarrow and its parquet, late: a plain installation has neither."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(
            f"{path.name} needs pyarrow: pip install batchensemble[parquet], or use a .csv"
        ) from error
    return pyarrow, parquet


class _Arrow:
    unit = "row"
    is_text = False
    has_comma = False

    def __init__(self, path: Path, stack: ExitStack, *, is_parquet: bool) -> None:
        pa, parquet = import_arrow(path)
        self.name = str(path)
        self._path = path
        self._errors = (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError)
        self._done = 0
        self._parts: Callable[[int], Iterable[Any]]
        with _readable(path, *self._errors):
            if is_parquet:
                file = stack.enter_context(parquet.ParquetFile(path))
                names, self._n_rows = file.schema_arrow.names, file.metadata.num_rows
                self._parts = lambda n_rows: file.iter_batches(batch_size=n_rows)
            else:
                file = pa.ipc.open_file(stack.enter_context(pa.memory_map(str(path))))
                names, parts = file.schema.names, range(file.num_record_batches)
                self._n_rows = sum(file.get_batch(i).num_rows for i in parts)
                self._parts = lambda n_rows: (
                    part.slice(start, n_rows)
                    for part in map(file.get_batch, parts)
                    for start in range(0, part.num_rows, n_rows)
                )
        # A frame's index without a name is kept under such names: row numbers, not data.
        self.names = [name for name in names if not name.startswith("__index_level_")]
        self.nameless = len(names) - len(self.names)

    def batches(self, n_rows: int = BATCH) -> Iterator[pd.DataFrame]:
        with _readable(self._path, *self._errors):
            for batch in self._parts(n_rows):
                frame = batch.select(self.names).to_pandas(types_mapper=pd.ArrowDtype)
                frame = frame.reset_index(drop=True)
                frame.index += self._done + 1
                self._done += len(frame)
                yield frame

    def share_read(self) -> float | None:
        return self._done / self._n_rows if self._n_rows else None
