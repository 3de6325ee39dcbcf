from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batchensemble.data.file_options import AS_FOUND, FileOptions
from batchensemble.data.frames import read_columns
from batchensemble.data.notation import COMMA, Notation
from batchensemble.data.reading import open_table
from batchensemble.data.telling import BatchEnsembleWarning
from batchensemble.data.text import GAPS, read_as


@pytest.fixture
def csv(tmp_path):
    def make(cells, *, name="c", separator=","):
        path = tmp_path / "f.csv"
        lines = [f"{name}{separator}z", *(f"{cell}{separator}0" for cell in cells)]
        path.write_text("\n".join(lines) + "\n")
        return path

    return make


def read(path, kind, n_rows=100, notation=None, options=AS_FOUND):
    with open_table(path, options) as file:
        known = {"c": notation} if notation else {}
        return [read_as(batch, {"c": kind}, file, known)["c"] for batch in file.batches(n_rows)]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_numbers_come_back_to_the_last_bit(tmp_path_factory, numbers):
    path = tmp_path_factory.mktemp("csv") / "f.csv"
    pd.DataFrame({"c": numbers, "z": 0}).to_csv(path, index=False)
    assert read(path, "number")[0].tolist() == numbers


def test_a_cell_of_any_length_is_answered_in_a_short_line(csv):
    with pytest.raises(ValueError, match="got '1000") as caught:
        read(csv(["1", "1" + "0" * 400]), "number")
    assert len(str(caught.value)) < 300


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
        read(path, "number")


def test_integers_with_gaps_are_the_same_numbers_in_every_file(tmp_path, csv):
    pd.DataFrame({"c": pd.array([1, None, 3], dtype="Int64")}).to_parquet(tmp_path / "f.parquet")
    typed, text = (read(p, "number")[0] for p in (tmp_path / "f.parquet", csv(["1", "", "3"])))
    assert typed.dtype == text.dtype == np.float64
    np.testing.assert_array_equal(typed, text)


def test_a_column_is_read_in_the_notation_of_fit_row_by_row(csv):
    path = csv(["1.234", "950,5", "1.234.567,25"], separator=";")
    numbers = [1234, 950.5, 1234567.25]
    assert [part.tolist()[0] for part in read(path, "number", 1, COMMA)] == numbers
    (dates,) = read(csv(["01/02/2026"]), "date", notation=Notation(date="%d/%m/%Y"))
    assert str(dates[2].date()) == "2026-02-01"


def test_without_a_notation_a_comma_that_cannot_part_thousands_is_decimal(csv):
    assert read(csv(["1,5", "3"], separator=";"), "number")[0].tolist() == [1.5, 3]
    with pytest.warns(BatchEnsembleWarning, match=r"read c \('1,5' as 1\.5\)$"):
        assert read(csv(["1,5"], separator="\t"), "number")[0].tolist() == [1.5]
    for separator in ";\t":
        with pytest.raises(ValueError, match="got '1,5'; correct the cell"):
            read(csv(["1,5", "2.5", "3"], separator=separator), "number")


def test_options_are_stronger_than_the_notation_of_fit(csv):
    path = csv(["1.234"], separator=";")
    (numbers,) = read(path, "number", notation=COMMA, options=FileOptions(decimal="."))
    assert numbers.tolist() == [1.234]
    day = Notation(date="%d/%m/%Y")
    (dates,) = read(csv(["01/02/2026"]), "date", 9, day, FileOptions(dayfirst=False))
    assert str(dates[2].date()) == "2026-01-02"


@pytest.mark.parametrize(
    ("cell", "kind", "notation", "cure"),
    [
        ("1,234", "number", None, "; add --decimal . or --decimal ,"),
        ("31/01/2026", "date", None, "; add --dayfirst, correct"),
        ("01/02/2026", "date", None, "; add --dayfirst or --no-dayfirst, correct"),
        ("31/01/2026", "date", Notation(date="%d.%m.%Y"), "as in fit, such as 31.01.2026"),
        ("01.31.2026", "date", None, "; add --no-dayfirst, correct"),
    ],
)
def test_the_option_that_helps_is_named(csv, cell, kind, notation, cure):
    with pytest.raises(ValueError, match="line 2, column 'c'") as caught:
        read(csv([cell], separator="\t"), kind, notation=notation)
    assert cure in str(caught.value)


@pytest.mark.parametrize("form", ["%d.%m.%Y", "", "%m/%d/%Y", "named %d %m %Y"])
@pytest.mark.parametrize(
    ("cells", "own"),
    [(["2026-02-03", "2026-2-4"], ""), (["03.02.2026", "4.2.2026"], "%d.%m.%Y")],
)
def test_dates_with_one_usual_reading_are_read_whatever_those_of_fit_were(csv, form, cells, own):
    otherwise = pytest.warns(BatchEnsembleWarning, match="is written differently")
    with nullcontext() if form == own else otherwise:
        (dates,) = read(csv(cells, separator=";"), "date", 9, Notation(date=form))
    assert [str(one.date()) for one in dates] == ["2026-02-03", "2026-02-04"]


def test_words_are_kept_as_they_are_written(tmp_path):
    words = ["10115.0", "10115", "007.0", "1.50", "A1.0", "-3.0"]
    (tmp_path / "a.csv").write_text("\n".join(["plz", *words]))
    with open_table(tmp_path / "a.csv") as file:
        (rows,) = file.batches()
        read = read_as(rows, {"plz": "category"}, file)
    assert read["plz"].tolist() == words


@pytest.mark.filterwarnings("ignore:.*is written differently")
def test_between_semicolons_one_decimal_comma_makes_points_part_thousands(tmp_path):
    (tmp_path / "a.csv").write_text("rent;area\n3.477;57,9\n2.729;38\n")
    (tmp_path / "b.csv").write_text("rent;area\n3.477;57.9\n2.729;38\n")
    kinds = {"rent": "number", "area": "number"}
    for name, rents, areas in (("a", [3477, 2729], [57.9, 38]), ("b", [3.477, 2.729], [57.9, 38])):
        with open_table(tmp_path / f"{name}.csv") as file:
            (rows,) = file.batches()
            read = read_as(rows, kinds, file)
        assert read["rent"].tolist() == rents
        assert read["area"].tolist() == areas


def test_numbers_without_the_percent_of_fit_are_refused_in_files_of_all_kinds(tmp_path, csv):
    pytest.importorskip("openpyxl")
    percent = Notation(sign="%")
    assert read(csv(["51 %", ""]), "number", notation=percent)[0].tolist()[0] == 51
    with pytest.raises(ValueError, match=r"as in fit, such as 12\.5 %, got '51'; write % in all"):
        read(csv(["51"]), "number", notation=percent)
    frame = pd.DataFrame({"c": [None, 0.51, 0.3]})
    frame.to_parquet(tmp_path / "f.parquet")
    frame.assign(z=0).to_excel(tmp_path / "f.xlsx", index=False)
    for name, row in (("f.parquet", 2), ("f.xlsx", 3)):
        with pytest.raises(ValueError, match=r"store 12 % as 0\.12; write") as caught:
            read(tmp_path / name, "number", notation=percent)
        assert f"{name}, row {row}, column 'c'" in str(caught.value)
        assert read(tmp_path / name, "number", notation=Notation(sign="€"))[0].tolist()[1] == 0.51
    pd.DataFrame({"c": [None, None]}, dtype=float).to_parquet(tmp_path / "f.parquet")
    assert read(tmp_path / "f.parquet", "number", notation=percent)[0].isna().all()


def test_a_percent_that_fit_did_not_see_is_not_guessed(csv):
    with pytest.raises(ValueError, match="got '51 %'; 51 % may be 51 or a hundredth of it: write"):
        read(csv(["51 %"]), "number")


def test_an_infinite_number_of_a_later_batch_is_named_by_its_row_in_the_file(tmp_path):
    path = tmp_path / "f.parquet"
    pd.DataFrame({"a": [1.0, 2.0, 3.0, np.inf]}).to_parquet(path)
    with open_table(path) as file, pytest.raises(ValueError, match=r"column 'a', row 4;"):
        [read_as(rows, {"a": "number"}, file) for rows in file.batches(2)]


@pytest.mark.parametrize("form", ["parquet", "feather"])
def test_long_whole_numbers_that_are_categories_keep_their_digits(tmp_path, form):
    ids = pd.array([2**60 + 1, 2**60 + 2, None], dtype="Int64")
    getattr(pd.DataFrame({"id": ids}), f"to_{form}")(tmp_path / f"t.{form}")
    with open_table(tmp_path / f"t.{form}") as file:
        (batch,) = file.batches()
        read = read_as(batch, {"id": "category"}, file)
    assert read["id"].tolist() == [str(2**60 + 1), str(2**60 + 2), None]
