"""Truths that are only known to be at least so large, judged as survival analysis judges them."""

import numpy as np
import pytest
from scipy import stats

from batchensemble import metrics
from batchensemble.metrics.censored import censored_coverage_curve
from batchensemble.predictive import GaussianPredictive, Transform, TransformedPredictive


def survival(n=400, seed=0):
    """Log-normal times that depend on x, cut off at random times: x, y, which are cut, the truth"""
    random = np.random.default_rng(seed)
    x = random.normal(size=n)
    truth = np.exp(1 + 0.5 * x + 0.4 * random.normal(size=n))
    end = random.exponential(5, n)
    return x, np.minimum(truth, end), end < truth, truth


def gaussian(x):
    """The true distribution of the logarithms."""
    return GaussianPredictive((1 + 0.5 * x)[:, None], np.full((len(x), 1), 0.4**2))


def test_the_log_likelihood_is_that_of_scipys_censored_data():
    x, y, censored, _ = survival()
    ours = -len(y) * metrics.censored_nll(np.log(y), censored=censored, dist=gaussian(x))
    parts = stats.norm(1 + 0.5 * x, 0.4)
    expected = np.where(censored, parts.logsf(np.log(y)), parts.logpdf(np.log(y))).sum()
    assert ours == pytest.approx(expected, rel=1e-12)


def test_a_log_normal_regression_has_the_log_likelihood_that_lifelines_gives_it():
    lifelines = pytest.importorskip("lifelines", reason="runs with `make test-peers`")
    pd = pytest.importorskip("pandas")
    x, y, censored, _ = survival()
    frame = pd.DataFrame({"x": x, "time": y, "seen": ~censored})
    fitted = lifelines.LogNormalAFTFitter().fit(frame, "time", "seen")
    slope, level = fitted.params_[("mu_", "x")], fitted.params_[("mu_", "Intercept")]
    std = np.exp(fitted.params_[("sigma_", "Intercept")])
    dist = GaussianPredictive((level + slope * x)[:, None], np.full((len(x), 1), std**2))
    # The density of a time is that of its logarithm divided by the time.
    ours = -len(y) * metrics.censored_nll(np.log(y), censored=censored, dist=dist)
    assert ours - np.log(y[~censored]).sum() == pytest.approx(fitted.log_likelihood_, rel=1e-9)


@pytest.mark.parametrize("share", [0.0, 0.1])
@pytest.mark.parametrize("transform", [None, Transform.straight(0.0, 6.0)])
def test_survival_and_cdf_are_one_together(share, transform):
    random = np.random.default_rng(0)
    dist = GaussianPredictive(random.normal(2, 1, (50, 3)), random.random((50, 3)), share, 4.0)
    dist = dist if transform is None else TransformedPredictive.of(dist, transform)
    y = random.uniform(0.1, 5.9, 50)
    np.testing.assert_allclose(np.exp(dist.log_survival(y)) + dist.cdf(y), 1, rtol=1e-12)
    if transform is not None:  # a value that must be, one that may be, and one that cannot be
        ends = [np.exp(dist.log_survival(end))[0] for end in (0.0, 6.0, 6.1)]
        assert ends == [1, pytest.approx(1 - dist.latent.cdf(6.0)[0]), 0]


def test_far_out_the_log_of_the_survival_keeps_its_digits():
    dist = GaussianPredictive([[0.0, 0.0]], [[1.0, 1.0]])
    assert dist.log_survival([30.0])[0] == pytest.approx(stats.norm.logsf(30), rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_true_distribution_covers_as_it_says_however_many_rows_are_censored(seed):
    x, y, censored, truth = survival(20_000, seed)
    dist = gaussian(x)
    assert censored.mean() > 0.3
    lower, upper = dist.interval(0.8).T
    ends = {"lower": lower, "upper": upper}
    kind = {"censored": censored, "dist": dist}
    assert metrics.censored_coverage(np.log(y), **kind, **ends) == pytest.approx(0.8, abs=0.01)
    curve = censored_coverage_curve(np.log(y), **kind)
    assert np.abs(curve.empirical - curve.levels).max() < 0.015
    at_80 = curve.empirical[np.argmin(abs(curve.levels - 0.8))]
    assert at_80 == pytest.approx(metrics.censored_coverage(np.log(y), **kind, **ends), abs=1e-3)
    # Negative control: cut-off times taken for the truth look as if intervals were too narrow.
    naive = metrics.interval_coverage(np.log(y), **ends)
    assert naive < 0.75
    known = metrics.interval_coverage(np.log(truth), **ends)
    assert known == pytest.approx(0.8, abs=0.01)


def test_a_distribution_too_narrow_is_seen_through_censoring():
    x, y, censored, _ = survival(5_000)
    narrow = GaussianPredictive(gaussian(x).means, gaussian(x).variances / 9)
    lower, upper = narrow.interval(0.8).T
    told = metrics.censored_coverage(
        np.log(y), censored=censored, dist=narrow, lower=lower, upper=upper
    )
    assert told < 0.6


def test_a_mask_of_another_length_is_refused():
    with pytest.raises(ValueError, match="censored: expected True or False for 2 rows"):
        metrics.censored_nll([1, 2], censored=[True], dist=gaussian(np.zeros(2)))


@pytest.mark.parametrize("censored", [["True", "False"], [0.5, 1], [np.nan, 0], [[1], [0, 1]], {}])
def test_only_true_and_false_say_what_is_censored(censored):
    dist = GaussianPredictive(np.zeros((2, 1)), np.ones((2, 1)))
    with pytest.raises(ValueError, match="censored: expected True or False for 2 rows, got shape"):
        metrics.censored_nll(np.zeros(2), censored=censored, dist=dist)
    assert np.isfinite(metrics.censored_nll(np.zeros(2), censored=[0, 1], dist=dist))


@pytest.mark.parametrize(("y", "high"), [(8.0, 8.1), (9.0, 8.5), (10.0, 10.01), (40.0, 50.0)])
def test_far_out_an_interval_holds_its_share_of_what_is_above(y, high):
    dist = GaussianPredictive([[0.0]], [[1.0]])
    got = metrics.censored_coverage([y], censored=[True], dist=dist, lower=[-1.0], upper=[high])
    expected = -np.expm1(stats.norm.logsf(high) - stats.norm.logsf(y)) if high > y else 0.0
    assert got == pytest.approx(expected, abs=1e-12)


def test_a_truth_at_the_largest_value_is_within_an_interval_that_ends_there():
    transform = Transform.straight(0.0, 1.0)
    dist = TransformedPredictive([[0.5]], [[1.0]], 0.0, 1.0, transform)

    def coverage(y, upper):
        return metrics.censored_coverage(
            [y], censored=[True], dist=dist, lower=[0.0], upper=[upper]
        )

    assert coverage(0.5, 1.0) == coverage(1.0, 1.0) == 1.0
    assert coverage(0.5, 0.999) == pytest.approx(
        (stats.norm.cdf(0.499) - stats.norm.cdf(0.0)) / stats.norm.sf(0.0), abs=1e-12
    )
    assert coverage(2.0, 3.0) == 0.0  # no truth can be above


@pytest.mark.parametrize("whole", [False, True])
def test_the_curve_is_the_coverage_of_its_intervals_where_ends_are_likely_by_themselves(whole):
    random = np.random.default_rng(0)
    latent = GaussianPredictive(random.normal(0.8, 1, (300, 1)), np.full((300, 1), 1.0))
    dist = TransformedPredictive.of(latent, Transform(0.0, 2.0, (0.0,), (0.0,), 2.0))
    truth, end = dist.sample(1, 1)[:, 0], random.choice([0.0, 1.0, 2.0, 3.0], 300)
    truth = np.rint(truth) if whole else truth
    y, censored = np.minimum(truth, end), end <= truth
    given = {"censored": censored, "dist": dist, "whole": whole}
    for level, share in zip(*censored_coverage_curve(y, **given), strict=True):
        ends = dist.interval(level)
        low, high = (np.rint(ends) if whole else ends).T
        exact = metrics.censored_coverage(y, **given, lower=low, upper=high)
        assert abs(share - exact) < 1e-6


def test_a_count_of_at_least_y_is_all_that_is_rounded_to_y_or_more():
    dist = TransformedPredictive.of(
        GaussianPredictive(np.full((3, 1), 1.5), np.ones((3, 1))), Transform.straight(0.0)
    )
    found = metrics.censored_nll([1, 2, 3], censored=[True, True, False], dist=dist, whole=True)
    parts = stats.norm(1.5, 1)
    expected = parts.logsf(0.5) + parts.logsf(1.5) + parts.logpdf(3)
    assert found == pytest.approx(-expected / 3, rel=1e-12)


def test_no_rows_are_refused():
    nothing = GaussianPredictive(np.zeros((0, 2)), np.ones((0, 2)))
    with pytest.raises(ValueError, match="censored: expected at least one row, got none"):
        metrics.censored_nll([], censored=[], dist=nothing)
    with pytest.raises(ValueError, match="censored: expected at least one row, got none"):
        metrics.censored_coverage([], censored=[], dist=nothing, lower=[], upper=[])
