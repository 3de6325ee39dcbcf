import numpy as np
import pytest

from batchensemble.plots.sheets import MeanSE
from batchensemble.study.claim_words import (
    ACCURACY,
    NLL,
    RMSE,
    beats,
    best,
    kept,
    mean,
    ranking,
)
from batchensemble.study.results import CHANGE, ID, SHIFT, Place, Sample, Study
from batchensemble.study.spec import Run
from batchensemble.study.statements import ALL, BE, DE, MC, Best, Need, Reading, S
from batchensemble.study.store import Result

HERE = "adult id"
THERE = Place("adult", ID)
PATTERN = np.array([-3, -1, 0, 1, 3])  # its standard error is 1


def sample(mean, se=1.0):
    return Sample(np.atleast_1d(mean) + np.outer(PATTERN, np.atleast_1d(se)))


def compared(statement, *means, se=1.0):
    labels = zip(statement.reads, means, strict=True)
    return statement.judge({label: sample(m, se) for label, m in labels})


def word(statement, *means, se=1.0):
    return compared(statement, *means, se=se)[0]


def test_the_patterns_standard_error_is_exactly_what_is_asked():
    assert sample(8.0, 0.25).intervals == [MeanSE(8.0, 0.25)]


# Who is best -------------------------------------------------------------------------------


def test_a_claimed_winner_that_touches_another_wins_partly():
    alone = best(HERE, NLL, BE)
    assert word(alone, 0.0, 2.25, 3.0, 3.0) == "holds"
    assert compared(alone, 0.0, 2.0, 3.0, 3.0) == ("partly", {"best_set": [BE, DE]})
    assert word(alone, 2.0, 0.0, 3.0, 3.0) == "partly"
    assert word(alone, 2.25, 0.0, 3.0, 3.0) == "does not hold"


def test_more_accuracy_is_better_and_less_of_all_else():
    assert word(best(HERE, ACCURACY, BE), 9.0, 0.0, 0.0, 0.0) == "holds"
    assert word(best(HERE, NLL, BE), 9.0, 0.0, 0.0, 0.0) == "does not hold"
    assert word(best(HERE, NLL, BE, extreme="worst"), 9.0, 0.0, 0.0, 0.0) == "holds"
    assert word(best(HERE, ACCURACY, BE, extreme="worst"), -9.0, 0.0, 0.0, 0.0) == "holds"
    assert word(best(HERE, ACCURACY, BE, extreme="lowest"), -9.0, 0.0, 0.0, 0.0) == "holds"
    assert word(best(HERE, NLL, BE, extreme="highest"), 9.0, 0.0, 0.0, 0.0) == "holds"


def test_a_tie_of_all_holds_or_does_not():
    everybody = best(HERE, RMSE, *ALL)
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
    pair = best(HERE, kept(RMSE, 30, 35), BE, among=(BE, DE))
    assert word(pair, [0.0, 0.0], [3.0, 3.0], se=[1.0, 1.0]) == "holds"
    assert compared(pair, [0.0, 0.0], [3.0, -3.0], se=[1.0, 1.0]) == (
        "partly",
        {"best_sets": [[BE], [DE]]},
    )
    assert word(pair, [0.0, 0.0], [-3.0, -3.0], se=[1.0, 1.0]) == "does not hold"
    assert word(pair, [0.0, 0.0], [1.0, 1.0], se=[1.0, 1.0]) == "partly"


def test_alike_are_two_whose_intervals_overlap():
    assert word(best(HERE, NLL, DE, MC, among=(DE, MC)), 0.0, 2.0) == "holds"
    assert word(best(HERE, NLL, DE, MC, among=(DE, MC)), 2.0, 0.0) == "holds"
    assert word(best(HERE, NLL, DE, MC, among=(DE, MC)), 0.0, 2.25) == "does not hold"


def test_not_worse_is_better_or_overlapping():
    check = best(HERE, NLL, BE, among=(BE, MC), rule="in")
    assert word(check, 0.0, 9.0) == "holds"
    assert word(check, 2.0, 0.0) == "holds"
    assert word(check, 2.25, 0.0) == "does not hold"
    assert word(best(HERE, ACCURACY, BE, among=(BE, MC), rule="in"), 2.25, 0.0) == "holds"


@pytest.mark.parametrize(("wins", "expected"), [(2, "does not hold"), (3, "holds")])
def test_most_is_more_than_half_and_an_overlap_is_no_win(wins, expected):
    places = [Place(name, ID) for name in "abcd"]
    check = Best(tuple((place, NLL) for place in places), (BE,), (BE, MC), count="most")
    means = [m for i in range(4) for m in ((0.0, 3.0) if i < wins else (0.0, 2.0))]
    assert compared(check, *means) == (
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
    check = best(HERE, NLL, BE)
    (part,) = check.parts(Study(runs(*ALL)))
    assert (part.verdict, part.counts) == ("holds", True)
    assert part.numbers == {
        BE: [0.0, 0.0],
        DE: [1.0, 0.0],
        MC: [2.0, 0.0],
        S: [3.0, 0.0],
        "best_set": [BE],
    }
    (part,) = check.parts(Study(runs(BE, DE)))
    assert part.verdict is None
    assert part.numbers == {BE: [0.0, 0.0], DE: [1.0, 0.0]}
    (part,) = check.parts(Study(runs(*ALL, n_seeds=4)))
    assert part.verdict is None
    assert part.numbers["best_set"] == [BE]


def test_a_statement_judges_only_what_it_reads():
    check = mean(HERE, NLL, BE, "at most", 1.0)
    (part,) = check.parts(Study(runs(BE)))
    assert part.verdict == "holds"
    (part,) = check.parts(Study(runs(DE)))
    assert (part.verdict, part.numbers) == (None, {})
    assert [need.who for need in check.needs(Study(runs(DE)))] == [BE]


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
    check = best(HERE, NLL, BE, among=(BE, DE, MC), rule="in")
    assert word(check, 0.0, 9.0, 9.0) == "holds"
    assert word(check, 1.0, 0.0, 9.0) == "holds"
    assert word(check, 9.0, 0.0, 0.0) == "does not hold"


def test_outside_the_best_set_is_asked_of_each():
    check = best(HERE, NLL, BE, DE, among=(BE, DE, MC), rule="out")
    assert word(check, 9.0, 9.0, 0.0) == "holds"
    assert word(check, 1.0, 9.0, 0.0) == "partly"
    assert word(check, 1.0, 1.0, 0.0) == "does not hold"


def test_not_always_best_needs_one_place_outside():
    there = Place("phoneme", ID)
    where = ((Place("adult", ID), NLL), (there, RMSE))
    check = Best(where, (BE,), (BE, DE), "out", count="some")
    assert word(check, 0.0, 9.0, 9.0, 0.0) == "holds"
    assert word(check, 0.0, 9.0, 0.0, 9.0) == "does not hold"


# What is missing ---------------------------------------------------------------------------


def full(values, variant=ID):
    return [Result(Run("adult", variant, BE, seed), {"rmse": v}) for seed, v in enumerate(values)]


def needs(results, place=THERE):
    return Reading(place, BE, RMSE).needs(Study(results))


def test_what_a_reading_waits_for_is_full_runs_and_then_finite_numbers():
    runs_of_five = "full runs of five seeds of"
    assert needs(full([1.0] * 5)) == []
    assert needs(full([1.0] * 4)) == needs([]) == [Need(runs_of_five, "adult id", BE)]
    for value in (np.nan, np.inf, 1e200):
        expected = [Need("finite RMSE in every seed of", "adult id", BE)]
        assert needs(full([value, 1.0, 1.0, 1.0, 1.0])) == expected
    lost = [*full([1.0] * 4), Result(Run("adult", ID, BE, 4), {"diverged": 1.0})]
    assert needs(lost)[0].what == "finite RMSE in every seed of"


def test_a_change_needs_both_variants():
    place, before, after = Place("adult", CHANGE), full([1.0] * 5), full([2.0] * 5, SHIFT)
    assert needs([*before, *after], place) == []
    assert [need.where for need in needs(before, place)] == ["adult shift"]
    assert [need.where for need in needs([], place)] == ["adult shift", "adult id"]


def test_a_curve_of_accuracy_is_the_better_the_higher_it_is():
    assert kept(ACCURACY, 30, 35).up
    assert not kept(RMSE, 30, 35).up
