"""Member diversity against numpy's corrcoef, pair by pair, and the epistemic variance."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score

from batchensemble import metrics
from batchensemble.predictive import CategoricalPredictive, GaussianPredictive

RNG = np.random.default_rng(0)
N, K = 60, 5
MEANS = RNG.normal(size=(N, 1)) + RNG.normal(size=(N, K))
Y = RNG.normal(size=N)
P = RNG.dirichlet(np.ones(3), size=(N, K))


def test_correlations_match_numpy_pair_by_pair():
    pairs = list(combinations(range(K), 2))
    expected = np.mean([np.corrcoef(MEANS[:, i], MEANS[:, j])[0, 1] for i, j in pairs])
    assert metrics.member_correlation(means=MEANS) == pytest.approx(expected)
    errors = MEANS - Y[:, None]
    expected = np.mean([np.corrcoef(errors[:, i], errors[:, j])[0, 1] for i, j in pairs])
    assert metrics.error_correlation(Y, means=MEANS) == pytest.approx(expected)


def test_disagreement_is_the_root_mean_squared_difference_of_pairs():
    squares = [np.mean((MEANS[:, i] - MEANS[:, j]) ** 2) for i, j in combinations(range(K), 2)]
    value = metrics.member_disagreement(means=MEANS)
    assert value == pytest.approx(np.sqrt(np.mean(squares)))
    epistemic = GaussianPredictive(MEANS, np.ones_like(MEANS)).epistemic.mean()
    assert value**2 == pytest.approx(2 * K / (K - 1) * epistemic)


def test_class_disagreement_is_one_minus_the_accuracy_of_a_member_about_another():
    votes = P.argmax(axis=2)
    pairs = combinations(range(K), 2)
    expected = np.mean([1 - accuracy_score(votes[:, i], votes[:, j]) for i, j in pairs])
    assert metrics.class_disagreement(probabilities=P) == pytest.approx(expected)


def test_members_that_move_further_apart_are_more_diverse():
    centre = MEANS.mean(axis=1, keepdims=True)
    near, far = centre + 0.1 * (MEANS - centre), centre + 2 * (MEANS - centre)
    assert metrics.member_correlation(means=far) < metrics.member_correlation(means=near) < 1
    assert metrics.member_disagreement(means=far) == pytest.approx(
        20 * metrics.member_disagreement(means=near)
    )
    opposite = np.stack([Y, -Y], axis=1)
    assert metrics.member_correlation(means=opposite) == pytest.approx(-1)


@pytest.mark.parametrize("k", [1, 4])
def test_equal_members_have_no_diversity(k):
    means = np.repeat(Y[:, None], k, axis=1)
    assert metrics.member_correlation(means=means) == pytest.approx(1)
    assert metrics.error_correlation(Y + np.sin(Y), means=means) == pytest.approx(1)
    assert metrics.member_disagreement(means=means) == 0
    assert metrics.class_disagreement(probabilities=np.repeat(P[:, :1], k, axis=1)) == 0


def test_constant_members_are_defined_and_nothing_warns():
    constant = np.full((N, 2), 0.1)
    assert metrics.member_correlation(means=constant) == 1
    assert metrics.member_correlation(means=np.stack([Y, Y * 0 + 0.1], axis=1)) == 0
    assert metrics.error_correlation(np.full(N, 0.1), means=constant) == 1
    assert metrics.member_correlation(means=MEANS[:1]) == 1  # one row: nothing varies


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_correlation_has_no_unit(scale):
    expected = metrics.member_correlation(means=MEANS)
    assert metrics.member_correlation(means=MEANS * scale) == pytest.approx(expected)


def test_epistemic_share_is_the_ratio_of_means():
    dist = CategoricalPredictive(P)
    share = metrics.epistemic_share(epistemic=dist.epistemic, total=dist.total)
    assert share == pytest.approx(dist.epistemic.mean() / dist.total.mean())
    assert 0 < share < 1
    assert metrics.epistemic_share(epistemic=[0.0, 0.0], total=[0.0, 0.0]) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.member_correlation(means=Y), r"expected shape \(rows, members\)"),
        (lambda: metrics.member_disagreement(means=MEANS[:0]), "at least one row"),
        (lambda: metrics.error_correlation(Y[:3], means=MEANS), r"y: expected shape \(60,\)"),
        (lambda: metrics.class_disagreement(probabilities=P[:, 0]), r"\(rows, members, classes\)"),
        (
            lambda: metrics.epistemic_share(epistemic=[1.0], total=[1.0, 2.0]),
            r"epistemic: expected shape \(2,\)",
        ),
    ],
)
def test_wrong_shapes_are_refused_with_a_cure(call, message):
    with pytest.raises(ValueError, match=message):
        call()
