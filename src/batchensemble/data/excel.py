"""Excel files: one sheet as a table, its rows numbered as the spreadsheet numbers them."""

import datetime as dt
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pandas as pd

from batchensemble.data.arrow import BATCH, unreadable
from batchensemble.data.file_options import FileOptions
from batchensemble.data.notation import Found, is_code, is_plain
from batchensemble.data.scalars import GAPS
from batchensemble.data.telling import silenced
from batchensemble.words import one_of

MOST_WORDS = 0.1  # among cells that are something else: more are no mistake
# What zipfile, zlib, XML parsers and openpyxl raise about bytes that are no spreadsheet.
DAMAGED = (
    *(OSError, EOFError, LookupError, TypeError, AttributeError, NotImplementedError),
    *(SyntaxError, zipfile.BadZipFile, zlib.error),
)

# A cell of a sheet with a formula and without a value; an empty text is one.
NOT_CALCULATED = re.compile(
    rb"""<(?:\w+:)?c\b(?![^>]*\bt=["']str["'])([^>]*)>\s*"""
    rb"<(?:\w+:)?f\b(?:[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
PLACE = re.compile(rb"""\br=["']([A-Z]+\d+)["']""")
CHUNK, LONGEST_CELL = 2**20, 2**14  # bytes
MOST_CELLS = 2**26  # half a gigabyte of references alone

# How files begin that spreadsheets write, and what helps where they are called texts.
WORKBOOKS = {
    b"PK\x03\x04": "rename it so that it ends in .xlsx, or save it as CSV",
    b"\xd0\xcf\x11\xe0": "save it as .xlsx or as CSV",
}


def refuse_workbook(path: Path) -> None:
    """Raise if a file that should be text is a spreadsheet."""
    with path.open("rb") as file:
        cure = WORKBOOKS.get(file.read(4))
    if cure:
        raise ValueError(f"{path}: expected text, got the bytes of an Excel workbook; {cure}")


class ExcelFile:
    """An open sheet of an .xlsx or .xlsm file, as a `reading.TableFile`."""

    unit = "row"
    is_text = False
    separator = ""

    def __init__(self, path: Path, stack: ExitStack, options: FileOptions) -> None:
        try:
            import openpyxl  # noqa: F401
        except ImportError as error:
            raise ImportError(
                f"{path.name} needs openpyxl: pip install 'batchensemble[excel]', or save it as "
                ".csv"
            ) from error
        self.name, self.options, self._share = str(path), options, 0.0
        self.found = Found()
        try:
            with silenced():  # about styles and the like, which do not matter
                book = stack.enter_context(pd.ExcelFile(path, engine="openpyxl"))
                sheet, self.notes = _chosen(book, options.sheet, self.name)
                cells = _cells(self.name, book.book[sheet])
                bare = _without_value(path, book.book[sheet])
        except DAMAGED as error:
            raise unreadable(self.name, error) from error
        if bare:
            raise ValueError(
                f"{path}, sheet {sheet!r}: expected the value of every formula, got none in "
                f"{bare}; open the file in a spreadsheet and save it, which calculates them"
            )
        self._read(cells)

    def _read(self, cells: pd.DataFrame) -> None:
        head = self.options.skip_lines
        if len(cells) <= head:
            raise ValueError(
                f"{self.name}: expected a row of column names after {head} skipped rows, got "
                f"{len(cells)} rows in the sheet; choose another --sheet, or skip fewer rows "
                "(--skip-lines)"
            )
        names = ["" if pd.isna(cell) else str(cell).strip() for cell in cells.iloc[head]]
        full = [j for j, name in enumerate(names) if name]
        rows = _without_end(cells.iloc[head + 1 :], full)
        wide = (~_is_empty(cells)).sum(axis=1)
        if len(full) < wide.max() / 2:
            begins = int((wide > wide.max() / 2).to_numpy().argmax())
            raise ValueError(
                f"{self.name}: expected column names in row {head + 1}, got {len(full)} for up to "
                f"{wide.max()} columns; if they are in row {begins + 1}, add --skip-lines {begins}"
            )
        has_cells = (~_is_empty(rows)).any(axis=0).tolist()
        self.names = [names[j] for j in full]
        self.nameless = sum(
            any_cell and not name for any_cell, name in zip(has_cells, names, strict=True)
        )
        self._rows = rows.iloc[:, full].set_axis(self.names, axis=1).map(_plain)
        self._rows.index = self._rows.index + 1  # as the spreadsheet counts
        odd = (self._words_among_numbers(j) for j in range(len(full)))
        self.found.words = [note for note in odd if note]

    def _words_among_numbers(self, j: int) -> str:
        """A note about a column that would be numbers without a few words; gaps are taken out."""
        column = self._rows.iloc[:, j]  # names may occur twice, which is refused later
        if len(column.dropna().map(_family).unique()) > 1:
            column = column.map(lambda cell: cell if cell is None else _text(cell))
            self._rows.isetitem(j, column)
        is_text = column.map(lambda cell: isinstance(cell, str))
        if column.nunique() and not is_text.all() and is_text.any():
            column = column.where(~column.isin(GAPS), None)
            self._rows.isetitem(j, column)
            is_text = column.map(lambda cell: isinstance(cell, str))
        others = [w for w in column[is_text] if is_code(w) or not is_plain(w)]
        if not others or not is_text.mean() < MOST_WORDS:
            return ""
        row = is_text.idxmax()
        return (
            f"{column.name!r} is read as words: {int(is_text.sum())} of its cells are words, the "
            f"first of them {column[row]!r:.80} in row {row}; empty them to have the others read "
            "as they are"
        )

    def batches(self, n_rows: int = BATCH) -> Iterator[pd.DataFrame]:
        for start in range(0, len(self._rows), n_rows):
            part = self._rows.iloc[start : start + n_rows]
            self._share = (start + len(part)) / len(self._rows)
            yield part

    def share_read(self) -> float | None:
        return self._share


def _chosen(book: Any, sheet: str | None, name: str) -> tuple[str, list[str]]:
    """The name of the sheet, and a note if there are others."""
    names = [str(one) for one in book.sheet_names]
    if sheet is None:
        others = ", ".join(names[1:4]) + (", ..." if len(names) > 4 else "")
        note = f"{name}: read the sheet {names[0]!r}; for another ({others}), add --sheet"
        return names[0], [note] if len(names) > 1 else []
    if sheet not in names and sheet.isdigit() and 1 <= int(sheet) <= len(names):
        return names[int(sheet) - 1], []
    return one_of(sheet, names, f"the --sheet of {name}"), []


def _cells(name: str, sheet: Any) -> pd.DataFrame:
    """All cells up to the last row and column with one; "" where there is none.

    A whole number is an int, and an error such as #DIV/0! its text, as in a CSV.
    """
    sheet.reset_dimensions()  # which a file may state wrongly
    rows: list[list[Any]] = []
    n_rows = width = 0
    for row in sheet.rows:
        values = [_value(cell) for cell in row]
        while values and values[-1] == "":
            values.pop()
        rows.append(values)
        if values:
            n_rows, width = len(rows), max(width, len(values))
        if n_rows * width > MOST_CELLS:
            raise ValueError(
                f"{name}: expected at most {MOST_CELLS:,} cells, got {n_rows:,} rows and "
                f"{width:,} columns up to the last cells that are not empty; delete stray cells "
                "far from the table, or save it as CSV"
            )
    whole = [values + [""] * (width - len(values)) for values in rows[:n_rows]]
    return pd.DataFrame(whole, dtype=object)


def _value(cell: Any) -> Any:
    value = cell.value
    if value is None or (cell.data_type == "e" and value in GAPS):
        return ""
    is_whole = isinstance(value, float) and cell.data_type == "n" and value.is_integer()
    return int(value) if is_whole else value


def _without_end(rows: pd.DataFrame, columns: list[int]) -> pd.DataFrame:
    """Up to the last row with a cell in these columns; empty rows before it are rows."""
    filled = (~_is_empty(rows.iloc[:, columns])).any(axis=1).to_numpy().nonzero()[0]
    return rows.iloc[: filled[-1] + 1 if len(filled) else 0]


def _without_value(path: Path, sheet: Any) -> str:
    """The first cell with a formula that no spreadsheet has calculated; it would be a gap."""
    with zipfile.ZipFile(path) as archive, archive.open(sheet._worksheet_path) as file:
        text = b""
        while chunk := file.read(CHUNK):
            text = text[-LONGEST_CELL:] + chunk
            if found := NOT_CALCULATED.search(text):
                place = PLACE.search(found[1])
                return f"cell {place[1].decode()}" if place else "a cell"
    return ""


def _is_empty(cells: pd.DataFrame) -> pd.DataFrame:
    return cells.isna() | (cells == "")


def _family(cell: Any) -> str:
    """Dates, times of day and durations are none of the others, nor of each other."""
    if isinstance(cell, dt.date):  # also with a time
        return "date"
    return type(cell).__name__ if isinstance(cell, dt.time | dt.timedelta) else "other"


def _text(cell: Any) -> str:
    if isinstance(cell, dt.datetime):
        return cell.isoformat(" ").removesuffix(" 00:00:00")
    return str(cell)


def _plain(cell: Any) -> Any:
    """A gap is None; a time of day stays one."""
    if isinstance(cell, str):
        return cell.strip() or None
    if isinstance(cell, (bool, int, float, dt.datetime, dt.date, dt.time, dt.timedelta)):
        return None if pd.isna(cell) else cell
    return None if cell is None or pd.isna(cell) else str(cell)
