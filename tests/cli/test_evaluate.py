import io
import json

import pytest
from rich.console import Console
from sample_files import QUICK, houses, sales

from batchensemble.cli.evaluate import print_evaluation
from batchensemble.cli.evaluation import Curve, Evaluation
from batchensemble.plots.sheets import Sheet


@pytest.mark.parametrize("name", ["mean", "lower", "truth", "cutoff2"])
def test_a_target_may_be_called_like_an_answer(shell, name):
    renamed = sales().rename(columns={"sales": name})
    renamed.query("month < '2022-01-01'").to_csv("old.csv", index=False)
    renamed.query("month >= '2022-01-01'").to_csv("late.csv", index=False)
    words = ("-t", name, "--time", "month", "--series", "store", "--horizon", 4)
    shell("fit", "old.csv", *words, *QUICK)
    assert "windows" in shell("evaluate", "old.be", "late.csv", "--json").stdout


def test_columns_called_like_answers_are_shown_beside_them(shell):
    frame = houses().rename(columns={"rooms": "mean", "area": "truth"})
    frame.to_csv("odd.csv", index=False)
    shell("fit", "odd.csv", "-t", "price", *QUICK)
    found = json.loads(shell("evaluate", "odd.be", "odd.csv", "--json").stdout)["doubtful"][0]
    row = frame.iloc[found["line"] - 2]
    assert (found["truth"], found["mean (column)"]) == (row["price"], row["mean"])


def test_a_zero_is_written_and_a_gap_is_not():
    sheet = Sheet("doubtful", "", ("line", "truth", "x"), ((7, 0, None), (8, 1, 0.0)))
    curve = Curve("", "", [], [])
    found = Evaluation("f.csv", "classification", "y", 0.9, 2, 0, {}, curve, curve, sheet)
    out = io.StringIO()
    print_evaluation(Console(file=out, width=80), found)
    assert [line.split() for line in out.getvalue().splitlines()[-2:]] == [
        ["7", "0"],
        ["8", "1", "0"],
    ]
