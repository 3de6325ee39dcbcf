"""How forecasters go on: learning, new observations, and how far past forecasts were right."""

import math
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from batchensemble.conformal import REPORTED, IntervalCalibration, fewest_rows
from batchensemble.data.panels import Panel, check_lengths, has_times
from batchensemble.estimators.base import CALIBRATION_SHARE
from batchensemble.estimators.series import Ints, SeriesEstimator
from batchensemble.predictive import SamplePredictive

MOST_FORECASTS = 1000  # to calibrate with
FORECASTS_KEPT = 100  # at least, of those that update adds


@dataclass(eq=False, repr=False, kw_only=True)
class TrustedSeries(SeriesEstimator):
    """Abstract: `Forecaster` says what may be asked of the paths."""

    calibration_: IntervalCalibration = field(init=False)

    def fit(self, df: Any, *, calibrate: bool = False) -> Self:
        """Learn one model from all series.

        df is a long frame (pandas, polars) with a row for each series and time, a pandas or polars
        Series, or one array. Rows may come in any order. With `calibrate` the last fifth of the
        steps is not learned from but handed to `calibrate`. A fit that fails leaves the estimator
        as it was.
        """
        with self._all_or_nothing():
            self.__dict__.pop("calibration_", None)
            if calibrate:
                self._fit_and_calibrate(df)
            else:
                self._fit(df)
        return self

    def update(self, df: Any) -> Self:
        """Go on from new observations, right after the old ones, without learning from them.

        They come as at fit; an array goes on where the one series ends.
        A calibrated forecaster compares them with what it would have forecast: the newest
        comparisons take the place of the oldest, so that bounds follow a change of the series.
        """
        panel = self._extended(df)
        if hasattr(self, "calibration_"):
            rows = self._not_learned(panel, self.panel_.lengths)
            if len(rows):
                kept = max(len(self.calibration_), FORECASTS_KEPT)
                both = IntervalCalibration.joined([self.calibration_, self._compared(panel, rows)])
                self.calibration_ = both.latest(min(kept, len(both)))
        self.panel_ = panel
        return self

    def calibrate(self, df: Any) -> Self:
        """Go on from new observations as `update` does, and learn from them what to trust.

        Every stretch of `horizon` steps since fit is forecast from what precedes it, as far as
        the series are here (a file keeps their ends). The errors, in predicted standard
        deviations, say how wide bounds must be, step by step and for all series together. Without
        a guarantee: the future of a series need not be like its past.
        """
        panel = self._extended(df)
        rows = self._not_learned(panel, np.zeros(len(panel), dtype=np.int64))
        fewest = fewest_rows(0.9)
        if len(rows) < fewest:
            raise ValueError(
                f"expected at least {fewest} stretches of horizon={self._horizon} steps after what "
                f"fit has learned from, of all series together, got {len(rows)}; bring more new "
                "observations"
            )
        self.calibration_ = self._compared(panel, rows)
        self.panel_ = panel
        return self

    def calibration_report(self) -> pd.DataFrame:
        """What calibration changed, by nominal coverage, over all steps.

        On the later half of the past forecasts: `..._before` are the bounds of the paths,
        `..._after` those that a calibration with the earlier half gives.
        """
        self._check_calibrated()
        n = len(self.calibration_)
        report = {**self.calibration_.report_in_time(), "forecasts": n - n // 2}
        return pd.DataFrame(report, index=pd.Index(REPORTED, name="coverage"))

    def abstain_threshold(self, max_error: float) -> float:
        """The largest `uncertainty().total` up to which the steps of forecasts are good enough.

        On the steps of past forecasts up to it, the root mean squared error is at most `max_error`.
        An estimate: chosen to suit these forecasts, it may suit others a little less.
        """
        self._check_calibrated()
        return self.calibration_.abstain_threshold(max_error)

    def _fit_and_calibrate(self, df: Any) -> None:
        h = int(self._resolve()["horizon"])
        panel = self._read(df, fill=self.fill, freq=self.freq)
        enough = math.ceil(fewest_rows(0.95) / len(panel))  # windows of each series
        share = round(CALIBRATION_SHARE * int(panel.lengths.min()))
        n_kept_back = max(share, h + enough - 1)
        check_lengths(panel, n_kept_back + h + 1)
        self._fit(panel.head(n_kept_back))
        self.calibrate(panel.tail(n_kept_back))

    def _extended(self, df: Any) -> Panel:
        check_is_fitted(self, "bank_")
        panel = self.panel_
        if len(panel) == 1 and not isinstance(df, Panel) and not has_times(df):
            return panel.extended(panel.followed_by(self._read(df, fill=self.fill, freq=1)))
        return panel.extended(self._read(df, fill=self.fill, freq=panel.freq))

    def _not_learned(self, panel: Panel, n_old: Ints) -> Ints:
        """The last rows known to forecasts of what was not learned, in time; at most the latest.

        Each forecast ends behind the first `n_old` rows of its series.
        """
        h, parts = self._horizon, []
        for i, name in enumerate(panel.ids.tolist()):
            times = panel.times[panel.rows(i)]
            n_learned = int(times.searchsorted(self._learned_until[name], side="right"))
            first = max(n_learned - 1, self._reach - 1, int(n_old[i]) - h)
            parts.append(panel.starts[i] + np.arange(first, len(times) - h))
        rows = np.concatenate(parts)
        in_time: Ints = panel.times[rows].argsort(kind="stable")
        return rows[in_time[-MOST_FORECASTS:]]

    def _compared(self, panel: Panel, rows: Ints) -> IntervalCalibration:
        """Forecasts of the horizon after these rows, beside the truth."""
        h, parts, done = self._horizon, [], 0
        truth = panel.values[rows[:, None] + 1 + np.arange(h)]
        for paths in self._draw(self._ahead_of(panel, panel, h, rows)):
            parts.append(
                IntervalCalibration.of(truth[done : done + len(paths)], SamplePredictive(paths))
            )
            done += len(paths)
        return IntervalCalibration.joined(parts)
