import numpy as np
import pandas as pd
import pytest
from scipy.ndimage import uniform_filter1d

from batchensemble.training.smoothing import ALPHAS, BLENDED, KINDS, places_read, smoothers


def values(n=60, seed=0):
    random = np.random.default_rng(seed)
    return np.cumsum(random.normal(size=n)) + 3 * np.sin(2 * np.pi * np.arange(n) / 12)


def test_a_smoothed_level_is_that_of_pandas():
    y = values()
    found = smoothers(60, 4, (1,))
    n = found.errors.shape[1] // 2
    for i, alpha in enumerate(ALPHAS):
        level = pd.Series([y[:10].mean(), *y]).ewm(alpha=alpha, adjust=False).mean().to_numpy()
        k = i * len(KINDS) + KINDS.index("level")
        np.testing.assert_allclose(found.forecasts[k] @ y, np.full(4, level[-1]))
        errors = y - level[:-1]
        np.testing.assert_allclose(found.errors[k, :n] @ y, errors[-n:], atol=1e-12)
        later = y[3:] - level[1:-3]  # three steps ahead
        np.testing.assert_allclose(found.errors[k, n:] @ y, later[-n:], atol=1e-12)


def test_a_season_on_a_line_is_found_exactly():
    times = np.arange(84)
    y = np.random.default_rng(0).normal(size=12)[times % 12] + 0.5 * times
    found = smoothers(72, 12, (12,))
    walk = np.flatnonzero(found.penalties)[ALPHAS.index(0.99) * len(KINDS)]
    level = found.forecasts[walk] @ y[:72]
    season = y - 0.5 * times
    # The last known level and the season's own shape; the line itself is not continued.
    np.testing.assert_allclose(np.diff(level), np.diff(season[72:]), atol=1e-9)


@pytest.mark.parametrize("blended", [False, True])
@pytest.mark.parametrize("seasons", [(1,), (12,), (4, 12)])
def test_all_smoothers_follow_a_shift_and_forecast_a_constant_as_constant(seasons, blended):
    found = smoothers(60, 5, seasons, blended=blended)
    np.testing.assert_allclose(found.forecasts.sum(-1), 1)
    np.testing.assert_allclose(found.errors.sum(-1), 0, atol=1e-12)


@pytest.mark.parametrize("context", [72, 67])  # also one that is not made of whole seasons
def test_only_seasonal_smoothers_repeat_a_season(context):
    wave = np.sin(2 * np.pi * np.arange(context + 12) / 12)
    found = smoothers(context, 12, (12,))
    errors = np.abs(found.forecasts @ wave[:context] - wave[context:]).max(-1)
    assert (errors[found.penalties > 0] < 1e-9).all()
    assert (errors[found.penalties == 0] > 0.1).all()


def test_the_variance_of_a_random_walk_grows_with_the_steps():
    found = smoothers(60, 6, (1,))
    walk = ALPHAS.index(0.99) * len(KINDS) + KINDS.index("level")
    np.testing.assert_allclose(found.growth[walk], 1 + 0.99**2 * np.arange(6))


def test_a_blended_season_is_the_short_one_and_most_of_what_the_long_one_adds_nearby():
    y = np.random.default_rng(0).normal(size=337)
    found = smoothers(337, 168, (24, 168), blended=True)
    n_each = len(found.forecasts) // 4
    assert found.seasons[::n_each].tolist() == [0, 24, 168, 168]
    assert found.penalties[::n_each].tolist() == [0, 23, 23, 23]
    forecasts = (found.forecasts @ y).reshape(4, n_each, 168)[:, 0]  # a level and its season
    _, day, week, between = forecasts - forecasts.mean(-1, keepdims=True)
    near = uniform_filter1d(week - day, 5, mode="wrap")  # a fifth of a day
    np.testing.assert_allclose(between, day + BLENDED * near, atol=1e-9)


def test_with_one_season_nothing_is_blended():
    for seasons, reach in (((12,), 60), ((24, 168), 336)):  # a week must be there twice
        plain, blended = (smoothers(reach, 3, seasons, blended=each) for each in (False, True))
        assert all(map(np.array_equal, plain, blended))


def test_of_a_long_context_the_last_values_and_those_a_week_before_are_read():
    assert places_read(72, 18, (12,)) == list(range(72))
    read = places_read(400, 3, (24, 168))
    assert read == [232, 233, 234, *range(328, 400)]
