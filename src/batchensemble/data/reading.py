"""Tables in files, read a batch at a time: CSV here, others in `arrow` and `excel`.

The cells of a CSV stay texts; `text` says what they mean. A batch is a pandas frame whose index
numbers the rows as the file does: by its lines in a CSV, from 1 elsewhere.
"""

import codecs
import csv
import gzip
import io
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from glob import iglob
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import pandas as pd

from batchensemble.data.arrow import BATCH, ArrowFile, unreadable
from batchensemble.data.excel import ExcelFile, refuse_workbook
from batchensemble.data.file_options import AS_FOUND, FileOptions
from batchensemble.data.notation import Found
from batchensemble.data.separators import find_separator, given_separator, table_begin

CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt")
PARQUET = (".parquet", ".pq")
EXCEL = (".xlsx", ".xlsm")
SUFFIXES = (*CSV, *PARQUET, ".feather", ".arrow", *EXCEL)
PEEKED = 20  # lines looked at to find where a table begins
WINDOWS = "windows-1252"
LONGEST_CELL = 2**24  # letters; more than a quote that is not closed should take
INCOMPLETE = "; the line may be incomplete, or a value that contains the separator needs quotes"
PIPE = Path("-")


class TableFile(Protocol):
    """An open table: its columns by name, its rows in batches, once."""

    name: str
    unit: str  # what numbers its rows: "line" or "row"
    is_text: bool  # whether every cell is a text
    separator: str  # between the cells of a text file
    options: FileOptions
    found: Found
    names: list[str]
    nameless: int  # columns without a name, which are left out

    def batches(self, n_rows: int = BATCH) -> Iterator[pd.DataFrame]: ...

    def share_read(self) -> float | None:
        """Between 0 and 1, where it is known."""

    @property
    def notes(self) -> list[str]:
        """What was guessed about the file, as far as it was read."""


@contextmanager
def open_table(path: Path, options: FileOptions = AS_FOUND) -> Iterator[TableFile]:
    """A CSV, Parquet, Feather or Excel file, by its ending; "-" is a CSV from standard input."""
    if path.is_dir():
        raise ValueError(f"expected a file, got the folder {path}; name a file inside it")
    suffix = check_suffix(path)
    options.check(path.name, is_text=suffix in CSV, is_excel=suffix in EXCEL)
    if path != PIPE and not path.is_file():
        if path.exists():
            raise ValueError(
                f"expected a file, got the device or pipe {path}; to read a pipe as CSV: - in its "
                f"place, and < {path}"
            )
        if path.is_symlink():
            raise FileNotFoundError(f"the link {path} points to no file; correct it")
        if any(iglob(str(path), recursive=True)):
            raise ValueError(f"expected one file, got the pattern {path}; put its rows into one")
        raise FileNotFoundError(f"there is no file {path}; check the path")
    if suffix in CSV and path != PIPE:
        refuse_workbook(path)
    with ExitStack() as stack:
        table: TableFile
        if suffix in CSV:
            table = _Csv(path, stack, options, is_packed=suffix.endswith(".gz"))
        elif suffix in EXCEL:
            table = ExcelFile(path, stack, options)
        else:
            table = ArrowFile(path, stack, options, is_parquet=suffix in PARQUET)
        _check_unique(table)
        yield table


@contextmanager
def open_csv(text: bytes, name: str) -> Iterator[TableFile]:
    """A CSV in memory; `name` stands for it in errors."""
    raw = io.BufferedReader(io.BytesIO(text))
    with ExitStack() as stack:
        table = _Csv(Path(name), stack, AS_FOUND, is_packed=False, raw=raw)
        _check_unique(table)
        yield table


def _check_unique(table: TableFile) -> None:
    twice = [repr(name) for name, count in Counter(table.names).items() if count > 1]
    if twice:
        raise ValueError(
            f"{table.name}: expected every column to have a name of its own, got more than "
            f"once: {', '.join(twice)}; rename them"
        )


def check_suffix(path: Path) -> str:
    """How the file's name ends, one of those that are known."""
    if path == PIPE:
        return ".csv"
    for suffix in SUFFIXES:
        if path.name.lower().endswith(suffix):
            return suffix
    raise ValueError(
        f"expected a .csv, .csv.gz, .tsv, .txt, .xlsx, .parquet or .feather file, got {path}; "
        "save the table as one of these"
    )


def is_table(path: Path) -> bool:
    """Whether the name is that of a table."""
    return path.name.lower().endswith(SUFFIXES)


def _line_of_odd_bytes(path: Path) -> str:
    """Where text stops being UTF-8; only of plain files, which can be read once more."""
    if path.name.lower().endswith(".gz") or not path.is_file():
        return ""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return f" in line {number}"
    return ""


def _bytes(error: UnicodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"the byte 0x{error.object[error.start]:02x}"
    return str(error)


class _Decoding:
    """Bytes -> lines: as asked for, by the mark at the beginning, as UTF-8, or as Windows writes.

    A letter past ASCII that Windows wrote is hardly ever UTF-8: it is read as what it must be, in
    the middle of a file or a pipe just as well.
    """

    def __init__(self, binary: Any, encoding: str | None, stack: ExitStack) -> None:
        self.is_odd = False
        mark = binary.peek(2)[:2] if hasattr(binary, "peek") else b""
        if encoding is None and mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            encoding = "utf-16"
        how: dict[str, Any] = {"encoding": encoding} if encoding else {"errors": "surrogateescape"}
        if codecs.lookup(encoding or "utf-8").name == "utf-8":
            how["encoding"] = "utf-8-sig"  # without the mark at the beginning
        self._text = io.TextIOWrapper(binary, newline="", **how)
        stack.callback(self._text.detach)  # so standard input stays open

    def lines(self) -> Iterator[str]:
        for line in self._text:
            if not line.isascii() and _ESCAPED.search(line):
                self.is_odd = True
                line = _ESCAPED.sub(_as_windows, line)
            yield line


_ESCAPED = re.compile("[\udc80-\udcff]")


def _as_windows(match: re.Match[str]) -> str:
    return bytes([ord(match[0]) - 0xDC00]).decode(WINDOWS)


def _standard_input() -> BinaryIO:
    binary: BinaryIO | None = getattr(sys.stdin, "buffer", None)  # a service may have none
    if binary is None:
        raise ValueError("standard input is closed or no file; name a file instead of -")
    return binary


class _Csv:
    unit = "line"
    is_text = True

    def __init__(
        self,
        path: Path,
        stack: ExitStack,
        options: FileOptions,
        *,
        is_packed: bool,
        raw: BinaryIO | None = None,
    ) -> None:
        self.name = "standard input" if path == PIPE else str(path)
        self.options, self.found, self._path = options, Found(), path
        is_file = path != PIPE and raw is None
        self._raw = stack.enter_context(path.open("rb")) if is_file else raw or _standard_input()
        self._size = path.stat().st_size if is_file else None
        binary: Any = gzip.GzipFile(fileobj=self._raw) if is_packed else self._raw
        with self._readable():
            self._decoding = _Decoding(binary, options.encoding, stack)
            text = islice(self._decoding.lines(), min(options.skip_lines, sys.maxsize), None)
            self._peeked = list(islice(text, PEEKED))
            first = self._peeked[0] if self._peeked else ""
            separator = given_separator(first)
            self._skipped = options.skip_lines + bool(separator)
            lines = self._peeked[bool(separator) :]
            first = lines[0] if lines else ""
            if not first.strip():
                got = "begins with an empty line" if first else "is empty"
                raise ValueError(
                    f"{self.name} {got}: expected a line of column names, and rows below it"
                    f"{self._where_it_begins()}"
                )
            self.separator = separator or find_separator(lines)
            how: Any = {"delimiter": self.separator, "skipinitialspace": True, "strict": True}
            csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))  # of the process
            rows = csv.reader(chain(lines, text), **how)
            self._rows, self._header = rows, [name.strip() for name in next(rows)]
        self.names = [name for name in self._header if name]
        self.nameless = len(self._header) - len(self.names)

    @property
    def notes(self) -> list[str]:
        if not self._decoding.is_odd:
            return []
        return [
            f"{self.name} is not UTF-8: read as {WINDOWS}; if letters look wrong, add --encoding"
        ]

    def _where_it_begins(self) -> str:
        """Advice, if the first lines look as if the table began below a title."""
        at = table_begin(self._peeked)
        if not at:
            return ""
        n, names = self.options.skip_lines + at, self._peeked[at].strip()
        return f"; if the names are in line {n + 1}, {names!r:.60}, add --skip-lines {n}"

    def batches(self, n_rows: int = BATCH) -> Iterator[pd.DataFrame]:
        rows = self._numbered()
        while batch := list(islice(rows, n_rows)):
            numbers, cells = zip(*batch, strict=True)
            columns = zip(self._header, zip(*cells, strict=True), strict=True)
            named = {name: column for name, column in columns if name}
            yield pd.DataFrame(named, index=list(numbers), dtype=object)

    def _numbered(self) -> Iterator[tuple[int, list[str]]]:
        """Rows with their first line; blank lines are none, but inner ones of a single column."""
        width, n_blank = len(self._header), 0
        line = self._skipped + self._rows.line_num + 1
        with self._readable():
            try:
                for row in self._rows:
                    if len(row) > 1 or (row and (row[0].strip() or width == 1)):
                        if len(row) < width or any(row[width:]):
                            raise ValueError(
                                f"{self.name}, line {line}: expected {width} cells as in the first "
                                f"line, got {len(row)}{self._where_it_begins() or INCOMPLETE}"
                            )
                        yield from ((at, [""]) for at in range(line - n_blank, line))
                        yield line, row[:width]
                        n_blank = 0
                    else:
                        n_blank += width == 1
                    line = self._skipped + self._rows.line_num + 1
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
        except UnicodeError as error:
            raise ValueError(
                f"{self.name} cannot be read: expected text in "
                f"{self.options.encoding or 'UTF-8'}, got {_bytes(error)}"
                f"{_line_of_odd_bytes(self._path)}; add --encoding, or save it as UTF-8 "
                "(`CSV UTF-8` in spreadsheets)"
            ) from error
        except (csv.Error, gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise unreadable(self.name, error) from error
