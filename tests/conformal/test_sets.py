import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax

from batchensemble.conformal import (
    REPORTED,
    SetCalibration,
    conformal_quantile,
    conformal_rank,
    fit_temperature,
    halves,
    label_scores,
    label_sets,
    promised_sets,
)


def drawn(n=400, seed=0, *, heat=1.0, members=3, classes=4):
    """Labels drawn by the members' mean probabilities, and logits `heat` times too large."""
    random = np.random.default_rng(seed)
    logits = 1.5 * random.normal(size=(n, 1, classes)) + random.normal(size=(n, members, classes))
    p = softmax(logits, axis=2).mean(1)
    labels = (random.random((n, 1)) > np.cumsum(p, axis=1)).sum(1)
    return labels, heat * logits


def slow_loss(labels, logits, temperature):
    p = softmax(logits / temperature, axis=2).mean(1)
    return 0.5 * np.log(temperature) ** 2 - np.log(p[np.arange(len(p)), labels]).sum()


@pytest.mark.parametrize("heat", [0.4, 1.0, 3.0])
def test_the_temperature_is_the_best_of_a_fine_grid_and_undoes_too_large_logits(heat):
    labels, logits = drawn(4000, heat=heat)
    temperature = fit_temperature(labels, logits=logits)
    grid = np.exp(np.linspace(-1.5, 1.5, 61))
    best = min(slow_loss(labels, logits, t) for t in grid)
    assert slow_loss(labels, logits, temperature) <= best
    assert abs(temperature / heat - 1) < 0.1


def test_a_few_rows_that_are_all_right_do_not_make_the_model_certain():
    logits = np.array([[[3.0, 0.0]], [[0.0, 3.0]]] * 5)
    temperature = fit_temperature([0, 1] * 5, logits=logits)
    assert 0.3 < temperature < 1


def test_logits_far_apart_keep_their_order_under_any_temperature():
    logits = np.array([[[2000.0, 0.0]], [[2000.0, 0.0]]] * 20)
    temperature = fit_temperature([0, 1] * 20, logits=logits)
    assert np.isclose(temperature, np.exp(3), rtol=1e-3)  # as hot as it may become
    assert np.isfinite(log_softmax(logits / temperature, axis=2)).all()


@given(st.integers(0, 50), st.sampled_from([0.3, 0.6, 0.9]))
def test_sets_hold_the_classes_whose_score_is_within_the_limit(seed, limit):
    p = np.random.default_rng(seed).dirichlet(np.ones(4), size=6)
    sets = label_sets(p, limit, allow_empty=True)
    with_mode = label_sets(p, limit)
    for row in range(6):
        assert sets[row].tolist() == [1 - q <= limit for q in p[row]]
        expected = sets[row] if sets[row].any() else p[row] == p[row].max()
        assert with_mode[row].tolist() == expected.tolist()


def test_a_class_at_the_limit_is_inside_though_its_probability_be_rounded_otherwise():
    p = np.random.default_rng(0).dirichlet(np.ones(3), size=200)
    limits = label_scores(np.zeros(200, int), probabilities=p)
    for rounded in (np.nextafter(p, 0), p, np.nextafter(p, 1)):
        assert label_sets(rounded, limits, allow_empty=True)[:, 0].all()


def test_a_limit_may_belong_to_each_row():
    p = np.array([[0.7, 0.3], [0.7, 0.3]])
    assert label_sets(p, [0.3, 0.7]).tolist() == [[True, False], [True, True]]


@given(st.integers(0, 50), st.sampled_from([0.5, 0.8, 0.95]))
def test_promised_sets_are_the_fewest_classes_that_add_up(seed, coverage):
    p = np.random.default_rng(seed).dirichlet(np.ones(5), size=4)
    sets = promised_sets(p, coverage)
    for row in range(4):
        inside = np.sort(p[row][sets[row]])
        assert inside.sum() >= coverage - 1e-12
        assert inside[1:].sum() < coverage
        assert sets[row].all() or inside.min() >= p[row][~sets[row]].max()


def calibrated(labels, logits, temperature):
    after, before = (softmax(logits / t, axis=2).mean(1) for t in (temperature, 1.0))
    return SetCalibration(temperature, labels, after, before)


def test_new_rows_are_covered_as_often_as_asked_for_and_promised_sets_are_not():
    # 300 calibrations with 60 rows each: the mean coverage has a standard error of 0.3 points.
    exact, safe, promised = [], [], []
    for seed in range(300):
        labels, logits = drawn(160, seed, heat=4.0, members=1)
        calibration = calibrated(labels[:60], logits[:60], 1.0)
        p = softmax(logits[60:], axis=2).mean(1)
        truth = np.arange(100), labels[60:]
        exact.append(calibration.sets(p, 0.8, allow_empty=True)[truth].mean())
        safe.append(calibration.sets(p, 0.8)[truth].mean())
        promised.append(promised_sets(p, 0.8)[truth].mean())
    assert abs(np.mean(exact) - conformal_rank(60, 0.8) / 61) < 0.01
    assert np.mean(safe) >= np.mean(exact)
    assert np.mean(promised) < 0.75


def test_the_report_is_what_leaving_each_row_out_gives():
    labels, logits = drawn(45)
    calibration = calibrated(labels, logits, 2.0)
    report, p = calibration.report(), calibration.probabilities
    scores = label_scores(labels, probabilities=p)
    assert np.array_equal(scores, [1 - p[i, labels[i]] for i in range(45)])
    for i, level in enumerate(REPORTED):
        held, sizes = [], []
        for row in range(45):
            limit = conformal_quantile(np.delete(scores, row), level)
            chosen = label_sets(p[[row]], limit)[0]
            held.append(chosen[labels[row]])
            sizes.append(chosen.sum())
        assert report["coverage_after"][i] == np.mean(held)
        assert np.isclose(report["size_after"][i], np.mean(sizes))
    truth = np.arange(45), labels
    assert np.allclose(report["nll_after"], -np.log(p[truth]).mean())
    assert np.allclose(report["nll_before"], -np.log(calibration.untempered[truth]).mean())
    assert (report["temperature"] == 2).all()
    assert (report["assured_after"] < REPORTED).all()


def test_levels_that_need_more_rows_are_not_reported():
    report = calibrated(*drawn(12), 1.0).report()
    assert np.isfinite(report["coverage_after"]).tolist() == [True, True, True, False]
    report = calibrated(*drawn(9), 1.0).report()  # enough for 90 %, but not without one of them
    assert np.isfinite(report["coverage_after"]).tolist() == [True, True, False, False]
    assert np.isfinite(report["assured_after"]).tolist() == [True, True, True, False]


def test_rows_up_to_the_threshold_are_wrong_as_seldom_as_asked_for():
    labels, logits = drawn(400)
    calibration = calibrated(labels, logits, 1.0)
    p = calibration.probabilities
    wrong, entropy = p.argmax(1) != labels, -(p * np.log(p)).sum(1)
    for error in (0.15, 0.25, 0.4):
        threshold = calibration.abstain_threshold(error)
        assert wrong[entropy <= threshold + 1e-12].mean() <= error
        for larger in entropy[entropy > threshold + 1e-12]:
            assert wrong[entropy <= larger].mean() > error
    with pytest.raises(ValueError, match="the smallest error on the 10 or more"):
        calibrated(labels, 0 * logits, 1.0).abstain_threshold(0.01)


@pytest.mark.parametrize("n_rare", [10, 11, 30])
def test_of_each_class_enough_rows_are_left_for_sets_and_none_is_used_twice(n_rare):
    labels = np.repeat([0, 1], [200, n_rare])
    first, rest = halves(labels, np.random.default_rng(0), per_class=True)
    assert sorted([*first, *rest]) == list(range(200 + n_rare))
    assert (labels[rest] == 0).sum() == 100
    assert (labels[rest] == 1).sum() == max(9, n_rare // 2)
    assert (labels[first] == 1).any()
    first, rest = halves(labels, np.random.default_rng(0))
    assert len(first) == (200 + n_rare) // 2


def test_coverages_and_limits_that_cannot_be_are_refused():
    p = np.full((4, 2), 0.5)
    for wrong in (1.5, -1, "a"):
        with pytest.raises(ValueError, match="expected one share strictly between 0 and 1"):
            promised_sets(p, wrong)
    with pytest.raises(ValueError, match=r"one for each of 4 rows, or .* got shape \(3,\)"):
        label_sets(p, [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="limit: expected finite numbers"):
        label_sets(p, np.nan)
