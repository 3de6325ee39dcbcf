import sys

import numpy as np
import pandas as pd
import pytest

from batchensemble import Forecaster
from batchensemble.adapters.gluonts import period, sample_forecasts

SMALL = {
    "n_members": 3,
    "context": 3,
    "horizon": 4,
    "epochs": 2,
    "hidden": (4,),
    "n_paths": 50,
    "random_state": 0,
}
# What gluonts says when it is imported.
pytestmark = pytest.mark.filterwarnings("ignore:Using `json`-module for json-handling:UserWarning")


def frame(times: pd.Index) -> pd.DataFrame:
    """Two series, the second one step shorter."""
    values = np.random.default_rng(0).normal(size=2 * len(times) - 1).cumsum()
    ids = [1] * len(times) + [2] * (len(times) - 1)
    return pd.DataFrame({"unique_id": ids, "ds": [*times, *times[:-1]], "y": values})


@pytest.fixture
def gluonts():
    reason = "gluonts, which wants pandas below 3, is not installed"
    return pytest.importorskip("gluonts", reason=reason)


@pytest.mark.usefixtures("gluonts")
def test_there_is_one_forecast_for_each_series_from_its_first_step_on():
    months = pd.date_range("2020-01-01", periods=40, freq="MS")
    model = Forecaster(**SMALL).fit(frame(months))
    first, second = sample_forecasts(model)
    assert (first.item_id, second.item_id) == ("1", "2")
    assert first.start_date == pd.Period("2023-05", "M")
    assert second.start_date == pd.Period("2023-04", "M")
    assert first.samples.shape == second.samples.shape == (50, 4)
    assert first.prediction_length == 4
    assert sample_forecasts(model, 7, n_paths=10)[0].samples.shape == (10, 7)


@pytest.mark.usefixtures("gluonts")
def test_its_samples_are_the_paths_of_the_forecaster():
    model = Forecaster(**{**SMALL, "n_paths": 60}).fit(frame(pd.date_range("2020", periods=40)))
    forecasts = sample_forecasts(model, 5)
    paths = model.predict_dist(5).paths.reshape(2, 60, 5)
    for forecast, own in zip(forecasts, paths, strict=True):
        assert np.array_equal(np.sort(forecast.samples, axis=0), np.sort(own, axis=0))
    means = model.predict(5)["BatchEnsemble"].to_numpy().reshape(2, 5)
    assert np.allclose([forecast.mean for forecast in forecasts], means)


@pytest.mark.usefixtures("gluonts")
def test_gluonts_evaluator_scores_them():
    from gluonts.evaluation import Evaluator

    days = pd.date_range("2024-01-01", periods=44, freq="D")
    whole = frame(days)
    history = whole.groupby("unique_id").head(39)
    forecasts = sample_forecasts(Forecaster(**SMALL).fit(history))
    truths = [
        own.set_index("ds")["y"].to_period("D").rename(str(i))
        for i, own in whole.groupby("unique_id")
    ]
    evaluator = Evaluator(quantiles=[0.1, 0.5, 0.9], num_workers=0)
    total, by_item = evaluator(truths, forecasts)
    assert by_item["item_id"].tolist() == ["1", "2"]
    assert np.isfinite(total["mean_wQuantileLoss"])
    error = [
        np.mean((forecast.mean - truth.to_numpy()[39:43]) ** 2)
        for forecast, truth in zip(forecasts, truths, strict=True)
    ]
    assert np.allclose(by_item["MSE"].astype(float), error)


@pytest.mark.usefixtures("gluonts")
def test_known_columns_are_passed_on():
    days = pd.date_range("2024-01-01", periods=40, freq="D")
    table = frame(days).assign(price=1.0)
    model = Forecaster(**SMALL, future_columns=["price"]).fit(table)
    with pytest.raises(ValueError, match="expected X_df="):
        sample_forecasts(model)
    ahead = pd.date_range("2024-02-01", periods=20, freq="D")
    ahead = pd.DataFrame({"unique_id": np.repeat([1, 2], 20), "ds": [*ahead, *ahead], "price": 2.0})
    assert len(sample_forecasts(model, X_df=ahead)) == 2


@pytest.mark.usefixtures("gluonts")
def test_series_without_dates_are_refused():
    model = Forecaster(**SMALL).fit(frame(pd.RangeIndex(40)))
    with pytest.raises(ValueError, match="expected series with dates, which gluonts needs"):
        sample_forecasts(model)


@pytest.mark.parametrize(
    "freq", ["D", "h", "15min", "2D", "W", "W-WED", "MS", "ME", "QS", "QE", "YS", "YE"]
)
def test_a_time_lies_in_its_period_and_the_next_time_in_the_next(freq):
    times = pd.date_range("2024-03-05", periods=3, freq=freq)
    first, second = (period(time, times.freq) for time in times[1:])
    assert first.start_time <= times[1] <= first.end_time
    assert second == first + times.freq.n // first.freq.n


def test_a_time_zone_is_left_away_and_a_frequency_without_periods_refused():
    time = pd.Timestamp("2024-03-05 07:00", tz="Europe/Berlin")
    assert period(time, pd.offsets.Hour()) == pd.Period("2024-03-05 07:00", "h")
    with pytest.raises(ValueError, match=r"expected a frequency with periods.*'SMS-15'"):
        period(pd.Timestamp("2024-03-01"), pd.offsets.SemiMonthBegin())


def test_without_gluonts_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gluonts.model.forecast", None)
    monkeypatch.setitem(sys.modules, "gluonts", None)
    with pytest.raises(ImportError, match=r"needs gluonts.*pip install batchensemble\[gluonts\]"):
        sample_forecasts(Forecaster())
