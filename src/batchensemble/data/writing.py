"""Tables written to files batch by batch, complete or not at all."""

import csv
import gzip
import io
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import is_object_dtype

from batchensemble.data.arrow import import_arrow
from batchensemble.data.reading import CSV, EXCEL, PARQUET, PIPE, check_suffix, is_table
from batchensemble.modelfile.files import check_writable, replacing

PIECE = 2**16  # letters written at once: between two a pipe shows that nobody reads any more
DIGITS = "%.6g"  # of numbers on a terminal; files and pipes have all


def check_place(path: Path, *, beside: Sequence[Path] = ()) -> None:
    """Refuse, before any work is done, a path that cannot be written or is one of the inputs."""
    if path == PIPE:
        return
    check_writable(path)
    for source in beside:
        if source.exists() and path.exists() and source.samefile(path):
            raise ValueError(f"the output would overwrite the input {path}; choose another path")


def check_written(path: Path) -> str:
    """How the file's name ends, one of those that can be written."""
    suffix = check_suffix(path) if path == PIPE or is_table(path) else ""
    if suffix in ("", *EXCEL, ".txt"):
        raise ValueError(
            f"expected a .csv, .csv.gz, .tsv, .parquet or .feather file to write, got {path}; "
            "choose one of these endings"
        )
    return suffix


def csv_text(frame: pd.DataFrame, **how: Any) -> str:
    how = {"index": False, "lineterminator": "\n", **how}
    text: str = frame.to_csv(**how)
    # pandas would not quote a carriage return, which ends a line for those who read it.
    return frame.to_csv(**how, quoting=csv.QUOTE_NONNUMERIC) if "\r" in text else text


def _with_words(frame: pd.DataFrame) -> pd.DataFrame:
    """True and false as words in lower case, as `text` reads them."""
    frame = frame.copy()
    for name in frame.select_dtypes("bool"):
        frame[name] = frame[name].map({True: "true", False: "false"})
    return frame


def _text_columns(frame: pd.DataFrame) -> list[str]:
    """Those to be written as texts: they hold texts, several types as in spreadsheets, or none."""

    def is_typed(kinds: set[type]) -> bool:
        return kinds == {int, float} or (len(kinds) == 1 and str not in kinds)

    objects = [str(n) for n, dtype in frame.dtypes.items() if is_object_dtype(dtype)]
    own = {name: set(map(type, frame[name].dropna())) for name in objects}
    return [name for name, kinds in own.items() if not is_typed(kinds)]


def _with_texts(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    frame = frame.copy()
    for name in names:
        frame[name] = frame[name].map(str, na_action="ignore")
    return frame


class TableWriter:
    """Writes a table batch by batch; the file appears under its name once all of it is written.

    A CSV, Parquet or Feather file, by the path's ending; "-" is a CSV to standard output, written
    as it comes, and on a terminal with few digits. The first batch decides the columns and
    their types; where it has values of several types in a column, or none, they become texts.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._suffix = check_written(path)
        self._stack = ExitStack()
        self._sink: Any = None

    def __enter__(self) -> "TableWriter":
        if self._path == PIPE:
            self._text: Any = sys.stdout
            if self._text is None:
                raise ValueError("standard output is closed; write to a file instead")
            if isinstance(self._text, io.TextIOWrapper) and not self._text.isatty():
                self._text.reconfigure(encoding="utf-8", errors="strict")  # as a file has it
            return self
        if self._suffix not in CSV:
            self._arrow = import_arrow(self._path)
        self._file = self._stack.enter_context(replacing(self._path))
        if self._suffix in CSV:
            binary: Any = self._file
            if self._suffix.endswith(".gz"):
                # Without its name and time of writing, the same table is the same file.
                binary = gzip.GzipFile("", "wb", fileobj=self._file, mtime=0)
                self._stack.enter_context(binary)
            self._text = io.TextIOWrapper(binary, encoding="utf-8", newline="")
            self._stack.callback(self._text.detach)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._stack.__exit__(kind, error, trace)

    def write(self, frame: pd.DataFrame) -> None:
        if self._suffix in CSV:
            separator = "\t" if self._suffix.startswith(".tsv") else ","
            is_first, self._sink = self._sink is None, self._text
            for_eyes = self._path == PIPE and self._text.isatty()
            digits, frame = DIGITS if for_eyes else None, _with_words(frame)
            text = csv_text(frame, header=is_first, sep=separator, float_format=digits)
            for start in range(0, len(text), PIECE):
                self._text.write(text[start : start + PIECE])
            return
        pa, parquet = self._arrow
        if self._sink is None:
            self._texts = _text_columns(frame)
        frame = _with_texts(frame, self._texts)
        if self._sink is None:
            schema = pa.Schema.from_pandas(frame, preserve_index=False).remove_metadata()
            for name in self._texts:  # without any cell, it would be of no type
                schema = schema.set(schema.get_field_index(name), pa.field(name, pa.string()))
            self._schema = schema
            make = parquet.ParquetWriter if self._suffix in PARQUET else pa.ipc.new_file
            self._sink = self._stack.enter_context(make(self._file, self._schema))
        try:
            rows = pa.Table.from_pandas(frame, schema=self._schema, preserve_index=False)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise ValueError(
                f"{self._path}: a column has values of another type than in its first rows "
                f"({error}); write a .csv"
            ) from error
        self._sink.write_table(rows.replace_schema_metadata())
