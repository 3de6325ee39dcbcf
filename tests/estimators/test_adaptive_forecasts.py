"""Calibration of forecasters that goes on adapting."""

import copy

import numpy as np
import pandas as pd
import pytest
from fixtures import TINY_FORECASTER, TINY_RECURRENT

from batchensemble import Forecaster, load

H = TINY_FORECASTER["horizon"]
N_LEARNED, N_CALIBRATED, N = 60, 120, 320


def noisy(n=N, doubled_from=180, factor=2.0, seed=0):
    """Two daily series of noise, whose deviation changes."""
    random = np.random.default_rng(seed)
    days = pd.date_range("2020-01-01", periods=n, freq="D")
    scale = np.where(np.arange(n) >= doubled_from, factor, 1.0)
    return pd.concat(
        [
            pd.DataFrame({"unique_id": name, "ds": days, "y": 20 + random.normal(size=n) * scale})
            for name in ("a", "b")
        ],
        ignore_index=True,
    )


def between(df, first, last):
    day = df.groupby("unique_id").cumcount()
    return df[(day >= first) & (day < last)]


@pytest.fixture(scope="module")
def df():
    return noisy()


@pytest.fixture(scope="module")
def learned(df):
    """Its spread stays as it was in fit, so that only calibration can follow a change."""
    bounds = {"scaling": "standard", "log_variance_bounds": (-0.1, 0.1)}
    return Forecaster(**TINY_RECURRENT | bounds, alias="ours").fit(between(df, 0, N_LEARNED))


def calibrated(model, df, *, adapt):
    return copy.copy(model).calibrate(between(df, N_LEARNED, N_CALIBRATED), adapt=adapt)


def held(frame):
    inside = (frame["y"] >= frame["ours-lo-80"]) & (frame["y"] <= frame["ours-hi-80"])
    return inside.groupby(frame["cutoff"]).mean().to_numpy()


def test_backtests_follow_a_change_as_they_go_and_static_intervals_do_not(learned, df):
    shares = {}
    for adapt in (True, False):
        model = calibrated(learned, df, adapt=adapt)
        past = model.cross_validation(df, n_windows=190, level=[80], refit="never")
        shares[adapt] = held(past)
    assert abs(shares[True][:50].mean() - 0.8) < 0.07  # before the change
    assert abs(shares[True][-80:].mean() - 0.8) < 0.05
    assert shares[False][-80:].mean() < 0.6


def test_a_window_far_ahead_is_forecast_by_all_that_was_known_before_it(learned, df):
    model = calibrated(learned, df, adapt=True)
    one = model.cross_validation(df, n_windows=1, level=[80], refit="never")
    until = N - H
    updated = copy.copy(model).update(between(df, N_CALIBRATED, until))
    ahead = updated.predict(level=[80])
    assert np.allclose(one["ours-hi-80"], ahead["ours-hi-80"])
    static = calibrated(learned, df, adapt=False)
    assert (ahead["ours-hi-80"] > static.predict(level=[80])["ours-hi-80"].mean() + 0.3).all()
    assert model.calibration_.cutoffs[-1] < updated.calibration_.cutoffs[-1]  # it has not moved


@pytest.mark.parametrize("unit", ["s", "ns"])
def test_the_unit_of_dates_does_not_matter(learned, df, unit):
    model = calibrated(learned, df, adapt=True)
    other = df.assign(ds=df["ds"].dt.as_unit(unit))
    ask = {"n_windows": 60, "level": [80], "refit": "never"}
    ours, theirs = (model.cross_validation(each, **ask) for each in (df, other))
    assert np.allclose(ours["ours-hi-80"], theirs["ours-hi-80"])


def test_a_file_goes_on_where_the_model_was(learned, df, tmp_path):
    model = calibrated(learned, df, adapt=True)
    model.save(tmp_path / "model.be")
    loaded = load(tmp_path / "model.be")
    new = between(df, N_CALIBRATED, 200)
    ours, theirs = (each.update(new).predict(level=[80]) for each in (model, loaded))
    assert np.allclose(ours["ours-hi-80"], theirs["ours-hi-80"])


def test_a_fit_calibrates_adaptively_unless_it_is_told_not_to_and_so_do_its_copies(df):
    old = between(df, 0, 90)
    model = Forecaster(**TINY_FORECASTER).fit(old, calibrate=True)
    assert model.calibration_.is_adaptive
    assert model.calibration_report()["coverage_after"].loc[:0.9].between(0, 1).all()
    assert model.backtest(old, n_windows=2).calibration.is_adaptive
    static = Forecaster(**TINY_FORECASTER).fit(old, calibrate=True, adapt=False)
    assert not static.calibration_.is_adaptive
    assert not static.backtest(old, n_windows=2).calibration.is_adaptive


def test_of_few_forecasts_no_high_level_is_asked(learned, df):
    model = copy.copy(learned).calibrate(between(df, N_LEARNED, N_LEARNED + 9), adapt=True)
    with pytest.raises(ValueError, match="expected at least 19 calibration cases"):
        model.predict(level=[95])


def test_a_series_that_ended_before_anything_was_known_gets_the_bounds_of_no_adaptation(
    learned, df
):
    early = df[df["unique_id"] == "a"].assign(unique_id="old")
    early["ds"] -= pd.Timedelta(days=1000)
    intervals = [
        calibrated(learned, df, adapt=adapt)
        .cross_validation(early, n_windows=3, level=[80], refit="never")[
            ["ours-lo-80", "ours-hi-80"]
        ]
        .to_numpy()
        for adapt in (True, False)
    ]
    assert np.isfinite(intervals[0]).all()
    assert np.allclose(*intervals)


@pytest.mark.parametrize("adapt", [False, True])
@pytest.mark.parametrize("until", [N_CALIBRATED + 22, N])
def test_the_order_in_which_series_are_updated_does_not_matter(learned, df, adapt, until):
    start, new = calibrated(learned, df, adapt=adapt), between(df, N_CALIBRATED, until)
    a, b = (new[new["unique_id"] == name] for name in ("a", "b"))
    answers = []
    for parts in ([new], [a, b], [b, a]):
        model = copy.copy(start)
        for part in parts:
            model.update(part)
        kept = model.calibration_
        answers.append(
            (model.predict(level=[80]), model.calibration_report(), np.sort(kept.y[:, 0]))
        )
        assert np.isin(kept.y, a["y"]).sum() == np.isin(kept.y, b["y"]).sum()
    for forecast, report, kept in answers[1:]:
        pd.testing.assert_frame_equal(forecast, answers[0][0])
        pd.testing.assert_frame_equal(report, answers[0][1])
        np.testing.assert_array_equal(kept, answers[0][2])
