import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sample_files import QUICK, houses, sales

from batchensemble import load
from batchensemble.cli.columns import table_kinds


def test_the_kinds_of_a_model_are_those_of_its_file(shell):
    assert table_kinds(load("price.be")) == {
        "rooms": "number",
        "area": "number",
        "town": "category",
        "plot": "category",
        "sold": "date",
        "garden": "boolean",
    }
    assert houses()["plot"].str.startswith("0").any()  # codes, not numbers


def test_letters_in_doubt_are_told_whatever_is_done_with_a_file(shell):
    rows = shell.read("test.csv", dtype=str).fillna("")
    rows.loc[0, "town"] = "Łódź"
    rows.to_csv("odd.csv", index=False, encoding="cp1250")
    for command in ("predict", "evaluate"):
        said = " ".join(shell(command, "price.be", "odd.csv").stderr.split())
        assert "odd.csv is not UTF-8: read as windows-1252; if letters look wrong" in said
        said = shell(command, "price.be", "odd.csv", "--encoding", "cp1250").stderr
        assert "UTF-8" not in said


def test_series_that_lost_their_zeros_are_known_and_others_are_told_to_be_new(shell):
    stores = sales()
    codes = {name: f"00{i}" for i, name in enumerate(stores["store"].unique(), 1)}
    stores["store"] = stores["store"].map(codes)
    stores.to_csv("stores.csv", index=False)
    words = ("--time", "month", "--series", "store", "--horizon", 3, "--preset", "fast")
    shell("fit", "stores.csv", "-t", "sales", *words, "--epochs", 1, "-o", "stores.be")
    last = stores.groupby("store").tail(3)
    last.to_csv("last.csv", index=False)
    last.assign(store=last["store"].astype(int)).to_csv("bare.csv", index=False)
    last.assign(store="x" + last["store"]).to_csv("new.csv", index=False)
    said = [
        shell("predict", "stores.be", f"{name}.csv", "-o", f"{name}-out.csv").stderr
        for name in ("last", "bare", "new")
    ]
    answers = [pd.read_csv(f"{name}-out.csv", dtype=str) for name in ("last", "bare", "new")]
    pd.testing.assert_frame_equal(answers[0], answers[1])
    assert not answers[2].equals(answers[0])
    said = [" ".join(words.split()) for words in said]
    assert ["was in the training data" in words for words in said] == [False, False, True]
    told = "no series of new.csv, such as x001, was in the training data, so they are forecast"
    assert told in said[2]


def test_series_without_any_value_are_named_and_a_file_of_such_is_refused(shell):
    last = sales().groupby("store").tail(3)
    name = last["store"].iloc[0]
    last.assign(sales=last["sales"].where(last["store"] != name)).to_csv("last.csv", index=False)
    said = " ".join(shell("predict", "sales.be", "last.csv", "-o", "out.csv").stderr.split())
    assert f"left out 1 series without any value in 'sales' ('{name}'); fill some in" in said
    assert name not in set(pd.read_csv("out.csv")["store"])
    last.assign(sales=None).to_csv("empty.csv", index=False)
    for command in ("predict", "evaluate"):
        said = " ".join(shell(command, "sales.be", "empty.csv", code=1).stderr.split())
        assert (
            said
            == "Error: empty.csv: expected values in 'sales', got empty cells only; fill some in"
        )


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_times_with_a_zone_are_refused_where_fit_saw_none(shell, ending):
    frame = pd.DataFrame({"at": pd.date_range("2024-01-01", periods=60, freq="7h")})
    frame["y"] = frame["at"].dt.hour + np.arange(60) / 60
    frame.to_csv("fit.csv", index=False)
    shell("fit", "fit.csv", "-t", "y", "--preset", "fast", "--epochs", 1, "-o", "at.be")
    frame["at"] = frame["at"].dt.tz_localize("America/New_York")
    zoned = Path(f"zoned.{ending}")
    frame.to_csv(zoned, index=False) if ending == "csv" else frame.to_parquet(zoned)
    for command in ("predict", "evaluate"):
        said = " ".join(shell(command, "at.be", zoned, code=1).stderr.split())
        assert "column 'at': expected a time without a zone as in fit, got 2024-01-01" in said


def test_columns_known_ahead_are_read_by_the_size_of_fit_and_other_units_are_told(shell):
    random = np.random.default_rng(0)
    days = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=127)})
    days["price"] = random.integers(1001, 2999, 127)
    days["sales"] = 300 - days["price"] / 20
    days[:120].to_csv("days.csv", index=False)
    words = ("-t", "sales", "--time", "day", "--future", "price", "--horizon", 7, "--epochs", 1)
    shell("fit", "days.csv", *words, "-o", "days.be")
    ahead = days.loc[120:, ["day", "price"]]

    def forecast(prices, separator=","):
        ahead.assign(price=prices).to_csv("ahead.csv", index=False, sep=separator)
        said = shell("predict", "days.be", "--ahead", "ahead.csv", "-o", "out.csv").stderr
        return Path("out.csv").read_text(), " ".join(said.split())

    plain, said = forecast(ahead["price"])
    assert "Warning" not in said
    for mark, separator in ((".", ";"), (".", ","), (",", ";")):
        marked = [f"{price:,}".replace(",", mark) for price in ahead["price"]]
        assert forecast(marked, separator)[0] == plain
    assert "1,000 times larger" in forecast(ahead["price"] / 1000)[1]


def test_dates_known_ahead_have_a_zone_only_if_those_of_fit_had_one(shell):
    days = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=67)})
    days["sent"] = days["day"] + pd.to_timedelta(np.arange(67) % 5, "h")
    days["sales"] = np.arange(67) % 7 + 1.0
    days[:60].to_csv("days.csv", index=False)
    words = ("-t", "sales", "--time", "day", "--future", "sent", "--horizon", 7, "--epochs", 1)
    shell("fit", "days.csv", *words, "-o", "days.be")
    ahead = days.loc[60:, ["day", "sent"]]
    ahead.to_csv("ahead.csv", index=False)
    shell("predict", "days.be", "--ahead", "ahead.csv", "-o", "out.csv")
    ahead.assign(sent=ahead["sent"].dt.tz_localize("Asia/Tokyo")).to_csv("zoned.csv", index=False)
    said = shell("predict", "days.be", "--ahead", "zoned.csv", "-o", "out.csv", code=1).stderr
    assert "column 'sent': expected a time without a zone" in " ".join(said.split())


@pytest.mark.parametrize("freq", [(), ("--freq", "D")])
def test_days_of_summer_are_refused_where_fit_saw_the_clock_of_winter_alone(shell, freq):
    times = pd.date_range("2024-01-01", "2024-04-20", tz="Europe/Berlin")
    days = pd.DataFrame({"day": [t.isoformat() for t in times], "y": times.day_of_week + 1.0})
    is_winter = times < "2024-03-31"
    days[is_winter].to_csv("winter.csv", index=False)
    days[~is_winter][2:].to_csv("april.csv", index=False)
    days[: len(days) - 10].to_csv("both.csv", index=False)
    words = ("-t", "y", "--time", "day", "--horizon", 2, "--preset", "fast", "--epochs", 1)
    for name in ("winter", "both"):
        shell("fit", f"{name}.csv", *words, *freq, "-o", f"{name}.be")
    for command in ("predict", "evaluate"):
        said = " ".join(shell(command, "winter.be", "april.csv", code=1).stderr.split())
        refused = "april.csv: expected times on the local clock of the training data, such as "
        assert f"{refused}2024-03-30 00:00:00+" in said
        assert "fit again with times of summer and winter in one file" in said
    shell("predict", "both.be", "april.csv", "-o", "out.csv")
    assert shell.read("out.csv")["day"][0] == "2024-04-21 00:00:00+02:00"


@pytest.mark.parametrize("form", ["parquet", "feather"])
@pytest.mark.parametrize("is_time", [False, True])
def test_durations_are_no_numbers_of_fit_and_are_read_where_fit_had_them(shell, form, is_time):
    frame = shell.read("new.csv")
    hours = [dt.time(1)] * len(frame) if is_time else pd.to_timedelta(frame["area"], unit="h")
    getattr(frame.assign(area=hours), f"to_{form}")(f"spans.{form}")
    said = shell("predict", "price.be", f"spans.{form}", code=1).stderr
    assert "column 'area': expected numbers as in fit, got durations or times of day" in said
    model, rows = load("price.be"), pd.read_feather if form == "feather" else pd.read_parquet
    with pytest.raises(ValueError, match="'area': expected numbers as in fit, got durations"):
        model.predict(rows(f"spans.{form}")[list(model.feature_names_in_)])
    known = houses()
    known.assign(area=pd.to_timedelta(known["area"], unit="h")).to_parquet("h.parquet")
    shell("fit", "h.parquet", "-t", "price", *QUICK, "-o", "h.be")
    told = shell("predict", "h.be", f"spans.{form}", "-o", "out.csv")
    assert "expected" not in told.stderr
    again = load("h.be").predict(rows(f"spans.{form}")[list(load("h.be").feature_names_in_)])
    assert "seconds" not in told.stderr
    said = shell("predict", "h.be", "new.csv", "-o", "plain.csv").stderr
    assert said.count("column 'area': fit had durations, so these numbers are taken as sec") == 1
    np.testing.assert_allclose(shell.read("out.csv")["mean"], again, rtol=1e-12)


@pytest.mark.parametrize(
    ("form", "is_time"),
    [("parquet", False), ("parquet", True), ("feather", False), ("feather", True), ("xlsx", True)],
)
def test_durations_of_fit_are_read_where_a_file_has_them_as_texts(shell, form, is_time):
    minutes = np.random.default_rng(0).integers(0, 24 * 60, 120).tolist()
    times = [dt.time(m // 60, m % 60) if is_time else pd.Timedelta(m, unit="min") for m in minutes]
    rows = pd.DataFrame({"at": times, "size": np.arange(120.0), "y": minutes})
    rows.loc[3, "at"] = None
    if form == "xlsx":
        book = pytest.importorskip("openpyxl").Workbook()  # pandas would write texts
        for cells in [[*rows], *rows.to_numpy(dtype=object).tolist()]:
            book.active.append(cells)
        book.save("typed.xlsx")
    else:
        getattr(rows, f"to_{form}")(f"typed.{form}")
    rows.to_csv("texts.csv", index=False)
    words = ("-t", "y", *QUICK, "-o", "at.be")
    shell("fit", f"typed.{form}", *words)
    for name in (f"typed.{form}", "texts.csv"):
        said = shell("predict", "at.be", name, "-o", f"{name}-out.csv").stderr
        assert "seconds" not in said
    typed, texts = (shell.read(f"{name}-out.csv") for name in (f"typed.{form}", "texts.csv"))
    odd = Path("texts.csv").read_text().replace(f"{times[5]},5.0", "oops,5.0")
    Path("odd.csv").write_text(odd)
    said = " ".join(shell("predict", "at.be", "odd.csv", "-o", "no.csv", code=1).stderr.split())
    assert form == "xlsx" or "odd.csv, line 7, column 'at': expected a duration" in said
    rows[:4].assign(at="").to_csv("gaps.csv", index=False)
    assert "seconds" not in shell("predict", "at.be", "gaps.csv", "-o", "no.csv").stderr
    pd.testing.assert_frame_equal(typed, texts)
    assert typed["mean"].std() > 1


@pytest.mark.parametrize("form", ["csv", "parquet", "xlsx"])
def test_days_may_be_categories_in_files_of_every_type(shell, form):
    random = np.random.default_rng(0)
    days = np.repeat(pd.DatetimeIndex([pd.Timestamp(2024, 1, 1), "2024-01-05 13:30", None]), 40)
    rows = pd.DataFrame({"day": days, "size": random.normal(size=120), "y": np.arange(120) // 40})
    rows.to_csv("days.csv", index=False)
    rows.to_parquet("days.parquet")
    rows.to_excel("days.xlsx", index=False)
    words = ("-t", "y", "--task", "regression", "--category", "day", *QUICK, "-o", "day.be")
    shell("fit", f"days.{form}", *words)
    answers = []
    for name in ("days.csv", "days.parquet", "days.xlsx"):
        shell("predict", "day.be", name, "-o", "out.csv")
        answers.append(shell.read("out.csv"))
    pd.testing.assert_frame_equal(answers[0], answers[1])
    pd.testing.assert_frame_equal(answers[0], answers[2])


def test_durations_in_a_file_of_series_are_those_of_a_frame(shell):
    frame = sales().assign(rest=lambda rows: pd.to_timedelta(np.arange(len(rows)) % 5, unit="h"))
    frame["month"] = pd.to_datetime(frame["month"])
    frame.to_parquet("s.parquet")
    words = ("-t", "sales", "--time", "month", "--series", "store", "--future", "rest")
    shell("fit", "s.parquet", *words, *QUICK, "--horizon", 2, "-o", "s.be")
    model = load("s.be")
    ends = frame["month"].max() + pd.to_timedelta([31, 62], unit="D")
    ahead = pd.MultiIndex.from_product(
        [frame["store"].unique(), ends.to_period("M").to_timestamp()]
    )
    ahead = ahead.to_frame(index=False, name=["store", "month"])
    hours = pd.to_timedelta([3] * len(ahead), unit="h")
    told = model.predict(2, X_df=ahead.assign(rest=hours))
    plain = model.predict(2, X_df=ahead.assign(rest=hours.total_seconds()))
    pd.testing.assert_frame_equal(told, plain)
    ends = ahead.assign(rest="03:00:00")
    written = frame.assign(rest=(frame["rest"] / pd.Timedelta("1h")).map("{:02.0f}:00:00".format))
    written.to_csv("s.csv", index=False)
    for name in ("s.csv", "s.parquet"):
        ends.to_csv("ahead.csv", index=False)
        said = shell("predict", "s.be", name, "--ahead", "ahead.csv", "-o", f"{name}-out.csv")
        assert "seconds" not in said.stderr
    assert shell.read("s.csv-out.csv").equals(shell.read("s.parquet-out.csv"))
