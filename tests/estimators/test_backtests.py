"""How often models are fitted while the past is forecast."""

import numpy as np
import pandas as pd
import pytest
from fixtures import TINY_FORECASTER, long_frame

from batchensemble import Forecaster

WINDOWS = {"h": 3, "n_windows": 3, "step_size": 2}
VALUES = ["BatchEnsemble", "BatchEnsemble-q-10"]


@pytest.fixture(scope="module")
def frame():
    return long_frame(2, 40)


def known_until(frame, cutoff):
    return frame[frame["ds"] <= cutoff]


@pytest.mark.parametrize(("refit", "fits"), [(False, 1), (True, 3), (2, 2)])
def test_models_are_fitted_to_what_precedes_their_first_window(frame, refit, fits):
    model = Forecaster(**TINY_FORECASTER)
    found = model.cross_validation(frame, refit=refit, quantiles=[0.1], **WINDOWS)
    cutoffs = sorted(found["cutoff"].unique())
    starts = [cutoffs[i] for i in range(0, 3, -(-3 // fits))]
    for cutoff in cutoffs:
        first = max(start for start in starts if start <= cutoff)
        own = Forecaster(**TINY_FORECASTER).fit(known_until(frame, first))
        alone = own.predict(3, df=known_until(frame, cutoff), quantiles=[0.1])
        mine = found[found["cutoff"] == cutoff]
        np.testing.assert_allclose(mine[VALUES], alone[VALUES], rtol=1e-4, atol=1e-4)


def test_rows_are_in_the_same_order_however_often_models_are_fitted(frame):
    keys = ["unique_id", "cutoff", "ds", "y"]
    model = Forecaster(**TINY_FORECASTER)
    once, each = (
        model.cross_validation(frame, refit=refit, **WINDOWS)[keys] for refit in (False, True)
    )
    assert once.equals(each)
    assert once.equals(once.sort_values(keys[:3], ignore_index=True))
    dist = model.cross_validation_dist(frame, refit=True, **WINDOWS)
    means = model.cross_validation(frame, refit=True, **WINDOWS)["BatchEnsemble"]
    np.testing.assert_allclose(dist.mean.ravel(), means)


@pytest.mark.parametrize("refit", ["always", 0, -1, 1.5, None])
def test_other_words_for_refitting_are_answered_with_the_known_ones(frame, refit):
    with pytest.raises(ValueError, match=r"expected refit to be False .* or 'never' .*, got"):
        Forecaster(**TINY_FORECASTER).cross_validation(frame, refit=refit)


def test_a_backtest_is_of_one_model(frame):
    with pytest.raises(ValueError, match=r"refit=True would fit 3; pass refit=False or 'never'"):
        Forecaster(**TINY_FORECASTER).backtest(frame, refit=True, **WINDOWS)


def test_a_value_that_is_missing_in_a_window_alone_is_no_gap_in_what_is_learned(frame):
    last_but_one = frame["ds"].unique()[-2]
    with_gap = frame.assign(y=frame["y"].where(frame["ds"] != last_but_one))
    found = Forecaster(**TINY_FORECASTER).cross_validation(with_gap, h=3)  # warnings are errors
    assert found["y"].isna().sum() == 2


def test_steps_between_windows_of_any_size_are_answered_in_words(frame):
    model = Forecaster(**TINY_FORECASTER)
    with pytest.raises(ValueError, match=f"at least {2**70 + 4} rows, got 40: it needs"):
        model.cross_validation(frame, h=3, n_windows=2, step_size=2**70)


def test_more_windows_than_rows_are_refused_before_they_are_counted_out(frame):
    with pytest.raises(ValueError, match="expected at least 1000000000003 rows, got 40"):
        Forecaster(**TINY_FORECASTER).cross_validation(frame, h=3, n_windows=10**12)


@pytest.mark.filterwarnings("ignore:.*values are missing")
def test_a_gap_in_the_first_season_is_the_same_to_fit_to_a_history_and_to_a_backtest():
    random = np.random.default_rng(0)
    days = pd.DataFrame({"ds": pd.date_range("2024-01-01", periods=60)})
    days["promo"] = (random.random(60) < 0.3) * 1.0
    days["y"] = 100 + 50 * days["promo"] + random.normal(size=60)
    days.loc[1:5, "y"] = np.nan
    known, ahead = days[:56], days[56:].drop(columns="y")
    model = Forecaster(horizon=4, epochs=1, random_state=0, future_columns=["promo"]).fit(known)
    expected = model.predict(X_df=ahead)["BatchEnsemble"]
    np.testing.assert_allclose(model.predict(X_df=ahead, df=known)["BatchEnsemble"], expected)
    past = model.cross_validation(days, h=4, refit="never")["BatchEnsemble"]
    np.testing.assert_allclose(past, expected, rtol=1e-5)
