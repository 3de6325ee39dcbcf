import dataclasses

import numpy as np
import pytest
import torch

from batchensemble.study.predictions import (
    compacted,
    digits,
    metrics_from,
    predictions_sheet,
    read_compact,
    write_predictions,
)
from batchensemble.study.runner import run_units
from batchensemble.study.spec import Change, Run, Settings, units_of
from batchensemble.study.store import Store

SHORT = Settings(epochs=1, most_rows=60, most_windows=4)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("results") / "runs")
    methods = ("batch_ensemble", "single")
    units = [
        unit
        for dataset in ("diabetes", "breast_cancer", "seasonal")
        for unit in units_of(dataset, "id", methods, 2, SHORT)
    ]
    units += units_of("diabetes", "id", ("single",), 1, SHORT, [Change(lr=0.001)])
    run_units(units, store, device=torch.device("cpu"))
    return store


@pytest.fixture(scope="module")
def folder(store):
    folder = store.folder.parent / "predictions"
    write_predictions(store, store, folder)
    return folder


def test_every_run_of_the_main_study_keeps_target_mean_and_uncertainties(store, folder):
    for result in store:
        compact = read_compact(folder, result.run)
        if result.run.change != Change():
            continue
        arrays = store.read(result.run).arrays
        assert compact["target"].shape == arrays["y"].shape
        assert compact["mean"].dtype == np.float32
        assert (compact["epistemic"] >= 0).all()
        is_single = result.run.method == "single"
        assert (compact["epistemic"].max() < 1e-6) == is_single


def test_metrics_come_back_from_the_compact_predictions(store, folder):
    sheet = predictions_sheet(store, folder)
    found = {(task, metric): (runs, kept) for task, metric, runs, kept, _ in sheet.rows}
    assert {task for task, _ in found} == {"regression", "classification", "forecasting"}
    for task, metric in (("regression", "RMSE"), ("regression", "NLL"), ("classification", "NLL")):
        runs, kept = found[task, metric]
        assert runs == 4  # the changed run is not of the main study
        assert kept >= 4
    for part in ("total", "aleatoric", "epistemic"):
        assert found["forecasting", part][1] >= 3


def test_other_predictions_do_not_give_the_metrics_of_a_run(store):
    run = Run("diabetes", "id", "single", 0, SHORT)
    result = store.read(run)
    compact = compacted(result.arrays)
    wrong = compact | {"mean": compact["mean"] + 1}
    assert digits(metrics_from(compact)["rmse"], result.metrics["rmse"]) >= 4
    assert digits(metrics_from(wrong)["rmse"], result.metrics["rmse"]) == 0


def test_without_their_arrays_runs_leave_earlier_predictions_as_they_are(store, folder, tmp_path):
    bare = Store(tmp_path / "runs")
    for result in store:
        bare.write(result)  # as iterated: without arrays
    assert write_predictions(bare, bare, tmp_path / "predictions") == []
    assert predictions_sheet(bare, tmp_path / "predictions").rows == ()
    assert predictions_sheet(bare, folder).rows == predictions_sheet(store, folder).rows


def test_metrics_that_a_run_has_not_are_left_out(store, folder):
    bare = [dataclasses.replace(result, metrics={"rmse": 1.0}) for result in store]
    assert {metric for _, metric, *_ in predictions_sheet(bare, folder).rows} == {"RMSE"}


def test_a_damaged_file_is_named(store, tmp_path):
    (tmp_path / "diabetes-id.npz").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"expected compact predictions in .*diabetes-id\.npz"):
        read_compact(tmp_path, Run("diabetes", "id", "single", 0, SHORT))


@pytest.mark.parametrize(
    ("found", "expected", "shared"),
    [(1.0, 1.0, 15), (1.0, 1.001, 2), (1.0, 1.0001, 3), (-1.0, 1.0, 0), (0.0, 0.5, 0)],
)
def test_digits_are_those_that_two_numbers_share(found, expected, shared):
    assert digits(found, expected) == shared
