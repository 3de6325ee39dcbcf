"""A user's time series -> a `Panel`: series after series, each on a regular grid of times.

Long frames (one row for each series and time), arrays and single series all end in the same panel.
Rows may come in any order, and what comes before the first value of a series is dropped; every
other doubt about the data is an error that names the series, the time and the cure.
"""

import numbers
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.exceptions import DuplicateError
from numpy.typing import ArrayLike, NDArray

from batchensemble.frames import Column, Columns, read_columns
from batchensemble.words import one_of

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Names:
    """The columns of a long frame: which series, when, and the value."""

    id: str = "unique_id"
    time: str = "ds"
    target: str = "y"


NAMES = Names()


@dataclass(frozen=True, eq=False)
class Panel:
    """Series on one regular time grid each, one after the other, without gaps.

    ids      (series,) as the user wrote them, in order of first appearance
    starts   (series + 1,): series i owns the rows starts[i]:starts[i + 1]
    times    (rows,) dates, in the user's time zone, or integers
    values   (rows,) the target
    columns  exogenous columns row by row, None where there are none
    freq     from one time to the next: a pandas offset, or a step for integers
    backend  the library in which `frame` answers: "pandas", "polars", ...
    dtypes   of the id and the time column in that library, so that answers join the user's frame
    """

    ids: NDArray[Any]
    starts: Ints
    times: pd.Index
    values: NDArray[np.float64]
    columns: Columns | None
    freq: pd.offsets.BaseOffset | int
    names: Names
    backend: str
    dtypes: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def lengths(self) -> Ints:
        """(series,), the rows of each series."""
        return np.diff(self.starts)

    def rows(self, i: int) -> slice:
        """The rows of series i."""
        return slice(int(self.starts[i]), int(self.starts[i + 1]))

    def head(self, dropped: ArrayLike) -> "Panel":
        """Without the last `dropped` rows of each series: one number, or one for each series."""
        counts = np.broadcast_to(np.asarray(dropped, dtype=np.int64), (len(self),))
        for i in np.flatnonzero((counts < 0) | (counts >= self.lengths))[:1]:
            raise ValueError(
                f"series {_id(self, i)}: expected to drop at least 0 and fewer than its "
                f"{self.lengths[i]} rows, got {counts[i]}; drop fewer rows or leave the series out"
            )
        return _take(self, self.starts[:-1], self.starts[1:] - counts)

    def tail(self, n: int) -> "Panel":
        """The last n rows of each series; all of a series that is shorter."""
        if n < 1:
            raise ValueError(f"expected n to be at least 1 row of each series, got {n}")
        return _take(self, np.maximum(self.starts[:-1], self.starts[1:] - n), self.starts[1:])

    def extended(self, new: "Panel") -> "Panel":
        """This history followed by `new` rows, which go on right after the end of their series."""
        known = _match(self, new.ids)
        for j in np.flatnonzero(known < 0)[:1]:
            raise ValueError(
                f"expected only series that fit has seen, got series {_id(new, j)}: fit has not "
                "seen it; fit again with it, or leave it out"
            )
        if new.freq != self.freq:
            raise ValueError(
                f"expected new rows of the frequency {_word(self.freq)}, got {_word(new.freq)}; "
                "resample them to the frequency of the history"
            )
        times = _alike(new.times, self.times)
        _check_joins(self, new, times, known)
        series = np.concatenate([_series(self.starts), known[_series(new.starts)]])
        order = np.argsort(series, kind="stable")
        return replace(
            self,
            starts=_starts(np.bincount(series, minlength=len(self))),
            times=self.times.append(times)[order],
            values=np.concatenate([self.values, new.values])[order],
            columns=_stacked(self.columns, new.columns, order),
        )

    def future_times(self, h: int) -> pd.Index:
        """(series * h,), series by series: the h times of the grid after each series' end."""
        lasts = self.times[self.starts[1:] - 1]
        times = _grid(lasts, np.full(len(self), h + 1), self.freq)
        return times[np.arange(len(times)) % (h + 1) > 0]

    def frame(self, columns: Mapping[str, ArrayLike]) -> Any:
        """A frame of the user's library with these columns, in order."""
        if self.backend == "pandas":
            return pd.DataFrame(dict(columns))
        plain = {name: _plain(values) for name, values in columns.items()}
        frame = nw.from_dict(plain, backend=self.backend)  # type: ignore[arg-type]
        for name, values in columns.items():
            if zone := getattr(values, "tz", None):
                moment = nw.col(name).dt.replace_time_zone("UTC").dt.convert_time_zone(str(zone))
                frame = frame.with_columns(moment)
            if name in self.dtypes:
                frame = frame.with_columns(nw.col(name).cast(self.dtypes[name]))
        return frame.to_native()


def read_panel(
    data: Any,
    *,
    names: Names = NAMES,
    columns: Sequence[str] = (),
    freq: str | int | pd.offsets.BaseOffset | None = None,
    fill: str | None = None,
    fewest: int = 1,
) -> Panel:
    """Time series of any accepted form -> `Panel`; a `Panel` is handed back as it is.

    Accepted are long frames with the columns `names` and the exogenous `columns` (without a column
    of ids: one series), pandas and polars series, and one-dimensional arrays and lists. `freq` is
    inferred from all series together if it is None. `fill` ("interpolate" or "ffill") closes gaps,
    missing rows as well as missing values, of the target and of numeric columns in missing rows;
    it drops missing values at the end of a series. Those at its beginning are always dropped.
    """
    if isinstance(data, Panel):
        return data
    if fill is not None:
        one_of(fill, ("interpolate", "ffill"), "fill")
    raw, found = _read(data, names, list(columns))
    panel = _trimmed(raw, with_ends=fill is not None)
    _check_values(panel, fill)
    given = _offset(found if freq is None else freq, panel.times)
    panel = replace(panel, freq=_infer(panel) if given is None else given)
    at = _positions(panel.times, panel.starts, panel.freq)
    _check_grid(panel, at, inferred=given is None)
    panel = _without_gaps(panel, at, fill)
    check_lengths(panel, fewest)
    return panel


def read_future(panel: Panel, frame: Any, h: int, columns: Sequence[str]) -> Columns:
    """The exogenous `columns` at `panel.future_times(h)`, in that order; other rows are ignored."""
    table = _as_frame(frame)
    if table is None:
        raise TypeError(
            f"expected a frame with the next {h} times of each series and the columns "
            f"{list(columns)}, got {type(frame).__name__}"
        )
    if not len(table):
        raise ValueError(f"expected rows for the next {h} times of each series, got none")
    one = len(panel) == 1 and panel.names.id not in table.columns
    needed = [*([] if one else [panel.names.id]), panel.names.time, *columns]
    _check_present(table, needed, panel.names, "the frame of the future")
    which = np.zeros(len(table), int) if one else _match(panel, _read_ids(table, panel.names))
    wanted = panel.future_times(h)
    times = _alike(_read_times(table[panel.names.time])[0], panel.times)
    moments, _ = pd.factorize(wanted.append(times))
    series = np.concatenate([np.repeat(np.arange(len(panel)), h), which])
    keys = np.where(series < 0, -1, series * (moments.max() + 1) + moments)  # -1: not of the panel
    asked, offered = pd.Index(keys[: len(wanted)]), pd.Index(keys[len(wanted) :])
    for row in np.flatnonzero(offered.duplicated() & offered.isin(asked))[:1]:
        raise ValueError(
            f"expected one row for each series and time, got more than one for series "
            f"{_id(panel, which[row])} at {_when(times[row])}; drop the others"
        )
    kept = np.flatnonzero(offered.isin(asked))
    at = offered[kept].get_indexer(asked)
    absent = np.flatnonzero(at < 0)
    for row in absent[:1]:
        raise ValueError(
            f"expected a row for each of the next {h} times of every series, got none for series "
            f"{_id(panel, row // h)} at {_when(wanted[row])} ({absent.size} of {len(wanted)} rows "
            "are missing); add them to the frame of the future"
        )
    return read_columns(table.select(columns).to_native()).take(kept[at])


def _read(data: Any, names: Names, columns: list[str]) -> tuple[Panel, Any]:
    """-> rows sorted by series and time, and the frequency the data carry themselves, if any."""
    table = _as_frame(data)
    if table is None:
        if columns:
            raise ValueError(f"expected a long frame, to find the columns {columns} in, got none")
        table = _one_series(data, names)
    else:
        _check_present(table, [names.time, names.target, *columns], names, "the frame")
        extra = set(table.columns) - {names.id, names.time, names.target, *columns}
        if extra:
            listed = [name for name in table.columns if name in extra]
            several = "" if names.id in table.columns else " (or name the one that holds the ids)"
            raise ValueError(
                f"expected no columns but {[names.id, names.time, names.target, *columns]}, got "
                f"also {listed}; list them in future_columns= or past_columns=, or drop "
                f"them{several}"
            )
    if not len(table):
        raise ValueError("expected at least one row, got none: the data are empty")
    ids = _read_ids(table, names)
    codes, unique = pd.factorize(ids)
    times, freq = _read_times(table[names.time])
    order = np.lexsort((_ticks(times), codes))
    panel = Panel(
        ids=np.asarray(unique),
        starts=_starts(np.bincount(codes)),
        times=times[order],
        values=_read_target(table[names.target], ids, times)[order],
        columns=read_columns(table.select(columns).to_native()).take(order) if columns else None,
        freq=freq,
        names=names,
        backend=table.implementation.value,
        dtypes={n: table.schema[n] for n in (names.id, names.time) if n in table.columns},
    )
    _check_duplicates(panel)
    return panel, freq


def _as_frame(data: Any) -> "nw.DataFrame[Any] | None":
    """A narwhals frame, or None if the data are no frame."""
    try:
        frame = nw.from_native(data, pass_through=True)
    except DuplicateError as error:
        raise ValueError(f"column names must be unique, got: {error}; rename them") from None
    if isinstance(frame, nw.LazyFrame):
        raise TypeError("expected a frame with its rows at hand, got a lazy one: call .collect()")
    return frame if isinstance(frame, nw.DataFrame) else None


def _one_series(data: Any, names: Names) -> "nw.DataFrame[Any]":
    """A pandas or polars series, an array or a list as a long frame of one series."""
    series = nw.from_native(data, pass_through=True, allow_series=True)
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
    if isinstance(series, nw.Series):
        table: nw.DataFrame[Any] = series.alias(names.target).to_frame()
        return table.with_row_index(names.time).with_columns(nw.col(names.time).cast(nw.Int64))
    values = _as_array(data)
    return nw.from_native(
        pd.DataFrame({names.time: np.arange(len(values)), names.target: values}), eager_only=True
    )


def _as_array(data: Any) -> NDArray[Any]:
    if isinstance(data, np.ma.MaskedArray):  # numpy alone would bring the masked values back
        data = np.ma.filled(data.astype(np.float64), np.nan)
    expected = "expected a long frame, a pandas or polars series, or a 1-D array of numbers"
    if not isinstance(data, (np.ndarray, list, tuple)):
        raise TypeError(f"{expected}, got {type(data).__name__}")
    array = np.asarray(data, dtype=None if isinstance(data, np.ndarray) else object)
    if array.ndim != 1:
        column = array.ndim == 2 and array.shape[1] == 1
        cure = "call .ravel()" if column else "several series need a long frame"
        raise ValueError(f"{expected}, got an array of shape {array.shape}; {cure}")
    return array


def _check_present(table: "nw.DataFrame[Any]", wanted: list[str], names: Names, what: str) -> None:
    missing = [name for name in wanted if name not in table.columns]
    if missing:
        index = getattr(table.to_native(), "index", None)
        hidden = names.time in missing and isinstance(index, (pd.DatetimeIndex, pd.PeriodIndex))
        dates = f"its dates are in the index: call .reset_index(names={names.time!r})"
        raise ValueError(
            f"expected {what} to have the columns {wanted}, got {table.columns} without {missing}; "
            f"{dates if hidden else 'add them, or say how your columns are called'}"
        )


def _read_ids(table: "nw.DataFrame[Any]", names: Names) -> NDArray[Any]:
    if names.id not in table.columns:
        return np.full(len(table), names.target, dtype=object)
    _check_nulls(table[names.id], "id")
    ids: NDArray[Any] = table[names.id].to_numpy()
    return ids.astype(object) if ids.dtype.kind in "UT" else ids


def _read_times(series: "nw.Series[Any]") -> tuple[Any, Any]:
    """-> (rows,) DatetimeIndex or integer Index; and the frequency, which only periods carry."""
    _check_nulls(series, "time")
    dtype, native = series.dtype, series.to_native()
    if isinstance(getattr(native, "dtype", None), pd.PeriodDtype):
        periods = pd.PeriodIndex(native)
        # 12 are enough to tell business days from days
        run = pd.period_range(periods.min(), periods=12, freq=periods.freq)
        return periods.to_timestamp(how="start"), _inferred(run.to_timestamp(how="start"))
    values: Any = series.to_numpy()  # dates with a time zone come out in UTC
    kind = pd.api.types.infer_dtype(values) if values.dtype == object else values.dtype.kind
    if kind in ("i", "u", "integer"):
        return pd.Index(values.astype(np.int64)), None
    if kind in ("M", "date", "datetime"):
        times = pd.DatetimeIndex(values)
        times = times.as_unit("us") if times.unit in ("s", "ms") else times
        zone = dtype.time_zone if isinstance(dtype, nw.Datetime) else None
        return (times.tz_localize("UTC").tz_convert(zone) if zone else times), None
    got = values[:1].tolist()[0]
    cure = "convert them with pd.to_datetime(...) (polars: .str.to_datetime())"
    raise ValueError(
        f"expected dates or whole numbers as times, got {got!r} ({type(got).__name__}); "
        f"{cure if isinstance(got, str) else 'make them dates or whole numbers'}"
    )


def _read_target(series: "nw.Series[Any]", ids: NDArray[Any], times: Any) -> NDArray[np.float64]:
    """(rows,), NaN where there is no value."""
    values: Any = (series.cast(nw.Float64) if series.dtype.is_numeric() else series).to_numpy()
    if values.dtype.kind in "biuf":
        return np.asarray(values, dtype=np.float64)
    objects, missing = list(values), pd.isna(values)
    for row, value in enumerate(objects):
        number = isinstance(value, (numbers.Real, Decimal, np.bool_))
        if not missing[row] and (not number or isinstance(value, np.timedelta64)):
            got = repr(str(value)) if isinstance(value, str) else str(value)
            raise ValueError(
                f"series {_shown(ids, row)} at {_when(times[row])}: expected a number in "
                f"{series.name!r}, got {got} ({type(value).__name__}); convert it to numbers"
            )
    return np.array([np.nan if m else float(v) for v, m in zip(objects, missing, strict=True)])


def _check_nulls(series: "nw.Series[Any]", what: str) -> None:
    rows = np.flatnonzero(series.is_null().to_numpy())
    if rows.size:
        raise ValueError(
            f"expected {'an id' if what == 'id' else 'a time'} in every row, got none in row "
            f"{rows[0]} (counted from 0; {rows.size} in all); fill it in or drop the row"
        )


def _check_duplicates(panel: Panel) -> None:
    ticks, series = _ticks(panel.times), _series(panel.starts)
    again = np.flatnonzero((np.diff(ticks) == 0) & (np.diff(series) == 0)) + 1
    for row in again[:1]:
        where = f"series {_id(panel, series[row])} at {_when(panel.times[row])}"
        raise ValueError(
            f"expected one row for each series and time, got more than one for {where} "
            f"({again.size} rows too many in all); drop them, average them, or check the ids"
        )


def _trimmed(panel: Panel, with_ends: bool) -> Panel:
    """Without the missing values before the first value of each series (and after the last)."""
    series, some = _series(panel.starts), np.flatnonzero(~np.isnan(panel.values))
    counts = np.bincount(series[some], minlength=len(panel))
    for i in np.flatnonzero(counts == 0)[:1]:
        raise ValueError(
            f"series {_id(panel, i)}: expected at least one value, got only missing values in its "
            f"{panel.lengths[i]} rows; leave the series out"
        )
    ends = _starts(counts)
    stops = some[ends[1:] - 1] + 1 if with_ends else panel.starts[1:]
    return _take(panel, some[ends[:-1]], stops)


def _check_values(panel: Panel, fill: str | None) -> None:
    series = _series(panel.starts)
    for row in np.flatnonzero(np.isinf(panel.values))[:1]:
        raise ValueError(
            f"series {_id(panel, series[row])} at {_when(panel.times[row])}: expected a finite "
            f"number, got {panel.values[row]}; correct it, or make it missing and pass fill="
        )
    missing = np.isnan(panel.values)
    if fill is not None or not missing.any():
        return
    row = int(missing.argmax())
    rows = panel.rows(series[row])
    got = (
        f"series {_id(panel, series[row])}: expected a value at every time, got "
        f"{missing[rows].sum()} missing, the first at {_when(panel.times[row])}"
    )
    others = len(set(series[missing])) - 1
    also = f" (also missing: values of {others} other series)" if others else ""
    if missing[row : rows.stop].all():
        raise ValueError(f"{got}{also}; they are at the end of the series: drop these rows")
    raise ValueError(f'{got}{also}; pass fill="interpolate" or fill="ffill", or fill them in')


def _without_gaps(panel: Panel, at: Ints, fill: str | None) -> Panel:
    """With a row for every time of the grid; `at` are the positions of the rows there are."""
    counts = at[panel.starts[1:] - 1] + 1
    if fill is None:
        _check_complete(panel, at, counts)
        return panel
    starts = _starts(counts)
    series = _series(starts)
    rows = starts[_series(panel.starts)] + at
    values = np.full(starts[-1], np.nan)
    values[rows] = panel.values
    inserted = np.ones(len(values), dtype=bool)
    inserted[rows] = False
    source = np.zeros(len(values), dtype=np.int64)
    source[rows] = np.arange(len(rows))

    def spread(column: Column) -> Column:
        nothing = {"category": None, "date": np.datetime64("NaT")}.get(column.kind, np.nan)
        spaced = column.values[source]
        spaced[inserted] = nothing
        if column.kind == "number":
            spaced = np.where(inserted, _filled(spaced, series, fill), spaced)
        return Column(column.name, column.kind, spaced)

    return replace(
        panel,
        starts=starts,
        times=_grid(panel.times[panel.starts[:-1]], counts, panel.freq),
        values=_filled(values, series, fill),
        columns=panel.columns and Columns(tuple(map(spread, panel.columns))),
    )


def _filled(values: NDArray[np.float64], series: Ints, fill: str) -> NDArray[np.float64]:
    """NaN filled from the values of the same series before, or before and after."""
    rows, known, n = np.arange(len(values)), ~np.isnan(values), len(values)
    before = np.maximum.accumulate(np.where(known, rows, 0))
    after = np.minimum.accumulate(np.where(known, rows, n - 1)[::-1])[::-1]
    after = before if fill == "ffill" else after
    usable = known[before] & known[after] & (series[before] == series) & (series[after] == series)
    share = (rows - before) / np.maximum(after - before, 1)
    between = (1 - share) * values[before] + share * values[after]
    return np.where(known | ~usable, values, between)


def _check_complete(panel: Panel, at: Ints, counts: Ints) -> None:
    gaps = np.flatnonzero(counts > panel.lengths)
    for i in gaps[:1]:
        rows = panel.rows(i)
        times = _grid(panel.times[rows.start : rows.start + 1], counts[[i]], panel.freq)
        missing = times[np.setdiff1d(np.arange(counts[i]), at[rows])]
        also = f" (and {len(gaps) - 1} other series have gaps)" if len(gaps) > 1 else ""
        raise ValueError(
            f"series {_id(panel, i)}: expected a row at every time of the frequency "
            f"{_word(panel.freq)}, got none for {_some(missing)}{also}; pass "
            'fill="interpolate" or fill="ffill", or add the rows'
        )


def check_lengths(panel: Panel, fewest: int) -> None:
    short = np.flatnonzero(panel.lengths < fewest)
    if short.size:
        i = int(panel.lengths.argmin())
        n = panel.lengths[i]
        also = f" ({short.size - 1} other series are too short as well)" if short.size > 1 else ""
        raise ValueError(
            f"series {_id(panel, i)}: expected at least {fewest} rows, got {n}: it needs "
            f"{fewest - n} more{also}; add rows, ask for less, or leave short series out"
        )


def _check_joins(old: Panel, new: Panel, times: Any, known: Ints) -> None:
    """The first new row of each series is one step after the last old one."""
    lasts, firsts = old.times[old.starts[1:] - 1][known], times[new.starts[:-1]]
    for j in np.flatnonzero(_ticks(firsts) <= _ticks(lasts))[:1]:
        raise ValueError(
            f"series {_id(new, j)}: expected new rows after its end at {_when(lasts[j])}, got one "
            f"at {_when(firsts[j])}; pass only rows that are new"
        )
    pairs = lasts.append(firsts)[np.arange(2 * len(new)).reshape(2, -1).T.ravel()]
    steps = _positions(pairs, 2 * np.arange(len(new) + 1), old.freq)[1::2]
    for j in np.flatnonzero(steps < 0)[:1]:
        raise _off_grid(new, j, firsts[j], old.freq, lasts[j])
    for j in np.flatnonzero(steps > 1)[:1]:
        missing = _grid(lasts[j : j + 1], steps[[j]], old.freq)[1:]
        raise ValueError(
            f"series {_id(new, j)}: expected new rows right after its end at {_when(lasts[j])}, "
            f"got none for {_some(missing)}; add them (gaps before new rows are not filled)"
        )


def _stacked(old: Columns | None, new: Columns | None, order: Ints) -> Columns | None:
    expected, got = old.names if old else [], new.names if new else []
    if sorted(expected) != sorted(got):
        raise ValueError(f"expected the exogenous columns {expected} as at fit, got {got}")
    if old is None or new is None:
        return None
    pairs = [(column, new[got.index(column.name)].as_kind(column.kind)) for column in old]
    both = [Column(a.name, a.kind, np.concatenate([a.values, b.values])) for a, b in pairs]
    return Columns(tuple(both)).take(order)


def _offset(freq: Any, times: Any) -> Any:
    """The frequency as given -> an offset for dates, an integer for integers; None stays None."""
    if freq is None:
        return None
    dated = isinstance(times, pd.DatetimeIndex)
    whole = isinstance(freq, numbers.Integral) and not isinstance(freq, bool)
    if whole is dated:
        wanted = "a frequency of dates such as 'D'" if dated else "a whole number as the step"
        raise ValueError(f"expected freq= to be {wanted}, as the times are, got {freq!r}")
    try:
        step: Any = int(freq) if whole else pd.tseries.frequencies.to_offset(freq)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"expected freq= such as 'D', 'h' or 'MS', got {freq!r}: {error}"
        ) from None
    if (step if whole else step.n) < 1:
        raise ValueError(f"expected freq= to go forward in time, got {freq!r}")
    return step


def _infer(panel: Panel) -> Any:
    """The frequency of all series together: the coarsest guess whose grid holds every time."""
    if not isinstance(panel.times, pd.DatetimeIndex):
        return _common_step(panel)
    long = np.flatnonzero(panel.lengths >= 3)
    if not long.size:
        raise ValueError(
            f"expected freq=, or a series of at least 3 times to infer it from, got at most "
            f"{panel.lengths.max()} in each series; pass freq='D' for days, for example"
        )
    looked_at = long[np.unique(np.linspace(0, len(long) - 1, 10).astype(int))]
    guesses = Counter[Any]()
    for i in looked_at:
        guesses.update(_guesses(panel.times[panel.rows(i)], 60 // len(looked_at)))
    fitting = {}
    for guess, _ in guesses.most_common(8):
        at = _positions(panel.times, panel.starts, guess)
        if (at >= 0).all():
            fitting[guess] = at[panel.starts[1:] - 1].sum()
    if fitting:
        return min(fitting, key=lambda guess: fitting[guess])
    if guesses:
        return guesses.most_common(1)[0][0]
    raise ValueError(
        f"expected times at a regular frequency, found none in series {_id(panel, long[0])}, which "
        f"has {_some(panel.times[panel.rows(long[0])])}; resample it, or pass freq="
    )


def _guesses(times: Any, n: int) -> Iterator[Any]:
    """What pandas infers from the whole and from up to 3 n windows, since a gap spoils the whole.

    Short ones fit between gaps; only longer ones tell business days from days.
    """
    for length in {len(times), *(min(size, len(times)) for size in (3, 6, 12))}:
        for start in np.unique(np.linspace(0, len(times) - length, n).astype(int)):
            guess = _inferred(times[start : start + length])
            if guess is not None:
                yield guess


def _inferred(times: Any) -> Any:
    with warnings.catch_warnings():  # pandas 3.1 announces that 4 will answer with an offset
        warnings.simplefilter("ignore")
        return pd.tseries.frequencies.to_offset(pd.infer_freq(times))


def _common_step(panel: Panel) -> int:
    steps = np.diff(_ticks(panel.times))[np.diff(_series(panel.starts)) == 0]
    sizes, counts = np.unique(steps, return_counts=True)
    return int(sizes[counts.argmax()]) if steps.size else 1


def _check_grid(panel: Panel, at: Ints, inferred: bool) -> None:
    """Every time on its grid, and no series on a much finer grid than its own."""
    series = _series(panel.starts)
    for row in np.flatnonzero(at < 0)[:1]:
        i = series[row]
        first = panel.times[panel.starts[i]]
        raise _off_grid(panel, i, panel.times[row], panel.freq, first, _other(panel, at, i))
    sparse = np.flatnonzero((at[panel.starts[1:] - 1] >= panel.lengths) & (panel.lengths > 2))
    for i in sparse.tolist() if inferred else []:
        step = np.quantile(np.diff(at[panel.rows(i)]), 0.5, method="lower")
        if step > 1:
            raise ValueError(
                f"series {_id(panel, i)}: expected the frequency {_word(panel.freq)}, got times "
                f"that are {step} steps apart; frequencies may be mixed"
                f"{_other(panel, at, i)}; resample to one frequency, or pass freq="
            )


def _off_grid(
    panel: Panel, i: int, time: Any, freq: Any, first: Any, other: str = ""
) -> ValueError:
    return ValueError(
        f"series {_id(panel, i)}: expected times of the frequency {_word(freq)} from "
        f"{_when(first)} on, got {_when(time)}; frequencies may be mixed{other}; resample to one "
        "frequency, or pass another freq="
    )


def _other(panel: Panel, at: Ints, i: int) -> str:
    """What the series looks like by itself, and one that has the panel's frequency."""
    times = panel.times[panel.rows(i)]
    try:
        own = _infer(replace(panel, ids=panel.ids[[i]], times=times, starts=_starts([len(times)])))
    except ValueError:
        return ""
    if own == panel.freq:
        return ""
    regular = (j for j in range(len(panel)) if (np.diff(at[panel.rows(j)], prepend=-1) == 1).all())
    j = next((j for j in regular if panel.lengths[j] > 1), None)
    seen = f", and series {_id(panel, j)} like {_word(panel.freq)}" if j is not None else ""
    return f" (it looks like {_word(own)}{seen})"


def _positions(times: Any, starts: Ints, freq: Any) -> Ints:
    """(rows,): steps of the grid since the first time of each series; -1 is off the grid."""
    series = _series(starts)
    step = _fixed_step(times, freq)
    if step is not None:
        ticks = _ticks(times)
        since = ticks - ticks[starts[:-1]][series]
        return np.where(since % step, -1, since // step)
    at = np.full(len(times), -1, dtype=np.int64)
    for anchor, which, base in _phases(times[starts[:-1]], freq):
        rows = np.concatenate([np.arange(starts[i], starts[i + 1]) for i in which])
        own = times[rows]
        found = _calendar(anchor, freq, end=own.max()).get_indexer(own)
        since = found - np.repeat(base, np.diff(starts)[which])
        at[rows] = np.where((found < 0) | (since < 0), -1, since)
    return at


def _grid(firsts: Any, counts: Ints, freq: Any) -> Any:
    """(sum of counts,): for each series, `counts` times of the grid from its first time on."""
    starts = _starts(counts)
    series = _series(starts)
    since = np.arange(starts[-1]) - starts[series]
    step = _fixed_step(firsts, freq)
    if step is not None:
        return _as_times(_ticks(firsts)[series] + since * step, firsts)
    ticks = np.empty(starts[-1], dtype=np.int64)
    for anchor, which, base in _phases(firsts, freq):
        grid = _calendar(anchor, freq, periods=int((base + counts[which]).max()))
        rows = np.concatenate([np.arange(starts[i], starts[i + 1]) for i in which])
        ticks[rows] = grid.asi8[np.repeat(base, counts[which]) + since[rows]]
    return _as_times(ticks, firsts)


def _phases(firsts: Any, freq: Any) -> Iterator[tuple[Any, Ints, Ints]]:
    """Series that share a calendar grid: its first time, which they are, where they start on it.

    One grid for all is the rule; but every second week, say, has two. -1 starts nowhere.
    """
    todo = np.arange(len(firsts))
    while todo.size:
        left = firsts[todo]
        anchor = left.min()
        base = _calendar(anchor, freq, end=left.max()).get_indexer(left)
        here = (base >= 0) | (left == anchor)
        yield anchor, todo[here], base[here]
        todo = todo[~here]


def _calendar(first: Any, freq: Any, *, end: Any = None, periods: int | None = None) -> Any:
    """Days, months, ... are steps of the clock on the wall: 23 or 25 hours where clocks change."""
    last = None if end is None else end.tz_localize(None)
    unit: Literal["us", "ns"] = first.unit
    grid = pd.date_range(first.tz_localize(None), last, periods=periods, freq=freq, unit=unit)
    if first.tz is None:
        return grid
    summer = np.ones(len(grid), dtype=bool)
    return grid.tz_localize(first.tz, ambiguous=summer, nonexistent="shift_forward")


def _fixed_step(times: Any, freq: Any) -> int | None:
    """The step in ticks of the times, None where steps are of different lengths."""
    if not isinstance(times, pd.DatetimeIndex):
        return int(freq)
    if isinstance(freq, pd.offsets.Day):  # a fixed offset in pandas 2, a calendar one in 3
        span = pd.Timedelta(days=freq.n) if times.tz is None else None
    else:
        span = pd.Timedelta(freq) if isinstance(freq, pd.offsets.Tick) else None
    return None if span is None else int(span // pd.Timedelta(1, unit=times.unit))


def _ticks(times: Any) -> Ints:
    return np.asarray(times.asi8 if isinstance(times, pd.DatetimeIndex) else times, dtype=np.int64)


def _as_times(ticks: Ints, like: Any) -> Any:
    if not isinstance(like, pd.DatetimeIndex):
        return pd.Index(ticks)
    times = pd.DatetimeIndex(ticks.view(f"M8[{like.unit}]"))
    return times if like.tz is None else times.tz_localize("UTC").tz_convert(like.tz)


def _alike(times: Any, like: Any) -> Any:
    """Times in the unit and the time zone of others; integers and dates do not mix."""
    zones = [getattr(each, "tz", None) for each in (times, like)]
    dated = [isinstance(each, pd.DatetimeIndex) for each in (times, like)]
    if dated[0] is not dated[1] or (zones[0] is None) is not (zones[1] is None):
        raise ValueError(f"expected times of the type {like.dtype} as at fit, got {times.dtype}")
    if not dated[0]:
        return times
    return (times if zones[1] is None else times.tz_convert(zones[1])).as_unit(like.unit)


def _take(panel: Panel, begins: Ints, ends: Ints) -> Panel:
    """Rows begins[i]:ends[i] of each series i."""
    starts = _starts(ends - begins)
    rows = np.arange(starts[-1]) + (begins - starts[:-1])[_series(starts)]
    return replace(
        panel,
        starts=starts,
        times=panel.times[rows],
        values=panel.values[rows],
        columns=panel.columns and panel.columns.take(rows),
    )


def _match(panel: Panel, ids: NDArray[Any]) -> Ints:
    """The number of the series of each id, -1 for an id that is not in the panel."""
    return np.asarray(pd.Index(panel.ids).get_indexer(pd.Index(ids)), dtype=np.int64)


def _starts(lengths: ArrayLike) -> Ints:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _series(starts: Ints) -> Ints:
    """(rows,), the number of the series of each row."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def _plain(values: Any) -> Any:
    """For libraries other than pandas: arrays, dates in UTC, and lists in place of objects."""
    if isinstance(values, pd.DatetimeIndex):
        return values.tz_convert(None).to_numpy() if values.tz else values.to_numpy()
    array = np.asarray(values)
    return array.tolist() if array.dtype == object else array


def _id(panel: Panel, i: int) -> str:
    return _shown(panel.ids, i)


def _shown(values: NDArray[Any], i: int) -> str:
    """As Python writes it: 3, not np.int64(3)."""
    return repr(values[i : i + 1].tolist()[0])


def _when(time: Any) -> str:
    midnight = isinstance(time, pd.Timestamp) and time == time.normalize()
    return str(time.date()) if midnight else str(time)


def _some(times: pd.Index) -> str:
    more = f" and {len(times) - 5} more" if len(times) > 5 else ""
    return ", ".join(map(_when, times[:5])) + more


def _word(freq: pd.offsets.BaseOffset | int) -> str:
    return repr(freq if isinstance(freq, int) else freq.freqstr)
