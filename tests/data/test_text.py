import datetime as dt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batchensemble.data.frames import read_columns
from batchensemble.data.reading import open_table
from batchensemble.data.text import GAPS, Recognised, read_as, recognise


@pytest.fixture
def csv(tmp_path):
    def make(cells, *, name="c", separator=","):
        path = tmp_path / "f.csv"
        lines = [f"{name}{separator}z", *(f"{cell}{separator}0" for cell in cells)]
        path.write_text("\n".join(lines) + "\n")
        return path

    return make


def kind_of(path, column="c"):
    with open_table(path) as file:
        return recognise(next(file.batches()), file)[column]


def read(path, kind, n_rows=100):
    with open_table(path) as file:
        return [read_as(batch, {"c": kind}, file)["c"] for batch in file.batches(n_rows)]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "-2.5", "1e3", "", " 7 "], "number"),
        (["007", "123"], "category"),
        (["0", "0.5", "-0.5"], "number"),
        (["true", "False", "", "TRUE"], "boolean"),
        (["0", "1"], "number"),
        (["2026-01-31", "", "1999-12-01"], "date"),
        (["2026-01-31T10:00", "2026-01-31 10:00:05.25", ""], "date"),
        (["2026-01-31T10:00+01:00", "2026-01-31 10:00:05.25+0530", "2026-01-31T10:00Z"], "date"),
        (["2026-01-31T10:00", "2026-01-31T10:00Z"], "category"),
        (["2026-01", "2026-02"], "date"),
        (["2026/01/31"], "date"),
        (["2026-02-30"], "category"),
        (["9999-12-31T23:00-05:00"], "category"),
        (["9999-12-31T23:00+05:00", "0001-01-01T00:00Z"], "date"),
        (["01/02/2026"], "category"),
        (["31.01.2026"], "category"),
        (["20260131"], "number"),
        (["1_000", "2"], "category"),
        (["1 000"], "category"),
        (["yes", "no"], "category"),
        (["NA", "", "null"], "number"),
    ],
)
def test_a_column_is_what_all_its_cells_are(csv, cells, kind):
    assert kind_of(csv(cells)).kind == kind


def test_times_with_and_without_zones_are_told_with_the_first_line(csv):
    note = kind_of(csv(["2026-01-31T10:00Z", "", "2026-01-31T10:00"])).note
    assert "others do not, the first of these in line 4; write all alike" in note


def test_points_that_may_part_thousands_are_not_taken_for_decimals(csv):
    doubtful = csv(["950", "1.000", "1.025"], separator=";")
    assert "'1.000' may be a number, but is not plain" in kind_of(doubtful).note
    for plain in (["950", "1.000", "1.5"], ["0.125", "1.250", "2"], ["1.512", "1.498"], ["1,5"]):
        path = csv(plain, separator=";")
        assert kind_of(path).kind == "number"
        for alone in read(path, "number", n_rows=1):  # once it is known, every row is read alike
            assert alone.tolist() == [float(plain.pop(0).replace(",", "."))]
    assert kind_of(csv(["950", "1.000", "1.025"])).kind == "number"  # no comma can be a point


def test_a_comma_is_a_point_where_semicolons_part_the_cells(csv):
    path = csv(["1,5", "2", "-0,25"], separator=";")
    assert kind_of(path).kind == "number"
    assert read(path, "number")[0].tolist() == [1.5, 2, -0.25]
    assert kind_of(csv(["1.234,5", "2,5"], separator=";")).kind == "category"


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_numbers_come_back_to_the_last_bit(tmp_path_factory, numbers):
    path = tmp_path_factory.mktemp("csv") / "f.csv"
    pd.DataFrame({"c": numbers, "z": 0}).to_csv(path, index=False)
    assert read(path, "number")[0].tolist() == numbers


@pytest.mark.parametrize(
    "cells",
    [
        ["1 234,50", "950,00"],
        ["$12", "$ 1 234", "-$3.5"],
        ["12 %", "7.5%"],
        ["12 €", "1.234,50 €"],
        ["1'000'000", "7"],
        ["1\u00a0026", "1\u202f000", "3"],
        ["EUR 1026", "1026 USD"],
        ["1,026"] * 20 + ["-"],
        ["950"] * 20 + ["1,026"],
    ],
)
def test_numbers_that_are_not_plain_are_words_and_said_to_be(csv, cells):
    recognised = kind_of(csv(cells, separator="\t"))
    assert recognised.kind == "category"
    assert "may be a number, but is not plain" in recognised.note


@pytest.mark.parametrize("cells", [["1.2.3"], ["10.0.0.1"], ["A4", "7"], ["12:30"], ["1-2"]])
def test_other_words_with_digits_are_words_without_doubt(csv, cells):
    assert kind_of(csv(cells)) == Recognised("category")


def test_a_few_cells_that_are_no_numbers_are_told_with_the_first_line(csv):
    recognised = kind_of(csv(["1.5"] * 30 + ["unknown", "?"]))
    assert recognised.kind == "category"
    assert "all but 2 cells are numbers, the first of them 'unknown' in line 32" in recognised.note
    assert kind_of(csv(["1.5", "a", "b"])).note == ""


def test_a_few_cells_that_are_no_dates_are_told_with_the_first_line(csv):
    recognised = kind_of(csv(["2026-01-31"] * 30 + ["soon", "2026-02-30"]))
    assert recognised.kind == "category"
    assert "all but 2 cells are dates, the first of them 'soon' in line 32" in recognised.note
    assert kind_of(csv(["2026-01-31", "soon"])).note == ""


@pytest.mark.parametrize("cell", ["31.01.2026", "1/31/2026", "01-02-26", "1/2/2026 10:00"])
def test_dates_that_can_be_read_in_two_ways_are_told(csv, cell):
    recognised = kind_of(csv([cell, cell]))
    assert recognised.kind == "category"
    assert f"{cell!r} may be a date" in recognised.note


@pytest.mark.parametrize("cell", ["1.2.3456789", "a 1.2.2026", "1.2-2026", "192.168.0.1"])
def test_words_that_are_no_dates_are_words_without_a_note(csv, cell):
    assert kind_of(csv([cell, cell])).note == ""


def test_a_cell_of_any_length_is_answered_in_a_short_line(csv):
    with pytest.raises(ValueError, match="got '1000") as caught:
        read(csv(["1", "1" + "0" * 400]), "number")
    assert len(str(caught.value)) < 300


def test_typed_files_say_their_kinds_themselves_but_for_dates_kept_as_text(tmp_path):
    frame = pd.DataFrame(
        {
            "zip": ["12345", "54321"],
            "day": ["2026-01-31", "2026-02-01"],
            "n": [1, 2],
            "ok": [True, None],
            "at": pd.to_datetime(["2026-01-31", None]),
            "date": [dt.date(2026, 1, 31), None],
            "group": pd.Categorical(["a", None]),
        }
    )
    frame.to_parquet(tmp_path / "f.parquet")
    with open_table(tmp_path / "f.parquet") as file:
        recognised = recognise(next(file.batches()), file)
    kinds = ["category", "date", "number", "boolean", "date", "date", "category"]
    assert [one.kind for one in recognised.values()] == kinds


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["", "", ""], "number", [None, None, None]),
        (["", "", ""], "category", [None, None, None]),
        (["", "", ""], "boolean", [None, None, None]),
        (["", "", ""], "date", [None, None, None]),
        (["007", "8", " x "], "category", ["007", "8", "x"]),
        (["007", "8", "NA"], "number", [7, 8, None]),
        (["TRUE", "0", "1"], "boolean", [True, False, True]),
        (["2026-01-31", "", "2026-01-31T12:00+02:00"], "date", ["2026-01-31", None, "10:00"]),
    ],
)
def test_a_column_is_read_as_it_was_at_fit_whatever_it_looks_like_now(csv, cells, kind, values):
    path = csv(cells)
    (whole,) = read(path, kind)
    parts = read(path, kind, n_rows=1)
    assert {part.dtype for part in parts} == {whole.dtype}
    joined = pd.concat(parts)
    pd.testing.assert_series_equal(joined, whole)
    got = [None if pd.isna(value) else value for value in whole]
    if kind == "date":
        got = [value and str(value) for value in got]
        assert all((a is None) == (b is None) for a, b in zip(got, values, strict=True))
        assert all(b in a for a, b in zip(got, values, strict=True) if a)
    else:
        assert got == values
    # What an estimator makes of it is of that kind, or without any value.
    column = read_columns(whole.to_frame())[0]
    assert column.kind == kind or column.missing.all()


@pytest.mark.parametrize("gap", sorted(GAPS - {""}))
def test_all_that_pandas_takes_for_a_gap_here_is_one(csv, gap):
    assert read(csv(["a", gap]), "category")[0].isna().tolist() == [False, True]
    assert pd.read_csv(csv(["a", gap]))["c"].isna().tolist() == [False, True]


@pytest.mark.parametrize(
    ("cells", "kind", "words"),
    [
        (["1", "2", "many"], "number", "line 4, column 'c': expected a finite number.*'many'"),
        (["1", "inf"], "number", "line 3, column 'c': expected a finite number.*'inf'"),
        (["1", "2", "true"], "boolean", "line 3, column 'c': expected true or false.*got '2'"),
        (["2026-01-31", "31.1.26"], "date", "line 3, column 'c': expected a date such as"),
        (["x", "y"], "number", r"line 2, .*got 'x' \(and 1 more such cell near it\)"),
    ],
)
def test_what_is_not_of_its_kind_is_refused_with_file_line_and_column(csv, cells, kind, words):
    with pytest.raises(ValueError, match=words) as caught:
        read(csv(cells), kind)
    assert "f.csv" in str(caught.value)


def test_lines_are_right_in_later_batches_too(csv):
    path = csv([*["1"] * 10, "x"])
    with pytest.raises(ValueError, match="line 12, column 'c'"):
        read(path, "number", n_rows=3)


def test_typed_columns_of_another_kind_and_nested_ones_are_refused_with_the_file(tmp_path):
    path = tmp_path / "f.parquet"
    pd.DataFrame({"c": pd.to_datetime(["2026-01-31"])}).to_parquet(path)
    with pytest.raises(ValueError, match=r"f\.parquet: column 'c': expected a number column"):
        read(path, "number")
    pd.DataFrame({"c": [[1, 2], [3]]}).to_parquet(path)
    with pytest.raises(ValueError, match=r"f\.parquet: column 'c'"):
        kind_of(path)


def test_integers_with_gaps_are_the_same_numbers_in_every_file(tmp_path, csv):
    pd.DataFrame({"c": pd.array([1, None, 3], dtype="Int64")}).to_parquet(tmp_path / "f.parquet")
    typed, text = (read(p, "number")[0] for p in (tmp_path / "f.parquet", csv(["1", "", "3"])))
    assert typed.dtype == text.dtype == np.float64
    np.testing.assert_array_equal(typed, text)
