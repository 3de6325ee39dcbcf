import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from batchensemble.plots.sheets import MeanSE
from batchensemble.study.best_sets import (
    best_set,
    names,
    overlap,
    paired_best_set,
    paired_gap,
    set_word,
    together,
    yes,
)


def test_touching_intervals_overlap_and_the_next_number_does_not():
    assert overlap(MeanSE(1.0, 0.25), MeanSE(1.5, 0.25))
    assert not overlap(MeanSE(1.0, 0.25), MeanSE(np.nextafter(1.5, 2), 0.25))
    assert overlap(MeanSE(0.0, 10.0), MeanSE(1.0, 0.0))  # one inside the other
    assert overlap(MeanSE(1.0, 0.0), MeanSE(1.0, 0.0))


def test_the_best_set_is_who_overlaps_the_best_mean_not_who_overlaps_another_of_the_set():
    chain = {"a": MeanSE(0.0, 1.0), "b": MeanSE(2.0, 1.0), "c": MeanSE(4.0, 1.0)}
    assert best_set(chain) == ["a", "b"]
    assert best_set(chain, highest=True) == ["b", "c"]


def test_a_wide_interval_that_reaches_beyond_the_best_is_in_its_set():
    assert best_set({"a": MeanSE(0.0, 0.1), "b": MeanSE(9.0, 10.0)}) == ["a", "b"]


def test_of_equal_best_means_either_leads():
    found = {"a": MeanSE(0.0, 0.0), "b": MeanSE(0.0, 2.0), "c": MeanSE(1.0, 0.0)}
    assert best_set(found) == ["a", "b", "c"]


numbers = st.integers(-20, 20).map(lambda n: n / 4)
interval = st.tuples(numbers, numbers.map(abs)).map(lambda pair: MeanSE(*pair))
intervals = st.dictionaries(st.sampled_from("abcdef"), interval, min_size=1)


@given(intervals, st.booleans(), st.randoms())
def test_the_best_set_is_the_slow_obvious_one_in_any_order_and_mirrored(found, highest, random):
    top = (max if highest else min)(mean for mean, _ in found.values())
    expected = set()
    for name, (mean, se) in found.items():
        for other_mean, other_se in found.values():
            if other_mean == top and abs(mean - other_mean) <= se + other_se:
                expected.add(name)
    shuffled = dict(random.sample(list(found.items()), len(found)))
    mirrored = {name: MeanSE(-mean, se) for name, (mean, se) in found.items()}
    assert set(best_set(found, highest=highest)) == expected
    assert set(best_set(shuffled, highest=highest)) == expected
    assert set(best_set(mirrored, highest=not highest)) == expected
    assert any(found[name].mean == top for name in expected)


@pytest.mark.parametrize(
    ("claimed", "found", "expected"),
    [
        ("a", "a", "holds"),
        ("ab", "ba", "holds"),
        ("a", "ab", "partly"),
        ("ab", "abc", "partly"),
        ("ab", "a", "does not hold"),
        ("a", "b", "does not hold"),
        ("ab", "bc", "does not hold"),
    ],
)
def test_a_set_holds_if_it_is_the_one_found_and_partly_inside_a_larger_one(
    claimed, found, expected
):
    assert set_word(claimed, found) == expected


def test_of_many_parts_all_hold_or_none_or_it_is_partly():
    holds, partly, fails = "holds", "partly", "does not hold"
    assert together([holds, holds]) == holds
    assert together([fails, fails]) == fails
    for mixed in ([holds, fails], [partly, partly], [fails, partly], [holds, partly]):
        assert together(mixed) == partly
    assert (yes(True), yes(False)) == (holds, fails)


def test_entrants_are_named_without_the_settings_that_all_of_them_share():
    among = ("batch_ensemble last=1,n_hidden=9", "batch_ensemble last=2,n_hidden=9")
    assert names(among[:1], among) == "last=1"
    assert names(["single"], ("single", "mc_dropout")) == "single"


def test_a_paired_difference_has_students_interval_over_the_seeds_that_both_have():
    ours, theirs = {0: 1.0, 1: 2.0, 2: 5.0, 7: 9.0}, {0: 1.5, 1: 2.2, 2: 5.9, 3: 0.0}
    expected = stats.ttest_1samp([0.5, 0.2, 0.9], 0).confidence_interval(0.95)
    gap = paired_gap(ours, theirs)
    assert (gap.low, gap.high) == pytest.approx((expected.low, expected.high))
    assert paired_gap(ours, {0: 1.0}) is None
    assert paired_gap(ours, {0: 1.0, 1: np.inf}) is None


def test_seeds_that_differ_more_than_methods_hide_a_difference_from_intervals_but_not_from_pairs():
    seeds = np.array([0.0, 3.0, 1.0, 5.0, 2.0])
    noise = 0.01 * np.array([1, -1, 0, 1, -1])
    values = {"a": seeds, "b": seeds + 0.1 + noise, "c": seeds + noise}
    intervals = {name: MeanSE.of(own.tolist()) for name, own in values.items()}
    assert best_set(intervals) == ["a", "b", "c"]
    assert paired_best_set(values) == ["a", "c"]
    assert paired_best_set(values, highest=True) == ["b"]


def test_with_more_seeds_a_paired_difference_is_decided_that_five_leave_open():
    gaps = np.tile([1.2, -0.5, 1.0, -0.2, 0.6], 4)
    for n, expected in ((5, ["a", "b"]), (20, ["a"])):
        assert paired_best_set({"a": np.zeros(n), "b": gaps[:n]}) == expected
