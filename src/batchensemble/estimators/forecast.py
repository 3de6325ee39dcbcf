"""A forecast as an object: the paths of every window, and the columns made from them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.conformal import (
    Adaptation,
    IntervalCalibration,
    fewest_rows,
    stepwise_quantiles,
    widened,
)
from batchensemble.conformal.deviations import NARROWEST_STD
from batchensemble.data.grids import ticks
from batchensemble.data.panels import Names, Panel
from batchensemble.estimators.certainty import are_certain
from batchensemble.estimators.series_model import Ahead, SeriesModel
from batchensemble.metrics.calibration import LEVELS, CoverageCurve
from batchensemble.predictive import SamplePredictive

Answers = Mapping[str, NDArray[np.float64]]
"""By column, an array (windows, h)."""

STD = ""  # the standard deviation among answers; no column is called that
MOST_AHEAD = 2**20  # steps: the times alone of many more would fill the memory

Floats = NDArray[np.float64]
Question = Callable[[SamplePredictive], Answers]


@dataclass(frozen=True, eq=False)
class Forecast:
    """Windows of a panel, forecast by a model: the next steps, or past ones in hindsight.

    Paths are drawn when they are asked for: all at once and kept as `dist`, or, as long as nobody
    has asked for that, some windows at a time.
    """

    model: SeriesModel
    calibration: IntervalCalibration | None
    panel: Panel
    ahead: Ahead
    names: Names
    alias: str
    n_paths: int
    verbose: bool = False
    in_hindsight: bool = False

    @cached_property
    def dist(self) -> SamplePredictive:
        """The paths, one row for each window."""
        return self.model.simulate(self.ahead, self.n_paths, verbose=self.verbose)

    def ask(self, question: Question) -> Answers:
        """What `question` answers about all windows."""
        if "dist" in vars(self):
            return question(self.dist)
        chunks = self.model.chunks(self.ahead, self.n_paths, verbose=self.verbose)
        parts = [question(dist) for dist in chunks]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def columns(
        self, level: Sequence[float] | None = None, quantiles: Sequence[float] | None = None
    ) -> Answers:
        """The mean, intervals and quantiles, by the name of their column."""
        shares = [] if self.calibration is None else read_levels(level)
        asked = asked_columns(
            self.alias, None if shares else level, quantiles, with_std=bool(shares)
        )
        answers = dict(self.ask(asked))
        if shares:
            mean, std = answers.pop(self.alias), answers.pop(STD)
            intervals: dict[str, NDArray[np.float64]] = {self.alias: mean}
            for share in shares:
                ends = widened(mean, std, self._factors(share / 100, mean, std))
                low, high = names_of_ends(self.alias, share)
                intervals |= {low: ends[..., 0], high: ends[..., 1]}
            answers = intervals | answers
        lowest = self.ahead.encoded.lowest[self.ahead.starts + self.model.reach, None]
        return {name: np.maximum(values, lowest) for name, values in answers.items()}

    def _factors(self, coverage: float, mean: Floats, std: Floats) -> Floats:
        """(h,) or (windows, h): by which calibration multiplies standard deviations.

        An adaptive one goes through past windows in time, as if it had been there.
        """
        assert self.calibration is not None
        if self.in_hindsight and self.calibration.is_adaptive:
            return self._adapted(coverage, *self.adaptation(mean, std))
        return self._by_step(self.calibration.factors(coverage))

    def _adapted(self, coverage: float, adaptation: Adaptation, made: NDArray[np.int64]) -> Floats:
        """(windows, h), of past windows; those of no adaptation where too little was known then."""
        assert self.calibration is not None
        static = stepwise_quantiles(self.calibration.scores, coverage)
        return self._by_step(adaptation.factors(coverage, made, static))

    def _by_step(self, factors: Floats) -> Floats:
        """Steps beyond the last calibrated one are as that one."""
        by_step: Floats = factors[..., np.minimum(np.arange(self.ahead.h), factors.shape[-1] - 1)]
        return by_step

    def calibrated_curve(self) -> CoverageCurve:
        """Of past windows: how often calibrated intervals held, level by level."""
        assert self.calibration is not None
        mean, std, truth = self.dist.mean, self.dist.std, self.truth
        found = self.adaptation(mean, std) if self.calibration.is_adaptive else None
        levels = [level for level in LEVELS if self.calibration.fewest >= fewest_rows(level)]
        held = []
        for level in levels:
            if found is None:
                factors = self._by_step(self.calibration.factors(level))
            else:
                factors = self._adapted(level, *found)
            low, high = np.moveaxis(widened(mean, std, factors), -1, 0)
            held.append(np.mean(((low <= truth) & (truth <= high))[~np.isnan(truth)]))
        return CoverageCurve(np.array(levels), np.array(held))

    def adaptation(self, mean: Floats, std: Floats) -> tuple[Adaptation, NDArray[np.int64]]:
        """An adaptive calibration that goes on with these windows; and when each was forecast."""
        assert self.calibration is not None
        scores = np.abs(self.truth - mean) / np.maximum(std, NARROWEST_STD)
        scores[self._are_certain(mean, std)] = np.nan
        cutoffs = _moments(self.ahead.cutoffs)
        return self.calibration.followed_by(scores, cutoffs, _moments(self.panel.times))

    def frame(self, answers: Answers, *, with_truth: bool = False) -> Any:
        """A row for each window and step, in the frame library of the user's data."""
        return self.panel.frame(self.table(answers, with_truth=with_truth))

    def table(self, answers: Answers, *, with_truth: bool = False) -> dict[str, Any]:
        """The columns of that frame."""
        known: dict[str, Any] = {
            self.names.id: np.repeat(self.ahead.ids, self.ahead.h),
            self.names.time: self.ahead.times,
        }
        if with_truth:
            known |= {"cutoff": self.ahead.cutoffs.repeat(self.ahead.h)}
            known |= {self.names.target: self.truth.ravel()}
        if taken := [name for name in answers if name in known]:
            raise ValueError(
                f"the column {taken[0]!r} has the name of a column of the forecast; rename "
                "it, or choose another alias"
            )
        return known | {name: values.ravel() for name, values in answers.items()}

    def simulated(self, seed: int | None = None) -> Any:
        """Joint paths, a frame with the columns id, time, sample_id, target."""
        ahead, n_paths, n = self.ahead, self.n_paths, len(self.ahead.starts)
        dist = self.model.simulate(ahead, n_paths, seed=seed, verbose=self.verbose)
        which = np.arange(len(ahead.times)).reshape(n, 1, ahead.h)
        return self.panel.frame(
            {
                self.names.id: np.repeat(ahead.ids, n_paths * ahead.h),
                self.names.time: ahead.times[which.repeat(n_paths, axis=1).ravel()],
                "sample_id": np.tile(np.repeat(np.arange(n_paths), ahead.h), n),
                self.names.target: in_turn(dist, n_paths).ravel(),
            }
        )

    def compared(self, *, adapt: bool = False) -> IntervalCalibration:
        """Past windows that are not certain beside the truth, and when they were forecast."""
        truth, parts, done = self.truth, [], 0
        for dist in self.model.chunks(self.ahead, self.n_paths, verbose=self.verbose):
            own = truth[done : done + len(dist)]
            part = IntervalCalibration.of(np.where(np.isnan(own), dist.mean, own), dist)
            parts.append(replace(part, y=own))
            done += len(dist)
        joined = IntervalCalibration.joined(parts)
        joined = replace(joined, cutoffs=_moments(self.ahead.cutoffs), adapts=adapt)
        return joined.only(~self._are_certain(joined.means, joined.stds))

    def _are_certain(self, mean: Floats, std: Floats) -> NDArray[np.bool_]:
        return are_certain(self.panel, self.ahead.origins, self.model.reach, mean, std)

    @property
    def truth(self) -> NDArray[np.float64]:
        """(windows, h), of past windows; NaN where it is missing."""
        truth: NDArray[np.float64] = self.panel.observed[self._first_rows + np.arange(self.ahead.h)]
        return truth

    def scored(self) -> "Forecast":
        """Only the past windows of which a true value is known."""
        is_known = np.asarray(np.isfinite(self.truth).any(axis=1))
        if is_known.all():
            return self
        if not is_known.any():
            raise ValueError(
                "all true values of the past forecasts are missing, so none can be scored; add some"
            )
        return replace(self, ahead=self.ahead.only(is_known))

    def repeated(self, n: int) -> NDArray[np.float64]:
        """(windows, h), what repeating the n values before each past window would forecast."""
        rows = self._first_rows - n + np.arange(self.ahead.h) % n
        values: NDArray[np.float64] = self.panel.values[rows]
        return values

    @property
    def _first_rows(self) -> NDArray[np.int64]:
        """(windows, 1), the rows of the panel at which past windows begin."""
        return self.ahead.origins[:, None]


def _moments(times: pd.Index) -> NDArray[np.int64]:
    """Dates in microseconds, in whatever unit a frame holds them; integers as they are."""
    return ticks(times.as_unit("us") if isinstance(times, pd.DatetimeIndex) else times)


def joined_frame(parts: Sequence[Forecast], answers: Sequence[Answers]) -> Any:
    """One frame of past forecasts of the same panel, series by series, in time."""
    tables = [part.table(each, with_truth=True) for part, each in zip(parts, answers, strict=True)]
    h = parts[0].ahead.h
    rows = (order_of_windows(parts)[:, None] * h + np.arange(h)).ravel()
    return parts[0].panel.frame(
        {name: _stacked([table[name] for table in tables])[rows] for name in tables[0]}
    )


def order_of_windows(parts: Sequence[Forecast]) -> NDArray[np.int64]:
    """The windows of several forecasts, one after the other, by series and in time."""
    origins = np.concatenate([part.ahead.origins for part in parts])
    return np.argsort(origins, kind="stable")


def _stacked(columns: list[Any]) -> Any:
    first, *others = columns
    return first.append(others) if isinstance(first, pd.Index) else np.concatenate(columns)


def asked_columns(
    alias: str,
    level: Sequence[float] | None,
    quantiles: Sequence[float] | None,
    *,
    with_std: bool = False,
) -> Question:
    """The question behind the columns <alias>, <alias>-lo-80, <alias>-hi-80 and <alias>-q-10."""
    levels: dict[str, float] = {}
    for share in read_levels(level):
        low, high = names_of_ends(alias, share)
        levels |= {low: 0.5 - share / 200, high: 0.5 + share / 200}
    for q in _read_numbers(quantiles, "quantiles", 1):
        levels[f"{alias}-q-{100 * q:.10g}"] = q

    def question(dist: SamplePredictive) -> Answers:
        columns = {alias: dist.mean, **({STD: dist.std} if with_std else {})}
        if levels:
            values = np.moveaxis(dist.quantile(list(levels.values())), -1, 0)
            columns.update(zip(levels, values, strict=True))
        return columns

    return question


def names_of_ends(alias: str, share: float) -> tuple[str, str]:
    """The columns of an interval that holds so many per cent."""
    return f"{alias}-lo-{share:.10g}", f"{alias}-hi-{share:.10g}"


def read_levels(level: Any) -> list[float]:
    """One level or several, from 1 to 100 per cent."""
    return _read_numbers(level, "level", 100)


def _read_numbers(values: Any, name: str, top: float) -> list[float]:
    try:
        given = np.ravel(np.asarray([] if values is None else values, dtype=object))
        numbers = np.array(given.tolist())
    except (RuntimeError, TypeError, ValueError):  # lists of different lengths
        given = numbers = np.array([True])
    has_truths = any(isinstance(value, bool | np.bool_) for value in given)
    is_number = not has_truths and (numbers.dtype.kind in "iuf" or not numbers.size)
    if not is_number or not np.all((numbers > 0) & (numbers < top) & (numbers >= top // 100)):
        words = "from 1 to below 100, such as [80, 95], in per cent"
        if top != 100:
            words = "strictly between 0 and 1, such as [0.1, 0.9]"
        raise ValueError(f"expected {name} {words}, got {values!r:.80}")
    return [float(value) for value in numbers]


def in_turn(dist: SamplePredictive, n_paths: int) -> NDArray[np.float64]:
    """(series, n_paths, h), members in turn, so that a surplus costs each at most one path."""
    return dist.paths.swapaxes(1, 2).reshape(len(dist), -1, dist.horizon)[:, :n_paths]


def check_horizon(h: Any, name: str = "h") -> int:
    if isinstance(h, bool) or not isinstance(h, Integral) or h < 1:
        raise ValueError(f"expected {name} to be a whole number of steps above 0, got {h!r}")
    steps = int(h)
    if steps > MOST_AHEAD:
        raise ValueError(f"expected {name} of at most {MOST_AHEAD:,} steps, got {steps:,}")
    return steps
