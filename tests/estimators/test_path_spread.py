import numpy as np
import pytest

from batchensemble.estimators.path_spread import correlation


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
