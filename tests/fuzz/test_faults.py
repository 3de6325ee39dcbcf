"""Kills, full disks, readers beside writers, odd clocks and a full GPU: nothing is lost.

`FAULTS=100 make faults` kills each command a hundred times.
"""

import os
import threading
import time
from functools import partial

import numpy as np
import pytest
import torch
from fixtures import TINY_FORECASTER, long_frame, regression_table
from fuzz.children import (
    command,
    fill_store,
    killed_after,
    save_often,
    save_on_a_full_disk,
    whole_seconds,
)
from sample_files import QUICK, houses

import batchensemble
from batchensemble import Forecaster, Regressor
from batchensemble.training.methods import Members
from batchensemble.training.networks import Recurrent

N_FAULTS = int(os.environ.get("FAULTS", "5"))
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("faults")
    houses(80).to_csv(place / "houses.csv", index=False)
    whole_seconds(
        command("fit", place / "houses.csv", "-t", "price", "-o", place / "price.be", *QUICK)
    )
    return place


def tasks(folder, out):
    table, model = folder / "houses.csv", folder / "price.be"
    return {
        "fit": command("fit", table, "-t", "price", "-o", out / "file.be", *QUICK),
        "predict": command("predict", model, table, "-o", out / "file.csv"),
        "save": partial(save_often, model, out / "file.be"),
    }


@needs_fork
@pytest.mark.parametrize("name", ["fit", "predict", "save"])
@pytest.mark.parametrize("old", [False, True])
def test_a_kill_at_any_moment_leaves_the_old_file_or_the_new_one(name, old, folder, tmp_path):
    task, random = tasks(folder, tmp_path)[name], np.random.default_rng(0)
    seconds = whole_seconds(task)
    (path,) = tmp_path.iterdir()
    expected = path.read_bytes()
    if not old:
        path.unlink()
    for _ in range(N_FAULTS):
        killed_after(task, random.uniform(0, seconds))
        if path.exists():
            if path.suffix == ".csv":
                assert path.read_bytes() == expected
            else:
                batchensemble.load(path)
        else:
            assert not old
        if not old:
            path.unlink(missing_ok=True)
    whole_seconds(task)  # the next run works, and clears away what the others left
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@needs_fork
def test_a_study_that_was_killed_goes_on_and_loses_nothing(tmp_path):
    from batchensemble.study.store import Store

    folder, random = tmp_path / "results", np.random.default_rng(0)
    store, reproduce = Store(folder), partial(fill_store, folder, 40)
    for _ in range(N_FAULTS):
        done = {result.run.name for result in store}
        killed_after(reproduce, random.uniform(0, 0.3))
        results = list(store)
        assert done <= {result.run.name for result in results}
        for result in results:
            assert store.read(result.run).arrays["means"].shape == (200, 10)
    whole_seconds(reproduce)
    assert len(list(store)) == 40
    assert not list(tmp_path.rglob("*.part"))


@needs_fork
def test_a_disk_that_is_full_at_any_write_leaves_the_old_file(folder, tmp_path):
    batchensemble.load(folder / "price.be").save(tmp_path / "file.be")
    before = (tmp_path / "file.be").read_bytes()
    random = np.random.default_rng(0)
    for size in random.integers(0, len(before) - 1, N_FAULTS).tolist():
        whole_seconds(partial(save_on_a_full_disk, folder / "price.be", tmp_path / "file.be", size))
        assert [each.name for each in tmp_path.iterdir()] == ["file.be"]
        assert (tmp_path / "file.be").read_bytes() == before


def test_readers_beside_two_writers_always_find_a_whole_model(tmp_path):
    x, y = regression_table(40)
    settings = {"epochs": 1, "hidden": (4,), "n_members": 2}
    models = [Regressor(random_state=seed, **settings).fit(x, y) for seed in (0, 1)]
    answers = [model.predict(x) for model in models]
    models[0].save(tmp_path / "m.be")
    stop, failures = threading.Event(), []

    def write(model):
        while not stop.is_set():
            model.save(tmp_path / "m.be")

    writers = [threading.Thread(target=write, args=(model,)) for model in models]
    for writer in writers:
        writer.start()
    try:
        for _ in range(10 * N_FAULTS):
            found = batchensemble.load(tmp_path / "m.be").predict(x)
            if not any(np.array_equal(found, answer) for answer in answers):
                failures.append(found)
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert failures == []
    assert [each.name for each in tmp_path.iterdir()] == ["m.be"]


def test_a_clock_that_goes_back_stops_no_training_early(monkeypatch):
    x, y = regression_table(60)
    moments = iter(range(10**9, 0, -3600))
    monkeypatch.setattr(time, "time", lambda: float(next(moments)))
    model = Regressor(epochs=4, time_limit=60, patience=4, hidden=(4,), n_members=2).fit(x, y)
    assert len(model.history_[0].losses) == 4


def full_above(limit, count):
    """A call that runs out of memory for more than `limit` rows at once."""

    def wrapped(original):
        def call(self, x, *others):
            if count(x, *others) > limit:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return original(self, x, *others)

        return call

    return wrapped


def test_a_gpu_that_runs_out_of_memory_predicts_in_smaller_chunks(monkeypatch):
    x, y = regression_table(200)
    model = Regressor(epochs=1, hidden=(4,), n_members=2, random_state=0).fit(x, y)
    expected = model.predict(x)
    monkeypatch.setattr(Members, "__call__", full_above(7, len)(Members.__call__))
    np.testing.assert_allclose(model.predict(x), expected, rtol=1e-12)
    monkeypatch.setattr(Members, "__call__", full_above(0, len)(Members.__call__))
    with pytest.raises(torch.OutOfMemoryError, match="too little memory for a single row"):
        model.predict(x)


@pytest.mark.parametrize("limit", [1000, 20, 6])
def test_a_gpu_that_runs_out_of_memory_forecasts_in_smaller_chunks(monkeypatch, limit):
    model = Forecaster(**TINY_FORECASTER).fit(long_frame(5))
    expected = model.predict_dist().paths

    def size(x, noise, *_):
        return noise.shape[0] * noise.shape[1]

    monkeypatch.setattr(Recurrent, "simulate", full_above(limit, size)(Recurrent.simulate))
    np.testing.assert_allclose(model.predict_dist().paths, expected, rtol=1e-5)
