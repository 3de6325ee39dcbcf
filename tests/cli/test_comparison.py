import numpy as np
import pandas as pd
import pytest
from sample_files import QUICK, houses, sales

from batchensemble import Classifier, load
from batchensemble.cli.comparison import evaluate_file
from batchensemble.metrics import accuracy, rmse


def judged(shell, model="price.be", data="test.csv", coverage=0.9, target=None):
    return evaluate_file(load(model), shell.folder / data, target=target, coverage=coverage)


def answers(shell, model, keep, data="test.csv"):
    shell("predict", model, data, "-o", "answers.csv", "--keep", keep)
    return shell.read("answers.csv").dropna()


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_numbers_are_judged_as_one_would_by_hand(shell, coverage):
    found = judged(shell, coverage=coverage)
    shell(
        "predict", "price.be", "test.csv", "-o", "a.csv", "--keep", "price", "--coverage", coverage
    )
    rows = shell.read("a.csv").dropna()
    y = rows["price"].to_numpy()
    assert found.scores["rmse"] == pytest.approx(rmse(y, mean=rows["mean"].to_numpy()))
    held = (rows["lower"] <= y) & (y <= rows["upper"])
    assert found.scores["coverage"] == pytest.approx(held.mean())
    assert found.scores["rmse_of_mean"] == pytest.approx(y.std())
    assert (found.n_rows, found.n_without_target) == (38, 2)
    assert found.selective.values[-1] == pytest.approx(found.scores["rmse"])


def test_the_rows_of_most_doubt_come_first_with_their_lines_in_the_file(shell):
    rows = answers(shell, "price.be", "id,price")
    worst = rows.sort_values("std", ascending=False).head(20)
    sheet = judged(shell).doubtful
    assert sheet.columns[:6] == ("line", "truth", "mean", "lower", "upper", "std")
    assert [row[0] for row in sheet.rows] == (worst.index + 2).tolist()
    np.testing.assert_allclose([row[1] for row in sheet.rows], worst["price"])
    np.testing.assert_allclose([row[5] for row in sheet.rows], worst["std"])


def test_classes_are_judged_as_one_would_by_hand(shell):
    found = judged(shell, "town.be")
    rows = answers(shell, "town.be", "town")
    assert found.scores["accuracy"] == pytest.approx((rows["prediction"] == rows["town"]).mean())
    shares = rows[["p_Bonn", "p_Jena", "p_Ulm"]].to_numpy()
    labels = rows["town"].map({"Bonn": 0, "Jena": 1, "Ulm": 2}).to_numpy()
    assert found.scores["accuracy"] == pytest.approx(accuracy(labels, probabilities=shares))
    commonest = rows["town"].value_counts(normalize=True).max()
    assert found.scores["accuracy_of_commonest"] == pytest.approx(commonest)
    table = pd.crosstab(rows["town"], rows["prediction"])
    counts = {
        row[0]: dict(zip(found.mistakes.columns[1:], row[1:], strict=True))
        for row in found.mistakes.rows
    }
    assert all(counts[a][b] == table.loc[a, b] for a in table.index for b in table.columns)
    assert sum(sum(row.values()) for row in counts.values()) == len(rows)


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_sets_are_judged_as_one_would_by_hand(shell, coverage):
    found = judged(shell, "town.be", coverage=coverage).scores
    share = ("--coverage", coverage)
    shell("predict", "town.be", "test.csv", "-o", "a.csv", "--keep", "town", *share)
    rows = shell.read("a.csv").dropna(subset="town")
    sets = [one.split("|") for one in rows["set"]]
    held = [town in own for town, own in zip(rows["town"], sets, strict=True)]
    assert found["coverage_of_sets"] == pytest.approx(np.mean(held))
    assert found["size_of_sets"] == pytest.approx(np.mean([len(own) for own in sets]))


def test_the_gap_before_calibration_is_that_of_the_model_without_it(shell):
    scores = {}
    for name, words in (("with.be", ()), ("without.be", ("--no-calibrate",))):
        shell("fit", "houses.csv", "-t", "town", "-o", name, *QUICK, *words)
        scores[name] = judged(shell, name).scores
    assert scores["with.be"]["ece_before"] == pytest.approx(scores["without.be"]["ece"], rel=1e-5)
    assert scores["with.be"]["ece_before"] != pytest.approx(scores["with.be"]["ece"], rel=1e-3)
    assert "ece_before" not in scores["without.be"]


def test_a_model_that_is_not_calibrated_has_no_sets_to_judge(shell):
    shell(
        "fit", "houses.csv", "-t", "town", "-o", "plain.be", "--no-calibrate", "--seed", 3, *QUICK
    )
    found = judged(shell, "plain.be")
    assert "coverage_of_sets" not in found.scores
    assert (found.n_calibrated, found.seed) == (0, 3)


@pytest.mark.parametrize(("name", "n"), [("price.be", 24), ("town.be", 12), ("sales.be", 0)])
def test_it_is_told_how_many_rows_calibrated_a_model(shell, name, n):
    sales().query("month >= '2022-01-01'").to_csv("sold.csv", index=False)
    found = judged(shell, name, "sold.csv" if name == "sales.be" else "test.csv")
    assert (found.n_calibrated, found.seed) == (n, 0)


def test_the_rows_behind_each_confidence_are_counted(shell):
    found = judged(shell, "town.be")
    curve = found.calibration
    assert sum(curve.counts) == found.n_rows
    right = np.dot(curve.counts, curve.values) / found.n_rows
    assert right == pytest.approx(found.scores["accuracy"])


@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"], [True, False], ["007", "008"]])
def test_labels_of_every_kind_are_found_again_in_a_file(shell, labels):
    frame = houses(100).assign(label=np.resize(labels, 100))
    frame.to_csv("labelled.csv", index=False)
    shell(
        "fit",
        "labelled.csv",
        "-t",
        "label",
        "--task",
        "classification",
        "--epochs",
        2,
        "--members",
        2,
        "-o",
        "label.be",
    )
    found = judged(shell, "label.be", "labelled.csv")
    assert found.n_rows == 100
    assert [row[0] for row in found.mistakes.rows] == sorted(map(str, labels))


@pytest.mark.parametrize(
    ("labels", "stranger", "got"),
    [(["no", "yes"], "yesterday", "'yesterday'"), ([0, 1], 1.5, "1.5"), ([0, 1], 2, "2")],
)
def test_a_label_that_is_almost_a_class_is_a_stranger(shell, labels, stranger, got):
    frame = houses(60).assign(label=np.resize(labels, 60))
    frame.to_csv("labelled.csv", index=False)
    shell("fit", "labelled.csv", "-t", "label", "-o", "label.be", *QUICK)
    frame["label"] = frame["label"].astype(object)
    frame.loc[7:8, "label"] = stranger
    frame.to_csv("strange.csv", index=False)
    with pytest.raises(ValueError, match=rf"line 9, .*, got {got} \(2 such rows\)"):
        judged(shell, "label.be", "strange.csv")


def test_a_class_that_files_take_for_a_gap_is_not_left_out(shell):
    random = np.random.default_rng(0)
    x = random.normal(size=60)
    frame = pd.DataFrame({"x": x, "defect": np.where(x > 0, "None", "crack")})
    frame.to_parquet("defects.parquet")
    settings = {"epochs": 2, "n_members": 2, "hidden": (8,)}
    Classifier(**settings).fit(frame[["x"]], frame["defect"]).save("defect.be")
    said = shell("evaluate", "defect.be", "defects.parquet", code=1).stderr
    n = (frame["defect"] == "None").sum()
    assert f"{n} cells of 'defect' may be missing or of the class 'None'" in said
    frame[frame["defect"] == "crack"].to_parquet("cracks.parquet")
    assert judged(shell, "defect.be", "cracks.parquet").n_rows == 60 - n


def test_a_file_that_the_model_learned_from_is_told(shell):
    shell("fit", "houses.csv", "-t", "price", *QUICK, "-o", "here.be")
    same = judged(shell, "here.be", data="houses.csv").note
    assert same == "the model learned from this file, so its scores are too good"
    frame = pd.read_csv("houses.csv", dtype={"plot": str})
    copy = judged(shell, data="houses.csv").note  # fitted in another folder
    assert f"a file of this name with {len(frame)} rows; if they are among these" in copy
    assert judged(shell).note == ""
    pd.concat([frame, frame[:9]]).to_csv("houses.csv", index=False)
    grown = judged(shell, data="houses.csv").note
    assert f"a file of this name with {len(frame)} rows; if they are among these" in grown
    frame[:50].to_csv("houses.csv", index=False)
    assert judged(shell, data="houses.csv").note == ""


def test_a_file_without_truth_is_refused(shell):
    houses(20).assign(price=None).to_csv("test.csv", index=False)
    with pytest.raises(ValueError, match="expected at least 2 rows with a value in 'price', got 0"):
        judged(shell)
