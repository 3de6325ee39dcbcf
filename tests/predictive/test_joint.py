import numpy as np
import pytest
from scipy.stats import norm

from batchensemble.predictive import GaussianPredictive, JointPredictive, Transform
from batchensemble.predictive.transformed import TransformedPredictive


def mixtures(n_rows=4, seed=0):
    random = np.random.default_rng(seed)
    means, variances = random.normal(size=(n_rows, 3)), random.uniform(0.1, 4, (n_rows, 3))
    first = GaussianPredictive(means, variances, 0.1, 3.0)
    second = TransformedPredictive.of(
        GaussianPredictive(variances, variances), Transform.straight(0.0)
    )
    return {"first": first, "second": second}


def test_a_normal_score_leads_to_the_quantile_of_its_level_row_by_row():
    z = np.random.default_rng(1).normal(size=(4, 6))
    for dist in mixtures().values():
        found = dist.from_normal(z)
        for row in range(4):
            expected = dist[row].quantile(norm.cdf(z[row]))[0]
            assert np.allclose(found[row], expected, rtol=1e-9, atol=1e-12)


def test_a_far_score_keeps_its_digits():
    dist = GaussianPredictive(np.array([[2.0]]), np.array([[9.0]]))
    assert np.allclose(dist.from_normal([[-30.0, 12.0]]), [[-88.0, 38.0]])


def test_draws_have_the_rank_correlation_of_the_copula():
    joint = JointPredictive(mixtures(2), [[1, -0.6], [-0.6, 1]])
    draws = joint.sample(20_000, 0)
    assert draws.shape == (20_000, 2, 2)
    scores = norm.ppf(joint["first"][0].cdf(draws[0, 0, 0]))
    assert np.isfinite(scores).all()
    ranks = draws[:, 0].argsort(axis=0).argsort(axis=0)
    expected = 6 / np.pi * np.arcsin(-0.6 / 2)  # of a Gaussian copula, Spearman's
    at_zero = (draws[:, 0, 1] == 0).mean()  # ties there weaken it a little
    assert at_zero < 0.3
    assert np.corrcoef(ranks.T)[0, 1] == pytest.approx(expected, abs=0.05)


def test_answers_are_stacked_by_target():
    targets = mixtures()
    joint = JointPredictive(targets, np.eye(2))
    assert (len(joint), joint.n_rows, list(joint)) == (2, 4, ["first", "second"])
    assert np.array_equal(joint.mean[:, 1], targets["second"].mean)
    assert np.array_equal(joint.std[:, 0], targets["first"].std)
    assert np.array_equal(joint.interval(0.8)[:, 1], targets["second"].interval(0.8))
    assert joint.quantile([0.1, 0.2, 0.9]).shape == (4, 2, 3)


@pytest.mark.parametrize(
    "matrix", [[[1, 2], [2, 1]], [[2, 0], [0, 1]], [[1, 0.5], [0, 1]], np.eye(3)]
)
def test_what_is_no_correlation_is_refused(matrix):
    with pytest.raises(ValueError, match="correlation: expected"):
        JointPredictive(mixtures(), matrix)


def test_every_target_has_the_same_rows():
    with pytest.raises(ValueError, match="the same number of rows"):
        JointPredictive({**mixtures(), "third": mixtures(5)["first"]}, np.eye(3))


def test_targets_that_are_one_and_the_same_are_drawn_alike():
    dist = mixtures()["first"]
    draws = JointPredictive({"a": dist, "b": dist}, np.ones((2, 2))).sample(50, 0)
    assert np.allclose(draws[..., 0], draws[..., 1])


@pytest.mark.parametrize("n", [0, -1, 2.5, True, None, "3"])
def test_a_number_of_draws_that_is_none_is_refused(n):
    dist = GaussianPredictive(np.zeros((4, 1)), np.ones((4, 1)))
    with pytest.raises(ValueError, match="expected n to be a whole number of draws above 0"):
        JointPredictive({"a": dist, "b": dist}, np.eye(2)).sample(n, 0)
