from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from batchensemble.study.ablations import ABLATIONS
from batchensemble.study.datasets import TABLES, Table
from batchensemble.study.plans import (
    PARTS,
    PROFILES,
    STANDARD,
    Profile,
    choose,
    longest_first,
    not_run,
    plan,
    variants_of,
)
from batchensemble.study.sensitivity import CHOICES
from batchensemble.study.spec import Change, Settings, units_of

METHODS = ("batch_ensemble", "deep_ensemble", "mc_dropout", "single")
MATCHED = {
    "batch_ensemble": "budget=deep_ensemble",
    "deep_ensemble": "budget=batch_ensemble",
    "mc_dropout": "matched=True",
    "single": "matched=True",
}
MAIN = ("main", "matched", "as_written")
PROFILE = Profile(3, Settings(epochs=7, most_rows=11, most_windows=13), 1, "a note")


def test_the_full_study_is_the_papers_and_a_quick_one_is_a_tenth_of_it_and_says_so():
    full, quick = PROFILES["full"], PROFILES["quick"]
    assert (full.n_seeds, full.settings) == (5, Settings(epochs=500))
    assert (quick.n_seeds, quick.n_repeats) == (2, 1)
    assert quick.settings.epochs <= full.settings.epochs / 10
    assert quick.settings.most_rows <= 2_000  # of Adult's 39,073
    assert quick.settings.most_windows <= 150  # of Temperature's 2,904
    assert quick.note.startswith("QUICK")
    assert "QUICK" not in full.note


NUMBERS = np.arange(40.0)
WORDS = ["flat", "hut"] * 20


@pytest.mark.usefixtures("registries")
@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"a": NUMBERS}, ("id",)),
        ({"a": NUMBERS, "kind": WORDS}, ("id",)),
        ({"kind": WORDS, "heating": WORDS}, ("id",)),
        ({"a": NUMBERS, "b": NUMBERS}, ("id", "shift")),
        ({"a": NUMBERS, "kind": WORDS, "b": NUMBERS}, ("id", "shift")),
    ],
)
def test_only_a_table_with_two_numeric_features_is_shifted(columns, expected):
    TABLES["mine"] = lambda: Table("mine", "regression", pd.DataFrame(columns), NUMBERS)
    assert variants_of("mine") == expected
    assert {unit.variant for unit in plan("mine", PROFILE, METHODS)} == {*expected}


def test_a_series_is_not_shifted():
    assert variants_of("seasonal") == ("id",)


@pytest.mark.parametrize(
    ("dataset", "variants", "is_regression"),
    [
        ("diabetes", ("id", "shift"), True),
        ("breast_cancer", ("id", "shift"), False),
        ("seasonal", ("id",), False),
    ],
)
@pytest.mark.parametrize("methods", [METHODS, ("batch_ensemble",), ("mc_dropout", "single")])
def test_a_plan_has_all_methods_rivals_of_equal_size_and_for_numbers_the_objective_as_written(
    dataset, variants, is_regression, methods
):
    entrants = [*methods]
    entrants += [f"{method} {MATCHED[method]}" for method in methods]
    entrants += [f"{method} bounded=False" for method in methods if is_regression]
    expected = [(v, entrant, seed) for v in variants for entrant in entrants for seed in range(3)]
    runs = [run for unit in plan(dataset, PROFILE, methods, MAIN) for run in unit.runs]
    assert sorted((run.variant, run.entrant, run.seed) for run in runs) == sorted(expected)
    assert {(run.dataset, run.settings) for run in runs} == {(dataset, PROFILE.settings)}


def test_units_of_more_rows_and_more_variants_come_first():
    small, large = (
        units_of(name, "id", ("single",), 1, Settings())[0]
        for name in ("diabetes", "breast_cancer")
    )
    changes = [Change(penalty=weight) for weight in (0.1, 1.0)]
    both = units_of("diabetes", "id", ("single",), 1, Settings(), changes)
    assert longest_first([small, large, *both]) == [*both, large, small]


@pytest.mark.parametrize("change", [Change(matched=True), Change(budget="deep_ensemble")])
def test_networks_made_wider_come_before_all_others_of_their_rows(change):
    (wide,) = units_of("diabetes", "id", ("single",), 1, Settings(), [change])
    (narrow,) = units_of(
        "diabetes", "id", ("single",), 1, Settings(), [Change(budget="batch_ensemble")]
    )
    others = units_of("breast_cancer", "id", ("single",), 1, Settings())
    assert longest_first([narrow, *others, wide]) == [wide, *others, narrow]


def test_words_of_only_are_parts_and_datasets_and_without_a_part_all_standard_ones_are_run():
    assert choose([]) == (STANDARD, [])
    assert choose(["diabetes"]) == (STANDARD, ["diabetes"])
    assert choose(["gates", "electric", "main"]) == (("gates", "main"), ["electric"])
    with pytest.raises(ValueError, match="did you mean 'ablations'"):
        choose(["ablation"])


def runs_of(dataset, *parts):
    return [run for unit in plan(dataset, PROFILE, METHODS, parts) for run in unit.runs]


def test_ablations_are_run_by_their_common_name_or_one_by_one_each_run_once():
    every = runs_of("diabetes", "main", "ablations")
    assert len(every) == len({*every})
    alone = [run for name in ABLATIONS for run in runs_of("diabetes", name)]
    assert {*every} == {*alone, *runs_of("diabetes", "main")}
    assert {*STANDARD} <= {*PARTS}


def test_the_ackley_function_has_ablations_alone():
    assert runs_of("ackley_regression", "main", "matched", "sensitivity") == []
    assert {run.change.last for run in runs_of("ackley_regression", *STANDARD)} == {*range(1, 11)}
    readings = {
        (run.change.lr, run.change.bias) for run in runs_of("ackley_classification", "ackley")
    }
    assert readings == {(lr, bias) for lr in (0.005, 0.001) for bias in ("zero", "uniform")}


@pytest.mark.parametrize(
    ("part", "datasets", "methods", "why"),
    [
        ("as_written", ["breast_cancer", "electric"], METHODS, "a number as the target"),
        ("gates", ["diabetes"], METHODS, "which is for electric, temperature"),
        ("ablations", ["diabetes"], ("single",), "which needs the method batch_ensemble"),
        ("matched", ["diabetes"], ("pair",), "which changes none of these methods"),
    ],
)
def test_a_part_of_which_nothing_is_run_says_why(part, datasets, methods, why):
    (said,) = not_run([part, "main", "diabetes"], datasets, PROFILE, methods)
    assert said.startswith(f"{part}, ")
    assert why in said


def test_a_part_that_is_run_on_some_dataset_needs_no_word():
    here = ["breast_cancer", "diabetes", "electric"]
    assert list(not_run([*STANDARD, "gates", "sensitivity"], here, PROFILE, METHODS)) == []
    few = replace(PROFILE, ablated=("diabetes",))
    assert list(not_run(["adapters"], ["diabetes"], few, METHODS)) == []
    said = ["adapters, which is for diabetes"]
    assert list(not_run(["adapters"], ["breast_cancer"], few, METHODS)) == said


@pytest.mark.parametrize(
    ("dataset", "n_choices"), [("diabetes", 3), ("breast_cancer", 2), ("seasonal", 4)]
)
def test_each_open_choice_that_concerns_a_dataset_is_run_for_all_methods(dataset, n_choices):
    """All but the floor of probabilities, which needs no runs."""
    runs = runs_of(dataset, "sensitivity")
    changes = {run.change for run in runs}
    assert len(changes) == n_choices
    for choice in CHOICES:
        if choice.change in changes:
            tried = {run.method for run in runs if run.change == choice.change}
            assert tried == {*METHODS} - {*choice.unchanged}


def test_initialisations_of_the_same_split_are_runs_of_their_own():
    starts = {(run.change.start, run.seed) for run in runs_of("diabetes", "starts")}
    assert starts == {(start, seed) for start in (1, 2, 3) for seed in range(3)}
