"""Times until an event, some cut off: from a file to a score."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sample_files import Shell

from batchensemble import load, metrics
from batchensemble.cli.censoring import censored_rows, nll_of_constant, score_censored
from batchensemble.cli.comparison import evaluate_file
from batchensemble.predictive import GaussianPredictive
from batchensemble.predictive.transformed import TransformedPredictive
from batchensemble.predictive.transforms import Transform

FIT = ("-t", "days", "--censored", "alive", "--preset", "fast", "--epochs", "3")


def patients(path, n=150, seed=0):
    random = np.random.default_rng(seed)
    age = random.integers(30, 90, n)
    truth = np.exp(3 - 0.03 * (age - 60) + 0.4 * random.normal(size=n))
    end = random.exponential(25, n)
    alive = np.where(end < truth, "yes", "no")
    frame = pd.DataFrame({"age": age, "alive": alive, "days": np.minimum(truth, end)})
    frame.to_csv(path, index=False)
    return frame


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    patients("old.csv")
    patients("new.csv", seed=1)
    return Shell(tmp_path)


def test_a_file_with_censored_rows_is_fitted_told_and_evaluated(folder):
    said = " ".join(folder("fit", "old.csv", *FIT).stdout.split())
    n = (folder.read("old.csv")["alive"] == "yes").sum()
    assert f"Left out: alive (says which values of days are censored: {n})" in said
    assert "(--censored was given)" in said
    assert "of the held-out rows are censored." in said
    assert "NLL of one distribution for all rows" in said
    assert "RMSE" not in said
    told = folder("evaluate", "old.be", "new.csv", "-o", "report.html", "--json").stdout
    told = json.loads(told)
    assert set(told["scores"]) >= {"nll", "nll_of_constant", "coverage"}
    assert "rmse" not in told["scores"]
    assert any(str(row["truth"]).startswith("≥ ") for row in told["doubtful"])
    assert "are censored: the truth is at least that" in told["note"]
    assert "one distribution for all rows" in (folder.folder / "report.html").read_text()
    assert len(folder("predict", "old.be", "new.csv", "-o", "p.csv").output)
    # The same question again wants the same column.
    folder.read("new.csv").drop(columns="alive").to_csv("bare.csv", index=False)
    said = folder("evaluate", "old.be", "bare.csv", code=1).stderr
    assert "missing the --censored column of fit: 'alive'" in said


@pytest.mark.parametrize("at_fit", [(True, False), (1, 0), ("yes", "no")])
def test_a_column_that_says_so_in_other_words_than_at_fit_is_scored_alike(folder, at_fit):
    def alive(frame, words):
        return frame.assign(alive=frame["alive"].map(dict(zip(("yes", "no"), words, strict=True))))

    alive(folder.read("old.csv"), at_fit).to_csv("old.csv", index=False)
    folder("fit", "old.csv", *FIT)
    new, scores = folder.read("new.csv"), []
    for words in ((True, False), (1, 0), ("yes", "no")):
        alive(new, words).to_csv("words.csv", index=False)
        alive(new, words).to_parquet("words.parquet")
        for path in ("words.csv", "words.parquet"):
            told = folder("evaluate", "old.be", path, "-o", "r.html", "--json").stdout
            scores.append(json.loads(told)["scores"])
    assert all(each == scores[0] for each in scores)


def test_the_column_must_say_yes_or_no_about_a_number(folder):
    said = folder("fit", "old.csv", "-t", "days", "--censored", "age", code=1).stderr
    assert "expected true/false, yes/no or 1/0 in every row of the --censored column 'age'" in said
    words = ("-t", "alive", "--task", "classification", "--censored", "alive")
    said = folder("fit", "old.csv", *words, code=2).stderr
    assert "--censored is for a regression; omit it" in said


@pytest.mark.parametrize(
    "words", [(True, False), (1, 0), (1.0, 0.0), ("Yes", "no"), ("TRUE", "False")]
)
def test_columns_that_say_so_in_other_words_are_read_alike(words):
    assert censored_rows(pd.Series([words[0], words[1]], name="c"), "f").tolist() == [True, False]


def test_a_gap_in_the_column_is_named():
    with pytest.raises(ValueError, match="'c', got a gap"):
        censored_rows(pd.Series([1.0, None], name="c"), "f.csv")


def test_the_true_distribution_is_scored_better_than_a_constant_and_covers():
    random = np.random.default_rng(0)
    mean = random.normal(size=3000)
    truth, end = mean + random.normal(size=3000), random.normal(1, 1, 3000)
    dist = GaussianPredictive(mean[:, None], np.ones((3000, 1)))
    scores = score_censored(np.minimum(truth, end), end < truth, dist)
    assert scores["nll"] < scores["nll_of_constant"]
    assert scores["coverage_90"] == pytest.approx(0.9, abs=0.02)


def test_rows_of_which_almost_none_is_known_are_learned_from_and_not_scored(folder):
    frame = patients("few.csv", 120)
    frame["alive"] = "yes"
    frame.loc[:4, "alive"] = "no"
    frame.to_csv("few.csv", index=False)
    said = " ".join(folder("fit", "few.csv", *FIT).stdout.split())
    assert "Not scored: almost every target of the held-out rows is censored." in said
    frame.assign(alive="yes").to_csv("none.csv", index=False)
    refused = " ".join(folder("evaluate", "few.be", "none.csv", code=1).stderr.split())
    assert "expected at least 2 rows whose target is known, got 0 of 120" in refused


def test_one_gaussian_for_all_rows_is_the_most_likely_one():
    random = np.random.default_rng(0)
    truth, end = np.exp(1 + 0.6 * random.normal(size=400)), random.exponential(5, 400)
    y, censored = np.minimum(truth, end), end < truth
    best = nll_of_constant(y - 10, censored)
    for mean, std in ((y.mean() - 10, y.std()), (y.mean() - 9, 1.5 * y.std())):
        other = GaussianPredictive(np.full((len(y), 1), mean), np.full((len(y), 1), std**2))
        assert best < metrics.censored_nll(y - 10, censored=censored, dist=other)
    # Where no value is negative, the log-normal is tried, and true here.
    assert nll_of_constant(y, censored) < best


def test_the_curve_is_that_of_the_intervals_that_predict_writes(folder):
    folder("fit", "old.csv", *FIT, "--seed", "0")
    model = load("old.be").calibrate(*(folder.read("old.csv")[part] for part in (["age"], "days")))
    model.save("old.be")
    found = {
        level: evaluate_file(load("old.be"), Path("new.csv"), target=None, coverage=level)
        for level in (0.5, 0.7, 0.9)
    }
    at, before = (
        dict(zip(np.round(curve.at, 3), curve.values, strict=True))
        for curve in (found[0.5].calibration, found[0.5].uncalibrated)
    )
    scores = {level: one.scores["coverage"] for level, one in found.items()}
    assert scores == pytest.approx({level: at[level] for level in scores})
    assert scores != pytest.approx({level: before[level] for level in scores}, abs=0.01)


@pytest.mark.parametrize("known", [True, False])
def test_a_bound_at_which_many_values_are_is_judged_alike_in_every_unit(known):
    """Where the model gives a probability, the constant does; of what else there is, densities."""
    random = np.random.default_rng(0)
    x = random.normal(size=4000)
    latent = 1.5 * x * known + random.normal(size=4000)
    stock = random.uniform(0.3, 4, 4000)
    y, censored = np.minimum(np.maximum(0, latent), stock), latent > stock
    gains = []
    for unit in (0.01, 1.0, 100.0):
        mean = unit * 1.5 * x * known if known else np.zeros(4000)
        wide = np.full((4000, 1), unit**2)
        dist = TransformedPredictive(mean[:, None], wide, 0.0, 1.0, Transform.straight(0.0))
        scores = score_censored(unit * y, censored, dist)
        gains.append(scores["nll_of_constant"] - scores["nll"])
    assert np.ptp(gains) < 1e-6
    assert (gains[0] > 0.2) == known
    assert abs(gains[0]) < 0.1 or known


def test_a_known_value_that_cannot_be_is_named_and_the_others_are_scored(folder):
    frame = patients("days.csv", 200)
    folder("fit", "days.csv", *FIT)
    frame.loc[3, ["days", "alive"]] = [-0.5, "no"]
    frame.loc[4, ["days", "alive"]] = [-0.5, "yes"]  # at least that
    frame.to_csv("odd.csv", index=False)
    said = " ".join(folder("evaluate", "days.be", "odd.csv", "-o", "odd.html").stdout.split())
    assert "1 target cannot be (positive: never below 0), so the NLL is infinite" in said
    assert "no better than" not in said
    assert (
        "The model rules out a true value, so the NLL is infinite" in Path("odd.html").read_text()
    )


def test_a_file_of_nothing_but_values_that_cannot_be_is_answered(folder):
    frame = patients("days.csv", 200)
    frame["days"] = frame["days"].clip(upper=20)
    frame.to_csv("days.csv", index=False)
    bounds = ("--target-kind", "bounded", "--target-bounds", 0, 20)
    folder("fit", "days.csv", *FIT, *bounds)
    frame.assign(days=frame["days"] + 30).to_csv("odd.csv", index=False)
    said = " ".join(folder("evaluate", "days.be", "odd.csv", "-o", "odd.html").stdout.split())
    assert "200 targets cannot be (bounded: from 0 to 20), so the NLL is infinite" in said
