import pandas as pd
import pytest

from batchensemble.data.file_options import AS_FOUND, FileOptions
from batchensemble.data.notation import COMMA, POINT
from batchensemble.data.reading import open_table
from batchensemble.data.text import read_as

SALES = [("1.234", "0,5"), ("2.345", "7"), ("3.456", "8")]


@pytest.fixture
def csv(tmp_path):
    def make(rows, *, separator=";", names=("a", "b")):
        path = tmp_path / "f.csv"
        path.write_text("".join(f"{separator.join(row)}\n" for row in [names, *rows]))
        return path

    return make


def read(path, n_rows, known=None, options=AS_FOUND, kinds=None):
    with open_table(path, options) as file:
        kinds = kinds or dict.fromkeys(file.names, "number")
        return pd.concat([read_as(rows, kinds, file, known) for rows in file.batches(n_rows)])


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_decimal_commas_of_one_batch_hold_for_those_that_follow(csv, n_rows):
    whole = read(csv(SALES), n_rows)
    assert whole["a"].tolist() == [1234, 2345, 3456]
    assert whole["b"].tolist() == [0.5, 7, 8]


def test_one_file_is_never_read_in_two_ways(csv):
    path = csv(SALES[::-1])
    assert read(path, 3)["a"].tolist() == [3456, 2345, 1234]
    with pytest.raises(ValueError, match=r"got '3\.456' in line 2, column 'a'.*add --decimal ,"):
        read(path, 1)
    for options, known in ((FileOptions(decimal=","), {}), (AS_FOUND, {"a": COMMA})):
        assert read(path, 1, known, options)["a"].tolist() == [3456, 2345, 1234]


def test_points_that_cannot_part_thousands_are_no_contradiction(csv):
    whole = read(csv([("1.5", "7"), (" 0.125", "8"), ("12", "0,5")]), 1)
    assert whole["a"].tolist() == [1.5, 0.125, 12]


def test_commas_that_part_thousands_by_the_model_are_no_decimal_commas(csv):
    whole = read(csv([("1.234", "1,234.5")]), 1, {"b": POINT})
    assert whole["a"].tolist() == [1.234]


def test_an_option_for_dates_leaves_numbers_as_they_are(csv):
    path = csv([("01/02/2026", "0,5")])
    kinds = {"a": "date", "b": "number"}
    whole = read(path, 1, options=FileOptions(dayfirst=True), kinds=kinds)
    assert (str(whole["a"][2].date()), whole["b"][2]) == ("2026-02-01", 0.5)
