import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchensemble.plots.sheets import MeanSE
from batchensemble.study.checks import (
    Check,
    alike,
    among_best,
    beats,
    best_set,
    better_on_most,
    not_always_best,
    not_among_best,
    not_worse,
    overlap,
    ranking,
    set_word,
    tie,
    together,
    yes,
)
from batchensemble.study.evidence import (
    ACCURACY,
    ALL,
    BE,
    DE,
    ID,
    MC,
    NLL,
    RMSE,
    Evidence,
    Place,
    Quantity,
    Reading,
    S,
    Sample,
    kept,
)
from batchensemble.study.spec import Run
from batchensemble.study.store import Result

HERE = Place("adult", ID)
PATTERN = np.array([-3, -1, 0, 1, 3])  # its standard error is 1


def sample(mean, se=1.0):
    return Sample(np.atleast_1d(mean) + np.outer(PATTERN, np.atleast_1d(se)))


def judge(check, *means, se=1.0):
    return check.judge({who: sample(m, se) for who, m in zip(check.reads, means, strict=True)})


def word(check, *means, se=1.0):
    return judge(check, *means, se=se)[0]


def test_the_patterns_standard_error_is_exactly_what_is_asked():
    assert sample(8.0, 0.25).interval == MeanSE(8.0, 0.25)


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


def test_a_claimed_winner_that_touches_another_wins_partly():
    best = tie(HERE, NLL, BE)
    assert word(best, 0.0, 2.25, 3.0, 3.0) == "holds"
    assert judge(best, 0.0, 2.0, 3.0, 3.0) == ("partly", {"best_set": [BE, DE]})
    assert word(best, 2.0, 0.0, 3.0, 3.0) == "partly"
    assert word(best, 2.25, 0.0, 3.0, 3.0) == "does not hold"


def test_more_accuracy_is_better_and_less_of_all_else():
    assert word(tie(HERE, ACCURACY, BE), 9.0, 0.0, 0.0, 0.0) == "holds"
    assert word(tie(HERE, NLL, BE), 9.0, 0.0, 0.0, 0.0) == "does not hold"
    assert word(tie(HERE, NLL, BE, extreme="worst"), 9.0, 0.0, 0.0, 0.0) == "holds"
    assert word(tie(HERE, ACCURACY, BE, extreme="worst"), -9.0, 0.0, 0.0, 0.0) == "holds"
    assert word(tie(HERE, ACCURACY, BE, extreme="lowest"), -9.0, 0.0, 0.0, 0.0) == "holds"
    assert word(tie(HERE, NLL, BE, extreme="highest"), 9.0, 0.0, 0.0, 0.0) == "holds"


def test_a_tie_of_all_holds_or_does_not():
    everybody = tie(HERE, RMSE, *ALL)
    assert word(everybody, 0.0, 1.0, 2.0, 2.0) == "holds"
    assert word(everybody, 0.0, 1.0, 2.0, 2.25) == "does not hold"


def test_next_is_the_best_of_those_left_by_the_claim_whoever_was_found_best():
    first, second, third = ranking(HERE, NLL, BE, (DE, MC), S)
    assert (list(first.reads), list(second.reads), list(third.reads)) == (
        [BE, DE, MC, S],
        [DE, MC, S],
        [S],
    )
    assert word(second, 4.0, 6.0, 9.0) == "holds"
    assert word(second, 4.0, 6.0, 6.0) == "partly"
    assert word(second, 4.0, 9.0, 9.0) == "does not hold"
    assert "among {deep_ensemble, mc_dropout, single}" in second.text


def test_of_a_curve_every_point_is_a_statement_of_its_own():
    pair = tie(HERE, kept(RMSE, 30, 35), BE, among=(BE, DE))
    assert word(pair, [0.0, 0.0], [3.0, 3.0], se=[1.0, 1.0]) == "holds"
    assert judge(pair, [0.0, 0.0], [3.0, -3.0], se=[1.0, 1.0]) == (
        "partly",
        {"best_sets": [[BE], [DE]]},
    )
    assert word(pair, [0.0, 0.0], [-3.0, -3.0], se=[1.0, 1.0]) == "does not hold"
    assert word(pair, [0.0, 0.0], [1.0, 1.0], se=[1.0, 1.0]) == "partly"


def test_alike_are_two_whose_intervals_overlap():
    assert word(alike(HERE, NLL, DE, MC), 0.0, 2.0) == "holds"
    assert word(alike(HERE, NLL, DE, MC), 2.0, 0.0) == "holds"
    assert word(alike(HERE, NLL, DE, MC), 0.0, 2.25) == "does not hold"


def test_not_worse_is_better_or_overlapping():
    check = not_worse(HERE, NLL, BE, MC)
    assert word(check, 0.0, 9.0) == "holds"
    assert word(check, 2.0, 0.0) == "holds"
    assert word(check, 2.25, 0.0) == "does not hold"
    assert word(not_worse(HERE, ACCURACY, BE, MC), 2.25, 0.0) == "holds"


@pytest.mark.parametrize(("wins", "expected"), [(2, "does not hold"), (3, "holds")])
def test_most_is_more_than_half_and_an_overlap_is_no_win(wins, expected):
    places = [Place(name, ID) for name in "abcd"]
    check = better_on_most(places, NLL, BE, MC)
    means = [m for i in range(4) for m in ((0.0, 3.0) if i < wins else (0.0, 2.0))]
    assert judge(check, *means) == (
        expected,
        {"better": [f"{name} id" for name in "abcd"[:wins]], "of": 4},
    )


def runs(*methods, n_seeds=5):
    return [
        Result(Run("adult", ID, method, seed), {"nll": float(i)})
        for i, method in enumerate(methods)
        for seed in range(n_seeds)
    ]


def test_numbers_are_shown_of_whoever_is_there_and_judged_if_all_are():
    check = tie(HERE, NLL, BE)
    (part,) = check.parts(Evidence(runs(*ALL)))
    assert (part.verdict, part.counts) == ("holds", True)
    assert part.numbers == {
        BE: [0.0, 0.0],
        DE: [1.0, 0.0],
        MC: [2.0, 0.0],
        S: [3.0, 0.0],
        "best_set": [BE],
    }
    (part,) = check.parts(Evidence(runs(BE, DE)))
    assert part.verdict is None
    assert part.numbers == {BE: [0.0, 0.0], DE: [1.0, 0.0]}
    (part,) = check.parts(Evidence(runs(*ALL, n_seeds=4)))
    assert part.verdict is None
    assert part.numbers["best_set"] == [BE]


def test_a_check_judges_only_what_it_reads():
    alone = Quantity("nothing", lambda result: 1.0)
    check = Check("says so", {"x": Reading(HERE, BE, alone)}, lambda samples: ("holds", {}))
    (part,) = check.parts(Evidence(runs(BE)))
    assert part.verdict == "holds"
    (part,) = check.parts(Evidence(runs(DE)))
    assert (part.verdict, part.numbers) == (None, {})
    assert [need.who for need in check.needs(Evidence(runs(DE)))] == [BE]


def test_one_beats_another_partly_only_where_the_order_is_as_claimed():
    check = beats(HERE, RMSE, BE, DE)
    assert word(check, 0.0, 5.0) == "holds"
    assert word(check, 0.0, 1.0) == "partly"  # intervals overlap
    assert word(check, 1.0, 0.0) == "does not hold"  # they overlap, but the other is ahead
    assert word(check, 5.0, 0.0) == "does not hold"
    assert word(beats(HERE, ACCURACY, BE, DE), 5.0, 0.0) == "holds"
    assert word(beats(HERE, RMSE, BE, DE, extreme="highest"), 5.0, 0.0) == "holds"


def test_a_curve_beats_another_where_it_does_so_at_every_point():
    check = beats(HERE, kept(RMSE), BE, DE)
    assert word(check, [0.0, 0.0], [9.0, 9.0], se=[1.0, 1.0]) == "holds"
    assert word(check, [0.0, 9.0], [9.0, 0.0], se=[1.0, 1.0]) == "partly"
    assert word(check, [1.0, 9.0], [0.0, 0.0], se=[1.0, 1.0]) == "does not hold"


def test_among_the_best_is_alone_or_with_others():
    check = among_best(HERE, NLL, BE, (BE, DE, MC))
    assert word(check, 0.0, 9.0, 9.0) == "holds"
    assert word(check, 1.0, 0.0, 9.0) == "holds"
    assert word(check, 9.0, 0.0, 0.0) == "does not hold"


def test_outside_the_best_set_is_asked_of_each():
    check = not_among_best(HERE, NLL, (BE, DE), (BE, DE, MC))
    assert word(check, 9.0, 9.0, 0.0) == "holds"
    assert word(check, 1.0, 9.0, 0.0) == "partly"
    assert word(check, 1.0, 1.0, 0.0) == "does not hold"


def test_not_always_best_needs_one_place_outside():
    there = Place("phoneme", ID)
    check = not_always_best([(HERE, NLL), (there, RMSE)], BE, (BE, DE))
    assert word(check, 0.0, 9.0, 9.0, 0.0) == "holds"
    assert word(check, 0.0, 9.0, 0.0, 9.0) == "does not hold"
