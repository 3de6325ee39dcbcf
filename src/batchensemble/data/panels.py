"""A user's time series -> a `Panel`: series after series, each on a regular grid of times.

Long frames (one row for each series and time), arrays and single series all end in the same panel.
Rows may come in any order, and what comes before the first value of a series is dropped; every
other doubt about the data is an error that names the series, the time and the cure.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from batchensemble.data.frames import Column, Columns, read_columns
from batchensemble.data.grids import (
    Ints,
    alike,
    check_grid,
    freq_word,
    grid,
    infer_freq,
    off_grid,
    positions,
    read_freq,
    series_of,
    shown,
    some,
    starts_of,
    ticks,
    when,
)
from batchensemble.data.longframes import (
    Names,
    as_frame,
    check_present,
    has_times,
    index_names,
    one_series,
    read_ids,
    read_target,
    read_times,
)
from batchensemble.words import one_of

__all__ = ["Names", "Panel", "check_lengths", "has_times", "read_future", "read_panel"]

NAMES = Names()
LARGEST = 1e100  # of a value: squares of forecasts must be numbers, too
HOW_TO_FILL = 'choose a fill, "interpolate" or "ffill"'


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

    @property
    def last_times(self) -> Any:
        """(series,), the end of each series."""
        return self.times[self.starts[1:] - 1]

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

    def only(self, ids: Iterable[Any]) -> "Panel":
        """The series with these ids, in this order."""
        wanted = np.array([*ids, None], dtype=object)[:-1]  # None: not to be unpacked by numpy
        if not len(wanted):
            raise ValueError("expected the id of at least one series, got none")
        known = _match(self, wanted)
        for k in np.flatnonzero(known < 0)[:1]:
            few = ", ".join(shown(self.ids, i) for i in range(min(5, len(self))))
            more = ", ..." if len(self) > 5 else ""
            raise ValueError(f"expected ids of the series {few}{more}, got {wanted[k]!r}")
        rows = np.concatenate([np.arange(self.starts[k], self.starts[k + 1]) for k in known])
        return replace(
            self,
            ids=self.ids[known],
            starts=starts_of(self.lengths[known]),
            times=self.times[rows],
            values=self.values[rows],
            columns=self.columns and self.columns.take(rows),
        )

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
                f"expected new rows of the frequency {freq_word(self.freq)}, got "
                f"{freq_word(new.freq)}; resample them to the frequency of the history"
            )
        times = alike(new.times, self.times)
        _check_joins(self, new, times, known)
        series = np.concatenate([series_of(self.starts), known[series_of(new.starts)]])
        order = np.argsort(series, kind="stable")
        return replace(
            self,
            starts=starts_of(np.bincount(series, minlength=len(self))),
            times=self.times.append(times)[order],
            values=np.concatenate([self.values, new.values])[order],
            columns=_stacked(self.columns, new.columns, order),
        )

    def followed_by(self, new: "Panel") -> "Panel":
        """`new`, whose times only count, as what comes after the one series of this panel."""
        times = self.future_times(int(new.times[-1]) + 1)[np.asarray(new.times)]
        return replace(new, ids=self.ids, times=times, freq=self.freq)

    def future_times(self, h: int) -> pd.Index:
        """(series * h,), series by series: the h times of the grid after each series' end."""
        times = grid(self.last_times, np.full(len(self), h + 1), self.freq)
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
    panel = _trimmed(_read(data, names, list(columns)), with_ends=fill is not None)
    _check_values(panel, fill)
    given = panel.freq if freq is None else freq
    times, starts, ids = panel.times, panel.starts, panel.ids
    step = infer_freq(times, starts, ids) if given is None else read_freq(given, times)
    at = positions(times, starts, step)
    check_grid(times, starts, ids, step, at, inferred=given is None)
    panel = _without_gaps(replace(panel, freq=step), at, fill)
    check_lengths(panel, fewest)
    return panel


def read_future(panel: Panel, frame: Any, h: int, columns: Sequence[str]) -> Columns:
    """The exogenous `columns` at `panel.future_times(h)`, in that order; other rows are ignored."""
    table = as_frame(frame)
    if table is None:
        raise TypeError(
            f"expected a frame with the next {h} times of each series and the columns "
            f"{list(columns)}, got {type(frame).__name__}"
        )
    if not len(table):
        raise ValueError(f"expected rows for the next {h} times of each series, got none")
    one = len(panel) == 1 and panel.names.id not in table.columns
    needed = [*([] if one else [panel.names.id]), panel.names.time, *columns]
    check_present(table, needed, panel.names, "the frame of the future")
    which = np.zeros(len(table), int) if one else _match(panel, read_ids(table, panel.names))
    wanted = panel.future_times(h)
    times = alike(read_times(table[panel.names.time])[0], panel.times)
    moments, _ = pd.factorize(wanted.append(times))
    series = np.concatenate([np.repeat(np.arange(len(panel)), h), which])
    keys = np.where(series < 0, -1, series * (moments.max() + 1) + moments)  # -1: not of the panel
    asked, offered = pd.Index(keys[: len(wanted)]), pd.Index(keys[len(wanted) :])
    for row in np.flatnonzero(offered.duplicated() & offered.isin(asked))[:1]:
        raise ValueError(
            f"expected one row for each series and time, got more than one for series "
            f"{_id(panel, which[row])} at {when(times[row])}; drop the others"
        )
    kept = np.flatnonzero(offered.isin(asked))
    at = offered[kept].get_indexer(asked)
    absent = np.flatnonzero(at < 0)
    for row in absent[:1]:
        raise ValueError(
            f"expected a row for each of the next {h} times of every series, got none for series "
            f"{_id(panel, row // h)} at {when(wanted[row])} ({absent.size} of {len(wanted)} rows "
            "are missing); add them"
        )
    return read_columns(table.select(columns).to_native()).take(kept[at])


def _read(data: Any, names: Names, columns: list[str]) -> Panel:
    """Rows sorted by series and time, gaps and all; the frequency is None unless data carry it."""
    table = as_frame(data)
    own = [names.id, names.time, names.target]
    if set(own) & set(columns):
        raise ValueError(f"expected exogenous columns besides {own}, got {columns}")
    if table is None:
        if columns:
            raise ValueError(f"expected a long frame, to find the columns {columns} in, got none")
        table = one_series(data, names)
    else:
        ids_hidden = [names.id] if names.id in index_names(table) else []  # not one series
        needed = [*ids_hidden, names.time, names.target, *columns]
        check_present(table, needed, names, "the frame")
        extra = set(table.columns) - {*own, *columns}
        if extra:
            listed = [name for name in table.columns if name in extra]
            several = "" if names.id in table.columns else " (or name the one that holds the ids)"
            raise ValueError(
                f"expected no columns but {[*own, *columns]}, got also {listed}; list them in "
                f"future_columns= or past_columns=, or drop them{several}"
            )
    if not len(table):
        raise ValueError("expected at least one row, got none: the data are empty")
    ids = read_ids(table, names)
    codes, unique = pd.factorize(ids)
    times, freq = read_times(table[names.time])
    order = np.lexsort((ticks(times), codes))
    panel = Panel(
        ids=np.asarray(unique),
        starts=starts_of(np.bincount(codes)),
        times=times[order],
        values=read_target(table[names.target], ids, times)[order],
        columns=read_columns(table.select(columns).to_native()).take(order) if columns else None,
        freq=freq,
        names=names,
        backend=table.implementation.value,
        dtypes={n: table.schema[n] for n in (names.id, names.time) if n in table.columns},
    )
    _check_duplicates(panel)
    return panel


def _check_duplicates(panel: Panel) -> None:
    series = series_of(panel.starts)
    is_one = panel.ids.tolist() == [panel.names.target]
    cure = "name the column that tells series apart" if is_one else "check the ids"
    again = np.flatnonzero((np.diff(ticks(panel.times)) == 0) & (np.diff(series) == 0)) + 1
    for row in again[:1]:
        where = f"series {_id(panel, series[row])} at {when(panel.times[row])}"
        raise ValueError(
            f"expected one row for each series and time, got more than one for {where} "
            f"({again.size} rows too many in all); drop them, average them, or {cure}"
        )


def _trimmed(panel: Panel, with_ends: bool) -> Panel:
    """Without the missing values before the first value of each series (and after the last)."""
    known = np.flatnonzero(~np.isnan(panel.values))
    counts = np.bincount(series_of(panel.starts)[known], minlength=len(panel))
    for i in np.flatnonzero(counts == 0)[:1]:
        raise ValueError(
            f"series {_id(panel, i)}: expected at least one value, got only missing values in its "
            f"{panel.lengths[i]} rows; leave the series out"
        )
    ends = starts_of(counts)
    stops = known[ends[1:] - 1] + 1 if with_ends else panel.starts[1:]
    return _take(panel, known[ends[:-1]], stops)


def _check_values(panel: Panel, fill: str | None) -> None:
    series = series_of(panel.starts)
    for row in np.flatnonzero(np.abs(panel.values) > LARGEST)[:1]:
        raise ValueError(
            f"series {_id(panel, series[row])} at {when(panel.times[row])}: expected a finite "
            f"number of size at most {LARGEST:g}, got {panel.values[row]}; correct it, or make it "
            "missing and say how to fill it"
        )
    missing = np.isnan(panel.values)
    if fill is not None or not missing.any():
        return
    row = int(missing.argmax())
    rows = panel.rows(series[row])
    got = (
        f"series {_id(panel, series[row])}: expected a value at every time, got "
        f"{missing[rows].sum()} missing, the first at {when(panel.times[row])}"
    )
    others = len(set(series[missing])) - 1
    also = f" (also missing: values of {others} other series)" if others else ""
    if missing[row : rows.stop].all():
        raise ValueError(f"{got}{also}; they are at the end of the series: drop these rows")
    raise ValueError(f"{got}{also}; {HOW_TO_FILL}, or fill them in")


def _without_gaps(panel: Panel, at: Ints, fill: str | None) -> Panel:
    """With a row for every time of the grid; `at` are the positions of the rows there are."""
    counts = at[panel.starts[1:] - 1] + 1
    if fill is None:
        _check_complete(panel, at, counts)
        return panel
    starts = starts_of(counts)
    series = series_of(starts)
    rows = starts[series_of(panel.starts)] + at
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
        times=grid(panel.times[panel.starts[:-1]], counts, panel.freq),
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
        times = grid(panel.times[rows.start : rows.start + 1], counts[[i]], panel.freq)
        missing = times[np.setdiff1d(np.arange(counts[i]), at[rows])]
        also = f" (and {len(gaps) - 1} other series have gaps)" if len(gaps) > 1 else ""
        raise ValueError(
            f"series {_id(panel, i)}: expected a row at every time of the frequency "
            f"{freq_word(panel.freq)}, got none for {some(missing)}{also}; {HOW_TO_FILL}, "
            "or add the rows"
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
    lasts, firsts = old.last_times[known], times[new.starts[:-1]]
    for j in np.flatnonzero(ticks(firsts) <= ticks(lasts))[:1]:
        raise ValueError(
            f"series {_id(new, j)}: expected new rows after its end at {when(lasts[j])}, got one "
            f"at {when(firsts[j])}; pass only rows that are new"
        )
    pairs = lasts.append(firsts)[np.arange(2 * len(new)).reshape(2, -1).T.ravel()]
    steps = positions(pairs, 2 * np.arange(len(new) + 1), old.freq)[1::2]
    for j in np.flatnonzero(steps < 0)[:1]:
        raise off_grid(_id(new, j), firsts[j], old.freq, lasts[j])
    for j in np.flatnonzero(steps > 1)[:1]:
        missing = grid(lasts[j : j + 1], steps[[j]], old.freq)[1:]
        raise ValueError(
            f"series {_id(new, j)}: expected new rows right after its end at {when(lasts[j])}, "
            f"got none for {some(missing)}; add them (gaps before new rows are not filled)"
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


def _take(panel: Panel, begins: Ints, ends: Ints) -> Panel:
    """Rows begins[i]:ends[i] of each series i."""
    starts = starts_of(ends - begins)
    rows = np.arange(starts[-1]) + (begins - starts[:-1])[series_of(starts)]
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


def _plain(values: Any) -> Any:
    """For libraries other than pandas: arrays, dates in UTC, and lists in place of objects."""
    if isinstance(values, pd.DatetimeIndex):
        return values.tz_convert(None).to_numpy() if values.tz else values.to_numpy()
    array = np.asarray(values)
    return array.tolist() if array.dtype == object else array


def _id(panel: Panel, i: int) -> str:
    return shown(panel.ids, i)
