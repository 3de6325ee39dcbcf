"""The results that are kept in the repository, and what is said about them."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from batchensemble.study.claims import judge_claims
from batchensemble.study.costs_file import read_costs
from batchensemble.study.looks import dataset_name, label
from batchensemble.study.published import N_PARAMETERS
from batchensemble.study.tables import label_of, methods, over_seeds, places, read_results, show

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "results"


@pytest.fixture(scope="module")
def results():
    return read_results(FOLDER)


def test_the_kept_results_are_a_full_study(results):
    assert label_of(results) == ""
    assert len(places(results)) == 12
    assert len(methods(results)) == 4


def test_all_published_parameter_counts_are_met(results):
    found = {(r.run.dataset, r.run.entrant): r.about["n_parameters"] for r in results}
    for dataset, counts in N_PARAMETERS.items():
        assert {method: found[dataset, method] for method in counts} == counts
    assert sum(map(len, N_PARAMETERS.values())) == 21


def test_every_number_of_every_run_is_in_the_table_for_machines(results):
    frame = pd.read_csv(FOLDER / "runs.csv")
    assert list(frame) == ["dataset", "variant", "method", "seed", "metric", "value"]
    assert len(frame) == sum(len(r.metrics) for r in results)


def test_the_verdicts_are_those_that_the_runs_give(results):
    kept = json.loads((FOLDER / "claims.json").read_text())
    verdicts = judge_claims(results, read_costs(FOLDER / "costs.json"))
    assert [(c["id"], c["verdict"]) for c in kept] == [(v.id, v.verdict) for v in verdicts]
    assert None not in {claim["verdict"] for claim in kept[:35]}  # the rest are ablations


def test_the_page_of_the_study_tells_the_numbers_of_the_results(results):
    page = (ROOT / "docs" / "study.md").read_text()
    words = methods(results)
    assert f"| | {' | '.join(map(label, words))} |" in page
    for dataset, variant in places(results):
        own = [r for r in results if (r.run.dataset, r.run.variant) == (dataset, variant)]
        found = over_seeds(own, "nll")
        cells = " | ".join(show(found[word]) for word in words)
        assert f"| {dataset_name(dataset)} {variant}, NLL | {cells} |" in page
    claims = json.loads((FOLDER / "claims.json").read_text())
    verdicts = [claim["verdict"] for claim in claims[:35]]
    (said,) = re.findall(r"Of the (\d+) claims, (\d+) hold, (\d+) hold in part", page)
    counts = (len(verdicts), verdicts.count("holds"), verdicts.count("partly"))
    assert tuple(map(int, said)) == counts
