"""What an sktime forecaster has seen: series by number and time, and the paths drawn last.

sktime itself no longer keeps the data, and its index may be of dates, periods or numbers, of one
series or of a hierarchy.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.data.panels import NAMES, Panel, read_panel
from batchensemble.predictive import SamplePredictive


@dataclass(frozen=True, eq=False)
class Known:
    """What has been observed, and where each series stands now.

    labels  (series,), as in the upper levels of the user's index; None for one series
    y, x    by (number of the series, time); x may reach further than y
    ends    the time at which each series stands, by its number
    times   the user's index of times: its type and unit, and its frequency if it has one
    names   of the levels of the user's index
    """

    labels: pd.Index | None
    y: pd.DataFrame
    x: pd.DataFrame | None
    ends: pd.Series
    times: pd.Index
    names: Sequence[Any]

    @classmethod
    def of(cls, y: pd.DataFrame, X: pd.DataFrame | None) -> "Known":
        labels = y.index.droplevel(-1).unique() if y.index.nlevels > 1 else None
        rows = _numbered(y.set_axis([NAMES.target], axis=1), labels)
        x = None
        if X is not None:
            x = _numbered(X.set_axis(_columns_of(X), axis=1), labels)
        times = y.index.get_level_values(-1)
        return cls(labels, rows, x, _ends_of(rows), times, y.index.names)._checked(rows)

    def extended(self, y: pd.DataFrame, X: pd.DataFrame | None) -> "Known":
        labels = self.labels
        if labels is not None:
            labels = labels.append(y.index.droplevel(-1)).unique()
        rows = _numbered(y.set_axis([NAMES.target], axis=1), labels)
        ends = _newest(self.ends, _ends_of(rows))
        x = self.x if self.x is None else _newest(self.x, self._read(X, labels))
        known = Known(labels, _newest(self.y, rows), x, ends, self.times, self.names)
        return known._checked(rows)

    def _checked(self, rows: pd.DataFrame) -> "Known":
        if len(set(self.words)) < len(self.words):
            raise ValueError(
                f"expected labels of series that differ as text, got {self.words}; rename some"
            )
        missing = rows.index[:0] if self.x is None else rows.index.difference(self.x.index)
        if len(missing):
            raise ValueError(
                f"expected a row of X for each row of y, got none for {len(missing)} of "
                f"{len(rows)}, the first at {missing[0][1]}; add them to X"
            )
        return self

    @property
    def is_panel(self) -> bool:
        return self.labels is not None

    @property
    def columns(self) -> list[str]:
        return [] if self.x is None else list(self.x.columns)

    @property
    def freq(self) -> Any:
        """That of an index of dates; periods and numbers carry their own."""
        return self.times.freq if isinstance(self.times, pd.DatetimeIndex) else None

    def panel(self, freq: Any, fill: str | None) -> Panel:
        """The rows of each series up to where it stands."""
        number, time = (self.y.index.get_level_values(i) for i in range(2))
        rows = self.y[np.asarray(time <= pd.Index(self.ends[number]))]
        rows = rows if self.x is None else rows.join(self.x)
        return read_panel(self._long(rows), columns=self.columns, freq=freq, fill=fill)

    def ahead(self, X: pd.DataFrame | None) -> pd.DataFrame | None:
        """Exogenous columns as known now, those of times to come from X."""
        if self.x is None:
            return None
        return self._long(_newest(self.x, self._read(X, self.labels)))

    def _read(self, X: pd.DataFrame | None, labels: pd.Index | None) -> pd.DataFrame:
        X = pd.DataFrame() if X is None else X
        names = _columns_of(X)
        if missing := [name for name in self.columns if name not in names]:
            raise ValueError(
                f"expected {', '.join(self.columns)}, as fit was given, got X without "
                f"{', '.join(missing)}; pass them to update and predict, too"
            )
        X = X.set_axis(names, axis=1)
        return _numbered(X[self.columns], labels)

    def _long(self, rows: pd.DataFrame) -> pd.DataFrame:
        number, time = (rows.index.get_level_values(i) for i in range(2))
        words = np.array(self.words, dtype=object)
        return rows.reset_index(drop=True).assign(**{NAMES.id: words[number], NAMES.time: time})

    @property
    def words(self) -> list[str]:
        """(series,), ids for a long frame."""
        return [NAMES.target] if self.labels is None else [str(label) for label in self.labels]

    def restored(self, panel: Panel, steps: NDArray[np.int64]) -> pd.Index:
        """(series * steps,), the times of these steps ahead in the type of the user's."""
        h = int(steps.max()) + 1
        grid = panel.future_times(h)
        times = grid[(steps + h * np.arange(len(panel))[:, None]).ravel()]
        if isinstance(self.times, pd.PeriodIndex):
            return times.to_period(self.times.freq)
        if not isinstance(times, pd.DatetimeIndex):
            return times
        is_run = not self.is_panel and (np.diff(steps) == 1).all()
        freq = panel.freq if is_run else None  # sktime asks an index of one or two dates for it
        return pd.DatetimeIndex(times.as_unit(self.times.unit), freq=freq)

    def index(self, panel: Panel, times: pd.Index) -> pd.Index:
        """Of a forecast of the series of the panel, at the given times of each in turn."""
        if self.labels is None:
            return times.rename(self.names[0])
        numbers = pd.Index(self.words).get_indexer(panel.ids)
        labels = self.labels[np.repeat(numbers, len(times) // len(panel))]
        levels = [labels.get_level_values(i) for i in range(labels.nlevels)]
        return pd.MultiIndex.from_arrays([*levels, times], names=self.names)


class Memory:
    """The paths drawn last; copies and pickles of it are empty."""

    def __init__(self) -> None:
        self._last: tuple[int, pd.DataFrame | None, SamplePredictive] | None = None

    def recall(
        self, h: int, ahead: pd.DataFrame | None, draw: Callable[..., SamplePredictive]
    ) -> SamplePredictive:
        if self._last is None or self._last[0] != h or not _same(self._last[1], ahead):
            self._last = (h, ahead, draw(h, ahead))
        return self._last[2]

    def __reduce__(self) -> tuple[Any, ...]:
        return Memory, ()


def _same(a: pd.DataFrame | None, b: pd.DataFrame | None) -> bool:
    return a is b or (a is not None and b is not None and bool(a.equals(b)))


def _columns_of(X: pd.DataFrame) -> list[str]:
    """Names for the columns of X in a long frame, where they must be words and none may be "y"."""
    return [f"X[{name!r}]" for name in X.columns.tolist()]


def _numbered(frame: pd.DataFrame, labels: pd.Index | None) -> pd.DataFrame:
    """With an index of (number of the series, time); series that are not in `labels` are left."""
    numbers = np.zeros(len(frame), dtype=np.int64)
    if labels is not None:
        numbers = labels.get_indexer(frame.index.droplevel(-1))
    times = frame.index.get_level_values(-1)
    frame = frame.set_axis(pd.MultiIndex.from_arrays([numbers, times], names=[None, None]), axis=0)
    return frame[numbers >= 0]


def _newest(old: Any, new: Any) -> Any:
    """Both, and what is in both from the new."""
    both = pd.concat([old, new])
    return both[~both.index.duplicated(keep="last")].sort_index()


def _ends_of(rows: pd.DataFrame) -> pd.Series:
    number, time = (rows.index.get_level_values(i) for i in range(2))
    return pd.Series(time, index=number).groupby(level=0).max()
