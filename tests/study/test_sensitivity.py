import numpy as np
import pytest

from batchensemble.study.claims import judge_claims
from batchensemble.study.results import Study
from batchensemble.study.sensitivity import CHOICES, chosen_otherwise, sensitivity_sheet
from batchensemble.study.spec import PLAIN, Change, Run
from batchensemble.study.store import Result
from batchensemble.training.methods import METHODS

CHOICE = {choice.name: choice for choice in CHOICES}
DROPOUT = CHOICE["no dropout"]


def results(change=PLAIN, methods=METHODS, dataset="adult", **metrics):
    spread = 0.001 * np.array([-1, 0, 1, 2, -2])
    return [
        Result(
            Run(dataset, "id", method, seed, change=change),
            {"nll": 1.0 + i + spread[seed]}
            | {name: value + spread[seed] for name, value in metrics.items()},
            about={"task": "classification"},
        )
        for i, method in enumerate(methods)
        for seed in range(5)
    ]


def test_runs_of_a_choice_stand_in_for_those_of_the_main_study():
    other = results(DROPOUT.change, ("batch_ensemble", "deep_ensemble", "single"))
    for result in other:
        result.metrics["nll"] += 7
    study = Study(chosen_otherwise([*results(), *other], DROPOUT))
    means = study.means(("adult", "id"), "nll")
    plain = Study(results()).means(("adult", "id"), "nll")
    for method in ("batch_ensemble", "deep_ensemble"):
        assert means[method].mean == pytest.approx(plain[method].mean + 7)
    assert means["mc_dropout"] == plain["mc_dropout"]  # for which it is not tried
    assert {run.change for run in (r.run for r in study.results)} == {PLAIN}


def test_ablations_are_left_out_and_a_choice_without_runs_gives_nothing():
    extra = results(Change(adapters="r"), ("batch_ensemble",))
    assert chosen_otherwise([*results(), *extra], DROPOUT) == []
    both = chosen_otherwise([*results(), *extra, *results(DROPOUT.change)], DROPOUT)
    assert {r.run.entrant for r in both} == {*METHODS}


def test_a_floor_of_probabilities_changes_the_nll_alone():
    floor = CHOICE["probabilities of at least 10^-12"]
    own = results(nll_floored=0.5, ece=0.1)
    floored = chosen_otherwise(own, floor)
    for before, after in zip(own, floored, strict=True):
        assert after.metrics["nll"] == before.metrics["nll_floored"]
        assert after.metrics["ece"] == before.metrics["ece"]
    assert chosen_otherwise(results(), floor) == []


def test_the_table_says_how_many_parts_change_and_which_cannot_be_judged():
    """BatchEnsemble is best in NLL on Adult; with the choice the deep ensemble is."""
    main = results()
    turned = results(DROPOUT.change, ("deep_ensemble", "batch_ensemble", "single"))
    every = [*main, *turned]
    verdicts = judge_claims(Study(main))
    sheet = sensitivity_sheet(every, (), verdicts)
    assert sheet.columns == ("id", "claim", "main study", "no dropout")
    row = dict(zip(sheet.columns, next(r for r in sheet.rows if r[0] == "C20"), strict=True))
    assert row["main study"].startswith("1 of 3")
    assert row["no dropout"].startswith("0 of 3 (1 changed")
    (ablations,) = [r for r in sheet.rows if r[0] == "C37"]
    assert ablations[2:] == ("not run", "not run")
    assert sensitivity_sheet(main, (), verdicts).rows == ()
