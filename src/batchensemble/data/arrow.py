"""Parquet and Feather files: batches of plain columns, every buffer checked before it is used.

A Feather file is not memory-mapped: offsets in a damaged one would point outside the map, and the
system would end the process.
"""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from batchensemble.data.file_options import AS_FOUND, FileOptions
from batchensemble.data.notation import Found

BATCH = 2**14  # rows
BUFFER = 2**16  # bytes of a Parquet column, read at a time
FIRST_DAY, END_DAY = -719_162, 2_932_897  # since 1970: of the years 1 to 9999
MILLISECONDS = 86_400_000  # of a day
MOST_NS = 2**63 - 10**6 * MILLISECONDS


def import_arrow(path: Path) -> tuple[Any, Any]:
    """pyarrow and its parquet, late: a plain installation has neither."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(
            f"{path.name} needs pyarrow: pip install 'batchensemble[parquet]', or use a .csv"
        ) from error
    pyarrow.array(pd.PeriodIndex([], freq="D"))  # from now on pyarrow knows pandas' periods
    return pyarrow, parquet


def unreadable(name: str, error: BaseException) -> ValueError:
    """The error for a file that breaks the rules of its format."""
    cause = " ".join(str(error).split())[:200]
    return ValueError(f"{name} cannot be read: {cause}; it may be cut off or of another format")


class ArrowTable:
    """Abstract: an open table of Arrow's record batches, as a `reading.TableFile`."""

    unit = "row"
    is_text = False
    separator = ""

    def __init__(self, name: str, arrow: Any, options: FileOptions) -> None:
        self.name, self._arrow, self.options = name, arrow, options
        self.notes: list[str] = []
        self.found = Found()
        self._done, self._share = 0, 0.0

    def _name_columns(self, names: list[str]) -> None:
        # A frame's index without a name is kept under such names: row numbers, not data.
        self.names = [name for name in names if not name.startswith("__index_level_")]
        self.nameless = len(names) - len(self.names)

    @abstractmethod
    def _parts(self, n_rows: int) -> Iterator[tuple[Any, float]]:
        """Batches of at most so many rows, and the share of the table read after each."""

    def batches(self, n_rows: int = BATCH) -> Iterator[pd.DataFrame]:
        with self._readable():
            for batch, share in self._parts(n_rows):
                self._share = share
                frame = self._frame(batch.select(self.names))
                frame.index += self._done + 1
                self._done += len(frame)
                yield frame

    def share_read(self) -> float | None:
        return self._share

    def _frame(self, batch: Any) -> pd.DataFrame:
        """Without the notes of pandas in the file, which could hide a column in the index."""
        columns = map(self._plain, self.names, batch.columns)
        return pd.DataFrame(
            {
                name: pd.Series(pd.arrays.ArrowExtensionArray(column))
                for name, column in zip(self.names, columns, strict=True)
            },
            index=pd.RangeIndex(batch.num_rows),
        )

    def _plain(self, name: str, column: Any) -> Any:
        """A column of a type that pandas can hold, its values of a size that Python can."""
        pa, types = self._arrow, self._arrow.types
        kind = column.type
        if isinstance(kind, pa.BaseExtensionType) and kind.extension_name == "pandas.period":
            return self._starts(name, column)
        if isinstance(kind, pa.BaseExtensionType):
            return self._plain(name, column.storage)
        if types.is_run_end_encoded(kind):
            return self._plain(name, pa.compute.run_end_decode(column))
        if types.is_dictionary(kind) and types.is_string_view(kind.value_type):
            words = column.dictionary.cast(pa.string())
            return pa.DictionaryArray.from_arrays(column.indices, words, ordered=kind.ordered)
        if types.is_dictionary(kind) and kind.value_type not in (pa.string(), pa.large_string()):
            return self._plain(name, column.dictionary_decode())
        if types.is_string_view(kind) or types.is_binary_view(kind):
            return column.cast(pa.string() if types.is_string_view(kind) else pa.binary())
        # Lists and the like are refused where they are used; these not even pandas can hold.
        views = types.is_list_view(kind) or types.is_large_list_view(kind)
        if views or types.is_union(kind) or types.is_interval(kind):
            raise self._refusal(name, "one number, text, truth value, date or duration", kind)
        if types.is_date(kind):
            day = 1 if types.is_date32(kind) else MILLISECONDS
            self._check_ticks(name, column, FIRST_DAY * day, END_DAY * day, "years from 1 to 9999")
        if types.is_timestamp(kind) and kind.tz is not None:
            self._check_zone(name, kind)
            if kind.unit == "ns":  # so that they are the same times on the clock on the wall
                self._check_ticks(name, column, -MOST_NS, MOST_NS, "years from 1678 to 2262")
        return column

    def _starts(self, name: str, periods: Any) -> Any:
        """When each of pandas' periods, such as a month, begins."""
        try:
            return self._arrow.array(periods.to_pandas().dt.to_timestamp())
        except (TypeError, ValueError, OverflowError) as error:
            wanted = "periods of a known length in the years 1 to 9999"
            raise self._refusal(name, wanted, error) from None

    def _check_ticks(self, name: str, column: Any, lowest: int, end: int, wanted: str) -> None:
        """Days and times as the integers that they are stored as."""
        pa = self._arrow
        ticks = column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
        extremes = pa.compute.min_max(ticks).as_py()
        for value in extremes.values():
            if value is not None and not lowest <= value < end:
                raise self._refusal(name, wanted, f"{value} in a column of type {column.type}")

    def _check_zone(self, name: str, kind: Any) -> None:
        try:
            pd.Timestamp(0, unit="s", tz="UTC").tz_convert(
                self._arrow.lib.string_to_tzinfo(kind.tz)
            )
        except (ValueError, KeyError, OSError, self._arrow.ArrowException):
            raise self._refusal(name, "a known time zone", repr(kind.tz)) from None

    def _refusal(self, name: str, wanted: str, got: object) -> ValueError:
        return ValueError(
            f"{self.name}, column {name!r}: expected {wanted}, got {str(got)[:100]}; correct the "
            "column, or leave it out of the file"
        )

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Errors of reading name the file."""
        try:
            yield
        except (self._arrow.ArrowException, OSError, UnicodeDecodeError) as error:
            raise unreadable(self.name, error) from error


class ArrowFile(ArrowTable):
    """A Parquet or Feather file."""

    def __init__(
        self, path: Path, stack: ExitStack, options: FileOptions, *, is_parquet: bool
    ) -> None:
        arrow, parquet = import_arrow(path)
        super().__init__(str(path), arrow, options)
        self._is_parquet = is_parquet
        with self._readable():
            source = stack.enter_context(arrow.OSFile(str(path)))
            try:
                if is_parquet:
                    # Buffered before it is needed, all of the file would stay in memory.
                    how = {"pre_buffer": False, "buffer_size": BUFFER}
                    self._file = stack.enter_context(parquet.ParquetFile(source, **how))
                    names = self._file.schema_arrow.names
                else:
                    self._file = arrow.ipc.open_file(source)
                    names = self._file.schema.names
            except (KeyError, TypeError, ValueError) as error:  # of what says which periods are in
                raise unreadable(self.name, error) from error
        self._name_columns(names)

    def _parts(self, n_rows: int) -> Iterator[tuple[Any, float]]:
        if self._is_parquet:
            done = 0
            for batch in self._file.iter_batches(batch_size=n_rows, use_threads=False):
                batch.validate(full=True)
                done += batch.num_rows
                yield batch, min(1.0, done / max(1, self._file.metadata.num_rows))
            return
        n_parts = self._file.num_record_batches
        for i in range(n_parts):
            part = self._file.get_batch(i)
            part.validate(full=True)
            for start in range(0, part.num_rows, n_rows):
                piece = part.slice(start, n_rows)
                yield piece, (i + (start + piece.num_rows) / part.num_rows) / n_parts


class ArrowDataset(ArrowTable):
    """A `pyarrow.dataset.Dataset`."""

    def __init__(self, dataset: Any) -> None:
        import pyarrow

        super().__init__("the dataset", pyarrow, AS_FOUND)
        self._dataset = dataset
        self._name_columns(dataset.schema.names)

    def _parts(self, n_rows: int) -> Iterator[tuple[Any, float]]:
        # One thread, and little read ahead: otherwise memory grows with the table.
        scan: dict[str, Any] = {"use_threads": False, "batch_readahead": 1, "fragment_readahead": 1}
        if type(getattr(self._dataset, "format", None)).__name__ == "ParquetFileFormat":
            from pyarrow.dataset import ParquetFragmentScanOptions

            how = {"pre_buffer": False, "use_buffered_stream": True, "buffer_size": BUFFER}
            scan["fragment_scan_options"] = ParquetFragmentScanOptions(**how)
        for batch in self._dataset.to_batches(batch_size=n_rows, **scan):
            batch.validate(full=True)
            if batch.num_rows:
                yield batch, 0.0
