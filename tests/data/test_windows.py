import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from batchensemble.data.windows import (
    continued_back,
    read_alone,
    season_lag,
    series_scale,
    window_scales,
    window_starts,
)


def scaled(values, reach, scaling="window", period=1):
    return window_scales(values, reach, scaling=scaling, period=period)


@pytest.mark.parametrize("length", [1, 5, 13, 14, 30, 31])
def test_windows_start_wherever_a_whole_one_fits_inside_a_series(length):
    lengths = [20, 13, 30]
    starts = window_starts(np.cumsum([0, *lengths]), length)
    owner = np.repeat([0, 1, 2], lengths)
    n = len(owner)
    expected = [s for s in range(n - length + 1) if owner[s] == owner[s + length - 1]]
    assert starts.tolist() == expected


@pytest.mark.parametrize("size", [1, 100, 2**20])
def test_a_window_is_scaled_by_the_mean_and_spread_of_what_is_known_in_it(size, monkeypatch):
    monkeypatch.setattr("batchensemble.data.windows.WINDOW_FLOATS", size)
    values = np.random.default_rng(0).normal(size=50).astype(np.float32)
    values[20:30] = 1.0  # quiet: its spread is not taken
    location, scale = scaled(values, 6)
    windows = sliding_window_view(values.astype(np.float64), 6)
    np.testing.assert_allclose(location[:45], windows.mean(axis=1))
    np.testing.assert_allclose(scale[:45], np.maximum(windows.std(axis=1), 0.1))
    assert (location[45:] == 0).all()
    assert (scale[45:] == 1).all()
    for word in ("standard", "minmax"):
        location, scale = scaled(values, 6, word)
        assert (location == 0).all()
        assert (scale == 1).all()
    assert scaled(values, 51)[1].tolist() == [1.0] * 50


def test_an_enormous_value_spoils_only_the_windows_that_hold_it():
    values = np.random.default_rng(0).normal(size=50).astype(np.float32)
    expected = scaled(values, 6)
    values[10] = 1e12
    for scales, before in zip(scaled(values, 6), expected, strict=True):
        np.testing.assert_array_equal(scales[11:], before[11:])


@pytest.mark.parametrize("scaling", ["window", "difference"])
def test_a_few_wild_values_do_not_decide_the_scale_of_a_series(scaling):
    values = np.random.default_rng(0).normal(size=90)
    usual = series_scale(values, scaling=scaling, period=7)
    assert usual[0] == values.mean()
    values[[10, 50]] = 1e12, -1e9
    location, scale = series_scale(values, scaling=scaling, period=7)
    assert abs(location) < 1
    assert scale < 120 * usual[1]
    mostly_zero = np.where(np.arange(90) == 5, 1e9, 0.0)
    assert series_scale(mostly_zero, scaling=scaling, period=7)[1] > 1e6


def test_a_series_is_continued_backwards_by_its_first_season():
    rows, starts, repeated = continued_back(np.array([0, 5, 12]), np.array([4, 0]), 3)
    assert rows.tolist() == [2, 0, 1, 2, *range(5), *range(5, 12)]
    assert starts.tolist() == [0, 9, 16]
    assert repeated.tolist() == [True] * 4 + [False] * 12


def test_a_young_series_is_continued_backwards_by_what_is_known_of_it():
    rows, repeated = read_alone(np.array([0, 5]), np.array([1, 7]), 4, 2)
    assert rows.reshape(2, 6).tolist() == [[0, 1, 0, 1, 2, 3], [7, 5, 6, 7, 8, 9]]
    assert np.flatnonzero(repeated).tolist() == [0, 1, 6]


def test_by_difference_a_window_is_scaled_by_its_mean_change_over_a_season():
    values = np.random.default_rng(0).normal(size=50).astype(np.float32)
    location, scale = scaled(values, 12, "difference", period=4)
    for start in (0, 17, 38):
        window = values[start : start + 12].astype(np.float64)
        assert location[start] == pytest.approx(window[-4:].mean())
        assert scale[start] == pytest.approx(np.abs(window[4:] - window[:-4]).mean())


@pytest.mark.parametrize(
    ("known", "season", "lag"), [(12, 4, 4), (12, 1, 2), (12, 12, 2), (5, 9, 1)]
)
def test_changes_are_over_a_season_that_fits_or_a_sixth_of_what_is_known(known, season, lag):
    assert season_lag(known, season) == lag
