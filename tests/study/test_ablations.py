import dataclasses

import numpy as np
import pytest
import torch

from batchensemble.study.ablations import ABLATIONS, METHOD, subsets
from batchensemble.study.claims import judge_claims
from batchensemble.study.experiments import prepare
from batchensemble.study.figures import FIGURES, draw_figures
from batchensemble.study.results import Study
from batchensemble.study.runner import entrants, run_unit
from batchensemble.study.sections import questions
from batchensemble.study.sheets import make_sheets
from batchensemble.study.spec import PLAIN, Change, Run, Settings, units_of
from batchensemble.study.store import Result

K = 10
SHORT = Settings(epochs=2, most_rows=100, most_windows=15)


def n_parameters(dataset, change):
    (unit,) = units_of(dataset, "id", (METHOD,), 1, SHORT, [change])
    (method,), (make,) = entrants(unit, prepare(unit))
    return sum(p.numel() for p in method.network(make, torch.Generator()).parameters())


def layer(n_in, n_out, word, members=K):
    """Of BatchEnsemble: the weight, the vectors that members own, and a bias at least."""
    vectors = members * (n_in * ("r" in word) + n_out * ("s" in word))
    return n_in * n_out + vectors + n_out * (members if "b" in word else 1)


def mlp(n_in, words, heads=(1, 1), members=K):
    sizes = [n_in, *[32] * (len(words) - 1)]
    hidden = sum(layer(n, 32, word, members) for n, word in zip(sizes, words[:-1], strict=False))
    return hidden + sum(layer(32, head, words[-1], members) for head in heads)


@pytest.mark.parametrize("word", subsets("rsb"))
def test_a_member_has_the_parameters_of_the_vectors_it_owns(word):
    assert n_parameters("diabetes", Change(adapters=word)) == mlp(10, [word] * 3)
    assert n_parameters("breast_cancer", Change(adapters=word)) == mlp(30, [word] * 3, (2,))


@pytest.mark.parametrize("word", subsets("czf"))
def test_a_gate_without_members_is_one_plain_layer(word):
    gates = sum(layer(33, 32, "rsb" if gate in word else "") for gate in "czf")
    assert n_parameters("seasonal", Change(gates=word)) == gates + mlp(32, ["rsb"] * 3)


@pytest.mark.parametrize("last", range(1, 11))
def test_only_the_last_layers_of_ten_have_members(last):
    change = Change(last=last, n_hidden=9, dropout=0.0)
    words = [""] * (10 - last) + ["rsb"] * last
    assert n_parameters("ackley_regression", change) == mlp(10, words)
    assert n_parameters("ackley_classification", change) == mlp(10, words, (2,))


@pytest.mark.parametrize("members", [1, 2, 4, 8, 16, 32])
def test_members_add_their_vectors_alone(members):
    expected = mlp(10, ["rsb"] * 3, members=members)
    assert n_parameters("diabetes", Change(n_members=members)) == expected


def test_all_non_empty_subsets_are_there_once():
    assert sorted(map(sorted, subsets("rsb"))) == sorted(
        map(sorted, ("r", "s", "b", "rs", "rb", "sb", "rsb"))
    )


def test_every_ablation_of_the_paper_has_its_figures_and_the_plain_ensemble():
    paper = [
        "adapter_reg",
        "adapter_clf",
        "init_reg",
        "init_clf",
        "gru_gates",
        "layers_reg",
        "layers_clf",
    ]
    assert {*paper} <= {*FIGURES}
    for name in ("adapters", "init", "gates", "batching", "first_values", "bounds"):
        assert PLAIN in [variant.change for variant in ABLATIONS[name].variants]
    for ablation in ABLATIONS.values():
        names = [variant.name for variant in ablation.variants]
        assert len({*names}) == len({v.entrant for v in ablation.variants}) == len(names)


def test_the_plain_ensemble_is_trained_once_for_all_ablations_and_the_study():
    every = [u for a in ABLATIONS.values() for u in a.units(a.datasets, 5, Settings())]
    (plain,) = {u for u in every if u.dataset == "diabetes" and PLAIN in u.changes}
    assert plain in units_of("diabetes", "id", (METHOD, "single"), 5, Settings())
    runs = [run for unit in dict.fromkeys(every) for run in unit.runs]
    assert len(runs) == len({*runs})  # none is in two units


def test_first_values_and_penalties_train_as_one_bank_with_the_numbers_they_have_alone():
    changes = [variant.change for variant in ABLATIONS["init"].variants]
    plain, together = units_of("diabetes", "id", (METHOD,), 2, SHORT, changes)
    assert plain.changes == (PLAIN,)
    assert len(together.changes) == 7
    results = {result.run: result for result in run_unit(together, torch.device("cpu"))}
    for change in (changes[2], changes[4], changes[7]):
        (alone,) = units_of("diabetes", "id", (METHOD,), 2, SHORT, [change])
        for result in run_unit(alone, torch.device("cpu")):
            same = results[result.run].metrics
            assert result.metrics["nll"] == pytest.approx(same["nll"], rel=1e-3)
    numbers = [result.metrics["nll"] for result in results.values()]
    assert len({*numbers}) == len(numbers)  # no two variants are the same


def synthetic(name, better=(), n_seeds=5, settings=Settings()):  # noqa: B008
    """Results in which some variants are better than the rest, everywhere and by far."""
    ablation = ABLATIONS[name]
    tasks = {"adult", "breast_cancer", "phoneme", "ackley_classification"}
    keys = [
        "rmse",
        "nll",
        "rmsce",
        "miscalibration_area",
        "accuracy",
        "brier",
        "ece",
        "member_disagreement",
    ]
    results = []
    for dataset in ablation.datasets:
        for variant in ablation.variants:
            for seed in range(n_seeds):
                bad = 1.0 - 0.5 * (variant.label in better) + 0.001 * seed
                metrics = dict.fromkeys(keys, bad) | {"accuracy": 1 - bad}
                task = "classification" if dataset in tasks else "regression"
                task = "forecasting" if dataset in ("electric", "temperature") else task
                about = {"task": task, "n_parameters": 7, "n_rows": 1, "n_features": 1}
                about |= {"n_inputs": 1, "n_train": [1], "n_test": [1], "n_networks": 1}
                run = Run(dataset, "id", METHOD, seed, settings, variant.change)
                curves = {"selective": [0.1] * 15, "coverage": [0.1] * 39}
                results.append(Result(run, metrics, curves, about))
    return results


def verdict(claim, results):
    (found,) = [v for v in judge_claims(Study(results)) if v.id == claim]
    return found.verdict


def test_orthogonality_is_judged_by_whether_plain_is_among_the_best():
    assert verdict("C36", synthetic("init", better=["0"])) == "holds"
    assert verdict("C36", synthetic("init", better=["0.1"])) == "does not hold"


@pytest.mark.parametrize(
    ("claim", "name", "whole", "part"),
    [("C37", "adapters", "rsb", "rs"), ("C38", "gates", "CZF", "CZ")],
)
def test_a_reduced_set_that_is_always_among_the_best_refutes_the_claim(claim, name, whole, part):
    assert verdict(claim, synthetic(name, better=[whole])) == "holds"
    assert verdict(claim, synthetic(name, better=[whole, part])) == "partly"
    every = [variant.label for variant in ABLATIONS[name].variants]
    assert verdict(claim, synthetic(name, better=every)) == "does not hold"


def test_layers_are_judged_by_all_ten_being_best_and_few_being_not():
    assert verdict("C39", synthetic("layers", better=["10"])) == "holds"
    assert verdict("C39", synthetic("layers", better=["9", "10"])) == "partly"
    assert verdict("C39", synthetic("layers", better=["1"])) == "partly"  # two to seven are not
    every = [str(n) for n in range(1, 8)]
    assert verdict("C39", synthetic("layers", better=every)) == "does not hold"


def test_verdicts_on_ablations_need_full_runs_of_five_seeds():
    assert verdict("C36", synthetic("init", better=["0"], n_seeds=4)) is None
    assert verdict("C36", synthetic("init", better=["0"], settings=SHORT)) is None


def test_an_ablation_becomes_a_figure_a_table_and_a_line_on_diversity(tmp_path):
    results = synthetic("members", better=["8"], n_seeds=2)
    names = {path.stem for path in draw_figures(Study(results), tmp_path)}
    assert {"members_reg", "members_clf"} <= names
    sheets = {sheet.name: sheet for sheet in make_sheets(Study(results))}
    assert len(sheets["ablation-members"].rows) == 3 * 6
    assert [row[1] for row in sheets["diversity"].rows] == ["California", "Diabetes", "Phoneme"]
    assert all(np.isclose(row[3], 1.0) for row in sheets["diversity"].rows)


def test_a_figure_shows_the_variants_in_order_with_all_metrics_that_claims_are_judged_by():
    results = synthetic("init", better=["0"], n_seeds=2)
    axes = FIGURES["init_reg"].draw(Study(results)).axes
    names = ("RMSE", "NLL", "RMSCE", "miscalibration area", "disagreement")
    assert [a.get_title() for a in axes[:5]] == [f"California\n{name}" for name in names]
    assert [a.get_ylabel() for a in axes[:5]] == ["↓ better"] * 4 + [""]
    assert [tick.get_text() for tick in axes[0].get_xticklabels()] == ["0", "0.01", "0.1", "1"]
    random_sign = np.asarray(axes[1].containers[0].lines[0].get_ydata(), dtype=float)
    np.testing.assert_allclose(random_sign, [0.5005, 1.0005, 1.0005, 1.0005])


def test_a_variant_whose_networks_all_diverged_is_said_to_have_diverged():
    results = [
        dataclasses.replace(r, metrics={"diverged": 1.0}, curves={})
        if r.run.change.bounded is False and r.run.dataset == "california"
        else r
        for r in synthetic("bounds", better=["bounded"])
    ]
    (sheet,) = [sheet for sheet in make_sheets(Study(results)) if sheet.name == "ablation-bounds"]
    assert [row[1] for row in sheet.rows] == [
        "bounded", "as written (all runs diverged)", "bounded", "as written"
    ]  # fmt: skip
    axes = FIGURES["bounds_reg"].draw(Study(results)).axes
    assert [text.get_text() for text in axes[0].texts] == ["5 of 5\ndiverged"]
    assert [tick.get_text() for tick in axes[0].get_xticklabels()] == ["bounded", "as written"]
    assert not axes[5].texts  # Diabetes
    (question,) = questions(
        Study(results), {s.name: s for s in make_sheets(Study(results))}, [], full=True
    )
    assert question.finding == (
        "Among the best in NLL: California bounded (all runs diverged: as written) | "
        "Diabetes bounded."
    )


def test_a_variant_that_lost_some_of_its_networks_says_how_many():
    results = [
        dataclasses.replace(r, metrics={"diverged": 1.0}, curves={})
        if r.run.change.bounded is False and r.run.dataset == "california" and r.run.seed < 2
        else r
        for r in synthetic("bounds", better=["bounded"])
    ]
    n_seeds = len({r.run.seed for r in results})
    (sheet,) = [sheet for sheet in make_sheets(Study(results)) if sheet.name == "ablation-bounds"]
    assert [row[1] for row in sheet.rows] == [
        "bounded", f"as written (2 of {n_seeds} runs diverged)", "bounded", "as written"
    ]  # fmt: skip
