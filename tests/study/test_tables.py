import numpy as np
import pandas as pd
import pytest
from scipy.stats import sem

from batchensemble.plots.sheets import MeanSE
from batchensemble.study.spec import PLAIN, Change, Run, Settings
from batchensemble.study.store import Result
from batchensemble.study.tables import (
    COLUMNS,
    QUICK,
    UNFINISHED,
    label_of,
    of_place,
    over_seeds,
    write_runs,
)


def results():
    return [
        Result(Run("adult", "id", method, seed), {"nll": seed + 0.1, "rmse": 2.0})
        for method in ("batch_ensemble", "single")
        for seed in range(3)
    ]


def test_every_number_of_every_run_has_a_row(tmp_path):
    path = tmp_path / "new" / "runs.csv"
    write_runs(results(), path)
    frame = pd.read_csv(path)
    assert tuple(frame.columns) == COLUMNS
    assert len(frame) == 2 * 3 * 2
    row = frame[(frame.method == "single") & (frame.seed == 2) & (frame.metric == "nll")]
    assert row.value.tolist() == [2.1]


def test_numbers_over_seeds_are_the_mean_and_its_standard_error():
    found = over_seeds(results(), "nll")
    assert list(found) == ["batch_ensemble", "single"]
    for summary in found.values():
        assert summary.mean == pytest.approx(1.1)
        assert summary.se == pytest.approx(sem([0.1, 1.1, 2.1]))


def test_one_seed_has_no_standard_error_and_a_metric_nobody_has_no_methods():
    assert MeanSE.of([3.0]) == (3.0, 0.0)
    assert over_seeds(results(), "accuracy") == {}
    assert np.isfinite(MeanSE.of([1.0, 1.0]).se)


def test_of_a_place_come_the_runs_of_the_main_study_alone():
    changes = (PLAIN, Change(matched=True), Change(bounded=False), Change(dropout=0.5))
    runs = [
        Run(dataset, variant, "single", seed, change=change)
        for dataset in ("adult", "diabetes")
        for variant in ("id", "shift")
        for change in changes
        for seed in range(2)
    ]
    found = of_place([Result(run, {}) for run in runs], ("adult", "shift"))
    assert [r.run for r in found] == [Run("adult", "shift", "single", seed) for seed in range(2)]


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
    for i, result in enumerate(whole):
        others = [*whole[:i], *whole[i + 1 :]]
        run = result.run
        short = Run(run.dataset, run.variant, run.method, run.seed, Settings(epochs=50))
        assert label_of(others) == UNFINISHED
        assert label_of([*others, Result(short, {})]) == QUICK


def test_ablations_decide_the_label_only_where_there_is_no_main_study():
    changed = {"change": Change(dropout=0.5)}
    quick, unfinished = study(settings=Settings(epochs=20), **changed), study(range(2), **changed)
    assert (label_of(quick), label_of(unfinished)) == (QUICK, UNFINISHED)
    assert label_of(study(**changed)) == ""
    assert label_of(study() + quick) == label_of(study() + unfinished) == ""
