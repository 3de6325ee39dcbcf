import dataclasses

import numpy as np
import pytest

from batchensemble.study.soundness import check_about, check_arrays, check_numbers, check_run
from batchensemble.study.spec import Change, Run, Settings

ABOUT = {
    "task": "regression",
    "n_parameters": 7,
    "n_networks": 1,
    "n_rows": 9,
    "n_features": 2,
    "n_inputs": 2,
    "n_train": 6,
    "n_test": [3],
    "finished": "2026-03-04T05:06:07+00:00",
    "versions": {"torch": "2.9"},
    "code": {"version": "1", "commit": "a", "tree": "b"},
    "shifted_features": [["a", "b"]],
}
OPTIONAL = ("n_networks", "finished", "versions", "code", "shifted_features")
CHANGED = Change(last=2, penalty=1, bounded=False)
RUN = Run("own", "shift", "single", 0, Settings(2, most_rows=100), CHANGED, "ab")
CLASSES = {"y": np.array([0, 1]), "probabilities": np.full((2, 3, 2), 0.5, np.float32)}
STEPS = {"y": np.zeros((4, 5)), "means": np.ones((4, 3, 5)), "variances": np.ones((4, 3, 5))}
ROWS = {"y": np.zeros(4), "means": np.ones((4, 3)), "variances": np.ones((4, 3))}


def test_runs_of_any_kind_are_sound():
    check_run(Run("diabetes", "id", "single", 3))
    check_run(RUN)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        (None, {"dataset": ["own"]}),
        (None, {"method": None}),
        (None, {"seed": True}),
        (None, {"seed": "3"}),
        (None, {"seed": 10**400}),
        (None, {"data": 1}),
        ("settings", {"epochs": {}}),
        ("settings", {"epochs": None}),
        ("settings", {"most_rows": 1.5}),
        ("change", {"lr": "0.005"}),
        ("change", {"lr": True}),
        ("change", {"last": 1.0}),
        ("change", {"bounded": 1}),
        ("change", {"init": []}),
    ],
    ids=str,
)
def test_a_field_of_another_type_is_refused(part, change):
    (name,) = change
    held = change if part is None else {part: dataclasses.replace(getattr(RUN, part), **change)}
    run = dataclasses.replace(RUN)
    vars(run).update(held)
    with pytest.raises(ValueError, match=f"expected a value of its type as {name}"):
        check_run(run)


def test_numbers_that_diverged_are_numbers():
    check_numbers({"rmse": float("nan"), "nll": float("inf"), "diverged": 1}, {"selective": [0.5]})


@pytest.mark.parametrize(
    ("metrics", "curves"),
    [
        ({"rmse": "text"}, {}),
        ({"rmse": True}, {}),
        ({"rmse": 10**400}, {}),
        ({}, {"selective": "1"}),
        ({}, {"selective": {"0.5": 1}}),
        ({}, {"selective": [None]}),
    ],
    ids=str,
)
def test_what_is_no_number_is_refused(metrics, curves):
    with pytest.raises(ValueError, match="expected numbers as"):
        check_numbers(metrics, curves)


def test_facts_as_runs_write_them_are_sound_with_or_without_those_that_came_later():
    check_about(ABOUT)
    check_about({name: fact for name, fact in ABOUT.items() if name not in OPTIONAL})
    check_about(ABOUT | {"code": {}, "n_train": [6, 6]})


@pytest.mark.parametrize("name", sorted(ABOUT.keys() - {*OPTIONAL}))
def test_facts_that_the_page_tells_must_be_there(name):
    with pytest.raises(ValueError, match="expected "):
        check_about({own: fact for own, fact in ABOUT.items() if own != name})


@pytest.mark.parametrize(
    "change",
    [
        {"code": True},
        {"code": {"tree": "a"}},
        {"versions": {"torch": 2.9}},
        {"versions": {"scikit-learn": 1}},
        {"versions": []},
        {"task": "ranking"},
        {"task": ["regression"]},
        {"n_parameters": "7"},
        {"n_parameters": -1},
        {"n_networks": None},
        {"n_rows": 10**400},
        {"n_train": ["6"]},
        {"n_test": []},
        {"n_test": True},
        {"finished": 2026},
        {"shifted_features": [[0, 1]]},
        {"shifted_features": 3},
    ],
    ids=str,
)
def test_facts_that_the_page_could_not_tell_are_refused(change):
    with pytest.raises(ValueError, match="expected "):
        check_about(ABOUT | change)


@pytest.mark.parametrize("arrays", [CLASSES, STEPS, ROWS])
def test_predictions_of_every_task_are_sound_unless_a_part_is_lost_or_of_another_shape(arrays):
    check_arrays(arrays)
    for name, array in arrays.items():
        others = [array[:1], array[:0], array.astype(str), array[..., None], np.array(1.0), b""]
        for other in others:
            with pytest.raises(ValueError, match="expected "):
                check_arrays(arrays | {name: other})
        with pytest.raises(ValueError, match="expected "):
            check_arrays({own: each for own, each in arrays.items() if own != name})


@pytest.mark.parametrize("y", [[0, 2], [-1, 0], [0.0, 1.0]])
def test_labels_of_no_class_are_refused(y):
    with pytest.raises(ValueError, match="expected classes that are known"):
        check_arrays(CLASSES | {"y": np.array(y)})
