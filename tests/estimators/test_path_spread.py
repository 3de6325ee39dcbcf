import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from fixtures import TINY_FORECASTER, long_frame

from batchensemble import Forecaster
from batchensemble.estimators.path_spread import (
    PRIOR_WINDOWS,
    WIDER,
    Errors,
    correlation,
    errors_of,
    path_spread,
)
from batchensemble.estimators.series_model import make_windows


def test_the_correlation_of_many_errors_is_theirs_and_that_of_none_decays():
    random = np.random.default_rng(0)
    true = np.array([[1.0, 0.7, 0.1], [0.7, 1.0, 0.5], [0.1, 0.5, 1.0]])
    errors = random.multivariate_normal(np.zeros(3), true, size=20_000)
    np.testing.assert_allclose(correlation(errors, 1e9), true, atol=0.03)
    next_step = np.diag(correlation(errors, 0.0), 1).mean()
    assert next_step == pytest.approx(0.6, abs=0.03)
    assert correlation(errors, 0.0)[0, 2] == pytest.approx(next_step**2)


def test_a_correlation_can_always_be_drawn_from():
    errors = np.repeat(np.random.default_rng(0).normal(size=(3, 1)), 40, axis=1)
    assert np.isfinite(np.linalg.cholesky(correlation(errors, 1e6))).all()


def test_missing_errors_leave_a_correlation_that_can_be_drawn_from():
    random = np.random.default_rng(0)
    errors = random.normal(size=(300, 1)) + 0.3 * random.normal(size=(300, 6))
    gappy = np.where(random.random(errors.shape) < 0.1, np.nan, errors)
    np.linalg.cholesky(correlation(gappy, 300))
    np.testing.assert_allclose(correlation(gappy, 300), correlation(errors, 300), atol=0.15)


def test_the_naive_forecast_of_a_window_repeats_its_last_season():
    model = Forecaster(**TINY_FORECASTER, context=24).fit(long_frame(n_series=1))
    ensemble, reach, values = model.model_.ensemble, model.model_.reach, model.panel_.values
    encoder = model.model_.encoder
    windows = make_windows(encoder, encoder.encode(model.panel_), reach, 4, torch.device("cpu"))
    rows = np.array([0, 3, 7])
    errors = errors_of(ensemble.members, windows, rows, model._loss(), 12)
    scale = windows.scale[rows].numpy()[:, None] * encoder.scales_["s0"][1]
    first = rows[:, None] + reach + np.arange(4)
    np.testing.assert_allclose(errors.naive * scale, values[first] - values[first - 12], atol=1e-4)
    assert (errors.stds > 0).all()


def test_the_fewer_windows_there_are_the_less_they_stretch_paths():
    wide = 2 * np.random.default_rng(0).normal(size=(4000, 3))
    errors = Errors(wide, np.ones_like(wide), wide)
    factors = [path_spread(errors, n, 1e9)["factors"].mean() for n in (0, PRIOR_WINDOWS, 1e9)]
    assert factors == pytest.approx([1, 2**0.5, 2], rel=0.03)


def test_what_was_learned_from_few_windows_is_wider_unless_held_out_ones_say_otherwise():
    fitting = np.random.default_rng(0).normal(size=(4000, 3))
    errors = Errors(fitting, np.ones_like(fitting), fitting)
    by_learned = [path_spread(errors, 0, n)["factors"].mean() for n in (0, PRIOR_WINDOWS, 1e9)]
    assert by_learned == pytest.approx([1 + WIDER, 1 + WIDER / 2, 1])
    assert path_spread(errors, 1e9, 0)["factors"] == pytest.approx(np.ones(3), abs=0.05)


def test_values_before_the_first_one_are_no_naive_forecast_to_compare_with():
    random = np.random.default_rng(0)
    months = pd.date_range("2024-01-01", periods=12, freq="MS")
    panel = pd.concat(
        pd.DataFrame({"unique_id": f"s{i}", "ds": months, "y": random.normal(100, 5, 12)})
        for i in range(20)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a first season that is repeated would be a perfect one
        Forecaster(horizon=6, preset="fast", random_state=0).fit(panel)
