import importlib
import inspect
import pickle
import sys
from dataclasses import MISSING, fields

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sktime", reason="the adapter for sktime needs sktime")
pytest.importorskip("skpro", reason="distributions of sktime's forecasts are skpro's")

from sktime.forecasting.base import ForecastingHorizon
from sktime.forecasting.model_evaluation import evaluate
from sktime.performance_metrics.forecasting.probabilistic import CRPS, PinballLoss
from sktime.split import ExpandingWindowSplitter
from sktime.transformations.detrend import Detrender
from sktime.utils.estimator_checks import check_estimator, parametrize_with_checks

from batchensemble import Forecaster
from batchensemble.adapters.sktime import GRUBEForecaster

SMALL = {
    "n_members": 2,
    "context": 3,
    "horizon": 2,
    "epochs": 2,
    "hidden": (4,),
    "n_paths": 50,
    "random_state": 0,
}
DAYS = pd.date_range("2024-01-01", periods=60, freq="D")

of_sktime_itself = pytest.mark.filterwarnings(
    "ignore:The default of config ``remember_data``:FutureWarning"
)


def walk(index: pd.Index, seed: int = 0) -> pd.Series:
    steps = np.random.default_rng(seed).normal(size=len(index))
    return pd.Series(10 + steps.cumsum(), index, name="sales")


def panel_of(**series: pd.Index) -> pd.DataFrame:
    parts = {name: walk(index, k).to_frame() for k, (name, index) in enumerate(series.items())}
    return pd.concat(parts, names=["shop", "time"])


@pytest.fixture(scope="module")
def fitted() -> GRUBEForecaster:
    return GRUBEForecaster(**SMALL).fit(walk(DAYS[:40]))


# They refit a few hundred times; tests below look at the times of forecasts, too.
SLOW = {
    "test_predict_time_index",
    "test_predict_time_index_with_X",
    "test_update_predict_predicted_index",
}
CHECKS = [
    pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
    for name in dict.fromkeys(name for _, name in parametrize_with_checks(GRUBEForecaster).args[1])
]


@of_sktime_itself
@pytest.mark.filterwarnings("ignore:Sorting by default when concatenating")  # inside sktime
@pytest.mark.parametrize("name", CHECKS)
def test_it_keeps_sktimes_contract(name):
    results = check_estimator(
        GRUBEForecaster, tests_to_run=name, raise_exceptions=True, verbose=False
    )
    assert results, "sktime has no such check"
    assert set(results.values()) == {"PASSED"}


def test_it_has_the_parameters_of_the_forecaster_with_the_same_defaults():
    own = {p.name: p.default for p in inspect.signature(GRUBEForecaster).parameters.values()}
    theirs = {f.name: f.default for f in fields(Forecaster) if f.init}
    assert MISSING not in theirs.values()
    left_out = {
        *("id_col", "time_col", "target_col", "alias"),  # there are no columns
        *("future_columns", "past_columns", "static_columns"),  # X is known ahead, all of it
        "holidays",  # sktime's HolidayFeatures makes such columns
        *("one_by_one", "keep_on_interrupt"),
    }
    assert own == {name: value for name, value in theirs.items() if name not in left_out}


def test_all_answers_come_from_the_same_paths(fitted):
    fh = [1, 3, 7]
    dist = fitted.predict_proba(fh=fh)
    draws = dist.spl.to_numpy().reshape(-1, 3)
    assert draws.shape == (50, 3)
    assert np.allclose(fitted.predict(fh=fh), draws.mean(0))
    assert np.allclose(dist.mean().to_numpy().ravel(), draws.mean(0))
    assert np.allclose(fitted.predict_var(fh=fh).to_numpy().ravel(), draws.var(0))
    assert np.allclose(dist.var().to_numpy().ravel(), draws.var(0))
    covariance = fitted.predict_var(fh=fh, cov=True)
    assert np.allclose(covariance, np.cov(draws.T, bias=True))
    times = DAYS[[40, 42, 46]]
    assert covariance.columns.tolist() == [("sales", time) for time in times]
    alpha = [0.1, 0.5, 0.9]
    quantiles = fitted.predict_quantiles(fh=fh, alpha=alpha)
    assert np.allclose(quantiles, np.quantile(draws, alpha, axis=0).T)
    assert quantiles.columns.tolist() == [("sales", a) for a in alpha]
    assert quantiles.index.equals(times)


def test_the_paths_are_those_of_the_forecaster(fitted):
    table = walk(DAYS[:40]).rename_axis("ds").reset_index(name="y")
    table = pd.DataFrame({"unique_id": "y", **table})
    direct = Forecaster(**SMALL).fit(table).predict(7)
    assert np.allclose(fitted.predict(fh=np.arange(1, 8)), direct["BatchEnsemble"])


def test_the_same_paths_are_not_drawn_twice(fitted, monkeypatch):
    model, calls = fitted.clone().fit(walk(DAYS[:40])), []
    draw = model.forecaster_.predict_dist
    monkeypatch.setattr(
        model.forecaster_, "predict_dist", lambda *a, **k: calls.append(a) or draw(*a, **k)
    )
    model.predict(fh=[1, 3])
    model.predict_interval(fh=[2, 3])
    model.predict_proba(fh=[3])
    assert len(calls) == 1
    model.predict(fh=[4])
    assert len(calls) == 2
    model.update(walk(DAYS)[40:41], update_params=False).predict(fh=[4])
    assert len(calls) == 3


def test_a_copy_or_a_pickle_answers_the_same_and_carries_no_paths(fitted):
    before = fitted.predict_quantiles(fh=[1, 5])
    copy = pickle.loads(pickle.dumps(fitted))
    assert copy._memory._last is None
    assert copy.predict_quantiles(fh=[1, 5]).equals(before)


def test_intervals_nest(fitted):
    intervals = fitted.predict_interval(fh=[1, 2, 6], coverage=[0.5, 0.8, 0.95])["sales"]
    lower, upper = (intervals.xs(side, axis=1, level=1).to_numpy() for side in ("lower", "upper"))
    assert (np.diff(lower) <= 0).all()
    assert (np.diff(upper) >= 0).all()
    assert (lower < upper).all()


def test_gaps_in_fh_are_steps_left_out(fitted):
    whole = fitted.predict(fh=np.arange(1, 8))
    assert fitted.predict(fh=[1, 3, 7]).equals(whole.iloc[[0, 2, 6]])


INDICES = [
    *(pd.date_range("2024-01-31", periods=44, freq=f) for f in ("D", "h", "MS", "ME", "W", "2D")),
    pd.DatetimeIndex(pd.date_range("2024-01-31", periods=44, freq="QS"), freq=None),
    *(pd.period_range("2024-01", periods=44, freq=f) for f in ("D", "M", "Q", "W", "2D")),
    pd.RangeIndex(44),
    pd.Index(np.arange(7, 51)),
]


@pytest.mark.parametrize("index", INDICES, ids=lambda index: f"{index.dtype}-{index[:3].tolist()}")
def test_relative_and_absolute_horizons_mean_the_same_on_any_index(index):
    model = GRUBEForecaster(**SMALL).fit(walk(index[:40]))
    relative = model.predict(fh=[1, 4])
    assert relative.index.equals(index[[40, 43]])
    absolute = model.predict(fh=ForecastingHorizon(index[[40, 43]], is_relative=False))
    assert absolute.equals(relative)


@pytest.mark.parametrize(
    "times",
    [DAYS, pd.period_range("2020-01", periods=60, freq="M"), pd.RangeIndex(60)],
    ids=["dates", "periods", "numbers"],
)
def test_steps_count_from_the_end_of_each_series_and_absolute_times_are_shared(times):
    model = GRUBEForecaster(**SMALL).fit(panel_of(north=times[:30], east=times[:33]))
    forecast = model.predict(fh=[1, 3])
    assert forecast.columns.tolist() == ["sales"]
    assert forecast.index.names == ["shop", "time"]
    assert forecast.index.tolist() == [
        *[("north", times[30]), ("north", times[32])],
        *[("east", times[33]), ("east", times[35])],
    ]
    freq = getattr(times, "freqstr", None)
    fh = ForecastingHorizon(times[[33, 35]], is_relative=False, freq=freq)
    shared = model.predict(fh=fh)
    assert shared.index.tolist() == [(s, times[t]) for s in ("north", "east") for t in (33, 35)]
    # north's paths run four steps further than in `forecast`, from the same start
    assert np.allclose(shared.loc["east"], forecast.loc["east"])
    steps = model.predict(fh=[4, 6])
    assert np.allclose(shared.loc["north"], steps.loc["north"])
    dist = model.predict_proba(fh=fh)
    assert np.allclose(dist.mean(), shared)
    covariance = model.predict_var(fh=fh, cov=True)
    diagonal = [covariance.iloc[row, row % 2] for row in range(4)]
    assert np.allclose(diagonal, model.predict_var(fh=fh).to_numpy().ravel())
    with pytest.raises(NotImplementedError, match="pass absolute times as fh"):
        model.predict_var(fh=[1, 3], cov=True)


def test_labels_that_read_the_same_are_refused():
    y = pd.concat({1: walk(DAYS[:40]).to_frame(), "1": walk(DAYS[:40]).to_frame()})
    with pytest.raises(ValueError, match="expected labels of series that differ as text"):
        GRUBEForecaster(**SMALL).fit(y)


def test_one_model_learns_from_all_series_of_a_panel():
    y = panel_of(north=DAYS[:30], east=DAYS[:30])
    alone = GRUBEForecaster(**SMALL).fit(y.loc[["north"]]).predict(fh=[1, 2])
    together = GRUBEForecaster(**SMALL).fit(y).predict(fh=[1, 2])
    assert not np.allclose(alone.loc["north"], together.loc["north"])


def test_a_joint_sample_is_a_whole_path_and_a_marginal_one_is_not(fitted):
    paths = {tuple(p) for p in fitted.predict_proba(fh=[1, 2]).spl.to_numpy().reshape(-1, 2)}

    def known(marginal: bool) -> float:
        dist = fitted.predict_proba(fh=[1, 2], marginal=marginal)
        return float(
            np.mean([tuple(p) in paths for p in dist.sample(200).to_numpy().reshape(-1, 2)])
        )

    assert known(marginal=False) == 1
    assert known(marginal=True) < 0.5


def test_update_without_parameters_moves_on_and_learns_nothing(fitted):
    y = walk(DAYS)
    model = fitted.clone().fit(y[:40])
    theta = model.forecaster_.model_.ensemble.bank.theta.clone()
    before = model.predict(fh=[1, 2])
    model.update(y[40:43], update_params=False)
    assert model.cutoff == DAYS[42]
    assert (model.forecaster_.model_.ensemble.bank.theta == theta).all()
    after = model.predict(fh=[1, 2])
    assert after.index.equals(DAYS[[43, 44]])
    assert not np.allclose(before, after)


def test_update_with_parameters_is_a_fit_to_all_that_is_known(fitted):
    y = walk(DAYS)
    updated = fitted.clone().fit(y[:40]).update(y[38:43])
    again = fitted.clone().fit(y[:43])
    assert updated.predict(fh=[1, 2]).equals(again.predict(fh=[1, 2]))


def test_a_series_stands_where_its_last_update_ended(fitted):
    y = walk(DAYS)
    model = fitted.clone().fit(y[:40])
    at_30 = model.clone().fit(y[:40]).update(y[25:31], update_params=False)
    assert at_30.predict(fh=[1]).index.equals(DAYS[[31]])
    changed = y.copy()
    changed[31:40] += 100
    other = model.clone().fit(y[:40]).update(changed[31:40], update_params=False)
    other.update(y[25:31], update_params=False)
    assert other.predict(fh=[1]).equals(at_30.predict(fh=[1]))


def test_an_update_of_one_series_leaves_the_others_where_they_are():
    y = panel_of(north=DAYS[:35], east=DAYS[:40])
    model = GRUBEForecaster(**SMALL).fit(y)
    before = model.predict(fh=[1])
    more = panel_of(north=DAYS).loc[["north"]].iloc[35:37]
    after = model.update(more, update_params=False).predict(fh=[1])
    assert after.index.tolist() == [("north", DAYS[37]), ("east", DAYS[40])]
    assert after.loc["east"].equals(before.loc["east"])


@pytest.fixture(scope="module")
def promotions() -> pd.DataFrame:
    days = np.arange(len(DAYS))
    return pd.DataFrame({"price": np.sin(days), "day": np.where(days % 2, "odd", "even")}, DAYS)


def test_columns_of_X_are_known_ahead_and_matter(promotions):
    model = GRUBEForecaster(**{**SMALL, "epochs": 20}).fit(walk(DAYS[:40]), X=promotions[:40])
    forecast = model.predict(fh=[1, 3], X=promotions[40:43])
    assert forecast.index.equals(DAYS[[40, 42]])
    other = promotions[40:43].assign(price=5.0)
    assert not np.allclose(forecast, model.predict(fh=[1, 3], X=other))
    assert forecast.equals(model.predict(fh=[1, 3], X=promotions))
    model.update(walk(DAYS)[40:42], X=promotions[40:42], update_params=False)
    assert model.predict(fh=[1], X=promotions[42:43]).index.equals(DAYS[[42]])


def test_X_that_is_missing_is_named(promotions):
    model = GRUBEForecaster(**SMALL).fit(walk(DAYS[:40]), X=promotions[:40])
    with pytest.raises(ValueError, match=r"expected X\['price'\], X\['day'\].*got X without"):
        model.predict(fh=[1])
    with pytest.raises(ValueError, match=r"got X without X\['day'\]"):
        model.predict(fh=[1], X=promotions[["price"]][40:41])
    with pytest.raises(ValueError, match=r"got none for series 'y' at 2024-02-10"):
        model.predict(fh=[1, 2], X=promotions[41:42])
    y = panel_of(north=DAYS[:40])
    with pytest.raises(
        ValueError, match="expected a row of X for each row of y, got none for 1 of"
    ):
        GRUBEForecaster(**SMALL).fit(y, X=pd.concat({"north": promotions[1:40]}))


def test_several_columns_of_y_are_several_models(fitted):
    y = pd.DataFrame({"a": walk(DAYS[:40]), "b": walk(DAYS[:40], seed=1)})
    both = fitted.clone().fit(y).predict_quantiles(fh=[1, 2], alpha=[0.1])
    alone = fitted.clone().fit(y[["b"]]).predict_quantiles(fh=[1, 2], alpha=[0.1])
    assert both["b"].equals(alone["b"])


def test_a_gap_is_named_and_may_be_filled():
    y = walk(DAYS[:40]).drop(DAYS[20])
    with pytest.raises(ValueError, match="got none for 2024-01-21"):
        GRUBEForecaster(**SMALL).fit(y)
    forecast = GRUBEForecaster(**SMALL, fill="interpolate").fit(y).predict(fh=[1])
    assert forecast.index.equals(DAYS[[40]])


def test_the_frequency_of_the_index_is_taken_where_the_times_do_not_tell():
    week = walk(pd.date_range("2024-01-01", periods=5, freq="B"))  # it might be of days as well
    forecast = GRUBEForecaster(**SMALL).fit(week).predict(fh=[1])
    assert forecast.index.tolist() == [pd.Timestamp("2024-01-08")]


def test_a_series_too_short_for_a_window_is_named():
    with pytest.raises(ValueError, match=r"series 'north'.*expected at least 5 rows, got 4"):
        GRUBEForecaster(**SMALL).fit(panel_of(north=DAYS[:4], east=DAYS[:40]))


def test_a_time_off_the_grid_is_named():
    model = GRUBEForecaster(**SMALL).fit(walk(pd.RangeIndex(0, 80, 2)))
    assert model.predict(fh=[1, 2]).index.tolist() == [80, 82]
    with pytest.raises(ValueError, match="after its end at 78, in steps of 2, got 81"):
        model.predict(fh=ForecastingHorizon([80, 81], is_relative=False))


@of_sktime_itself
@pytest.mark.parametrize("strategy", ["refit", "update", "no-update_params"])
def test_sktimes_evaluation_scores_it(strategy):
    cv = ExpandingWindowSplitter(fh=[1, 2, 3], initial_window=30, step_length=10)
    scoring = [PinballLoss(), CRPS()]
    table = evaluate(GRUBEForecaster(**SMALL), cv, walk(DAYS), strategy=strategy, scoring=scoring)
    assert len(table) == 3
    assert np.isfinite(table[["test_PinballLoss", "test_CRPS"]].to_numpy(dtype=float)).all()


@of_sktime_itself
def test_it_forecasts_inside_a_pipeline():
    # Periods: on dates sktime 1.2's Detrender leaves the trend where it is, with pandas 3.
    months = pd.period_range("2020-01", periods=42, freq="M")
    y = walk(months[:40]) + 10 * np.arange(40)
    interval = (Detrender() * GRUBEForecaster(**SMALL)).fit(y, fh=[1, 2]).predict_interval()
    assert interval.index.equals(months[40:42])
    detrended = Detrender().fit(y)
    alone = GRUBEForecaster(**SMALL).fit(detrended.transform(y), fh=[1, 2]).predict_interval()
    ends = detrended.inverse_transform(pd.Series(0.0, index=months[40:42], name=y.name))
    trend = np.asarray(ends).reshape(-1, 1)
    assert (np.diff(trend, axis=0) > 9).all()
    np.testing.assert_allclose(interval, alone.to_numpy() + trend)


def test_without_sktime_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sktime.forecasting.base", None)
    monkeypatch.delitem(sys.modules, "batchensemble.adapters.sktime")
    with pytest.raises(ImportError, match=r"needs sktime.*pip install batchensemble\[sktime\]"):
        importlib.import_module("batchensemble.adapters.sktime")
