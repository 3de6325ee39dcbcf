import csv
from dataclasses import replace

import pandas as pd

from batchensemble.plots.sheets import MeanSE, Sheet
from batchensemble.study.tables import write_sheet

SHEET = Sheet(
    "scores",
    "Scores",
    ("dataset", "method", "total", "rows"),
    (("California", "Single", MeanSE(0.123456789, 0.01), 20), ("California", "Mine", None, None)),
    "a remark",
)


def test_a_table_is_written_for_machines_and_for_people(tmp_path):
    paths = write_sheet(SHEET, tmp_path / "new", "a label")
    assert [path.suffix for path in paths] == [".csv", ".md", ".tex"]
    frame = pd.read_csv(paths[0])
    assert list(frame) == ["dataset", "method", "total", "total, SE", "rows"]
    assert frame["total"][0] == 0.123456789
    assert frame["total, SE"][0] == 0.01
    markdown, latex = (path.read_text() for path in paths[1:])
    assert markdown.count("\n| California") == 2
    assert "0.123 ± 0.010" in markdown
    assert "0.123 $\\pm$ 0.010" in latex
    assert "\\toprule" in latex
    for words in ("a label", "a remark"):
        assert words in markdown
        assert f"% {words}" in latex


def test_a_missing_cell_is_empty_in_every_form(tmp_path):
    paths = write_sheet(SHEET, tmp_path)
    with paths[0].open() as file:
        assert list(csv.reader(file))[-1] == ["California", "Mine", "", "", ""]
    last = paths[1].read_text().splitlines()[5]
    assert [cell.strip() for cell in last.split("|")[1:-1]] == ["California", "Mine", "", ""]


def test_the_standard_error_of_a_single_run_is_not_known_in_any_form(tmp_path):
    sheet = replace(SHEET, rows=(("California", "Single", MeanSE.of([0.25]), 1),))
    paths = write_sheet(sheet, tmp_path)
    with paths[0].open() as file:
        assert list(csv.reader(file))[-1] == ["California", "Single", "0.25", "", "1"]
    assert "±" not in paths[1].read_text()


def test_without_tabulate_only_the_table_for_machines_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr("batchensemble.study.tables.find_spec", lambda name: None)
    assert [path.name for path in write_sheet(SHEET, tmp_path)] == ["scores.csv"]
