import numpy as np
import pytest
from scipy import stats

from batchensemble.metrics import LEVELS
from batchensemble.plots.sheets import MeanSE
from batchensemble.study.claim_words import (
    ACCURACY,
    EPISTEMIC,
    N_PARAMETERS,
    NLL,
    RMSE,
    TOTAL,
    beats,
    best,
    covers,
    grows,
    growth,
    kept,
    mean,
    ranking,
    trend,
)
from batchensemble.study.results import CHANGE, ID, SHIFT, Place, Sample, Study
from batchensemble.study.spec import Run
from batchensemble.study.statements import (
    ALL,
    BE,
    DE,
    MC,
    Best,
    Bound,
    Need,
    Reading,
    S,
    jackknife,
)
from batchensemble.study.store import Result

HERE = "adult id"
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


# A number against a limit -------------------------------------------------------------------

THERE = Place("adult", ID)
JUST_ABOVE, JUST_BELOW = np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0)


def judge(check, **means):
    """The verdict of samples that are alike in all seeds."""
    assert means.keys() == check.reads.keys()
    return check.judge({label: Sample(np.tile(mean, (5, 1))) for label, mean in means.items()})


def holds(check, **means):
    return {"holds": True, "does not hold": False}[judge(check, **means)[0]]


def test_a_mean_may_be_at_its_limit_and_not_beyond():
    check = mean(HERE, EPISTEMIC, BE, "at most", 1.0)
    assert holds(check, batch_ensemble=1.0)
    assert not holds(check, batch_ensemble=JUST_ABOVE)


def test_a_change_within_a_limit_may_go_either_way_an_increase_only_up():
    within, increase = (
        mean("adult shift - id", EPISTEMIC, BE, sign, 1.0) for sign in ("within", "at least")
    )
    for change, is_within, is_increase in (
        (1.0, True, True),
        (JUST_ABOVE, False, True),
        (JUST_BELOW, True, False),
        (0.0, True, False),
        (-1.0, True, False),
        (-JUST_ABOVE, False, False),
    ):
        assert holds(within, **{CHANGE: change}) == is_within
        assert holds(increase, **{CHANGE: change}) == is_increase


def test_growth_is_the_ratio_of_the_means_and_may_be_at_its_limit():
    most, least = (grows("adult", RMSE, BE, how, 2.5) for how in ("at most", "at least"))
    for shifted, is_most, is_least in ((10.0, True, True), (9.9, True, False), (10.1, False, True)):
        assert holds(most, id=4.0, shift=shifted) == is_most
        assert holds(least, id=4.0, shift=shifted) == is_least
    assert judge(most, id=4.0, shift=2.0)[1] == {"ratio": 0.5}


def test_growth_from_nothing_is_without_limit_and_nothing_to_nothing_is_none():
    least = grows("adult", EPISTEMIC, BE, "at least", 10)
    assert judge(least, id=0.0, shift=0.1) == ("holds", {"ratio": None})
    assert judge(least, id=0.0, shift=0.0) == ("does not hold", {"ratio": 1.0})
    assert not holds(grows("adult", EPISTEMIC, BE, "at most", 10), id=0.0, shift=0.1)


def test_half_of_the_growth_is_not_most_of_it_and_without_growth_there_is_none():
    check = growth("adult", EPISTEMIC, TOTAL, BE)
    for epistemic, total, expected in (
        (0.5, 1.0, False),
        (0.51, 1.0, True),
        (-0.9, -1.0, False),
        (0.1, 0.0, False),
        (0.2, -0.1, False),
    ):
        found = holds(check, **{EPISTEMIC.name: epistemic, TOTAL.name: total})
        assert found == expected
    assert judge(check, **{EPISTEMIC.name: 1.0, TOTAL.name: 0.0})[1] == {"share": None}


def test_similar_compares_the_largest_with_the_smallest():
    check = Bound(tuple(Reading(THERE, who, EPISTEMIC) for who in ALL), "spread", "at most", 1.5)
    means = dict.fromkeys(ALL, 1.0)
    assert holds(check, **means)
    assert holds(check, **means | {MC: 1.5})
    assert not holds(check, **means | {MC: 1.51})
    assert not holds(check, **means | {MC: 1.3, S: 0.8})


def test_fewer_parameters_are_under_the_share_not_at_it():
    sizes = tuple(Reading(THERE, who, N_PARAMETERS) for who in (BE, DE))
    check = Bound(sizes, "ratio", "under", 0.25)
    assert holds(check, batch_ensemble=24, deep_ensemble=100)
    assert not holds(check, batch_ensemble=25, deep_ensemble=100)


def reordered(*swaps):
    """15 ranks in which these pairs have changed places."""
    ranks = np.arange(15.0)
    for a, b in swaps:
        ranks[[a, b]] = ranks[[b, a]]
    return ranks


def test_a_curve_rises_from_a_rank_correlation_of_nine_tenths_on():
    rising, falling = (trend(HERE, BE, rises=rises) for rises in (True, False))
    # Spearman's rank correlation is 1 - 6 d / (15 * (15 ** 2 - 1)), d the squared differences.
    at_limit = reordered((0, 5), (6, 7), (8, 9), (10, 11))
    below = reordered((0, 5), (6, 7), (8, 9), (10, 11), (12, 13))
    assert np.sum((at_limit - np.arange(15)) ** 2) == 56
    assert judge(rising, batch_ensemble=at_limit) == ("holds", {"spearman": 0.9})
    for curve, is_rising in (
        (np.exp(np.arange(15.0)), True),
        (at_limit, True),
        (below, False),
        (np.arange(15.0)[::-1], False),
        (np.ones(15), False),
    ):
        assert holds(rising, batch_ensemble=curve) == is_rising
        assert holds(falling, batch_ensemble=-curve) == is_rising
    assert judge(rising, batch_ensemble=np.ones(15)) == ("does not hold", {"spearman": 0.0})


def test_over_covering_is_more_than_nominal_at_36_of_39_levels():
    over, under = (covers(HERE, BE, side) for side in ("above", "below"))
    for n, expected in ((39, True), (36, True), (35, False), (0, False)):
        above = LEVELS + np.where(np.arange(39) < n, 0.01, 0.0)  # the rest are met exactly
        assert holds(over, batch_ensemble=above) == expected
        assert holds(under, batch_ensemble=2 * LEVELS - above) == expected
        assert not holds(under, batch_ensemble=above)


@pytest.mark.parametrize("variant", [ID, SHIFT])
def test_texts_name_the_place_and_the_rule(variant):
    assert trend(f"adult {variant}", BE).text == (
        f"adult {variant}: RMSE of batch_ensemble rises with coverage (|Spearman| at least 0.9)"
    )


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


def judged(values, sign, limit, *, paired=True):
    own = Sample(np.array(values, dtype=float)[:, None])
    bound = Bound((Reading(Place("a", ID), "single", RMSE),), "mean", sign, limit)
    return bound.judge(dict.fromkeys(bound.reads, own), paired=paired)[0]


@pytest.mark.parametrize(
    ("sign", "limit", "word"),
    [
        ("at most", 3.0, "holds"),
        ("at most", 1.1, "partly"),
        ("at most", -1.0, "does not hold"),
        ("at least", -1.0, "holds"),
        ("at least", 0.9, "partly"),
        ("at least", 3.0, "does not hold"),
        ("within", 3.0, "holds"),
        ("within", 1.1, "partly"),
        ("within", 0.01, "does not hold"),
    ],
)
def test_by_pairs_the_whole_interval_has_to_be_on_the_side_of_the_limit(sign, limit, word):
    values = [0.8, 0.9, 1.0, 1.1, 1.2]  # the mean is 1, its 95 % interval 0.80 to 1.20
    assert judged(values, sign, limit) == word


def test_an_interval_around_zero_that_leaves_the_limits_is_within_them_only_partly():
    assert judged([-2, -1, 0, 1, 2], "within", 0.5) == "partly"
    assert judged([-2, -1, 0, 1, 2], "within", 9.0) == "holds"


def test_the_interval_of_a_mean_is_students_and_that_of_equal_seeds_a_point():
    values = np.array([0.8, 0.9, 1.0, 1.1, 1.5])
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    gap = jackknife(lambda samples: samples[0].mean, [Sample(values[:, None])])
    assert (gap.low, gap.high) == pytest.approx((expected.low, expected.high))
    assert judged([2, 2, 2], "at most", 2.0) == "holds"
    assert judged([1, 2], "at most", 1.6) == "holds"  # two seeds have no jackknife
