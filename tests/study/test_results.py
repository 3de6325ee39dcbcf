import numpy as np
import pandas as pd
import pytest
from scipy.stats import sem

from batchensemble.metrics import COVERAGES
from batchensemble.plots.sheets import MeanSE
from batchensemble.study.claim_words import COVERED, NLL, RMSE, RMSE_AREA, kept
from batchensemble.study.results import (
    CHANGE,
    FULL,
    ID,
    QUICK,
    SHIFT,
    UNFINISHED,
    Place,
    Study,
    label_of,
    write_runs,
)
from batchensemble.study.spec import PLAIN, Change, Run, Settings
from batchensemble.study.store import Result

BE = "batch_ensemble"
HERE = Place("diabetes", ID)
SHORT = Settings(epochs=1)


def result(value, seed=0, variant=ID, settings=FULL, change=PLAIN, **curves):
    run = Run("diabetes", variant, BE, seed, settings, change)
    return Result(run, {"rmse": value}, curves)


def read(results, place=HERE, quantity=RMSE, entrant=BE):
    return Study(results).sample(place, entrant, quantity)


def two_methods():
    return [
        Result(Run("adult", "id", method, seed), {"nll": seed + 0.1, "rmse": 2.0})
        for method in ("batch_ensemble", "single")
        for seed in range(3)
    ]


# The frame --------------------------------------------------------------------------------


def test_every_metric_of_every_run_has_a_row_in_the_file(tmp_path):
    path = tmp_path / "new" / "runs.csv"
    write_runs([*two_methods(), result(np.nan, selective=[0.0] * 15)], path)
    frame = pd.read_csv(path)
    assert list(frame) == ["dataset", "variant", "method", "seed", "metric", "value"]
    assert len(frame) == 2 * 3 * 2 + 1
    row = frame[(frame.method == "single") & (frame.seed == 2) & (frame.metric == "nll")]
    assert row.value.tolist() == [2.1]
    assert path.read_text().endswith("diabetes,id,batch_ensemble,0,rmse,nan\n")


# Means over seeds -------------------------------------------------------------------------


def test_numbers_over_seeds_are_the_mean_and_its_standard_error():
    means = Study(two_methods()).means(("adult", "id"), "nll")
    assert list(means) == ["batch_ensemble", "single"]
    for summary in means.values():
        assert summary.mean == pytest.approx(1.1)
        assert summary.se == pytest.approx(sem([0.1, 1.1, 2.1]))


def test_one_seed_has_no_standard_error_and_a_metric_nobody_has_no_methods():
    assert MeanSE.of([3.0]) == (3.0, 0.0)
    study = Study(two_methods())
    assert study.means(("adult", "id"), "accuracy") == {}
    assert study.mean(("adult", "id"), "single", "accuracy") is None
    assert study.mean(("adult", "shift"), "single", "nll") is None
    assert np.isfinite(MeanSE.of([1.0, 1.0]).se)


def test_a_run_that_diverged_is_counted_and_left_out_of_the_mean():
    results = [result(1.0, 0), result(3.0, 1)]
    results.append(Result(Run("diabetes", ID, BE, 2), {"diverged": 1.0}))
    study = Study(results)
    assert study.mean(HERE, BE, "rmse").mean == 2.0
    assert study.values(HERE, BE, "rmse") == {0: 1.0, 1: 3.0}
    assert study.n_diverged(HERE, BE) == 1


def test_the_methods_of_a_place_are_those_of_the_main_study_alone():
    changes = (PLAIN, Change(matched=True), Change(bounded=False), Change(dropout=0.5))
    runs = [
        Run(dataset, variant, method, seed, change=change)
        for dataset in ("adult", "diabetes")
        for variant in ("id", "shift")
        for method in ("single", "my method", "batch_ensemble")
        for change in changes
        for seed in range(2)
    ]
    study = Study([Result(run, {"nll": run.seed + 7.0 * (run.change != PLAIN)}) for run in runs])
    assert study.methods(("adult", "shift")) == ["batch_ensemble", "single", "my method"]
    assert study.places() == [
        ("adult", "id"), ("adult", "shift"), ("diabetes", "id"), ("diabetes", "shift")
    ]  # fmt: skip
    assert {cell.mean for cell in study.means(("adult", "shift"), "nll").values()} == {0.5}


# Samples, which verdicts are judged on -----------------------------------------------------


def test_a_sample_has_one_value_for_each_seed_in_their_order():
    values = [0.3, 0.1, 0.7, 0.2, 0.5]
    results = [result(values[seed], seed) for seed in (3, 0, 4, 1, 2)]
    sample = read(results)
    np.testing.assert_array_equal(sample.values, np.array(values)[:, None])
    (interval,) = sample.intervals
    assert interval.mean == sample.mean == pytest.approx(np.mean(values))
    assert interval.se == pytest.approx(sem(values))
    assert sample.as_json() == [interval.mean, interval.se]


def test_full_runs_go_before_others_and_the_five_seeds_before_more():
    quick = [result(9.0, seed, settings=SHORT) for seed in range(5)]
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
        [result(1.0, seed, settings=SHORT) for seed in range(5)],
        [*(result(1.0, seed) for seed in range(4)), result(1.0, 4, settings=SHORT)],
        [result(1.0, seed, variant=SHIFT) for seed in range(5)],
        [result(1.0, seed, change=Change(matched=True)) for seed in range(5)],
    ],
)
def test_anything_but_the_five_full_seeds_is_not_full(results):
    assert not Study(results).is_full(HERE, BE)
    assert Study([result(1.0, seed) for seed in range(6)]).is_full(HERE, BE)


def test_changed_runs_are_other_entrants():
    results = [result(5.0, change=Change(matched=True))]
    assert read(results) is None
    assert read(results, entrant="batch_ensemble matched=True").mean == 5.0


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_runs_without_a_finite_interval_are_no_sample(value):
    assert read([result(1.0 if seed else value, seed) for seed in range(5)]) is None


def test_a_run_lost_in_training_has_no_number():
    results = [result(1.0, seed) for seed in range(4)]
    results.append(Result(Run("diabetes", ID, BE, 4), {"diverged": 1.0}))
    assert read(results) is None


def test_a_change_is_taken_seed_by_seed_and_needs_both_variants():
    place = Place("diabetes", CHANGE)
    before = [result(float(seed), seed) for seed in range(5)]
    after = [result(float(seed) ** 2, seed, SHIFT) for seed in range(5)]
    assert read([*before, *after], place).values.ravel().tolist() == [0, 0, 2, 6, 12]
    assert read(before, place) is None
    some = [after[3], *before]
    assert read(some, place).values.ravel().tolist() == [6]


def test_a_range_of_coverages_includes_both_ends():
    values = (100 * COVERAGES).tolist()
    sample = read([result(0.0, selective=values)], quantity=kept(RMSE, 45, 80))
    assert sample.values.round().tolist() == [[45, 50, 55, 60, 65, 70, 75, 80]]
    assert read([result(0.0, selective=values)], quantity=kept(RMSE)).values.shape == (1, 15)
    assert sample.as_json() == {"mean": sample.curve.tolist(), "se": [0.0] * 8}


def test_the_area_of_a_curve_is_a_number_like_others():
    sample = read([result(0.0, selective=(2 * COVERAGES).tolist())], quantity=RMSE_AREA)
    assert sample.mean == pytest.approx(1 - 0.3**2)


def test_places_and_metrics_nobody_has_are_no_sample():
    assert read([result(1.0)], quantity=NLL) is None
    assert read([result(1.0)], quantity=COVERED) is None
    assert read([result(1.0)], Place("adult", ID)) is None


# The label --------------------------------------------------------------------------------


def study(seeds=range(5), settings=Settings(), change=PLAIN):  # noqa: B008
    return [
        Result(Run("adult", variant, method, seed, settings, change), {})
        for variant in ("id", "shift")
        for method in ("batch_ensemble", "single")
        for seed in seeds
    ]


def test_only_five_seeds_of_the_papers_settings_go_without_a_label():
    assert label_of(study()) == label_of(study(seeds=range(6))) == ""
    assert label_of([]) == QUICK
    for seeds in (range(4), range(1, 5), range(1, 6)):
        assert label_of(study(seeds=seeds)) == UNFINISHED
    for settings in (Settings(epochs=499), Settings(most_rows=100), Settings(most_windows=9)):
        assert label_of(study(settings=settings)) == QUICK


def test_one_run_that_is_missing_or_shorter_labels_all():
    whole = study()
    for i, one in enumerate(whole):
        others = [*whole[:i], *whole[i + 1 :]]
        run = one.run
        short = Run(run.dataset, run.variant, run.method, run.seed, Settings(epochs=50))
        assert label_of(others) == UNFINISHED
        assert label_of([*others, Result(short, {})]) == QUICK


def test_ablations_decide_the_label_only_where_there_is_no_main_study():
    changed = {"change": Change(dropout=0.5)}
    quick, unfinished = study(settings=Settings(epochs=20), **changed), study(range(2), **changed)
    assert (label_of(quick), label_of(unfinished)) == (QUICK, UNFINISHED)
    assert label_of(study(**changed)) == ""
    assert label_of(study() + quick) == label_of(study() + unfinished) == ""
