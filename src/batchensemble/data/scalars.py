"""Single values of Python, numpy and pandas -> numbers, dates in UTC, and names of categories."""

import datetime as dt
import numbers
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.predictive.checks import refuse_masked

GAPS = frozenset(  # texts of files that stand for no value
    ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-nan", "NULL", "null", "None")
)
LARGEST = 1e300  # whole numbers beyond it are no categories of their own
NO_DATE = np.datetime64("NaT", "us")
_YEARS = "expected dates between the years 1 and 9999 in UTC"


def array_of(values: Any, name: str, dtype: Any = None) -> NDArray[Any]:
    """Values of any library, one for each row; `name` is that of the argument, for errors."""
    refuse_masked(name, values)
    try:
        array = np.asarray(values, dtype)
    except Exception as error:  # tensors with gradients, far dates, integers of 128 bits, ...
        raise ValueError(
            f"{name}: expected one value for each row, got a {type(values).__name__} that numpy "
            f"cannot read: {error!s:.200}; convert it to an array of numbers or texts"
        ) from error
    if array.dtype.kind == "T":  # numpy's own texts, which numpy cannot sort yet
        return array.astype(object)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def category_text(value: Any) -> str | None:
    """The name of a category: text as it is; a whole number without decimals; else `str`.

    So 1, 1.0 and "1" are one category (a gap turns integers into floats, which must not rename
    them), 1.5 is "1.5", True is "True", and None, NaN, NaT and NA are all missing (None). Whole
    numbers keep all their digits, other numbers those of a float, which past 2**53 are not theirs.
    """
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if is_missing(value):
        return None
    is_number = isinstance(value, (numbers.Real, Decimal)) and not isinstance(value, np.timedelta64)
    if isinstance(value, bool) or not is_number:
        return str(value)
    number = real(value)
    is_exact = isinstance(value, (numbers.Integral, Decimal))
    if number.is_integer() and abs(number) < (LARGEST if is_exact else 2**64):
        return str(round(value if is_exact else number))
    return repr(number)


def real(value: Any, name: str = "") -> float:
    """A number, NaN if missing; durations in seconds; `name` is that of the column, for errors."""
    if is_missing(value):
        return float("nan")
    if isinstance(value, pd.Timedelta):  # its own seconds lack nanoseconds
        value = value.to_timedelta64()
    if isinstance(value, np.timedelta64):
        return float(seconds(name, np.asarray(value)))
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if isinstance(value, dt.time):
        return value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6
    try:
        return float(value)
    except OverflowError:  # an integer past 1.8e308
        return float("inf") if value > 0 else float("-inf")


def times_of_day(series: Any) -> NDArray[Any]:
    """A narwhals series of them, which Python knows to the microsecond, Arrow to the nanosecond."""
    native = series.to_native()
    if type(native).__module__.startswith("pyarrow"):
        series = native.cast("time64[us]", safe=False)
    return np.asarray(series.to_numpy())


def seconds(name: str, values: NDArray[Any]) -> NDArray[np.float64]:
    """timedelta64 -> float64; by a product, because a cast to a finer unit may overflow."""
    unit, count = np.datetime_data(values.dtype)
    if unit in ("Y", "M"):
        raise TypeError(f"column {name!r}: years or months have no fixed length; use days")
    one = np.timedelta64(1, "s" if unit == "generic" else unit) / np.timedelta64(1, "s")  # type: ignore[call-overload]
    counted = values.astype(np.int64).astype(np.float64) * (count * one)
    return np.where(np.isnat(values), np.nan, counted)


def microseconds(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """datetime64 of any unit -> datetime64[us]; outside these years the cast could overflow."""
    if np.datetime_data(values.dtype)[0] not in ("ps", "fs", "as"):  # at most half a year from 1970
        years = values.astype("datetime64[Y]").astype(np.int64) + 1970
        outside = np.flatnonzero(~np.isnat(values) & ((years < 1) | (years > 9999)))
        if outside.size:
            raise ValueError(f"column {name!r}: {_YEARS}, got {values[outside[0]]}")
    return in_microseconds(values)


def in_microseconds(values: NDArray[Any]) -> NDArray[Any]:
    """The same of times that are known to be in these years."""
    if np.datetime_data(values.dtype) != ("ns", 1):
        return values.astype("datetime64[us]")
    ticks = values.astype(np.int64)  # numpy's own cast overflows near the first nanosecond
    return np.where(np.isnat(values), ticks, ticks // 1000).astype("datetime64[us]")


def dates(name: str, values: NDArray[Any]) -> tuple[NDArray[Any], bool]:
    """Python dates, with or without time and zone, and datetime64 scalars -> UTC; have they zones?

    All have, or none: an hour without a zone is not an hour in UTC. A period of pandas is the date
    on which it begins.
    """
    if any(isinstance(value, pd.Period) for value in values):
        return _starts(name, values), False
    moments, zoned = np.full(len(values), NO_DATE), set()
    for row, value in enumerate(values):
        if isinstance(value, np.datetime64):
            if value == value:
                zoned.add(False)
            moments[row] = microseconds(name, np.array([value]))[0]
        elif not is_missing(value):
            aware = isinstance(value, dt.datetime) and value.tzinfo is not None
            try:
                moment = value.astimezone(dt.UTC).replace(tzinfo=None) if aware else value
            except OverflowError:
                moment = None
            if moment is None or not 1 <= moment.year <= 9999:  # pandas knows others
                raise ValueError(f"column {name!r}: {_YEARS}, got {value}")
            moments[row] = moment
            zoned.add(aware)
        if len(zoned) == 2:
            raise ValueError(
                f"column {name!r}: expected all times with a zone or all without, got both, the "
                f"first of the others in row {row} (counted from 0); give all a zone, or none"
            )
    return moments, True in zoned


def _starts(name: str, periods: NDArray[Any]) -> NDArray[Any]:
    try:
        starts = pd.PeriodIndex(periods).to_timestamp().to_numpy()
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"column {name!r}: expected periods of one length in the years 1 to 9999 ({error}); "
            "convert them to dates"
        ) from None
    return microseconds(name, starts)


def texts(values: Iterable[Any]) -> NDArray[Any]:
    """The names of categories, None where there is no value."""
    names = [value if type(value) is str else category_text(value) for value in values]
    return np.array(names, dtype=object)


def is_missing(value: Any) -> bool:
    """None, NaN of any kind, NaT and pandas' NA (told by name: pandas need not be installed)."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, (float, np.generic)) and bool(value != value)
