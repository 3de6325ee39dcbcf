import dataclasses
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

from batchensemble.study import experiments
from batchensemble.study.experiments import prepare
from batchensemble.study.published import N_PARAMETERS
from batchensemble.study.runner import entrants, run_unit, run_units, training_of
from batchensemble.study.sensitivity import CHOICES
from batchensemble.study.spec import Change, Settings, Unit, units_of
from batchensemble.study.store import Store
from batchensemble.training.methods import METHODS

CPU = torch.device("cpu")
SHORT = Settings(epochs=2, most_rows=100, most_windows=15)


def units(*places):
    return [u for place in places for u in units_of(*place, tuple(METHODS), 2, SHORT)]


def unit_of(dataset, variant, method):
    (unit,) = [unit for unit in units((dataset, variant)) if method in unit.methods]
    return unit


def numbers(store):
    return {r.run.name: (dict(r.metrics), dict(r.curves)) for r in store}


@pytest.mark.parametrize(
    ("dataset", "variant", "keys"),
    [
        ("diabetes", "id", {"rmse", "nll", "crps", "epistemic", "member_correlation"}),
        ("diabetes", "shift", {"rmse", "tail_rmse", "tail_auroc"}),
        ("breast_cancer", "shift", {"accuracy", "ece", "tail_accuracy", "tail_auroc"}),
        ("seasonal", "id", {"rmse", "energy_score", "coverage_80_sum"}),
    ],
)
def test_a_unit_gives_the_numbers_curves_and_predictions_of_all_its_runs(dataset, variant, keys):
    unit = unit_of(dataset, variant, "batch_ensemble")
    results = run_unit(unit, CPU)
    assert [result.run for result in results] == unit.runs
    for result in results:
        assert keys <= set(result.metrics)
        assert all(np.isfinite(list(result.metrics.values())))
        assert len(result.curves["selective"]) == 15
        assert len(result.arrays["y"]) > 10
        assert all(array.dtype != np.float64 for array in result.arrays.values())
    assert results[0].metrics != results[1].metrics


@pytest.mark.parametrize(
    ("dataset", "seeds"), [("diabetes", 1), ("diabetes", 3), ("breast_cancer", 2)]
)
def test_a_run_has_the_published_parameters_however_many_seeds_train_together(dataset, seeds):
    found = {
        result.run.method: result.about["n_parameters"]
        for unit in units_of(dataset, "id", tuple(METHODS), seeds, SHORT)
        for result in run_unit(unit, CPU)
    }
    published = N_PARAMETERS[dataset]
    assert found == {**published, "mc_dropout": published["single"]}


def test_every_change_of_a_unit_has_parameters_of_its_own_as_many_as_alone():
    changes = [Change(init="normal"), Change(penalty=10.0)]
    (unit,) = units_of("diabetes", "id", ("batch_ensemble",), 2, SHORT, changes)
    results = run_unit(unit, CPU)
    assert [result.run for result in results] == unit.runs
    assert {result.about["n_parameters"] for result in results} == {3_788}
    together = {result.run: result.metrics for result in results}
    alone = {
        result.run: result.metrics
        for change in changes
        for one in units_of("diabetes", "id", ("batch_ensemble",), 2, SHORT, [change])
        for result in run_unit(one, CPU)
    }
    assert together.keys() == alone.keys()
    for run, metrics in alone.items():
        assert together[run]["nll"] == pytest.approx(metrics["nll"], rel=1e-3)
    by_seed = [[alone[run]["nll"] for run in unit.runs if run.seed == seed] for seed in (0, 1)]
    for numbers in by_seed:  # changes are told apart by far more than that
        assert np.ptp(numbers) > 0.01 * np.abs(numbers).max()


def test_kept_predictions_give_the_kept_numbers_again():
    result = run_unit(unit_of("diabetes", "id", "batch_ensemble"), CPU)[0]
    error = result.arrays["means"].mean(axis=1) - result.arrays["y"]
    assert np.sqrt(np.mean(error**2)) == pytest.approx(result.metrics["rmse"], rel=1e-5)


def test_mc_dropout_and_the_single_network_are_trained_once(monkeypatch):
    trained = []
    once = experiments.fit_models
    monkeypatch.setattr(
        experiments, "fit_models", lambda *a, **k: trained.append(1) or once(*a, **k)
    )
    results = run_unit(unit_of("diabetes", "shift", "single"), CPU)
    assert len(trained) == 1
    assert [result.run.method for result in results] == ["mc_dropout"] * 2 + ["single"] * 2
    # One network has no doubt that could tell tails from the rest.
    assert ["tail_auroc" in result.metrics for result in results] == [True] * 2 + [False] * 2


def test_only_what_is_left_is_run_and_nothing_changes_that_was_done(tmp_path):
    store = Store(tmp_path)
    every = units(("diabetes", "id"))
    told: list[Unit] = []
    run_units(every[:1], store, device=CPU)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}
    run_units(every, store, device=CPU, tell=lambda unit, results: told.append(unit))
    assert told == every[1:]
    assert all(path.read_bytes() == content for path, content in before.items())
    assert {r.run for r in store} == {run for unit in every for run in unit.runs}


def test_a_unit_that_was_half_written_is_done_again_with_the_same_numbers(tmp_path):
    store = Store(tmp_path)
    every = units(("diabetes", "id"))
    run_units(every, store, device=CPU)
    before = numbers(store)
    for path in list(tmp_path.rglob("*seed1.json")):
        path.unlink()
    run_units(every, store, device=CPU)
    assert numbers(store) == before


def changed(dataset, method, **change):
    (unit,) = units_of(dataset, "id", (method,), 2, SHORT, [Change(**change)])
    return unit


def test_the_objective_as_written_has_no_bounds_and_no_clipping():
    written = changed("diabetes", "batch_ensemble", bounded=False)
    plain = changed("diabetes", "batch_ensemble")
    assert training_of(written, prepare(written)).clip_norm == np.inf
    assert training_of(plain, prepare(plain)).clip_norm == 0.1
    assert training_of(plain, prepare(plain)).epochs == 2
    assert prepare(written).loss.bounds == (-np.inf, np.inf)
    assert prepare(plain).loss.bounds == (-10, 0)


def test_only_what_predicts_a_variance_is_clipped():
    clip = {}
    for name in ("diabetes", "breast_cancer", "seasonal"):
        unit = changed(name, "single")
        clip[name] = training_of(unit, prepare(unit)).clip_norm
    assert clip == {"diabetes": 0.1, "breast_cancer": np.inf, "seasonal": 0.1}


def test_a_network_that_diverges_in_training_says_so_and_leaves_the_others_alone(monkeypatch):
    unit = changed("diabetes", "batch_ensemble", bounded=False)
    whole = run_unit(unit, CPU)
    assert [result.metrics["diverged"] for result in whole] == [0, 0]
    split_table = experiments.split_table

    def spoilt(table, seed, **settings):
        split = split_table(table, seed, **settings)
        if seed == 0:
            split.y_train[0] = 1e30
        return split

    monkeypatch.setattr(experiments, "split_table", spoilt)
    diverged, other = run_unit(unit, CPU)
    assert diverged.metrics == {"diverged": 1.0}
    assert other.metrics == whole[1].metrics
    plain = run_unit(changed("diabetes", "batch_ensemble"), CPU)
    assert [result.metrics.get("diverged") for result in plain] == [1.0, None]


def count(unit):
    (entrant,), (make,) = entrants(unit, prepare(unit))
    network = entrant.network(make, torch.Generator())
    return entrant.n_networks, sum(p.numel() for p in network.parameters())


@pytest.mark.parametrize(
    ("dataset", "n_parameters"),
    [
        ("diabetes", 54**2 + 14 * 54 + 2),
        ("breast_cancer", 50**2 + 34 * 50 + 2),
        ("seasonal", 5 * 45**2 + 13 * 45 + 2),
    ],
)
def test_a_matched_network_is_as_wide_as_batch_ensembles_parameters_allow(dataset, n_parameters):
    assert count(changed(dataset, "single", matched=True)) == (1, n_parameters)


@pytest.mark.parametrize(
    ("dataset", "method", "rival", "n_networks", "n_parameters", "budget"),
    [
        ("diabetes", "deep_ensemble", "batch_ensemble", 10, 377, 3_788),
        ("breast_cancer", "deep_ensemble", "batch_ensemble", 10, 429, 4_308),
        ("diabetes", "batch_ensemble", "deep_ensemble", 1, 14_588, 14_740),
        ("seasonal", "deep_ensemble", "batch_ensemble", 10, None, 10_790),
        ("seasonal", "batch_ensemble", "deep_ensemble", 1, None, 55_380),
    ],
)
def test_a_rival_of_equal_size_keeps_its_networks_and_uses_95_to_100_percent_of_the_parameters(
    dataset, method, rival, n_networks, n_parameters, budget
):
    n, own = count(changed(dataset, method, budget=rival))
    assert n == n_networks
    assert 0.95 * budget <= n * own <= budget
    if n_parameters is not None:
        assert own == n_parameters


@pytest.mark.parametrize("choice", [c for c in CHOICES if c.change], ids=lambda c: c.name)
def test_every_open_choice_can_be_run_and_gives_other_numbers(choice):
    dataset = "seasonal" if choice.tasks == ("forecasting",) else "diabetes"
    unit = dataclasses.replace(changed(dataset, "single"), changes=(choice.change,))
    plain = run_unit(changed(dataset, "single"), CPU)
    for before, after in zip(plain, run_unit(unit, CPU), strict=True):
        assert after.run.change == choice.change
        assert np.isfinite(after.metrics["nll"])
        assert after.metrics["nll"] != before.metrics["nll"]


def test_another_start_keeps_the_split_and_changes_the_networks():
    first, other = (run_unit(changed("diabetes", "single", start=start), CPU) for start in (0, 1))
    for one, two in zip(first, other, strict=True):
        np.testing.assert_array_equal(one.arrays["y"], two.arrays["y"])
        assert one.metrics["nll"] != two.metrics["nll"]


SCRIPT = """
import sys
import torch
from batchensemble.training.methods import METHODS
from batchensemble.study.runner import run_units
from batchensemble.study.spec import Settings, units_of
from batchensemble.study.store import Store

units = [
    unit
    for place in (("diabetes", "id"), ("breast_cancer", "id"))
    for unit in units_of(*place, tuple(METHODS), 2, Settings(epochs=2, most_rows=100))
]
run_units(units, Store(sys.argv[1]), device=torch.device("cpu"))
"""


def run(folder, seconds=None):
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, os.fspath(folder)])
    if seconds is not None:
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
    return process.wait(timeout=120)


@pytest.mark.slow
def test_killing_it_at_any_moment_and_starting_again_ends_with_the_same_numbers(tmp_path):
    assert run(tmp_path / "whole") == 0
    random = np.random.default_rng(0)
    for seconds in random.uniform(1.5, 4.5, size=3):
        run(tmp_path / "killed", seconds)
    assert run(tmp_path / "killed") == 0
    assert numbers(Store(tmp_path / "killed")) == numbers(Store(tmp_path / "whole"))


@pytest.mark.slow
def test_killing_a_quick_study_at_twenty_moments_changes_none_of_its_numbers(tmp_path):
    def study(folder, seconds=None):
        words = "reproduce --profile quick --only diabetes --only breast_cancer --jobs 2 -o"
        command = [sys.executable, "-c", "from batchensemble.cli.app import app; app()"]
        process = subprocess.Popen(
            [*command, *words.split(), os.fspath(folder)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        if seconds is not None:
            time.sleep(seconds)
            os.killpg(process.pid, signal.SIGKILL)
        return process.wait(timeout=600)

    random = np.random.default_rng(1)
    n_done = []
    for seconds in random.uniform(3, 12, size=20):
        study(tmp_path / "killed", seconds)
        n_done.append(len(list((tmp_path / "killed").rglob("*.json"))))
    assert 0 < n_done[5] < n_done[-1]  # the kills came while it was at work
    assert study(tmp_path / "killed") == 0
    assert study(tmp_path / "whole") == 0
    killed, whole = (numbers(Store(tmp_path / name / "runs")) for name in ("killed", "whole"))
    assert killed == whole
