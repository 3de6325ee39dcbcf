import numpy as np
import pandas as pd
import pytest

from batchensemble.data.gaps import KEPT, seasonally_filled
from batchensemble.data.panels import read_panel


def gappy(*series):
    """Daily series of these values, NaN where one is missing."""
    parts = [
        pd.DataFrame(
            {"unique_id": i, "ds": pd.date_range("2024-01-01", periods=len(own)), "y": own}
        )
        for i, own in enumerate(series)
    ]
    return read_panel(pd.concat(parts), marks_gaps=True)


def test_a_missing_value_is_as_one_season_earlier_and_nearly_as_far_from_it_as_the_one_before():
    values = [1.0, 5.0, 2.0, 3.0, np.nan, np.nan, np.nan, 4.0]
    filled = seasonally_filled(gappy(values), 3).values
    kept = KEPT * (3 - 1), KEPT**2 * (3 - 1), KEPT**3 * (3 - 1)
    np.testing.assert_allclose(filled[4:7], [5 + kept[0], 2 + kept[1], 3 + kept[2]])
    assert filled[[0, 1, 2, 3, 7]].tolist() == [1, 5, 2, 3, 4]


@pytest.mark.parametrize("first", range(98, 105))
def test_a_long_gap_is_filled_with_its_season_on_whatever_day_it_begins(first):
    week = np.array([100.0] * 5 + [20.0] * 2)
    values = np.tile(week, 20) + np.random.default_rng(first).normal(size=140)
    values[first:130] = np.nan
    filled = seasonally_filled(gappy(values), 7).values
    assert np.abs(filled - np.tile(week, 20)).max() < 12


def test_what_columns_explain_is_not_carried_over_to_other_times():
    effect = np.array([0.0, 50.0, 0.0, 0.0, 0.0, 7.0, 0.0])
    plain = seasonally_filled(gappy([1.0, 5.0, 2.0, 3.0, np.nan, np.nan, 4.0]), 3).values
    panel = gappy([1.0, 55.0, 2.0, 3.0, np.nan, np.nan, 4.0])
    np.testing.assert_allclose(seasonally_filled(panel, 3, effect).values, plain + effect)


@pytest.mark.parametrize("period", [1, 5])
def test_without_a_season_before_it_a_missing_value_is_the_last_one(period):
    filled = seasonally_filled(gappy([1.0, 5.0, 2.0, 3.0], [8.0, np.nan, np.nan, 6.0]), period)
    assert filled.values.tolist() == [1, 5, 2, 3, 8, 8, 8, 6]


def test_a_series_without_gaps_is_left_alone():
    panel = read_panel([1.0, 2.0, 3.0])
    assert seasonally_filled(panel, 2) is panel


def test_a_jump_after_a_gap_is_not_repeated_every_season():
    random = np.random.default_rng(0)
    daily = random.normal(size=60)
    hourly = np.full(60 * 24, np.nan)
    hourly[::24] = daily
    filled = seasonally_filled(gappy(hourly[: 59 * 24 + 1]), 24).values
    assert np.abs(filled).max() == np.abs(daily).max()
    drift = np.where(np.arange(200) % 70 < 20, np.arange(200.0) % 7 + np.arange(200), np.nan)
    filled = seasonally_filled(gappy(drift[:161]), 7).values
    assert np.abs(filled).max() < 300  # the trend goes on in a gap, and no faster


@pytest.mark.parametrize("period", [1, 2, 7])
def test_the_end_of_a_filled_series_is_filled_already(period):
    random = np.random.default_rng(0)
    values = random.normal(size=60)
    values[1:][random.random(59) < 0.4] = np.nan
    filled = seasonally_filled(gappy(values), period)
    whole = seasonally_filled(gappy(values), period, done=0)
    np.testing.assert_array_equal(whole.values, filled.values)
    for n in range(1, 60):
        again = seasonally_filled(filled.tail(n), period)
        np.testing.assert_array_equal(again.values, filled.values[-n:])
