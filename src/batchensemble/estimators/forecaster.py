"""Forecasts of one series or many, as whole sample paths."""

import copy
import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, final

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from batchensemble.conformal import REPORTED, IntervalCalibration, fewest_rows
from batchensemble.data.columns import Columns
from batchensemble.data.date_columns import check_spans
from batchensemble.data.doubts import doubts_about_covariates
from batchensemble.data.future_rows import doubts_about_future, read_future
from batchensemble.data.gaps import seasonally_filled
from batchensemble.data.panels import (
    Names,
    Panel,
    check_lengths,
    check_static,
    has_times,
    is_named,
    joined,
    read_panel,
)
from batchensemble.data.public_holidays import check_holidays, holiday_columns, holiday_names
from batchensemble.data.series_encoder import SeriesEncoder
from batchensemble.data.stamps import are_at_start
from batchensemble.data.telling import tell
from batchensemble.data.units import doubts_about_series
from batchensemble.estimators.backtests import doubts_about_levels, past_forecasts
from batchensemble.estimators.base import Estimator, pick_device
from batchensemble.estimators.certainty import of_changing_series
from batchensemble.estimators.demand import intermittent, with_demand
from batchensemble.estimators.forecast import (
    Forecast,
    asked_columns,
    check_horizon,
    joined_frame,
    order_of_windows,
    read_levels,
)
from batchensemble.estimators.observed import (
    MOST_FORECASTS,
    Observed,
    doubts_about_gaps,
    steps_to_calibrate,
)
from batchensemble.estimators.parameters import SERIES_CONSTRAINTS, SERIES_PARAMETERS
from batchensemble.estimators.presets import SERIES_PRESETS, resolve
from batchensemble.estimators.series_model import (
    Ahead,
    SeriesModel,
    hold_out_windows,
    make_windows,
    reach_of,
    series_network,
)
from batchensemble.estimators.series_networks import NETWORKS, HeldOut
from batchensemble.estimators.splits import CALIBRATION_SHARE
from batchensemble.plots.forecast import MOST_SERIES, plot_forecast
from batchensemble.predictive import SamplePredictive
from batchensemble.training.losses import GaussianCRPS, GaussianNLL
from batchensemble.training.methods import MakeNetwork
from batchensemble.training.models import Ensemble, Rows
from batchensemble.words import true_or_false

PLOTTED_LEVELS = (50, 80, 95)
MOST_PLOTTED = 180  # past steps, where the context or the horizon needs no more
MOST_HELD_OUT = 200_000  # values in the windows that stop training
FORECASTS_KEPT = 100  # at least, of those that update adds
NOT_LEARNED = (
    "they are not used for training or scores. To fill them in, pass fill='interpolate' or 'ffill'"
)
NOT_READ = "these forecasts do without them"


@final
@dataclass(eq=False, repr=False, kw_only=True)
class Forecaster(Estimator):
    __doc__ = f"""Forecast series, and how far to trust the forecast.

    By default exponential smoothing in many variants, weighted by how well they did in the values
    before the forecast, and corrected by a network that all series share. preset="fast" and "best"
    train it for less or longer; "recurrent" is the paper's network (GRUBE) with settings for real
    series, and "paper" the study's setting.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.sin(np.arange(120) / 3) + np.random.default_rng(0).normal(size=120) / 10
    >>> model = Forecaster(context=12, horizon=5, epochs=5, random_state=0).fit(y)
    >>> model.predict(level=[80]).columns.tolist()
    ['unique_id', 'ds', 'BatchEnsemble', 'BatchEnsemble-lo-80', 'BatchEnsemble-hi-80']
    {SERIES_PARAMETERS}
    Attributes
    ----------
    model_ : SeriesModel
        The fitted model: its `encoder` turns series into numbers, its `ensemble` has the trained
        networks, and `simulate` draws paths.
    calibration_ : IntervalCalibration or None
        After `calibrate`: past forecasts beside the truth.
    panel_ : Panel
        The series that it forecasts. A saved file keeps the end of each that a forecast reads, at
        least a context and a horizon.
    season_ : int
        Steps in a season.
    context_ : int
        Steps that a forecast reads.
    lags_ : tuple of int
        The lags, in steps, of the values that it reads at each step.
    settings_ : dict
        The preset's settings, explicit arguments in their place.
    intermittent_ : list
        The ids of series whose demand is intermittent: never negative, and more than 1.32 steps
        from one value above zero to the next, on average, in the values that a forecast reads.
        Their paths are drawn from these values, in the order of the network's paths, if that
        forecast the end of such series better.
    n_parameters_ : int
        Trained parameters of all networks together.
    history_ : list of History
        Losses and scores by epoch.
    """

    context: int | None = None
    horizon: int | None = None
    season: int | None = None
    seasonal_lag: bool | None = None
    calendar: bool | None = None
    feedback: str | None = None
    hidden_size: int | None = None
    n_layers: int | None = None
    gates: str = "czf"
    log_variance_bounds: tuple[float, float] | None = None
    n_paths: int = 2000
    future_columns: Sequence[str] = ()
    past_columns: Sequence[str] = ()
    static_columns: Sequence[str] = ()
    holidays: str | None = None
    freq: str | int | pd.offsets.BaseOffset | None = None
    fill: str | None = None
    id_col: str = "unique_id"
    time_col: str = "ds"
    target_col: str = "y"
    alias: str | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = SERIES_CONSTRAINTS
    _task: ClassVar[str] = "forecast"
    _dtype: ClassVar[torch.dtype] = torch.float32

    model_: SeriesModel = field(init=False)
    calibration_: IntervalCalibration | None = field(init=False, default=None)
    season_: int = field(init=False)
    context_: int = field(init=False)
    lags_: tuple[int, ...] = field(init=False)
    _observed: Observed = field(init=False)

    @property
    def panel_(self) -> Panel:
        check_is_fitted(self, "model_")
        return self._observed.panel

    @property
    def intermittent_(self) -> list[Any]:
        """The series that are zero so often that demand counts as intermittent."""
        read = self.panel_.tail(self.model_.reach)  # no more: a file need not keep what was before
        return list(read.ids[intermittent(read)].tolist())

    def fit(self, df: Any, *, calibrate: bool = False, adapt: bool = True) -> Self:
        """Learn one model from all series.

        df is a long frame (pandas, polars) with a row for each series and time, a pandas or polars
        Series, or one array. Rows may come in any order. With `calibrate`, the same number of last
        steps of every series (a fifth of the shortest, or what bounds of 95 % need) is held out and
        passed to `calibrate`, together with `adapt`. A fit that fails leaves the estimator as it
        was.
        """
        with self._all_or_nothing():
            self.settings_ = self._resolved()
            calibrate, adapt = true_or_false(calibrate, "calibrate"), true_or_false(adapt, "adapt")
            panel, held_back = self.read(df), None
            for doubt in doubts_about_gaps(panel, NOT_LEARNED):
                tell(doubt, 2)
            if calibrate:
                panel, held_back = self._held_back(panel)
            self._fit(panel)
            if held_back is not None:
                self.calibrate(held_back, adapt=adapt)
        return self

    def _held_back(self, panel: Panel) -> tuple[Panel, Panel]:
        """The series without their last steps, as many of each, and these steps."""
        h = int(self.settings_["horizon"])
        n_held_back = steps_to_calibrate(panel, h, CALIBRATION_SHARE)
        check_lengths(panel, n_held_back + h + 1)
        return panel.head(n_held_back), panel.tail(n_held_back)

    def _fit(self, panel: Panel) -> None:
        method = self._make_method()
        network = NETWORKS[self.settings_["network"]](self.settings_, panel, self.season)
        self.settings_ = settings = network.settings
        training = self._training(stops_early=bool(settings["validation_fraction"]))
        self.season_, self.context_, self.lags_ = network.season, network.context, network.lags
        panel = seasonally_filled(panel, self.season_, done=0)
        reach, horizon = reach_of(self.context_, self.lags_), int(settings["horizon"])
        encoder = SeriesEncoder(
            settings["scaling"],
            calendar=settings["calendar"],
            period=self.season_,
            linear=network.is_linear,
            future=self.future_names,
            past=self.past_columns,
            static=self.static_columns,
        ).fit(panel)
        panel = encoder.filled(panel, panel, None, done=0)
        random = check_random_state(self.random_state)
        seed, prediction_seed = map(int, random.randint(2**31 - 1, size=2))
        encoded, starts = network.lengthened(encoder.encode(panel), panel)
        data = make_windows(encoder, encoded, reach, horizon, pick_device(self.device))
        most = None if settings["epoch_steps"] is None else MOST_HELD_OUT // (reach + horizon)
        rows, held_out = hold_out_windows(
            starts, reach, horizon, settings["validation_fraction"], most
        )
        if training.patience is not None and held_out is None and self.epochs is None:
            training = dataclasses.replace(training, epochs=max(1, training.epochs // 3))
        if settings["epoch_steps"] is not None:
            n_steps = min(int(settings["epoch_steps"]), -(-len(rows) // training.batch_size))
            training = dataclasses.replace(training, epoch_steps=n_steps)
        recipe = network.recipe(covariates=encoded.covariates.shape[1])
        split = Rows(seed, torch.tensor(rows), None if held_out is None else torch.tensor(held_out))
        ensemble = self._train(
            method, recipe, self._loss(), data, training, rows=[split], seed=prediction_seed
        )
        judged = of_changing_series(panel, starts, rows if held_out is None else held_out)
        n_apart = 0.0 if held_out is None else len(panel) + len(judged) / horizon
        counts = n_apart, len(panel) + len(rows) / horizon
        ensemble = network.finished(ensemble, HeldOut(data, judged, self._loss(), *counts))
        self.model_ = with_demand(self._assembled(encoder, ensemble), panel)
        self.calibration_ = None
        self.__dict__.pop("origin_", None)
        self._observed = Observed.at_fit(panel)

    def _resolved(self) -> dict[str, Any]:
        self._validate_params()
        given = self.get_params(deep=False)
        settings = resolve(self.preset, given, SERIES_PRESETS)
        for name, network in NETWORKS.items():
            odd = [word for word in network.only if given[word] not in (None, "czf")]
            if name != settings["network"] and odd:
                raise ValueError(
                    f"{', '.join(odd)} are for the {name} network, and preset={self.preset!r} has "
                    "none; pass preset='recurrent' or 'paper', or omit them"
                )
        return settings | ({"gates": self.gates} if settings["network"] == "recurrent" else {})

    def update(self, df: Any) -> Self:
        """Continue with new observations, right after the old ones, without training on them.

        They have the form of those of fit; an array continues a single series. A calibrated
        forecaster compares them with what it would have forecast: its intervals adapt
        to the new errors (without `adapt`, these replace the oldest).
        """
        panel = self._extended(df)
        if self.calibration_ is not None:
            rows = self._observed.cutoffs(panel, self.model_, self.panel_.lengths)
            if len(rows):
                kept = max(len(self.calibration_), FORECASTS_KEPT)
                adapts = self.calibration_.is_adaptive
                new = self._past(panel, panel, self.model_.horizon, rows).compared(adapt=adapts)
                both = IntervalCalibration.joined([self.calibration_, new])
                self.calibration_ = both.newest(kept, max(kept, MOST_FORECASTS))
        return self._continued(panel)

    def calibrate(self, df: Any, *, adapt: bool = True) -> Self:
        """Continue with new observations as `update` does, and calibrate intervals with them.

        Every stretch of `horizon` steps since fit is forecast from what precedes it, as far as
        the series are here (a file keeps their ends). The errors, in predicted standard
        deviations, say how wide intervals must be, step by step and for all series together. There
        is no guarantee: the future of a series need not be like its past.

        With `adapt` the intervals become wider after each value that they miss, and narrower after
        each that they contain, so that they adapt to change (adaptive conformal inference that
        tunes its own step: Gibbs and Candès, arXiv:2208.08401). `update` continues this with every
        window that becomes known, and `cross_validation` with every step of one. Without it, all
        past errors have the same weight.
        """
        adapt = true_or_false(adapt, "adapt")
        panel = self._extended(df)
        rows = self._observed.cutoffs(panel, self.model_, np.zeros(len(panel), dtype=np.int64))
        fewest = fewest_rows(0.9)
        past = self._past(panel, panel, self.model_.horizon, rows)
        n = int((~np.isnan(past.truth)).sum(axis=0).min())
        if n < fewest:
            gaps = ", not counting missing values" * (panel.is_filled is not None)
            raise ValueError(
                f"expected at least {fewest} windows of horizon={self.model_.horizon} "
                f"steps after the end of the training data, of all series together, got {n}{gaps}; "
                "add newer observations"
            )
        found = past.compared(adapt=adapt)
        if found.fewest < fewest:
            raise ValueError(
                f"expected at least {fewest} past forecasts of series that were not constant "
                f"before, got {found.fewest} of {n}: the others have no spread to calibrate; "
                "add newer observations, or do not calibrate"
            )
        self.calibration_ = found
        how = f"Calibrated with {len(found):,} forecasts after its training"
        self._amend_origin(calibrated=how)
        return self._continued(panel)

    def calibration_report(self) -> pd.DataFrame:
        """What calibration changed, by nominal coverage, over all steps.

        On the later half of the past forecasts: `..._before` are the intervals of the paths,
        `..._after` those that a calibration with the earlier half gives.
        """
        self._check_calibrated()
        assert self.calibration_ is not None
        n = len(self.calibration_)
        report = {**self.calibration_.report_in_time(), "forecasts": n - n // 2}
        return pd.DataFrame(report, index=pd.Index(REPORTED, name="coverage"))

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
        of the paths, or after calibration the mean plus or minus as many standard deviations as
        past forecasts needed so many steps ahead (beyond `horizon`, as at its end).
        `quantiles=[0.1]` adds `<alias>-q-10`. X_df holds the future_columns of the times to come. A
        `df` is forecast in place of the series of fit, without learning from it.
        """
        forecast = self.forecast(h, X_df=X_df, df=df)
        return forecast.frame(forecast.columns(level, quantiles))

    def predict_quantiles(
        self,
        quantiles: Sequence[float] = (0.1, 0.5, 0.9),
        *,
        h: int | None = None,
        X_df: Any = None,
        df: Any = None,
    ) -> Any:
        """Quantiles of every step: a frame with `<alias>-q-10`, ..., and no other forecasts."""
        forecast = self.forecast(h, X_df=X_df, df=df)
        answers = forecast.columns(quantiles=quantiles)
        return forecast.frame({n: v for n, v in answers.items() if n != forecast.alias})

    def predict_dist(
        self, h: int | None = None, *, n_paths: int | None = None, X_df: Any = None, df: Any = None
    ) -> SamplePredictive:
        """The paths themselves, (series, members, paths, h), as one object."""
        return self.forecast(h, n_paths=n_paths, X_df=X_df, df=df).dist

    def simulate(
        self,
        n_paths: int | None = None,
        h: int | None = None,
        *,
        seed: int | None = None,
        X_df: Any = None,
        df: Any = None,
    ) -> Any:
        """Joint paths of every series: a frame with the columns unique_id, ds, sample_id, y.

        Compute sums, maxima and waiting times along each path: its steps belong together.
        """
        forecast = self.forecast(h, n_paths=n_paths, X_df=X_df, df=df)
        return forecast.simulated(seed)

    def uncertainty(self, h: int | None = None, *, X_df: Any = None, df: Any = None) -> Any:
        """Variances by step: a frame with total, aleatoric (noise) and epistemic (model)."""
        forecast = self.forecast(h, X_df=X_df, df=df)
        return forecast.frame(forecast.ask(lambda dist: dist.uncertainty()._asdict()))

    def forecast(
        self, h: int | None = None, *, n_paths: int | None = None, X_df: Any = None, df: Any = None
    ) -> Forecast:
        """The next h steps as an object, the source of all other forecasts."""
        check_is_fitted(self, "model_")
        h = check_horizon(self.model_.horizon if h is None else h)
        panel = self.panel_
        if df is not None:
            panel = self._read(df, fill=self.fill, freq=panel.freq, like=panel.times)
            check_lengths(panel, self.model_.shortest)
            for doubt in doubts_about_gaps(panel.tail(self.model_.reach), NOT_READ):
                tell(doubt, 3)
            self._doubt_columns(panel.columns)
            panel = self.filled(panel, panel)
        columns: Columns | None = None
        if self.future_columns:
            if X_df is None:
                raise ValueError(
                    f"expected X_df= with the columns {list(self.future_columns)} for the next {h} "
                    "times of every series, got none; they were named future_columns"
                )
            at_start = self._takes_starts(panel.times, panel.freq)
            columns = read_future(panel, X_df, h, self.future_columns, at_start=at_start)
            self._doubt_columns(columns)
            for doubt in doubts_about_future(columns, panel.columns):
                tell(doubt, 3)
        elif X_df is not None:
            raise ValueError(
                "expected no X_df=, since no columns were named future_columns in fit, got "
                f"{type(X_df).__name__}; name them and fit again, or omit it"
            )
        if self.holidays is not None:
            known = holiday_columns(panel.future_times(h), self.holidays)
            columns = Columns((*(columns or ()), *known))
        return self._forecast(panel, self.model_.ahead(panel, h, columns), n_paths)

    def _forecast(self, panel: Panel, ahead: Ahead, n_paths: int | None = None) -> Forecast:
        return Forecast(
            self.model_,
            self.calibration_,
            panel,
            ahead,
            self._names,
            self._alias(),
            self.n_paths if n_paths is None else n_paths,
            self.verbose,
        )

    def filled(self, panel: Panel, history: Panel) -> Panel:
        """Series from a row that was observed, with something in the place of missing values."""
        encoder, reach = self.model_.encoder, self.model_.reach
        return encoder.filled(panel, history, reach, done=0)

    def judged(self, panel: Panel, history: Panel, h: int, rows: NDArray[np.int64]) -> Forecast:
        """Of the h times after these rows, in hindsight; of series from their beginning."""
        return self._past(self.filled(panel, history), history, h, rows)

    def _past(self, panel: Panel, history: Panel, h: int, rows: NDArray[np.int64]) -> Forecast:
        forecast = self._forecast(panel, self.model_.ahead_of(panel, history, h, rows))
        return dataclasses.replace(forecast, in_hindsight=True)

    def cross_validation(
        self,
        df: Any,
        *,
        h: int | None = None,
        n_windows: int = 1,
        step_size: int = 1,
        level: Sequence[float] | None = None,
        quantiles: Sequence[float] | None = None,
        refit: bool | int | str = False,
    ) -> Any:
        """Forecast the last `n_windows` stretches of h steps, `step_size` apart.

        A copy of this forecaster is fitted to the data before all of them (`refit=False`), before
        each of them (`True`), or before every n-th (`refit=n`), and calibrated with the end of
        these data if this one is calibrated. With `refit="never"` this one is used as it is, if it
        was neither trained on the windows nor calibrated with them. A frame with a row for each
        series, cutoff (the last known time) and time, and the truth beside the forecast. A warning
        says if the intervals of a `level` cover far too few true values. With a `fill`, gaps are
        filled forward: interpolation would look beyond a cutoff.
        """
        asked_columns(self._alias(), level, quantiles)  # refuse wrong levels before the fit
        parts = self._past_forecasts(df, h, n_windows, step_size, refit)
        answers = [past.columns(level, quantiles) for past in parts]
        for doubt in doubts_about_levels(parts, answers, level):
            tell(doubt, 2)
        return joined_frame(parts, answers)

    def cross_validation_dist(
        self,
        df: Any,
        *,
        h: int | None = None,
        n_windows: int = 1,
        step_size: int = 1,
        refit: bool | int | str = False,
    ) -> SamplePredictive:
        """The paths behind `cross_validation`, one row for each series and cutoff."""
        parts = self._past_forecasts(df, h, n_windows, step_size, refit)
        paths = np.concatenate([past.dist.paths for past in parts])
        return SamplePredictive(paths[order_of_windows(parts)])

    def backtest(
        self,
        df: Any,
        *,
        h: int | None = None,
        n_windows: int = 1,
        step_size: int = 1,
        refit: bool | str = False,
    ) -> Forecast:
        """The forecasts behind `cross_validation`, of one fit, as an object with the truth."""
        parts = self._past_forecasts(df, h, n_windows, step_size, refit)
        if len(parts) > 1:
            raise ValueError(
                f"a backtest scores one model, but refit={refit!r} would fit {len(parts)}; "
                "pass refit=False or 'never', or call cross_validation"
            )
        return parts[0]

    def _past_forecasts(
        self, df: Any, h: int | None, n_windows: int, step_size: int, refit: Any
    ) -> list[Forecast]:
        h = check_horizon(self._resolved()["horizon"] if h is None else h)
        return past_forecasts(self, df, h, n_windows, step_size, refit)

    def read_past(self, df: Any, *, as_fitted: bool) -> Panel:
        """Series whose past is to be forecast: filled, if at all, without a look ahead."""
        fill = "ffill" if self.fill == "interpolate" else self.fill
        if as_fitted:
            return self._read(df, fill=fill, freq=self.panel_.freq, like=self.panel_.times)
        return self._read(df, fill=fill, freq=self.freq, kind=self._resolved()["network"])

    @property
    def adapts(self) -> bool:
        """Whether its intervals adapt to new observations."""
        return self.calibration_ is not None and self.calibration_.is_adaptive

    def caught_up(self, history: Panel) -> "Forecaster":
        """If its intervals adapt, a copy that has seen the history of its series to the end.

        They adapt to series that go on right after what it knows, not to those with a gap.
        """
        new = self._observed.new_rows(history) if self.adapts else None
        return self if new is None else copy.copy(self).update(new)

    def first_new_rows(self, history: Panel) -> NDArray[np.int64]:
        """Where each series of a history goes on after what this forecaster knows of it."""
        return self._observed.first_new_rows(history)

    def check_unseen(self, history: Panel) -> None:
        """Refuse windows after `history` that fit or calibration has seen."""
        self._observed.check_unseen(history, calibrated=self.calibration_ is not None)

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
        """The history, the forecast and its central intervals: a matplotlib Figure.

        One panel for each series, at most the first six; `series` names one or a list of them.
        The intervals are of 50, 80 and 95 %, or of the `level` asked for; after a calibration with
        few forecasts only of those that it reaches.
        `history` is how many past steps to show, by default three contexts or horizons, and one
        context if it is long.
        """
        check_is_fitted(self, "model_")
        panel = self.panel_
        if series is not None:
            if isinstance(series, (np.ndarray, pd.Series, pd.Index)):
                series = np.ravel(series).tolist()
            panel = panel.only(series if isinstance(series, (list, tuple)) else [series])
        forecast = self.forecast(h, X_df=X_df, df=panel.only(panel.ids[:MOST_SERIES]))
        if level is None:
            n = math.inf if self.calibration_ is None else self.calibration_.fewest
            level = [share for share in PLOTTED_LEVELS if n >= fewest_rows(share / 100)]
        mean, *bounds = forecast.columns(level).values()
        shares = dict.fromkeys(read_levels(level))
        fan = dict(zip(shares, zip(bounds[::2], bounds[1::2], strict=True), strict=True))
        history = self._plotted_history(forecast.ahead.h) if history is None else history
        self._observed.check_remembered(forecast.panel, check_horizon(history, "history"))
        return plot_forecast(panel, mean, fan, history=history, ax=ax)

    @property
    def _names(self) -> Names:
        return Names(self.id_col, self.time_col, self.target_col)

    @property
    def _kind(self) -> str:
        """Of network, as fitted or as the preset says."""
        if hasattr(self, "model_"):
            return self.model_.kind
        return str(SERIES_PRESETS.get(self.preset, SERIES_PRESETS["default"])["network"])

    def _alias(self) -> str:
        name = self.alias or NETWORKS[self._kind].aliases.get(self.method, self.method)
        own, taken = [self.id_col, self.time_col, self.target_col], ["cutoff", "sample_id"]
        if {*own} & {*taken}:
            raise ValueError(
                f"the columns of ids, times and targets are {own}, but forecasts have columns "
                f"named {' and '.join(taken)}; rename the column"
            )
        taken += own
        if len({*taken, name}) <= len(taken):
            raise ValueError(
                f"the forecast cannot be named {name!r}, like one of the columns {taken}; "
                "choose another alias"
            )
        return name

    @property
    def future_names(self) -> tuple[str, ...]:
        """Columns that are known ahead: the user's, and those of holidays."""
        return (*self.future_columns, *holiday_names(self.holidays))

    def _read(
        self,
        df: Any,
        *,
        fill: str | None,
        freq: Any,
        kind: str | None = None,
        has_dates: bool = True,
        goes_on: bool = False,
        like: Any = None,
    ) -> Panel:
        if isinstance(df, Panel):
            return df
        columns = (*self.future_columns, *self.past_columns, *self.static_columns)
        panel = read_panel(
            df,
            names=self._names,
            columns=columns,
            freq=freq,
            fill=fill,
            marks_gaps=fill is None and NETWORKS[kind or self._kind].reads_around_gaps,
            goes_on=goes_on,
            like=like,
            at_start=like is not None and self._takes_starts(like, freq),
        )
        check_static(panel, self.static_columns)
        return self._with_holidays(panel) if has_dates else panel

    def _doubt_columns(self, columns: Columns | None) -> None:
        """Warn of other units or words than those of fit, and refuse durations for its numbers."""
        if columns is None:
            return
        for encoder in self.model_.encoder.encoders_.values():
            named = [column for name in encoder.names_ for column in columns if column.name == name]
            if len(named) == len(encoder.names_):
                check_spans(Columns(tuple(named)), getattr(encoder, "spans_", ()))
            for doubt in doubts_about_covariates(columns, encoder):
                tell(doubt, 4)

    def _takes_starts(self, times: Any, freq: Any) -> bool:
        """Whether times of fit were moved to the start of their month, day, ..., or lay there."""
        return self.freq is not None and are_at_start(times, freq)

    def _with_holidays(self, panel: Panel) -> Panel:
        if self.holidays is None:
            return panel
        own = panel.columns or ()
        check_holidays(self.holidays, panel.freq, own)
        known = holiday_columns(panel.times, self.holidays)
        return dataclasses.replace(panel, columns=Columns((*own, *known)))

    def read(self, df: Any) -> Panel:
        """Time series of any accepted form as `fit` reads them, checked."""
        kind = resolve(self.preset, {}, SERIES_PRESETS)["network"]
        return self._read(df, fill=self.fill, freq=self.freq, kind=kind)

    def _extended(self, df: Any) -> Panel:
        check_is_fitted(self, "model_")
        panel = self.panel_
        if len(panel) == 1 and not isinstance(df, Panel) and not has_times(df):
            new = self._read(df, fill=self.fill, freq=1, has_dates=False, goes_on=True)
            new = self._with_holidays(panel.followed_by(new))
        else:
            new = self._read(df, fill=self.fill, freq=panel.freq, goes_on=True, like=panel.times)
            if len(panel) == 1 and not is_named(df, self._names):
                new = dataclasses.replace(new, ids=panel.ids)
        for doubt in doubts_about_series(panel, np.repeat(new.ids, new.lengths), new.observed):
            tell(doubt, 3)
        self._doubt_columns(new.columns)
        both, encoder = joined(panel, new, self.fill), self.model_.encoder
        check_static(both, self.static_columns)
        return encoder.filled(both, both, self.model_.reach, self._observed.done(encoder.period))

    def _continued(self, panel: Panel) -> Self:
        self._observed = dataclasses.replace(self._observed, panel=panel)
        seen = self.model_.encoder.having_seen(panel)
        self.model_ = dataclasses.replace(self.model_, encoder=seen)
        return self

    def _plotted_history(self, h: int) -> int:
        """Past steps that a plot of h steps shows by default."""
        return max(min(3 * self.context_, max(self.context_, MOST_PLOTTED)), 3 * h)

    def _loss(self) -> GaussianNLL | GaussianCRPS:
        bounds = tuple(self.settings_["log_variance_bounds"])
        if self.settings_.get("loss") == "crps":
            return GaussianCRPS(bounds=bounds)
        return GaussianNLL(bounds=bounds)

    def _network(self, recipe: dict[str, Any]) -> MakeNetwork:
        return series_network(recipe, self._loss())

    def _assembled(self, encoder: SeriesEncoder, ensemble: Ensemble) -> SeriesModel:
        return SeriesModel(encoder, ensemble, self._loss())

    def _learned(self) -> dict[str, Any]:
        h = self.model_.horizon
        # `update` forecasts what its first rows belong to, and fills their gaps as a season ago.
        needed = max(self.model_.reach + h, self.model_.shortest + h, self.season_ + 1)
        period = self.model_.encoder.period
        kept = self._observed.tail(max(needed, self._plotted_history(h)), period)
        learned = super()._learned()
        del learned["_observed"]
        learned |= {
            "panel_": kept.panel,
            "_learned_until": kept.learned_until,
            "_forgotten": kept.forgotten,
        }
        return learned

    def restore(self, learned: dict[str, Any], theta: Tensor, device: torch.device) -> None:
        names = ("panel_", "_learned_until", "_forgotten")
        self._observed = Observed(*(learned[name] for name in names))
        others = {name: value for name, value in learned.items() if name not in names}
        super().restore(others, theta, device)

    def _about_data(self) -> dict[str, Any]:
        panel = self.panel_
        columns = [
            {"name": name, "kind": kind, "known": known}
            for known, encoder in self.model_.encoder.encoders_.items()
            for name, kind, _ in encoder.columns_
        ]
        return {
            "columns": columns,
            "target": {
                "name": self.target_col,
                "n_series": len(panel),
                "freq": panel.freq if isinstance(panel.freq, int) else panel.freq.freqstr,
                "last_time": max(panel.last_times),
                "horizon": self.model_.horizon,
                "context": self.context_,
            },
        }
