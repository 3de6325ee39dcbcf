"""Calibration of forecasters."""

import copy
import math
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from fixtures import TINY_FORECASTER, long_frame
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from batchensemble import BatchEnsembleWarning, Forecaster, load
from batchensemble.conformal import conformal_rank
from batchensemble.data.panels import read_panel
from batchensemble.estimators import forecaster, observed

H = TINY_FORECASTER["horizon"]


def split(data, n_learned):
    position = data.groupby("unique_id").cumcount()
    return data[position < n_learned], data[position >= n_learned]


def same(first, second):
    """Whether two calibrations hold the same numbers, but for rounding: paths are in float32."""
    pairs = [(value, getattr(second, name)) for name, value in vars(first).items()]
    return all(
        a is b if a is None else np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-4)
        for a, b in pairs
    )


@pytest.fixture(scope="module")
def fitted():
    old, new = split(long_frame(n=70), 50)
    return Forecaster(**TINY_FORECASTER).fit(old), old, new


@pytest.fixture
def fresh(fitted):
    model, old, new = fitted
    return copy.copy(model), old, new


def test_bounds_are_as_many_deviations_as_past_forecasts_needed_step_by_step(fresh):
    model, old, new = fresh
    both = pd.concat([old, new])
    past = model.cross_validation(both, n_windows=17, refit="never")
    dist = model.cross_validation_dist(both, n_windows=17, refit="never")
    truth = past["y"].to_numpy().reshape(-1, H)
    scores = np.abs(truth - dist.mean) / dist.std
    factors = np.sort(scores, axis=0)[conformal_rank(3 * 17, 0.8) - 1]
    assert model.calibrate(new, adapt=False) is model
    ahead, answer = model.predict_dist(), model.predict(level=[80], quantiles=[0.1])
    mean, std = ahead.mean, ahead.std
    assert np.allclose(answer["BatchEnsemble-lo-80"], (mean - factors * std).ravel())
    assert np.allclose(answer["BatchEnsemble-hi-80"], (mean + factors * std).ravel())
    assert np.allclose(answer["BatchEnsemble-q-10"], ahead.quantile(0.1).ravel())
    name = "BatchEnsemble"
    expected = [name, f"{name}-lo-80", f"{name}-hi-80", f"{name}-q-10"]
    assert answer.columns.tolist()[2:] == expected
    assert answer["ds"].min() > new["ds"].max()


def test_steps_beyond_the_horizon_are_bounded_as_at_its_end(fresh):
    model, _, new = fresh
    model.calibrate(new)
    ahead, answer = model.predict_dist(h=H + 3), model.predict(h=H + 3, level=[80])
    factors = model.calibration_.factors(0.8)[[0, 1, 2, 3, 3, 3, 3]]
    assert np.allclose(answer["BatchEnsemble-hi-80"], (ahead.mean + factors * ahead.std).ravel())


def test_fit_may_keep_back_the_last_fifth_and_forecasts_from_the_end():
    data = long_frame(n=70)
    model = Forecaster(**TINY_FORECASTER).fit(data, calibrate=True)
    old, new = split(data, 56)
    by_hand = Forecaster(**TINY_FORECASTER).fit(old).calibrate(new)
    thetas = [each.model_.ensemble.bank.theta.numpy() for each in (model, by_hand)]
    assert np.array_equal(*thetas)
    assert same(model.calibration_, by_hand.calibration_)
    assert len(model.calibration_) == 3 * (14 - H + 1)
    pd.testing.assert_frame_equal(model.predict(level=[90]), by_hand.predict(level=[90]))


def test_one_short_series_keeps_back_enough_for_95_per_cent():
    model = Forecaster(**TINY_FORECASTER).fit(long_frame(1, 70), calibrate=True)
    assert len(model.calibration_) == 19
    assert np.isfinite(model.predict(level=[95]).iloc[:, 2:]).all(axis=None)
    with pytest.raises(ValueError, match="at least 99 calibration cases"):
        model.predict(level=[99])


def test_updates_one_by_one_or_at_once_end_where_calibration_with_all_would(fresh):
    model, _, new = fresh
    position = new.groupby("unique_id").cumcount()
    at_once, one_by_one, whole = (copy.copy(model) for _ in range(3))
    first, rest = new[position < 14], new[position >= 14]
    at_once.calibrate(first).update(rest)
    one_by_one.calibrate(first)
    for k in range(14, 20):
        one_by_one.update(new[position == k])
    whole.calibrate(new)
    assert len(whole.calibration_) == 3 * 17
    assert same(at_once.calibration_, whole.calibration_)
    assert same(one_by_one.calibration_, whole.calibration_)


def test_the_newest_forecasts_take_the_place_of_the_oldest(fresh, monkeypatch):
    model, _, new = fresh
    whole = copy.copy(model).calibrate(new).calibration_
    monkeypatch.setattr(forecaster, "FORECASTS_KEPT", 30)
    position = new.groupby("unique_id").cumcount()
    before = model.calibrate(new[position < 13]).calibration_
    after = model.update(new[position >= 13]).calibration_
    assert (len(before), len(after)) == (30, 30)
    assert same(after, whole.only(slice(-30, None)))


def test_of_very_many_past_forecasts_the_latest_are_compared(fresh, monkeypatch):
    model, _, new = fresh
    whole = copy.copy(model).calibrate(new).calibration_
    monkeypatch.setattr(observed, "MOST_FORECASTS", 12)
    assert same(model.calibrate(new).calibration_, whole.only(slice(-12, None)))


def test_series_may_be_updated_apart(fresh):
    model, _, new = fresh
    position = new.groupby("unique_id").cumcount()
    n = len(model.calibrate(new[position < 14]).calibration_)
    model.update(new[(position >= 14) & (new["unique_id"] == "s1")])
    assert len(model.calibration_) == n + 6


def test_an_update_that_is_refused_changes_no_bound(fresh):
    model, _, new = fresh
    position = new.groupby("unique_id").cumcount()
    before = model.calibrate(new).calibration_
    with pytest.raises(ValueError, match="expected"):
        model.update(new[position == 3])
    assert model.calibration_ is before


def noise(n_series, n, scale, seed):
    random = np.random.default_rng(seed)
    times = pd.date_range("2020-01-01", periods=n, freq="D")
    parts = [
        pd.DataFrame({"unique_id": i, "ds": times, "y": scale * random.normal(size=n)})
        for i in range(n_series)
    ]
    return pd.concat(parts, ignore_index=True)


def coverage(model, truth):
    answer = model.predict(level=[80]).merge(truth, on=["unique_id", "ds"])
    name = model.alias
    return answer["y"].between(answer[f"{name}-lo-80"], answer[f"{name}-hi-80"]).mean()


def test_bounds_hold_what_they_say_and_follow_a_change_and_the_control_does_not():
    # 60 series, so that coverage has a standard error of about 3 points at the end of each stretch.
    settings = {**TINY_FORECASTER, "alias": "ours", "scaling": "standard", "n_paths": 200}
    settings |= {"preset": "recurrent", "hidden_size": 8}  # the default's spread is rescaled
    data = noise(60, 100, np.r_[np.ones(60), np.full(40, 4.0)], seed=0)
    old, later = split(data, 40)
    step = later.groupby("unique_id").cumcount()
    model = Forecaster(**settings, log_variance_bounds=(-4.0, -3.0)).fit(old)
    assert coverage(model, later) < 0.5  # far too sure of itself
    model.calibrate(later[step < 16])
    assert abs(coverage(model, later) - 0.8) < 0.1
    changed = later[(step >= 16) & (step < 56)]
    frozen = copy.copy(model).update(changed)
    frozen.calibration_ = model.calibration_  # what it was before the change
    model.update(changed)
    assert abs(coverage(model, later) - 0.8) < 0.1
    assert coverage(frozen, later) < 0.5


def test_cross_validation_is_calibrated_if_the_forecaster_is(fresh):
    model, old, new = fresh
    both = pd.concat([old, new])
    plain = model.cross_validation(both, level=[80])
    model.calibrate(new)
    copied = model.cross_validation(both, level=[80])
    by_hand = clone(model).fit(split(both, 66)[0], calibrate=True).predict(4, level=[80])
    assert np.allclose(copied["BatchEnsemble-lo-80"], by_hand["BatchEnsemble-lo-80"])
    assert not np.allclose(copied["BatchEnsemble-lo-80"], plain["BatchEnsemble-lo-80"])


def test_cross_validation_without_a_new_fit_is_not_for_what_calibrated_it(fresh):
    model, old, new = fresh
    both = pd.concat([old, new])
    model.cross_validation(both, refit="never", n_windows=10)
    model.calibrate(new)
    words = "after the data that this forecaster was calibrated with, which end at"
    with pytest.raises(ValueError, match=words):
        model.cross_validation(both, refit="never")
    later = long_frame(n=75)
    found = model.cross_validation(later, refit="never", level=[80])
    assert np.isfinite(found["BatchEnsemble-lo-80"]).all()


@pytest.mark.parametrize("make", [np.asarray, list, pl.Series])
def test_an_array_goes_on_where_the_one_series_ends(make):
    y = long_frame(1, 70)["y"].to_numpy()
    model = Forecaster(**TINY_FORECASTER).fit(y[:40])
    twin = copy.copy(model).update(pd.Series(y[40:50], index=range(40, 50)))
    model.update(make(y[40:50]))
    assert model.panel_.times.tolist() == list(range(50))
    assert np.array_equal(model.predict()["BatchEnsemble"], twin.predict()["BatchEnsemble"])
    model.calibrate(make(y[50:]))
    assert len(model.calibration_) > 20


def test_an_array_goes_on_from_a_series_with_dates():
    df = long_frame(1, 60)
    model = Forecaster(**TINY_FORECASTER).fit(df[:50]).update(df["y"].to_numpy()[50:])
    assert model.panel_.times.tolist() == df["ds"].tolist()
    assert np.array_equal(model.panel_.values, df["y"])


def test_steps_that_are_kept_err_as_little_as_asked_for(fresh):
    model, _, new = fresh
    with pytest.raises(NotFittedError):
        model.abstain_threshold(1.0)
    found = model.calibrate(new).calibration_
    # As if every error were one predicted standard deviation.
    model.calibration_ = replace(found, y=found.means + found.stds)
    variances = np.sort(found.variances, axis=None)
    allowed = np.sqrt(variances[:30].mean())
    assert model.abstain_threshold(allowed * (1 + 1e-12)) == variances[29]


def test_a_plot_shows_the_levels_that_few_past_forecasts_reach(fresh):
    pytest.importorskip("matplotlib")
    model, _, _ = fresh
    model.calibrate(split(long_frame(n=57), 50)[1])
    assert len(model.calibration_) < 19
    assert model.plot().axes
    with pytest.raises(ValueError, match=r"at least 19 calibration cases for 0\.95"):
        model.plot(level=[95])


def test_exogenous_columns_go_with_the_new_observations():
    data = long_frame(n=70)
    data["promotion"] = np.random.default_rng(0).normal(size=len(data))
    model = Forecaster(**TINY_FORECASTER, future_columns=["promotion"]).fit(data, calibrate=True)
    assert np.isfinite(model.calibration_.scores).all()


def test_the_report_shows_before_and_after_by_coverage(fresh):
    model, _, new = fresh
    report = model.calibrate(new).calibration_report()
    assert report.index.tolist() == [0.5, 0.8, 0.9, 0.95]
    assert report.columns.tolist() == [
        "coverage_before",
        "width_before",
        "coverage_after",
        "width_after",
        "forecasts",
    ]
    assert (report["forecasts"] == 26).all()
    assert report.notna().all(axis=None)


def test_a_new_fit_forgets_and_one_that_fails_does_not(fresh):
    model, old, new = fresh
    calibration = model.calibrate(new).calibration_
    with pytest.raises(ValueError, match="expected"):
        model.fit(old[:5])
    assert model.calibration_ is calibration
    twin = pickle.loads(pickle.dumps(model))
    pd.testing.assert_frame_equal(twin.predict(level=[80]), model.predict(level=[80]))
    assert clone(model).calibration_ is None
    assert model.fit(old).calibration_ is None


def test_what_cannot_be_calibrated_says_so(fresh):
    model, _, new = fresh
    with pytest.raises(NotFittedError, match="this Forecaster is not calibrated"):
        model.calibration_report()
    with pytest.raises(NotFittedError):
        Forecaster().calibrate(new)
    position = new.groupby("unique_id").cumcount()
    with pytest.raises(ValueError, match=r"at least 9 windows of horizon=4 steps .* got 6"):
        model.calibrate(new[position < 5])
    assert model.panel_.lengths.tolist() == [50, 50, 50]
    with pytest.raises(ValueError, match=r"expected at least .* rows, got 20"):
        Forecaster(**TINY_FORECASTER).fit(long_frame(1, 20), calibrate=True)


def promotions(n=50):
    random = np.random.default_rng(0)
    promo = (random.random(n) < 0.25).astype(float)
    promo[42:46] = 1, 0, 0, 0  # one just before two weeks that nobody measured
    y = 100 + 60 * promo + random.normal(size=n)
    y[43:45] = np.nan
    weeks = pd.date_range("2023-01-02", periods=n, freq="W-MON")
    return pd.DataFrame({"unique_id": "a", "ds": weeks, "y": y, "promo": promo})


@pytest.mark.parametrize("through_a_file", [False, True])
def test_a_gap_of_an_update_is_filled_as_one_of_fit_without_what_a_column_did(
    through_a_file, tmp_path
):
    data = promotions()
    known, ahead = data[:46], data[46:].drop(columns="y")
    model = Forecaster(horizon=4, epochs=3, random_state=0, future_columns=["promo"])
    model.fit(known[:40])
    if through_a_file:
        model.save(tmp_path / "m.be")
        model = load(tmp_path / "m.be")
    model.update(known[40:])
    assert np.abs(model.panel_.values[model.panel_.is_filled] - 100).max() < 5  # 160 before
    with pytest.warns(BatchEnsembleWarning, match="missing"):
        again = model.predict(X_df=ahead, df=known)
    pd.testing.assert_frame_equal(model.predict(X_df=ahead), again, rtol=1e-4)


@pytest.mark.filterwarnings("ignore:1 of 100 values are missing")
def test_windows_with_gaps_leave_the_bounds_of_predict_and_of_a_backtest_the_same():
    random = np.random.default_rng(2)
    days = pd.date_range("2023-01-02", periods=104)
    y = 20 + 3 * np.sin(2 * np.pi * np.arange(104) / 7) + random.standard_t(3, size=104)
    data = pd.DataFrame({"unique_id": "a", "ds": days, "y": y})
    data.loc[90, "y"] = np.nan
    model = Forecaster(horizon=4, epochs=2, random_state=0).fit(data[:100], calibrate=True)
    ahead = model.predict(level=[80])
    back = model.cross_validation(data, n_windows=1, refit="never", level=[80])
    np.testing.assert_allclose(ahead.iloc[:, 2:], back.iloc[:, 4:], rtol=1e-5)


@pytest.mark.filterwarnings("ignore:.*values are missing")
def test_a_file_keeps_so_much_that_gaps_are_filled_as_before(tmp_path):
    random, hours = np.random.default_rng(0), np.arange(900)
    y = 100 + 20 * np.sin(hours * np.pi / 12) + random.normal(0, 2, 900)
    times = pd.date_range("2024-01-01", periods=900, freq="h")
    data = pd.DataFrame({"unique_id": "a", "ds": times, "y": y})[(hours < 257) | (hours >= 607)]
    old, new = data[data["ds"] < times[800]], data[data["ds"] >= times[800]]
    model = Forecaster(horizon=6, epochs=1, n_members=3, random_state=0).fit(old)
    model.save(tmp_path / "m.be")
    loaded = load(tmp_path / "m.be")
    assert not loaded.panel_.is_filled[:25].any()  # a season and a step without gaps
    assert len(loaded.panel_.values) < 700
    lines = [one.plot().axes[0].lines for one in (model, loaded)]
    first, second = (min((line.get_ydata() for line in each), key=len) for each in lines)
    np.testing.assert_allclose(first, second, rtol=1e-5)
    pd.testing.assert_frame_equal(loaded.update(new).predict(), model.update(new).predict())


def test_many_gaps_do_not_make_a_file_keep_everything():
    random = np.random.default_rng(0)
    y = np.where(random.random(5000) < 0.5, np.nan, random.normal(size=5000))
    y[[0, -1]] = 1.0
    days = pd.date_range("2000-01-01", periods=5000)
    frame = pd.DataFrame({"unique_id": "a", "ds": days, "y": y})
    seen = observed.Observed.at_fit(read_panel(frame, marks_gaps=True))
    assert len(seen.tail(50, 20).panel.values) == 50  # no season without gaps near enough
    assert len(seen.tail(50, 1).panel.values) < 70


@pytest.mark.filterwarnings("ignore:.*values are missing")
def test_series_of_which_half_is_missing_go_on_from_a_file_as_before(tmp_path):
    random, hours = np.random.default_rng(0), np.arange(900)
    y = 100 + 20 * np.sin(hours * np.pi / 12) + random.normal(0, 2, 900)
    y[1:879][random.random(878) < 0.5] = np.nan
    times = pd.date_range("2024-01-01", periods=900, freq="h")
    data = pd.DataFrame({"unique_id": "a", "ds": times, "y": y})
    model = Forecaster(horizon=6, epochs=1, n_members=3, random_state=0).fit(data[:880])
    model.save(tmp_path / "m.be")
    loaded = load(tmp_path / "m.be").update(data[880:])
    pd.testing.assert_frame_equal(loaded.predict(), model.update(data[880:]).predict())


@pytest.mark.filterwarnings("ignore:.* values are missing")
@pytest.mark.parametrize("fill", [None, "ffill"])
@pytest.mark.parametrize("adapt", [False, True])
def test_a_shop_that_is_closed_on_sundays_is_calibrated_by_the_other_days(tmp_path, fill, adapt):
    y = long_frame(1, 160).drop(columns="unique_id")
    y["ds"] = pd.date_range("2024-01-01", periods=160)
    open_days = y[y["ds"].dt.dayofweek != 6]
    settings = {**TINY_FORECASTER, "horizon": 7, "freq": "D", "fill": fill}
    model = Forecaster(**settings).fit(open_days[:100], calibrate=False)
    model.calibrate(open_days[100:], adapt=adapt)
    scores = model.calibration_.scores
    known = [own[~np.isnan(own)] for own in scores.T]
    assert {len(own) for own in known} < {len(scores) - n for n in range(5, 9)}
    assert model.calibration_.fewest == min(map(len, known))
    widths = model.predict(level=[90]).iloc[:, -2:].to_numpy() @ [-1, 1] / 2
    if not adapt:
        ranked = [np.sort(own)[math.ceil(0.9 * (len(own) + 1)) - 1] for own in known]
        assert np.allclose(widths, ranked * model.predict_dist().std[0], rtol=1e-6)
    assert np.isfinite(widths).all()
    report = model.calibration_report()
    assert report["coverage_after"].loc[[0.5, 0.8, 0.9]].between(0, 1).all()
    model.save(tmp_path / "m.be")
    again = load(tmp_path / "m.be")
    assert np.array_equal(again.predict(level=[90])["ds"], model.predict(level=[90])["ds"])
    assert again.predict(level=[90]).equals(model.predict(level=[90]))
    assert again.calibration_report().equals(report)


@pytest.mark.filterwarnings("ignore:.* values are missing")
def test_a_step_whose_truth_is_hardly_ever_known_is_not_calibrated():
    y = long_frame(1, 60).drop(columns="unique_id").assign(ds=np.arange(60))
    model = Forecaster(**TINY_FORECASTER).fit(y[:40])
    gappy = y[40:].assign(y=y["y"].where(y["ds"] < 47))
    gappy.loc[gappy.index[-1], "y"] = 1.0
    words = "expected at least 9 windows .* got 5, not counting missing values; add newer"
    with pytest.raises(ValueError, match=words):
        model.calibrate(gappy)
    assert model.calibration_ is None
