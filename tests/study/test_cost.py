import json

import numpy as np
import pytest
import torch

from batchensemble.study import cost, meters
from batchensemble.study.cost import (
    TRAINED,
    Model,
    first_run,
    measure_costs,
    measure_dataset,
    ready,
)
from batchensemble.study.costs_file import ENTRANTS, ONE_BY_ONE, cost_sheet, read_costs
from batchensemble.study.experiments import prepare
from batchensemble.study.runner import training_of
from batchensemble.study.spec import Settings, Unit
from batchensemble.training import feed
from batchensemble.training.methods import make_method

CPU = torch.device("cpu")
SHORT = Settings(epochs=2, most_rows=100, most_windows=5)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    path = tmp_path_factory.mktemp("cost") / "results" / "costs.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(meters, "LEAST_SECONDS", {"cpu": 0.001})
        rows = measure_costs(
            ["diabetes", "breast_cancer", "seasonal"], CPU, path, settings=SHORT, n_repeats=2
        )
    assert rows == read_costs(path)
    return {(row["dataset"], row["entrant"]): row for row in rows}


def fake_row(entrant, *, dataset="diabetes", device="cpu", **values):
    numbers = {"n_parameters": 100, "train_seconds": 1.0, "predict_seconds": 0.5, "peak_bytes": 1}
    return {"device": device, "dataset": dataset, "entrant": entrant} | numbers | values


def fake_measure(calls, fails=()):
    def measure(dataset, device, settings, n_repeats):
        calls.append(dataset)
        if dataset in fails:
            raise KeyboardInterrupt
        rows = [fake_row(entrant) for entrant in ENTRANTS]
        return [{k: v for k, v in row.items() if k not in ("device", "dataset")} for row in rows]

    return measure


def trained_on(experiment, training):
    return {word: Model(experiment, make_method(word), training) for word in TRAINED}


# What is measured


@pytest.mark.parametrize("dataset", ["diabetes", "seasonal"])
def test_tables_and_series_have_every_number_of_every_entrant(measured, dataset):
    rows = [row for (name, _), row in measured.items() if name == dataset]
    assert [row["entrant"] for row in rows] == list(ENTRANTS)
    for row in rows:
        assert row["device"] == "cpu"
        for key in ("train_seconds", "predict_seconds"):
            assert 0 < row[f"{key}_low"] <= row[key] <= row[f"{key}_high"]
        assert row["peak_bytes"] == max(row["train_peak_bytes"], row["predict_peak_bytes"])
        assert row["n_repeats"] == 2
        assert row["n_train"] == (100 if dataset == "diabetes" else 5)
        assert row["n_predicted"] == (89 if dataset == "diabetes" else 5)


@pytest.mark.parametrize(
    ("dataset", "ours", "single", "deep"),
    [
        ("diabetes", 3_788, 1_474, 14_740),
        ("breast_cancer", 4_308, 2_114, 21_140),
        ("seasonal", 10_790, 5_538, 55_380),
    ],
)
def test_parameters_are_the_published_ones(measured, dataset, ours, single, deep):
    expected = dict(zip(ENTRANTS, (ours, deep, deep, single, single), strict=True))
    assert {e: measured[dataset, e]["n_parameters"] for e in ENTRANTS} == expected


def test_one_by_one_takes_ten_times_the_single_networks_training_and_keeps_all_networks(measured):
    for dataset in ("diabetes", "seasonal"):
        alone, turns = measured[dataset, "single"], measured[dataset, ONE_BY_ONE]
        for key in ("train_seconds", "train_seconds_low", "train_seconds_high"):
            assert turns[key] == pytest.approx(10 * alone[key])
        assert turns["train_peak_bytes"] - alone["train_peak_bytes"] == 4 * turns["n_parameters"]
        assert turns["train_peak_bytes"] < measured[dataset, "deep_ensemble"]["train_peak_bytes"]


def test_mc_dropout_trains_as_the_single_network_and_predicts_with_more_memory(measured):
    alone, masks = measured["diabetes", "single"], measured["diabetes", "mc_dropout"]
    for key in ("train_seconds", "train_peak_bytes"):
        assert masks[key] == alone[key]
    assert masks["predict_peak_bytes"] > 10 * alone["predict_peak_bytes"]


@pytest.mark.parametrize("dataset", ["diabetes", "seasonal"])
@pytest.mark.parametrize("word", TRAINED)
def test_what_is_timed_trains_the_networks_of_the_study(dataset, word):
    unit = Unit(dataset, "id", (word,), (0,), SHORT)
    experiment = prepare(unit)
    method = make_method(word)
    bank = experiment.train(method, training_of(unit, experiment))
    same, training = first_run(dataset, CPU, SHORT)
    model = Model(same, method, training)
    first = model.bank.theta.clone()
    for _ in range(SHORT.epochs):
        model.epoch()
    assert torch.equal(model.bank.theta, bank.theta)
    assert not torch.equal(first, bank.theta)


def test_the_engine_is_the_one_of_a_training_of_all_epochs(monkeypatch):
    asked = []
    choose = feed.choose_engine
    monkeypatch.setattr(
        feed, "choose_engine", lambda *a, **k: asked.append(k["n_steps"]) or choose(*a, **k)
    )
    experiment, training = first_run("diabetes", CPU, Settings())
    Model(experiment, make_method("single"), training)
    assert asked == [500 * 6]  # 353 rows in batches of 64


def test_what_is_timed_predicts_as_the_study_does():
    experiment, training = first_run("diabetes", CPU, SHORT)
    models = trained_on(experiment, training)
    study = prepare(Unit("diabetes", "id", ("single",), (0,), SHORT))
    for entrant, trained in (
        ("batch_ensemble", "batch_ensemble"),
        ("deep_ensemble", "deep_ensemble"),
        ("mc_dropout", "single"),
        ("single", "single"),
    ):
        members = study.members(0, models[trained].bank, make_method(entrant))
        timed = experiment.predict(0, ready(entrant, models, experiment))
        np.testing.assert_array_equal(timed.means, study.predict(0, [members]).means)


def test_networks_one_by_one_are_ten_turns_with_the_answers_of_the_folded_ones():
    experiment, training = first_run("diabetes", CPU, SHORT)
    models = trained_on(experiment, training)
    together = ready("deep_ensemble", models, experiment)
    turns = ready(ONE_BY_ONE, models, experiment)
    assert (len(together), len(turns)) == (1, 10)
    expected, answers = (experiment.predict(0, members) for members in (together, turns))
    np.testing.assert_allclose(answers.means, expected.means, rtol=1e-9)


def test_every_entrant_samples_two_thousand_paths_of_at_most_64_windows():
    experiment, _ = first_run("seasonal", CPU, Settings(epochs=2, most_windows=65))
    assert experiment.facts["n_test"] == [len(experiment.split.test)] == [64]
    experiment, training = first_run("seasonal", CPU, Settings(epochs=2, most_windows=2))
    models = trained_on(experiment, training)
    members = {
        "batch_ensemble": (10, 200),
        "deep_ensemble": (10, 200),
        ONE_BY_ONE: (10, 200),
        "mc_dropout": (100, 20),
        "single": (1, 2000),
    }
    for entrant in ENTRANTS:
        paths = experiment.predict(0, ready(entrant, models, experiment)).paths
        assert paths.shape == (2, *members[entrant], 5)


def test_measuring_uses_one_thread_and_gives_back_the_others(monkeypatch):
    seen = []

    def measure(makes, device, n_repeats):
        seen.append(torch.get_num_threads())
        raise KeyboardInterrupt

    monkeypatch.setattr(cost, "measure", measure)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(KeyboardInterrupt):
            measure_dataset("diabetes", CPU, SHORT, 1)
        assert (seen, torch.get_num_threads()) == ([1], 2)
    finally:
        torch.set_num_threads(before)


# The file


def test_an_interrupted_measurement_goes_on_with_what_is_missing(tmp_path, monkeypatch):
    path = tmp_path / "costs.json"
    calls: list[str] = []
    names = ["diabetes", "california", "electric"]
    monkeypatch.setattr(cost, "measure_dataset", fake_measure(calls, fails=["california"]))
    with pytest.raises(KeyboardInterrupt):
        measure_costs(names, CPU, path, settings=SHORT)
    assert {row["dataset"] for row in read_costs(path)} == {"diabetes"}
    monkeypatch.setattr(cost, "measure_dataset", fake_measure(calls))
    told: list[str] = []
    rows = measure_costs(names, CPU, path, settings=SHORT, tell=told.append)
    assert calls == ["diabetes", "california", "california", "electric"]
    assert [row["dataset"] for row in rows] == [name for name in names for _ in ENTRANTS]
    assert "measured before" in told[0]
    assert len(told) == 3


def test_rows_of_another_device_are_kept_with_its_machine(tmp_path, monkeypatch):
    path = tmp_path / "costs.json"
    calls: list[str] = []
    monkeypatch.setattr(cost, "measure_dataset", fake_measure(calls))
    measure_costs(["diabetes"], CPU, path, settings=SHORT)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "A GPU")
    rows = measure_costs(["diabetes"], torch.device("cuda"), path, settings=SHORT)
    assert [row["device"] for row in rows] == ["cpu"] * 5 + ["A GPU"] * 5
    assert json.loads(path.read_text())["machine"].keys() == {"cpu", "A GPU"}
    assert len(calls) == 2


def test_costs_of_other_settings_are_an_error_and_stay_as_they_are(tmp_path, monkeypatch):
    path = tmp_path / "costs.json"
    monkeypatch.setattr(cost, "measure_dataset", fake_measure([]))
    measure_costs(["diabetes"], CPU, path, settings=SHORT)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"'epochs': 500.* got .*'epochs': 2.*another results"):
        measure_costs(["diabetes"], CPU, path, settings=Settings())
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("half a fi", "expected costs in .*costs.json, got something else"),
        ("[1]", "expected costs of format 1 .* got list"),
        ('{"format": 2, "rows": []}', "expected costs of format 1 .* got 2"),
        ('{"format": 1, "run": {}}', "expected rows of costs with dataset, .*delete the file"),
        ('{"format": 1, "rows": [{"device": "cpu"}]}', "expected rows of costs"),
    ],
)
def test_a_broken_or_foreign_file_is_an_error_that_names_it(tmp_path, text, match):
    path = tmp_path / "costs.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=match):
        read_costs(path)
    with pytest.raises(ValueError, match=match):
        measure_costs(["diabetes"], CPU, path, settings=SHORT)
    assert path.read_text() == text


def test_wrong_words_are_refused_before_anything_is_measured(tmp_path, monkeypatch):
    calls: list[str] = []
    monkeypatch.setattr(cost, "measure_dataset", fake_measure(calls))
    with pytest.raises(ValueError, match="diabetis"):
        measure_costs(["electric", "diabetis"], CPU, tmp_path / "costs.json", settings=SHORT)
    with pytest.raises(ValueError, match="n_repeats of at least 1, got 0"):
        measure_costs(["diabetes"], CPU, tmp_path / "c.json", settings=SHORT, n_repeats=0)
    assert not calls


def test_all_of_a_measurement_has_its_line_in_the_table(measured):
    rows = cost_sheet(list(measured.values())).rows
    assert len(rows) == 3 * len(ENTRANTS)
    words = ["BatchEnsemble", "Deep ensemble", "Deep ensemble one by one", "MC dropout", "Single"]
    assert {row[2] for row in rows} == {*words}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_is_measured_too(monkeypatch):
    monkeypatch.setattr(meters, "LEAST_SECONDS", {"cuda": 0.01})
    for dataset in ("diabetes", "seasonal"):
        rows = measure_dataset(dataset, torch.device("cuda"), SHORT, 1)
        assert [row["entrant"] for row in rows] == list(ENTRANTS)
        assert all(row["peak_bytes"] > 4 * row["n_parameters"] for row in rows)
