import io
import json

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from sample_files import QUICK, houses, sales
from sklearn.metrics import average_precision_score, f1_score, recall_score, roc_auc_score

from batchensemble import load
from batchensemble.cli.evaluate import print_evaluation
from batchensemble.cli.evaluation import Curve, Evaluation
from batchensemble.cli.format import percent
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


def test_scores_of_each_class_are_those_of_scikit_learn(shell):
    found = json.loads(shell("evaluate", "town.be", "houses.csv", "--json").stdout)
    frame = houses().dropna(subset=["town"])
    shell("predict", "town.be", "houses.csv", "-o", "answers.csv")
    answers = shell.read("answers.csv").loc[frame.index]
    assert [row["class"] for row in found["classes"]] == ["Bonn", "Jena", "Ulm"]
    for row in found["classes"]:
        own, p = frame.town == row["class"], answers[f"p_{row['class']}"]
        said = answers.prediction == row["class"]
        assert row["rows"] == own.sum()
        assert row["recall"] == pytest.approx(recall_score(own, said))
        assert row["F1"] == pytest.approx(f1_score(own, said))
        assert row["AUC"] == pytest.approx(roc_auc_score(own, p), abs=1e-3)
        assert row["average precision"] == pytest.approx(average_precision_score(own, p), abs=1e-2)
    assert "By class:" in shell("evaluate", "town.be", "houses.csv").stdout


@pytest.mark.parametrize(
    ("right", "said"),
    [(0.5, "less accurate than"), (0.6, "no more accurate than"), (0.7, "")],
)
@pytest.mark.parametrize("n", [2, 50])
def test_a_model_that_a_constant_equals_is_told_so_in_the_first_line(right, said, n):
    sheet, curve = Sheet("doubtful", "", ("line",), ((7,),)), Curve("", "", [], [])
    scores = {"accuracy": right, "accuracy_of_commonest": 0.6}
    found = Evaluation("f.csv", "classification", "y", 0.9, n, 0, scores, curve, curve, sheet)
    out = io.StringIO()
    print_evaluation(Console(file=out, width=200), found)
    first = out.getvalue().splitlines()[0]
    if said:
        assert first.startswith(f"Warning: {said} always predicting the most common class")
        assert first.endswith("judge it by its probabilities" if n == 50 else "evaluate it on more")
    else:
        assert "f.csv" in first


def test_a_target_that_cannot_be_is_said_to_make_the_nll_infinite(shell):
    frame = houses(80).dropna(subset=["price"])
    frame["price"] = np.exp(frame.price / 200)
    frame.to_csv("skewed.csv", index=False)
    shell("fit", "skewed.csv", "-t", "price", *QUICK)
    frame.assign(price=[-1.0, *frame.price[1:]]).to_csv("odd.csv", index=False)
    said = " ".join(shell("evaluate", "skewed.be", "odd.csv").stdout.split())
    assert "Note: 1 target cannot be (positive: never below 0" in said
    assert "fit with --target-kind real" in said
    assert "cannot be" not in shell("evaluate", "skewed.be", "skewed.csv").stdout


def test_intervals_that_adapt_are_asked_for_by_a_word_and_coverage_is_told_in_time(shell):
    frame = sales()
    frame.query("month < '2021-06-01'").to_csv("old.csv", index=False)
    frame.query("month >= '2021-06-01'").to_csv("late.csv", index=False)
    words = ("fit", "old.csv", "-t", "sales", *QUICK, "--time", "month", "--series", "store")
    words = (*words, "--horizon", 4)
    assert "Calibrated" in shell(*words, "--calibrate", "--no-adapt", "-o", "static.be").stdout
    assert "Calibrated" in shell(*words, "--adapt").stdout
    assert "add --calibrate" in shell(*words, "--no-adapt", code=2).stderr
    ways = [load(name).calibration_.is_adaptive for name in ("static.be", "old.be")]
    assert ways == [False, True]
    words = ("evaluate", "old.be", "late.csv", "--coverage", 0.8)
    said = shell(*words).stdout
    assert f"Coverage of the {percent(0.8)} intervals in time (± standard error):" in said
    found = json.loads(shell(*words, "--json", "-o", "page.html").stdout)
    page = (shell.folder / "page.html").read_text()
    assert f"Coverage of {percent(0.8)} intervals in time" in page
    assert len(found["coverage_in_time"]) == 3
    assert "drawn_in_time" not in found
    refused = shell("fit", "houses.csv", "-t", "price", "--adapt", *QUICK, code=2)
    assert "--adapt is for a forecast" in refused.stderr


def test_truth_in_another_unit_is_told(shell):
    houses(300).to_csv("many.csv", index=False)
    shell("fit", "many.csv", "-t", "price", "--epochs", 20)
    houses(40, seed=2).to_csv("good.csv", index=False)
    frame = houses(40, seed=2).assign(price=lambda rows: rows["price"] / 1000)
    frame.to_csv("small.csv", index=False)
    said = " ".join(shell("evaluate", "many.be", "small.csv").stdout.split())
    assert "Warning: column 'price': its values lie far from the predictions, such as" in said
    assert "would be like them if they were 1,000 times larger" in said
    told = json.loads(shell("evaluate", "many.be", "small.csv", "--json").stdout)["warnings"]
    assert any("1,000 times larger" in one for one in told)
    assert "times larger" not in shell("evaluate", "many.be", "good.csv").stdout


@pytest.mark.parametrize("width", [60, 80, 200])
def test_no_number_of_the_least_certain_rows_is_cut(shell, width):
    names = [f"a rather long name of column {i}" for i in range(6)]
    frame = pd.DataFrame(np.random.default_rng(0).normal(0, 1e8, (60, 6)).round(), columns=names)
    frame.assign(y=frame[names[0]] * np.linspace(0.5, 1, 60)).to_csv("large.csv", index=False)
    shell("fit", "large.csv", "-t", "y", *QUICK)
    said = shell("evaluate", "large.be", "large.csv", env={"COLUMNS": str(width)}).stdout
    rows = said[said.index("Least certain:") :].splitlines()
    assert "\N{HORIZONTAL ELLIPSIS}" not in said
    assert max(map(len, rows)) <= width
    first = load("large.be").predict(frame)
    shown = [row.split() for row in rows if row.split()[0].isdigit()]
    assert len(shown) == 5
    for line, _, mean, *_ in shown:
        assert float(mean.replace(",", "")) == pytest.approx(first[int(line) - 2], rel=1e-3)
    assert ("column 0" in " ".join(rows)) == (width == 200)


def test_a_file_of_the_folder_that_was_learned_is_known_again(shell):
    (shell.folder / "parts").mkdir()
    (shell.folder / "other").mkdir()
    frame = houses(120)[["area", "rooms", "price"]].dropna()
    for name, rows in (("parts/a", frame[:50]), ("parts/b", frame[50:]), ("other/a", frame[:50])):
        rows.to_csv(f"{name}.csv", index=False)
    note = "the model learned from this file, so its scores are too good"
    for where in ("parts", "parts/*.csv"):
        shell("fit", where, "-t", "price", *QUICK, "-o", "parts.be")
        assert note in " ".join(shell("evaluate", "parts.be", "parts/a.csv").stdout.split())
        assert "too good" not in shell("evaluate", "parts.be", "other/a.csv").stdout
    shell("fit", "parts/a.csv", "-t", "price", *QUICK, "-o", "a.be")
    assert note in " ".join(shell("evaluate", "a.be", "parts/a.csv").stdout.split())
    said = " ".join(shell("evaluate", "a.be", "other/a.csv").stdout.split())
    assert "a file of this name with 50 rows; if they are among these, scores are too good" in said
