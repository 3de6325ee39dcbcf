"""`Forecaster` as an sktime forecaster, so that sktime's pipelines, splitters and scores apply."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.adapters.history import Known, Memory
from batchensemble.data.panels import Panel
from batchensemble.estimators.forecaster import Forecaster
from batchensemble.predictive import SamplePredictive

try:
    from sktime.forecasting.base import BaseForecaster
except ImportError as error:
    raise ImportError(
        f"batchensemble.adapters.sktime needs sktime, and importing it failed ({error}); "
        "pip install batchensemble[sktime]"
    ) from error

MTYPES = ["pd.DataFrame", "pd-multiindex", "pd_multiindex_hier"]


@final
class GRUBEForecaster(BaseForecaster):  # type: ignore[misc]
    """Probabilistic forecasts of one series, or of a panel by one model for all its series.

    >>> import numpy as np, pandas as pd
    >>> from batchensemble.adapters.sktime import GRUBEForecaster
    >>> y = pd.Series(np.sin(np.arange(60) / 3), pd.period_range("2020-01", periods=60, freq="M"))
    >>> model = GRUBEForecaster(context=6, horizon=3, epochs=3, n_paths=100, random_state=0)
    >>> model.fit(y).predict_interval(fh=[1, 3], coverage=0.8).shape
    (2, 2)

    Everything that it answers (means, quantiles, intervals, variances, distributions) comes from
    the same sample paths, which depend on the data and on how far `fh` reaches, and on nothing
    else. Gaps in `fh` are fine: the paths run through them.

    Relative steps count from the end of each series, as where sktime itself loops over a panel;
    absolute times are the same for all series. Forecasts in the past are not possible.

    Every column of an X passed to `fit` is taken as known ahead, and must be passed to `predict`
    for all times from the end of each series to the last of `fh`. Several columns of y are several
    models.

    `update` goes on from new observations; with `update_params=True` (sktime's default) it learns
    again from all of them, with `update_params=False` it keeps the model as it is. A series stands
    where its last `update` ended: rows known beyond that are not looked at.

    Parameters
    ----------
    method, n_members, n_passes, ..., n_paths, freq, fill
        Those of `batchensemble.Forecaster`, with the same meanings and defaults. `freq` is taken
        from the index if None; `fill` closes gaps between its times, not missing values.

    Attributes
    ----------
    forecaster_ : batchensemble.Forecaster
        The fitted forecaster itself.
    """

    _tags: ClassVar[dict[str, Any]] = {
        "object_type": "forecaster",
        "authors": "The batchensemble developers",
        "maintainers": "The batchensemble developers",
        "y_inner_mtype": MTYPES,
        "X_inner_mtype": MTYPES,
        "requires-fh-in-fit": False,
        "X-y-must-have-same-index": True,
        "capability:multivariate": False,
        "capability:exogenous": True,
        "capability:categorical_in_X": True,
        "capability:non_contiguous_X": False,
        "capability:insample": False,
        "capability:pred_int": True,
        "capability:pred_int:insample": False,
        "capability:missing_values": False,
        "capability:unequal_length": True,
        "capability:update": True,
        "capability:random_state": True,
        "property:randomness": "derandomized",
    }
    _config: ClassVar[dict[str, Any]] = {"remember_data": False}  # `_known` does that
    _y = _X = None  # what sktime expects where a user sets remember_data after all

    def __init__(
        self,
        method: str = "batch_ensemble",
        *,
        n_members: int | None = None,
        n_passes: int = 100,
        preset: str = "default",
        context: int | None = None,
        horizon: int | None = None,
        season: int | None = None,
        seasonal_lag: bool | None = None,
        calendar: bool | None = None,
        feedback: str | None = None,
        scaling: str | None = None,
        hidden_size: int | None = None,
        n_layers: int | None = None,
        hidden: Sequence[int] | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        lr: float | None = None,
        dropout: float | None = None,
        weight_decay: float | None = None,
        clip_norm: float | None = None,
        validation_fraction: float | None = None,
        patience: int | None = None,
        log_variance_bounds: tuple[float, float] | None = None,
        adapters: str | None = None,
        gates: str = "czf",
        init: str | None = None,
        penalty: float = 0.0,
        batching: str | None = None,
        time_limit: float | None = None,
        n_paths: int = 2000,
        freq: str | int | pd.offsets.BaseOffset | None = None,
        fill: str | None = None,
        random_state: int | np.random.RandomState | None = None,
        device: str = "auto",
        verbose: bool = False,
    ) -> None:
        parameters = locals()
        for name in self.get_param_names():
            setattr(self, name, parameters[name])
        super().__init__()

    def _fit(self, y: pd.DataFrame, X: pd.DataFrame | None, fh: Any) -> Self:
        return self._learn(Known.of(y, X))

    def _update(
        self, y: pd.DataFrame, X: pd.DataFrame | None = None, update_params: bool = True
    ) -> Self:
        known = self._known.extended(y, X)
        if update_params:
            return self._learn(known)
        return self._go_on(known, known.panel(self.forecaster_.panel_.freq, self.fill))

    def _learn(self, known: "Known") -> Self:
        panel = known.panel(known.freq if self.freq is None else self.freq, self.fill)
        model = Forecaster(**self.get_params(deep=False), future_columns=known.columns)
        self.forecaster_ = model.fit(panel)
        return self._go_on(known, panel)

    def _go_on(self, known: "Known", panel: Panel) -> Self:
        self._known, self._panel, self._memory = known, panel, Memory()
        return self

    def _predict(self, fh: Any, X: pd.DataFrame | None) -> pd.DataFrame:
        dist, index = self._forecast(fh, X)
        return _frame(dist.mean[..., None], index, self._get_varnames())

    def _predict_quantiles(
        self, fh: Any, X: pd.DataFrame | None, alpha: list[float]
    ) -> pd.DataFrame:
        dist, index = self._forecast(fh, X)
        columns = self._get_columns("predict_quantiles", alpha=alpha)
        return _frame(dist.quantile(alpha), index, columns)

    def _predict_var(
        self, fh: Any, X: pd.DataFrame | None = None, cov: bool = False
    ) -> pd.DataFrame:
        dist, index = self._forecast(fh, X)
        if not cov:
            return _frame(dist.variance[..., None], index, self._get_varnames())
        times = index.get_level_values(-1).unique()
        if len(times) != dist.horizon:
            raise NotImplementedError(
                f"expected series that end at the same time, whose covariances share their "
                f"columns, got forecasts of {len(times)} times for {dist.horizon} steps; pass "
                "absolute times as fh"
            )
        # Correlations first: they stay exact where variances are tiny.
        scale = dist.std[:, :, None] * dist.std[:, None]
        columns = pd.MultiIndex.from_product([self._get_varnames(), times])
        return _frame(dist.step_correlation() * scale, index, columns)

    def _predict_proba(self, fh: Any, X: pd.DataFrame | None, marginal: bool = True) -> Any:
        from skpro.distributions import Empirical

        dist, index = self._forecast(fh, X)
        draws = dist.paths.reshape(len(dist), -1, dist.horizon).swapaxes(0, 1)
        rows = np.tile(np.arange(len(index)), len(draws))
        sample = np.repeat(np.arange(len(draws)), len(index))
        levels = [index.get_level_values(i)[rows] for i in range(index.nlevels)]
        each = pd.MultiIndex.from_arrays([sample, *levels], names=["sample", *index.names])
        spl = _frame(draws, each, self._get_varnames())
        return Empirical(spl, time_indep=marginal, index=index, columns=spl.columns)

    def _forecast(self, fh: Any, X: pd.DataFrame | None) -> tuple[SamplePredictive, pd.Index]:
        """The paths at the steps of fh, and the (series and) times that these are."""
        panel, known = self._panel, self._known
        if fh.is_relative and fh.to_pandas().dtype.kind == "i":  # there are time deltas, too
            ahead = fh.to_numpy() - 1
            steps = np.tile(ahead, (len(panel), 1))
            times = known.restored(panel, ahead)
        else:
            absolute = fh.to_absolute_index(self.cutoff)
            steps = _steps_to(panel, absolute)
            times = absolute if len(panel) == 1 else absolute.append([absolute] * (len(panel) - 1))
        h = int(steps.max()) + 1
        paths = self._memory.recall(h, known.ahead(X), self._draw).paths
        chosen = np.take_along_axis(paths, steps[:, None, None], axis=3)
        return SamplePredictive(chosen), known.index(panel, times)

    def _draw(self, h: int, ahead: pd.DataFrame | None) -> SamplePredictive:
        return self.forecaster_.predict_dist(h, X_df=ahead, df=self._panel)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Small settings for sktime's checks."""
        small = {
            "n_members": 2,
            "context": 2,
            "horizon": 1,
            "epochs": 1,
            "hidden": (2,),
            "n_paths": 6,
        }
        return [small, {**small, "method": "single", "preset": "paper", "n_paths": 3}]


def _frame(values: NDArray[np.float64], index: pd.Index, columns: Any) -> pd.DataFrame:
    return pd.DataFrame(values.reshape(len(index), -1), index=index, columns=columns)


def _steps_to(panel: Panel, wanted: pd.Index) -> NDArray[np.int64]:
    """(series, times): how far each time lies behind the first after the end of each series."""
    times = wanted.to_timestamp(how="start") if isinstance(wanted, pd.PeriodIndex) else wanted
    h = len(times)
    while not (panel.future_times(h)[h - 1 :: h] >= times.max()).all():
        h *= 2
    grids = np.split(np.arange(len(panel) * h), len(panel))
    ahead = panel.future_times(h)
    steps: NDArray[np.int64] = np.stack([ahead[rows].get_indexer(times) for rows in grids])
    for k, j in np.argwhere(steps < 0)[:1]:
        raise ValueError(
            f"series {panel.ids[k]!r}: expected times after its end at "
            f"{panel.times[panel.starts[k + 1] - 1]}, in steps of {panel.freq}, got {wanted[j]}"
        )
    return steps
