"""As a new user meets the commands, from an empty folder."""

import io
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sample_files import QUICK, houses, sales

from batchensemble import load
from batchensemble.training.direct import Direct
from batchensemble.training.networks import MLP, Recurrent


def plain(text):
    return " ".join(text.split())


def test_a_table_is_fitted_predicted_judged_and_looked_at(shell):
    for left in shell.folder.glob("*.be"):
        left.unlink()
    said = plain(shell("fit", "houses.csv", "--target", "price", *QUICK).stdout)
    for words in (
        "houses.csv: 120 rows; left out 2 rows without price",
        "Task: regression of price (price has 118 distinct numbers)",
        "number rooms, area category town, plot date sold boolean garden",
        "Left out: id (differs in every row, like an ID)",
        "Left out: country (is the same in every row)",
        "Scores on 24 random held-out rows:",
        "RMSE of the mean",
        "Calibrated: 90 % intervals covered",
        "Next: batchensemble predict houses.be new.csv",
    ):
        assert words in said
    shell("predict", "houses.be", "new.csv", "-o", "out.csv", "--keep", "id")
    out = shell.read("out.csv")
    assert out["id"].tolist() == shell.read("new.csv")["id"].tolist()
    assert (out["lower"] < out["mean"]).all()
    said = plain(shell("evaluate", "houses.be", "test.csv", "-o", "report.html").stdout)
    assert "test.csv: 38 rows; left out 2 rows without price" in said
    assert "Least certain:" in said
    assert (shell.folder / "report.html").stat().st_size > 100_000
    said = plain(shell("inspect", "houses.be").stdout)
    for words in ("regression of price", "rooms (number)", "Trained on 94 rows", "Calibrated"):
        assert words in said


def test_series_are_fitted_forecast_and_judged(shell):
    test = sales().query("month >= '2021-10-01'")  # three months of it are known already
    test.to_csv("test.csv", index=False)
    out = pd.read_csv(io.StringIO(shell("predict", "sales.be").stdout))
    assert out.columns.tolist() == ["store", "month", "mean", "lower", "upper"]
    assert out["month"].tolist() == ["2022-01-01", "2022-02-01", "2022-03-01", "2022-04-01"] * 2
    shell("predict", "sales.be", "test.csv", "--horizon", "2", "-o", "o.csv")  # a short history
    assert shell.read("o.csv")["month"].tolist() == ["2023-01-01", "2023-02-01"] * 2
    pd.concat([shell.read("sales.csv"), test.query("month >= '2022-01-01'")]).to_csv(
        "all.csv", index=False
    )
    shell("predict", "sales.be", "all.csv", "--horizon", "2", "-o", "o.csv")
    assert shell.read("o.csv")["month"].tolist() == ["2023-01-01", "2023-02-01"] * 2
    found = json.loads(shell("evaluate", "sales.be", "test.csv", "--json").stdout)
    assert 0 <= found["scores"]["coverage"] <= 1
    assert found["n_rows"] == 24  # what was known already judges nothing
    assert len(found["doubtful"]) == 18  # 12 new months have 9 windows of 4, in two series


def test_json_is_one_object_and_nothing_else(shell):
    fit = shell("fit", "houses.csv", "-t", "garden", "-o", "g.be", *QUICK, "--json")
    found = json.loads(fit.stdout)
    assert found["task"] == "classification"
    assert found["why"] == "garden is true or false"
    assert found["left_out"].keys() == {"id", "country"}
    assert found["n_learned"] + found["n_judged"] == 120
    predict = shell("predict", "g.be", "test.csv", "-o", "out.csv", "--json")
    assert json.loads(predict.stdout)["n_rows"] == 40
    evaluation = json.loads(shell("evaluate", "g.be", "test.csv", "--json").stdout)
    assert 0 <= evaluation["scores"]["accuracy"] <= 1
    assert len(evaluation["doubtful"]) == 20
    about = json.loads(shell("inspect", "g.be", "--json").stdout)
    assert about["origin"]["scores"] == found["scores"]
    assert len(about["training"][0]["losses"]) == 2
    done = shell("predict", "g.be", "test.csv", "--json", code=2)
    assert "--json needs a file" in plain(done.output)


def test_help_teaches_without_loading_what_trains(shell):
    said = plain(shell("predict", "--help").stdout)
    assert "two parts of the variance" in said
    assert "entropies in nats" in said
    assert "Exit codes: 0 success; 1 the data" in said
    code = "import sys; import batchensemble.cli.app; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert "typer" in loaded
    assert not loaded & {"torch", "sklearn", "scipy", "pandas", "pyarrow", "matplotlib"}


def test_what_was_fitted_by_hand_is_predicted_and_inspected_too(shell):
    from batchensemble import Regressor

    frame = houses().dropna(subset="price")
    model = Regressor(epochs=2, n_members=2, random_state=0)
    model.fit(frame[["rooms", "area", "town"]], frame["price"].to_numpy()).save("hand.be")
    out = pd.read_csv(io.StringIO(shell("predict", "hand.be", "new.csv").stdout))
    new = shell.read("new.csv")[["rooms", "area", "town"]]
    np.testing.assert_allclose(out["mean"], model.predict(new), rtol=1e-9)
    assert "an unnamed target" in shell("inspect", "hand.be").stdout
    assert (
        "does not know the name of its target; add --target"
        in shell("evaluate", "hand.be", "test.csv", code=1).stderr
    )
    shell("evaluate", "hand.be", "test.csv", "--target", "price")
    assert load("hand.be").n_parameters_ == model.n_parameters_


@pytest.fixture
def passes(monkeypatch):
    """Rows that went through the networks of tables, and windows through those of series."""
    counts = {"rows": 0, "windows": 0}
    forward = MLP.forward
    simulate = {kind: kind.simulate for kind in (Direct, Recurrent)}

    def count_rows(self, x, masks=None):
        counts["rows"] += len(x)
        return forward(self, x, masks)

    def count_windows(self, x, noise, masks=None):
        counts["windows"] += len(x)
        return simulate[type(self)](self, x, noise, masks)

    # A loaded model is tried on rows of its own: these do not count.
    monkeypatch.setattr("batchensemble.estimators.soundness.MOST_TRIED", 0)
    monkeypatch.setattr(MLP, "forward", count_rows)
    for kind in simulate:
        monkeypatch.setattr(kind, "simulate", count_windows)
    return counts


@pytest.mark.parametrize(
    ("command", "thing", "n"),
    [
        ("predict price.be new.csv", "rows", 30),
        ("predict town.be test.csv", "rows", 40),
        ("predict sales.be", "windows", 2),
        ("predict calibrated.be", "windows", 2),
        ("evaluate price.be test.csv", "rows", 38),
        ("evaluate town.be test.csv", "rows", 39),
        ("evaluate sales.be sold.csv", "windows", 18),
        ("evaluate calibrated.be sold.csv", "windows", 18),
    ],
)
def test_a_row_goes_through_the_network_once(shell, passes, command, thing, n):
    sales().query("month >= '2022-01-01'").to_csv("sold.csv", index=False)
    if "calibrated" in command:
        series = ("-t", "sales", "--time", "month", "--series", "store", "--horizon", 4)
        words = ("--calibrate", "--holdout", 0.3, "-o", "calibrated.be")
        shell("fit", "sales.csv", *series, *words, *QUICK)
    passes.update(rows=0, windows=0)
    shell(*command.split())
    assert passes[thing] == n


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["fit", "", "-t", "price"], "DATA"),
        (["fit", "houses.csv", "-t", "price", "-o", ""], "--out"),
        (["fit", "sales.csv", "-t", "sales", "--time", ""], "--time"),
        (["fit", "houses.csv", "-t", "price", "--drop", "id", "--drop="], "--drop"),
        (["predict", "price.be", "", "-o", "out"], "DATA"),
        (["evaluate", "price.be", "test.csv", "-o", ""], "--out"),
        (["inspect", ""], "MODEL"),
        (["serve", "price.be", "--host", ""], "--host"),
        (["report", ""], "RESULTS"),
    ],
)
def test_an_empty_text_is_no_value_of_an_option(shell, words, name):
    before = sorted(shell.folder.iterdir())
    said = plain(shell(*words, code=2).stderr.replace("│", " "))
    where, _, wrong = said.partition("Invalid value for ")[2].partition(": ")
    assert name in where
    assert wrong.startswith("expected a value, got an empty text; is a variable of the shell not")
    assert sorted(shell.folder.iterdir()) == before


def test_without_arguments_it_shows_help(shell):
    assert "reproduce" in shell(code=2).output
