"""Tables in files, read a batch at a time: CSV here, Parquet and Feather in `arrow`.

The cells of a CSV stay texts; `text` says what they mean. A batch is a pandas frame whose index
numbers the rows as the file does: by its lines in a CSV, from 1 elsewhere.
"""

import csv
import gzip
import io
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import pandas as pd

from batchensemble.data.arrow import BATCH, ArrowFile, unreadable

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
            table = ArrowFile(path, stack, is_parquet=suffix in PARQUET)
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
            named = {name: column for name, column in columns if name}
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

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Errors of reading name the file."""
        try:
            yield
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{self.name} cannot be read: expected text in UTF-8, got the byte "
                f"0x{error.object[error.start]:02x}{_line_of_odd_bytes(self._path)}; save it as "
                "UTF-8 (`CSV UTF-8` in spreadsheets)"
            ) from error
        except (csv.Error, gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise unreadable(self.name, error) from error


def _cells(line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator))
    except csv.Error:
        return []
