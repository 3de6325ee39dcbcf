"""Forecasts of one series or many, as whole sample paths."""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self, final

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from batchensemble.calendars import season_length
from batchensemble.engines import Windows
from batchensemble.estimators.base import Estimator, pick_device
from batchensemble.estimators.parameters import CONSTRAINTS, COUNT, PARAMETERS
from batchensemble.estimators.presets import SERIES_PRESETS, resolve
from batchensemble.grids import alike, when
from batchensemble.losses import GaussianNLL
from batchensemble.methods import Members, make_method
from batchensemble.models import Rows, fit_models, make_members, recurrent_maker, sample_paths
from batchensemble.panels import Names, Panel, check_lengths, read_future, read_panel
from batchensemble.predictive import SamplePredictive
from batchensemble.progress import track
from batchensemble.windowing import Encoded, SeriesEncoder, window_starts
from batchensemble.words import one_of

ALIASES = {
    "batch_ensemble": "GRUBE",
    "deep_ensemble": "GRU-ensemble",
    "mc_dropout": "GRU-dropout",
    "single": "GRU",
}
FEWEST_WINDOWS_HELD_OUT = 8
LONGEST_AUTOMATIC_CONTEXT = 60

Ask = Callable[[SamplePredictive], Mapping[str, NDArray[np.float64]]]
"""What is wanted of some windows' paths, by name: (windows, horizon) arrays."""


@final
@dataclass(eq=False, repr=False, kw_only=True)
class Forecaster(Estimator):
    __doc__ = f"""Forecast series, and how far to trust the forecast.

    >>> import numpy as np
    >>> y = np.sin(np.arange(120) / 3) + np.random.default_rng(0).normal(size=120) / 10
    >>> model = Forecaster(context=12, horizon=5, epochs=5, random_state=0).fit(y)
    >>> model.predict(level=[80]).columns.tolist()
    ['unique_id', 'ds', 'GRUBE', 'GRUBE-lo-80', 'GRUBE-hi-80']
    {PARAMETERS}    context : int
        Steps that the network reads before the first forecast; by default two seasons, between 12
        and 60, and less for short series.
    horizon : int
        Steps that it is trained to forecast, and forecasts unless told otherwise.
    season : int
        Steps in a season; by default what the frequency suggests (12 for months, 7 for days, 24
        for hours), and none for series without dates.
    seasonal_lag : bool
        Whether the value one season before each step is an input; only where every series has
        three seasons.
    calendar : bool
        Whether the position in year, week and day is an input.
    feedback : {{"teacher", "mean", "sample"}}
        What stands for the values between the last observation and a step when it is trained: the
        truth, the predicted mean (as in the paper), or a sample. Paths feed back their own samples
        whatever it was trained with.
    scaling : {{"window", "standard", "minmax"}}
        Of each series: by the mean and spread of what the network reads, so that level and trend
        do not matter; to unit variance; or to [0, 1].
    hidden_size, n_layers : int
        Of the recurrent part; `hidden` are the layers behind it.
    gates : str
        Which gates of GRUBE have members, letters of "czf" (candidate, update, reset).
    log_variance_bounds : (float, float)
        Smooth bounds of the predicted log-variance, in scaled units.
    validation_fraction : float
        Share of each series' last windows held out for early stopping; 0 trains on all for all
        epochs, as do series too short to spare eight.
    n_paths : int
        Sample paths of a forecast, shared evenly by the members. Where they do not divide it, each
        member draws one more than its share, and `simulate` leaves the surplus away.
    future_columns, past_columns : sequence of str
        Exogenous columns: known ahead (pass them to `predict` as X_df), or up to the present only.
    freq : str, int or pandas offset
        From one time to the next; inferred if None.
    fill : {{"interpolate", "ffill"}}
        How to close gaps; if None they are an error that names them.
    id_col, time_col, target_col : str
        Column names of long frames.
    alias : str
        Name of the forecast's columns; by default that of the method.

    Attributes
    ----------
    n_parameters_ : int
        Trained numbers, of all networks together.
    panel_, season_, context_, lags_
        What it forecasts from: the series, and how they are read.
    bank_, encoder_, history_
        The trained networks, the encoder of the series, and losses and scores by epoch.
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
    freq: str | int | pd.offsets.BaseOffset | None = None
    fill: str | None = None
    id_col: str = "unique_id"
    time_col: str = "ds"
    target_col: str = "y"
    alias: str | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CONSTRAINTS,
        "adapters": [str],
        "context": [COUNT, None],
        "horizon": [COUNT, None],
        "season": [COUNT, None],
        "seasonal_lag": ["boolean", None],
        "calendar": ["boolean", None],
        "feedback": [str, None],
        "hidden_size": [COUNT, None],
        "n_layers": [COUNT, None],
        "gates": [str],
        "log_variance_bounds": [tuple, list, None],
        "n_paths": [COUNT],
        "future_columns": [list, tuple],
        "past_columns": [list, tuple],
        "freq": [str, Integral, pd.offsets.BaseOffset, None],
        "fill": [str, None],
        "id_col": [str],
        "time_col": [str],
        "target_col": [str],
        "alias": [str, None],
    }

    def fit(self, df: Any) -> Self:
        """Learn one model from all series.

        df is a long frame (pandas, polars) with a row for each series and time, a pandas or polars
        Series, or one array. Rows may come in any order. A fit that fails leaves the estimator as
        it was.
        """
        with self._all_or_nothing():
            self._fit(df)
        return self

    def _fit(self, df: Any) -> None:
        self._validate_params()
        self._settings = resolve(self.preset, self.get_params(deep=False), SERIES_PRESETS)
        self._method = make_method(self.method, n_members=self.n_members, n_passes=self.n_passes)
        training = self._training()
        panel = self._read(df, fill=self.fill, freq=self.freq)
        self._choose_reading(panel)
        self.encoder_ = SeriesEncoder(
            self._settings["scaling"],
            calendar=self._settings["calendar"],
            period=self.season_,
            future=self.future_columns,
            past=self.past_columns,
        ).fit(panel)
        random = check_random_state(self.random_state)
        seed, self._prediction_seed = map(int, random.randint(2**31 - 1, size=2))
        data = self._windows(self.encoder_.encode(panel), self._horizon, pick_device(self.device))
        rows, held_out = self._split(panel)
        make = recurrent_maker(
            data.series.shape[1] - 1,
            (1, 1),
            draw=self._loss().draw,
            context=self.context_,
            horizon=self._horizon,
            lags=self.lags_,
            feedback=self._settings["feedback"],
            hidden_size=self._settings["hidden_size"],
            n_layers=self._settings["n_layers"],
            hidden=tuple(self._settings["hidden"]),
            dropout=self._settings["dropout"],
            adapters=str(self.adapters),
            gates=self.gates,
            init=self.init,
        )
        own = Rows(seed, torch.tensor(rows), None if held_out is None else torch.tensor(held_out))
        self.bank_, self.history_ = fit_models(
            self._method, make, self._loss(), data, training, rows=[own], one_by_one=self.one_by_one
        )
        self.panel_ = panel
        self._learned_until = dict(zip(panel.ids.tolist(), panel.last_times, strict=True))
        self.n_parameters_ = self.bank_.n_parameters
        self._members = self._make_members()

    def _choose_reading(self, panel: Panel) -> None:
        """Context and lags, as given or as the frequency and the shortest series allow."""
        shortest = int(panel.lengths.min())
        self.season_ = self.season or season_length(panel.freq)
        wants_lag = self._settings["seasonal_lag"] and self.season_ > 1
        self.lags_ = (1, self.season_) if wants_lag and shortest >= 3 * self.season_ else (1,)
        context = self._settings["context"]
        if context is None:
            context = min(max(12, 2 * self.season_), LONGEST_AUTOMATIC_CONTEXT)
            context = max(2, min(context, (shortest - self._horizon - max(self.lags_)) // 2))
        self.context_ = int(context)
        check_lengths(panel, self._reach + self._horizon)

    @property
    def _horizon(self) -> int:
        return int(self._settings["horizon"])

    @property
    def _reach(self) -> int:
        """Observations that a forecast needs."""
        return self.context_ - 1 + max(self.lags_)

    def _split(self, panel: Panel) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
        """Training windows and, where there are enough, each series' last ones held out.

        No target of a training window is a target of one that is held out.
        """
        length, horizon = self._reach + self._horizon, self._horizon
        every = window_starts(panel, length, first_row=panel.starts[:-1])
        counts = panel.lengths - length + 1
        n_held_out = np.round(self._settings["validation_fraction"] * counts).astype(np.int64)
        kept = np.maximum(counts - n_held_out - horizon + 1, 0)
        is_spared = (n_held_out > 0) & (kept > 0)
        n_held_out, kept = np.where(is_spared, n_held_out, 0), np.where(is_spared, kept, counts)
        if n_held_out.sum() < FEWEST_WINDOWS_HELD_OUT or kept.sum() < FEWEST_WINDOWS_HELD_OUT:
            return every, None
        position = every - np.repeat(panel.starts[:-1], counts)
        is_kept = position < np.repeat(kept, counts)
        is_held_out = position >= np.repeat(counts - n_held_out, counts)
        return every[is_kept], every[is_held_out]

    def _windows(self, encoded: Encoded, horizon: int, device: torch.device) -> Windows:
        location, scale = self.encoder_.window_scales(encoded.values, self._reach)

        def tensor(values: NDArray[Any]) -> torch.Tensor:
            return torch.tensor(values, dtype=torch.float32, device=device)

        return Windows(
            tensor(np.column_stack([encoded.values, encoded.covariates])),
            tensor(location),
            tensor(scale),
            self._reach,
            horizon,
            self.encoder_.n_past,
        )

    def _loss(self) -> GaussianNLL:
        return GaussianNLL(bounds=tuple(self._settings["log_variance_bounds"]))

    def _make_members(self) -> Members:
        return make_members(self._method, self.bank_, self._prediction_seed, torch.float32)

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

        `level=[80, 95]` adds central intervals as <alias>-lo-80, <alias>-hi-80, ...;
        `quantiles=[0.1]` adds <alias>-q-10. X_df holds the future_columns of the times to come. A
        `df` is forecast in place of the series of fit, without learning from it.
        """
        panel, encoded, h = self._ahead(h, X_df, df)
        asked = self._columns(level, quantiles)
        return self._frame(panel, h, self._ask(panel, encoded, h, asked))

    def predict_dist(
        self, h: int | None = None, *, n_paths: int | None = None, X_df: Any = None, df: Any = None
    ) -> SamplePredictive:
        """The paths themselves, (series, members, paths, h), as one object."""
        panel, encoded, h = self._ahead(h, X_df, df)
        return SamplePredictive(np.concatenate(list(self._draw(panel, encoded, h, n_paths))))

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
        panel, encoded, h = self._ahead(h, X_df, df)
        n_paths = self.n_paths if n_paths is None else n_paths
        paths = np.concatenate(list(self._draw(panel, encoded, h, n_paths, seed)))
        # Members in turn, so that leaving the surplus away takes at most one path of each.
        paths = paths.swapaxes(1, 2).reshape(len(panel), -1, h)[:, :n_paths]
        times = panel.future_times(h)
        order = np.arange(len(times)).reshape(len(panel), 1, h).repeat(n_paths, axis=1).ravel()
        return panel.frame(
            {
                self.id_col: np.repeat(panel.ids, n_paths * h),
                self.time_col: times[order],
                "sample_id": np.tile(np.repeat(np.arange(n_paths), h), len(panel)),
                self.target_col: paths.ravel(),
            }
        )

    def uncertainty(self, h: int | None = None, *, X_df: Any = None, df: Any = None) -> Any:
        """Variances by step: a frame with total, aleatoric (noise) and epistemic (doubt)."""
        panel, encoded, h = self._ahead(h, X_df, df)
        asked = self._ask(panel, encoded, h, lambda dist: dist.uncertainty()._asdict())
        return self._frame(panel, h, asked)

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

        A copy of this forecaster is fitted to what precedes them all; with `refit=False` this one
        is used as it is, if it has not learned from them. A frame with a row for each series,
        cutoff (the last time that is known) and time, and the truth beside the forecast.
        """
        self._validate_params()
        for name, count in (("n_windows", n_windows), ("step_size", step_size)):
            if not isinstance(count, Integral) or count < 1:
                raise ValueError(f"expected {name} to be a whole number above 0, got {count!r}")
        asked = self._columns(level, quantiles)
        settings = resolve(self.preset, self.get_params(deep=False), SERIES_PRESETS)
        h = check_horizon(settings["horizon"] if h is None else h)
        if not refit:
            check_is_fitted(self, "bank_")
        freq = self.freq if refit else self.panel_.freq
        panel = self._read(df, fill=self.fill, freq=freq)
        n_kept_back = h + (n_windows - 1) * step_size
        check_lengths(panel, n_kept_back + 1)
        history = panel.head(n_kept_back)
        if not refit:
            self._refuse_learned(history)
        model = clone(self).fit(history) if refit else self
        return model._validate(panel, history, h, n_windows, step_size, asked)

    def _validate(
        self, panel: Panel, history: Panel, h: int, n_windows: int, step_size: int, asked: Ask
    ) -> Any:
        check_lengths(history, self._reach)
        encoded = self.encoder_.encode(panel, learned_from=history)
        offsets = (n_windows - 1 - np.arange(n_windows)) * step_size + h
        last_known = (panel.starts[1:, None] - offsets - 1).ravel()  # (series * windows,)
        series = np.repeat(np.arange(len(panel)), n_windows)
        answers = self._ask(panel, encoded, h, asked, last_known - self._reach + 1, series)
        rows = (last_known[:, None] + 1 + np.arange(h)).ravel()
        return panel.frame(
            {
                self.id_col: np.repeat(panel.ids[series], h),
                self.time_col: panel.times[rows],
                "cutoff": panel.times[np.repeat(last_known, h)],
                self.target_col: panel.values[rows],
                **{name: values.ravel() for name, values in answers.items()},
            }
        )

    def update(self, df: Any) -> Self:
        """Go on from new observations, right after the old ones, without learning from them."""
        check_is_fitted(self, "bank_")
        new = self._read(df, fill=None, freq=self.panel_.freq)
        self.panel_ = self.panel_.extended(new)
        return self

    def plot(
        self,
        series: Any = None,
        *,
        h: int | None = None,
        level: Sequence[float] = (50, 80, 95),
        history: int | None = None,
        X_df: Any = None,
        ax: Any = None,
    ) -> Any:
        """The forecast and its central intervals behind the history: a matplotlib Figure.

        One panel for each series, of many for the first six; `series` names one or a list of them.
        `history` are the past steps to show, by default three contexts or horizons.
        """
        from batchensemble.plots import MOST_SERIES, plot_forecast

        check_is_fitted(self, "bank_")
        panel = self.panel_
        if series is not None:
            panel = panel.only(series if isinstance(series, (list, tuple)) else [series])
        tail, encoded, h = self._ahead(h, X_df, panel.only(panel.ids[:MOST_SERIES]))
        asked = self._columns(level, None)
        mean, *bounds = self._ask(tail, encoded, h, asked).values()
        shares = dict.fromkeys(_listed(level, "level", 100))
        fan = dict(zip(shares, zip(bounds[::2], bounds[1::2], strict=True), strict=True))
        history = (
            max(3 * self.context_, 3 * h) if history is None else check_horizon(history, "history")
        )
        return plot_forecast(panel, mean, fan, history=history, ax=ax)

    def _refuse_learned(self, history: Panel) -> None:
        cutoffs = alike(history.last_times, self.panel_.times)
        for i, cutoff in zip(history.ids.tolist(), cutoffs, strict=True):
            learned = self._learned_until.get(i)
            if learned is not None and learned > cutoff:
                raise ValueError(
                    f"series {i!r}: expected windows after what this forecaster has learned from, "
                    f"up to {when(learned)}, got a first cutoff at {when(cutoff)}; pass "
                    "refit=True, or fit it to less"
                )

    def _read(self, df: Any, *, fill: str | None, freq: Any) -> Panel:
        names = Names(self.id_col, self.time_col, self.target_col)
        columns = (*self.future_columns, *self.past_columns)
        return read_panel(df, names=names, columns=columns, freq=freq, fill=fill)

    def _ahead(self, h: int | None, X_df: Any, df: Any) -> tuple[Panel, Encoded, int]:
        """The last observations of every series and the h times after them."""
        check_is_fitted(self, "bank_")
        h = check_horizon(self._horizon if h is None else h)
        panel = self.panel_
        if df is not None:
            panel = self._read(df, fill=self.fill, freq=panel.freq)
            check_lengths(panel, self._reach)
        columns = None
        if self.future_columns:
            if X_df is None:
                raise ValueError(
                    f"expected X_df= with the columns {list(self.future_columns)} for the next {h} "
                    "times of every series, got none; they were named future_columns"
                )
            columns = read_future(panel, X_df, h, self.future_columns)
        encoded = self.encoder_.encode_ahead(panel, self._reach, panel.future_times(h), columns)
        return panel.tail(self._reach), encoded, h

    def _draw(
        self,
        panel: Panel,
        encoded: Encoded,
        h: int,
        n_paths: int | None = None,
        seed: int | None = None,
        starts: NDArray[np.int64] | None = None,
        series: NDArray[np.int64] | None = None,
    ) -> Iterator[NDArray[np.float64]]:
        """Paths in the user's units, (windows, members, paths, h), in chunks of windows.

        Windows start at the rows `starts` of `encoded` and belong to the given series of the
        panel; by default there is one for each series, all its rows.
        """
        n_paths = self.n_paths if n_paths is None else n_paths
        if not isinstance(n_paths, Integral) or n_paths < 1:
            raise ValueError(f"expected n_paths to be a whole number above 0, got {n_paths!r}")
        device = self.bank_.theta.device
        windows = self._windows(encoded, h, device)
        if starts is None or series is None:
            starts = np.arange(len(panel)) * (self._reach + h)
            series = np.arange(len(panel))
            last_known = panel.starts[1:] - 1
        else:
            last_known = starts + self._reach - 1
        seed = self._prediction_seed if seed is None else seed
        ends = panel.times[last_known]
        seeds = [_seed(seed, panel.ids[k], end) for k, end in zip(series, ends, strict=True)]
        per_member = -(-int(n_paths) // self._members.n_members)
        chunks = sample_paths(self._members, windows, starts, seeds, per_member)
        done = 0
        for paths in track(chunks, len(starts), "window", verbose=self.verbose):
            rows = starts[done : done + len(paths)]
            scale, location = (a[rows, None, None, None] for a in (encoded.scale, encoded.location))
            yield paths * scale + location
            done += len(paths)

    def _ask(
        self,
        panel: Panel,
        encoded: Encoded,
        h: int,
        ask: Ask,
        starts: NDArray[np.int64] | None = None,
        series: NDArray[np.int64] | None = None,
    ) -> dict[str, NDArray[np.float64]]:
        """Answers for all windows, (windows, h), their paths taken a chunk at a time."""
        chunks = self._draw(panel, encoded, h, starts=starts, series=series)
        parts = [ask(SamplePredictive(paths)) for paths in chunks]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _columns(self, level: Sequence[float] | None, quantiles: Sequence[float] | None) -> Ask:
        """The forecast's columns, by name."""
        name = self.alias or ALIASES[one_of(self.method, ALIASES, "method")]
        taken = [self.id_col, self.time_col, self.target_col, "cutoff"]
        if name in taken:
            raise ValueError(f"expected alias to differ from the columns {taken}, got {name!r}")
        wanted: dict[str, float] = {}
        for share in _listed(level, "level", 100):
            wanted[f"{name}-lo-{share:g}"] = 0.5 - share / 200
            wanted[f"{name}-hi-{share:g}"] = 0.5 + share / 200
        for q in _listed(quantiles, "quantiles", 1):
            wanted[f"{name}-q-{100 * q:g}"] = q

        def ask(dist: SamplePredictive) -> dict[str, NDArray[np.float64]]:
            columns = {name: dist.mean}
            if wanted:
                values = np.moveaxis(dist.quantile(list(wanted.values())), -1, 0)
                columns.update(zip(wanted, values, strict=True))
            return columns

        return ask

    def _frame(self, panel: Panel, h: int, columns: Mapping[str, NDArray[np.float64]]) -> Any:
        return panel.frame(
            {
                self.id_col: np.repeat(panel.ids, h),
                self.time_col: panel.future_times(h),
                **{name: values.ravel() for name, values in columns.items()},
            }
        )


def check_horizon(h: Any, name: str = "h") -> int:
    if isinstance(h, bool) or not isinstance(h, Integral) or h < 1:
        raise ValueError(f"expected {name} to be a whole number of steps above 0, got {h!r}")
    return int(h)


def _listed(values: Any, name: str, top: float) -> list[float]:
    """One number or several, each strictly between 0 and `top`."""
    listed = np.atleast_1d(np.asarray([] if values is None else values, dtype=np.float64))
    if not np.all((listed > 0) & (listed < top)):
        example = "[80, 95]" if top == 100 else "[0.1, 0.9]"
        raise ValueError(
            f"expected {name} strictly between 0 and {top:g}, such as {example}, got {values!r}"
        )
    return [float(value) for value in listed]


def _seed(seed: int, series: Any, end: Any) -> int:
    """Of a window: by its series and the last time that it knows."""
    words = zlib.crc32(f"{series} {end}".encode())
    return int(np.random.SeedSequence([seed, words]).generate_state(1)[0])
