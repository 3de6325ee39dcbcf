"""A user's long frame, series or array -> one long frame, and its columns as arrays."""

import numbers
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.data import date_texts
from batchensemble.data.frames import as_array, as_frame
from batchensemble.data.grids import guess_freq
from batchensemble.data.scalars import array_of, is_missing, real
from batchensemble.data.time_words import shown, when
from batchensemble.data.zones import zone_of_texts

YEARS = "expected times between the years 1 and 9999"
FIRST_DATE, LAST_DATE = np.datetime64("0001-01-02", "us"), np.datetime64("9999-12-30", "us")


@dataclass(frozen=True)
class Names:
    """The columns of a long frame: which series, when, and the value."""

    id: str = "unique_id"
    time: str = "ds"
    target: str = "y"


def has_times(data: Any) -> bool:
    """Whether the data say when: arrays, lists and polars series do not."""
    return isinstance(data, pd.Series) or isinstance(as_frame(data), nw.DataFrame)


def is_named(data: Any, names: Names) -> bool:
    """Whether data with times say which series they are."""
    if isinstance(data, pd.Series):
        return data.name is not None
    frame = as_frame(data)
    return not isinstance(frame, nw.DataFrame) or names.id in frame.columns


def one_series(data: Any, names: Names) -> "nw.DataFrame[Any]":
    """A pandas or polars series, an array or a list as a long frame of one series."""
    if isinstance(data, pd.Series):
        name = names.target if data.name is None else str(data.name)
        if isinstance(data.index, pd.MultiIndex):
            raise ValueError(
                f"series {name!r}: expected an index of times, got several levels; make it a long "
                "frame: data.reset_index()"
            )
        columns = {names.time: data.index, names.target: data.array}
        frame: nw.DataFrame[Any] = nw.from_native(pd.DataFrame(columns), eager_only=True)
        return frame.with_columns(nw.lit(name).alias(names.id))
    series = as_frame(data)
    if isinstance(series, nw.Series):
        table: nw.DataFrame[Any] = series.alias(names.target).to_frame()
        return table.with_row_index(names.time).with_columns(nw.col(names.time).cast(nw.Int64))
    accepted = "expected a long frame, a pandas or polars series, or a 1-D array of numbers"
    if not isinstance(data, (np.ndarray, list, tuple)):
        raise TypeError(f"{accepted}, got {type(data).__name__}; make it one of these")
    values = as_array(data)
    if values.dtype.names:
        raise TypeError(f"{accepted}, got an array of records; use pd.DataFrame(data)")
    if values.ndim != 1:
        column = values.ndim == 2 and values.shape[1] == 1
        cure = "call .ravel()" if column else "several series need a long frame"
        raise ValueError(f"{accepted}, got an array of shape {values.shape}; {cure}")
    columns = {names.time: np.arange(len(values)), names.target: values}
    return nw.from_native(pd.DataFrame(columns), eager_only=True)


def check_present(table: "nw.DataFrame[Any]", wanted: list[str], names: Names, what: str) -> None:
    missing = [name for name in wanted if name not in table.columns]
    if missing:
        index = getattr(table.to_native(), "index", None)
        cure = "add them, or give the names of your columns"
        if names.time in missing and isinstance(index, (pd.DatetimeIndex, pd.PeriodIndex)):
            cure = f"its dates are in the index: call .reset_index(names={names.time!r})"
        elif any(name in index_names(table) for name in missing):
            cure = "they are in the index: call .reset_index()"
        raise ValueError(
            f"expected {what} to have the columns {wanted}, got {table.columns} without {missing}; "
            f"{cure}"
        )


def index_names(table: "nw.DataFrame[Any]") -> list[Any]:
    """What the levels of a pandas index are called; other libraries have no index."""
    return list(getattr(getattr(table.to_native(), "index", None), "names", ()))


def read_ids(table: "nw.DataFrame[Any]", names: Names) -> NDArray[Any]:
    if names.id not in table.columns:
        return np.full(len(table), names.target, dtype=object)
    _check_nulls(table[names.id], "id")
    dtype = table[names.id].dtype
    if dtype in (nw.Duration, nw.Int128, nw.UInt128) or getattr(dtype, "time_zone", None):
        raise TypeError(
            f"expected numbers, texts or dates without a zone as ids of series, got {dtype} in the "
            f"column {names.id!r}; convert them to texts"
        )
    ids: NDArray[Any] = table[names.id].to_numpy()
    ids = ids.astype(object) if ids.dtype.kind in "UT" else ids
    if ids.dtype == object:
        try:
            different = set(ids)
        except TypeError as error:  # lists, say
            raise TypeError(
                f"expected numbers or texts as ids of series, got other values in the column "
                f"{names.id!r} ({error}); convert them"
            ) from error
        for odd in (each for each in different if isinstance(each, str) and "\0" in each):
            raise ValueError(  # where pandas stops reading
                f"expected ids of series without the character NUL, got {odd!r}; replace it"
            )
    return ids


def read_times(series: "nw.Series[Any]") -> tuple[Any, Any]:
    """-> (rows,) DatetimeIndex or integer Index; and the frequency, which only periods carry."""
    _check_nulls(series, "time")
    dtype, native = series.dtype, series.to_native()
    if isinstance(getattr(native, "dtype", None), pd.PeriodDtype):
        periods = pd.PeriodIndex(native)
        # 12 are enough to tell business days from days
        run = pd.period_range(periods.min(), periods=12, freq=periods.freq)
        times = _dates(periods.to_timestamp(how="start"))
        return times, guess_freq(run.to_timestamp(how="start"))
    values = array_of(series, "times")  # dates with a time zone come out in UTC
    kind = pd.api.types.infer_dtype(values) if values.dtype == object else values.dtype.kind
    if kind in ("i", "u", "integer"):
        return pd.Index(_integers(values)), None
    if kind in ("M", "date", "datetime"):
        times = _dates(values)
        zone = dtype.time_zone if isinstance(dtype, nw.Datetime) else None
        return (_in_zone(times, zone) if zone else times), None
    if kind in ("string", "U", "T"):
        words = np.array([str(value).strip() for value in values], dtype=object)
        style = date_texts.recognise(words)
        zoned = {*map(date_texts.has_zone, words)}
        if style is not None and not style.doubt and len(zoned) == 1:
            times = _dates(date_texts.parse(words, style.format))
            return (_in_zone(times, zone_of_texts(words, times)) if True in zoned else times), None
    got = values[:1].tolist()[0]
    cure = "convert them with pd.to_datetime(...) (polars: .str.to_datetime())"
    raise ValueError(
        f"expected dates or whole numbers as times, got {got!r} ({type(got).__name__}); "
        f"{cure if isinstance(got, str) else 'make them dates or whole numbers'}"
    )


def _in_zone(times: pd.DatetimeIndex, zone: str) -> pd.DatetimeIndex:
    try:
        return times.tz_localize("UTC").tz_convert(zone)
    except (LookupError, ValueError):
        raise ValueError(
            f"expected times of a known time zone, got {zone!r}; convert them to UTC"
        ) from None


def _integers(values: NDArray[Any]) -> NDArray[np.int64]:
    """Times as 64 bits, and so near to each other that a difference is, too."""
    first, last = int(values.min()), int(values.max())
    if not -(2**63) <= first <= last < 2**63 or last - first >= 2**63:
        raise ValueError(
            f"expected whole numbers as times that lie within 63 bits, got {first} to {last}; "
            "use smaller ones"
        )
    return values.astype(np.int64)


def _dates(values: Any) -> pd.DatetimeIndex:
    """In microseconds or nanoseconds, in the years that Python knows."""
    try:
        times = pd.DatetimeIndex(values)
        if times.unit in ("s", "ms"):
            times = times.as_unit("us")
    except (pd.errors.OutOfBoundsDatetime, OverflowError) as error:
        raise ValueError(f"{YEARS}: {error}") from None
    except NotImplementedError:  # by the clock of its zone
        raise ValueError(f"{YEARS}, got one before or after; correct it") from None
    except (ValueError, TypeError):
        raise ValueError(
            "expected times of one time zone, or all without, got a mixture; make them alike: "
            "pd.to_datetime(..., utc=True)"
        ) from None
    if times.unit == "us":
        moments = times.asi8.view("M8[us]")
        for row in np.flatnonzero((moments < FIRST_DATE) | (moments > LAST_DATE))[:1]:
            raise ValueError(f"{YEARS}, got {moments[row]} in row {row}")
    return times


def read_target(series: "nw.Series[Any]", ids: NDArray[Any], times: Any) -> NDArray[np.float64]:
    """(rows,), NaN where there is no value."""
    numeric = series.cast(nw.Float64) if series.dtype.is_numeric() else series
    values = array_of(numeric, f"values of {series.name!r}")
    if values.dtype.kind in "biuf":
        return np.asarray(values, dtype=np.float64)
    missing = np.array([is_missing(value) for value in values], dtype=bool)
    for row in np.flatnonzero(~missing).tolist():
        value = values[row]
        is_number = isinstance(value, (numbers.Real, Decimal, np.bool_))
        if not is_number or isinstance(value, np.timedelta64):
            got = repr(str(value)) if isinstance(value, str) else str(value)
            raise ValueError(
                f"series {shown(ids, row)} at {when(times[row])}: expected a number in "
                f"{series.name!r}, got {got} ({type(value).__name__}); convert it to numbers"
            )
    return np.array([real(value) for value in values])


def _check_nulls(series: "nw.Series[Any]", what: str) -> None:
    missing = series.is_null().to_numpy()
    if series.dtype == nw.Object:  # of which polars does not know
        missing = np.array([is_missing(value) for value in series.to_list()])
    rows = np.flatnonzero(missing)
    if rows.size:
        raise ValueError(
            f"expected {'an id' if what == 'id' else 'a time'} in every row, got none in row "
            f"{rows[0]} (counted from 0; {rows.size} in all); fill it in or drop the row"
        )
