import numpy as np
import pandas as pd
import pytest

from batchensemble.study.datasets import TABLES, Table
from batchensemble.study.plans import (
    ABLATION_PROFILES,
    PROFILES,
    Profile,
    longest_first,
    plan,
    variants_of,
)
from batchensemble.study.spec import Change, Settings, units_of

METHODS = ("batch_ensemble", "deep_ensemble", "mc_dropout", "single")
RIVALS = ("deep_ensemble", "mc_dropout", "single")
PROFILE = Profile(3, Settings(epochs=7, most_rows=11, most_windows=13), 1, "a note")


@pytest.mark.parametrize("profiles", [PROFILES, ABLATION_PROFILES])
def test_the_full_study_is_the_papers_and_a_quick_one_is_a_tenth_of_it_and_says_so(profiles):
    full, quick = profiles["full"], profiles["quick"]
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
    entrants += [f"{method} matched=True" for method in methods if method in RIVALS]
    entrants += [f"{method} bounded=False" for method in methods if is_regression]
    expected = [(v, entrant, seed) for v in variants for entrant in entrants for seed in range(3)]
    runs = [run for unit in plan(dataset, PROFILE, methods) for run in unit.runs]
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
