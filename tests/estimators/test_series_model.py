import numpy as np
import pandas as pd
import pytest
from fixtures import TINY_FORECASTER as QUICK
from fixtures import long_frame as long

from batchensemble import Forecaster, load
from batchensemble.estimators.series_model import hold_out_windows


def test_the_reading_follows_the_frequency_and_the_shortest_series():
    def reading(n, **settings):
        model = Forecaster(**{**QUICK, "preset": "recurrent", "epochs": 1, **settings})
        model.fit(long(1, n))
        return model.season_, model.context_, model.lags_

    assert reading(120) == (12, 12, (1, 12))
    assert reading(120, seasonal_lag=False) == (12, 12, (1,))
    assert reading(120, season=6, context=9) == (6, 9, (1, 6))
    assert reading(35)[2] == (1,)
    assert reading(7) == (12, 2, (1,))
    model = Forecaster(**QUICK, freq=pd.DateOffset(months=1))
    middles = long(1).assign(ds=lambda df: df["ds"] + pd.Timedelta(days=14))
    assert model.fit(middles).predict()["ds"].tolist()[0] == pd.Timestamp("2020-01-15")


def test_no_target_is_both_learned_from_and_held_out():
    model = Forecaster(**QUICK, preset="recurrent", validation_fraction=0.2).fit(long())
    kept, held_out = hold_out_windows(model.panel_.starts, model.model_.reach, 4, 0.2)

    def targets(starts):
        return set((starts[:, None] + model.model_.reach + np.arange(4)).ravel().tolist())

    n_windows = 60 - model.model_.reach - 4 + 1
    assert len(held_out) == 3 * round(0.2 * n_windows)
    assert not targets(kept) & targets(held_out)


@pytest.mark.parametrize(
    ("n", "settings", "n_epochs", "is_judged"),
    [
        (90, {}, 6, True),
        (40, {}, 2, False),  # too short to hold windows out: a third of the epochs
        (40, {"epochs": 6}, 6, False),
        (40, {"validation_fraction": 0}, 6, False),
    ],
)
def test_series_too_short_to_hold_windows_out_are_not_learned_by_heart(
    n, settings, n_epochs, is_judged, monkeypatch
):
    from batchensemble.estimators.presets import SERIES_PRESETS

    monkeypatch.setitem(SERIES_PRESETS["default"], "epochs", 6)
    given = {name: value for name, value in QUICK.items() if name != "epochs"} | settings
    (history,) = Forecaster(**given).fit(long(1, n)).history_
    assert len(history.losses) == n_epochs
    assert bool(history.scores) == is_judged


def gappy(n, seed):
    """Daily values with a week's season, a sixth of them missing."""
    random = np.random.default_rng(seed)
    values = 100 + 10 * np.sin(2 * np.pi * np.arange(n) / 7) + random.normal(size=n)
    values[random.random(n) < 1 / 6] = np.nan
    return pd.DataFrame({"unique_id": "s", "ds": pd.date_range("2010", periods=n), "y": values})


@pytest.mark.filterwarnings("ignore:.* values are missing")
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("settings", [{"context": 21}, {"context": 4, "season": 30}])
def test_whatever_is_missing_a_forecast_is_the_same_in_hindsight_and_of_a_file(
    tmp_path, settings, seed
):
    df, h = gappy(120, seed), QUICK["horizon"]
    first, second = 100, 112  # rows known at two cutoffs
    ends = [0, first - 1, first, first + h - 1, second - 1, second + h - 1]
    df.loc[ends, "y"] = 100.0
    Forecaster(**QUICK | settings).fit(df[:first]).save(tmp_path / "m.be")
    answers = []
    for model in (Forecaster(**QUICK | settings).fit(df[:first]), load(tmp_path / "m.be")):
        for n_known in (first, second):
            if n_known == second:
                model.update(df[first:second])
            past = model.cross_validation(df[: n_known + h], refit="never")["BatchEnsemble"]
            ahead = model.predict()["BatchEnsemble"]
            np.testing.assert_array_equal(ahead, past)
            np.testing.assert_array_equal(ahead, model.predict(df=df[:n_known])["BatchEnsemble"])
            answers.append(ahead)
    np.testing.assert_array_equal(answers[:2], answers[2:])


def test_windows_after_a_first_value_below_zero_may_be_negative_in_hindsight_as_ahead():
    df = long(1, 70, freq="D")
    df["y"] = np.abs(df["y"])
    df.loc[60:61, "y"] = -30.0
    model = Forecaster(**QUICK, context=14).fit(df[:58])
    past = model.cross_validation(df, n_windows=7, refit="never", level=[80])
    lower = past.groupby("cutoff")["BatchEnsemble-lo-80"].min()
    assert ((lower < 0) == (lower.index >= df["ds"][60])).all()
    for cutoff, window in past.groupby("cutoff"):
        ahead = model.predict(df=df[df["ds"] <= cutoff], level=[80])
        names = list(ahead)[2:]
        np.testing.assert_allclose(window[names], ahead[names], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n_windows", [1, 4])
def test_what_comes_after_a_cutoff_is_not_read_where_less_than_a_season_came_before(n_windows):
    def both(later):
        young = long(1, 12).assign(unique_id="young")
        return pd.concat([long(2, 90), young.assign(y=young["y"].where(young.index < 10, later))])

    known = pd.concat([one[:-6] for _, one in both(0.0).groupby("unique_id")])
    fitted = Forecaster(horizon=2, preset="fast", epochs=1, random_state=0).fit(known)
    how = {"n_windows": n_windows, "step_size": 1, "refit": "never"}
    calm, wild = (fitted.cross_validation(both(later), **how) for later in (0.0, 1e4))
    assert (calm["unique_id"] == "young").sum() == 2 * n_windows
    np.testing.assert_array_equal(calm["BatchEnsemble"], wild["BatchEnsemble"])


def test_the_paths_of_a_series_are_the_same_however_its_number_is_written():
    data = long(n=60).assign(unique_id=lambda f: pd.factorize(f["unique_id"])[0])
    model = Forecaster(**QUICK).fit(data)
    as_float = data.assign(unique_id=data["unique_id"].astype(float))
    found = model.predict(level=[80], df=as_float).iloc[:, 2:]
    np.testing.assert_array_equal(found, model.predict(level=[80], df=data).iloc[:, 2:])
