"""Forecasts of one series or many, as whole sample paths."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from batchensemble.conformal import fewest_rows, widened
from batchensemble.data.grids import alike, when
from batchensemble.data.panels import Panel, check_lengths
from batchensemble.estimators.parameters import SERIES_PARAMETERS
from batchensemble.estimators.series import Ahead, check_horizon
from batchensemble.estimators.trust_series import TrustedSeries
from batchensemble.plots.forecast import MOST_SERIES, plot_forecast
from batchensemble.predictive import SamplePredictive
from batchensemble.words import one_of

ALIASES = {
    "batch_ensemble": "GRUBE",
    "deep_ensemble": "GRU-ensemble",
    "mc_dropout": "GRU-dropout",
    "single": "GRU",
}

USUAL_LEVELS = (50, 80, 95)  # of a plot

Answers = Mapping[str, NDArray[np.float64]]
"""By name, an array (windows, h)."""


@final
@dataclass(eq=False, repr=False, kw_only=True)
class Forecaster(TrustedSeries):
    __doc__ = f"""Forecast series, and how far to trust the forecast.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.sin(np.arange(120) / 3) + np.random.default_rng(0).normal(size=120) / 10
    >>> model = Forecaster(context=12, horizon=5, epochs=5, random_state=0).fit(y)
    >>> model.predict(level=[80]).columns.tolist()
    ['unique_id', 'ds', 'GRUBE', 'GRUBE-lo-80', 'GRUBE-hi-80']
    {SERIES_PARAMETERS}
    Attributes
    ----------
    n_parameters_ : int
        Trained numbers, of all networks together.
    calibration_ : IntervalCalibration
        After `calibrate`: past forecasts beside the truth.
    panel_ : Panel
        The series that it forecasts. A file keeps of each what a forecast reads, and at least
        three contexts and three horizons.
    season_ : int
        Steps in a season.
    context_ : int
        Steps that a forecast reads.
    lags_ : tuple of int
        How many steps before each step the values lie that it reads there.
    bank_ : Bank
        The trained networks.
    encoder_ : SeriesEncoder
        What turns series into numbers.
    history_ : list of History
        Losses and scores by epoch.
    """

    _task: ClassVar[str] = "forecast"

    def predict(
        self,
        h: int | None = None,
        *,
        level: Sequence[float] | None = None,
        quantiles: Sequence[float] | None = None,
        X_df: Any = None,
        df: Any = None,
    ) -> Any:
        """The next h steps of every series: a frame with the mean, and what else is asked for.

        `level=[80, 95]` adds intervals as `<alias>-lo-80`, `<alias>-hi-80`, ...: the central ones
        of the paths, or after calibration the mean give or take as many standard deviations as
        past forecasts needed so many steps ahead (beyond `horizon`, as at its end).
        `quantiles=[0.1]` adds `<alias>-q-10`. X_df holds the future_columns of the times to come. A
        `df` is forecast in place of the series of fit, without learning from it.
        """
        panel, ahead = self._ahead(h, X_df, df)
        return self._frame(panel, ahead, self._ask(ahead, self._columns(level, quantiles)))

    def predict_dist(
        self, h: int | None = None, *, n_paths: int | None = None, X_df: Any = None, df: Any = None
    ) -> SamplePredictive:
        """The paths themselves, (series, members, paths, h), as one object."""
        _, ahead = self._ahead(h, X_df, df)
        return SamplePredictive(np.concatenate(list(self._draw(ahead, n_paths))))

    def simulate(
        self,
        n_paths: int | None = None,
        h: int | None = None,
        *,
        seed: int | None = None,
        X_df: Any = None,
        df: Any = None,
    ) -> Any:
        """Joint paths of every series: a frame with the rows unique_id, ds, sample_id, y.

        The steps of a path belong together: sums, maxima and waiting times may be taken along it.
        """
        panel, ahead = self._ahead(h, X_df, df)
        n_paths = self.n_paths if n_paths is None else n_paths
        paths = np.concatenate(list(self._draw(ahead, n_paths, seed)))
        # Members in turn, so that leaving the surplus away takes at most one path of each.
        paths = paths.swapaxes(1, 2).reshape(len(panel), -1, ahead.h)[:, :n_paths]
        which = np.arange(len(ahead.times)).reshape(len(panel), 1, ahead.h)
        return panel.frame(
            {
                self.id_col: np.repeat(panel.ids, n_paths * ahead.h),
                self.time_col: ahead.times[which.repeat(n_paths, axis=1).ravel()],
                "sample_id": np.tile(np.repeat(np.arange(n_paths), ahead.h), len(panel)),
                self.target_col: paths.ravel(),
            }
        )

    def uncertainty(self, h: int | None = None, *, X_df: Any = None, df: Any = None) -> Any:
        """Variances by step: a frame with total, aleatoric (noise) and epistemic (doubt)."""
        panel, ahead = self._ahead(h, X_df, df)
        answers = self._ask(ahead, lambda dist: dist.uncertainty()._asdict())
        return self._frame(panel, ahead, answers)

    def cross_validation(
        self,
        df: Any,
        *,
        h: int | None = None,
        n_windows: int = 1,
        step_size: int = 1,
        level: Sequence[float] | None = None,
        quantiles: Sequence[float] | None = None,
        refit: bool = True,
    ) -> Any:
        """Forecast the last `n_windows` stretches of h steps, `step_size` apart, in one batch.

        A copy of this forecaster is fitted to what precedes them all, and calibrated with the last
        fifth of that if this one is calibrated. With `refit=False` this one is used as it is, if it
        has neither learned from them nor been calibrated with them. A frame with a row for each
        series, cutoff (the last time that is known) and time, and the truth beside the forecast.
        Gaps are filled forward, whatever `fill` is: interpolation would look beyond a cutoff.
        """
        self._columns(level, quantiles)  # words that make no sense are refused before the fit
        model, panel, ahead, truth = self._past(df, h, n_windows, step_size, refit)
        beside = {"cutoff": ahead.cutoffs.repeat(ahead.h), self.target_col: truth}
        answers = model._ask(ahead, model._columns(level, quantiles))
        return self._frame(panel, ahead, answers, beside)

    def cross_validation_dist(
        self,
        df: Any,
        *,
        h: int | None = None,
        n_windows: int = 1,
        step_size: int = 1,
        refit: bool = True,
    ) -> SamplePredictive:
        """The paths behind `cross_validation`, one row for each series and cutoff."""
        model, _, ahead, _ = self._past(df, h, n_windows, step_size, refit)
        return SamplePredictive(np.concatenate(list(model._draw(ahead))))

    def plot(
        self,
        series: Any = None,
        *,
        h: int | None = None,
        level: Sequence[float] | None = None,
        history: int | None = None,
        X_df: Any = None,
        ax: Any = None,
    ) -> Any:
        """The forecast and its central intervals behind the history: a matplotlib Figure.

        One panel for each series, of many for the first six; `series` names one or a list of them.
        The intervals are of 50, 80 and 95 %, or of the `level` asked for; after a calibration with
        few forecasts only of those that it reaches.
        `history` are the past steps to show, by default three contexts or horizons.
        """
        check_is_fitted(self, "bank_")
        panel = self.panel_
        if series is not None:
            panel = panel.only(series if isinstance(series, (list, tuple)) else [series])
        _, ahead = self._ahead(h, X_df, panel.only(panel.ids[:MOST_SERIES]))
        level = self._reached(USUAL_LEVELS) if level is None else level
        mean, *bounds = self._ask(ahead, self._columns(level, None)).values()
        shares = dict.fromkeys(_listed(level, "level", 100))
        fan = dict(zip(shares, zip(bounds[::2], bounds[1::2], strict=True), strict=True))
        history = self._usual_history(ahead.h) if history is None else history
        self._refuse_forgotten(panel, check_horizon(history, "history"))
        return plot_forecast(panel, mean, fan, history=history, ax=ax)

    def _reached(self, levels: Sequence[float]) -> list[float]:
        """Those that the calibration, if there is one, is large enough for."""
        n = len(self.calibration_) if hasattr(self, "calibration_") else None
        return [level for level in levels if n is None or n >= fewest_rows(level / 100)]

    def _past(
        self, df: Any, h: int | None, n_windows: int, step_size: int, refit: bool
    ) -> tuple[Self, Panel, Ahead, NDArray[np.float64]]:
        """The forecaster to use, the last stretches of the series, and the truth about them."""
        settings = self._resolve()
        for name, count in (("n_windows", n_windows), ("step_size", step_size)):
            if not isinstance(count, Integral) or count < 1:
                raise ValueError(f"expected {name} to be a whole number above 0, got {count!r}")
        h = check_horizon(settings["horizon"] if h is None else h)
        if not refit:
            check_is_fitted(self, "bank_")
        # Not between two values: the second may lie behind a cutoff.
        fill = "ffill" if self.fill == "interpolate" else self.fill
        panel = self._read(df, fill=fill, freq=self.freq if refit else self.panel_.freq)
        n_kept_back = h + (n_windows - 1) * step_size
        check_lengths(panel, n_kept_back + 1)
        history = panel.head(n_kept_back)
        if not refit:
            self._refuse_learned(history)
        is_calibrated = hasattr(self, "calibration_")
        model = clone(self).fit(history, calibrate=is_calibrated) if refit else self
        back = h + np.arange(n_windows)[::-1] * step_size
        last_known = (panel.starts[1:, None] - back - 1).ravel()
        truth = panel.values[(last_known[:, None] + 1 + np.arange(h)).ravel()]
        return model, panel, model._ahead_of(panel, history, h, last_known), truth

    def _refuse_learned(self, history: Panel) -> None:
        panel, until, how = self.panel_, self._learned_until, "has learned from"
        if hasattr(self, "calibration_"):
            until = dict(zip(panel.ids.tolist(), panel.last_times, strict=True))
            how = "was calibrated with"
        cutoffs = alike(history.last_times, panel.times)
        for i, cutoff in zip(history.ids.tolist(), cutoffs, strict=True):
            last = until.get(i)
            if last is not None and last > cutoff:
                raise ValueError(
                    f"series {i!r}: expected windows after what this forecaster {how}, "
                    f"up to {when(last)}, got a first cutoff at {when(cutoff)}; pass "
                    "refit=True, or fit it to less"
                )

    def _refuse_forgotten(self, panel: Panel, history: int) -> None:
        for i, n in zip(panel.ids.tolist()[:MOST_SERIES], panel.lengths, strict=False):
            if n < history and i in self._forgotten:
                raise ValueError(
                    f"series {i!r}: expected history of at most {n} steps, since the file that "
                    f"this forecaster was loaded from kept no more, got {history}; pass "
                    f"history={n}, or plot with the forecaster that was fitted"
                )

    def _ask(self, ahead: Ahead, ask: Callable[[SamplePredictive], Answers]) -> Answers:
        """Answers for all windows, their paths taken a chunk at a time."""
        parts = [ask(SamplePredictive(paths)) for paths in self._draw(ahead)]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _columns(
        self, level: Sequence[float] | None, quantiles: Sequence[float] | None
    ) -> Callable[[SamplePredictive], Answers]:
        """The forecast's columns, by name."""
        name = self.alias or ALIASES[one_of(self.method, ALIASES, "method")]
        taken = [self.id_col, self.time_col, self.target_col, "cutoff", "sample_id"]
        if len({*taken, name}) <= len(taken):
            raise ValueError(
                f"expected different names for the columns {taken} and the forecast's, got {name!r}"
            )
        shares = _listed(level, "level", 100)
        factors: dict[float, NDArray[np.float64]] = {}
        wanted: dict[str, float] = {}
        if hasattr(self, "calibration_"):
            factors = {share: self.calibration_.factors(share / 100) for share in shares}
        else:
            for share in shares:
                wanted[f"{name}-lo-{share:g}"] = 0.5 - share / 200
                wanted[f"{name}-hi-{share:g}"] = 0.5 + share / 200
        for q in _listed(quantiles, "quantiles", 1):
            wanted[f"{name}-q-{100 * q:g}"] = q

        def ask(dist: SamplePredictive) -> Answers:
            columns = {name: dist.mean}
            for share, by_step in factors.items():
                factor = by_step[np.minimum(np.arange(dist.horizon), len(by_step) - 1)]
                ends = widened(dist.mean, dist.std, factor)
                columns[f"{name}-lo-{share:g}"] = ends[..., 0]
                columns[f"{name}-hi-{share:g}"] = ends[..., 1]
            if wanted:
                values = np.moveaxis(dist.quantile(list(wanted.values())), -1, 0)
                columns.update(zip(wanted, values, strict=True))
            return columns

        return ask

    def _frame(
        self, panel: Panel, ahead: Ahead, answers: Answers, beside: Mapping[str, Any] | None = None
    ) -> Any:
        return panel.frame(
            {
                self.id_col: np.repeat(ahead.ids, ahead.h),
                self.time_col: ahead.times,
                **(beside or {}),
                **{name: values.ravel() for name, values in answers.items()},
            }
        )


def _listed(values: Any, name: str, top: float) -> list[float]:
    """One number or several: quantiles between 0 and 1, or levels from 1 to 100 per cent."""
    listed = np.ravel([] if values is None else values)
    is_number = listed.dtype.kind in "iuf" or not listed.size
    if not is_number or not np.all((listed > 0) & (listed < top) & (listed >= top // 100)):
        example = "[80, 95], in per cent" if top == 100 else "[0.1, 0.9]"
        raise ValueError(
            f"expected {name} strictly between {top // 100:g} and {top:g}, such as {example}, "
            f"got {values!r}"
        )
    return [float(value) for value in listed]
