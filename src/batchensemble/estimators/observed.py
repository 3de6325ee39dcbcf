"""What a forecaster has seen of its series, and what it may still be judged by."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from batchensemble.conformal import fewest_rows
from batchensemble.data.clocks import alike
from batchensemble.data.grids import series_of
from batchensemble.data.panels import Panel
from batchensemble.data.time_words import when
from batchensemble.estimators.series_model import Ints, SeriesModel

MOST_FORECASTS = 1000  # to calibrate with
MOST_KEPT = 10  # times as many rows, where series have many gaps


@dataclass(frozen=True, eq=False)
class Observed:
    """The series so far.

    learned_until  by series, the last time that fit has seen
    forgotten      by series, rows before those of the panel that a file did not keep
    """

    panel: Panel
    learned_until: Mapping[Any, Any]
    forgotten: Mapping[Any, int]

    @classmethod
    def at_fit(cls, panel: Panel) -> Self:
        return cls(panel, dict(zip(panel.ids.tolist(), panel.last_times, strict=True)), {})

    def tail(self, n: int, season: int) -> Self:
        """The last n rows of each series, or some more, and how many were dropped.

        They begin with a season without gaps, if there is one before: then what stands in the place
        of later ones can be found again.
        """
        kept = self.panel.cut(self._beginnings(n, season + 1), self.panel.starts[1:])
        dropped = zip(kept.ids.tolist(), (self.panel.lengths - kept.lengths).tolist(), strict=True)
        forgotten = {i: n_rows + self.forgotten.get(i, 0) for i, n_rows in dropped}
        return replace(self, panel=kept, forgotten={i: n for i, n in forgotten.items() if n})

    def _beginnings(self, n: int, whole: int) -> Ints:
        """(series,), of the last n rows or, before them, of `whole` rows that were observed."""
        panel = self.panel
        starts, ends = panel.starts[:-1], panel.starts[1:]
        begins = np.maximum(starts, ends - n)
        if panel.gaps is None:
            return begins
        n_filled = np.concatenate([[0], np.cumsum(panel.gaps)])
        for k, begin in enumerate(begins.tolist()):
            first = max(int(starts[k]), int(ends[k]) - MOST_KEPT * n)
            rows = np.arange(first, begin + 1)
            until = np.minimum(rows + whole, ends[k])
            is_whole = (n_filled[until] == n_filled[rows]) | (rows == starts[k])
            if is_whole.any():
                begins[k] = rows[is_whole][-1]
        return begins

    def done(self, season: int) -> Ints:
        """Of each series, how many first rows are filled for good: no season is before them."""
        n_first = np.minimum(self.panel.lengths, season + 1)
        return np.where([i in self.forgotten for i in self.panel.ids.tolist()], n_first, 0)

    def cutoffs(self, panel: Panel, model: SeriesModel, n_old: Ints) -> Ints:
        """Rows of a longer panel after which to forecast what was not learned; the latest, in time.

        Each forecast ends after the first `n_old` rows of its series.
        """
        parts = []
        for i, name in enumerate(panel.ids.tolist()):
            times = panel.times[panel.rows(i)]
            n_learned = int(times.searchsorted(self.learned_until[name], side="right"))
            first = max(n_learned - 1, model.shortest - 1, int(n_old[i]) - model.horizon)
            parts.append(panel.starts[i] + np.arange(first, len(times) - model.horizon))
        rows = np.concatenate(parts)
        if panel.is_filled is not None:  # what is missing judges no forecast
            targets = rows[:, None] + 1 + np.arange(model.horizon)
            rows = rows[~panel.is_filled[targets].all(axis=1)]
        in_time: Ints = panel.times[rows].argsort(kind="stable")
        return rows[in_time[-MOST_FORECASTS:]]

    def first_new_rows(self, history: Panel) -> Ints:
        """Where each series of a history goes on after its end here; its own end if nowhere."""
        times = alike(history.times, self.panel.times)
        last = dict(zip(self.panel.ids.tolist(), self.panel.last_times, strict=True))
        begins = [
            history.starts[i] + int(times[history.rows(i)].searchsorted(last[name], side="right"))
            if name in last
            else history.starts[i + 1]
            for i, name in enumerate(history.ids.tolist())
        ]
        return np.array(begins)

    def new_rows(self, history: Panel) -> Panel | None:
        """What a history of these series has right after their end, if there is anything."""
        begins = self.first_new_rows(history)
        has_new = history.starts[1:] > begins
        which, known = np.flatnonzero(has_new), self.panel
        nexts = known.future_times(1)[known.numbers_of(history.ids[which])]
        has_new[which] = alike(history.times[begins[which]], known.times) == nexts
        if not has_new.any():
            return None
        return history.cut(begins, history.starts[1:]).only(history.ids[has_new])

    def check_unseen(self, history: Panel, *, calibrated: bool) -> None:
        """Refuse windows after `history` that fit or calibration has seen."""
        until, how = self.learned_until, "has learned from"
        if calibrated:
            last_times = zip(self.panel.ids.tolist(), self.panel.last_times, strict=True)
            until, how = dict(last_times), "was calibrated with"
        cutoffs = alike(history.last_times, self.panel.times)
        for i, cutoff in zip(history.ids.tolist(), cutoffs, strict=True):
            last = until.get(i)
            if last is not None and last > cutoff:
                raise ValueError(
                    f"series {i!r}: expected windows after the data that this forecaster {how}, "
                    f"which end at {when(last)}, got a first cutoff at {when(cutoff)}; pass "
                    "refit=False, or fit it to fewer rows"
                )

    def check_remembered(self, panel: Panel, n: int) -> None:
        """Refuse to show more rows of a series than a file has kept."""
        for i, length in zip(panel.ids.tolist(), panel.lengths, strict=True):
            if length < n and i in self.forgotten:
                raise ValueError(
                    f"series {i!r}: expected history of at most {length} steps, since the file "
                    f"that this forecaster was loaded from kept no more, got {n}; pass "
                    f"history={length}, or plot with the forecaster that was fitted"
                )


def steps_to_calibrate(panel: Panel, h: int, share: float) -> int:
    """Of each series: a share of the shortest, or more if it takes more for bounds of 95 %."""
    windows = math.ceil(fewest_rows(0.95) / len(panel))
    return max(round(share * int(panel.lengths.min())), h + windows - 1)


def doubts_about_gaps(panel: Panel, so: str) -> Iterator[str]:
    """A sentence about values that are missing, and what follows from it."""
    if panel.gaps is not None and panel.gaps.any():
        row, n_missing = int(panel.gaps.argmax()), int(panel.gaps.sum())
        first = f"{panel.label(int(series_of(panel.starts)[row]))} at {when(panel.times[row])}"
        yield (
            f"{n_missing:,} of {len(panel.values):,} values are missing, the first of {first}; {so}"
        )
