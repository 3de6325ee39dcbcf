"""Calibration against uncertainty-toolbox (on its own grid's inner levels) and torchmetrics."""

import numpy as np
import pytest
import torch
from scipy import integrate, stats
from torchmetrics.functional.classification import multiclass_calibration_error
from uncertainty_toolbox import metrics_calibration as toolbox

from batchensemble import metrics
from batchensemble.metrics.calibration import probabilities_at
from batchensemble.predictive import GaussianPredictive, Transform, TransformedPredictive

RNG = np.random.default_rng(0)
N = 400
MEAN, STD = RNG.normal(size=N), RNG.exponential(size=N) + 0.05
Y = RNG.normal(MEAN, STD)
P = RNG.dirichlet(np.ones(3), size=1000)
LABELS = RNG.integers(3, size=1000)


def test_the_levels_are_39_from_0025_to_0975():
    np.testing.assert_allclose(metrics.LEVELS, np.linspace(0.025, 0.975, 39))
    with pytest.raises(ValueError, match="read-only"):
        metrics.LEVELS[0] = 0


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_the_coverage_curve_matches_uncertainty_toolbox(factor):
    curve = metrics.coverage_curve(Y, mean=MEAN, std=factor * STD)
    levels, observed = toolbox.get_proportion_lists_vectorized(MEAN, factor * STD, Y, num_bins=41)
    np.testing.assert_allclose(curve.levels, levels[1:-1])
    np.testing.assert_array_equal(curve.empirical, observed[1:-1])
    expected = np.sqrt(np.mean((observed - levels)[1:-1] ** 2))
    assert metrics.rmsce(Y, mean=MEAN, std=factor * STD) == pytest.approx(expected)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_where_the_curve_does_not_cross_the_diagonal_the_area_is_uncertainty_toolboxs(factor):
    levels, observed = toolbox.get_proportion_lists_vectorized(MEAN, factor * STD, Y, num_bins=41)
    expected = toolbox.miscalibration_area_from_proportions(levels[1:-1], observed[1:-1])
    area = metrics.miscalibration_area(Y, mean=MEAN, std=factor * STD)
    assert area == pytest.approx(expected, rel=1e-9)


def test_the_area_is_the_trapezoidal_rule_over_the_levels_own_range():
    curve = metrics.coverage_curve(Y, mean=MEAN, std=STD)
    expected = integrate.trapezoid(np.abs(curve.empirical - curve.levels), curve.levels)
    assert metrics.miscalibration_area(Y, mean=MEAN, std=STD) == pytest.approx(expected)
    # Nothing is ever covered: the area under the diagonal from 0.025 to 0.975.
    far = metrics.miscalibration_area(Y, mean=MEAN + 1e6, std=STD)
    assert far == pytest.approx((0.975**2 - 0.025**2) / 2)
    assert metrics.rmsce(Y, mean=MEAN + 1e6, std=STD) == pytest.approx(0.5737, abs=1e-4)


def test_the_curve_counts_truths_inside_central_intervals():
    curve = metrics.coverage_curve(Y, mean=MEAN, std=STD, levels=[0.1, 0.5, 0.9])
    for level, empirical in zip(*curve, strict=True):
        low, high = stats.norm.interval(level, MEAN, STD)
        assert empirical == metrics.interval_coverage(Y, lower=low, upper=high)


def test_a_mixture_is_judged_by_its_own_intervals_through_its_cdf():
    rng = np.random.default_rng(1)
    dist = GaussianPredictive(np.tile([-3.0, 3.0], (4000, 1)), np.full((4000, 2), 0.01))
    y = dist.sample(1, rng)[:, 0]
    exact = metrics.pit_coverage_curve(dist.cdf(y))
    for level in (0.1, 0.5, 0.9):
        low, high = dist.interval(level).T
        inside = metrics.interval_coverage(y, lower=low, upper=high)
        at = np.searchsorted(exact.levels, level)
        assert exact.empirical[at] == pytest.approx(inside, abs=1e-3)
    assert exact.rmsce() < 0.02
    # Negative control: one Gaussian with the same two moments is far from calibrated.
    assert metrics.rmsce(y, mean=dist.mean, std=dist.std) > 0.2


def test_true_spreads_are_calibrated_and_wrong_ones_are_not():
    rng = np.random.default_rng(2)
    mean, std = rng.normal(size=20_000), rng.exponential(size=20_000) + 0.1
    y = rng.normal(mean, std)
    for metric in (metrics.rmsce, metrics.miscalibration_area):
        assert metric(y, mean=mean, std=std) < 0.01  # about 0.5 / sqrt(20000) per level
        assert metric(y, mean=mean, std=1.3 * std) > 0.05
        assert metric(y, mean=mean, std=0.7 * std) > 0.05
    wide = metrics.coverage_curve(y, mean=mean, std=2 * std)
    assert (wide.empirical > wide.levels).all()


def test_ece_matches_torchmetrics():
    for n_bins in (5, 10, 15):
        expected = multiclass_calibration_error(
            torch.tensor(P), torch.tensor(LABELS), num_classes=3, n_bins=n_bins
        )
        value = metrics.ece(LABELS, probabilities=P, n_bins=n_bins)
        assert value == pytest.approx(float(expected), rel=1e-6)  # it counts in float32


def test_a_confidence_on_an_inner_edge_belongs_to_the_bin_above_as_in_torchmetrics():
    p = np.array([[0.5, 0.5], [0.75, 0.25], [0.625, 0.375], [0.875, 0.125]])
    labels = np.array([1, 0, 0, 1])
    curve = metrics.reliability_curve(labels, probabilities=p, n_bins=4)
    np.testing.assert_array_equal(curve.counts, [0, 0, 2, 2])
    expected = multiclass_calibration_error(
        torch.tensor(p), torch.tensor(labels), num_classes=2, n_bins=4
    )
    assert metrics.ece(labels, probabilities=p, n_bins=4) == pytest.approx(float(expected))


def test_full_confidence_falls_in_the_last_bin():
    p = np.array([[1.0, 0.0], [0.95, 0.05]])
    curve = metrics.reliability_curve([0, 1], probabilities=p, n_bins=10)
    np.testing.assert_array_equal(curve.counts, [0] * 9 + [2])
    assert curve.confidence[-1] == pytest.approx(0.975)
    assert curve.accuracy[-1] == 0.5
    assert np.isnan(curve.accuracy[:-1]).all()
    assert len(curve.edges) == 11
    assert metrics.ece([0, 1], probabilities=p, n_bins=10) == pytest.approx(0.475)


def test_true_probabilities_are_calibrated_and_sharpened_ones_are_not():
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(3), size=20_000)
    y = (rng.random((20_000, 1)) > np.cumsum(p, axis=1)).sum(axis=1)
    assert metrics.ece(y, probabilities=p) < 0.02
    sharp = p**3 / (p**3).sum(axis=1, keepdims=True)
    assert metrics.ece(y, probabilities=sharp) > 0.1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.pit_coverage_curve([1.2]), r"pit: expected .* pass dist\.cdf\(y\)"),
        (lambda: metrics.pit_coverage_curve([]), "pit: expected at least one value"),
        (lambda: metrics.pit_coverage_curve([0.5], levels=[50, 90]), "levels: expected rising"),
        (lambda: metrics.pit_coverage_curve([0.5], levels=[0.9, 0.5]), "levels: expected rising"),
        (lambda: metrics.ece(LABELS, probabilities=P, n_bins=0), "n_bins: expected at least 1"),
        (lambda: metrics.rmsce(Y, mean=MEAN, std=STD[:3]), r"std: expected shape \(400,\)"),
    ],
)
def test_wrong_input_is_refused_with_a_cure(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("n_bins", [0, "a", {}, 2.5, np.zeros(2)])
def test_a_number_of_bins_is_a_whole_number(n_bins):
    with pytest.raises(ValueError, match="n_bins: expected at least 1, a whole number, got"):
        metrics.ece([0, 1], probabilities=np.full((2, 2), 0.5), n_bins=n_bins)


ZEROS = TransformedPredictive.of(  # often 0, and at most 2
    GaussianPredictive(RNG.normal(0.5, 1, (N, 3)), RNG.exponential(size=(N, 3)) + 0.1),
    Transform(0.0, 2.0, (0.0,), (0.0,), 2.0),
)


@pytest.mark.parametrize("whole", [False, True])
def test_values_that_are_likely_by_themselves_are_in_the_intervals_that_hold_them(whole):
    y = ZEROS.sample(1, 1)[:, 0]
    y = np.rint(y) if whole else y
    up_to, below = probabilities_at(y, ZEROS, whole=whole)
    curve = metrics.pit_coverage_curve(up_to, below=below)
    for level, share in zip(*curve, strict=True):
        ends = ZEROS.interval(level)
        low, high = (np.rint(ends) if whole else ends).T
        assert share == np.mean((low <= y) & (y <= high))
    row = metrics.summarise_regression(y, ZEROS, whole=whole)
    assert row["rmsce"] == curve.rmsce()
    assert row["coverage_90"] == curve.empirical[35]
    assert np.abs(curve.empirical - metrics.pit_coverage_curve(up_to).empirical).max() > 0.1


@pytest.mark.parametrize("below", [[0.6, 0.1], [-0.1, 0.1], [0.1]])
def test_less_than_a_value_is_no_likelier_than_at_most_that_value(below):
    with pytest.raises(ValueError, match="below: expected"):
        metrics.pit_coverage_curve([0.5, 0.5], below=below)
