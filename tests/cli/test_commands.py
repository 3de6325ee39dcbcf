"""As a new user meets them: from an empty folder, and with a new user's mistakes."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from sample_files import QUICK, houses, sales

from batchensemble import load
from batchensemble.cli import commands
from batchensemble.estimators.presets import PRESETS
from batchensemble.training.methods import METHODS


def plain(text):
    return " ".join(text.split())


def test_a_table_is_fitted_predicted_judged_and_looked_at(shell):
    for left in shell.folder.glob("*.be"):
        left.unlink()
    said = plain(shell("fit", "houses.csv", "--target", "price", *QUICK).stdout)
    for words in (
        "houses.csv: 120 rows; 2 rows without a price left out",
        "Task: regression of price (price has 118 different numbers)",
        "number rooms, area category town, plot date sold boolean garden",
        "Left out: id (has another word in every row",
        "Left out: country (is the same in every row)",
        "Judged on 24 rows, chosen at random, that it did not learn from.",
        "RMSE of the mean",
        "Calibrated: intervals of 90 % held",
        "Next: batchensemble predict houses.be new.csv",
    ):
        assert words in said
    shell("predict", "houses.be", "new.csv", "-o", "out.csv", "--keep", "id")
    out = shell.read("out.csv")
    assert out["id"].tolist() == shell.read("new.csv")["id"].tolist()
    assert (out["lower"] < out["mean"]).all()
    said = plain(shell("evaluate", "houses.be", "test.csv", "-o", "report.html").stdout)
    assert "test.csv: 38 rows; 2 rows without a price left out" in said
    assert "What it is least sure of:" in said
    assert (shell.folder / "report.html").stat().st_size > 100_000
    said = plain(shell("inspect", "houses.be").stdout)
    for words in ("regression of price", "rooms (number)", "Learned from 94 rows", "Calibrated"):
        assert words in said


def test_the_same_words_give_the_same_model(shell):
    answers = []
    for name in ("a.be", "b.be"):
        shell("fit", "houses.csv", "-t", "price", "-o", name, *QUICK)
        answers.append(shell("predict", name, "new.csv").stdout)
    assert answers[0] == answers[1]
    shell("fit", "houses.csv", "-t", "price", "-o", "c.be", *QUICK, "--seed", "1")
    assert shell("predict", "c.be", "new.csv").stdout != answers[0]


def test_series_are_fitted_forecast_and_judged(shell):
    test = sales().query("month >= '2021-10-01'")  # three months of it are known already
    test.to_csv("test.csv", index=False)
    out = pd.read_csv(io.StringIO(shell("predict", "sales.be").stdout))
    assert out.columns.tolist() == ["store", "month", "mean", "lower", "upper"]
    assert out["month"].tolist() == ["2022-01-01", "2022-02-01", "2022-03-01", "2022-04-01"] * 2
    shell("predict", "sales.be", "test.csv", "--horizon", "2", "-o", "o.csv", code=1)
    pd.concat([shell.read("sales.csv"), test.query("month >= '2022-01-01'")]).to_csv(
        "all.csv", index=False
    )
    shell("predict", "sales.be", "all.csv", "--horizon", "2", "-o", "o.csv")
    assert shell.read("o.csv")["month"].tolist() == ["2023-01-01", "2023-02-01"] * 2
    found = json.loads(shell("evaluate", "sales.be", "test.csv", "--json").stdout)
    assert 0 <= found["scores"]["coverage"] <= 1
    assert found["n_rows"] == 24  # what was known already judges nothing
    assert len(found["doubtful"]) == 18  # 12 new months have 9 windows of 4, in two series


def test_columns_known_ahead_are_asked_for_and_used(shell):
    series = ("-t", "sales", "--time", "month", "--series", "store", "--horizon", "4")
    done = shell("fit", "sales.csv", *series, "--future", "holidays", "-o", "f.be", *QUICK)
    assert "number holidays" in plain(done.stdout)
    asked = shell("predict", "f.be", code=1).stderr
    assert "expected --ahead, a file with 'holidays' for the times to come" in asked
    refused = shell("predict", "sales.be", "--ahead", "sales.csv", code=1).stderr
    assert "the model was fitted without --future" in refused
    ahead = sales().query("'2022-01-01' <= month < '2022-05-01'").drop(columns="sales")
    ahead.to_csv("ahead.csv", index=False)
    answers = [shell("predict", "f.be", "--ahead", "ahead.csv").stdout]
    ahead.assign(holidays=30).to_csv("ahead.csv", index=False)
    answers.append(shell("predict", "f.be", "--ahead", "ahead.csv").stdout)
    assert answers[0] != answers[1]


def test_pipes_go_in_and_out(shell):
    shell("predict", "price.be", "new.csv", "-o", "out.csv")
    text = (shell.folder / "new.csv").read_text()
    done = shell("predict", "price.be", "-", stdin=text)
    assert done.stdout == (shell.folder / "out.csv").read_text()
    assert done.stderr == ""
    rows = (shell.folder / "houses.csv").read_text()
    done = shell("fit", "-", "-t", "price", "-o", "piped.be", *QUICK, stdin=rows)
    assert "standard input: 120 rows" in done.stdout
    answers = shell("predict", "piped.be", "new.csv").stdout
    assert answers == (shell.folder / "out.csv").read_text()


def test_true_and_false_are_written_as_they_are_read(shell):
    shell("fit", "houses.csv", "-t", "garden", "-o", "g.be", *QUICK)
    shell("predict", "g.be", "test.csv", "-o", "out.csv", "--keep", "id, plot")
    found = shell.read("out.csv", dtype=str)
    assert found.columns.tolist()[:4] == ["id", "plot", "prediction", "confidence"]
    assert {"p_true", "p_false"} <= {*found}
    assert {*found["prediction"]} <= {"true", "false"}


def test_times_with_zones_come_back_with_theirs(shell):
    zoned = sales(40).assign(month=lambda f: f["month"] + "T00:00+00:00")
    zoned.to_csv(shell.folder / "zoned.csv", index=False)
    how = ["-t", "sales", "--time", "month", "--series", "store", "--horizon", "2", "-o", "z.be"]
    assert "have zones: they are read, and written, in UTC" in shell(
        "fit", "zoned.csv", *how, *QUICK
    ).stdout.replace("\n", " ")
    shell("predict", "z.be", "-o", "out.csv")
    times = pd.to_datetime(shell.read("out.csv")["month"])
    assert times[0] == pd.Timestamp("2021-05-01", tz="UTC")
    frame = zoned.assign(month=pd.to_datetime(zoned["month"]))
    frame.to_parquet(shell.folder / "zoned.parquet")
    shell("predict", "z.be", "zoned.parquet", "-o", "again.csv")
    assert (shell.folder / "again.csv").read_text() == (shell.folder / "out.csv").read_text()
    frame.assign(month=frame["month"].dt.tz_localize(None)).to_parquet("plain.parquet")
    done = shell("predict", "z.be", "plain.parquet", code=1)
    assert "row 1, column 'month': expected a time with a zone" in done.stderr


@pytest.mark.parametrize("names", [("true", "false"), ("2020-01-01", "2021-01-01"), ("7", "8")])
def test_series_have_the_names_that_the_file_gives_them(shell, names):
    named = sales(40).replace({"north": names[0], "south": names[1]})
    named.to_csv("named.csv", index=False)
    words = ("-t", "sales", "--time", "month", "--series", "store", "--horizon", 2)
    shell("fit", "named.csv", *words, *QUICK)
    own = shell("predict", "named.be").stdout
    assert own == shell("predict", "named.be", "named.csv").stdout
    assert {line.partition(",")[0] for line in own.splitlines()[1:]} == {*names}


def test_gaps_next_to_what_is_held_back_are_filled(shell):
    sales(40).drop([34, 35, 75]).to_csv("gappy.csv", index=False)
    words = ("-t", "sales", "--time", "month", "--series", "store", "--horizon", 4)
    for more in ((), ("--calibrate",)):
        shell("fit", "gappy.csv", *words, "--fill", "ffill", *more, *QUICK)
        assert "2021-05-01" in shell("predict", "gappy.be").stdout


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


def test_too_few_past_forecasts_are_said_to_be(shell):
    sales(24).query("store == 'north'").to_csv("short.csv", index=False)
    words = ("-t", "sales", "--time", "month", "--horizon", 2, "--calibrate", "--holdout", 0.45)
    said = plain(shell("fit", "short.csv", *words, *QUICK).stdout)
    assert "with too few of them to say what that changed" in said
    assert "nan" not in said
    sales(40).query("store == 'north'").to_csv("test.csv", index=False)
    scores = json.loads(shell("evaluate", "short.be", "test.csv", "--json").stdout)["scores"]
    assert "coverage_80" in scores
    assert "coverage_95" not in scores


def test_a_reader_who_has_read_enough_is_no_error(shell):
    rows = shell.read("new.csv", dtype=str)
    pd.concat([rows] * 500).to_csv(shell.folder / "many.csv", index=False)
    program = f"{sys.executable} -c 'from batchensemble.cli.app import app; app()'"
    for command, reader in (
        ("predict price.be many.csv", "head -n 1"),
        ("inspect price.be", "true"),
    ):
        line = f"{program} {command} | {reader}; echo ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
        assert done.stdout.splitlines()[-1:] == ["141"]
        assert done.stderr == ""


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


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("fit none.csv -t y", "there is no file none.csv"),
        ("fit houses.xlsx -t y", "expected a .csv, .csv.gz, .tsv, .parquet or .feather file"),
        ("fit houses.csv -t prise", "got 'prise'; did you mean 'price'?"),
        ("fit houses.csv -t price --drop are", "did you mean 'area'?"),
        ("fit houses.csv -t town --task regression", ", got words such as"),
        ("fit houses.csv -t id", "id has 120 different words in 120 rows; choose another"),
        ("fit houses.csv -t country", "expected 'country' to vary"),
        (
            "fit houses.csv -t price -o none/m.be",
            "expected a folder for none/m.be, got none at none; make it first",
        ),
        ("fit houses.csv -t price -o houses.csv", "such as m.be, got that of a table: houses.csv"),
        ("fit houses.csv -t price -o other.parquet", "got that of a table: other.parquet"),
        ("fit empty.csv -t price", "empty.csv is empty"),
        ("fit heads.csv -t price", "got no rows"),
        ("fit twice.csv -t a", "got more than once: 'a'"),
        ("fit lone.csv -t a", "expected a column besides the target 'a'"),
        ("fit latin.csv -t a", "save it as UTF-8"),
        ("fit sales.csv -t sales --time moth", "did you mean 'month'?"),
        ("fit sales.csv -t sales --time store", "expected dates such as 2026-01-31, year first"),
        (
            "fit sales.csv -t sales --time month",
            "sales.csv: expected one row for each series and time, got more than one for",
        ),
        ("fit sales.csv -t sales --time month", "or name the column that tells series apart"),
        ("fit gappy.csv -t sales --time month --series store", "gappy.csv: series 'north': expect"),
        (
            "predict sales.be zoned.csv",
            "zoned.csv, line 2, column 'month': expected a time without",
        ),
        ("evaluate sales.be zoned.csv", "got 2018-01-01T00:00Z; write all alike"),
        ("fit houses.csv -t price --device tpu9", "expected device"),
        ("predict none.be new.csv", "none.be"),
        ("predict houses.csv new.csv", "expected a file saved by batchensemble in houses.csv"),
        ("predict price.be", "expected a file with rows to predict"),
        ("predict price.be none.csv", "there is no file none.csv"),
        ("predict price.be sales.csv", "expected all columns that the model learned from"),
        ("predict price.be renamed.csv", "none called 'rooms' (did you mean 'Rooms'?)"),
        ("predict price.be wrong.csv", "wrong.csv, line 4, column 'rooms': expected a finite num"),
        ("predict price.be heads.csv", "expected all columns that the model learned from"),
        ("predict price.be new.csv -o out.txt", "got out.txt"),
        (
            "predict price.be new.csv -o none/out.csv",
            "expected a folder for none/out.csv, got none at none",
        ),
        ("predict price.be new.csv --keep idd", "did you mean 'id'?"),
        ("predict price.be named.csv --keep mean", "called like an answer, got 'mean'"),
        ("predict price.be new.csv --horizon 3", "the model is for tables"),
        ("predict sales.be --keep store", "a forecast has rows of its own"),
        ("fit houses.csv -t price -o -", "expected a name for the model, got a pipe"),
        (
            "evaluate price.be new.csv",
            "expected a column of truths, got none called 'price'",
        ),
        ("evaluate price.be test.csv -o report.pdf", "expected the name of an .html file"),
        ("evaluate town.be moved.csv", "expected a class that the model knows"),
        ("evaluate sales.be sales.csv", "expected at least 4 new steps of every series"),
        ("inspect houses.csv", "expected a file saved by batchensemble in houses.csv"),
        ("export price.be model.pb", "expected the name of an .onnx file"),
    ],
)
def test_a_mistake_is_answered_in_one_line_that_names_it(shell, command, words):
    new = shell.read("new.csv", dtype=str)
    (shell.folder / "empty.csv").write_text("")
    (shell.folder / "heads.csv").write_text("a,price\n")
    (shell.folder / "twice.csv").write_text("a,a\n1,2\n")
    (shell.folder / "lone.csv").write_text("a\n1\n2\n")
    (shell.folder / "latin.csv").write_bytes("a,b\nKöln,1\n".encode("latin-1"))
    new.rename(columns={"rooms": "Rooms"}).to_csv("renamed.csv", index=False)
    new.assign(rooms=["1", "2", "many", *["3"] * 27]).to_csv("wrong.csv", index=False)
    new.assign(mean=1).to_csv("named.csv", index=False)
    houses(20).assign(town="Köln").to_csv("moved.csv", index=False)
    sales().drop(7).to_csv("gappy.csv", index=False)
    sales().assign(month=lambda f: f["month"] + "T00:00Z").to_csv("zoned.csv", index=False)
    before = {path.name: path.read_bytes() for path in shell.folder.iterdir()}
    done = shell(*command.split(), code=1)
    assert done.stdout == "" or command.startswith("fit")
    assert words in done.stderr
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert {path.name: path.read_bytes() for path in shell.folder.iterdir()} == before


@pytest.mark.parametrize(
    "command",
    [
        "fit houses.csv",
        "fit houses.csv -t price --method batch",
        "fit houses.csv -t price --task forecast",
        "fit houses.csv -t price --horizon 3",
        "fit sales.csv -t sales --time month --task regression",
        "predict price.be new.csv --coverage 90",
        "fitt houses.csv",
    ],
)
def test_a_command_that_is_not_understood_ends_with_2(shell, command):
    shell(*command.split(), code=2)


def test_the_words_of_choices_are_those_of_the_library():
    assert list(get_args(commands.Method)) == list(METHODS)
    assert list(get_args(commands.Preset)) == list(PRESETS)


def test_help_teaches_without_loading_what_trains(shell):
    said = plain(shell("predict", "--help").stdout)
    assert "two parts of the variance" in said
    assert "entropies in nats" in said
    assert "Exit codes: 0 done; 1 the data" in said
    code = "import sys; import batchensemble.cli.app; print('torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_an_interruption_is_130_and_writes_nothing(shell, monkeypatch):
    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("batchensemble.cli.answering.answer", stop)
    done = shell("predict", "price.be", "new.csv", "-o", "out.csv", code=130)
    assert done.stderr == "Stopped. Nothing was written.\n"
    assert not [path for path in shell.folder.iterdir() if "out" in path.name]
    monkeypatch.setattr("batchensemble.cli.learning.learn_table", stop)
    shell("fit", "houses.csv", "-t", "price", code=130)
    assert not (shell.folder / "houses.be").exists()


@pytest.mark.slow
def test_a_killed_process_leaves_nothing_under_the_final_name(shell):
    big = pd.concat([shell.read("new.csv", dtype=str)] * 8000)
    big.to_csv("big.csv", index=False)
    code = "from batchensemble.cli.app import app; app()"
    words = ["predict", "price.be", "big.csv", "-o", "out.csv"]
    process = subprocess.Popen([sys.executable, "-c", code, *words])
    deadline = time.monotonic() + 120
    while not list(shell.folder.glob(".?*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (shell.folder / "out.csv").exists()


def test_what_was_fitted_by_hand_is_predicted_and_inspected_too(shell):
    from batchensemble import Regressor

    frame = houses().dropna(subset="price")
    model = Regressor(epochs=2, n_members=2, random_state=0)
    model.fit(frame[["rooms", "area", "town"]], frame["price"].to_numpy()).save("hand.be")
    out = pd.read_csv(io.StringIO(shell("predict", "hand.be", "new.csv").stdout))
    new = shell.read("new.csv")[["rooms", "area", "town"]]
    np.testing.assert_allclose(out["mean"], model.predict(new), rtol=1e-9)
    assert "an unnamed target" in shell("inspect", "hand.be").stdout
    assert "expected --target" in shell("evaluate", "hand.be", "test.csv", code=1).stderr
    shell("evaluate", "hand.be", "test.csv", "--target", "price")
    assert load("hand.be").n_parameters_ == model.n_parameters_
