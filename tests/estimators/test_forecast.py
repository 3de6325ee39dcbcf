from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fixtures import TINY_FORECASTER, TINY_RECURRENT, long_frame

from batchensemble import Forecaster, load
from batchensemble.training.direct import Direct

H = TINY_FORECASTER["horizon"]


@pytest.fixture(scope="module")
def model():
    return Forecaster(**TINY_FORECASTER).fit(long_frame(2, 60), calibrate=True)


@pytest.fixture
def draws(monkeypatch):
    """How many windows paths were drawn for."""
    windows, simulate = [], Direct.simulate

    def counted(self, x, noise, masks=None):
        windows.append(len(x))
        return simulate(self, x, noise, masks)

    monkeypatch.setattr(Direct, "simulate", counted)
    return windows


def test_paths_are_drawn_once_for_all_questions_about_a_forecast(model, draws):
    forecast = model.forecast()
    assert not draws
    dist = forecast.dist
    assert sum(draws) == 2
    forecast.columns([80], [0.1])
    forecast.ask(lambda each: each.uncertainty()._asdict())
    assert forecast.dist is dist
    assert sum(draws) == 2


@pytest.mark.parametrize("name", ["predict", "predict_dist", "simulate", "uncertainty", "plot"])
def test_every_question_draws_the_paths_of_a_series_once(model, draws, name):
    getattr(model, name)()
    assert sum(draws) == 2


def test_columns_are_the_same_whether_paths_are_kept_or_not(model):
    kept, streamed = model.forecast(), model.forecast()
    assert kept.dist
    for name, values in streamed.columns([50, 80], [0.3]).items():
        assert np.array_equal(kept.columns([50, 80], [0.3])[name], values)


def test_a_backtest_lays_the_truth_beside_forecasts_of_what_came_before():
    df = long_frame(2, 60)
    model = Forecaster(**TINY_FORECASTER).fit(df[df["ds"] < df["ds"].unique()[50]])
    past = model.backtest(df, n_windows=3, refit="never")
    frame = past.frame(past.columns(), with_truth=True)
    merged = frame.merge(df, on=["unique_id", "ds"], suffixes=("", "_true"))
    assert len(merged) == len(frame) == 2 * 3 * past.ahead.h
    assert np.array_equal(merged["y"], merged["y_true"])
    assert np.array_equal(past.truth.ravel(), frame["y"])
    last = df.set_index(["unique_id", "ds"])["y"]
    known = [last[i, cutoff] for i, cutoff in zip(past.ahead.ids, past.ahead.cutoffs, strict=True)]
    assert np.array_equal(past.repeated(1), np.repeat([known], past.ahead.h, axis=0).T)
    season = past.repeated(2)
    assert np.array_equal(season[:, 1], known)
    assert np.array_equal(season[:, 0], season[:, 2])


def test_dates_and_series_of_a_forecast_follow_its_panel(model):
    forecast = model.forecast(2)
    frame = forecast.frame(forecast.columns())
    assert frame["unique_id"].tolist() == ["s0", "s0", "s1", "s1"]
    assert (frame["ds"] > pd.Timestamp(model.panel_.times.max())).all()


@pytest.mark.filterwarnings("ignore:.*values are missing")
def test_windows_are_scored_where_a_truth_is_known():
    frame = long_frame(2, 44).drop([37, 38, 39, 44 + 40])
    model = Forecaster(**TINY_FORECASTER).fit(frame.groupby("unique_id").head(30))
    past = model.backtest(frame, h=3, n_windows=5, refit="never")
    kept = past.scored()
    is_known = ~np.isnan(past.truth).all(axis=1)
    assert is_known.tolist() == [False] + [True] * 9
    assert np.isnan(past.truth).sum() == 3 + 2 + 1 + 3
    np.testing.assert_array_equal(kept.truth, past.truth[is_known])
    np.testing.assert_array_equal(kept.dist.paths, past.dist.paths[is_known])
    assert len(kept.frame(kept.columns(), with_truth=True)) == 27
    lost = replace(past.panel, is_filled=np.ones(len(past.panel.values), dtype=bool))
    with pytest.raises(ValueError, match="all true values of the past forecasts are missing"):
        replace(past, panel=lost).scored()


@pytest.mark.filterwarnings("ignore:.*values are missing")
@pytest.mark.parametrize("fill", [None, "ffill", "interpolate"])
@pytest.mark.parametrize("preset", ["default", "recurrent"])
def test_what_was_filled_in_is_no_truth(tmp_path, fill, preset):
    if preset == "recurrent" and fill is None:
        pytest.skip("the recurrent network needs a fill")
    whole = long_frame(1, 100)
    lost = np.array([64, 65, 70, 71, 72, 90])
    gappy = whole.assign(y=whole["y"].where(~np.isin(np.arange(100), lost)))
    settings = {**(TINY_RECURRENT if preset == "recurrent" else TINY_FORECASTER), "fill": fill}
    model = Forecaster(**settings).fit(whole[:60])
    found = model.cross_validation(gappy, h=3, n_windows=30, refit="never")
    is_lost = found["ds"].isin(whole["ds"].to_numpy()[lost])
    assert is_lost.any()
    assert found["y"][is_lost].isna().all()
    assert found["y"][~is_lost].notna().all()
    model.calibrate(gappy[60:])
    rows = np.arange(60, 97)[:, None] + np.arange(H)
    windows = rows[~np.isin(rows, lost).all(axis=1)]
    expected = gappy["y"].to_numpy()[windows]
    assert np.array_equal(model.calibration_.y, expected, equal_nan=True)
    assert np.array_equal(np.isnan(model.panel_.observed), gappy["y"].isna())
    model.save(tmp_path / "m.be")
    after = model.predict(level=[80]).drop(columns="unique_id")
    again = load(tmp_path / "m.be")
    assert np.array_equal(again.predict(level=[80]).drop(columns="unique_id"), after)


def test_a_horizon_that_would_fill_the_memory_is_refused_before_anything_is_made(model):
    with pytest.raises(ValueError, match="expected h of at most 1,048,576 steps, got 100,000,000"):
        model.predict(100_000_000)
