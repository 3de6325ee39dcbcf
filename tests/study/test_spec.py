import pytest

from batchensemble.study.spec import Change, Run, Settings, units_of
from batchensemble.training.methods import METHODS


def test_a_run_survives_a_file():
    run = Run("adult", "shift", "mc_dropout", 4, Settings(epochs=9), Change(bounded=False))
    assert Run.from_dict(run.as_dict()) == run


def test_every_run_of_the_methods_is_in_one_unit_and_what_trains_alike_in_the_same():
    units = units_of("adult", "id", tuple(METHODS), 5, Settings())
    runs = [run for unit in units for run in unit.runs]
    assert len(runs) == len(set(runs)) == 4 * 5
    assert {run.method for run in runs} == set(METHODS)
    assert ("mc_dropout", "single") in [unit.methods for unit in units]
    assert len(units) == 3


def test_runs_have_names_of_their_own_and_settings_do_not_change_them():
    runs = [
        run
        for variant in ("id", "shift")
        for unit in units_of("a", variant, tuple(METHODS), 2, Settings())
        for run in unit.runs
    ]
    assert len({run.name for run in runs}) == len(runs)
    assert Run("a", "id", "single", 0, Settings(epochs=3)).name == Run("a", "id", "single", 0).name


def test_an_unknown_variant_is_refused():
    with pytest.raises(ValueError, match="expected variant to be one of 'id', 'shift', got 'ID'"):
        Run("adult", "ID", "single", 0)


def test_an_entrant_is_named_by_its_method_and_only_by_what_is_changed_about_it():
    names = [
        Run("a", "id", "single", 0, change=change).entrant
        for change in (Change(), Change(matched=True), Change(bounded=False, matched=True))
    ]
    assert names == ["single", "single matched=True", "single bounded=False,matched=True"]
    assert Run("a", "id", "single", 0, change=Change(matched=True)).name != "a-id/single-seed0"


def test_a_name_that_would_be_two_folders_is_refused():
    with pytest.raises(ValueError, match="expected a name without slashes, got 'a/b'"):
        Run("a/b", "id", "single", 0)


def test_changes_of_one_shape_are_one_unit_and_no_change_is_always_one_of_its_own():
    changes = [Change(), Change(penalty=1.0), Change(init="ones"), Change(adapters="r")]
    units = units_of("a", "id", ("batch_ensemble",), 2, Settings(), changes)
    assert [unit.changes for unit in units] == [
        (changes[0],), (changes[1], changes[2]), (changes[3],)
    ]  # fmt: skip
