import numpy as np
import pytest
from scipy.stats import sem

from batchensemble.metrics import COVERAGES
from batchensemble.study.evidence import (
    ACCURACY,
    ALL,
    BE,
    CHANGE,
    EMPIRICAL,
    FULL,
    ID,
    NLL,
    RMSE,
    SHIFT,
    Evidence,
    Need,
    Place,
    Reading,
    area,
    kept,
    write_needs,
)
from batchensemble.study.spec import PLAIN, Change, Run, Settings
from batchensemble.study.store import Result

HERE = Place("diabetes", ID)
QUICK = Settings(epochs=1)


def result(value, seed=0, variant=ID, settings=FULL, change=PLAIN, **curves):
    run = Run("diabetes", variant, BE, seed, settings, change)
    return Result(run, {"rmse": value}, curves)


def read(results, place=HERE, quantity=RMSE, entrant=BE):
    return Evidence(results).sample(Reading(place, entrant, quantity))


def needs(results, place=HERE, quantity=RMSE):
    return Evidence(results).needs(Reading(place, BE, quantity))


def test_a_sample_has_one_value_for_each_seed_in_their_order():
    values = [0.3, 0.1, 0.7, 0.2, 0.5]
    results = [result(values[seed], seed) for seed in (3, 0, 4, 1, 2)]
    sample = read(results)
    np.testing.assert_array_equal(sample.values, np.array(values)[:, None])
    assert sample.interval.mean == pytest.approx(np.mean(values))
    assert sample.interval.se == pytest.approx(sem(values))
    assert sample.as_json() == [sample.interval.mean, sample.interval.se]
    assert needs(results) == []


def test_full_runs_go_before_others_and_the_five_seeds_before_more():
    quick = [result(9.0, seed, settings=QUICK) for seed in range(5)]
    full = [result(float(seed), seed) for seed in range(7)]
    assert read([*quick, *full]).values.ravel().tolist() == [0, 1, 2, 3, 4]
    assert read([*full[:3], *quick]).values.ravel().tolist() == [0, 1, 2]
    assert read(quick).values.ravel().tolist() == [9.0] * 5


@pytest.mark.parametrize(
    "results",
    [
        [],
        [result(1.0, seed) for seed in range(4)],
        [result(1.0, seed) for seed in range(1, 6)],
        [result(1.0, seed, settings=QUICK) for seed in range(5)],
        [*(result(1.0, seed) for seed in range(4)), result(1.0, 4, settings=QUICK)],
        [result(1.0, seed, variant=SHIFT) for seed in range(5)],
        [result(1.0, seed, change=Change(matched=True)) for seed in range(5)],
    ],
)
def test_anything_but_the_five_full_seeds_is_missing_full_runs(results):
    assert needs(results) == [Need("full runs of five seeds of", "diabetes id", BE)]


def test_changed_runs_are_other_entrants():
    results = [result(5.0, change=Change(matched=True))]
    assert read(results) is None
    assert read(results, entrant="batch_ensemble matched=True").interval.mean == 5.0


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_full_runs_without_a_finite_interval_are_no_sample_and_it_is_said(value):
    results = [result(1.0 if seed else value, seed) for seed in range(5)]
    assert read(results) is None
    assert needs(results) == [Need("finite RMSE in every seed of", "diabetes id", BE)]


def test_a_run_lost_in_training_has_no_number():
    results = [result(1.0, seed) for seed in range(4)]
    results.append(Result(Run("diabetes", ID, BE, 4), {"diverged": 1.0}))
    assert read(results) is None
    assert needs(results)[0].what == "finite RMSE in every seed of"


def test_a_change_is_taken_seed_by_seed_and_needs_both_variants():
    place = Place("diabetes", CHANGE)
    before = [result(float(seed), seed) for seed in range(5)]
    after = [result(float(seed) ** 2, seed, SHIFT) for seed in range(5)]
    assert read([*before, *after], place).values.ravel().tolist() == [0, 0, 2, 6, 12]
    assert needs([*before, *after], place) == []
    assert read(before, place) is None
    assert [need.where for need in needs(before, place)] == ["diabetes shift"]
    assert [need.where for need in needs([], place)] == ["diabetes shift", "diabetes id"]
    some = [after[3], *before]
    assert read(some, place).values.ravel().tolist() == [6]


def test_a_range_of_coverages_includes_both_ends():
    values = (100 * COVERAGES).tolist()
    found = read([result(0.0, selective=values)], quantity=kept(RMSE, 45, 80))
    assert found.values.round().tolist() == [[45, 50, 55, 60, 65, 70, 75, 80]]
    assert read([result(0.0, selective=values)], quantity=kept(RMSE)).values.shape == (1, 15)
    assert kept(ACCURACY, 30, 35).up
    assert not kept(RMSE, 30, 35).up
    assert found.as_json() == {"mean": found.mean.tolist(), "se": [0.0] * 8}


def test_the_area_of_a_line_is_that_of_its_trapezoid():
    found = read([result(0.0, selective=(2 * COVERAGES).tolist())], quantity=area(RMSE))
    assert found.interval.mean == pytest.approx(1 - 0.3**2)


def test_a_curve_of_other_points_is_refused():
    for quantity, curves in (
        (kept(RMSE), {"selective": [1.0] * 14}),
        (EMPIRICAL, {"coverage": []}),
    ):
        with pytest.raises(ValueError, match=r"expected (15|39) points .*got (14|0); delete that"):
            read([result(0.0, **curves)], quantity=quantity)


def test_what_is_missing_is_said_once_and_entrants_are_named_where_some_are_there():
    whole = [Need("full runs of", "adult id", who) for who in ALL]
    some = [Need("full runs of", "phoneme id", "single")] * 2
    lost = [Need("finite NLL of", "adult id", BE), Need("costs")]
    assert write_needs([*whole, *some, *lost]) == (
        "needs full runs of: adult id, phoneme id (single); finite NLL of: adult id "
        "(batch_ensemble); costs"
    )
    assert write_needs([]) == ""


def test_places_and_metrics_nobody_has_are_no_sample():
    assert read([result(1.0)], quantity=NLL) is None
    assert read([result(1.0)], Place("adult", ID)) is None
