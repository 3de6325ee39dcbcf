import numpy as np
import pytest

from batchensemble.metrics import LEVELS
from batchensemble.study.evidence import (
    ALL,
    BE,
    CHANGE,
    DE,
    EPISTEMIC,
    ID,
    MC,
    N_PARAMETERS,
    RMSE,
    SHIFT,
    TOTAL,
    Evidence,
    Place,
    S,
    Sample,
)
from batchensemble.study.limits import (
    Faster,
    at_most,
    changes_within,
    covers,
    fewer,
    grows,
    increases_by,
    is_most_of_growth,
    similar,
    trend,
)
from batchensemble.study.spec import Run, Settings
from batchensemble.study.store import Result

HERE = Place("adult", ID)
JUST_ABOVE, JUST_BELOW = np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0)


def judge(check, **means):
    """The verdict of samples that are alike in all seeds."""
    assert means.keys() == check.reads.keys()
    return check.judge({label: Sample(np.tile(mean, (5, 1))) for label, mean in means.items()})


def holds(check, **means):
    return {"holds": True, "does not hold": False}[judge(check, **means)[0]]


def test_a_mean_may_be_at_its_limit_and_not_beyond():
    check = at_most(HERE, EPISTEMIC, BE, 1.0)
    assert holds(check, batch_ensemble=1.0)
    assert not holds(check, batch_ensemble=JUST_ABOVE)


def test_a_change_within_a_limit_may_go_either_way_an_increase_only_up():
    within, increase = (
        make("adult", EPISTEMIC, BE, 1.0) for make in (changes_within, increases_by)
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
    check = is_most_of_growth("adult", EPISTEMIC, TOTAL, BE)
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
    check = similar(HERE, EPISTEMIC, 1.5)
    means = dict.fromkeys(ALL, 1.0)
    assert holds(check, **means)
    assert holds(check, **means | {MC: 1.5})
    assert not holds(check, **means | {MC: 1.51})
    assert not holds(check, **means | {MC: 1.3, S: 0.8})


def test_fewer_parameters_are_under_the_share_not_at_it():
    check = fewer(HERE, N_PARAMETERS, BE, DE, 0.25)
    assert holds(check, batch_ensemble=24, deep_ensemble=100)
    assert not holds(check, batch_ensemble=25, deep_ensemble=100)


def reordered(*swaps):
    """15 ranks in which these pairs have changed places."""
    ranks = np.arange(15.0)
    for a, b in swaps:
        ranks[[a, b]] = ranks[[b, a]]
    return ranks


def test_a_curve_rises_from_a_rank_correlation_of_nine_tenths_on():
    rising, falling = (trend(HERE, RMSE, BE, way) for way in ("rises", "falls"))
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
    over, under = (covers(HERE, BE, way) for way in ("over", "under"))
    for n, expected in ((39, True), (36, True), (35, False), (0, False)):
        above = LEVELS + np.where(np.arange(39) < n, 0.01, 0.0)  # the rest are met exactly
        assert holds(over, batch_ensemble=above) == expected
        assert holds(under, batch_ensemble=2 * LEVELS - above) == expected
        assert not holds(under, batch_ensemble=above)


FASTER = Faster(BE, "deep_ensemble one by one", DE, ("adult", "phoneme"))


def runs(*datasets, settings=None):
    return [
        Result(Run(dataset, ID, method, seed, settings or Settings()), {})
        for dataset in datasets
        for method in (BE, DE)
        for seed in range(5)
    ]


def cost(entrant, train, predict, dataset="adult", device="cpu"):
    return {
        "device": device,
        "dataset": dataset,
        "entrant": entrant,
        "n_parameters": 1,
        "train_seconds": train,
        "predict_seconds": predict,
        "peak_bytes": None,
    }


def test_faster_is_said_of_every_device_and_dataset_for_training_and_predicting():
    costs = [
        cost(BE, 1.0, 2.0),
        cost("deep_ensemble one by one", 1.5, 2.0),
        cost("single", 0.1, 0.1),
        cost(BE, 3.0, 1.0, device="a GPU"),
        cost("deep_ensemble one by one", 2.0, 4.0, device="a GPU"),
        cost(BE, 3.0, 1.0, dataset="seasonal"),
    ]
    evidence = Evidence(runs("adult"), costs)
    parts = FASTER.parts(evidence)
    assert [(part.text.split(" batch_ensemble ")[0], part.verdict) for part in parts] == [
        ("adult on cpu:", "holds"),
        ("adult on cpu:", "does not hold"),
        ("adult on a GPU:", "does not hold"),
        ("adult on a GPU:", "holds"),
    ]
    assert parts[0].numbers == {"seconds": {BE: 1.0, "deep_ensemble one by one": 1.5}}
    assert all(part.counts for part in parts)
    assert FASTER.needs(evidence) == []


def test_without_a_rivals_costs_or_full_runs_seconds_are_shown_unjudged():
    both = [cost(BE, 1.0, 2.0), cost("deep_ensemble one by one", 3.0, 3.0)]
    for results, costs, missing in (
        (runs("adult"), both[:1], ["costs of"]),
        (runs("adult", settings=Settings(epochs=1)), both, ["full runs of five seeds of"] * 2),
    ):
        evidence = Evidence(results, costs)
        parts = FASTER.parts(evidence)
        assert [part.verdict for part in parts] == [None, None]
        assert parts[0].numbers["seconds"][BE] == 1.0
        assert [need.what for need in FASTER.needs(evidence)] == missing
    assert FASTER.needs(Evidence(runs("adult"))) == [("measured costs", "", "")]


def test_what_does_not_count_needs_nothing_and_says_so():
    beside = Faster(BE, DE, DE, ("adult",), note=" vectorised (does not count)", counts=False)
    evidence = Evidence(runs("adult"), [cost(BE, 1.0, 2.0)])
    assert beside.needs(evidence) == []
    parts = beside.parts(evidence)
    assert not any(part.counts for part in parts)
    assert parts[0].text.endswith("trains faster than deep_ensemble vectorised (does not count)")


@pytest.mark.parametrize("variant", [ID, SHIFT])
def test_texts_name_the_place_and_the_rule(variant):
    assert trend(Place("adult", variant), RMSE, BE, "rises").text == (
        f"adult {variant}: RMSE of batch_ensemble rises with coverage (|Spearman| at least 0.9)"
    )
