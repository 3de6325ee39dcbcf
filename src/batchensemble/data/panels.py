"""A user's time series -> a `Panel`: series after series, each on a regular grid of times.

Long frames (one row for each series and time), arrays and single series all end in the same panel.
Rows may come in any order, and missing values before the first value of a series are dropped; any
other problem with the data is an error that names the series and the time, and says how to fix it.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from batchensemble.data import grids, longframes
from batchensemble.data.clocks import alike
from batchensemble.data.columns import MISSING, Column, Columns
from batchensemble.data.frames import as_frame, read_columns
from batchensemble.data.gaps import filled
from batchensemble.data.grids import Ints
from batchensemble.data.longframes import Names, has_times, is_named
from batchensemble.data.panel import Panel, check_lengths, check_static
from batchensemble.data.stamps import moved_to_start
from batchensemble.data.time_words import freq_word, some, when
from batchensemble.words import one_of

__all__ = [
    "NAMES",
    "Names",
    "Panel",
    "check_lengths",
    "check_static",
    "has_times",
    "is_named",
    "read_panel",
]

NAMES = Names()
LARGEST = 1e100  # of a value: squares of forecasts must be numbers, too
MOST_FILLED, MOST_FILLED_A_ROW = 10**6, 100  # rows after filling: more than both is a mistake
HOW_TO_FILL = 'choose a fill, "interpolate" or "ffill"'


def read_panel(
    data: Any,
    *,
    names: Names = NAMES,
    columns: Sequence[str] = (),
    freq: str | int | pd.offsets.BaseOffset | None = None,
    fill: str | None = None,
    marks_gaps: bool = False,
    fewest: int = 1,
    goes_on: bool = False,
    like: Any = None,
    at_start: bool = False,
) -> Panel:
    """Time series of any accepted form -> `Panel`; a `Panel` is returned unchanged.

    Accepted are long frames with the columns `names` and the exogenous `columns` (without a column
    of ids: one series), pandas and polars series, and one-dimensional arrays and lists. `freq` is
    inferred from all series together if it is None; where it is given, times on different days of
    a month (hours of a day, ...) are moved to its start, unless they are to be `like` others; with
    `at_start` all are. `fill`
    ("interpolate" or "ffill") closes gaps, missing rows as well as missing values, of the target
    and of numeric columns in missing rows; it drops missing values at the end of a series. Those at
    its beginning are dropped, too, unless it `goes_on` from another, to which `joined` adds it.
    Times are in the time zone of those that they are `like`.
    Without a `fill`, a gap is an error, or with `marks_gaps` filled forward and marked as such.
    """
    if isinstance(data, Panel):
        return data
    if fill is not None:
        one_of(fill, ("interpolate", "ffill"), "fill")
    closes_gaps = marks_gaps or fill is not None
    panel = _read(data, names, list(columns), like)
    if not has_times(data):
        _check_end(panel)
    panel = _trimmed(panel, goes_on, with_ends=closes_gaps)
    _check_values(panel, closes_gaps)
    known = panel.freq if freq is None else freq
    times, starts, ids = panel.times, panel.starts, panel.ids
    step = grids.infer_freq(times, starts, ids) if known is None else grids.read_freq(known, times)
    at = grids.positions(times, starts, step)
    if at_start or (like is None and known is not None and (at < 0).any()):
        moved = moved_to_start(times, starts, step)
        if moved is not None:
            times, at = moved, grids.positions(moved, starts, step)
            panel = replace(panel, times=moved)
    grids.check_grid(times, starts, ids, step, at, inferred=known is None)
    panel = replace(panel, freq=step)
    counts = at[starts[1:] - 1] + 1
    if closes_gaps:
        _check_size(panel, counts)
        panel = _without_gaps(panel, at, counts, fill)
    else:
        _check_complete(panel, at, counts)
    check_lengths(panel, fewest)
    return panel


def _read(data: Any, names: Names, columns: list[str], like: Any) -> Panel:
    """Rows sorted by series and time, gaps and all; the frequency is None unless data carry it."""
    roles = [names.id, names.time, names.target]
    if any(name in roles for name in columns):
        raise ValueError(
            "expected future_columns, past_columns and static_columns other than the columns of "
            f"ids, times and values, {roles}, got {columns}; leave those out"
        )
    table = as_frame(data)
    if isinstance(table, nw.DataFrame):
        _check_columns(table, names, columns)
    elif columns:
        raise ValueError(
            f"expected a long frame with the columns {columns}, got {type(data).__name__}; pass a "
            "frame, or name no such columns"
        )
    else:
        table = longframes.one_series(data, names)
    if not len(table):
        raise ValueError("expected at least one row, got none: the data are empty; pass some rows")
    ids = longframes.read_ids(table, names)
    codes, unique = pd.factorize(ids)
    times, freq = longframes.read_times(table[names.time])
    if type(times) is type(like):
        times = alike(times, like, in_unit=False)
    order = np.lexsort((grids.ticks(times), codes))
    panel = Panel(
        ids=np.asarray(unique),
        starts=grids.starts_of(np.bincount(codes)),
        times=times[order],
        values=longframes.read_target(table[names.target], ids, times)[order],
        columns=read_columns(table.select(columns).to_native()).take(order) if columns else None,
        freq=freq,
        names=names,
        backend=table.implementation.value,
        dtypes={n: table.schema[n] for n in (names.id, names.time) if n in table.columns},
    )
    _check_duplicates(panel)
    return panel


def _check_columns(table: "nw.DataFrame[Any]", names: Names, columns: list[str]) -> None:
    """The columns of a long frame, all of them and no others; only the ids may be absent."""
    needed = [names.time, names.target, *columns]
    if names.id in longframes.index_names(table):  # so it is not one series
        needed.insert(0, names.id)
    longframes.check_present(table, needed, names, "the frame")
    known = [names.id, names.time, names.target, *columns]
    if unknown := [name for name in table.columns if name not in known]:
        several = "" if names.id in table.columns else " (or name the one that holds the ids)"
        raise ValueError(
            f"expected no columns but {known}, got also {unknown}; list them in "
            f"future_columns=, past_columns= or static_columns=, or drop them{several}"
        )
    for name in columns:
        if not isinstance(name, str):
            raise TypeError(
                f"expected names of columns as texts, got {name!r}; rename them: "
                "df.columns = df.columns.map(str)"
            )


def _check_duplicates(panel: Panel) -> None:
    series = grids.series_of(panel.starts)
    again = np.flatnonzero((np.diff(grids.ticks(panel.times)) == 0) & (np.diff(series) == 0)) + 1
    for row in again[:1]:
        is_one = panel.ids.tolist() == [panel.names.target]
        cure = "name the column that tells series apart" if is_one else "check the ids"
        raise ValueError(
            f"expected one row for each series and time, got more than one for "
            f"{panel.label(series[row])} at {when(panel.times[row])} "
            f"({again.size} rows too many in all); drop them, average them, or {cure}"
        )


def _check_end(panel: Panel) -> None:
    """Rows without times follow one another: one that is dropped would move all that come later."""
    known = np.flatnonzero(~np.isnan(panel.values))
    n = len(panel.values) - 1 - known[-1] if len(known) else 0
    if n:
        raise ValueError(
            f"{panel.label(0)}: expected a value at the end of data without times, got {n} "
            "missing, and new rows are taken to come right after the last value; drop them (begin "
            "the new rows with them), or pass times"
        )


def joined(old: Panel, new: Panel, fill: str | None) -> Panel:
    """A history and what goes on from it; values that are missing there are filled as others."""
    both = old.extended(new)
    series = grids.series_of(both.starts)
    return replace(both, values=filled(both.values, series, fill or "ffill"))


def _trimmed(panel: Panel, goes_on: bool, with_ends: bool) -> Panel:
    """Without the missing values before the first value of each series (and after the last)."""
    known = np.flatnonzero(~np.isnan(panel.values))
    counts = np.bincount(grids.series_of(panel.starts)[known], minlength=len(panel))
    for i in np.flatnonzero(counts == 0)[:1]:
        raise ValueError(
            f"{panel.label(i)}: expected at least one value, got only missing values in its "
            f"{panel.lengths[i]} rows; leave the series out"
        )
    ends = grids.starts_of(counts)
    begins = panel.starts[:-1] if goes_on else known[ends[:-1]]
    return panel.cut(begins, known[ends[1:] - 1] + 1 if with_ends else panel.starts[1:])


def _check_values(panel: Panel, closes_gaps: bool) -> None:
    series = grids.series_of(panel.starts)
    for row in np.flatnonzero(np.abs(panel.values) > LARGEST)[:1]:
        raise ValueError(
            f"{panel.label(series[row])} at {when(panel.times[row])}: expected a finite "
            f"number of size at most {LARGEST:g}, got {panel.values[row]}; correct it, or make it "
            "missing and say how to fill it"
        )
    missing = np.isnan(panel.values)
    if closes_gaps or not missing.any():
        return
    row = int(missing.argmax())
    rows = panel.rows(series[row])
    others = len(set(series[missing])) - 1
    also = f" (also missing: values of {others} other series)" if others else ""
    cure = f"{HOW_TO_FILL}, or fill them in"
    if missing[row : rows.stop].all():
        cure = "they are at the end of the series: drop these rows"
    raise ValueError(
        f"{panel.label(series[row])}: expected a value at every time, got {missing[rows].sum()} "
        f"missing, the first at {when(panel.times[row])}{also}; {cure}"
    )


def _check_complete(panel: Panel, at: Ints, counts: Ints) -> None:
    """A row for each of the `counts` times of the grid; `at` are the positions of the rows."""
    gaps = np.flatnonzero(counts > panel.lengths)
    for i in gaps[:1]:
        rows = panel.rows(i)
        # The first missing times: no need to make the whole grid, which may be very long.
        enough = np.minimum(counts[[i]], panel.lengths[[i]] + 5)
        firsts = panel.times[rows.start : rows.start + 1]
        shown_at = grids.first_walls(panel.times[rows], np.array([0, panel.lengths[i]]))
        times = grids.grid(firsts, enough, panel.freq, shown_at)
        missing = times[np.setdiff1d(np.arange(enough[0]), at[rows])]
        n_missing = int(counts[i] - panel.lengths[i])
        also = f" (and {len(gaps) - 1} other series have gaps)" if len(gaps) > 1 else ""
        raise ValueError(
            f"{panel.label(i)}: expected a row at every time of the frequency "
            f"{freq_word(panel.freq)}, got none for {some(missing, n_missing)}{also}; "
            f"{HOW_TO_FILL}, or add the rows"
        )


def _check_size(panel: Panel, counts: Ints) -> None:
    """A frequency that is far too fine would fill the memory with rows that nobody measured."""
    n_filled, n_rows = sum(counts.tolist()), len(panel.values)
    if n_filled > MOST_FILLED and n_filled > MOST_FILLED_A_ROW * n_rows:
        raise ValueError(
            f"at the frequency {freq_word(panel.freq)} these {n_rows:,} rows would be filled "
            f"up to {n_filled:,}; choose a coarser freq, or resample the series first"
        )


def _without_gaps(panel: Panel, at: Ints, counts: Ints, fill: str | None) -> Panel:
    """With a row for each of the `counts` times of the grid, and no missing value.

    Without a `fill`, values are filled forward and marked.
    """
    starts = grids.starts_of(counts)
    series = grids.series_of(starts)
    rows = starts[grids.series_of(panel.starts)] + at
    source = np.full(starts[-1], -1)  # which row goes where: -1 is one that is added
    source[rows] = np.arange(len(rows))
    added = source < 0

    def spread(column: Column) -> Column:
        spaced = column.values[source]
        spaced[added] = MISSING[column.kind]
        if column.kind == "number":
            spaced = np.where(added, filled(spaced, series, fill or "ffill"), spaced)
        return column._replace(values=spaced)

    values = np.where(added, np.nan, panel.values[source])
    missing = np.isnan(values)
    return replace(
        panel,
        starts=starts,
        times=grids.grid(
            panel.times[panel.starts[:-1]],
            counts,
            panel.freq,
            grids.first_walls(panel.times, panel.starts),
        ),
        values=filled(values, series, fill or "ffill"),
        is_filled=missing if missing.any() else None,
        as_asked=fill is not None,
        columns=panel.columns and Columns(tuple(map(spread, panel.columns))),
    )
