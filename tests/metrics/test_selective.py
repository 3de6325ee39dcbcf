"""Selective prediction against the slow definition and scikit-learn."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import roc_auc_score

from batchensemble import metrics

RNG = np.random.default_rng(0)
N = 137
MEAN, UNCERTAINTY = RNG.normal(size=N), RNG.exponential(size=N)
Y = MEAN + UNCERTAINTY * RNG.normal(size=N)


def test_the_coverages_are_15_from_030_to_100():
    np.testing.assert_allclose(metrics.COVERAGES, np.linspace(0.3, 1, 15))
    assert metrics.COVERAGES[-1] == 1


@pytest.mark.parametrize("n", [1, 7, 20, 100, 137, 1000, 4128])
def test_exactly_the_ceiling_of_the_share_is_kept_in_spite_of_rounding(n):
    shares = [Fraction(i, 100) for i in range(1, 101)]
    risk = np.arange(n)  # the mean of the first k is (k - 1) / 2
    curve = metrics.selective_curve(risk, uncertainty=risk, coverages=[float(s) for s in shares])
    np.testing.assert_allclose(2 * curve.values + 1, [math.ceil(s * n) for s in shares])


def test_the_curve_is_the_metric_on_the_most_certain_rows():
    curve = metrics.selective_rmse(Y, mean=MEAN, uncertainty=UNCERTAINTY)
    order = np.argsort(UNCERTAINTY)
    for i, percent in enumerate(range(30, 101, 5)):
        kept = order[: -(-percent * N // 100)]
        assert curve.values[i] == pytest.approx(metrics.rmse(Y[kept], mean=MEAN[kept]))
    assert curve.values[-1] == pytest.approx(metrics.rmse(Y, mean=MEAN))


def test_selective_accuracy_is_the_accuracy_on_the_most_certain_rows():
    p = RNG.dirichlet(np.ones(3), size=N)
    labels, uncertainty = RNG.integers(3, size=N), -p.max(axis=1)
    curve = metrics.selective_accuracy(labels, probabilities=p, uncertainty=uncertainty)
    for share, value in zip(*curve, strict=True):
        kept = np.argsort(uncertainty)[: math.ceil(round(share * N, 6))]
        assert value == pytest.approx(metrics.accuracy(labels[kept], probabilities=p[kept]))


def test_a_horizon_counts_as_one_row():
    y, mean = Y[:120].reshape(40, 3), MEAN[:120].reshape(40, 3)
    curve = metrics.selective_rmse(y, mean=mean, uncertainty=UNCERTAINTY[:40], coverages=[0.5, 1])
    kept = np.argsort(UNCERTAINTY[:40])[:20]
    assert curve.values[0] == pytest.approx(metrics.rmse(y[kept], mean=mean[kept]))
    assert curve.values[1] == pytest.approx(metrics.rmse(y, mean=mean))


def test_equal_uncertainties_keep_the_order_of_the_rows():
    curve = metrics.selective_curve(
        [1.0, 2.0, 3.0, 4.0], uncertainty=[1, 0, 1, 0], coverages=[0.25, 0.5, 0.75, 1]
    )
    np.testing.assert_allclose(curve.values, [2, 3, 7 / 3, 2.5])
    rows = np.arange(1000)
    curve = metrics.selective_curve(rows, uncertainty=rows % 2, coverages=[0.25])
    assert curve.values[0] == np.arange(0, 500, 2).mean()


def test_a_truthful_uncertainty_lowers_the_error_and_a_reversed_one_raises_it():
    rng = np.random.default_rng(1)
    std = rng.exponential(size=5000) + 0.1
    y, zero = rng.normal(0, std), np.zeros(5000)
    good = metrics.selective_rmse(y, mean=zero, uncertainty=std)
    assert (np.diff(good.values) > 0).all()
    reversed_ = metrics.selective_rmse(y, mean=zero, uncertainty=-std)  # negative control
    assert reversed_.values[0] > reversed_.values[-1]
    risk = y**2
    noise = metrics.aurc(risk, uncertainty=rng.normal(size=5000))
    assert metrics.aurc(risk, uncertainty=std) < noise < metrics.aurc(risk, uncertainty=-std)


def test_aurc_is_the_mean_over_all_coverages_of_the_risk_of_the_rows_kept():
    risk = (Y - MEAN) ** 2
    ordered = risk[np.argsort(UNCERTAINTY)]
    slow = np.mean([ordered[:k].mean() for k in range(1, N + 1)])
    assert metrics.aurc(risk, uncertainty=UNCERTAINTY) == pytest.approx(slow)
    every = metrics.selective_curve(
        risk, uncertainty=UNCERTAINTY, coverages=np.arange(1, N + 1) / N
    )
    assert every.values.mean() == pytest.approx(slow)
    assert metrics.aurc([1, 0], uncertainty=[0, 1]) == 0.75


@settings(deadline=None)
@given(
    hnp.arrays(bool, 30).filter(lambda mask: 0 < mask.sum() < 30),
    hnp.arrays(np.float64, 30, elements=st.integers(-3, 3).map(float)),
)
def test_auroc_matches_sklearn_with_ties(mask, score):
    assert metrics.shift_auroc(mask, score=score) == pytest.approx(roc_auc_score(mask, score))


def test_auroc_of_perfect_blind_and_reversed_scores():
    mask = np.array([0, 0, 1, 1])
    assert metrics.shift_auroc(mask, score=[1, 2, 3, 4]) == 1
    assert metrics.shift_auroc(mask, score=[1, 1, 1, 1]) == 0.5
    assert metrics.shift_auroc(mask, score=[4, 3, 2, 1]) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.aurc(Y, uncertainty=MEAN[:3]), r"uncertainty: expected shape \(137,\)"),
        (lambda: metrics.aurc([], uncertainty=[]), "risk: expected at least one row"),
        (
            lambda: metrics.selective_curve(Y, uncertainty=Y, coverages=[0.0, 0.5]),
            r"coverages: expected shares in \(0, 1\]",
        ),
        (lambda: metrics.shift_auroc([1, 1], score=[0, 1]), "got 2 shifted and 0 not"),
        (lambda: metrics.shift_auroc([1, 2], score=[0, 1]), "one True or False per row"),
        (lambda: metrics.shift_auroc([1, 0], score=[0, np.nan]), "score: expected finite"),
    ],
)
def test_wrong_input_is_refused_with_a_cure(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=1, max_size=20))
def test_the_risk_curve_is_the_mean_risk_of_the_rows_up_to_each_uncertainty(rows):
    risk, uncertainty = np.array(rows, dtype=float).T
    curve = metrics.risk_curve(risk, uncertainty=uncertainty)
    assert curve.thresholds.tolist() == sorted(set(uncertainty))
    for threshold, kept, value in zip(*curve, strict=True):
        inside = uncertainty <= threshold
        assert kept == inside.sum()
        assert np.isclose(value, risk[inside].mean())


def test_errors_whose_squares_would_be_too_large_are_measured_in_larger_units():
    found = metrics.selective_rmse(1e100 * Y, mean=1e100 * MEAN, uncertainty=UNCERTAINTY)
    usual = metrics.selective_rmse(Y, mean=MEAN, uncertainty=UNCERTAINTY)
    np.testing.assert_allclose(found.values, 1e100 * usual.values)


def test_rows_that_a_mask_hides_are_refused():
    hidden = np.ma.masked_array([True, False, True], [True, False, False])
    with pytest.raises(ValueError, match="is_shifted: expected a value for each row, got a masked"):
        metrics.shift_auroc(hidden, score=[1, 2, 3])
