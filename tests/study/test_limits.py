import numpy as np
import pytest
from scipy import stats

from batchensemble.metrics import LEVELS
from batchensemble.study.claim_words import (
    EPISTEMIC,
    N_PARAMETERS,
    RMSE,
    TOTAL,
    covers,
    grows,
    growth,
    mean,
    trend,
)
from batchensemble.study.limits import Bound, jackknife
from batchensemble.study.results import CHANGE, ID, SHIFT, Place, Sample
from batchensemble.study.statements import ALL, BE, DE, MC, Reading, S

HERE = "adult id"
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
