import numpy as np
import pytest
from scipy.stats import norm

from batchensemble.estimators.copula import learned_correlation, levels
from batchensemble.estimators.table_model import HeldOut
from batchensemble.predictive import GaussianPredictive, Transform, TransformedPredictive


def parts(rho, n_rows, seed=0, width=1.0):
    """Truths whose errors have correlation rho, and predictions of this width."""
    random = np.random.default_rng(seed)
    means = random.normal(size=(n_rows, 2))
    y = means + random.multivariate_normal([0, 0], [[1, rho], [rho, 1]], n_rows)
    rows, variances = np.arange(n_rows), np.full((n_rows, 1), width**2)
    dists = [GaussianPredictive(means[:, [k]], variances) for k in (0, 1)]
    return [HeldOut(rows, y[:, k], dists[k]) for k in (0, 1)]


@pytest.mark.parametrize("rho", [-0.5, 0.0, 0.8])
def test_the_correlation_of_errors_is_found_whatever_the_width_of_predictions(rho):
    found = [learned_correlation(parts(rho, 4000, width=width))[0, 1] for width in (0.5, 1.0, 2.0)]
    assert found == pytest.approx([rho] * 3, abs=0.05)  # three standard errors
    assert found == pytest.approx([found[0]] * 3, abs=1e-3)  # saturated levels share a rank


def test_few_rows_shrink_the_correlation_towards_independence():
    few, many = (
        np.mean([learned_correlation(parts(0.4, n, seed))[0, 1] for seed in range(20)])
        for n in (30, 500)
    )
    assert few < many - 0.03
    assert abs(learned_correlation(parts(0.0, 30))[0, 1]) < 0.2


def test_a_level_is_the_cdf_and_halfway_where_a_value_has_a_probability_of_its_own():
    latent = GaussianPredictive(np.array([[0.3], [0.3]]), np.ones((2, 1)))
    y = np.array([0.0, 1.0])
    assert levels(y, latent) == pytest.approx(norm.cdf(y - 0.3))
    at_least_0 = TransformedPredictive.of(latent, Transform.straight(0.0))
    assert levels(y, at_least_0) == pytest.approx([norm.cdf(-0.3) / 2, norm.cdf(0.7)])


def test_a_target_that_is_always_the_same_goes_with_no_other():
    first, second = parts(0.5, 100)
    same = GaussianPredictive(np.zeros((100, 1)), np.ones((100, 1)))
    constant = HeldOut(second.rows, np.zeros(100), same)
    assert np.allclose(learned_correlation([first, constant]), np.eye(2))
