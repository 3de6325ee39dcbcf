import dataclasses

import numpy as np
import pandas as pd
import pytest
from fixtures import TINY_FORECASTER

from batchensemble import Forecaster, load
from batchensemble.estimators.demand import with_demand


def demand(n=60, ids=("a", "b"), share=0.3, seed=0):
    random = np.random.default_rng(seed)
    times = pd.date_range("2024-01-01", periods=n)
    parts = [
        pd.DataFrame(
            {
                "unique_id": name,
                "ds": times,
                "y": (random.random(n) < share) * (1.0 + random.poisson(3, n)),
            }
        )
        for name in ids
    ]
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def model():
    return Forecaster(**TINY_FORECASTER).fit(demand())


def test_intermittent_series_are_named_and_forecast_by_values_that_they_have_had(model, tmp_path):
    assert model.intermittent_ == ["a", "b"]
    assert model.model_.encoder.draws_history_
    had = set(demand()["y"])
    assert set(model.simulate(50)["y"]) <= had
    model.save(tmp_path / "model.be")
    again = load(tmp_path / "model.be")
    pd.testing.assert_frame_equal(again.predict(level=[80]), model.predict(level=[80]))


def test_a_season_of_zeros_is_forecast_as_one():
    hours = np.arange(24 * 12)
    y = np.maximum(np.sin(2 * np.pi * hours / 24), 0) * 100  # dark half of the day
    frame = pd.DataFrame({"ds": pd.date_range("2024-01-01", periods=len(y), freq="h"), "y": y})
    settings = TINY_FORECASTER | {"horizon": 24, "context": None}
    model = Forecaster(**settings).fit(frame)
    assert model.intermittent_ == ["y"]
    assert not model.model_.encoder.draws_history_
    assert np.abs(model.predict()["BatchEnsemble"] - y[:24]).max() < 20


def test_forecasts_of_a_series_are_not_negative_if_it_never_was_also_calibrated():
    random = np.random.default_rng(0)
    frame = demand(80, share=1.0)
    frame["y"] = np.where(frame["unique_id"] == "a", random.exponential(1.0, 160), frame["y"] - 4)
    model = Forecaster(**TINY_FORECASTER).fit(frame, calibrate=True)
    found = model.predict(level=[90], quantiles=[0.01])
    columns = found.set_index("unique_id").filter(like="BatchEnsemble")
    assert columns.loc["a"].min().min() == 0
    assert columns.loc["b"].min().min() < 0
    assert model.simulate(20).query("unique_id == 'a'")["y"].min() == 0


def test_a_file_keeps_which_series_are_intermittent(tmp_path):
    y = demand(400, ids=["a"], share=0.1)["y"].to_numpy() + (np.arange(400) > 300)  # no new zeros
    model = Forecaster(**TINY_FORECASTER).fit(y)
    model.save(tmp_path / "model.be")
    assert load(tmp_path / "model.be").intermittent_ == model.intermittent_ == []


@pytest.mark.filterwarnings("ignore:.*values are missing")
@pytest.mark.parametrize("first", range(20, 27))
def test_a_gap_does_not_turn_the_choice_round(first):
    df = demand(ids=("a",))
    df.loc[first : first + 20, "y"] = np.nan
    model = Forecaster(**TINY_FORECASTER, season=7).fit(df)
    odd = dataclasses.replace(model.panel_, values=model.panel_.observed)
    odd.values[odd.is_filled] = -1000.0
    for panel in (model.panel_, odd):
        assert with_demand(model.model_, panel).encoder.draws_history
