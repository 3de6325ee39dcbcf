import os
import re
import subprocess
import sys
import warnings
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sample_files import QUICK, houses, sales

from batchensemble import JointRegressor, Regressor, load

TERMINAL = os.environ | {"TERM": "xterm", "COLUMNS": "40"}


def plain(text):
    return " ".join(text.split())


def test_columns_known_ahead_are_asked_for_and_used(shell):
    series = ("-t", "sales", "--time", "month", "--series", "store", "--horizon", "4")
    done = shell("fit", "sales.csv", *series, "--future", "holidays", "-o", "f.be", *QUICK)
    assert "number holidays" in plain(done.stdout)
    assert "Next: batchensemble predict f.be --ahead ahead.csv" in done.stdout
    asked = shell("predict", "f.be", code=1).stderr
    assert "this model needs --ahead, a file with the future values of 'holidays'" in asked
    refused = shell("predict", "sales.be", "--ahead", "sales.csv", code=1).stderr
    assert "the model was fitted without --future" in refused
    ahead = sales().query("'2022-01-01' <= month < '2022-05-01'").drop(columns="sales")
    ahead.to_csv("ahead.csv", index=False)
    answers = [shell("predict", "f.be", "--ahead", "ahead.csv").stdout]
    ahead.assign(holidays=30).to_csv("ahead.csv", index=False)
    answers.append(shell("predict", "f.be", "--ahead", "ahead.csv").stdout)
    assert answers[0] != answers[1]


def test_rows_ahead_of_unknown_series_are_named_and_those_of_new_ones_are_not(shell):
    series = ("-t", "sales", "--time", "month", "--series", "store", "--horizon", "4")
    shell("fit", "sales.csv", *series, "--future", "holidays", "-o", "f.be", *QUICK)
    ahead = sales().query("'2022-01-01' <= month < '2022-05-01'").drop(columns="sales")
    known = ahead["store"].unique()[0]
    more = ahead[ahead["store"] == known].assign(store="Jena")
    pd.concat([ahead, more]).to_csv("ahead.csv", index=False)
    done = shell("predict", "f.be", "--ahead", "ahead.csv", "-o", "out.csv")
    words = "ahead.csv: ignored the rows of 1 series that are not in fit ('Jena')"
    assert words in plain(done.stderr)
    assert set(pd.read_csv("out.csv")["store"]) == set(ahead["store"])
    old = sales().query("month < '2022-01-01'")
    more = old[old["store"] == known].assign(store="Jena")
    pd.concat([old, more]).to_csv("old.csv", index=False)
    done = shell("predict", "f.be", "old.csv", "--ahead", "ahead.csv", "-o", "out.csv")
    assert "ignored" not in done.stderr
    assert "Jena" in set(pd.read_csv("out.csv")["store"])
    more.to_csv("old.csv", index=False)
    done = shell("predict", "f.be", "old.csv", "--ahead", "ahead.csv", "-o", "out.csv")
    others = ", ".join(map(repr, sorted(ahead["store"].unique())))
    words = f"ignored the rows of {ahead['store'].nunique()} series that are not in the file of new"
    assert words in plain(done.stderr)
    assert others in plain(done.stderr)


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


NAMES = [
    ("true", "false"),
    ("2020-01-01", "2021-01-01"),
    ("7", "8"),
    ("5 %", "10 %"),
    ("(1)", "(2)"),
    ("1'000", "2'000"),
]


def test_local_midnights_are_days_and_months_of_their_own_clock(shell):
    months = pd.date_range("2016-01-01", "2022-06-01", freq="MS", tz="Europe/Berlin")
    days = pd.date_range("2024-01-01", "2024-06-01", tz="America/New_York")
    for name, times, following in (("m", months, "2022-07-01"), ("d", days, "2024-06-02")):
        pd.DataFrame({"at": times, "y": times.day_of_week}).to_csv(f"{name}.csv", index=False)
        shell("fit", f"{name}.csv", "-t", "y", "--time", "at", *QUICK)
        shell("predict", f"{name}.be", "-o", "out.csv")
        first = pd.Timestamp(shell.read("out.csv")["at"][0])
        assert first == pd.Timestamp(following, tz=times.tz)


@pytest.mark.parametrize("names", NAMES)
def test_series_have_the_names_that_the_file_gives_them(shell, names):
    named = sales(40).replace({"north": names[0], "south": names[1]})
    named.to_csv("named.csv", index=False)
    words = ("-t", "sales", "--time", "month", "--series", "store", "--horizon", 2)
    shell("fit", "named.csv", *words, *QUICK)
    own = shell("predict", "named.be").stdout
    assert own == shell("predict", "named.be", "named.csv").stdout
    assert {line.partition(",")[0] for line in own.splitlines()[1:]} == {*names}


def test_times_with_zones_are_the_same_from_a_file_a_folder_and_in_memory(shell):
    random = np.random.default_rng(0)
    times = pd.date_range("2024-01-01", periods=90, freq="7h", tz="Europe/Berlin")
    table = pd.DataFrame({"t": times, "x": random.normal(size=90), "y": random.normal(size=90)})
    (shell.folder / "zones").mkdir()
    table.to_parquet("zones/a.parquet", index=False)
    table.to_parquet("zones.parquet", index=False)
    table.assign(t=times.tz_localize(None)).to_csv("naive.csv", index=False)
    for where in ("zones.parquet", "zones"):
        shell("fit", where, "-t", "y", "-o", "z.be", *QUICK)
        model = load("z.be")
        mean = model.predict(table[["t", "x"]])
        shell("predict", "z.be", "zones.parquet", "-o", "z.csv")
        np.testing.assert_allclose(pd.read_csv("z.csv")["mean"], mean, rtol=1e-5)
        with pytest.raises(ValueError, match="expected dates with a time zone"):
            model.predict(table.assign(t=times.tz_localize(None))[["t", "x"]])
        said = shell("predict", "z.be", "naive.csv", "-o", "n.csv", code=1).stderr
        assert "expected a time with a zone as in fit" in " ".join(said.split())


def test_a_column_with_a_comma_in_its_name_can_be_kept(shell):
    frame = pd.read_csv("new.csv", dtype=str)
    frame.rename(columns={"id": "id, old"}).assign(old="x").to_csv("comma.csv", index=False)
    shell("predict", "price.be", "comma.csv", "-o", "out.csv", "--keep", "id, old")
    assert list(shell.read("out.csv"))[:2] == ["id, old", "mean"]
    shell("predict", "price.be", "comma.csv", "-o", "out.csv", "--keep", "old,rooms")
    assert list(shell.read("out.csv"))[:3] == ["old", "rooms", "mean"]


def test_columns_to_keep_are_named_once_each_or_all_together(shell):
    together = shell("predict", "price.be", "new.csv", "--keep", "area,rooms").stdout
    assert (
        together
        == shell("predict", "price.be", "new.csv", "--keep", "area", "--keep", "rooms").stdout
    )
    assert together.startswith("area,rooms,")


def test_local_days_are_forecast_across_the_change_of_the_clock(shell):
    days = pd.date_range("2015-10-01", periods=60, tz="Europe/Berlin")
    frame = pd.DataFrame({"ds": days, "y": np.random.default_rng(0).normal(size=60)})
    frame.to_parquet("local.parquet", index=False)
    shell("fit", "local.parquet", "-t", "y", "--time", "ds", "--horizon", "3", "-o", "l.be", *QUICK)
    shell("predict", "l.be", "-o", "l.csv")
    expected = [f"2015-{day} 00:00:00+01:00" for day in ("11-30", "12-01", "12-02")]
    assert pd.read_csv("l.csv")["ds"].tolist() == expected
    shell("predict", "l.be", "local.parquet", "-o", "same.csv")
    assert pd.read_csv("same.csv").equals(pd.read_csv("l.csv"))


def test_the_csv_that_a_spreadsheet_saves_is_predicted_like_the_typed_file_of_fit(shell):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"price": random.uniform(500, 5000, 90).round(2)})
    frame = frame.assign(rate=(frame.index % 20) / 100, y=frame["price"] + random.normal(size=90))
    frame.to_parquet("typed.parquet")
    shell("fit", "typed.parquet", "-t", "y", *QUICK)
    expected = shell("predict", "typed.be", "typed.parquet").stdout
    dollars = frame.assign(price=frame["price"].map("${:,.2f}".format))
    dollars.to_csv("shown.csv", index=False)
    done = shell("predict", "typed.be", "shown.csv")
    assert done.stdout == expected
    first = f"'{dollars['price'][0]}' as {frame['price'][0]:.15g}"
    told = f"shown.csv is written differently from the training file: read price ({first})"
    assert plain(done.stderr) == f"Warning: {told}"
    assert told in plain(shell("evaluate", "typed.be", "shown.csv").stderr)
    dollars.assign(rate=frame["rate"].map("{:.0%}".format)).to_csv("shown.csv", index=False)
    refused = shell("predict", "typed.be", "shown.csv", code=1).stderr
    assert "column 'rate'" in refused
    assert "write the numbers as in the training file" in plain(refused)
    assert "--decimal" not in refused


def test_a_percent_of_a_csv_and_the_number_that_a_sheet_stores_are_not_taken_for_each_other(shell):
    pytest.importorskip("openpyxl")
    share = np.arange(90) % 60 + 1
    frame = pd.DataFrame({"share": share, "z": np.arange(90) % 7, "y": 2.5 * share})
    frame.assign(share=frame["share"].map("{} %".format)).to_csv("a.csv", index=False)
    frame.assign(share=frame["share"] / 100).to_excel("b.xlsx", index=False)
    for one, other in (("a.csv", "b.xlsx"), ("b.xlsx", "a.csv")):
        shell("fit", one, "-t", "y", "-o", "m.be", *QUICK)
        shell("predict", "m.be", one)
        refused = plain(shell("predict", "m.be", other, code=1).stderr)
        assert f"{other}, " in refused
        assert "column 'share': expected a" in refused
        assert "or fit again from a file like this one" in refused


def test_numbers_in_another_unit_are_told_once_for_a_file_of_many_batches(shell):
    rows = pd.concat([houses(200, seed=i) for i in range(90)]).drop(columns="price")
    rows = rows.assign(area=rows["area"].fillna(99).map("{:.3f}".format))
    rows.to_csv("good.csv", index=False)
    rows.assign(area=rows["area"].str.replace(".", "")).to_csv("large.csv", index=False)
    assert not shell("predict", "price.be", "good.csv", "-o", "out.csv").stderr.count("Warning")
    said = plain(shell("predict", "price.be", "large.csv", "-o", "out.csv").stderr)
    assert said.count("Warning") == 1
    first = f"such as {1000 * float(rows['area'].iloc[0]):.6g} instead of about 31.7 to 199.2"
    assert f"column 'area': all values lie far outside the training range, {first}" in said
    assert "if they were 1,000 times smaller; use the unit of the training data or" in said
    few = shell.read("large.csv", dtype=str)[:3]
    few.to_csv("few.csv", index=False)
    assert "1,000 times smaller" in plain(shell("predict", "price.be", "few.csv").stderr)


def test_thousands_are_known_by_size_and_told_where_they_are_taken_for_decimals(shell):
    frame = houses(200).assign(area=lambda rows: rows["area"].fillna(99) * 1000)
    frame.astype({"area": int}).to_csv("metres.csv", index=False)
    shell("fit", "metres.csv", "-t", "price", *QUICK)
    new = houses(30, seed=1).assign(area=lambda rows: rows["area"].fillna(99) * 1000)
    new.astype({"area": int}).to_csv("plain.csv", index=False)
    new["area"] = new["area"].map("{:,.0f}".format)
    new.to_csv("us.csv", index=False, sep=";")
    wrong = shell("predict", "metres.be", "us.csv", "--decimal", ",")
    assert "1,000 times larger" in plain(wrong.stderr)
    assert plain(wrong.stderr).endswith("was misread, add --decimal . or --decimal ,")
    right = shell("predict", "metres.be", "us.csv", "--decimal", ".")
    assert right.stderr == ""
    by_size = shell("predict", "metres.be", "us.csv")
    assert re.search(r"read area \('(\d+),(\d{3})' as \1\2\)", plain(by_size.stderr))
    plainly = shell("predict", "metres.be", "plain.csv")
    assert right.stdout == by_size.stdout == plainly.stdout


def test_a_history_in_another_unit_is_told(shell):
    late = sales().query("month >= '2022-01-01'").assign(sales=lambda rows: rows["sales"] / 1000)
    late.to_csv("late.csv", index=False)
    said = plain(shell("predict", "sales.be", "late.csv", "-o", "out.csv").stderr)
    assert "Warning: series 'north' and 1 more: all values lie far outside its known range" in said
    assert "1,000 times larger" in said
    assert "1,000 times larger" in plain(shell("evaluate", "sales.be", "late.csv").stderr)
    sales().query("month >= '2022-01-01'").to_csv("late.csv", index=False)
    assert "times" not in shell("predict", "sales.be", "late.csv", "-o", "out.csv").stderr


def test_a_file_with_brackets_in_its_name_is_named_whole(shell):
    told = shell("predict", "price.be", "new.csv", "-o", "new [red].csv").stderr
    assert "rows: new [red].csv" in told


@pytest.mark.parametrize("args", [("new.csv",), ("-",), ("new.csv", "--keep", "id")])
def test_rows_go_to_standard_output_also_where_a_bar_is_shown_beside_them(shell, args):
    """As on a terminal, with `> out.csv` or `| head`."""
    text = (shell.folder / "new.csv").read_text()
    plainly = shell("predict", "price.be", *args, stdin=text).stdout
    shown = shell("predict", "price.be", *args, stdin=text, env={"FORCE_COLOR": "1"})
    assert shown.stdout == plainly
    assert "30 rows" in shown.stderr
    assert plainly.count("\n") == 31


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no terminals here")
def test_on_a_terminal_rows_are_neither_wrapped_nor_mixed_with_a_bar(shell):
    main, side = os.openpty()
    command = [sys.executable, "-m", "batchensemble.cli.app", "predict", "price.be", "new.csv"]
    code = "from batchensemble.cli.app import app; app()"
    command = [sys.executable, "-c", code, "predict", "price.be", "new.csv"]
    run = subprocess.Popen(command, stdin=side, stdout=side, stderr=side, env=TERMINAL)
    os.close(side)
    parts = []
    with suppress(OSError):  # the end of a terminal
        while part := os.read(main, 65536):
            parts.append(part)
    os.close(main)
    assert run.wait() == 0
    lines = b"".join(parts).decode().splitlines()
    assert len(lines) == 31
    assert {line.count(",") for line in lines} == {5}


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_the_file_of_known_values_is_read_like_the_history_if_it_is_of_the_same_kind(shell, kind):
    old, late = (part for _, part in sales().groupby(sales()["month"] >= "2022-01-01"))
    old.to_csv("old.csv", index=False)
    words = ("--time", "month", "--series", "store", "--future", "holidays", "--horizon", 3, *QUICK)
    shell("fit", "old.csv", "-t", "sales", *words, "-o", "f.be")
    ahead = late.drop(columns="sales")
    titled(old, "history.csv")
    write = titled if kind == "csv" else partial(pd.DataFrame.to_excel, index=False)
    write(ahead, f"ahead.{kind}")
    asked = ("history.csv", "--skip-lines", 2, "--ahead", f"ahead.{kind}", "-o", "out.csv")
    shell("predict", "f.be", *asked)
    ahead.to_csv("plain.csv", index=False)
    shell("predict", "f.be", "old.csv", "--ahead", "plain.csv", "-o", "expected.csv")
    pd.testing.assert_frame_equal(shell.read("out.csv"), shell.read("expected.csv"))
    titled(ahead, "alone.csv")  # without a history the options are its own
    shell("predict", "f.be", "--ahead", "alone.csv", "--skip-lines", 2, "-o", "out.csv")
    pd.testing.assert_frame_equal(shell.read("out.csv"), shell.read("expected.csv"))


def titled(rows, file):
    Path(file).write_text("Sales of our stores\nall of them\n" + rows.to_csv(index=False))


def test_columns_of_an_array_are_found_in_a_file_without_a_word(shell):
    X = np.random.default_rng(0).normal(size=(60, 3))
    tiny = {"preset": "fast", "epochs": 1, "random_state": 0}
    y = X @ np.array([[2.0, 1.0], [1.0, -1.0], [1.0, 1.0]]) + 1.0
    JointRegressor(**tiny).fit(X, y).save("two.be")
    Regressor(**tiny).fit(X, y[:, 0]).save("array.be")
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"]).assign(y=y[:, 0])
    frame.to_csv("rows.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in ("two.be", "array.be"):
            shell("predict", model, "rows.csv", "-o", "out.csv")
        shell("evaluate", "array.be", "rows.csv", "--target", "y", "-o", "out.html")
        of_frame = load("array.be").predict(frame[["x0", "x1", "x2"]])
    np.testing.assert_allclose(shell.read("out.csv")["mean"], of_frame, rtol=1e-6)
    with pytest.warns(UserWarning, match="feature names"):  # as scikit-learn says of other names
        load("array.be").predict(frame.rename(columns={"x0": "a"})[["a", "x1", "x2"]])


def test_words_of_fit_that_files_write_for_gaps_are_these_words(shell):
    region = np.array(["NA", "EU", None] * 40, dtype=object)
    frame = pd.DataFrame({"region": region, "size": np.arange(120) % 7 / 7})
    model = Regressor(epochs=30, hidden=(8,), random_state=0)
    model.fit(frame, 9.0 * (region == "NA") - 9.0 * (region == "EU") + np.sin(np.arange(120)))
    model.save("region.be")
    expected = model.predict(frame)
    assert abs(expected[0] - expected[2]) > 1  # else it says nothing
    frame.to_csv("region.csv", index=False)
    frame.to_parquet("region.parquet")
    for form in ("csv", "parquet"):
        shell("predict", "region.be", f"region.{form}", "-o", "out.csv")
        np.testing.assert_allclose(shell.read("out.csv")["mean"], expected, rtol=1e-6)


@pytest.mark.parametrize(
    "words",
    [[" Male", " Female"], ["2024-01-01", "2024-07-01"], ["2024-01-01 08:00", "2024-07-01 09:30"]],
)
def test_groups_of_a_model_are_found_however_the_file_is_read(shell, words):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"g": np.array(words)[np.arange(200) % 2], "a": random.normal(size=200)})
    y = frame["a"] + random.normal(size=200) * (1 + np.arange(200) % 2)
    model = Regressor(epochs=1, hidden=(8,), random_state=0).fit(frame[:100], y[:100])
    model.calibrate(frame[100:], y[100:], groups="g").save("g.be")
    expected = model.predict_interval(frame)
    frame.to_csv("g.csv", index=False)
    frame.to_parquet("g.parquet")
    for form in ("csv", "parquet"):
        shell("predict", "g.be", f"g.{form}", "-o", "out.csv")
        found = shell.read("out.csv")[["lower", "upper"]]
        np.testing.assert_allclose(found, expected, rtol=1e-6)
