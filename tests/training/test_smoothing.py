import numpy as np
import pandas as pd
import pytest

from batchensemble.training.smoothing import ALPHAS, KINDS, smoothers


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


@pytest.mark.parametrize("seasons", [(1,), (12,), (4, 12)])
def test_all_smoothers_follow_a_shift_and_forecast_a_constant_as_constant(seasons):
    found = smoothers(60, 5, seasons)
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
