import numpy as np
import pandas as pd
import pytest
from sample_files import QUICK

from batchensemble import load
from batchensemble.cli.series_names import names_of_fit

SHOP = ("-t", "y", "--time", "day", "--series", "shop", "--horizon", 3, *QUICK)


def rows_of(*shops, n=60):
    """Days of sales, of a shop the later in the file the higher."""
    random, days = np.random.default_rng(0), pd.date_range("2024-01-01", periods=n)
    parts = [
        pd.DataFrame({"shop": shop, "day": days, "y": 50 + 20 * i + random.normal(size=n)})
        for i, shop in enumerate(shops)
    ]
    return pd.concat(parts, ignore_index=True)


def write(rows, path):
    form = path.rpartition(".")[2]
    if form == "csv":
        rows.to_csv(path, index=False)
    elif form == "parquet":
        rows.to_parquet(path)
    else:
        pytest.importorskip("openpyxl")
        rows.to_excel(path, index=False)


def test_series_that_a_file_tells_apart_stay_apart():
    ids = np.array(["001", "002"], dtype=object)
    assert names_of_fit(pd.Series(["1", "002"]), ids).tolist() == ["001", "002"]
    assert names_of_fit(pd.Series(["1", "01", "2"]), ids).tolist() == ["1", "01", "002"]
    numbers = np.array([1, 2])
    assert names_of_fit(pd.Series(["1", "01", "3"]), numbers).tolist() == [1, "01", 3]
    assert names_of_fit(pd.Series(["9", "09", "8_0"]), numbers).tolist() == [9, "09", "8_0"]


@pytest.mark.parametrize("word", ["9", "9.0", "09", "9."])
def test_a_new_number_is_the_same_series_however_it_is_written(word):
    assert names_of_fit(pd.Series([word, "2.0", "x"]), np.array([1, 2])).tolist() == [9, 2, "x"]


def test_a_day_is_also_its_midnight():
    days = np.array([pd.Timestamp("2024-01-02"), pd.Timestamp("2024-05-06 03:00")])
    words = pd.Series(["2024-01-02", "2024-05-06 03:00:00", "2024-01-02 00:00:00", "2024-05-06"])
    assert names_of_fit(words[:2], days).tolist() == days.tolist()
    assert names_of_fit(words[1:], days).tolist() == [*days[[1, 0]], "2024-05-06"]
    new = pd.Series(["2025-01-01 00:00:00", "Shift 00:00:00"])
    assert names_of_fit(new, days).tolist() == ["2025-01-01", "Shift 00:00:00"]


@pytest.mark.parametrize("form", ["csv", "parquet", "xlsx"])
def test_a_new_series_may_have_a_word_for_a_name_where_those_of_fit_had_numbers(shell, form):
    rows_of(101, 7).to_csv("old.csv", index=False)
    shell("fit", "old.csv", *SHOP, "-o", "shops.be")
    assert load("shops.be").panel_.ids.tolist() == [101, 7]
    rows = rows_of("north", "7").astype({"shop": object})
    if form == "xlsx":
        rows.loc[rows["shop"] == "7", "shop"] = 7
    write(rows, f"new.{form}")
    said = " ".join(shell("predict", "shops.be", f"new.{form}", "-o", "out.csv").stderr.split())
    assert "was in the training data" not in said
    out = shell.read("out.csv").set_index("shop")["mean"]
    rows_of(8, 7).to_csv("numbers.csv", index=False)
    shell("predict", "shops.be", "numbers.csv", "-o", "numbers-out.csv")
    numbers = shell.read("numbers-out.csv").set_index("shop")["mean"]
    assert np.allclose(out["7"], numbers[7])
    assert (abs(out["north"] - 50) < 5).all()


@pytest.mark.parametrize("form", ["csv", "parquet", "xlsx"])
def test_series_may_be_called_by_numbers_with_decimals(shell, form):
    rows = rows_of(0.5, 2.25)
    write(rows, f"sizes.{form}")
    shell("fit", f"sizes.{form}", *SHOP, "-o", "sizes.be")
    answers = []
    for name in (f"sizes.{form}", "plain.csv", "plain.parquet"):
        write(rows, name)
        said = shell("predict", "sizes.be", name, "-o", "out.csv").stderr
        assert "was in the training data" not in " ".join(said.split())
        answers.append(shell.read("out.csv"))
    assert answers[0]["shop"].unique().tolist() == [0.5, 2.25]
    assert answers[0].equals(answers[1])
    assert answers[0].equals(answers[2])


def test_a_new_series_has_its_rows_ahead_though_a_file_has_decimals_in_its_number(shell):
    rows = rows_of(1, 2, 9, n=65).assign(p=lambda frame: np.arange(len(frame)) % 7)
    is_ahead = rows["day"] >= "2024-03-01"
    known, ahead = rows[~is_ahead], rows[is_ahead].drop(columns="y")
    known[known["shop"] < 9].to_csv("old.csv", index=False)
    shell("fit", "old.csv", *SHOP, "--future", "p", "-o", "p.be")
    answers = []
    for decimals, form in ((float, "csv"), (float, "parquet"), (int, "csv")):
        write(known.astype({"shop": decimals}), f"new.{form}")
        write(ahead.astype({"shop": float}), "ahead.csv")
        said = shell("predict", "p.be", f"new.{form}", "--ahead", "ahead.csv", "-o", "out.csv")
        assert "left out" not in said.stderr
        answers.append(shell.read("out.csv"))
    assert answers[0]["shop"].unique().tolist() == [1, 2, 9]
    assert answers[0].equals(answers[1])
    assert answers[0].equals(answers[2])
