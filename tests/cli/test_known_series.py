from datetime import date

import numpy as np
import pandas as pd
import pytest
from fixtures import TINY_FORECASTER
from sample_files import QUICK, sales

from batchensemble import Forecaster, load


@pytest.fixture
def forecast(shell):
    """The forecasts of a model that knows 48 months, for rows in a file."""

    def answer(rows, model="sales.be"):
        rows.to_csv("rows.csv", index=False)
        shell("predict", model, "rows.csv", "-o", "out.csv")
        return shell.read("out.csv")

    return answer


@pytest.mark.parametrize("stores", [["north", "south"], ["south"]])
@pytest.mark.parametrize("first", [48, 45, 30])
def test_the_last_rows_alone_are_forecast_as_the_longer_file(forecast, stores, first):
    longer = sales()[sales()["store"].isin(stores)]
    month = longer.groupby("store").cumcount()
    pd.testing.assert_frame_equal(forecast(longer[month >= first]), forecast(longer))


@pytest.mark.parametrize("freq", ["MS", "D"])
def test_the_last_rows_alone_go_on_from_fit_on_whatever_day_or_hour_they_are(shell, forecast, freq):
    random, step = np.random.default_rng(0), {"MS": "D", "D": "h"}[freq]
    starts = pd.date_range("2019-01-01", periods=60, freq=freq)
    stamps = starts + pd.to_timedelta(random.integers(1, 23, 60), step)
    rows = pd.DataFrame({"month": stamps, "sales": 100 + random.normal(size=60)})
    rows[:54].to_csv("old.csv", index=False)
    words = ("-t", "sales", "--time", "month", "--freq", freq, "--horizon", 3, *QUICK)
    shell("fit", "old.csv", *words, "-o", "old.be")
    for n in (6, 7, 9):
        pd.testing.assert_frame_equal(forecast(rows[-n:], "old.be"), forecast(rows, "old.be"))


@pytest.mark.filterwarnings("ignore:.* values are missing")
def test_months_that_are_missing_in_between_are_read_around(forecast):
    month = sales().groupby("store").cumcount()
    gap = forecast(sales()[month != 48])
    pd.testing.assert_frame_equal(forecast(sales()[month > 48]), gap)


@pytest.mark.parametrize(
    ("n_missing", "dates", "so"),
    [
        (0, "", ""),
        (1, "from 2021-12-01 to 2022-02-01", "the steps between count as missing"),
        (600, "from 2021-12-01 to 2072-01-01", "they are forecast from the new rows alone"),
    ],
)
@pytest.mark.parametrize("is_one", [False, True])
def test_a_gap_after_fit_is_told_with_its_dates(shell, n_missing, dates, so, is_one):
    rows = sales().query("month >= '2022-01-01'")
    months = pd.to_datetime(rows["month"]) + pd.DateOffset(months=n_missing)
    rows = rows.assign(month=months.dt.strftime("%Y-%m-%d"))
    if is_one:  # the other goes on without one
        rows = pd.concat([sales().query("store == 'south'"), rows.query("store == 'north'")])
    rows.to_csv("rows.csv", index=False)
    said = " ".join(shell("predict", "sales.be", "rows.csv", "-o", "out.csv").stderr.split())
    gap = "series with a gap after the training data"
    names = f"1 {gap} ('north')" if is_one else "('north', 'south')"
    assert (f"{names}, the first {dates}: {so}" in said) == bool(n_missing)
    assert (gap in said) == bool(n_missing)


def test_series_keep_the_order_of_the_file(forecast):
    longer = sales()[::-1]
    new = longer.assign(store="a new one")
    tail = longer[longer["month"] >= "2022-01-01"]
    for rows in (longer, tail, pd.concat([new, tail]), pd.concat([tail, new])):
        answer = forecast(rows.drop_duplicates(["store", "month"]))
        assert answer["store"].unique().tolist() == rows["store"].unique().tolist()


def test_one_series_without_a_name_goes_on_as_well(forecast, shell):
    one = sales().query("store == 'north'").drop(columns=["store", "holidays"])
    one[:48].to_csv("one.csv", index=False)
    words = ("-t", "sales", "--time", "month", "--horizon", 4, "-o", "one.be")
    shell("fit", "one.csv", *words, *QUICK)
    pd.testing.assert_frame_equal(forecast(one[48:], "one.be"), forecast(one, "one.be"))


def test_rows_long_after_those_of_fit_and_new_series_stand_for_themselves(forecast):
    late = (
        sales()
        .query("store == 'north'")
        .assign(month=lambda df: df["month"].str.replace("20", "30", n=1))
    )
    new = sales().assign(store="new")[:60]
    for rows in (late, new):
        assert np.isfinite(forecast(rows[-12:])["mean"]).all()
        assert not np.allclose(forecast(rows[-12:])["mean"], forecast(sales())["mean"][:4])


def test_a_series_without_rows_ahead_is_left_out_and_named(shell):
    series = ("-t", "sales", "--time", "month", "--series", "store", "--horizon", "4")
    shell("fit", "sales.csv", *series, "--future", "holidays", "-o", "f.be", *QUICK)
    ahead = sales().query("'2022-01-01' <= month < '2022-05-01'").drop(columns="sales")
    ahead.to_csv("both.csv", index=False)
    ahead.query("store == 'south'").to_csv("south.csv", index=False)
    shell("predict", "f.be", "--ahead", "both.csv", "-o", "both_out.csv")
    south = shell.read("both_out.csv").query("store == 'south'").reset_index(drop=True)
    for data in ([], ["sales.csv"]):  # the history of fit, and one of a file
        told = shell("predict", "f.be", *data, "--ahead", "south.csv", "-o", "out.csv").stderr
        assert "1 series left out (no row of the columns known ahead): 'north'" in told
        pd.testing.assert_frame_equal(shell.read("out.csv"), south)
    ahead[1:].to_csv("gap.csv", index=False)
    refused = shell("predict", "f.be", "--ahead", "gap.csv", code=1).stderr
    assert "got none for series 'north' at 2022-01-01" in refused


def with_columns(n):
    """Daily rows with a promotion that is true or false and a time of last delivery in Oslo."""
    random = np.random.default_rng(0)
    is_on, days = random.random(n) < 0.4, pd.date_range("2023-01-01", periods=n)
    seen = days.tz_localize("Europe/Oslo") + pd.Timedelta("5h")
    sold = 10 + 3 * is_on + random.normal(size=n)
    columns = {"promo": is_on, "seen": seen, "open": True}
    return pd.DataFrame({"day": days, "sold": sold.round(3)} | columns)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("option", "name"),
    [("--past", "promo"), ("--past", "seen"), ("--static", "open"), ("--future", "seen")],
)
def test_booleans_and_times_with_zones_go_on_from_fit(shell, kind, option, name):
    frame = with_columns(70)[["day", "sold", name]]
    for rows, file in ((frame[:60], "old"), (frame[60:], "new")):
        if kind == "csv" and name == "seen":  # as ISO 8601 has it
            rows = rows.assign(seen=rows["seen"].map(pd.Timestamp.isoformat))
        write = rows.to_csv if kind == "csv" else rows.to_parquet
        write(f"{file}.{kind}", index=False)
    words = ("-t", "sold", "--time", "day", "--horizon", 3, option, name, *QUICK)
    shell("fit", f"old.{kind}", *words, "-o", "m.be")
    assert "coverage" in shell("evaluate", "m.be", f"new.{kind}").output
    if option == "--future":
        return
    shell("predict", "m.be", f"new.{kind}", "-o", "out.csv")
    role = {"--past": "past_columns", "--static": "static_columns"}[option]
    model = load("m.be")
    assert getattr(model, role) == [name]
    model.update(frame[60:])
    here = model.predict(level=[90])["BatchEnsemble"]
    assert np.allclose(shell.read("out.csv")["mean"], here, rtol=1e-6)


def test_a_forecaster_fitted_in_python_takes_times_with_zones_from_a_file(shell):
    frame = with_columns(70)[["day", "sold", "seen"]]
    names = {"time_col": "day", "target_col": "sold", "past_columns": ["seen"]}
    Forecaster(horizon=3, epochs=2, n_members=2, **names).fit(frame[:60]).save("m.be")
    frame[60:].to_parquet("new.parquet", index=False)
    for command in ("predict", "evaluate"):
        shell(command, "m.be", "new.parquet")
    frame[60:].assign(seen=frame["seen"].dt.tz_localize(None)).to_parquet("bare.parquet")
    for command in ("predict", "evaluate"):
        assert "with a zone as in fit" in shell(command, "m.be", "bare.parquet", code=1).stderr


@pytest.mark.parametrize("name", ["north", "sold"])
def test_rows_of_another_series_are_not_those_of_one_named_like_the_target(shell, name):
    frame = with_columns(66)[["day", "sold"]]
    frame[:60].assign(shop=name).to_csv("old.csv", index=False)
    frame[60:].assign(shop="other").to_csv("new.csv", index=False)
    words = ("-t", "sold", "--time", "day", "--series", "shop", "--horizon", 3, *QUICK)
    shell("fit", "old.csv", *words, "-o", "m.be")
    said = shell("predict", "m.be", "new.csv", "-o", "out.csv").stderr
    assert "no series of new.csv, such as other, was in the training data" in " ".join(said.split())
    assert set(shell.read("out.csv")["shop"]) == {"other"}
    assert "expected series of fit" in shell("evaluate", "m.be", "new.csv", code=1).stderr
    shell("predict", "m.be", "-o", "out.csv")
    assert set(shell.read("out.csv")["shop"]) == {name}


def test_durations_are_no_numbers_of_fit_for_forecasts_either(shell):
    frame = with_columns(66)[["day", "sold"]].assign(minutes=np.resize(np.arange(13.0), 66))
    spans = frame.assign(minutes=pd.to_timedelta(frame["minutes"], unit="min"))
    words = ("--time", "day", "--future", "minutes", "--horizon", 3, *QUICK)
    for rows, name in ((frame, "numbers"), (spans, "spans")):
        rows[:60].to_parquet(f"{name}.parquet")
        rows[60:].drop(columns="sold").to_parquet(f"{name}-ahead.parquet")
        shell("fit", f"{name}.parquet", "-t", "sold", *words, "-o", f"{name}.be")
        shell("predict", f"{name}.be", "--ahead", f"{name}-ahead.parquet", "-o", f"{name}.csv")
    refused = shell("predict", "numbers.be", "--ahead", "spans-ahead.parquet", code=1).stderr
    assert "'minutes': expected numbers as in fit, got durations" in refused
    said = shell("predict", "spans.be", "--ahead", "numbers-ahead.parquet", "-o", "o.csv").stderr
    assert "fit had durations, so these numbers are taken as seconds" in " ".join(said.split())
    model, before = load("numbers.be"), load("numbers.be").panel_.lengths
    with pytest.raises(ValueError, match="'minutes': expected numbers as in fit, got durations"):
        model.update(spans[60:])
    assert (model.panel_.lengths == before).all()
    load("spans.be").update(spans[60:])


def noise(n):
    return np.random.default_rng(0).normal(size=n).round(3)


ALONE = pd.DataFrame({"day": pd.date_range("2023-01-01", periods=120)}).assign(
    sold=lambda f: 10 + np.sin(f.index / 7 * 2 * np.pi) + noise(120)
)
TWO = pd.concat([ALONE.assign(shop="a"), ALONE.assign(shop="b", sold=2 * ALONE["sold"])])


def adapting(shell, rows, *words):
    """A file of a model of the first 60 days whose intervals adapt."""
    rows[rows["day"] < "2023-03-02"].to_csv("old.csv", index=False)
    words = ("-t", "sold", "--time", "day", "--horizon", 3, *words, "--calibrate", *QUICK)
    shell("fit", "old.csv", *words, "-o", "adapting.be")
    return load("adapting.be")


@pytest.mark.filterwarnings("ignore:.* values are missing")
@pytest.mark.parametrize("n_new", [1, 10, 50])  # a forecast reads 42 days
def test_intervals_that_adapt_go_on_over_a_gap_however_many_rows_are_new(shell, forecast, n_new):
    model = adapting(shell, ALONE)
    new = ALONE[61 : 61 + n_new]
    between = ALONE[60:61].assign(sold=np.nan)
    expected = model.update(pd.concat([between, new])).predict(level=[90])
    found = forecast(new, "adapting.be")
    assert np.allclose(found["upper"], expected["BatchEnsemble-hi-90"], rtol=1e-5)


@pytest.mark.filterwarnings("ignore:.* values are missing")
def test_of_series_whose_intervals_adapt_some_may_have_a_gap(shell, forecast):
    model = adapting(shell, TWO, "--series", "shop")
    first, second = (own[60:115] for _, own in TWO.groupby("shop"))
    model.update(pd.concat([first, second[:1].assign(sold=np.nan), second[1:]]))
    expected = model.predict(level=[90])
    found = forecast(pd.concat([first, second[1:]]), "adapting.be")
    assert np.allclose(found["upper"], expected["BatchEnsemble-hi-90"], rtol=1e-5)


def test_rows_long_after_fit_are_forecast_with_the_intervals_of_fit(shell, forecast):
    model = adapting(shell, ALONE)
    late = ALONE.assign(day=ALONE["day"] + pd.Timedelta("1000D"))
    expected = model.predict(df=late, level=[90])
    found = forecast(late, "adapting.be")
    assert np.allclose(found["upper"], expected["BatchEnsemble-hi-90"], rtol=1e-5)


@pytest.mark.parametrize(("freq", "stamp"), [("D", "12h"), ("h", "30min"), ("D", "0h")])
def test_evaluate_takes_the_times_that_predict_takes_without_a_frequency(shell, freq, stamp):
    times = pd.date_range("2023-01-01", periods=80, freq=freq) + pd.Timedelta(stamp)
    rows = pd.DataFrame({"at": times, "sold": 10 + noise(80)})
    rows[:60].to_csv("old.csv", index=False)
    rows[60:].to_csv("new.csv", index=False)
    words = ("-t", "sold", "--time", "at", "--horizon", 3, *QUICK)
    shell("fit", "old.csv", *words, "-o", "at.be")
    assert "18 windows" in shell("evaluate", "at.be", "new.csv").output
    rows[60:].assign(at=rows["at"] + pd.Timedelta("5min")).to_csv("other.csv", index=False)
    for command in ("predict", "evaluate"):
        assert "of the frequency" in shell(command, "at.be", "other.csv", code=1).stderr


@pytest.mark.parametrize(
    "names",
    [[True, False], [1.5, 2.0], [date(2024, 1, 2), date(2024, 5, 6)],
     [pd.Timestamp("2024-01-02"), pd.Timestamp("2024-05-06")],
     [pd.Timestamp("2024-01-02 03:00"), pd.Timestamp("2024-05-06")], [7, 11], ["007", "x"]],
    ids=["truths", "numbers", "days", "dates", "hours", "whole", "texts"],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_series_of_python_may_have_names_of_any_type_in_a_file(shell, names, kind):
    rows = TWO.assign(shop=TWO["shop"].map(dict(zip("ab", names, strict=True))))
    learned = rows["day"] < "2023-03-02"
    columns = {"id_col": "shop", "time_col": "day", "target_col": "sold"}
    model = Forecaster(**TINY_FORECASTER, **columns).fit(rows[learned])
    model.save("named.be")
    expected = model.predict(df=rows)
    for asked in (rows, rows[~learned]):
        (asked.to_csv if kind == "csv" else asked.to_parquet)(f"new.{kind}", index=False)
        said = shell("predict", "named.be", f"new.{kind}", "-o", "out.csv").stderr
        assert "was in the training data" not in " ".join(said.split())
        found = shell.read("out.csv")
        assert np.allclose(found["mean"], expected["BatchEnsemble"], rtol=1e-5)
    assert "windows" in shell("evaluate", "named.be", f"new.{kind}").output
    shell("predict", "named.be", "-o", "next.csv")
    assert shell.read("next.csv")["shop"].nunique() == 2


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_of_one_series_that_fit_left_unnamed_may_name_it(shell, kind):
    rows = ALONE.assign(unique_id="shop", promo=np.arange(120) % 2)
    for name, part in (("old", rows[:60]), ("new", rows[60:66]), ("ahead", rows[66:69])):
        (part.to_csv if kind == "csv" else part.to_parquet)(f"{name}.{kind}", index=False)
    words = ("-t", "sold", "--time", "day", "--horizon", 3, *QUICK)
    shell("fit", f"old.{kind}", *words, "-o", "plain.be")
    shell("fit", f"old.{kind}", *words, "--future", "promo", "-o", "promo.be")
    new = (f"new.{kind}", "-o", "out.csv")
    for model, ahead in (("plain.be", ()), ("promo.be", ("--ahead", f"ahead.{kind}"))):
        said = shell("predict", model, *new, *ahead).stderr
        assert "was in the training data" not in " ".join(said.split())
        unused = ["unique_id"] if ahead else ["unique_id", "promo"]
        own = load(model).update(rows[60:66].drop(columns=unused))
        known = {} if not ahead else {"X_df": rows[66:69].drop(columns=["unique_id", "sold"])}
        found = shell.read("out.csv")
        assert list(found) == ["day", "mean", "lower", "upper"]
        assert np.allclose(found["mean"], own.predict(**known)["BatchEnsemble"], rtol=1e-5)
        assert "4 windows" in shell("evaluate", model, f"new.{kind}").output
    both = pd.concat([ALONE[60:66].assign(unique_id=name) for name in "ab"])
    both.to_csv("both.csv", index=False)
    shell("predict", "plain.be", "both.csv", "-o", "out.csv")
    assert shell.read("out.csv")["unique_id"].unique().tolist() == ["a", "b"]
