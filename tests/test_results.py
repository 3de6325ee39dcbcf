"""The results that are kept in the repository, and what is said about them."""

import csv
import html
import json
import re
from pathlib import Path

import pytest
from browser import visiting

from batchensemble.plots.looks import dataset_name, label
from batchensemble.plots.sheets import show
from batchensemble.study.abstract import abstract_sheet
from batchensemble.study.claims import judge_claims
from batchensemble.study.costs_file import read_costs
from batchensemble.study.predictions import predictions_sheet
from batchensemble.study.published import N_PARAMETERS
from batchensemble.study.results import Study, read_results

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "results"


@pytest.fixture(scope="module")
def results():
    return read_results(FOLDER)


def test_the_kept_results_are_a_full_study(results):
    study = Study(results)
    assert study.note == ""
    assert len(study.places()) == 12
    assert len(study.methods()) == 4


def test_all_published_parameter_counts_are_met(results):
    found = {(r.run.dataset, r.run.entrant): r.about["n_parameters"] for r in results}
    for dataset, counts in N_PARAMETERS.items():
        assert {method: found[dataset, method] for method in counts} == counts
    assert sum(map(len, N_PARAMETERS.values())) == 21


def test_every_number_of_every_run_is_in_the_table_for_machines(results):
    with (FOLDER / "runs.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["dataset", "variant", "method", "seed", "metric", "value"]
    found = {tuple(words): float(value) for *words, value in rows}
    assert found == {
        (r.run.dataset, r.run.variant, r.run.entrant, str(r.run.seed), metric): value
        for r in results
        for metric, value in r.metrics.items()
    }
    assert len(found) == len(rows)


def test_the_compact_predictions_give_the_metrics_that_their_table_says(results):
    sheet = predictions_sheet(results, FOLDER / "predictions")
    with (FOLDER / "tables" / "predictions.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert tuple(header) == sheet.columns
    assert rows == [[str(cell) for cell in row] for row in sheet.rows]
    assert {row[0]: row[2] for row in sheet.rows} == {
        "regression": 80,
        "classification": 120,
        "forecasting": 40,
    }


def leaves(value, path=()):
    """Every number in nested dicts and lists, with the way to it."""
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list | tuple):
        inner = enumerate(value)
    else:
        yield path, value
        return
    for key, own in inner:
        yield from leaves(own, (*path, str(key)))


def test_the_verdicts_and_their_numbers_are_those_that_the_runs_give(results):
    kept = json.loads((FOLDER / "claims.json").read_text())
    verdicts = judge_claims(Study(results, read_costs(FOLDER / "costs.json")))
    assert [(c["id"], c["verdict"]) for c in kept] == [(v.id, v.verdict) for v in verdicts]
    for claim, verdict in zip(kept, verdicts, strict=True):
        now = {part.text: part for part in verdict.parts}
        assert len(now) == len(verdict.parts)
        assert {p["text"]: p["verdict"] for p in claim["parts"]} == {
            text: part.verdict for text, part in now.items()
        }
        numbers = {text: part.numbers for text, part in now.items()}
        assert dict(leaves(claim["numbers"])) == pytest.approx(dict(leaves(numbers)))
    assert None not in {claim["verdict"] for claim in kept}


def test_the_page_of_the_study_tells_the_numbers_of_the_results(results):
    page = (ROOT / "docs" / "study.md").read_text()
    study = Study(results, paired=True)
    words = study.methods()
    assert f"| | {' | '.join(map(label, words))} |" in page
    for dataset, variant in study.places():
        means = study.means((dataset, variant), "nll")
        cells = " | ".join(show(means[word]) for word in words)
        assert f"| {dataset_name(dataset)} {variant}, NLL | {cells} |" in page
    claims = json.loads((FOLDER / "claims.json").read_text())
    verdicts = [claim["verdict"] for claim in claims]
    (said,) = re.findall(r"of the (\d+) claims, (\d+) hold, (\d+) hold in part", page)
    counts = (len(verdicts), verdicts.count("holds"), verdicts.count("partly"))
    assert tuple(map(int, said)) == counts
    parts = [part for claim in claims for part in claim["parts"] if part["counts"]]
    (paired, n) = re.search(r"(\d+) of the (\d+) parts hold", page).groups()
    assert int(paired) == sum(part["paired"] == "holds" for part in parts)
    assert int(n) == len(parts)


def test_the_page_of_the_study_counts_what_the_open_choices_change():
    page = (ROOT / "docs" / "study.md").read_text()
    with (FOLDER / "tables" / "sensitivity.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["no dropout"] != "not run"]

    def total(choice, pattern):
        return sum(int(n) for row in rows for n in re.findall(pattern, row[choice]))

    held, of, changed, diverged = r"^(\d+) of", r"of (\d+)", r"(\d+) changed", r"(\d+) diverged"
    assert f"Of the {total('main study', of)} parts of claims C1 to C{len(rows)}:" in page
    assert f"| as in the study | {total('main study', held)} | |" in page
    told = dict(re.findall(r"^\| ([a-z][^|(,]*?)(?: \(.*?\)|,[^|]*)? \| (\d+ \| \d+)", page, re.M))
    choices = [choice for choice in rows[0] if choice not in ("id", "claim", "main study")]
    assert len(choices) == 5
    for choice in choices:
        assert told[choice] == f"{total(choice, held)} | {total(choice, changed)}"
    written = "objective as written"
    assert f"and {total(written, diverged)} that cannot be judged" in page


def test_the_page_of_the_study_opens_with_the_verdict_on_the_abstract(results):
    study = Study(results, read_costs(FOLDER / "costs.json"), paired=True)
    sheet = abstract_sheet(study)
    rows = [f"| {quote} | **{verdict}** | {found} |" for quote, verdict, found in sheet.rows]
    page = (ROOT / "docs" / "study.md").read_text()
    head = f"| {' | '.join(sheet.columns)} |\n| --- | --- | --- |\n"
    assert head + "\n".join(rows) + "\n" in page
    assert page.index(head) < page.index("## Summary")
    assert "better on 6 of 12 test sets, undecided on 4, worse on 2 (Phoneme, Electric)" in rows[3]


def test_the_tables_and_the_report_have_the_same_verdicts_on_the_abstract(results):
    study = Study(results, read_costs(FOLDER / "costs.json"), paired=True)
    sheet = abstract_sheet(study)
    with (FOLDER / "tables" / "abstract.csv").open(newline="") as file:
        assert [tuple(row) for row in csv.reader(file)] == [sheet.columns, *sheet.rows]
    page = (FOLDER / "report.html").read_text(encoding="utf-8")
    opening = html.unescape(page[page.index('id="abstract"') : page.index('id="pictures"')])
    for _, verdict, found in sheet.rows:
        assert f">{verdict}<" in opening
        assert found in opening


def test_every_table_of_the_report_fits_a_screen_of_1280_pixels(browser):
    wider = "boxes => boxes.filter(b => b.scrollWidth > b.clientWidth).map(b => b.ariaLabel)"
    with visiting(browser, FOLDER / "report.html", width=1280) as visit:
        for variant in ("id", "shift"):
            visit.page.locator(f"label[for=show-{variant}]").click()
            assert visit.page.locator(".scroll").evaluate_all(wider) == []
        visit.page.set_viewport_size({"width": 800, "height": 900})
        assert visit.page.locator(".scroll").evaluate_all(wider) != []


def test_the_diagram_of_grube_is_the_same_in_docs_results_and_report():
    diagram = (ROOT / "docs" / "images" / "grube.svg").read_text()
    assert (FOLDER / "figures" / "grube.svg").read_text() == diagram
    assert diagram in (FOLDER / "report.html").read_text(encoding="utf-8")


CODE_NAMES = r"batch_ensemble|deep_ensemble|mc_dropout|n_hidden|[a-z]+=\w|\b\d(\.\d+)?e[+-]\d"


def test_the_report_has_no_code_names_and_no_numbers_as_machines_write_them():
    page = (FOLDER / "report.html").read_text(encoding="utf-8")
    body = page[page.index("<main>") : page.index("</main>")]
    for left_out in (r"<svg.*?</svg>", r"<pre>.*?</pre>", r"<[^>]+>"):
        body = re.sub(left_out, " ", body, flags=re.DOTALL)
    assert {match[0] for match in re.finditer(CODE_NAMES, html.unescape(body))} == set()
    assert re.search(CODE_NAMES, "4.61e+04 ± 0")
    assert "46,100" in body


def test_the_report_says_that_one_part_holds_and_that_two_hold():
    page = (FOLDER / "report.html").read_text(encoding="utf-8")
    said = re.findall(r"of \d+ parts (\d+) (\w+),", page)
    assert ("1", "holds") in said
    assert {word for number, word in said if number != "1"} == {"hold"}


def test_every_path_that_the_page_of_the_results_names_is_there():
    lines = (FOLDER / "README.md").read_text().splitlines()
    rows = [line.strip("|").split("|") for line in lines if line.startswith("|")][2:]
    assert len(rows) >= 10
    for what, where in rows:
        (path,) = re.findall(r"`([^`]+)`", where)
        assert (FOLDER / path).exists(), path
        assert (FOLDER / path).is_dir() == path.endswith("/")
        for script in re.findall(r"`python (\S+)`", what):
            assert (ROOT / script).is_file(), script


def placeholders(text):
    """Words such as AGREE_N that wait for a number; variables of the environment are none."""
    words = re.findall(r"\b[A-Z]{2,}_[A-Z0-9_]+\b|\b(?:TODO|FIXME|TBD|XXX)\b", text)
    return [word for word in words if not word.startswith("BATCHENSEMBLE_")]


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), FOLDER / "README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_has_a_word_that_waits_for_its_number(page):
    text = page.read_text()
    assert placeholders(text) == []
    assert placeholders(f"{text} on AGREE_N of 40 rows, TODO") == ["AGREE_N", "TODO"]
