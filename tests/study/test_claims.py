import dataclasses
import functools
import json
import math
import subprocess
import sys

import numpy as np
import pytest

from batchensemble.metrics import LEVELS
from batchensemble.study import published
from batchensemble.study.claim_list import CLAIMS
from batchensemble.study.claims import (
    Verdict,
    claims_sheet,
    judge_claims,
    write_claims,
    write_needs,
)
from batchensemble.study.faster import Faster
from batchensemble.study.results import FULL, Study
from batchensemble.study.spec import Change, Run, Settings
from batchensemble.study.statements import ALL, BE, DE, MC, Need, S
from batchensemble.study.store import Result

PATTERN = np.array([-3, -1, 0, 1, 3])  # over five seeds its standard error is 1
QUICK = Settings(epochs=100, most_rows=3_000)
FAILS = "does not hold"

# Ranks of BE, DE, MC, S: equal ranks tie, others are well apart, 0 is the best.
TIE = (0, 0, 0, 0)
OURS = (0, 1, 2, 2)
RANKS = {
    ("california", "id"): {"nll": (1, 0, 2, 2), "calibration": (1, 1, 1, 0)},
    ("california", "shift"): {"nll": (1, 0, 2, 2), "calibration": (1, 1, 1, 0)},
    ("diabetes", "id"): {"nll": (0, 0, 0, 1), "calibration": (0, 0, 1, 1)},
    ("diabetes", "shift"): {"nll": (0, 1, 1, 2), "calibration": (0, 0, 0, 1)},
    ("adult", "id"): {"accuracy": OURS, "nll": OURS, "brier": OURS, "ece": (0, 0, 1, 1)},
    ("adult", "shift"): {"accuracy": OURS, "nll": (0, 1, 2, 3), "brier": (0, 1, 2, 3)}
    | {"ece": (0, 1, 2, 3)},
    ("breast_cancer", "id"): {"accuracy": (0, 1, 0, 0), "nll": (0, 0, 0, 1)}
    | {"brier": TIE, "ece": TIE},
    ("breast_cancer", "shift"): {"accuracy": TIE, "nll": OURS, "brier": (0, 0, 1, 1), "ece": TIE},
    ("phoneme", "id"): {"accuracy": TIE, "nll": TIE, "brier": TIE, "ece": TIE},
    ("phoneme", "shift"): {"accuracy": TIE, "nll": OURS, "brier": (0, 0, 1, 1)}
    | {"ece": (0, 0, 1, 1)},
    ("electric", "id"): {"rmse": OURS, "nll": (0, 1, 3, 2), "rmsce": (0, 1, 1, 0)}
    | {"miscalibration_area": (0, 2, 2, 1)},
    ("temperature", "id"): {"rmse": OURS, "nll": (0, 1, 2, 3), "calibration": (1, 0, 2, 2)},
}
RISING = np.arange(15.0)


def rank_curve(*runs):
    """Ranks along the 15 coverages, as (how many, rank)."""
    return np.repeat([rank for _, rank in runs], [n for n, _ in runs])


# Ranks of the selective curves, which all rise by 1 from point to point.
ONE_NETWORK = {MC: rank_curve((15, 3)), S: rank_curve((15, 3))}
CURVES = {
    "california": {BE: rank_curve((8, 1), (7, 0)), DE: rank_curve((15, 0)), **ONE_NETWORK},
    "diabetes": {
        BE: rank_curve((3, 0), (8, 1), (4, 0)),
        DE: rank_curve((2, 1), (13, 0)),
        **ONE_NETWORK,
    },
    "electric": {
        BE: rank_curve((15, 0)),
        DE: rank_curve((6, 0), (9, 1)),
        MC: rank_curve((15, 3)),
        S: rank_curve((15, 2)),
    },
    "temperature": {
        BE: rank_curve((15, 0)),
        DE: rank_curve((15, 1)),
        MC: rank_curve((15, 2)),
        S: 400 - 20 * RISING,  # so much that the curve falls
    },
    "adult": {who: rank_curve((15, rank)) for who, rank in zip(ALL, OURS, strict=True)},
    "breast_cancer": {who: rank_curve((15, 0)) for who in ALL},
    "phoneme": {who: rank_curve((15, 0)) for who in ALL},
}
CANCER_SHIFT = CURVES["breast_cancer"] | {DE: rank_curve((8, 0), (4, 1), (3, 0))}


def metrics_of(place, who):
    """Means, and the standard errors to go with them."""
    column = ALL.index(who)
    found = {}
    for key, ranks in RANKS[place].items():
        sign = -1 if key == "accuracy" else 1
        for name in ("rmsce", "miscalibration_area") if key == "calibration" else (key,):
            found[name] = (1 + sign * 0.1 * ranks[column], 0.02)
    if place in published.RMSE:
        found["rmse"] = (published.RMSE[place][who], 0.001)
    elif place[0] == "diabetes":
        found["rmse"] = (0.17, 0.001)
    if place in published.UNCERTAINTY:
        for name, mean in published.UNCERTAINTY[place][who]._asdict().items():
            found[name] = (mean, 1e-6)
    return found


def curves_of(place, who):
    dataset, _ = place
    ranks = CANCER_SHIFT[who] if place == ("breast_cancer", "shift") else CURVES[dataset][who]
    if "accuracy" in RANKS[place]:
        return {"selective": (1 - 0.01 * RISING - 0.001 * ranks, 0.0001)}
    gap = -0.01 if dataset == "diabetes" else 0.01
    return {"selective": (1 + RISING + 0.1 * ranks, 0.01), "coverage": (LEVELS + gap, 0.001)}


@functools.cache
def make_results(settings=FULL, seeds=range(5)):
    """A study in which the claims hold."""
    results = []
    for place in RANKS:
        for who in ALL:
            metrics, curves = metrics_of(place, who), curves_of(place, who)
            sizes = published.N_PARAMETERS[place[0]]
            for seed in seeds:
                results.append(
                    Result(
                        Run(*place, who, seed, settings),
                        {k: float(m + se * PATTERN[seed]) for k, (m, se) in metrics.items()},
                        {k: (m + se * PATTERN[seed]).tolist() for k, (m, se) in curves.items()},
                        {"n_parameters": sizes["single" if who == MC else who]},
                    )
                )
    return results


def make_costs(ours=1.0):
    seconds = {BE: ours, "deep_ensemble one by one": 5.0, DE: 0.5, MC: 0.2, S: 0.1}
    return [
        {
            "device": device,
            "dataset": dataset,
            "entrant": entrant,
            "n_parameters": 1,
            "train_seconds": spent,
            "predict_seconds": spent / 100,
            "peak_bytes": None,
        }
        for device in ("cpu", "some GPU")
        for dataset in published.SHAPES
        for entrant, spent in seconds.items()
    ]


def judged(results, costs=None):
    study = Study(results, make_costs() if costs is None else costs)
    return {verdict.id: verdict for verdict in judge_claims(study)}


@pytest.fixture(scope="module")
def as_claimed():
    return judged(make_results())


def edited(results, place, who, edit):
    """The same results, but for those of one method at one place."""
    return [
        edit(result)
        if (result.run.dataset, result.run.variant, result.run.method) == (*place, who)
        else result
        for result in results
    ]


def with_metric(results, place, who, key, mean):
    """That metric has another mean, and the same standard error."""
    own = [r for r in results if (r.run.dataset, r.run.variant, r.run.method) == (*place, who)]
    gap = mean - np.mean([r.metrics[key] for r in own])

    def edit(result):
        metrics = {**result.metrics, key: result.metrics[key] + gap}
        return dataclasses.replace(result, metrics=metrics)

    return edited(results, place, who, edit)


def changed(change):
    """Every number goes through the function."""

    def edit(result):
        return dataclasses.replace(
            result,
            metrics={key: change(value) for key, value in result.metrics.items()},
            curves={key: [change(v) for v in values] for key, values in result.curves.items()},
            about={"n_parameters": change(result.about["n_parameters"])},
        )

    return edit


def backwards(result):
    return dataclasses.replace(result, curves={k: v[::-1] for k, v in result.curves.items()})


def test_claims_are_numbered_in_order_and_each_is_there_once():
    assert [claim.id for claim in CLAIMS] == [f"C{i}" for i in range(1, len(CLAIMS) + 1)]
    assert len(CLAIMS) >= 35
    assert [v.id for v in judge_claims(Study([]))] == [claim.id for claim in CLAIMS]


def test_no_two_parts_of_a_claim_have_the_same_text(as_claimed):
    for verdict in as_claimed.values():
        texts = [part.text for part in verdict.parts]
        assert len(texts) == len(set(texts)), verdict.id


@pytest.mark.parametrize("number", range(1, 36))
def test_in_a_study_made_so_every_claim_holds_but_the_third_which_others_rule_out(
    as_claimed, number
):
    found = as_claimed[f"C{number}"]
    failing = [part.text for part in found.parts if part.counts and part.verdict != "holds"]
    if found.id == "C3":  # C6 and C11 have the deep ensemble alone at the top on California
        assert found.verdict == "partly"
        assert [text.split(":")[0] for text in failing] == ["california id", "california shift"]
    else:
        assert failing == []
        assert found.verdict == "holds"
        assert found.why_not == ""


def test_the_third_claim_holds_where_the_two_ensembles_tie_on_california():
    results = make_results()
    for variant in ("id", "shift"):
        results = with_metric(results, ("california", variant), BE, "nll", 1.0)
    found = judged(results)
    assert found["C3"].verdict == "holds"
    assert found["C6"].verdict == found["C11"].verdict == "partly"


CHANGES = [
    changed(lambda value: value * 1000),
    changed(lambda value: value / 1000),
    changed(lambda value: value + 10),
    changed(lambda value: value - 10),
    backwards,
]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_everything_a_statement_reads_can_break_it(claim):
    for check in claim.statements:
        if isinstance(check, Faster) or len(check.reads) > len(ALL):
            continue  # costs, and the count over many places, have tests of their own
        for reading in check.reads.values():
            for place in reading.place.parts:
                verdicts = (
                    part.verdict
                    for change in CHANGES
                    for part in check.parts(
                        Study(edited(make_results(), place, reading.entrant, change))
                    )
                )
                broken = any(verdict != "holds" for verdict in verdicts)
                assert broken, (check.text, place, reading.entrant)


def test_better_on_most_takes_seven_of_twelve():
    results = make_results()
    lost = [place for place, own in RANKS.items() if own["nll"][0] < own["nll"][2]]
    assert len(lost) == 9
    for n, place in enumerate(lost[:3]):
        last = judged(results)["C2"].parts[-1]
        assert len(last.numbers["better"]) == 9 - n
        assert last.verdict == "holds"
        results = with_metric(results, place, MC, "nll", metrics_of(place, BE)["nll"][0])
    found = judged(results)["C2"]
    assert found.parts[-1].verdict == FAILS
    assert found.verdict == "partly"


FLIPS = [
    # claim, place, method, metric, its new mean, verdict
    ("C5", ("california", "id"), DE, "rmse", 0.09, "partly"),
    ("C9", ("california", "shift"), DE, "rmse", 0.097 * 2.49, "holds"),
    ("C9", ("california", "shift"), DE, "rmse", 0.097 * 2.51, "partly"),
    ("C9", ("california", "shift"), S, "rmse", 0.301, "holds"),
    ("C9", ("california", "shift"), S, "rmse", 0.299, "partly"),
    ("C13", ("california", "id"), S, "aleatoric", 0.0149, "holds"),
    ("C13", ("california", "id"), S, "aleatoric", 0.0151, "partly"),
    ("C13", ("california", "id"), BE, "epistemic", 0.0049, "holds"),
    ("C13", ("california", "id"), BE, "epistemic", 0.0051, "partly"),
    ("C13", ("california", "id"), MC, "epistemic", 0.001, "partly"),
    ("C14", ("california", "id"), BE, "epistemic", 0.0072, "holds"),
    ("C14", ("california", "id"), BE, "epistemic", 0.0074, "partly"),
    ("C14", ("california", "shift"), BE, "total", 0.013 + 0.145, "partly"),
    ("C14", ("california", "shift"), BE, "epistemic", 0.2, "partly"),
    ("C15", ("diabetes", "shift"), S, "aleatoric", 0.0301, "partly"),
    ("C15", ("diabetes", "shift"), S, "aleatoric", 0.0299, "holds"),
    ("C19", ("adult", "id"), S, "accuracy", 1.0, "partly"),
    ("C27", ("adult", "shift"), BE, "epistemic", 0.0119, "holds"),
    ("C27", ("adult", "shift"), BE, "epistemic", 0.0121, "partly"),
    ("C27", ("phoneme", "shift"), BE, "epistemic", 0.0191, "holds"),
    ("C27", ("phoneme", "shift"), BE, "epistemic", 0.0189, "partly"),
    ("C28", ("phoneme", "shift"), DE, "epistemic", 0.0239, "holds"),
    ("C28", ("phoneme", "shift"), DE, "epistemic", 0.0241, "partly"),
    ("C31", ("electric", "id"), DE, "rmse", 1.2, "partly"),
    ("C32", ("electric", "id"), S, "nll", 1.3, "partly"),
]


@pytest.mark.parametrize(("claim", "place", "who", "key", "mean", "verdict"), FLIPS)
def test_one_number_can_flip_a_claim(claim, place, who, key, mean, verdict):
    results = with_metric(make_results(), place, who, key, mean)
    assert judged(results)[claim].verdict == verdict


@pytest.mark.parametrize(("share", "verdict"), [(0.299, "holds"), (0.301, "partly")])
def test_under_three_tenths_of_the_parameters_is_few(share, verdict):
    few = {"n_parameters": share * published.N_PARAMETERS["adult"][DE]}
    results = edited(
        make_results(), ("adult", "id"), BE, lambda result: dataclasses.replace(result, about=few)
    )
    assert judged(results)["C1"].verdict == verdict


@pytest.mark.parametrize(("growth", "verdict"), [(1.19, "holds"), (1.21, "partly")])
def test_on_diabetes_the_error_of_all_may_grow_by_a_fifth(growth, verdict):
    results = make_results()
    for who in ALL:
        results = with_metric(results, ("diabetes", "shift"), who, "rmse", 0.17 * growth)
    assert judged(results)["C10"].verdict == verdict


def test_a_claim_of_which_no_part_holds_does_not_hold():
    results = make_results()
    for dataset in ("california", "diabetes"):
        results = with_metric(results, (dataset, "id"), S, "rmse", 0.01)
    assert judged(results)["C5"].verdict == FAILS

    for who in ALL:
        results = edited(results, ("california", "id"), who, changed(lambda value: value - 1))
        results = edited(results, ("diabetes", "id"), who, changed(lambda value: value + 1))
    assert judged(results)["C8"].verdict == FAILS


def test_the_cost_claim_is_about_the_ensemble_one_by_one_and_shows_the_other_beside(as_claimed):
    found = as_claimed["C4"]
    assert found.verdict == "holds"
    deciding = [part for part in found.parts if part.counts]
    beside = [part for part in found.parts if not part.counts]
    assert len(deciding) == len(beside) == 2 * 2 * 7
    assert {part.verdict for part in deciding} == {"holds"}
    assert {part.verdict for part in beside} == {FAILS}
    assert all("one by one" in part.text for part in deciding)
    assert all("vectorised (does not count)" in part.text for part in beside)
    assert judged(make_results(), make_costs(ours=5.0))["C4"].verdict == FAILS
    slow_on_one = [
        {**cost, "train_seconds": 9.0}
        if (cost["device"], cost["dataset"], cost["entrant"]) == ("cpu", "adult", BE)
        else cost
        for cost in make_costs()
    ]
    assert judged(make_results(), slow_on_one)["C4"].verdict == "partly"


def test_without_costs_the_cost_claim_is_not_judged():
    found = judged(make_results(), [])["C4"]
    assert (found.verdict, found.why_not, found.parts) == (None, "needs measured costs", ())


ABLATIONS = ("C36", "C37", "C38", "C39")  # of which these results have no runs


@pytest.mark.parametrize(
    "results",
    [make_results(QUICK), make_results(seeds=range(4)), make_results(QUICK, seeds=range(2))],
    ids=["quick", "four seeds", "quick, two seeds"],
)
def test_quick_or_too_few_runs_have_numbers_and_no_verdicts(results):
    for verdict in judged(results).values():
        assert verdict.verdict is None, verdict.id
        assert verdict.why_not.startswith("needs full runs of five seeds of: ")
        assert verdict.parts
        for part in verdict.parts:
            assert part.verdict is None
            assert part.numbers or verdict.id in ABLATIONS
    assert judged(results)["C5"].parts[0].numbers["best_set"] == [BE, DE]


def test_one_missing_seed_of_one_method_is_named_and_leaves_the_other_claims_judged():
    results = [r for r in make_results() if r.run != Run("california", "id", MC, 3)]
    found = judged(results)
    assert found["C5"].why_not == "needs full runs of five seeds of: california id (mc_dropout)"
    assert [part.verdict for part in found["C5"].parts] == [None, "holds"]
    assert found["C5"].verdict is None
    assert found["C19"].verdict == "holds"
    assert found["C1"].verdict == "holds"  # MC dropout has no part in it


def test_a_missing_dataset_leaves_its_parts_without_numbers():
    found = judged([r for r in make_results() if r.run.dataset != "adult"])
    assert found["C19"].verdict is None
    assert found["C19"].why_not == "needs full runs of five seeds of: adult id"
    assert [part.verdict for part in found["C19"].parts] == [None, "holds", "holds"]
    assert found["C19"].parts[0].numbers == {}
    assert found["C5"].verdict == "holds"
    assert "adult" in found["C4"].why_not


def test_a_lost_run_makes_its_claims_unjudged_and_says_so():
    def lose(result):
        return dataclasses.replace(result, metrics={"diverged": 1.0}, curves={})

    found = judged(edited(make_results(), ("california", "shift"), BE, lose))
    assert found["C9"].verdict is None
    assert found["C9"].why_not == (
        "needs finite RMSE in every seed of: california shift (batch_ensemble)"
    )
    assert found["C5"].verdict == "holds"


def test_methods_datasets_seeds_and_changes_of_others_do_not_disturb():
    results, extra = make_results(), []
    for result in results:
        run = result.run
        perfect = dict.fromkeys(result.metrics, 0.0)
        for own in (
            dataclasses.replace(run, method="my_method"),
            dataclasses.replace(run, dataset="my_table"),
            dataclasses.replace(run, dataset="seasonal"),
            dataclasses.replace(run, change=Change(bounded=False)),
            dataclasses.replace(run, change=Change(matched=True)),
            dataclasses.replace(run, seed=run.seed + 5),
            dataclasses.replace(run, settings=QUICK),
        ):
            extra.append(Result(own, perfect, {"selective": []}, {"n_parameters": 1}))
    alone, among_others = (Study(own, make_costs()) for own in (results, [*extra, *results]))
    assert judge_claims(among_others) == judge_claims(alone)


def test_the_order_of_results_does_not_matter():
    results = make_results()
    assert judge_claims(Study(results[::-1])) == judge_claims(Study(results))


def strictly(text):
    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("results", [make_results(), make_results(QUICK, range(1)), []])
def test_claims_are_written_as_strict_json_with_their_numbers(tmp_path, results):
    verdicts = judge_claims(Study(results, make_costs()))
    path = tmp_path / "new" / "claims.json"
    write_claims(verdicts, path)
    found = strictly(path.read_text())
    assert [entry["id"] for entry in found] == [verdict.id for verdict in verdicts]
    for entry, verdict in zip(found, verdicts, strict=True):
        assert entry["verdict"] == verdict.verdict
        assert (entry["text"], entry["why_not"]) == (verdict.text, verdict.why_not)
        assert entry["numbers"] == {part.text: part.numbers for part in verdict.parts}
        assert [(p["text"], p["verdict"], p["counts"]) for p in entry["parts"]] == [
            (part.text, part.verdict, part.counts) for part in verdict.parts
        ]


def test_numbers_that_are_not_finite_are_left_out_of_the_file(tmp_path):
    results = make_results()
    for value in (math.nan, math.inf):
        broken = with_metric(results, ("adult", "id"), S, "nll", value)
        write_claims(judge_claims(Study(broken)), tmp_path / "claims.json")
        (entry,) = (e for e in strictly((tmp_path / "claims.json").read_text()) if e["id"] == "C20")
        assert entry["verdict"] is None
        assert entry["why_not"] == "needs finite NLL in every seed of: adult id (single)"
        assert S not in entry["numbers"]["adult id: best set in NLL is {batch_ensemble}"]


def test_a_verdict_that_is_no_json_is_refused(tmp_path):
    part = judge_claims(Study(make_results()))[0].parts[0]
    bad = dataclasses.replace(part, numbers={"x": math.nan})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_claims([Verdict("C1", "", None, "", (bad,))], tmp_path / "claims.json")


def test_judging_needs_no_torch():
    code = "import sys, batchensemble.study.claims; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_table_of_claims_counts_the_parts_that_count():
    verdicts = judge_claims(Study(make_results()))
    sheet = claims_sheet(verdicts)
    assert [row[0] for row in sheet.rows] == [verdict.id for verdict in verdicts]
    rows = {row[0]: row for row in sheet.rows}
    parts = [part.verdict for part in judged(make_results())["C16"].parts]
    counts = tuple(parts.count(word) for word in ("holds", "partly", "does not hold"))
    assert rows["C16"][2:] == (judged(make_results())["C16"].verdict, *counts)
    assert rows["C4"][2] == "not judged"  # without costs


def test_what_is_missing_is_said_once_and_entrants_are_named_where_some_are_there():
    whole = [Need("full runs of", "adult id", who) for who in ALL]
    some = [Need("full runs of", "phoneme id", "single")] * 2
    lost = [Need("finite NLL of", "adult id", BE), Need("costs")]
    assert write_needs([*whole, *some, *lost]) == (
        "needs full runs of: adult id, phoneme id (single); finite NLL of: adult id "
        "(batch_ensemble); costs"
    )
    assert write_needs([]) == ""


def test_verdicts_by_pairs_of_all_seeds_stand_beside_those_of_five():
    """BatchEnsemble leads MC dropout by less than seeds differ, but on every one of them."""
    random = np.random.default_rng(0)
    levels, results = random.normal(size=20), []
    for seed, level in enumerate(levels):
        for i, method in enumerate(ALL):
            metrics = {"nll": level + 0.1 * i + 0.01 * random.normal()}
            results.append(Result(Run("adult", "id", method, seed, FULL), metrics))
    both = judge_claims(Study(results), Study(results, paired=True))
    (verdict,) = [one for one in both if one.id == "C20"]
    (i,) = [i for i, part in enumerate(verdict.parts) if part.text.startswith("adult id")]
    assert verdict.parts[i].verdict == "partly"  # all four overlap
    assert verdict.paired_parts[i] == "holds"
    assert len(verdict.paired_parts) == len(verdict.parts)
    sheet = claims_sheet(both)
    row = next(row for row in sheet.rows if row[0] == "C20")
    cells = dict(zip(sheet.columns, row, strict=True))
    assert (cells["parts: holds"], cells["paired parts: holds"]) == (0, 1)
    alone = claims_sheet(judge_claims(Study(results)))
    assert not any(name.startswith("paired") for name in alone.columns)
