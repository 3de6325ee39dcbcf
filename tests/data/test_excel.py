import datetime as dt
import re
import zipfile

import numpy as np
import pandas as pd
import pytest

from batchensemble.data.file_options import AS_FOUND, FileOptions
from batchensemble.data.reading import open_table
from batchensemble.data.tables import read_file

openpyxl = pytest.importorskip("openpyxl")
FRAME = pd.DataFrame(
    {
        "n": [1, 2, None, 4],
        "town": ["Ulm", None, " Köln ", "NA"],
        "day": [dt.datetime(2024, 6, 19), None, dt.datetime(2024, 1, 2), dt.datetime(2024, 1, 3)],
        "ok": [True, False, None, True],
        "cost": ["1.234,50 €", "3,00 €", None, "7,25 €"],
        "zip": ["01234", "12345", "1", "2"],
    }
)


@pytest.fixture
def book(tmp_path):
    path = tmp_path / "f.xlsx"
    with pd.ExcelWriter(path) as writer:
        FRAME.to_excel(writer, sheet_name="Data", index=False)
        FRAME.to_excel(writer, sheet_name="Low", index=False, startrow=3)
        pd.DataFrame().to_excel(writer, sheet_name="Empty", index=False)
    return path


def test_a_sheet_is_read_by_the_kinds_of_its_cells(book):
    table = read_file(book)
    kinds = ["number", "category", "date", "boolean", "number", "category"]
    assert list(table.kinds.values()) == kinds
    assert table.frame["cost"].tolist()[::3] == [1234.5, 7.25]
    assert table.frame["town"].tolist()[2] == "Köln"
    assert table.frame["zip"].tolist() == ["01234", "12345", "1", "2"]
    assert table.frame.index.tolist() == [2, 3, 4, 5]  # as the spreadsheet counts
    assert table.file_notes == (
        f"{book}: read the sheet 'Data'; for another (Low, Empty), add --sheet",
    )


@pytest.mark.parametrize("sheet", ["Low", "2"])
def test_a_sheet_is_chosen_by_its_name_or_number_and_rows_above_the_names_are_skipped(book, sheet):
    with pytest.raises(ValueError, match=r"got 0 for up to 6 columns.* row 4, add --skip-lines 3"):
        read_file(book, options=FileOptions(sheet=sheet))
    table = read_file(book, options=FileOptions(sheet=sheet, skip_lines=3))
    assert table.frame.index.tolist() == [5, 6, 7, 8]
    pd.testing.assert_frame_equal(
        table.frame.reset_index(drop=True), read_file(book).frame.reset_index(drop=True)
    )


def test_batches_join_to_the_whole(book):
    with open_table(book, AS_FOUND) as file:
        parts = list(file.batches(3))
        assert [len(part) for part in parts] == [3, 1]
        assert file.share_read() == 1


def test_a_sheet_that_is_not_there_an_empty_one_and_a_broken_book_are_told(book):
    with pytest.raises(ValueError, match=r"the --sheet of .* got 'data'.* did you mean 'Data'"):
        read_file(book, options=FileOptions(sheet="data"))
    with pytest.raises(ValueError, match="expected a row of column names"):
        read_file(book, options=FileOptions(sheet="Empty"))
    book.write_bytes(book.read_bytes()[:2000])
    with pytest.raises(ValueError, match=r"cannot be read: .*cut off or of another format"):
        read_file(book)


def test_words_among_numbers_are_told_and_gaps_among_them_are_gaps(tmp_path):
    cells = pd.DataFrame({"a": [1.5] * 30 + ["NA"], "b": [1.5] * 30 + ["n.a."], "c": ["x"] * 31})
    cells.to_excel(tmp_path / "f.xlsx", index=False)
    table = read_file(tmp_path / "f.xlsx")
    assert list(table.kinds.values()) == ["number", "category", "category"]
    (note,) = table.file_notes
    assert (
        "'b' is read as words: 1 of its cells are words, the first of them 'n.a.' in row 32" in note
    )


def test_two_columns_of_one_name_are_refused_by_that_name(tmp_path):
    cells = pd.DataFrame([[1, 2, "x"]] * 30 + [["NA", "few", "x"]], columns=["a", "a", "b"])
    cells.to_excel(tmp_path / "f.xlsx", index=False)
    with pytest.raises(ValueError, match=r"f\.xlsx: .* got more than once: 'a'; rename them"):
        read_file(tmp_path / "f.xlsx")


def test_a_damaged_book_is_read_or_refused_by_name(book):
    whole, refused = book.read_bytes(), []
    for seed in range(60):
        random, damaged = np.random.default_rng(seed), bytearray(whole)
        for place in random.integers(0, len(whole), random.integers(1, 20)):
            damaged[place] ^= int(random.integers(1, 256))
        book.write_bytes(damaged)
        try:
            read_file(book)
        except ValueError as error:
            refused.append(str(error))
    assert len(refused) > 20
    assert all("f.xlsx" in words for words in refused)


@pytest.mark.parametrize("other", ["unknown", 3.5, dt.time(14, 30)])
def test_dates_among_other_things_are_words_like_in_a_text_file(tmp_path, other):
    days = [dt.datetime(2024, 1, day) for day in range(1, 15)]
    cells = [*days, other]
    pd.DataFrame({"day": cells, "y": range(15)}).to_excel(tmp_path / "f.xlsx", index=False)
    table = read_file(tmp_path / "f.xlsx")
    assert table.kinds["day"] == "category"
    assert table.frame["day"].tolist() == [f"{day:%Y-%m-%d}" for day in days] + [str(other)]
    assert "all but 1 cell are dates" in table.notes["day"]


def test_numbers_stored_as_text_among_numbers_are_numbers_without_a_doubt(tmp_path):
    cells = pd.DataFrame({"a": [1.5] * 30 + ["2.5"], "b": [1] * 30 + ["007"]})
    cells.to_excel(tmp_path / "f.xlsx", index=False)
    table = read_file(tmp_path / "f.xlsx")
    assert list(table.kinds.values()) == ["number", "category"]
    assert table.frame["a"].tolist() == [1.5] * 30 + [2.5]
    (note,) = table.file_notes
    assert "'b' is read as words" in note


def test_a_formula_that_nobody_calculated_is_refused_and_one_that_gave_nothing_is_a_gap(tmp_path):
    book = openpyxl.Workbook()
    for row in (["a", "b"], [1.0, "=A2*2"], [2.0, "=A3*2"]):
        book.active.append(row)
    path, other = tmp_path / "a.xlsx", tmp_path / "b.xlsx"
    book.save(path)
    prefixed = tmp_path / "prefixed.xlsx"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(prefixed, "w") as new:
        for part in old.namelist():
            text = old.read(part)
            if part.endswith("sheet1.xml"):
                text = re.sub(rb"<(/?)(?=[a-z])", rb"<\1x:", text).replace(b"xmlns=", b"xmlns:x=")
            new.writestr(part, text)
    for each in (path, prefixed):
        with pytest.raises(ValueError, match="the value of every formula, got none in cell B2"):
            read_cells(each)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(other, "w") as new:
        for part in old.namelist():
            text = old.read(part)
            text = text.replace(
                b'<c r="B2"><f>A2*2</f><v />', b'<c r="B2" t="str"><f>A2</f><v></v>'
            )
            new.writestr(part, text.replace(b"<f>A3*2</f><v />", b"<f>A3*2</f><v>4</v>"))
    assert read_cells(other)["b"].isna().tolist() == [True, False]


def read_cells(path):
    with open_table(path, AS_FOUND) as file:
        return pd.concat(file.batches())


def written(path, rows, stray=None):
    """A sheet of these rows, and a cell somewhere else."""
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    if stray:
        book.active[stray] = "x"
    book.save(path)
    return path


def test_an_empty_row_among_others_is_a_row_as_in_a_csv_and_those_at_the_end_are_none(tmp_path):
    rows = [["a", "b"], [1, 2], [None, None], [3, None], [" ", None], [None, ""]]
    path = written(tmp_path / "f.xlsx", rows, stray="D9")
    with open_table(path, AS_FOUND) as file:
        (cells,) = file.batches()
    assert cells.index.tolist() == [2, 3, 4, 5]
    assert cells.isna().to_numpy().tolist() == [
        [False, False],
        [True] * 2,
        [False, True],
        [True] * 2,
    ]


def test_a_cell_far_from_the_table_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("batchensemble.data.excel.MOST_CELLS", 50)
    rows = [["a", "b"], *[[i, i] for i in range(20)]]
    assert len(read_file(written(tmp_path / "near.xlsx", rows)).frame) == 20
    far = written(tmp_path / "far.xlsx", rows, stray="C30")
    with pytest.raises(ValueError, match=r"far.xlsx: .* got 30 rows and 3 columns .* stray cells"):
        read_file(far)


@pytest.mark.parametrize("error", ["#REF!", "#DIV/0!"])
def test_an_error_in_a_cell_is_a_word_as_in_a_csv_and_one_for_a_gap_is_a_gap(tmp_path, error):
    rows = [["a", "b"], *[[i + 0.5, i] for i in range(20)]]
    rows[3][0], rows[4][0] = error, "#N/A"
    path = written(tmp_path / "f.xlsx", rows)
    cells = read_file(path).frame["a"].tolist()
    assert cells[2] == error
    assert cells[3] is None or cells[3] != cells[3]
    (tmp_path / "f.csv").write_text("\n".join(",".join(map(str, row)) for row in rows))
    texts = read_file(tmp_path / "f.csv").frame["a"]
    assert texts[texts.notna()].tolist() == [str(cell) for cell in cells if isinstance(cell, str)]
