import dataclasses
import json
import os

import numpy as np
import pytest

from batchensemble.study.spec import Run, Settings
from batchensemble.study.store import Result, Store, describe_machine

RUN = Run("diabetes", "id", "single", 3)
FACTS = dict.fromkeys(("n_parameters", "n_rows", "n_features", "n_inputs", "n_train", "n_test"), 9)
FACTS |= {"task": "regression"}
MEANS = np.arange(6, dtype=np.float32).reshape(3, 2)


def result(run=RUN, rmse=0.5):
    return Result(
        run,
        {"rmse": rmse, "nll": -1.25},
        {"selective": [0.1, 0.2]},
        {"seconds": 1.5, **FACTS, **describe_machine()},
        {"y": np.arange(3.0), "means": MEANS, "variances": MEANS + 1},
    )


def test_what_is_written_is_read_back(tmp_path):
    store = Store(tmp_path)
    assert RUN not in store
    store.write(result())
    assert RUN in store
    found = store.read(RUN)
    assert found.run == RUN
    assert (found.metrics, found.curves) == (result().metrics, result().curves)
    assert found.about["versions"]["numpy"] == np.__version__
    np.testing.assert_array_equal(found.arrays["means"], result().arrays["means"])
    assert found.arrays["means"].dtype == np.float32


def test_all_results_come_in_the_order_of_their_names_and_without_predictions(tmp_path):
    store = Store(tmp_path)
    places = [("b", "id", 0), ("a", "shift", 1), ("a", "id", 1)]
    runs = [Run(dataset, variant, "single", seed) for dataset, variant, seed in places]
    for run in runs:
        store.write(result(run))
    assert [found.run for found in store] == sorted(runs, key=lambda run: run.name)
    assert all(not found.arrays for found in store)


def test_the_same_run_under_other_settings_is_refused(tmp_path):
    store = Store(tmp_path)
    store.write(result())
    other = Run("diabetes", "id", "single", 3, Settings(epochs=7))
    assert other.name == RUN.name
    with pytest.raises(ValueError, match=r"epochs=7.*got one with .*epochs=500.*another res"):
        assert other in store


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("change", {**dataclasses.asdict(RUN.change), "dropout": 0.5}),
        ("method", "mc_dropout"),
        ("dataset", "adult"),
        ("variant", "shift"),
        ("seed", 4),
    ],
)
def test_another_run_under_the_name_of_this_one_is_refused(tmp_path, name, value):
    store = Store(tmp_path)
    store.write(result())
    (path,) = tmp_path.rglob("*.json")
    kept = json.loads(path.read_text())
    assert kept["run"][name] != value
    kept["run"][name] = value
    path.write_text(json.dumps(kept))
    with pytest.raises(ValueError, match="use another results folder") as caught:
        assert RUN in store
    assert os.fspath(path) in str(caught.value)


def test_a_run_is_done_only_when_its_numbers_are_there(tmp_path, monkeypatch):
    store = Store(tmp_path)

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(json, "dumps", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.write(result())
    monkeypatch.undo()
    assert RUN not in store
    assert list(store) == []
    store.write(result())
    assert RUN in store


def test_a_write_that_breaks_off_leaves_the_old_result_and_no_rubbish(tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.write(result(rmse=0.5))
    before = sorted(p.name for p in tmp_path.rglob("*"))

    def full(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="disk full"):
        store.write(result(rmse=0.7))
    assert sorted(p.name for p in tmp_path.rglob("*")) == before
    assert store.read(RUN).metrics["rmse"] == 0.5


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "got something else"),
        ("[]", "format 2 .*got list"),
        ('{"format": 99}', "got 99; they were made by another version"),
    ],
)
def test_a_file_that_is_no_result_of_ours_is_named(tmp_path, content, words):
    store = Store(tmp_path)
    store.write(result())
    (path,) = tmp_path.rglob("*.json")
    path.write_text(content)
    with pytest.raises(ValueError, match=words) as caught:
        assert RUN in store
    assert os.fspath(path) in str(caught.value)


def test_others_may_read_a_result_as_they_may_any_new_file(tmp_path):
    store = Store(tmp_path)
    (tmp_path / "any").touch()
    store.write(Result(Run("diabetes", "id", "single", 0), {"rmse": 1.0}, about=FACTS))
    (path,) = tmp_path.rglob("*.json")
    assert path.stat().st_mode == (tmp_path / "any").stat().st_mode


@pytest.mark.parametrize(
    "change",
    [
        {"metrics": {"rmse": "text"}},
        {"metrics": {"rmse": True}},
        {"metrics": 5},
        {"curves": {"risk": [0.5, "x"]}},
        {"run": {}},
    ],
)
def test_results_that_are_no_numbers_are_named(tmp_path, change):
    store = Store(tmp_path)
    store.write(result())
    (path,) = tmp_path.rglob("*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ValueError, match=r"expected (numbers|the results of a run).*; delete"):
        list(store)


@pytest.mark.parametrize("content", [b"", b"junk", b"PK\x03\x04 no archive"])
def test_predictions_that_are_none_are_noticed(tmp_path, content):
    store = Store(tmp_path)
    store.write(result())
    (path,) = tmp_path.rglob("*.npz")
    path.write_bytes(content)
    for look in (store.__contains__, store.read):
        with pytest.raises(ValueError, match=r"the predictions of a run in .*npz, got someth"):
            look(RUN)


def rewritten(path, part, change):
    """The file of numbers with a part of it changed; a dictionary changes entries."""
    kept = json.loads(path.read_text())
    holder = kept if part is None else kept[part]
    path.write_text(json.dumps({**kept, part: holder | change} if part else kept | change))


WITHOUT = "expected the results of a run in .*json, got something else .*; delete the file"


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("about", {"code": True}),
        ("about", {"versions": {"torch": 2.9}}),
        ("about", {"versions": {"scikit-learn": 1}}),
        ("run", {"dataset": ["own"]}),
        ("run", {"settings": {"epochs": {}, "most_rows": None, "most_windows": None}}),
        ("metrics", {"rmse": 10**400}),
        ("curves", {"selective": "1"}),
        (None, {"about": {}}),
        (None, {"about": [["task", "regression"]]}),
    ],
    ids=str,
)
def test_numbers_of_another_kind_than_a_run_writes_are_refused(tmp_path, part, change):
    store = Store(tmp_path)
    store.write(result())
    (path,) = tmp_path.rglob("*.json")
    assert RUN in store
    rewritten(path, part, change)
    for look in (list, lambda own: RUN in own, lambda own: own.read(RUN)):
        with pytest.raises(ValueError, match=WITHOUT) as caught:
            look(store)
        assert len(str(caught.value)) < 600 + len(str(path))


@pytest.mark.parametrize(
    "content", ["[" * 10**5 + "]" * 10**5, '{"a":' * 10**5 + "1" + "}" * 10**5]
)
def test_brackets_without_end_are_no_results(tmp_path, content):
    store = Store(tmp_path)
    store.write(result())
    (path,) = tmp_path.rglob("*.json")
    path.write_text(content)
    with pytest.raises(ValueError, match=r"expected results in .*; delete the file") as caught:
        list(store)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("name", ["y", "means", "variances"])
def test_predictions_of_which_a_part_is_lost_are_noticed(tmp_path, name):
    store = Store(tmp_path)
    arrays = {own: each for own, each in result().arrays.items() if own != name}
    store.write(dataclasses.replace(result(), arrays=arrays))
    with pytest.raises(ValueError, match=rf"the predictions of a run in .*npz, .*as {name}\b"):
        store.read(RUN)
