import json
from pathlib import Path
from shutil import copytree

import pandas as pd
import pytest
import torch
from matplotlib.figure import Figure

from batchensemble.study import outputs
from batchensemble.study.outputs import write_outputs
from batchensemble.study.runner import run_units
from batchensemble.study.spec import Settings, units_of
from batchensemble.study.store import Store
from batchensemble.training.methods import METHODS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    short = Settings(epochs=2, most_rows=100)
    units = [u for v in ("id", "shift") for u in units_of("diabetes", v, tuple(METHODS), 2, short)]
    run_units(units, Store(folder / "runs"), device=torch.device("cpu"))
    return folder


@pytest.fixture(scope="module")
def written(folder):
    """What `write_outputs` returns, and what stands above each figure."""
    above, save = {}, Figure.savefig

    def spy(figure, path, **options):
        if isinstance(path, Path):  # not a chart of the report
            above[path.name] = figure.get_suptitle()
        save(figure, path, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", spy)
        return *write_outputs(folder), above


def test_a_folder_of_results_becomes_numbers_tables_figures_verdicts_and_a_report(folder, written):
    results, said, _ = written
    assert len(results) == 16
    frame = pd.read_csv(folder / "runs.csv")
    assert list(frame) == ["dataset", "variant", "method", "seed", "metric", "value"]
    assert set(frame.variant) == {"id", "shift"}
    assert set(frame.method) == set(METHODS)
    for name in ("params_size.md", "params_size.tex", "unc_id_shift_delta_reg.csv", "main.md"):
        assert (folder / "tables" / name).is_file()
    assert (folder / "figures" / "selective_reg_tails.pdf").is_file()
    assert said[-1] == f"Report: {folder / 'report.html'}"
    assert (folder / "report.html").stat().st_size > 100_000


def test_what_is_not_a_full_study_is_labelled_everywhere_and_has_no_verdicts(folder, written):
    _, said, above = written
    claims = json.loads((folder / "claims.json").read_text())
    assert [claim["id"] for claim in claims] == [f"C{i}" for i in range(1, 40)]
    assert {claim["verdict"] for claim in claims} == {None}
    assert not any("Claims" in line for line in said)
    assert (folder / "NOTE.txt").read_text().startswith("QUICK")
    label = "QUICK: fewer epochs, seeds and rows; draw no conclusions"
    texts = [path.read_text() for path in (folder / "tables").glob("*.[mt]*")]
    assert len(texts) > 10
    assert all(label in text for text in (*texts, (folder / "report.html").read_text()))
    drawn = {path.name for path in (folder / "figures").iterdir()} - {"grube.svg"}
    assert {*above} == drawn
    assert {"reg_main.png", "reg_tails.pdf", "selective_reg.png"} <= {*above}
    assert all(title.endswith(f"\n{label}") for title in above.values())


def test_what_needs_a_package_that_is_not_there_is_left_away_and_named(
    folder, tmp_path, monkeypatch
):
    monkeypatch.setattr(outputs, "find_spec", lambda name: None)
    copytree(folder / "runs", tmp_path / "runs")
    _, said = write_outputs(tmp_path)
    expected = "No figures, no tables in Markdown and LaTeX, no report: pip install"
    assert said[-1].startswith(expected)
    assert not (tmp_path / "report.html").exists()


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"expected results in .*, got none; make some with"):
        write_outputs(tmp_path)
