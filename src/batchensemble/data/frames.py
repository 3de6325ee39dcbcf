"""A user's table -> named columns, each of one kind: number, boolean, category or date.

Arrays, lists of rows, and eager data frames (pandas, polars, pyarrow, ...) all end in the same
columns, so no other file needs to know which library a table came from.
"""

import datetime as dt
import numbers
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from scipy import sparse

from batchensemble.data import scalars
from batchensemble.data.columns import Column, Columns, Kind
from batchensemble.data.sparse_matrices import dense

__all__ = ["Kind", "as_array", "as_frame", "read_columns"]

_NUMBERS = (numbers.Real, np.bool_, Decimal)
_WORDS = (str, bytes, *_NUMBERS)  # words and numbers in one column are categories
_REAL, _OF_CELLS = frozenset("biuf"), frozenset("biufMO")  # kinds of numpy types
FEW_ROWS = 32  # cells of so few are read at once: calls take longer than the values
DURATIONS = (dt.timedelta, np.timedelta64, dt.time)


def read_columns(X: Any) -> Columns:
    """A two-dimensional array, sparse or not, a list of rows or an eager data frame -> `Columns`.

    The columns of an array are called x0, x1, ...; `Columns` are returned unchanged. Anything that
    cannot be read raises a ValueError or TypeError that names the column.
    """
    if isinstance(X, Columns):
        return X
    if type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "iuf" and X.size:
        names = [f"x{j}" for j in range(X.shape[1])]
        return Columns(tuple(_read_block(names, X.dtype.kind * len(names), X)))
    if type(X) is pd.DataFrame and len(X) and len(X.columns) and X.columns.is_unique:
        columns = _read_pandas(X)
        if columns is not None:
            return columns
    if sparse.issparse(X):
        X = dense(X)
    frame = as_frame(X)
    if isinstance(frame, nw.Series):
        raise ValueError(
            "expected a table, got a series; for one row, df.iloc[[0]] or pd.DataFrame([row]); for "
            "a table of one column, X.to_frame()"
        )
    if isinstance(X, Mapping):
        is_row = not any(isinstance(value, (Sequence, np.ndarray)) for value in X.values()) or any(
            isinstance(value, str) for value in X.values()
        )
        raise ValueError(
            f"expected a table, got a {type(X).__name__}; "
            + ("for one row: pd.DataFrame([row])" if is_row else "use pd.DataFrame(X)")
        )
    if isinstance(X, (list, tuple)) and X and isinstance(X[0], Mapping):
        raise ValueError("expected a table, got a list of dicts; use pd.DataFrame(X)")
    if isinstance(frame, nw.DataFrame):
        names = _check_names(frame.columns)
        _check_shape(frame.shape)
        labels = zip(names, frame.columns, strict=True)
        return Columns(tuple(_read_series(name, frame.get_column(label)) for name, label in labels))
    if type(X).__name__ == "RecordBatch":  # numpy would read it without its names
        raise TypeError("expected a table, got a RecordBatch: use pyarrow.Table.from_batches([X])")
    array = as_array(X)
    if array.ndim == 0:
        raise ValueError(
            f"expected a table (2D array or data frame), got a {type(X).__name__}; read a file "
            "first, for example with pandas.read_csv"
        )
    _check_shape(array.shape)
    return Columns(tuple(_read_array(f"x{j}", array[:, j]) for j in range(array.shape[1])))


def as_frame(data: Any) -> "nw.DataFrame[Any] | nw.Series[Any] | None":
    """A frame or a series of any library, as narwhals has it; None for anything else."""
    if isinstance(data, (pd.DataFrame, pd.Series)):
        _check_readable(data)
    try:
        frame = nw.from_native(data, pass_through=True, allow_series=True)
    except DuplicateError:
        _check_names(getattr(data, "column_names", data.columns))
        raise ValueError(  # such as 1 and True, which are equal
            f"column names must be unique, got names that are equal: {list(data.columns)[:20]}; "
            "make all of them texts: X.columns = X.columns.map(str)"
        ) from None
    if isinstance(frame, nw.LazyFrame):
        raise TypeError("expected an eager frame, got a lazy one: call .collect() first")
    return frame if isinstance(frame, (nw.DataFrame, nw.Series)) else None


def _check_readable(data: pd.DataFrame | pd.Series) -> None:
    """Refuse Arrow's types that pandas holds without knowing what they are."""
    dtypes = data.dtypes.items() if isinstance(data, pd.DataFrame) else [(data.name, data.dtype)]
    for name, dtype in dtypes:
        if isinstance(dtype, pd.ArrowDtype):
            try:
                _ = dtype.type
            except NotImplementedError:
                raise TypeError(
                    f"column {str(name)!r}: pandas cannot read its type, {dtype.pyarrow_dtype}; "
                    "cast it with pyarrow to numbers, texts or dates, or drop it"
                ) from None


def _read_pandas(frame: pd.DataFrame) -> Columns | None:
    """A frame of plain types, all numbers of a kind at once; None if it has others."""
    names, dtypes = _check_names(frame.columns.tolist()), frame.dtypes.tolist()
    if not all(isinstance(dtype, (np.dtype, pd.StringDtype)) for dtype in dtypes):
        return None
    kinds = "".join([dtype.kind for dtype in dtypes])
    cells = _few_cells(frame)
    if len(cells) and (_OF_CELLS if cells.dtype == object else _REAL).issuperset(kinds):
        return Columns(tuple(_read_cells(names, kinds, cells)))
    columns: dict[int, Column] = {}
    for kind in set(kinds):
        places = [j for j, each in enumerate(kinds) if each == kind]
        if kind in _REAL:  # one by one takes long
            block = (frame if len(places) == len(names) else frame.iloc[:, places]).to_numpy()
            read = _read_block([names[j] for j in places], kind * len(places), block)
            columns |= zip(places, read, strict=True)
        else:
            columns |= {j: _read_array(names[j], frame.iloc[:, j].to_numpy()) for j in places}
    return Columns(tuple(columns[j] for j in range(len(names))))


def _few_cells(frame: pd.DataFrame) -> NDArray[Any]:
    """(rows, columns) in a type that holds all; no rows if there are many, or pandas cannot."""
    try:
        return np.asarray(frame.to_numpy() if len(frame) <= FEW_ROWS else ())
    except OverflowError:  # of dates in far years
        return np.empty(0)


def _read_cells(names: list[str], kinds: str, cells: NDArray[Any]) -> Iterator[Column]:
    """Cells, (rows, columns), of columns whose types are of these kinds."""
    at = [j for j, kind in enumerate(kinds) if kind in _REAL]
    numbers = iter(_read_block([names[j] for j in at], [kinds[j] for j in at], cells[:, at]))
    for name, kind, values in zip(names, kinds, cells.T, strict=True):
        if kind in _REAL:
            yield next(numbers)
        elif kind == "M":
            yield Column(name, "date", scalars.dates(name, values)[0])
        else:
            yield _read_objects(name, values)


def _read_block(names: list[str], kinds: Iterable[str], block: NDArray[Any]) -> list[Column]:
    """Numbers, (rows, columns), of columns whose types are of these kinds."""
    with np.errstate(over="ignore"):  # a long double may become infinite: refused as such
        numbers = np.array(block.T, np.float64, order="C")
    if np.isinf(numbers).any():
        for name, values in zip(names, numbers, strict=True):
            _number(name, values)
    return [
        Column(name, "boolean" if kind == "b" else "number", values)
        for name, kind, values in zip(names, kinds, numbers, strict=True)
    ]


def _read_series(name: str, series: Any) -> Column:
    dtype = series.dtype
    series = series.cast(nw.Float64) if dtype in (nw.Int128, nw.UInt128) else series
    if dtype in (nw.Categorical, nw.Enum):  # as an array, pyarrow's gaps would be lost
        return Column(name, "category", scalars.texts(series.to_list()), is_coded=True)
    if dtype == nw.String:  # as an array, each text may take the room of the longest
        return _read_array(name, np.array(series.to_list(), dtype=object))
    if dtype == nw.Time:
        return _read_array(name, scalars.times_of_day(series))
    try:
        values = series.to_numpy()  # dates with a time zone come out in UTC
    except (NotImplementedError, OverflowError) as error:  # Arrow's unions, and dates in far years
        raise _refusal(name, 0, f"data of type {dtype} ({error})") from None
    if values.ndim != 1:
        raise _refusal(name, 0, f"a nested value ({dtype})")
    is_zoned = isinstance(dtype, nw.Datetime) and dtype.time_zone is not None
    column = _read_array(name, values)
    return column._replace(is_zoned=True) if is_zoned else column


def _read_array(name: str, values: NDArray[Any]) -> Column:
    kind = values.dtype.kind
    if kind == "b":
        return Column(name, "boolean", values.astype(np.float64))
    if kind in "iuf":
        if values.dtype == np.float64:
            return _number(name, values.copy())
        with np.errstate(over="ignore"):  # a long double may become infinite: refused as such
            return _number(name, values.astype(np.float64))
    if kind == "m":
        return _number(name, scalars.seconds(name, values))._replace(is_span=True)
    if kind == "M":
        return Column(name, "date", scalars.microseconds(name, values))
    if kind in "UST":
        return Column(name, "category", scalars.texts(values.tolist()))
    if kind == "O":
        return _read_objects(name, values)
    if kind == "c":
        raise ValueError(f"Complex data not supported, but column {name!r} is complex")
    raise _refusal(name, 0, f"data of type {values.dtype}")


def _read_objects(name: str, values: NDArray[Any]) -> Column:
    """Objects are of the kind that all their values have in common."""
    if set(map(type, values)) == {str}:  # as in text files: no need to look at each value
        return Column(name, "category", values.copy())
    kinds: set[type] = {type(value) for value in values if not scalars.is_missing(value)}

    def all_are(*accepted: type) -> bool:
        return all(issubclass(kind, accepted) for kind in kinds)

    if any(issubclass(kind, (complex, np.complexfloating)) for kind in kinds):
        raise ValueError(f"Complex data not supported, but column {name!r} holds complex numbers")
    truths = {kind for kind in kinds if issubclass(kind, (bool, np.bool_))}
    # Beside other numbers, True is a word: read as 1, it would be one in some batches only.
    if (all_are(*_NUMBERS) and truths in (set(), kinds)) or all_are(*DURATIONS):
        reals = np.array([scalars.real(value, name) for value in values])
        if truths:
            return Column(name, "boolean", reals)
        return _number(name, reals)._replace(is_span=bool(kinds) and all_are(*DURATIONS))
    if all_are(*_WORDS):
        return Column(name, "category", scalars.texts(values))
    if all_are(dt.date, np.datetime64) or all_are(pd.Period):
        return Column(name, "date", *scalars.dates(name, values))
    row = next(
        i for i, v in enumerate(values) if not (scalars.is_missing(v) or isinstance(v, _WORDS))
    )
    others = sorted(kind.__name__ for kind in kinds - {type(values[row])})
    beside = f" among {', '.join(others)}" if others else ""
    raise _refusal(name, row, type(values[row]).__name__ + beside)


def _number(name: str, values: NDArray[np.float64]) -> Column:
    if np.isinf(values).any():
        infinite = np.flatnonzero(np.isinf(values))
        raise ValueError(
            f"Input X contains infinity or a value too large for float64: column {name!r}, row "
            f"{infinite[0]} (counted from 0); make it missing (NaN), replace it or drop the row"
        )
    return Column(name, "number", values)


def as_array(X: Any) -> NDArray[Any]:
    """An array of what is no frame; lists and masked arrays as objects, None being a gap."""
    if isinstance(X, np.ma.MaskedArray):  # numpy alone would bring the masked values back
        shown: NDArray[Any] = X.data.astype(X.dtype if X.dtype.kind in "mM" else object)
        shown[np.ma.getmaskarray(X)] = None
        return shown
    try:
        # rows in a list may mix words and numbers, which numpy would turn into words altogether
        array = np.array(X, dtype=object) if isinstance(X, (list, tuple)) else np.asarray(X)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"expected a table (2D array, list of equally long rows, or data frame), got a "
            f"{type(X).__name__} that numpy cannot read: {error}"
        ) from error
    is_flat = array.ndim == 1 and array.dtype == object
    if is_flat and any(isinstance(row, (list, tuple, np.ndarray)) for row in array):
        raise ValueError(
            "expected rows of equal length, got a list of rows of different lengths; fill short "
            "rows up with None"
        )
    return array


def _check_names(labels: Iterable[Any]) -> list[str]:
    names = [str(label) for label in labels]
    if len(set(names)) < len(names):
        twice = [name for name, count in Counter(names).items() if count > 1]
        raise ValueError(f"column names must be unique, got more than once: {twice}; rename them")
    return names


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise ValueError(
            f"Expected 2D array, got {len(shape)}D data of shape {shape} instead. Reshape your "
            "data: array.reshape(-1, 1) if it is one column, array.reshape(1, -1) if one row"
        )
    for count, what in zip(shape, ("sample", "feature"), strict=True):
        if count == 0:
            raise ValueError(
                f"Found a table with 0 {what}(s) (shape={shape}) while a minimum of 1 is required."
            )


def _refusal(name: str, row: int, got: str) -> TypeError:
    return TypeError(
        f"column {name!r}, row {row} (counted from 0): argument must be a string or a number, or "
        f"all of a column a boolean or a date, not {got}"
    )
