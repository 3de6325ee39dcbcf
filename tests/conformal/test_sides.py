from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from batchensemble import GaussianPredictive
from batchensemble.conformal import REPORTED, IntervalCalibration, conformal_rank
from batchensemble.conformal.sides import (
    FEWEST_COMPARED,
    FEWEST_TWO_SIDED,
    left_out_reaches,
    two_sided_reaches,
    two_sides_are_better,
)
from batchensemble.predictive import Transform, TransformedPredictive


def prices(n, seed=0, sigma=1.0):
    """Log-normal truths of which a model knows the mean and the standard deviation."""
    random = np.random.default_rng(seed)
    level = np.exp(random.normal(size=n))
    y = level * np.exp(sigma * random.normal(size=n))
    mean = level * np.exp(sigma**2 / 2)
    variance = mean**2 * np.expm1(sigma**2)
    latent = GaussianPredictive(mean[:, None], variance[:, None])
    return y, TransformedPredictive.of(latent, Transform.straight(0.0))


def two_sided(y, dist):
    return replace(IntervalCalibration.of(y, dist), two_sided=True)


def held(calibration, y, dist, coverage=0.9):
    low, high = calibration.interval(dist, coverage).T
    return np.mean((low <= y) & (y <= high)), np.mean(high - low)


def judged(calibration, y, dist):
    """Shares below and above 90 % intervals, their score (Winkler 1972), lower ends above 0."""
    low, high = calibration.interval(dist, 0.9).T
    missed = np.maximum(low - y, 0) + np.maximum(y - high, 0)
    score = np.mean(high - low + 2 / 0.1 * missed)
    return np.mean(y < low), np.mean(y > high), score, np.mean(low > 0)


def test_skewed_truths_are_missed_as_often_below_as_above_and_never_more_than_asked_for():
    # 100 splits with 200 rows each to calibrate and to judge: a standard error of 0.3 points.
    results = []
    for seed in range(100):
        y, dist = prices(400, seed)
        known, new = slice(0, 200), slice(200, 400)
        calibration = two_sided(y[known], dist[known])
        for one in (calibration, replace(calibration, two_sided=False)):
            results.append(judged(one, y[new], dist[new]))
    sides, equal = np.array(results).reshape(100, 2, 4).mean(axis=0)
    side = (201 - conformal_rank(200, 0.95)) / 201
    assert 2 * side <= 0.1
    assert np.allclose(sides[:2], side, atol=0.01)
    assert sides[2] < equal[2]
    assert sides[3] == 1
    # The negative control: equal sides mostly start at 0, and miss above.
    assert equal[0] < 0.01
    assert equal[1] > 0.08
    assert equal[3] < 0.5


@pytest.mark.parametrize("n", [FEWEST_TWO_SIDED, 60, 300])
def test_the_interval_of_a_higher_coverage_holds_that_of_a_lower_one(n):
    y, dist = prices(n)
    ends = [two_sided(y, dist).interval(dist, level) for level in (*REPORTED, 0.97)]
    for narrow, wide in pairwise(ends):
        assert (wide[:, 0] <= narrow[:, 0]).all()
        assert (narrow[:, 1] <= wide[:, 1]).all()


def test_too_few_rows_are_ranked_together():
    y, dist = prices(FEWEST_TWO_SIDED - 1)
    calibration = two_sided(y, dist)
    equal = replace(calibration, two_sided=False)
    assert np.array_equal(calibration.interval(dist, 0.9), equal.interval(dist, 0.9))
    assert np.array_equal(calibration.report()["width_after"], equal.report()["width_after"])


@pytest.mark.parametrize("n", [41, 80])
def test_reaches_without_a_row_are_those_of_all_others(n):
    deviations = np.random.default_rng(0).exponential(size=n) - 1
    for level in REPORTED:
        expected = [two_sided_reaches(np.delete(deviations, row), level) for row in range(n)]
        np.testing.assert_array_equal(left_out_reaches(deviations, level).T, expected)


def test_the_report_is_what_leaving_each_row_out_gives():
    y, dist = prices(81)
    report = two_sided(y, dist).report()
    results = []
    for row in range(81):
        others = np.delete(np.arange(81), row)
        results.append(held(two_sided(y[others], dist[others]), y[[row]], dist[[row]]))
    coverage, width = np.mean(results, axis=0)
    assert report["coverage_after"][2] == coverage
    assert np.isclose(report["width_after"][2], width)


def test_groups_have_sides_of_their_own():
    y, dist = prices(200)
    labels = np.repeat(["a", "b"], 100)
    calibration = replace(two_sided(y, dist), groups=labels)
    below, above = calibration.reaches(0.9, np.array(["b", "a"]))
    for i, group in enumerate(("b", "a")):
        deviations = calibration.deviations[labels == group, 0]
        assert [below[i, 0], above[i, 0]] == two_sided_reaches(deviations, 0.9).tolist()


def test_a_coverage_curve_counts_both_sides():
    y, dist = prices(400)
    calibration = two_sided(y[:200], dist[:200])
    curve = calibration.coverage_curve(calibration.deviations_of(y[200:], dist[200:]))
    for level, share in zip(curve.levels, curve.empirical, strict=True):
        if level < 0.95:  # beyond, rounding decides about rows at the border
            assert share == held(calibration, y[200:], dist[200:], level)[0]


def same(values):
    return values


NOISE = {
    "gaussian": lambda random, n: random.normal(size=n),
    "exponential": lambda random, n: random.exponential(size=n) - 1,
    "in two heaps": lambda random, n: np.where(random.random(n) < 0.3, 2.8, -1.2),
}


@pytest.mark.parametrize(("kind", "better"), [*zip(NOISE, (False, True, True), strict=True)])
def test_two_sides_are_better_where_errors_are_skewed(kind, better):
    random = np.random.default_rng(0)
    mean, std = random.normal(size=500), np.exp(random.normal(size=500))
    y = mean + std * NOISE[kind](random, 500)
    assert two_sides_are_better(y, mean, std, same) is better


def test_two_sides_are_chosen_as_the_score_of_new_rows_would():
    chosen = []
    for seed, kind in enumerate(np.resize(list(NOISE), 30)):
        random = np.random.default_rng(seed)
        y = NOISE[kind](random, 600)
        dist = GaussianPredictive(np.zeros((600, 1)), np.ones((600, 1)))
        known, new = slice(0, 300), slice(300, 600)
        sides = two_sided(y[known], dist[known])
        scores = [judged(c, y[new], dist[new])[2] for c in (sides, replace(sides, two_sided=False))]
        if abs(np.log(scores[0] / scores[1])) > 0.1:  # where it matters
            found = two_sides_are_better(y[known], np.zeros(300), np.ones(300), same)
            chosen.append(found == (scores[0] < scores[1]))
    assert len(chosen) >= 10
    assert all(chosen)


def test_the_score_is_that_of_the_users_units():
    # The logarithm of a price has symmetric errors; as prices, they were skewed.
    random = np.random.default_rng(0)
    y, zero, one = random.normal(size=400), np.zeros(400), np.ones(400)
    assert not two_sides_are_better(y, zero, one, np.exp)
    price = np.exp(y)
    assert two_sides_are_better(price, zero + price.mean(), one * price.std(), same)


def test_few_rows_do_not_decide_for_two_sides():
    y = np.random.default_rng(0).exponential(size=FEWEST_COMPARED)
    zero, one = np.zeros(len(y)), np.ones(len(y))
    assert two_sides_are_better(y, zero, one, same)
    assert not two_sides_are_better(y[1:], zero[1:], one[1:], same)
