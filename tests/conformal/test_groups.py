"""Coverage in each group and class, over many splits; and what happens without."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from batchensemble.conformal import (
    IntervalCalibration,
    SetCalibration,
    check_enough,
    quantiles_by_group,
    read_groups,
)
from batchensemble.predictive import GaussianPredictive, Transform, TransformedPredictive

SPLITS = 50
NOISE = {"easy": 0.5, "usual": 1.0, "hard": 3.0}


def rows(random, n, transform=None):
    """Predictions that do not know how noisy a group is."""
    groups = random.choice(list(NOISE), n)
    mean = random.normal(2.0, 1.0, n)
    z = mean + np.vectorize(NOISE.get)(groups) * random.normal(size=n)
    latent = GaussianPredictive(mean[:, None], np.ones((n, 1)))
    if transform is None:
        return z, latent, groups
    return transform(z), TransformedPredictive.of(latent, transform), groups


@pytest.mark.parametrize("transform", [None, Transform.straight(-3.0), Transform.straight(-9, 9)])
def test_every_group_is_covered_as_asked_and_without_groups_it_is_not(transform):
    random = np.random.default_rng(0)
    by_group, together = [], []
    for _ in range(SPLITS):
        y, dist, groups = rows(random, 900, transform)
        plain = IntervalCalibration.of(y, dist)
        calibration = replace(plain, groups=groups)
        new, predicted, labels = rows(random, 900, transform)
        for shares, interval in (
            (by_group, calibration.interval(predicted, 0.9, labels)),
            (together, plain.interval(predicted, 0.9)),
        ):
            held = (interval[:, 0] <= new) & (new <= interval[:, 1])
            shares.append([held[labels == group].mean() for group in NOISE])
    means = np.mean(by_group, axis=0)
    np.testing.assert_allclose(means, 0.9, atol=0.02)
    easy, _, hard = np.mean(together, axis=0)  # negative control
    assert easy > 0.97
    assert hard < 0.8


@pytest.mark.parametrize(
    ("known", "asked", "words"),
    [
        ([0, 1], ["1"], "such as 0, 1, got '1'; pass labels of the same type"),
        (
            ["a", "b"],
            ["a", "c"],
            "such as 'a', 'b', got 'c'; .*calibrate with rows of these groups",
        ),
        ([0.5, 1.5], [np.nan], "such as 0.5, 1.5, got nan; "),
    ],
)
def test_a_group_that_calibrate_did_not_have_is_named_beside_some_it_had(known, asked, words):
    groups = np.repeat(known, 50)
    with pytest.raises(ValueError, match=f"expected groups of the calibration rows, {words}"):
        quantiles_by_group(np.arange(100.0), 0.9, groups=groups, of=np.array(asked))


def class_rows(random, n):
    """Three classes, the last rare and hard to see."""
    labels = random.choice(3, n, p=[0.62, 0.3, 0.08])
    logits = (
        random.normal(size=(n, 3)) + np.array([2.0, 1.0, 0.3])[labels, None] * np.eye(3)[labels]
    )
    odds = np.exp(logits + np.log([0.62, 0.3, 0.08]))
    return labels, odds / odds.sum(1, keepdims=True)


def test_every_class_is_covered_as_asked_and_without_per_class_a_rare_one_is_not():
    random = np.random.default_rng(1)
    by_class, together = [], []
    for _ in range(SPLITS):
        labels, p = class_rows(random, 1500)
        plain = SetCalibration(1.0, labels, p, p)
        calibration = replace(plain, per_class=True)
        new, probabilities = class_rows(random, 1500)
        for shares, which in ((by_class, calibration), (together, plain)):
            sets = which.sets(probabilities, 0.9, allow_empty=True)
            held = sets[np.arange(len(new)), new]
            shares.append([held[new == c].mean() for c in range(3)])
    np.testing.assert_allclose(np.mean(by_class, axis=0), 0.9, atol=0.02)
    assert np.mean(together, axis=0)[2] < 0.5  # negative control


def test_sets_by_group_cover_every_group():
    random = np.random.default_rng(2)
    shares = []
    for _ in range(SPLITS):
        parts = []
        for _ in range(2):
            labels, p = class_rows(random, 800)
            groups = np.where(random.random(800) < 0.2, "clear", "dim")
            p = np.where((groups == "clear")[:, None], p**2, p**0.3)
            parts.append((labels, p / p.sum(1, keepdims=True), groups))
        (labels, p, groups), (new, probabilities, of) = parts
        calibration = SetCalibration(1.0, labels, p, p, groups=groups)
        sets = calibration.sets(probabilities, 0.9, allow_empty=True, groups=of)
        held = sets[np.arange(len(new)), new]
        shares.append([held[of == group].mean() for group in ("clear", "dim")])
    np.testing.assert_allclose(np.mean(shares, axis=0), 0.9, atol=0.02)


def test_the_report_judges_each_row_by_the_others_of_its_own_group_or_class():
    random = np.random.default_rng(3)
    y, dist, groups = rows(random, 600)
    plain = IntervalCalibration.of(y, dist)
    report = replace(plain, groups=groups).report()
    np.testing.assert_allclose(report["coverage_after"], [0.5, 0.8, 0.9, 0.95], atol=0.02)
    # The least group assures less than all rows together would.
    assert (report["assured_after"] < plain.report()["assured_after"]).all()
    labels, p = class_rows(random, 1500)
    sets = SetCalibration(1.0, labels, p, p, per_class=True)
    after = sets.report()["coverage_after"]
    assert (after > np.array([0.5, 0.8, 0.9, 0.95]) - 0.02).all()
    n = int(np.bincount(labels).min())
    assert sets.report()["assured_after"][2] == pytest.approx(
        SetCalibration(1.0, labels[:n], p[:n], p[:n]).report()["assured_after"][2]
    )


def test_a_quantile_is_that_of_the_groups_own_scores():
    scores, groups = np.arange(40.0), np.repeat(["a", "b"], 20)
    limits = quantiles_by_group(scores, 0.9, groups=groups, of=["b", "a", "b"])
    assert limits.tolist() == [38, 18, 38]


def test_rows_without_a_number_are_a_group_of_their_own():
    scores, groups = np.arange(40.0), np.repeat([1.0, np.nan], 20)
    limits = quantiles_by_group(scores, 0.9, groups=groups, of=[np.nan, 1.0])
    assert limits.tolist() == [38, 18]
    check_enough(groups, 0.9)
    with pytest.raises(ValueError, match=r"fewer of nan \(5\)"):
        check_enough(groups[:25], 0.9)


@pytest.mark.parametrize("two_sided", [False, True])
def test_a_report_knows_rows_without_a_number_by_any_other_label_as_well(two_sided):
    random = np.random.default_rng(5)
    y, dist, _ = rows(random, 200)
    named, numbered = np.repeat(["a", "b"], 100), np.repeat([1.0, np.nan], 100)
    plain = replace(IntervalCalibration.of(y, dist), two_sided=two_sided)
    labels, p = class_rows(random, 200)
    sets = SetCalibration(1.0, labels, p, p)
    for calibration in (plain, sets):
        expected = replace(calibration, groups=named).report()
        np.testing.assert_equal(replace(calibration, groups=numbered).report(), expected)


def test_a_group_that_is_new_or_too_small_is_refused_by_name():
    scores, groups = np.arange(25.0), np.array(["a"] * 20 + ["b"] * 5)
    with pytest.raises(ValueError, match=r"at least 9 .* every group .* got fewer of 'b' \(5\)"):
        quantiles_by_group(scores, 0.9, groups=groups, of=["a", "b"])
    with pytest.raises(ValueError, match="such as 'a', 'b', got 'abc'; "):  # not cut as "a" is
        quantiles_by_group(scores, 0.5, groups=groups, of=["abc"])
    with pytest.raises(ValueError, match=r"fewer of 'b' \(5\)"):
        check_enough(groups, 0.9)
    with pytest.raises(ValueError, match=r"3 \(1\), 4 \(1\); calibrate"):  # five are enough to see
        check_enough(np.arange(100), 0.9)
    y, dist, labels = rows(np.random.default_rng(0), 90)
    calibration = replace(IntervalCalibration.of(y, dist), groups=labels)
    with pytest.raises(ValueError, match="pass the groups of these rows"):
        calibration.interval(dist, 0.9)


@pytest.mark.parametrize("labels", [[0, 1], [0.5, 1.5], [True, False], ["a", "b"]])
def test_groups_are_the_callers_no_more_once_they_are_read(labels):
    given = np.array(labels)
    read = read_groups(given, 2)
    given[:] = given[::-1].copy()
    assert read.tolist() == labels


def test_groups_are_one_label_for_each_row():
    assert read_groups([1, 2, 2], 3).tolist() == [1, 2, 2]
    assert read_groups(np.array(["a", None], object), 2).tolist() == ["a", "None"]
    for wrong in ([1, 2], [[1], [2], [3]], [1j, 2j, 3j]):
        with pytest.raises(ValueError, match="expected one label for each of 3 rows"):
            read_groups(wrong, 3)


def test_dates_and_durations_are_labels_named_as_those_of_a_column():
    days = pd.Series(np.array(["2024-01-01", "2024-01-02T12", "2024-01-01", "NaT"], "M8[us]"))
    first, second = "2024-01-01T00:00:00.000000", "2024-01-02T12:00:00.000000"
    for labels in (days, days.to_numpy("M8[ns]"), days.to_numpy("M8[s]"), pl.Series(days)):
        assert read_groups(labels, 4).tolist() == [first, second, first, "NaT"]
    assert read_groups(days[:3] - days[0], 3).tolist() == [0.0, 129_600.0, 0.0]


@pytest.mark.parametrize("labels", [[1, 2, 1], [1.5, 2, 1], [True, False, True]])
def test_numbers_in_an_array_of_objects_are_numbers(labels):
    read = read_groups(np.array(labels, object), 3)
    assert read.dtype == np.array(labels).dtype
    assert read.tolist() == labels
    assert read_groups(np.array([*labels[:2], 10**30], object), 3).tolist()[2] == str(10**30)
    assert read_groups(np.array([1, True, 0], object), 3).tolist() == ["1", "True", "0"]


def test_tuples_are_labels_like_any_other():
    labels = read_groups(pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]), 2)
    assert labels.tolist() == ["('a', 1)", "('b', 2)"]


def test_numbers_alone_are_the_groups_that_they_were_among_words():
    groups = read_groups([1, 2.5, "n", None] * 30, 120)
    scores = np.arange(120.0)
    together = quantiles_by_group(scores, 0.9, groups=groups, of=groups[:4])
    for one, expected in zip([1, 2.5, "n", None], together, strict=True):
        alone = quantiles_by_group(scores, 0.9, groups=groups, of=read_groups([one], 1))
        assert alone == [expected]


def test_labels_that_a_mask_hides_are_refused():
    with pytest.raises(ValueError, match="groups: expected a value for each row, got a masked"):
        read_groups(np.ma.array(["a", "b"], mask=[False, True]), 2)


@pytest.mark.parametrize("labels", [[2**60, 2**60 + 1, None], [2**60 + 1, 1.5, 2.0]])
def test_numbers_that_cannot_be_told_apart_are_no_groups(labels):
    assert read_groups(np.array([2**60, 2**60 + 1]), 2).tolist() == [2**60, 2**60 + 1]
    assert read_groups(np.array([2.0**60, np.nan]), 2)[0] == 2.0**60  # they were floats
    given = pd.array(labels, dtype="Int64") if None in labels else labels
    with pytest.raises(ValueError, match=r"numbers of at most 15 digits.* convert them to texts"):
        read_groups(given, 3)


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA, pd.NaT])
def test_rows_without_a_word_are_one_group_whatever_holds_them(gap):
    for labels in (["a", gap], np.array(["a", gap], dtype=object), pd.Series(["a", gap])):
        assert read_groups(labels, 2).tolist() == ["a", "None"]


@pytest.mark.parametrize("labels", [[1e20, 2.0], [float("inf"), 1.0], pl.Series([1e20, None])])
def test_large_decimals_are_groups_as_they_are(labels):
    np.testing.assert_array_equal(read_groups(labels, 2), np.array(list(labels), dtype=float))


def test_lists_are_of_words_and_gaps_or_read_as_arrays():
    assert read_groups([b"a", "b"], 2).tolist() == ["a", "b"]
    with pytest.raises(ValueError, match=r"expected one (value|label) for each"):
        read_groups(["a", ["b"]], 2)


@pytest.mark.parametrize("former", ["nan", "<NA>", "NaT", "None"])
def test_rows_without_a_word_are_found_under_their_former_name(former):
    groups, scores = np.array(["a", former] * 20), np.arange(40.0) % 2
    limits = quantiles_by_group(scores, 0.9, groups=groups, of=read_groups(["a", None], 2))
    assert limits.tolist() == [0.0, 1.0]
    with pytest.raises(ValueError, match="expected groups of the calibration rows, such as 'a'"):
        quantiles_by_group(scores[::2], 0.9, groups=groups[::2], of=read_groups(["a", None], 2))
