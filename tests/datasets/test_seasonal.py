import numpy as np
import pandas as pd
import pytest

from batchensemble.datasets import load_series, make_seasonal


def test_the_series_is_the_same_for_the_same_seed_and_another_for_another():
    series = load_series("seasonal")
    assert len(series.values) == len(series.times) == 480
    np.testing.assert_array_equal(series.values, make_seasonal().values)
    assert not np.array_equal(series.values, make_seasonal(seed=1).values)


def test_the_seasonal_series_repeats_after_a_season_and_not_after_half_of_one():
    values = make_seasonal().values
    change = values - np.poly1d(np.polyfit(np.arange(480), values, 1))(np.arange(480))

    def correlation(lag):
        return np.corrcoef(change[lag:], change[:-lag])[0, 1]

    assert correlation(12) > 0.6
    assert correlation(6) < -0.6


def test_a_series_is_a_long_frame():
    frame = load_series("seasonal").frame
    assert frame.columns.tolist() == ["unique_id", "ds", "y"]
    assert pd.infer_freq(frame["ds"]) == "MS"


def test_an_unknown_series_is_answered_with_the_known_one():
    with pytest.raises(ValueError, match=r"one of 'seasonal', got 'seasonl'; did you mean 'seas"):
        load_series("seasonl")
