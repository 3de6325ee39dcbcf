from dataclasses import replace

import numpy as np
import pytest
from fixtures import few_paths, too_sure

from batchensemble import GaussianPredictive
from batchensemble.conformal import (
    IntervalCalibration,
    conformal_quantile,
    conformal_rank,
    predicted_interval,
    widened,
)
from batchensemble.predictive import Transform, TransformedPredictive


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_as_many_calibration_rows_as_the_rank_says_lie_inside(coverage):
    y, dist = too_sure()
    factor = IntervalCalibration.of(y, dist).factors(coverage)
    low, high = widened(dist.mean, dist.std, factor).T
    slack = 1e-9 * dist.std  # the row at the border is there by rounding only
    assert np.sum((low - slack <= y) & (y <= high + slack)) == conformal_rank(len(y), coverage)


def test_new_rows_are_covered_as_often_as_asked_for_and_without_calibration_they_are_not():
    # 300 calibrations with 60 rows each: the mean coverage has a standard error of 0.3 points.
    shares, own = [], []
    for seed in range(300):
        y, dist = too_sure(160, seed)
        factor = IntervalCalibration.of(y[:60], dist[:60]).factors(0.9)
        low, high = widened(dist[60:].mean, dist[60:].std, factor).T
        shares.append(np.mean((low <= y[60:]) & (y[60:] <= high)))
        low, high = dist[60:].interval(0.9).T
        own.append(np.mean((low <= y[60:]) & (y[60:] <= high)))
    assert abs(np.mean(shares) - conformal_rank(60, 0.9) / 61) < 0.01
    assert np.mean(own) < 0.75


def test_steps_have_factors_of_their_own():
    y, dist = few_paths()
    factors = IntervalCalibration.of(y, dist).factors(0.8)
    for step in range(3):
        scores = np.abs(y - dist.mean)[:, step] / dist.std[:, step]
        assert np.isclose(factors[step], np.sort(scores)[conformal_rank(50, 0.8) - 1])


def test_parts_join_to_the_whole_and_are_found_in_it():
    y, dist = few_paths()
    whole = IntervalCalibration.of(y, dist)
    parts = [IntervalCalibration.of(y[s], dist[s]) for s in (slice(0, 7), slice(7, 50))]
    joined = IntervalCalibration.joined(parts)
    assert len(joined) == 50
    for name in ("y", "means", "variances", "lower", "upper"):
        assert np.array_equal(getattr(joined, name), getattr(whole, name))
        assert np.array_equal(getattr(whole.only(slice(43, None)), name), getattr(whole, name)[43:])


def test_rows_up_to_the_threshold_err_as_little_as_asked_for():
    y, dist = too_sure(400)
    calibration = IntervalCalibration.of(y, dist)
    thresholds = [calibration.abstain_threshold(error) for error in (0.5, 1.0, 1.5)]
    assert thresholds == sorted(thresholds)
    for error, threshold in zip((0.5, 1.0, 1.5), thresholds, strict=True):
        kept = dist.variance <= threshold
        assert np.sqrt(np.mean((y - dist.mean)[kept] ** 2)) <= error
        # The slow way: no larger threshold would do.
        for larger in dist.variance[dist.variance > threshold]:
            kept = dist.variance <= larger
            assert np.sqrt(np.mean((y - dist.mean)[kept] ** 2)) > error


def test_a_transformed_prediction_is_scored_before_its_transform_and_widened_there():
    z, latent = too_sure()
    transform = Transform.logarithmic(1.0, 50.0)
    y, dist = transform(z), TransformedPredictive.of(latent, transform)
    calibration, plain = IntervalCalibration.of(y, dist), IntervalCalibration.of(z, latent)
    is_above = y > 0  # what lies below comes back as 0
    np.testing.assert_allclose(calibration.scores[is_above], plain.scores[is_above])
    interval = widened(latent.mean, latent.std, calibration.factors(0.8)[0])
    np.testing.assert_allclose(calibration.interval(dist, 0.8), transform(interval))
    low, high = calibration.interval(dist, 0.8).T
    slack = 1e-9 * y
    assert np.mean((low - slack <= y) & (y <= high + slack)) >= 0.8


@pytest.mark.parametrize("transform", [Transform.logarithmic(1.0, 50.0), Transform.straight(0, 2)])
def test_an_interval_holds_a_truth_from_the_factor_of_its_score_on_and_not_before(transform):
    random = np.random.default_rng(0)
    latent = GaussianPredictive(random.normal(0.5, 2, (200, 1)), np.ones((200, 1)))
    dist = TransformedPredictive.of(latent, transform)
    y = transform(latent.mean + random.normal(size=200))
    scores = IntervalCalibration.of(y, dist).scores[:, 0]
    assert (scores[y == transform.low] == 0).any()  # many truths lie at an end
    for factor, is_held in ((scores, True), (scores - 1e-3, False)):
        low, high = transform(widened(latent.mean, latent.std, factor)).T
        assert ((low <= y) & (y <= high))[scores > 0].all() == is_held
        assert ((low <= y) & (y <= high))[scores > 0].any() == is_held


def test_many_zeros_are_not_covered_more_often_than_promised():
    random = np.random.default_rng(0)
    means, transform = random.normal(0, 1, (4000, 1)), Transform.straight(0.0)
    dist = TransformedPredictive.of(GaussianPredictive(means, np.ones((4000, 1))), transform)
    y = transform(means[:, 0] + random.normal(size=4000))
    assert 0.4 < (y == 0).mean() < 0.6
    low, high = IntervalCalibration.of(y[:2000], dist[:2000]).interval(dist[2000:], 0.8).T
    held = ((low <= y[2000:]) & (y[2000:] <= high)).mean()
    assert held == pytest.approx(0.8, abs=0.03)  # three standard errors


def test_a_factor_of_groups_wants_the_groups_of_the_rows():
    y, dist = too_sure()
    labels = np.repeat(["a", "b"], 100)
    calibration = replace(IntervalCalibration.of(y, dist), groups=labels)
    a, b = (float(conformal_quantile(calibration.scores[labels == g, 0], 0.9)) for g in "ab")
    assert calibration.factors(0.9, np.array(["b", "a"]))[:, 0].tolist() == [b, a]
    with pytest.raises(ValueError, match="calibrated by groups; pass the groups"):
        calibration.factors(0.9)


def counts(n, random):
    """Poisson counts, and predictions of Gaussians cut at 0 that are about right."""
    means = random.normal(1.5, 1.5, (n, 1))
    rates = np.maximum(means, 0.2)
    cut = Transform(0.0, np.inf, (0.0,), (0.0,), np.inf)
    latent = GaussianPredictive(means, rates)
    return random.poisson(rates[:, 0]).astype(float), TransformedPredictive.of(latent, cut)


@pytest.mark.parametrize("two_sided", [False, True])
def test_rounded_intervals_of_counts_hold_as_many_as_promised(two_sided):
    # 200 calibrations with 199 rows each: the mean coverage has a standard error of 0.2 points.
    random = np.random.default_rng(0)
    held, as_numbers = [], []
    for _ in range(200):
        (y, dist), (new, ahead) = counts(199, random), counts(300, random)
        for whole, shares in ((True, held), (False, as_numbers)):
            known = IntervalCalibration.of(y, dist, whole=whole)
            known = replace(known, two_sided=two_sided)
            low, high = predicted_interval(ahead, 0.8, known, whole=True).T
            shares.append(np.mean((low <= new) & (new <= high)))
            if whole:
                deviations = known.deviations_of(new, ahead)
                curve = known.coverage_curve(deviations)
                # Of level 0.8; one of 300 may lie in the middle of two counts, where it is in.
                assert 0 <= shares[-1] - curve.empirical[31] < 1.5 / 300
    assert abs(np.mean(held) - 0.8) < 0.01
    assert np.mean(as_numbers) > 0.87  # negative control: calibrated as if not rounded


def test_the_report_on_counts_is_about_rounded_intervals():
    y, dist = counts(300, np.random.default_rng(1))
    found = IntervalCalibration.of(y, dist, whole=True)
    low, high = np.rint(dist.interval(0.9)).T
    report = found.report()
    assert report["coverage_before"][2] == np.mean((low <= y) & (y <= high))
    assert report["width_before"][2] == np.mean(high - low)
    assert (np.rint(found.widened_by(0.7, 0.7)) == found.widened_by(0.7, 0.7)).all()
