"""`Panel`: series one after the other, each on a regular grid of times; cut, picked, continued."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from batchensemble.data import grids
from batchensemble.data.clocks import alike, walls
from batchensemble.data.columns import Columns
from batchensemble.data.date_columns import check_zones, with_written_dates
from batchensemble.data.grids import Ints
from batchensemble.data.longframes import Names
from batchensemble.data.time_words import freq_word, shown, some, when


@dataclass(frozen=True, eq=False)
class Panel:
    """Series on one regular time grid each, one after the other, with a value at every time.

    ids      (series,) as the user wrote them, in order of first appearance
    starts   (series + 1,): series i owns the rows starts[i]:starts[i + 1]
    times    (rows,) dates, in the user's time zone, or integers
    values   (rows,) the target
    columns  exogenous columns row by row, None where there are none
    freq     from one time to the next: a pandas offset, or a step for integers
    backend  the library in which `frame` answers: "pandas", "polars", ...
    dtypes   of the id and the time column in that library, so that answers join the user's frame
    is_filled  (rows,), where another value stands for a missing one; None: nowhere
    as_asked   whether that is how the user had them filled: then networks take them for values
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
    is_filled: NDArray[np.bool_] | None = None
    as_asked: bool = False

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

    @property
    def last_walls(self) -> Any:
        """(series,), what clocks show then."""
        last = self.starts[1:] - 1
        return walls(self.times, last, np.maximum(last - 1, self.starts[:-1]))

    @property
    def observed(self) -> NDArray[np.float64]:
        """(rows,), the values, NaN where one is missing."""
        return (
            self.values if self.is_filled is None else np.where(self.is_filled, np.nan, self.values)
        )

    @property
    def gaps(self) -> NDArray[np.bool_] | None:
        """(rows,), what networks read around; None: nothing."""
        return None if self.as_asked else self.is_filled

    def rows(self, i: int) -> slice:
        """The rows of series i."""
        return slice(int(self.starts[i]), int(self.starts[i + 1]))

    def label(self, i: int) -> str:
        """Series i as errors call it."""
        return f"series {shown(self.ids, i)}"

    def numbers_of(self, ids: NDArray[Any]) -> Ints:
        """(ids,), the number of the series with each id, -1 for an id that is not here."""
        return np.asarray(pd.Index(self.ids).get_indexer(pd.Index(ids)), dtype=np.int64)

    def cut(self, begins: Ints, ends: Ints) -> "Panel":
        """The rows begins[i]:ends[i] as series i."""
        starts = grids.starts_of(ends - begins)
        rows = np.arange(starts[-1]) + (begins - starts[:-1])[grids.series_of(starts)]
        return replace(
            self,
            starts=starts,
            times=self.times[rows],
            values=self.values[rows],
            columns=self.columns and self.columns.take(rows),
            is_filled=None if self.is_filled is None else self.is_filled[rows],
        )

    def head(self, dropped: ArrayLike) -> "Panel":
        """Without the last `dropped` rows of each series: one number, or one for each series."""
        counts = np.broadcast_to(np.asarray(dropped, dtype=np.int64), (len(self),))
        for i in np.flatnonzero((counts < 0) | (counts >= self.lengths))[:1]:
            raise ValueError(
                f"{self.label(i)}: expected to drop at least 0 and fewer than its "
                f"{self.lengths[i]} rows, got {counts[i]}; drop fewer rows or leave the series out"
            )
        return self.cut(self.starts[:-1], self.starts[1:] - counts)

    def tail(self, n: int) -> "Panel":
        """The last n rows of each series; all of a series that is shorter."""
        if n < 1:
            raise ValueError(f"expected n to be at least 1 row of each series, got {n}")
        return self.cut(np.maximum(self.starts[:-1], self.starts[1:] - n), self.starts[1:])

    def only(self, ids: Iterable[Any]) -> "Panel":
        """The series with these ids, in this order."""
        wanted = np.array([*ids, None], dtype=object)[:-1]  # None: not to be unpacked by numpy
        if not len(wanted):
            raise ValueError("expected the id of at least one series, got none")
        can_be = np.array([isinstance(i, Hashable) for i in wanted])
        which = np.full(len(wanted), -1)
        which[can_be] = self.numbers_of(wanted[can_be])
        for k in np.flatnonzero(which < 0)[:1]:
            known = ", ".join(map(repr, self.ids[:5].tolist())) + ", ..." * (len(self) > 5)
            raise ValueError(
                f"expected ids of the series {known}, got {wanted[k]!r}; ask for series of these"
            )
        which = pd.unique(which)
        picked = self.cut(self.starts[which], self.starts[which + 1])
        return replace(picked, ids=self.ids[which])

    def extended(self, new: "Panel") -> "Panel":
        """This history followed by `new` rows, which go on right after the end of their series."""
        which = self.numbers_of(new.ids)
        for j in np.flatnonzero(which < 0)[:1]:
            raise ValueError(
                f"expected only series of the training data, got {new.label(j)}, which is not "
                "among them; fit again with it, or leave it out"
            )
        if new.freq != self.freq:
            raise ValueError(
                f"expected new rows of the frequency {freq_word(self.freq)}, got "
                f"{freq_word(new.freq)}; resample them to the frequency of the history"
            )
        times = alike(new.times, self.times)
        _check_joins(self, new, times, which)
        series = np.concatenate([grids.series_of(self.starts), which[grids.series_of(new.starts)]])
        order = np.argsort(series, kind="stable")
        return replace(
            self,
            starts=grids.starts_of(np.bincount(series, minlength=len(self))),
            times=self.times.append(times)[order],
            values=np.concatenate([self.values, new.values])[order],
            columns=_stacked(self.columns, new.columns, order),
            is_filled=_marked(self, new, order),
            as_asked=self.as_asked or new.as_asked,
        )

    def followed_by(self, new: "Panel") -> "Panel":
        """`new`, whose times only count from 0, as the continuation of the one series here."""
        times = self.future_times(int(new.times[-1]) + 1)[np.asarray(new.times)]
        return replace(new, ids=self.ids, times=times, freq=self.freq)

    def future_times(self, h: int) -> pd.Index:
        """(series * h,), series by series: the h times of the grid after each series' end."""
        counts = np.full(len(self), h + 1)
        times = grids.grid(self.last_times, counts, self.freq, self.last_walls)
        return times[np.arange(len(times)) % (h + 1) > 0]

    def last_known(self, columns: Columns) -> Columns:
        """Of each series and column, the last value that is not missing, if there is one."""
        parts = []
        for column in columns:
            known = np.where(column.missing, -1, np.arange(len(self.values)))
            last = np.maximum.reduceat(known, self.starts[:-1])
            taken = np.where(last < 0, self.starts[1:] - 1, last)
            parts.append(column._replace(values=column.values[taken]))
        return Columns(tuple(parts))

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
            dtype = self.dtypes.get(self.names.time if name == "cutoff" else name, nw.Unknown())
            # Texts of times become times, and numbers that outgrow their type a larger type.
            is_text = isinstance(values, pd.DatetimeIndex) and not dtype.is_temporal()
            if dtype != nw.Unknown and not is_text and _holds(dtype, values):
                frame = frame.with_columns(nw.col(name).cast(dtype))
        return frame.to_native()


def check_lengths(panel: Panel, fewest: int) -> None:
    """Every series has at least `fewest` rows."""
    short = np.flatnonzero(panel.lengths < min(fewest, np.iinfo(np.int64).max))
    if short.size:
        i = int(panel.lengths.argmin())
        n = int(panel.lengths[i])
        also = f" ({short.size - 1} other series are too short as well)" if short.size > 1 else ""
        raise ValueError(
            f"{panel.label(i)}: expected at least {fewest} rows, got {n}: it needs "
            f"{fewest - n} more{also}; add rows, ask for less, or leave short series out"
        )


def check_static(panel: Panel, names: Sequence[str]) -> None:
    """Columns that are the same at all times of a series, or missing."""
    series = grids.series_of(panel.starts)
    for column in panel.columns or ():
        if column.name not in names:
            continue
        known = np.flatnonzero(~column.missing)
        values, owners = column.values[known], series[known]
        differs = values[1:] != values[:-1]
        if column.kind == "number":  # a file may have fewer digits, or durations another unit
            differs &= ~np.isclose(values[1:], values[:-1], rtol=1e-14, atol=0)
        for k in np.flatnonzero((owners[1:] == owners[:-1]) & differs)[:1]:
            raise ValueError(
                f"{panel.label(int(owners[k]))}: expected the static column {column.name!r} to be "
                f"the same at all times, got {values[k]} and {values[k + 1]}; a column that "
                "changes is known ahead (future_columns) or not (past_columns)"
            )


def _check_joins(old: Panel, new: Panel, times: Any, which: Ints) -> None:
    """The first new row of each series is one step after the last old one."""
    lasts, firsts = old.last_times[which], times[new.starts[:-1]]
    for j in np.flatnonzero(grids.ticks(firsts) <= grids.ticks(lasts))[:1]:
        raise ValueError(
            f"{new.label(j)}: expected new rows after its end at {when(lasts[j])}, got one "
            f"at {when(firsts[j])}; pass only rows that are new"
        )
    pairs = lasts.append(firsts)[np.arange(2 * len(new)).reshape(2, -1).T.ravel()]
    steps = grids.positions(pairs, 2 * np.arange(len(new) + 1), old.freq)[1::2]
    for j in np.flatnonzero(steps < 0)[:1]:
        raise grids.off_grid(new.label(j), firsts[j], old.freq, lasts[j])
    for j in np.flatnonzero(steps > 1)[:1]:
        shown_at = old.last_walls[which[j : j + 1]]
        missing = grids.grid(lasts[j : j + 1], steps[[j]], old.freq, shown_at)[1:]
        raise ValueError(
            f"{new.label(j)}: expected new rows right after its end at {when(lasts[j])}, "
            f"got none for {some(missing)}; add them, with NaN where the value is not known "
            "(missing values at the end of rows are not kept: pass them again with the next)"
        )


def _stacked(old: Columns | None, new: Columns | None, order: Ints) -> Columns | None:
    expected, got = old.names if old else [], new.names if new else []
    if sorted(expected) != sorted(got):
        raise ValueError(
            f"expected the future and past columns of fit, {expected}, got {got}; pass the same"
        )
    if old is None or new is None:
        return None
    kinds = [column.kind for column in old]
    ordered = Columns(tuple(new[got.index(name)] for name in expected))
    later = with_written_dates(ordered, expected, kinds, ())
    check_zones(later, [column.is_zoned for column in old])
    pairs = [(column, other.as_kind(column.kind)) for column, other in zip(old, later, strict=True)]
    both = [a._replace(values=np.concatenate([a.values, b.values])) for a, b in pairs]
    return Columns(tuple(both)).take(order)


def _marked(old: Panel, new: Panel, order: Ints) -> NDArray[np.bool_] | None:
    if old.is_filled is None and new.is_filled is None:
        return None
    marks = [
        np.zeros(len(panel.values), dtype=bool) if panel.is_filled is None else panel.is_filled
        for panel in (old, new)
    ]
    return np.concatenate(marks)[order]


def _holds(dtype: Any, values: Any) -> bool:
    """Whether the numbers are within what a type of whole numbers can be."""
    if not dtype.is_integer() or not len(values) or str(dtype).endswith("128"):
        return True
    limits, numbers = np.iinfo(str(dtype).lower()), np.asarray(values)
    return bool(limits.min <= numbers.min() and numbers.max() <= limits.max)


def _plain(values: Any) -> Any:
    """For libraries other than pandas: arrays, dates in UTC, and lists in place of objects."""
    if isinstance(values, pd.DatetimeIndex):
        return values.tz_convert(None).to_numpy() if values.tz else values.to_numpy()
    array = np.asarray(values)
    return array.tolist() if array.dtype == object else array
